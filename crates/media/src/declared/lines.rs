//! Declarations that are found by lines: Python and gettext.

use core::ops::Range;

use super::found::{Declaration, End, Found, declaration};

/// Splits the prefix into lines without their terminators, each with its start. A line without a terminator is [`End`],
/// because it may continue, unless the prefix is whole.
struct Lines<'p> {
    prefix: &'p [u8],
    is_whole: bool,
    start: usize,
}

impl<'p> Lines<'p> {
    fn next(&mut self) -> Result<(usize, &'p [u8]), End> {
        let start = self.start;
        let rest = &self.prefix[start..];
        let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.start = self.prefix.len();
            return if self.is_whole && !rest.is_empty() { Ok((start, rest)) } else { Err(End) };
        };
        let len = match rest[end..] {
            [b'\r'] if !self.is_whole => return Err(End),
            [b'\r', b'\n', ..] => 2,
            _ => 1,
        };
        self.start = start + end + len;
        Ok((start, &rest[..end]))
    }

    /// Returns the line that starts at the position, which may continue after the prefix.
    fn unfinished(&self) -> (usize, &'p [u8]) {
        let rest = &self.prefix[self.start..];
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        (self.start, &rest[..end])
    }
}

/// Returns the encoding that a comment in one of the first two lines declares. The second line counts only if the first
/// one is blank or a comment.
pub(super) fn python(prefix: &[u8], is_whole: bool) -> Found<'_> {
    let mut lines = Lines { prefix, is_whole, start: 0 };
    for _ in 0..2 {
        let (start, line) = lines.unfinished();
        let code = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\x0C'));
        match code.map(|position| line[position]) {
            Some(b'#') => {
                // The byte after the label has to be known.
                if let Some(range) = cookie(line)
                    && (is_whole || start + range.end < prefix.len())
                {
                    return Ok(Some(declaration(prefix, start + range.start..start + range.end)));
                }
            }
            Some(_) => return Ok(None),
            None => {}
        }
        lines.next()?;
    }
    Ok(None)
}

/// Returns the label in a line that matches `coding[:=][ \t]*([-_.a-zA-Z0-9]+)`.
fn cookie(line: &[u8]) -> Option<Range<usize>> {
    let mut from = 0;
    while let Some(position) = line[from..].windows(6).position(|window| window == b"coding") {
        from += position + 6;
        if !matches!(line.get(from), Some(b':' | b'=')) {
            continue;
        }
        let start =
            from + 1 + line[from + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let len = line[start..].iter().take_while(|byte| is_label(**byte)).count();
        if len > 0 {
            return Some(start..start + len);
        }
    }
    None
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

/// Returns the encoding of the header entry: the entry with an empty `msgid`, which is the first one. The name `CHARSET`
/// in a template declares nothing.
pub(super) fn gettext(prefix: &[u8], is_whole: bool) -> Found<'_> {
    let mut lines = Lines { prefix, is_whole, start: 0 };
    let mut has_text = false;
    loop {
        let (start, line) = lines.next()?;
        if line.starts_with(b"msgid") && has_text {
            return Ok(None);
        }
        has_text |= line.starts_with(b"msgstr");
        let field = line.strip_prefix(b"msgstr").unwrap_or(line).trim_ascii_start();
        if has_text && field.get(..14).is_some_and(|name| name.eq_ignore_ascii_case(b"\"Content-Type:")) {
            return Ok(charset(prefix, start, line));
        }
    }
}

fn charset<'p>(prefix: &'p [u8], start: usize, line: &[u8]) -> Option<Declaration<'p>> {
    let position = line.windows(8).position(|window| window.eq_ignore_ascii_case(b"charset="))? + 8;
    let len = line[position..].iter().take_while(|byte| is_label(**byte) || **byte == b':').count();
    let label = start + position..start + position + len;
    (len > 0 && &prefix[label.clone()] != b"CHARSET").then(|| declaration(prefix, label))
}
