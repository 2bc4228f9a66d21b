//! Compares `Locator` with a count of one character at a time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::locate::{Columns, Locator};
use utf8_codec::{Ascii, LineEnding};
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
    let mut locator = Locator::new().with_line_ending(ending);
    let mut by_ascii = locator.clone();
    for part in &parts {
        locator.push(part);
        let ascii = by_ascii.push_ascii(part.as_bytes());
        by_ascii.push(&part[ascii..]);
    }
    assert_eq!(by_ascii.location(), locator.location());

    let (mut line, mut columns) = (0, Columns::default());
    let bytes = text.as_bytes();
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        if at == text.len() {
            let here = locator.location();
            assert_eq!((here.offset, here.line, here.columns), (at as u64, line, columns));
            break;
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
});
