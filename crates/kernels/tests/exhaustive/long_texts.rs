//! What the functions find in texts of thousands of bytes is what is found one character at a time.

use utf8_codec_kernels::class_search::{self, Class};
use utf8_codec_kernels::conversions::Form::{self, Latin1, Utf8, Utf16Be, Utf16Le, Windows1252};
use utf8_codec_kernels::conversions::convert;
use utf8_codec_kernels::windows_1252::windows_1252;
use utf8_codec_kernels::{ScanState, count, validate};

use crate::rng::Rng;

/// Characters of every length, some of them rare: controls, bidi controls, noncharacters, edges of the encodings.
const RARE: [u32; 34] = [
    0x00, 0x07, 0x09, 0x0A, 0x0D, 0x1B, 0x7F, 0x80, 0x85, 0x9F, 0xA0, 0xFF, 0x100, 0x152, 0x7FF, 0x800,
    0x200E, 0x202E, 0x2066, 0x20AC, 0x2122, 0xD7FF, 0xE000, 0xFDD0, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1_0000,
    0x1_FFFE, 0x1_F600, 0xE_0001, 0x10_FFFD, 0x10_FFFF,
];
const SCRIPTS: [(u32, u32); 8] = [
    (0x20, 0x7E),
    (0xC0, 0xFF),
    (0x100, 0x17F),
    (0x410, 0x44F),
    (0x5D0, 0x5EA),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
    (0x1_F300, 0x1_F64F),
];

/// Returns a text of runs of one or two scripts, with a few rare characters or none.
fn text(rng: &mut Rng) -> String {
    let len = rng.pick(&[300, 900, 3000, 9000, 30_000]);
    let one_in = rng.pick(&[0, 5, 40, 600, 3000]);
    let mut text = String::new();
    while text.len() < len {
        let scripts = [rng.pick(&SCRIPTS), rng.pick(&SCRIPTS)];
        let is_mixed = rng.below(3) == 0;
        for _ in 0..rng.below(700) {
            let code_point = if one_in > 0 && rng.below(one_in) == 0 {
                rng.pick(&RARE)
            } else {
                let (first, last) = scripts[if is_mixed { rng.below(2) } else { 0 }];
                first + rng.below((last - first + 1) as usize) as u32
            };
            text.extend(char::from_u32(code_point));
        }
    }
    text
}

static CLASSES: [Class; 4] = [
    Class::EMPTY.with_ascii(0, 8).with_ascii(0x7F, 0x7F).with_sequences([1 << 2, u32::MAX as u64, u64::MAX]),
    Class::EMPTY.with_sequences([1 << 0x22, 3, u64::MAX]),
    Class::EMPTY.with_sequences([0x1F << 0x30, u64::MAX, u64::MAX]),
    Class::EMPTY.with_ascii(b'\n', b'\n').with_sequences([1 << 0x2F, 1 << 0x3F, 3 << 0x3E]),
];

#[test]
#[ignore = "seconds in release mode"]
fn a_long_text_is_searched_and_counted_like_its_characters() {
    let mut rng = Rng::new(0x1234_5678_9ABC_DEF1);
    for round in 0..6_000 {
        let text = text(&mut rng);
        let number = |is_counted: fn(char) -> bool| text.chars().filter(|&it| is_counted(it)).count();
        assert_eq!(count::byte(text.as_bytes(), b' '), number(|it| it == ' '), "round {round}");
        assert_eq!(count::characters(&text), number(|_| true), "round {round}");
        assert_eq!(count::sequences(&text), number(|it| !it.is_ascii()), "round {round}");
        assert_eq!(count::supplementary(&text), number(|it| it > '\u{FFFF}'), "round {round}");
        let class = &CLASSES[round % CLASSES.len()];
        let mut found = Vec::new();
        class_search::each(text.as_bytes(), class, |at| {
            found.push(at);
            true
        });
        let starts = text.char_indices().map(|(at, _)| at);
        assert!(
            found.into_iter().eq(starts.filter(|&at| class.begins(&text.as_bytes()[at..]))),
            "round {round}"
        );
    }
}

/// Returns the bytes of a character, unless the encoding does not have it.
fn encode(character: char, form: Form) -> Option<Vec<u8>> {
    let units = |order: fn(u16) -> [u8; 2]| {
        character.encode_utf16(&mut [0; 2]).iter().flat_map(|&it| order(it)).collect()
    };
    match form {
        Utf8 => Some(character.encode_utf8(&mut [0; 4]).as_bytes().to_vec()),
        Utf16Le => Some(units(u16::to_le_bytes)),
        Utf16Be => Some(units(u16::to_be_bytes)),
        Latin1 => u8::try_from(u32::from(character)).ok().map(|byte| vec![byte]),
        Windows1252 => (0..=0xFF).find(|&byte| windows_1252(byte) == character).map(|byte| vec![byte]),
    }
}

#[test]
#[ignore = "a minute in release mode"]
fn a_long_text_is_converted_like_its_characters_in_parts_of_any_size() {
    let mut rng = Rng::new(0x0FED_CBA9_8765_4321);
    for round in 0..4_000 {
        let other = rng.pick(&[Latin1, Windows1252, Utf16Le, Utf16Be]);
        let [from, to] = if round % 2 == 0 { [Utf8, other] } else { [other, Utf8] };
        let (mut input, mut expected) = (Vec::new(), Vec::new());
        for character in text(&mut rng).chars() {
            if let (Some(read), Some(written)) = (encode(character, from), encode(character, to)) {
                input.extend(read);
                expected.extend(written);
            }
        }
        let longest = rng.pick(&[20, 70, 700, 5000]);
        let (mut output, mut at) = (Vec::new(), 0);
        let mut room = vec![0; longest];
        while at < input.len() {
            let end = input.len().min(at + 4 + rng.below(longest));
            let room = &mut room[..16 + rng.below(longest - 15)];
            let (read, written) = convert(from, to, &input[at..end], room).expect("one of them is UTF-8");
            assert!(read > 0, "round {round}: {from:?} to {to:?}");
            at += read;
            output.extend_from_slice(&room[..written]);
        }
        assert!(output == expected, "round {round}: {from:?} to {to:?}");
    }
}

#[test]
#[ignore = "seconds in release mode"]
fn an_error_in_a_long_text_is_found_at_its_offset() {
    let bad: [&[u8]; 9] = [
        b"\x80",
        b"\xC1\x80",
        b"\xC3",
        b"\xE2\x82",
        b"\xE0\x9F",
        b"\xED\xA0\x80",
        b"\xF0\x9F\x92",
        b"\xF4\x90",
        b"\xFF",
    ];
    let mut rng = Rng::new(0x0123_4567_89AB_CDEF);
    for round in 0..10_000 {
        let (start, end) = (text(&mut rng), text(&mut rng));
        let bytes = [start.as_bytes(), bad[round % bad.len()], end.as_bytes()].concat();
        let longest = rng.pick(&[7, 70, 700, 5000, 60_000]);
        let (mut state, mut at) = (ScanState::START, 0);
        let found = loop {
            let chunk = &bytes[at..bytes.len().min(at + 1 + rng.below(longest))];
            if let Err(index) = validate(&mut state, chunk) {
                let begun = state.after(&chunk[..index.get()]).pending_len();
                break at + index.get() - usize::from(begun);
            }
            at += chunk.len();
            assert!(at < bytes.len(), "round {round}: no error");
        };
        assert_eq!(found, start.len(), "round {round}");
    }
}
