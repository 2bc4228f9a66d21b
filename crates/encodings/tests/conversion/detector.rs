//! `Detector`, `BomSniffer` and `DesignationRecognizer`, for every partition.

use utf8_codec::{ErrorKind, Utf8Error};
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{
    BomSniffer, Designation, DesignationRecognizer, Detection, Detector, Padding, Sniff,
};

use crate::support::{Rng, every_partition, oracle};

pub(crate) fn detect(chunks: &[&[u8]]) -> Detection {
    let mut detector = Detector::new();
    for chunk in chunks {
        assert_eq!(detector.push(chunk), detector.detection());
    }
    detector.finish()
}

#[test]
fn every_verdict_is_the_same_for_every_partition() {
    let not_utf_8 = |offset, kind, len| Detection::NotUtf8 { first: Utf8Error::new(offset, kind, len) };
    let looks_like = |encoding, units, evidence| Detection::LooksLikeUtf16 { encoding, units, evidence };
    for (input, expected) in [
        (&b""[..], Detection::Ascii),
        (b"plain\n", Detection::Ascii),
        (b"\0\0a", Detection::Ascii),
        (b"caf\xC3\xA9 \xE2\x82\xAC", Detection::Utf8 { sequences: 2 }),
        (b"\xEF\xBB\xBF", Detection::Utf8WithBom { sequences: 0 }),
        (b"\xEF\xBB\xBFa\xC3\xA9", Detection::Utf8WithBom { sequences: 1 }),
        (b"a\0b\0c\0", looks_like(Encoding::Utf16Le, 3, 3)),
        (b"\0a\0b\0c", looks_like(Encoding::Utf16Be, 3, 3)),
        (b"\0a\x26\x3A\0b\0c\0", looks_like(Encoding::Utf16Be, 4, 3)),
        // There are too few code units, or characters that do not occur in text.
        (b"a\0b\0", Detection::Ascii),
        (b"a\0b\0c\0\0\0", Detection::Ascii),
        (b"\xFF\xFEa\0", Detection::Utf16(Encoding::Utf16Le)),
        (b"\xFF\xFE", Detection::Utf16(Encoding::Utf16Le)),
        (b"\xFE\xFF\0a", Detection::Utf16(Encoding::Utf16Be)),
        (b"\xFF\xFE\0\0a\0\0\0", Detection::Utf32(Encoding::Utf32Le)),
        (b"\0\0\xFE\xFF\0\0\0a", Detection::Utf32(Encoding::Utf32Be)),
        (b"a\x1B$Bb", Detection::Iso2022 { label: "ISO-2022-JP" }),
        (b"\x1B\x1B$(D!", Detection::Iso2022 { label: "ISO-2022-JP" }),
        (b"\x1B$)C\x0E", Detection::Iso2022 { label: "ISO-2022-KR" }),
        (b"\x1B$)A\x0E", Detection::Iso2022 { label: "ISO-2022-CN" }),
        // Colors and sets of one byte for a terminal, and text that is not ASCII.
        (b"\x1B[1m\x1B(B$B", Detection::Ascii),
        (b"\x1B$Bb\xC3\xA9", Detection::Utf8 { sequences: 1 }),
        (b"\xFFa", not_utf_8(0, ErrorKind::InvalidLead, 1)),
        (b"\xFF", not_utf_8(0, ErrorKind::InvalidLead, 1)),
        (b"\0\0\xFEa", not_utf_8(2, ErrorKind::InvalidLead, 1)),
        (b"caf\xE9!", not_utf_8(3, ErrorKind::MissingContinuation, 1)),
        (b"caf\xC3", not_utf_8(3, ErrorKind::Truncated, 1)),
        (b"\xEF\xBBa", not_utf_8(0, ErrorKind::MissingContinuation, 2)),
    ] {
        every_partition(input, |chunks| assert_eq!(detect(chunks), expected, "{chunks:02X?}"));
    }
}

#[test]
fn the_first_error_is_that_of_the_oracle() {
    let mut rng = Rng::new(1252);
    for round in 0..2_000 {
        // The first byte must not be the start of the BOM of another encoding.
        let input = [b"x", &rng.dirty_text(1 + round % 7)[..]].concat();
        let first = oracle::decode(&input).1.first().copied();
        every_partition(&input, |chunks| match (detect(chunks), first) {
            (Detection::NotUtf8 { first }, Some(expected)) => {
                assert_eq!((first.offset, first.kind, first.len), expected);
            }
            (Detection::Ascii, None) => assert!(input.is_ascii()),
            (Detection::Utf8 { sequences }, None) => {
                let text = core::str::from_utf8(&input).expect("well-formed");
                assert_eq!(sequences as usize, text.chars().filter(|c| !c.is_ascii()).count());
            }
            other => panic!("{other:?} {chunks:02X?}"),
        });
    }
}

#[test]
fn a_bom_is_detected_at_the_earliest_byte_for_every_partition() {
    for (input, verdict) in [
        // The number of bytes that decide.
        (&b"\xEF\xBB\xBFa"[..], (3, Encoding::Utf8)),
        (b"\xFF\xFE\0a", (4, Encoding::Utf16Le)),
        (b"\xFF\xFEaa", (3, Encoding::Utf16Le)),
        (b"\xFF\xFE\0\0a\0\0\0", (8, Encoding::Utf32Le)),
        (b"\xFF\xFE\0\0a\0\0\x01", (8, Encoding::Utf16Le)),
        (b"\xFF\xFE\0\0a\0\x11\0", (7, Encoding::Utf16Le)),
        (b"\xFE\xFF\0\0", (2, Encoding::Utf16Be)),
        (b"\0\0\xFE\xFF", (4, Encoding::Utf32Be)),
    ] {
        let mut sniffer = BomSniffer::new();
        for (at, byte) in input.iter().enumerate() {
            let (len, encoding) = verdict;
            let verdict = if at + 1 < len { Sniff::Undecided } else { Sniff::Found(encoding) };
            assert_eq!(sniffer.push(&[*byte]), verdict, "{input:02X?}: {at}");
        }
        assert!(input.starts_with(sniffer.examined()));
    }
    for input in [&b"\x80"[..], b"a", b"\xEFa", b"\xEF\xBBa", b"\xFFa", b"\0a", b"\0\0a", b"\0\0\xFEa"] {
        let mut sniffer = BomSniffer::new();
        let (last, first) = input.split_last().expect("not empty");
        for byte in first {
            assert_eq!(sniffer.push(&[*byte]), Sniff::Undecided);
        }
        assert_eq!(sniffer.push(&[*last]), Sniff::Absent, "{input:02X?}");
    }
    assert_eq!(BomSniffer::new().finish(), Sniff::Absent);
}

/// Pads a sequence, by Annex R.6 and clause 16.
fn padded(padding: Padding, sequence: &[u8]) -> Vec<u8> {
    let zeros = match padding {
        Padding::None => 0,
        Padding::Ucs2 => 1,
        Padding::Ucs4 => 3,
    };
    sequence.iter().flat_map(|&byte| [vec![0; zeros], vec![byte]].concat()).collect()
}

#[test]
fn the_offset_is_the_same_for_every_partition() {
    for (input, expected) in [
        (&b"\xFF\xFEa\0b\0"[..], 0),
        (b"\xFE\xFF\0a", 0),
        (b"\0\0\xFE\xFF\0\0\0a", 0),
        (b"\xFF\xFE\0\0a\0\0\0", 0),
        (b"\xEF\xBB\xBFcaf\xC3\xA9", 8),
        (b"ab\xE9cd", 3),
    ] {
        every_partition(input, |chunks| {
            let mut detector = Detector::new();
            for chunk in chunks {
                detector.push(chunk);
            }
            detector.finish();
            assert_eq!(detector.offset(), expected, "{chunks:02X?}");
        });
    }
}

#[test]
fn designations_are_found_with_every_padding() {
    for padding in [Padding::None, Padding::Ucs2, Padding::Ucs4] {
        for (sequence, designation) in [
            (&b"\x1B\x25\x2F\x47"[..], Designation::Utf8Level(1)),
            (b"\x1B\x25\x2F\x48", Designation::Utf8Level(2)),
            (b"\x1B\x25\x2F\x49", Designation::Utf8Level(3)),
            (b"\x1B\x25\x47", Designation::Utf8),
            (b"\x1B\x25\x40", Designation::Return),
        ] {
            // A sequence that is interrupted by another ESC, and a sequence that is not a designation.
            let before = padded(padding, b"a\x1B\x25\x1B");
            let found = padded(padding, sequence);
            let input = [&before[..], &found, &padded(padding, b"\x1B\x25\x2F\x4A\x1B\x26\x47")].concat();
            let check = |chunks: &[&[u8]]| {
                let mut recognizer = DesignationRecognizer::padded(padding);
                let mut all = Vec::new();
                for chunk in chunks {
                    all.extend(recognizer.feed(chunk));
                }
                let [one] = all[..] else { panic!("{all:?} {chunks:02X?}") };
                assert_eq!(one.designation, designation);
                assert_eq!(
                    (one.offset, one.end()),
                    (before.len() as u64, (before.len() + found.len()) as u64)
                );
                assert_eq!(recognizer.offset(), input.len() as u64);
            };
            check(&[&input]);
            check(&input.chunks(1).collect::<Vec<_>>());
            for cut in 0..input.len() {
                check(&[&input[..cut], &input[cut..]]);
            }
        }
    }
}

#[test]
fn a_padded_designation_starts_at_a_code_unit() {
    let shifted = [&b"\0"[..], &padded(Padding::Ucs4, b"\x1B\x25\x47")].concat();
    assert_eq!(DesignationRecognizer::padded(Padding::Ucs4).feed(&shifted).next(), None);
    for padding in [b"\0\0\x01", b"\x01\x01\0"] {
        let foreign = [padding, &b"\x1B\0\0\0\x25\0\0\0\x47"[..]].concat();
        assert_eq!(DesignationRecognizer::padded(Padding::Ucs4).feed(&foreign).next(), None);
    }

    let stream = b"\x1B%Gtext\x1B%@rest";
    let mut recognizer = DesignationRecognizer::new();
    let first = recognizer.feed(stream).next().expect("a designation");
    assert_eq!((first.designation, recognizer.offset()), (Designation::Utf8, 3));
    let second = recognizer.feed(&stream[3..]).next().expect("another");
    assert_eq!((second.designation, second.offset), (Designation::Return, 7));
}
