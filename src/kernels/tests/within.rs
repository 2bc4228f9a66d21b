//! Text without characters of a set, compared with a loop over its characters.

use super::super::dispatch::Kernel;
use super::super::prefixes::Prefixes;
use crate::Subset;
use crate::rng::Rng;

/// Returns the kernels that have the function.
fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::available().filter(|kernel| kernel.text_without(b"", &Prefixes::EMPTY).is_some())
}

/// The number of bytes after the result in which there is a reason for it: a segment and the end.
const SLACK: usize = 1024 + 256 + 8;

/// Returns the length of the text without characters of the set.
fn expected(bytes: &[u8], set: &Prefixes) -> usize {
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).expect("valid"),
    };
    let is_in_set = |&(at, _): &(usize, char)| set.begins(&text.as_bytes()[at..]);
    text.char_indices().find(is_in_set).map_or(text.len(), |(at, _)| at)
}

fn check(bytes: &[u8], set: &Prefixes) {
    let expected = expected(bytes, set);
    for kernel in kernels() {
        let len = kernel.text_without(bytes, set).expect("the kernel has the function");
        assert!(len <= expected, "{kernel:?}: {len} of {expected}");
        assert!(str::from_utf8(&bytes[..len]).is_ok(), "{kernel:?}: {len}");
        assert!(expected - len <= SLACK, "{kernel:?}: {len} of {expected}");
        let text = str::from_utf8(bytes).unwrap_or_default().as_bytes();
        let first = kernel.first_of().expect("the kernel has the function")(text, set);
        assert_eq!(first, Some(expected).filter(|&at| at < text.len()), "{kernel:?}");
    }
}

static SUBSETS: [Subset; 11] = [
    Subset::ASCII,
    Subset::YAML_PRINTABLE,
    Subset::new(&[9..=13, 0x20..=0x3F, 0x50..=0x6F, 0x80..=0x10_FFFF]),
    Subset::NO_CONTROLS,
    Subset::NO_NUL,
    Subset::BMP,
    Subset::NO_BIDI_CONTROLS,
    Subset::NO_NONCHARACTERS,
    Subset::all_of(&[Subset::NO_CONTROLS, Subset::NO_BIDI_CONTROLS, Subset::NO_NONCHARACTERS]),
    Subset::new(&[0x20..=0x7E, 0x400..=0x4FF]),
    Subset::new(&[0..=0x8FF, 0xA00..=0xFFFF, 0x1_F600..=0x1_F64F]),
];

/// Checks these characters, each at an index that moves by its number, among text in which it is the only one of the set.
fn check_characters(subset: &Subset, characters: impl Iterator<Item = char>) {
    let (_, set) = subset.doubtful();
    let filler = if expected("aжa".as_bytes(), set) == 4 { "aжa" } else { "aaaa" };
    let mut bytes = filler.repeat(100).into_bytes();
    for character in characters {
        let sequence = &mut [0; 4];
        let sequence = character.encode_utf8(sequence).as_bytes();
        let at = character as usize % 60 * filler.len();
        bytes.splice(at..at, sequence.iter().copied());
        let is_in_set = set.begins(sequence);
        assert!(is_in_set || subset.contains(character), "{character:?}");
        for kernel in kernels() {
            let found = kernel.text_without(&bytes, set).expect("the kernel has the function");
            if is_in_set {
                assert!(found <= at, "{kernel:?}: {character:?} at {at}: {found}");
            } else {
                assert!(
                    found <= bytes.len() && bytes.len() - found <= 256 + 8,
                    "{kernel:?}: {character:?}: {found}"
                );
            }
        }
        bytes.drain(at..at + sequence.len());
    }
}

#[test]
fn a_character_of_a_set_ends_the_text() {
    // Of most blocks only one character in 61.
    let is_checked = |value: &u32| {
        matches!(value & 0xFFFF, 0..=0x2FF | 0x600..=0x6FF | 0x800..=0x900 | 0x1FFF..=0x20FF | 0xFDC0..)
            || value.is_multiple_of(61)
    };
    for subset in &SUBSETS {
        check_characters(subset, (0..=u32::from(char::MAX)).filter(is_checked).filter_map(char::from_u32));
    }
}

#[test]
#[ignore = "seconds in release mode, minutes without optimization"]
fn every_character_of_a_set_ends_the_text() {
    for subset in &SUBSETS {
        check_characters(subset, '\0'..=char::MAX);
    }
}

#[test]
fn the_text_ends_at_the_same_character_for_every_length_alignment_and_position() {
    let fillers = ["a", "é", "жa", "語", "a語é", "😀", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé"];
    // Ill-formed sequences, and characters of some of the sets.
    let others = [
        &b"\xFF"[..],
        b"\x80",
        b"\xE2\x80",
        b"\xED\xA0\x80",
        b"\xF4\x90\x80\x80",
        b"\xC0",
        b"\0",
        b"\x7F",
        b"\xC2\x80",
        b"\xD8\x9C",
        b"\xE2\x80\xAE",
        b"\xEF\xBF\xBE",
        b"\xF0\x9F\xBF\xBF",
        b"\xF0\x9F\x98\x80",
    ];
    for filler in fillers {
        let text = filler.repeat(1500 / filler.len());
        for (i, subset) in SUBSETS.iter().enumerate() {
            let (_, set) = subset.doubtful();
            for start in 0..40.min(text.len()) {
                check(&text.as_bytes()[start..], set);
                check(&text.as_bytes()[start..start + 9 * start], set);
            }
            for at in (i..text.len()).step_by(31) {
                let other = others[at % others.len()];
                let mut bytes = text.as_bytes()[i..].to_vec();
                let at = (0..=at - i).rev().find(|&at| text.is_char_boundary(at + i)).unwrap_or(0);
                bytes.splice(at..at, other.iter().copied());
                check(&bytes, set);
                // The other sequence at the end.
                check(&bytes[..at + other.len()], set);
            }
        }
    }
}

#[test]
fn an_unfinished_sequence_ends_the_text_at_every_position_and_alignment() {
    let sets = [Subset::new(&[0..=0x10_FFFF]), Subset::NO_CONTROLS];
    for lead in [&b"\xF0\x9F\x92"[..], b"\xF0\x9F", b"\xF0", b"\xF4\x8F\xBF", b"\xE2\x80", b"\xC3"] {
        for after in ["y", "é", "語", "💩"] {
            for at in 0..72 {
                let mut bytes = vec![b'x'; 32 + at];
                bytes.extend_from_slice(lead);
                bytes.extend_from_slice(after.repeat(600).as_bytes());
                for shift in 0..32 {
                    for subset in &sets {
                        check(&bytes[shift..], subset.doubtful().1);
                    }
                }
            }
        }
    }
}

#[test]
fn random_text_ends_where_a_loop_over_its_characters_ends() {
    let mut rng = Rng::new(5);
    let mut next = || rng.next() as usize;
    for _ in 0..5_000 {
        let (_, set) = SUBSETS[next() % SUBSETS.len()].doubtful();
        let alphabets = ["a", "aé", "abж", "語a。", "😀a", "،ع a", "“a” é…", "\u{2010}ж", "\u{FFFC}語"];
        let alphabet: Vec<char> = alphabets[next() % alphabets.len()].chars().collect();
        let mut text: String = (0..next() % 1500).map(|_| alphabet[next() % alphabet.len()]).collect();
        for _ in 0..next() % 3 {
            let rare =
                ['\0', '\u{61C}', '\u{200E}', '\u{202E}', '\u{FDD0}', '\u{FFFF}', '\u{1FFFE}', '\u{85}'];
            text.push(rare[next() % rare.len()]);
            text.extend((0..next() % 400).map(|_| alphabet[next() % alphabet.len()]));
        }
        let mut bytes = text.into_bytes();
        if next() % 2 == 0 && !bytes.is_empty() {
            let at = next() % bytes.len();
            bytes[at] = next() as u8;
        }
        let start = (next() % 33).min(bytes.len());
        check(&bytes[start..], set);
    }
}
