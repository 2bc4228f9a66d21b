//! Compares `Locator` and `LineIndex` with a count of one character at a time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::locate::{Column, Columns, LineIndex, Locator};
use utf8_codec::{LineEnding, Ascii};
use utf8_codec_fuzz::Input;

const CR: LineEnding = LineEnding::Ascii(Ascii::new(b'\r').unwrap());
const ENDINGS: [LineEnding; 6] = [
    LineEnding::Lf,
    LineEnding::CrLf,
    CR,
    LineEnding::Any,
    LineEnding::LfOrCrLf,
    LineEnding::Ascii(Ascii::QUESTION_MARK),
];

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let ending = input.pick(5, &ENDINGS);
    let (text, parts) = input.text();
    let (mut locator, mut index, mut joined) =
        (Locator::new().with_line_ending(ending), LineIndex::new(ending), Locator::new().with_line_ending(ending));
    let mut by_ascii = locator;
    for part in &parts {
        locator.push(part);
        let ascii = by_ascii.push_ascii(part.as_bytes());
        by_ascii.push(&part[ascii..]);
        index.push(part);
        let mut alone = Locator::new().with_line_ending(ending);
        alone.push(part);
        joined.join(&alone);
    }
    // The same document by edits, from its end to its start.
    let mut edited = LineIndex::new(ending);
    for part in parts.iter().rev() {
        edited.splice(0..0, "a\r\n");
        edited.splice(0..3, part);
    }
    assert_eq!((joined.location(), by_ascii.location()), (locator.location(), locator.location()));

    let (mut line, mut columns) = (0, Columns::default());
    let bytes = text.as_bytes();
    // The index is asked about each character of a short text. In a long one, that takes the time of a hundred short ones.
    let every = 1 + text.len() / 256;
    let phase = input.pick(6, &[0, 1, 2, 3, 5, 8, 13, 21]) % every;
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        let offset = at as u64;
        if at == text.len() || at % every == phase {
            let here = index.location(offset).expect("in the text");
            assert_eq!((here.offset, here.line, here.columns), (offset, line, columns));
            assert_eq!(edited.location(offset), Some(here));
        }
        if at == text.len() {
            assert_eq!(index.location(offset), Some(locator.location()));
            break;
        }
        // A position inside a terminator of two bytes is after the end of the line's content.
        if at % every == phase && index.line(line).expect("a line").contains(&offset) {
            assert_eq!(index.offset_of(line, Column::Utf16(columns.utf16)), Some(offset));
            assert_eq!(index.offset_of(line, Column::Characters(columns.characters)), Some(offset));
        }
        let next = bytes.get(at + 1);
        let ends = match ending {
            LineEnding::Lf | LineEnding::LfOrCrLf => character == '\n',
            LineEnding::Ascii(byte) => character == char::from(byte),
            LineEnding::CrLf => character == '\n' && at > 0 && bytes[at - 1] == b'\r',
            LineEnding::Any => character == '\n' || character == '\r' && next != Some(&b'\n'),
            ending => unreachable!("{ending:?}"),
        };
        if ends {
            (line, columns) = (line + 1, Columns::default());
        } else {
            columns.bytes += character.len_utf8() as u64;
            columns.utf16 += character.len_utf16() as u64;
            columns.characters += 1;
        }
    }
    assert_eq!(index.lines(), line + 1);
});
