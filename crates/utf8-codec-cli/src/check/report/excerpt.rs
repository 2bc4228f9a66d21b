//! The line of an error as it is printed: escaped, and not wider than the screen.

use core::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::check::diagnostic::Context;
use crate::escape::{push, push_bytes, push_of_error};

/// What stands for text that is not shown.
const DOTS: &str = "...";

/// A line, and a second line with carets under the error.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub(super) line: String,
    pub(super) carets: String,
}

impl Excerpt {
    /// Returns the excerpt of at most `columns` columns, or `None` if the line is not text: UTF-16, or binary.
    pub(super) fn of(context: &Context, columns: usize) -> Option<Self> {
        let (before, rest) = context.line.split_at(context.at.min(context.line.len()));
        let (error, after) = rest.split_at(context.covered.min(rest.len()));
        // The end of the line CR LF.
        let after = if context.is_cut.1 { after } else { after.strip_suffix(b"\r").unwrap_or(after) };
        let mut cells = Cells::default();
        cells.push(before, push);
        let start = cells.list.len();
        cells.push(error, push_of_error);
        let end = cells.list.len();
        cells.push(after, push);
        let Cells { text, list } = cells;
        let (before, error, after) = (&list[..start], &list[start..end], &list[end..]);
        let hidden = before.iter().chain(after).filter(|cell| cell.is_hidden).count();
        if hidden > 1 && hidden * 4 >= before.len() + after.len() {
            return None;
        }
        let columns = columns.max(3 * DOTS.len());
        let error_room = columns - 2 * DOTS.len();
        let (error_len, is_error_cut) = fitting(error.iter(), error_room, false);
        let shown_error = &error[..error_len];
        let room = columns - width(shown_error) - if is_error_cut { DOTS.len() } else { 0 };
        let (is_cut_before, is_cut_after) = context.is_cut;
        let wanted_before = width(before) + dots(is_cut_before).len();
        let wanted_after = if is_error_cut { 0 } else { width(after) + dots(is_cut_after).len() };
        let room_before = wanted_before.min((room / 2).max(room.saturating_sub(wanted_after)));
        let (before_len, is_cut_before) = fitting(before.iter().rev(), room_before, is_cut_before);
        let (after_len, is_cut_after) = match is_error_cut {
            true => (0, true),
            false => fitting(after.iter(), room - room_before, is_cut_after),
        };
        let shown_before = &before[before.len() - before_len..];
        let indent = dots(is_cut_before).len() + width(shown_before);
        let shown = [shown_before, shown_error, &after[..after_len]].concat();
        let shown: String = shown.iter().filter_map(|cell| text.get(cell.range.clone())).collect();
        Some(Self {
            line: [dots(is_cut_before), &shown, dots(is_cut_after)].concat(),
            carets: [" ".repeat(indent), "^".repeat(width(shown_error).max(1))].concat(),
        })
    }
}

fn dots(is_cut: bool) -> &'static str {
    if is_cut { DOTS } else { "" }
}

fn width(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.width).sum()
}

/// Returns how many of the cells fit, and whether dots are necessary: some do not fit, or `is_cut`.
fn fitting<'c>(cells: impl Iterator<Item = &'c Cell> + Clone, room: usize, is_cut: bool) -> (usize, bool) {
    let whole: usize = cells.clone().map(|cell| cell.width).sum();
    if whole + dots(is_cut).len() <= room {
        return (cells.count(), is_cut);
    }
    let mut rest = room.saturating_sub(DOTS.len());
    let mut count = 0;
    for cell in cells {
        let Some(left) = rest.checked_sub(cell.width) else { break };
        rest = left;
        count += 1;
    }
    (count, true)
}

/// A character with the combining characters after it, or what is printed for a hidden character or an ill-formed byte.
#[derive(Clone, Debug)]
struct Cell {
    range: Range<usize>,
    /// The number of columns.
    width: usize,
    is_hidden: bool,
}

/// An escaped line.
#[derive(Debug, Default)]
struct Cells {
    text: String,
    list: Vec<Cell>,
}

impl Cells {
    /// Appends a part of the line, with the function that escapes its characters.
    fn push(&mut self, part: &[u8], escape: impl Fn(&mut String, char)) {
        let first = self.list.len();
        for chunk in part.utf8_chunks() {
            for character in chunk.valid().chars() {
                let start = self.text.len();
                escape(&mut self.text, character);
                let shown = &self.text[start..];
                match self.list.get_mut(first..).and_then(<[Cell]>::last_mut) {
                    Some(last) if shown.width() == 0 => {
                        last.range.end = self.text.len();
                        last.width = self.text[last.range.clone()].width();
                    }
                    _ => {
                        let is_hidden = shown.starts_with("<U+") && character != '<';
                        let cell = Cell { width: shown.width(), range: start..self.text.len(), is_hidden };
                        self.list.push(cell);
                    }
                }
            }
            for byte in chunk.invalid() {
                let start = self.text.len();
                push_bytes(&mut self.text, &[*byte], push);
                self.list.push(Cell { range: start..self.text.len(), width: 4, is_hidden: false });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::diagnostic::Row;

    /// Returns the lines of an excerpt of a text with an error between two `|`.
    fn excerpt(text: &str, columns: usize, is_cut: (bool, bool)) -> Option<[String; 2]> {
        let parts: Vec<&str> = text.split('|').collect();
        let context = Context {
            line: parts.concat().into_bytes(),
            at: parts[0].len(),
            covered: parts[1].len(),
            is_cut,
            row: Row::default(),
        };
        Excerpt::of(&context, columns).map(|Excerpt { line, carets }| [line, carets])
    }

    #[test]
    fn the_carets_are_under_the_error() {
        for (text, line, carets) in [
            ("ab|c|d", "abcd", "  ^"),
            ("日本|語|!", "日本語!", "    ^^"),
            ("e\u{301}|x|", "e\u{301}x", " ^"),
            ("x|e\u{301}|y", "xe\u{301}y", " ^"),
            ("\u{64}\u{308}\u{323}|\u{202E}|", "\u{64}\u{308}\u{323}<U+202E>", " ^^^^^^^^"),
            ("\t|\u{7}| b\r", " <U+0007> b", " ^^^^^^^^"),
            ("end||", "end", "   ^"),
            ("##|e|rror[x", "##error<U+005B>x", "  ^"),
        ] {
            assert_eq!(excerpt(text, 80, (false, false)), Some([line.into(), carets.into()]), "{text}");
        }
    }

    #[test]
    fn a_line_is_cut_to_the_columns_and_not_in_a_character() {
        let long = "日本語の文字".repeat(20);
        let text = format!("{long}|é|{long}");
        for columns in 9..=260 {
            let [line, carets] = excerpt(&text, columns, (true, true)).expect("text");
            assert!(line.width() <= columns && carets.len() <= columns, "{columns}: {line}");
            assert_eq!(line[..line.find('é').expect("the error")].width(), carets.len() - 1, "{line}");
            assert!(line.starts_with(DOTS) && line.ends_with(DOTS), "{line}");
            // What does not fit is less than a character on each side.
            assert!(line.width() + 4 > columns.min(2 * long.width() + 7), "{columns}: {line}");
        }
        // The room of a short side is for the other one.
        let [line, _] = excerpt(&format!("ab|é|{}", "c".repeat(200)), 40, (false, false)).expect("text");
        assert_eq!(line, format!("abé{}...", "c".repeat(34)));
        // A combining character stays with its letter.
        let [line, carets] =
            excerpt(&format!("{}|x|", "e\u{301}".repeat(50)), 20, (false, false)).expect("text");
        assert_eq!(
            (line, carets),
            (format!("...{}x", "e\u{301}".repeat(16)), format!("{}^", " ".repeat(19)))
        );
        // An error that is too long.
        let [line, carets] =
            excerpt(&format!("{0}|{1}|{0}", "a".repeat(90), "é".repeat(90)), 40, (false, false))
                .expect("text");
        assert_eq!((line.width(), carets.matches('^').count()), (40, 31), "{line}");
    }

    #[test]
    fn what_is_not_text_has_no_excerpt() {
        assert_eq!(excerpt("||\u{1}h\0i\0", 80, (false, false)), None);
        assert!(excerpt("|\0|", 80, (false, false)).is_some());
        assert!(excerpt("\u{1B}[31m|\u{7}|red\u{1B}[0m", 80, (false, false)).is_some());
    }
}
