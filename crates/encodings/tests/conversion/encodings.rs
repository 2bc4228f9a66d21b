//! The tables of the standards, in both directions: RFC 2279, ISO/IEC 10646-1 Annex R, and the names of the encodings.

use utf8_codec::{ErrorKind, Utf8Error};
use utf8_codec_encodings::{Encoding, Switches, TranscodeError, Transcoder};

use crate::support::encodings::OWN;
use crate::support::every_partition;

fn convert_named(transcoder: Transcoder, chunks: &[&[u8]]) -> Result<Vec<u8>, TranscodeError> {
    let (mut transcoder, mut out) = (transcoder, Vec::new());
    for chunk in chunks {
        transcoder.feed_into(chunk, &mut out)?;
    }
    transcoder.finish_into(&mut out)?;
    Ok(out)
}

fn convert(transcoder: Transcoder, chunks: &[&[u8]]) -> Result<Vec<u8>, Utf8Error> {
    convert_named(transcoder, chunks).map_err(|error| Utf8Error::new(error.offset, error.kind, error.len))
}

/// Asserts that `a` in `from` is converted to `b` in `to`, and back, for every partition.
fn both_ways(from: Encoding, a: &[u8], to: Encoding, b: &[u8]) {
    every_partition(a, |chunks| assert_eq!(convert(Transcoder::new(from, to), chunks).as_deref(), Ok(b)));
    every_partition(b, |chunks| assert_eq!(convert(Transcoder::new(to, from), chunks).as_deref(), Ok(a)));
}

/// Annex R, Table 3: UCS-4 and UTF-8 in hexadecimal notation.
const TABLE_3: [(u32, &[u8]); 13] = [
    (0x0000_0001, &[0x01]),
    (0x0000_007F, &[0x7F]),
    (0x0000_0080, &[0xC2, 0x80]),
    (0x0000_07FF, &[0xDF, 0xBF]),
    (0x0000_0800, &[0xE0, 0xA0, 0x80]),
    (0x0000_FFFF, &[0xEF, 0xBF, 0xBF]),
    (0x0001_0000, &[0xF0, 0x90, 0x80, 0x80]),
    (0x0010_FFFF, &[0xF4, 0x8F, 0xBF, 0xBF]),
    (0x001F_FFFF, &[0xF7, 0xBF, 0xBF, 0xBF]),
    (0x0020_0000, &[0xF8, 0x88, 0x80, 0x80, 0x80]),
    (0x03FF_FFFF, &[0xFB, 0xBF, 0xBF, 0xBF, 0xBF]),
    (0x0400_0000, &[0xFC, 0x84, 0x80, 0x80, 0x80, 0x80]),
    (0x7FFF_FFFF, &[0xFD, 0xBF, 0xBF, 0xBF, 0xBF, 0xBF]),
];

#[test]
fn annex_r_table_3_in_both_directions() {
    for (value, bytes) in TABLE_3 {
        both_ways(Encoding::Utf32Be, &value.to_be_bytes(), Encoding::Utf8Ucs4, bytes);
        both_ways(Encoding::Utf32Le, &value.to_le_bytes(), Encoding::Utf8Ucs4, bytes);
    }
}

/// Annex R, Table 2: the same in binary notation, without the row of 0010 FFFF.
#[rustfmt::skip]
const TABLE_2: [(u32, &[u8]); 12] = [
    (0b00000000_00000000_00000000_00000001, &[0b00000001]),
    (0b00000000_00000000_00000000_01111111, &[0b01111111]),
    (0b00000000_00000000_00000000_10000000, &[0b11000010, 0b10000000]),
    (0b00000000_00000000_00000111_11111111, &[0b11011111, 0b10111111]),
    (0b00000000_00000000_00001000_00000000, &[0b11100000, 0b10100000, 0b10000000]),
    (0b00000000_00000000_11111111_11111111, &[0b11101111, 0b10111111, 0b10111111]),
    (0b00000000_00000001_00000000_00000000, &[0b11110000, 0b10010000, 0b10000000, 0b10000000]),
    (0b00000000_00011111_11111111_11111111, &[0b11110111, 0b10111111, 0b10111111, 0b10111111]),
    (0b00000000_00100000_00000000_00000000, &[0b11111000, 0b10001000, 0b10000000, 0b10000000, 0b10000000]),
    (0b00000011_11111111_11111111_11111111, &[0b11111011, 0b10111111, 0b10111111, 0b10111111, 0b10111111]),
    (0b00000100_00000000_00000000_00000000, &[0b11111100, 0b10000100, 0b10000000, 0b10000000, 0b10000000, 0b10000000]),
    (0b01111111_11111111_11111111_11111111, &[0b11111101, 0b10111111, 0b10111111, 0b10111111, 0b10111111, 0b10111111]),
];

#[test]
fn annex_r_table_2_in_both_directions() {
    for (value, bytes) in TABLE_2 {
        both_ways(Encoding::Utf32Be, &value.to_be_bytes(), Encoding::Utf8Ucs4, bytes);
    }
    assert!(TABLE_2.iter().all(|row| TABLE_3.contains(row)));
}

/// Annex R, Table 1, and the table of RFC 2279: the fixed bits of a lead byte, the number of its free bits, and the
/// maximum value.
const TABLE_1: [(u8, u32, u32); 6] = [
    (0b0000_0000, 7, 0x0000_007F),
    (0b1100_0000, 5, 0x0000_07FF),
    (0b1110_0000, 4, 0x0000_FFFF),
    (0b1111_0000, 3, 0x001F_FFFF),
    (0b1111_1000, 2, 0x03FF_FFFF),
    (0b1111_1100, 1, 0x7FFF_FFFF),
];

#[test]
fn annex_r_defines_the_values_of_each_length() {
    let mut first = 0;
    for (len, (fixed, free, last)) in (1..).zip(TABLE_1) {
        assert_eq!(u64::from(last) + 1, 1 << (free + 6 * (len - 1)));
        for value in [first, last] {
            let bytes =
                convert(Transcoder::new(Encoding::Utf32Be, Encoding::Utf8Ucs4), &[&value.to_be_bytes()])
                    .expect("UCS-4 has it");
            assert_eq!(bytes.len(), len as usize, "{value:X}");
            assert_eq!(bytes[0] & (0xFF_u32 << free) as u8, fixed, "{value:X}");
            assert!(bytes[1..].iter().all(|byte| byte & 0xC0 == 0x80), "{value:X}");
            both_ways(Encoding::Utf8Ucs4, &bytes, Encoding::Utf32Be, &value.to_be_bytes());
        }
        first = last.wrapping_add(1);
    }
    // `80..=BF` are continuation bytes; `FE` and `FF` are not used.
    for byte in (0x80..=0xBF).chain(0xFE..=0xFF) {
        let kind = if byte < 0xC0 { ErrorKind::UnexpectedContinuation } else { ErrorKind::InvalidLead };
        let rejected = convert(Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Be), &[&[byte]]);
        assert_eq!(rejected, Err(Utf8Error::new(0, kind, 1)));
    }
}

/// Annex R, Table 4, in its own notation: `/` is integer division, `%` modulo.
fn table_4(x: u32) -> Vec<u8> {
    let p = |n: u32| 2_u32.pow(n);
    let bytes = match x {
        0x0000_0000..=0x0000_007F => vec![x],
        0x0000_0080..=0x0000_07FF => vec![0xC0 + x / p(6), 0x80 + x % p(6)],
        0x0000_0800..=0x0000_FFFF => vec![0xE0 + x / p(12), 0x80 + x / p(6) % p(6), 0x80 + x % p(6)],
        0x0001_0000..=0x001F_FFFF => {
            vec![0xF0 + x / p(18), 0x80 + x / p(12) % p(6), 0x80 + x / p(6) % p(6), 0x80 + x % p(6)]
        }
        0x0020_0000..=0x03FF_FFFF => vec![
            0xF8 + x / p(24),
            0x80 + x / p(18) % p(6),
            0x80 + x / p(12) % p(6),
            0x80 + x / p(6) % p(6),
            0x80 + x % p(6),
        ],
        _ => vec![
            0xFC + x / p(30),
            0x80 + x / p(24) % p(6),
            0x80 + x / p(18) % p(6),
            0x80 + x / p(12) % p(6),
            0x80 + x / p(6) % p(6),
            0x80 + x % p(6),
        ],
    };
    bytes.into_iter().map(|byte| byte as u8).collect()
}

/// Annex R, Table 5.
fn table_5(bytes: &[u8]) -> u32 {
    let p = |n: u32| 2_u32.pow(n);
    let byte: Vec<u32> = bytes.iter().copied().map(u32::from).collect();
    match byte[..] {
        [z @ 0x00..=0x7F] => z,
        [z @ 0xC0..=0xDF, y] => (z - 0xC0) * p(6) + (y - 0x80),
        [z @ 0xE0..=0xEF, y, x] => (z - 0xE0) * p(12) + (y - 0x80) * p(6) + (x - 0x80),
        [z @ 0xF0..=0xF7, y, x, w] => {
            (z - 0xF0) * p(18) + (y - 0x80) * p(12) + (x - 0x80) * p(6) + (w - 0x80)
        }
        [z @ 0xF8..=0xFB, y, x, w, v] => {
            (z - 0xF8) * p(24) + (y - 0x80) * p(18) + (x - 0x80) * p(12) + (w - 0x80) * p(6) + (v - 0x80)
        }
        [z @ 0xFC..=0xFD, y, x, w, v, u] => {
            (z - 0xFC) * p(30)
                + (y - 0x80) * p(24)
                + (x - 0x80) * p(18)
                + (w - 0x80) * p(12)
                + (v - 0x80) * p(6)
                + (u - 0x80)
        }
        _ => panic!("{bytes:02X?}"),
    }
}

#[test]
fn annex_r_tables_4_and_5_agree_with_the_transcoder() {
    let mut rng = crate::support::Rng::new(0x10646);
    let random = (0..50_000).map(|_| rng.next() as u32 >> 1 >> rng.below(24));
    let values = (0..0x1_2000).chain(TABLE_3.map(|(value, _)| value)).chain(random);
    for value in values.filter(|value| !(0xD800..0xE000).contains(value)) {
        let bytes = table_4(value);
        assert_eq!(table_5(&bytes), value);
        let to = convert(Transcoder::new(Encoding::Utf32Be, Encoding::Utf8Ucs4), &[&value.to_be_bytes()]);
        assert_eq!(to.as_deref(), Ok(&bytes[..]), "{value:X}");
        let from = convert(Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Be), &[&bytes]);
        assert_eq!(from.as_deref(), Ok(&value.to_be_bytes()[..]), "{value:X}");
    }
}

#[test]
fn annex_r_note_3_has_two_switches() {
    for value in [0xD800_u32, 0xDBFF, 0xDC00, 0xDFFF] {
        let bytes = table_4(value);
        let (to, from) = (
            Transcoder::new(Encoding::Utf32Be, Encoding::Utf8Ucs4),
            Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Be),
        );
        let rejected = |len| Err(Utf8Error::new(0, ErrorKind::Surrogate, len));
        every_partition(&bytes, |chunks| {
            // The second byte is rejected, as in UTF-8.
            assert_eq!(convert(from.clone(), chunks), rejected(1));
            let open = from.clone().with_switches(Switches::STRICT.with_surrogates(true));
            assert_eq!(convert(open, chunks).as_deref(), Ok(&value.to_be_bytes()[..]));
        });
        every_partition(&value.to_be_bytes(), |chunks| {
            assert_eq!(convert(to.clone(), chunks), rejected(4));
            let open = to.clone().with_switches(Switches::STRICT.with_surrogates(true));
            assert_eq!(convert(open, chunks).as_deref(), Ok(&bytes[..]));
        });
    }
    for value in [0xFFFE_u32, 0xFFFF] {
        let bytes = table_4(value);
        both_ways(Encoding::Utf32Be, &value.to_be_bytes(), Encoding::Utf8Ucs4, &bytes);
        let closed = Switches::STRICT.with_reject_fffe_ffff(true);
        every_partition(&bytes, |chunks| {
            let from = Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Be).with_switches(closed);
            assert_eq!(convert(from, chunks), Err(Utf8Error::new(0, ErrorKind::Noncharacter, 3)));
        });
        let to = Transcoder::new(Encoding::Utf32Be, Encoding::Utf8Ucs4).with_switches(closed);
        let rejected = Err(Utf8Error::new(0, ErrorKind::Unmappable, 4));
        assert_eq!(convert(to, &[&value.to_be_bytes()]), rejected);
    }
}

#[test]
fn rfc_2279_examples_from_ucs_2_and_back() {
    for (units, bytes) in [
        (&[0x0041_u16, 0x2262, 0x0391, 0x002E][..], &b"\x41\xE2\x89\xA2\xCE\x91\x2E"[..]),
        (&[0xD55C, 0xAD6D, 0xC5B4], b"\xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4"),
        (&[0x65E5, 0x672C, 0x8A9E], b"\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E"),
        // §2: the UTF-16 transformation must be undone, yielding one UCS-4 character.
        (&[0xD800, 0xDF48], b"\xF0\x90\x8D\x88"),
    ] {
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        for utf_8 in [Encoding::Utf8, Encoding::Utf8Ucs4] {
            both_ways(Encoding::Utf16Be, &big, utf_8, bytes);
            both_ways(Encoding::Utf16Le, &little, utf_8, bytes);
        }
    }
}

#[test]
fn rfc_2279_naive_decodings_are_rejected() {
    // §2 and §6: C0 80, and 2F C0 AE 2E 2F.
    for (bytes, offset) in [(&b"\xC0\x80"[..], 0), (b"\x2F\xC0\xAE\x2E\x2F", 1), (b"\xE0\x80\x80", 0)] {
        for from in [Encoding::Utf8, Encoding::Utf8Ucs4, Encoding::Cesu8, Encoding::Wtf8] {
            every_partition(bytes, |chunks| {
                let error = convert(Transcoder::new(from, Encoding::Utf16Be), chunks).expect_err("overlong");
                assert_eq!((error.offset, error.kind), (offset, ErrorKind::Overlong), "{from}");
            });
        }
    }
    // Overlong sequences of every length.
    for bytes in [&b"\xF0\x8F\xBF\xBF"[..], b"\xF8\x87\xBF\xBF\xBF", b"\xFC\x83\xBF\xBF\xBF\xBF"] {
        let error =
            convert(Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Be), &[bytes]).expect_err("overlong");
        assert_eq!(error, Utf8Error::new(0, ErrorKind::Overlong, 1));
    }
}

#[test]
fn modified_utf_8_is_strict_unless_lenient_java_is_set() {
    both_ways(
        Encoding::ModifiedUtf8,
        b"a\xC0\x80\xED\xA0\xBD\xED\xB2\xA9",
        Encoding::Utf8,
        "a\0💩".as_bytes(),
    );
    let strict = Transcoder::new(Encoding::ModifiedUtf8, Encoding::Utf8);
    let lenient = strict.clone().with_switches(Switches::STRICT.with_lenient_java(true));
    for (bytes, text) in [(&b"a\0"[..], "a\0"), (b"a\xF0\x9F\x92\xA9", "a💩")] {
        every_partition(bytes, |chunks| {
            assert_eq!(convert(strict.clone(), chunks), Err(Utf8Error::new(1, ErrorKind::InvalidLead, 1)));
            assert_eq!(convert(lenient.clone(), chunks).as_deref(), Ok(text.as_bytes()));
        });
    }
    let overlong = Err(Utf8Error::new(0, ErrorKind::Overlong, 1));
    assert_eq!(convert(lenient, &[b"\xC0\x81"]), overlong);
}

/// ASCII is converted in blocks if no kernel converts the pair of encodings, which is so with this switch.
#[test]
fn a_nul_among_ascii_has_two_bytes_in_modified_utf_8() {
    let text = "20 bytes and a NUL\0, then 20 more bytes".as_bytes();
    let modified = text[..18].iter().chain(b"\xC0\x80").chain(&text[19..]).copied().collect::<Vec<u8>>();
    for to in [Encoding::Utf8, Encoding::Utf8Ucs4] {
        let switches = Switches::STRICT.with_reject_fffe_ffff(true);
        let encode = Transcoder::new(to, Encoding::ModifiedUtf8).with_switches(switches);
        assert_eq!(convert(encode, &[text]).as_deref(), Ok(modified.as_slice()));
        let decode = Transcoder::new(Encoding::ModifiedUtf8, to).with_switches(switches);
        assert_eq!(convert(decode.clone(), &[&modified]).as_deref(), Ok(text));
        assert_eq!(convert(decode, &[text]), Err(Utf8Error::new(18, ErrorKind::InvalidLead, 1)));
    }
}

/// ASCII is converted in blocks of 16 bytes here, too.
#[test]
fn a_run_of_a_byte_is_converted_like_the_byte() {
    for (from, to) in [(Encoding::Latin1, Encoding::Windows1252), (Encoding::Windows1252, Encoding::Latin1)] {
        let transcoder = Transcoder::new(from, to);
        for byte in 0..=u8::MAX {
            let single = convert(transcoder.clone(), &[&[byte]]);
            assert_eq!(
                convert(transcoder.clone(), &[&[byte; 20]]),
                single.map(|out| out.repeat(20)),
                "{byte:02X}"
            );
        }
    }
}

#[test]
fn canonical_names_and_aliases_of_encodings_are_parsed() {
    for &encoding in Encoding::ALL {
        assert_eq!(encoding.to_string().parse(), Ok(encoding));
        assert_eq!(encoding.name().to_uppercase().replace('-', "_").parse(), Ok(encoding));
    }
    for (name, encoding) in [
        ("UTF8", Encoding::Utf8),
        ("rfc2279", Encoding::Utf8Ucs4),
        ("CESU-8", Encoding::Cesu8),
        ("mutf-8", Encoding::ModifiedUtf8),
        ("surrogateescape", Encoding::Utf8b),
        ("UTF-16LE", Encoding::Utf16Le),
        ("utf-16", Encoding::Utf16Le),
        ("UCS-2BE", Encoding::Utf16Be),
        ("UCS-4", Encoding::Utf32Be),
        ("ISO-8859-1", Encoding::Latin1),
        ("latin-1", Encoding::Latin1),
        ("cp1252", Encoding::Windows1252),
        ("UTF-7", Encoding::Utf7),
        ("unicode-1-1-utf-7", Encoding::Utf7),
        ("csISO2022KR", Encoding::Iso2022Kr),
    ] {
        assert_eq!(name.parse(), Ok(encoding), "{name}");
    }
    let unknown = "x-unknown".parse::<Encoding>().expect_err("not an encoding here").to_string();
    let names = Encoding::ALL.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    assert_eq!(unknown, format!("unknown encoding `x-unknown`; known are {names}"));
    for &encoding in Encoding::ALL {
        assert!(encoding.aliases().all(|alias| alias.parse() == Ok(encoding)), "{encoding}");
    }
    assert_eq!(OWN.iter().map(|encoding| encoding.aliases().count()).sum::<usize>(), 28);
}

#[test]
fn errors_name_both_encodings() {
    // Only UCS-4 has the value 7FFFFFFF.
    for (to, title) in [
        (Encoding::Utf8, "UTF-8"),
        (Encoding::Cesu8, "CESU-8"),
        (Encoding::ModifiedUtf8, "Modified UTF-8"),
        (Encoding::Wtf8, "WTF-8"),
        (Encoding::Utf8b, "UTF-8b"),
        (Encoding::Utf16Le, "UTF-16LE"),
        (Encoding::Utf16Be, "UTF-16BE"),
        (Encoding::Latin1, "ISO 8859-1"),
        (Encoding::Windows1252, "windows-1252"),
    ] {
        let error = convert_named(Transcoder::new(Encoding::Utf8Ucs4, to), &[b"a\xFD\xBF\xBF\xBF\xBF\xBF"]);
        let error = error.expect_err("no character of the encoding");
        assert_eq!(error.source_encoding, Encoding::Utf8Ucs4);
        let expected =
            format!("character not in {title} at byte 1 (Unmappable, 6 bytes of UTF-8 of RFC 2279)");
        assert_eq!(error.to_string(), expected);
    }
    for (from, title) in [(Encoding::Utf32Le, "UTF-32LE"), (Encoding::Utf32Be, "UTF-32BE")] {
        let error = convert_named(Transcoder::new(from, Encoding::Utf8), &[b"a"]).expect_err("unfinished");
        assert_eq!(error.to_string(), format!("ill-formed {title} at byte 0 (Truncated, 1 byte)"));
    }
}

#[test]
fn charset_labels_of_the_web_and_of_annex_m_are_parsed() {
    for (label, encoding) in [
        ("unicode-1-1-utf-8", Some(Encoding::Utf8)),
        (" UTF-8\t", Some(Encoding::Utf8)),
        ("x-unicode20utf8", Some(Encoding::Utf8)),
        ("latin1", Some(Encoding::Windows1252)),
        ("us-ascii", Some(Encoding::Windows1252)),
        ("iso-10646-ucs-2", Some(Encoding::Utf16Le)),
        ("unicodeFFFE", Some(Encoding::Utf16Be)),
        ("ISO 10646 part-1 utf-8", Some(Encoding::Utf8)),
        ("cesu-8", None),
        ("utf-32", None),
        ("", None),
    ] {
        assert_eq!(Encoding::for_label(label), encoding, "{label}");
    }
    assert_eq!(Encoding::Utf8.descriptor(), Some("ISO 10646 part-1 utf-8"));
    assert_eq!(Encoding::Utf8.arc(), Some(("UTF8-form", 8)));
    assert_eq!(Encoding::Utf16Be.descriptor(), Some("ISO 10646 part-1 utf-16"));
    assert_eq!(Encoding::Utf16Be.arc(), Some(("transformation-format-16", 5)));
    assert_eq!((Encoding::Utf16Le.descriptor(), Encoding::Utf16Le.arc()), (None, None));
    assert_eq!(Encoding::Utf8.bom(), Some(&b"\xEF\xBB\xBF"[..]));
}
