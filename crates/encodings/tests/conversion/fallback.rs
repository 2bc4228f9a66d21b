//! `FallbackDecoder` and `FallbackLinesCodec`: the same text as a naive decoder, for every partition.

use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{FallbackDecoder, Scope, UnsupportedFallback};

use crate::support::{Rng, every_partition, some_partitions};

const NAMED: [(Encoding, &encoding_rs::Encoding); 7] = [
    (Encoding::Windows1252, encoding_rs::WINDOWS_1252),
    (Encoding::Windows1251, encoding_rs::WINDOWS_1251),
    (Encoding::Koi8R, encoding_rs::KOI8_R),
    (Encoding::Ibm866, encoding_rs::IBM866),
    (Encoding::ShiftJis, encoding_rs::SHIFT_JIS),
    (Encoding::Gbk, encoding_rs::GBK),
    (Encoding::EucKr, encoding_rs::EUC_KR),
];

fn decoder(encoding: Encoding, scope: Scope) -> FallbackDecoder {
    FallbackDecoder::new(encoding, scope).expect("it is supported")
}

fn decode(mut decoder: FallbackDecoder, chunks: &[&[u8]]) -> String {
    let mut out = String::new();
    chunks.iter().for_each(|chunk| decoder.feed_into(chunk, &mut out));
    decoder.finish_into(&mut out);
    out
}

fn partitions(input: &[u8], check: impl FnMut(&[&[u8]])) {
    if input.len() < 9 { every_partition(input, check) } else { some_partitions(input, 20, check) }
}

/// Decodes one line without its LF.
fn line(line: &[u8], named: &'static encoding_rs::Encoding, limit: usize) -> String {
    let legacy = || named.decode_without_bom_handling(line).0.into_owned();
    let ascii = line.iter().position(|byte| !byte.is_ascii()).unwrap_or(line.len());
    if let Some(start) = line[ascii..].get(..limit) {
        return match core::str::from_utf8(start) {
            Err(error) if error.error_len().is_some() => legacy(),
            _ => String::from_utf8_lossy(line).into_owned(),
        };
    }
    let content = line.strip_suffix(b"\r").unwrap_or(line);
    let line_break = if content.len() < line.len() { "\r" } else { "" };
    match core::str::from_utf8(content) {
        Ok(text) => text.to_owned() + line_break,
        Err(error) => match core::str::from_utf8(&content[..error.valid_up_to()]) {
            Ok(text) if error.error_len().is_none() && !text.is_ascii() => {
                text.to_owned() + "\u{FFFD}" + line_break
            }
            _ => legacy(),
        },
    }
}

/// A naive fallback decoder: splits the input by the scope, then decodes each part.
fn expected(input: &[u8], named: &'static encoding_rs::Encoding, scope: Scope, limit: usize) -> String {
    if let Some(units) = input.strip_prefix(b"\xFF\xFE") {
        return encoding_rs::UTF_16LE.decode_without_bom_handling(units).0.into_owned();
    }
    let whole = |part: &[u8]| match part.strip_suffix(b"\n") {
        Some(content) => line(content, named, limit) + "\n",
        None => line(part, named, limit),
    };
    match scope {
        Scope::Frame => whole(input),
        Scope::Line => input.split_inclusive(|&byte| byte == b'\n').map(whole).collect(),
        _ => input
            .utf8_chunks()
            .map(|chunk| chunk.valid().to_owned() + &named.decode_without_bom_handling(chunk.invalid()).0)
            .collect(),
    }
}

/// Lines of UTF-8, of the named encoding, and of neither.
fn mixed(rng: &mut Rng, named: &'static encoding_rs::Encoding, lines: usize) -> Vec<u8> {
    let mut input = Vec::new();
    if rng.below(8) == 0 {
        input.extend([0xFF, 0xFE]);
    }
    for _ in 0..lines {
        let text = ["Привет", "テスト", "汉字", "한글", "é", "ab", ""][rng.below(7)];
        match rng.below(3) {
            0 => input.extend(text.bytes()),
            1 => input.extend(&*named.encode(text).0),
            _ => input.extend(rng.dirty_text(1)),
        }
        input.truncate(input.len() - rng.below(3).min(input.len()));
        input.extend([&b"\n"[..], b"\r\n", b"\r", b"", b"a"][rng.below(5)]);
    }
    input
}

#[test]
fn the_text_is_the_same_for_every_partition() {
    let mut rng = Rng::new(26);
    for round in 0..1_400 {
        let (encoding, named) = NAMED[round % NAMED.len()];
        let input = mixed(&mut rng, named, 1 + round % 4);
        for scope in [Scope::Sequence, Scope::Line, Scope::Frame] {
            let Ok(new) = FallbackDecoder::new(encoding, scope) else { continue };
            let text = new.decode(&input);
            assert_eq!(text, expected(&input, named, scope, usize::MAX), "{encoding} {scope:?} {input:02X?}");
            if scope == Scope::Frame {
                continue;
            }
            let limit = [1 << 16, 3, 4, 7, 12][round % 5];
            let streamed = expected(&input, named, scope, limit);
            partitions(&input, |chunks| {
                let text = decode(new.clone().with_limit(limit), chunks);
                assert_eq!(text, streamed, "{encoding} {scope:?} {limit} {chunks:02X?}");
            });
        }
    }
}

#[test]
fn an_encoding_has_the_line_ends_of_ascii_or_is_refused() {
    for &encoding in Encoding::ALL {
        match FallbackDecoder::new(encoding, Scope::Line) {
            Ok(decoder) => {
                let ascii: Vec<u8> = (0..0x80).collect();
                // The line is not UTF-8, so its ASCII characters are those of the encoding.
                let text = decoder.decode(&[&ascii, &b"\xFF\xC0"[..]].concat()).into_owned();
                assert!(text.as_bytes().starts_with(&ascii), "{encoding}");
                for lead in 0x80..=0xFF {
                    let text = decoder.decode(&[0xFF, 0xC0, lead, b'\n', b'a']).into_owned();
                    assert!(text.ends_with("\na"), "{encoding} {lead:02X}");
                    let text = decode(decoder.clone(), &[&[0xFF, 0xC0, lead, b'\n', b'a']]);
                    assert!(text.ends_with("\na"), "{encoding} {lead:02X}");
                }
            }
            Err(UnsupportedFallback { encoding: of, scope, .. }) => {
                assert_eq!((of, scope), (encoding, Scope::Line));
                assert!(FallbackDecoder::new(encoding, Scope::Sequence).is_err(), "{encoding}");
            }
        }
    }
    let refused = |scope| {
        let is_refused = move |encoding: &&Encoding| FallbackDecoder::new(**encoding, scope).is_err();
        Encoding::ALL.iter().filter(is_refused).map(|encoding| encoding.name()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        refused(Scope::Line),
        "modified-utf-8 utf-16le utf-16be utf-32le utf-32be utf-7 ibm037 ibm500 ibm1047 iso-2022-jp iso-2022-kr"
    );
    // Every single byte of the others is one character.
    for &encoding in Encoding::ALL {
        if let Ok(decoder) = FallbackDecoder::new(encoding, Scope::Sequence) {
            for byte in 0x80..=0xFF {
                assert_eq!(
                    decoder.decode(&[byte, byte, byte, b'a']).chars().count(),
                    4,
                    "{encoding} {byte:02X}"
                );
            }
        }
    }
    let message = |encoding, scope| FallbackDecoder::new(encoding, scope).expect_err("refused").to_string();
    assert_eq!(
        message(Encoding::ShiftJis, Scope::Sequence),
        "Shift_JIS cannot be the fallback for single sequences: it has characters of several bytes"
    );
    assert_eq!(
        message(Encoding::Utf16Le, Scope::Line),
        "UTF-16LE cannot be the fallback for UTF-8: its ASCII characters have other bytes, or a state"
    );
}

#[test]
fn utf_8_that_is_cut_in_its_last_character_is_not_in_the_named_encoding() {
    for (input, frame, line) in [
        (&b"caf\xC3\xA9 na\xC3"[..], "caf\u{E9} na\u{FFFD}", "caf\u{E9} na\u{FFFD}"),
        (b"\xE2\x82\xAC\xF0\x9F\x98\r\n", "\u{20AC}\u{FFFD}\r\n", "\u{20AC}\u{FFFD}\r\n"),
        // Without another character of several bytes it may be legacy text, and after an error it is.
        (b"caf\xE9", "caf\u{E9}", "caf\u{E9}"),
        (b"caf\xE9\r\n", "caf\u{E9}\r\n", "caf\u{E9}\r\n"),
        (b"\xFF\xC3\xA9\xC3", "\u{FF}\u{C3}\u{A9}\u{C3}", "\u{FF}\u{C3}\u{A9}\u{C3}"),
        (b"\xC3\xA9\xC3\nb", "\u{C3}\u{A9}\u{C3}\nb", "\u{E9}\u{FFFD}\nb"),
        (b"\xC3\xA9\n\xC3", "\u{E9}\n\u{FFFD}", "\u{E9}\n\u{C3}"),
    ] {
        assert_eq!(decoder(Encoding::Latin1, Scope::Frame).decode(input), frame);
        assert_eq!(decoder(Encoding::Latin1, Scope::Line).decode(input), line);
    }
}

#[test]
fn text_is_appended_as_soon_as_it_is_certain() {
    for (input, certain, flushed, rest) in [
        // The ASCII characters of a line are certain, and everything after an ill-formed sequence.
        (&b"C:\\> "[..], "C:\\> ", "", ""),
        (b"> \x8F\xE0", "> \u{41F}\u{440}", "", ""),
        (b"1\n2\xD0\x9F!", "1\n2", "\u{41F}!", ""),
        // A cut character may be completed.
        (b"> \xD0\x9F\xD1", "> ", "\u{41F}", "\u{FFFD}"),
        (b"> \xD0", "> ", "", "\u{2568}"),
        // `FF` may be half of a BOM.
        (b"\xFF", "", "", "\u{A0}"),
    ] {
        let mut decoder = decoder(Encoding::Ibm866, Scope::Line);
        let mut out = String::new();
        decoder.feed_into(input, &mut out);
        assert_eq!(out, certain);
        decoder.flush_into(&mut out);
        assert_eq!(out, certain.to_owned() + flushed);
        decoder.finish_into(&mut out);
        assert_eq!(out, certain.to_owned() + flushed + rest);
    }
    // A flushed line stays UTF-8, the next one is decided anew.
    let mut decoder = decoder(Encoding::Ibm866, Scope::Line);
    let mut out = String::new();
    decoder.feed_into(b"\xD0\x9F: ", &mut out);
    decoder.flush_into(&mut out);
    decoder.feed_into(b"\x8F\n\x8F\n", &mut out);
    assert_eq!(out, "\u{41F}: \u{FFFD}\n\u{41F}\n");
}

#[test]
fn a_line_without_an_end_is_decided_at_the_limit() {
    let mut decoder = decoder(Encoding::Windows1251, Scope::Line).with_limit(100);
    let mut out = String::new();
    for chunk in [&b"ascii"[..], "я".as_bytes(), b"\xFF"] {
        for _ in 0..100_000 {
            decoder.feed_into(chunk, &mut out);
            assert!(format!("{decoder:?}").len() < 150);
        }
    }
    decoder.finish_into(&mut out);
    assert_eq!(out, "ascii".repeat(100_000) + &"я".repeat(100_000) + &"\u{FFFD}".repeat(100_000));
}

#[test]
fn a_decoder_is_used_again() {
    for (input, text) in [
        (&b"\xC3\xA9\xE9!"[..], "Ã©é!"),
        (b"\xFF\xFEa\0\n\0\xE9", "a\n\u{FFFD}"),
        (b"\xFF", "ÿ"),
        ("é".as_bytes(), "é"),
    ] {
        let mut decoder = decoder(Encoding::Latin1, Scope::Line);
        let mut out = String::new();
        for _ in 0..2 {
            decoder.feed_into(input, &mut out);
            decoder.finish_into(&mut out);
        }
        assert_eq!(out, text.repeat(2));
    }
}

#[cfg(feature = "codec")]
mod codec {
    use bytes::BytesMut;
    use tokio_util::codec::Decoder;
    use utf8_codec::codec::CodecError;
    use utf8_codec_encodings::codec::FallbackLinesCodec;

    use super::*;

    fn lines(mut codec: FallbackLinesCodec, chunks: &[&[u8]]) -> Vec<Result<String, usize>> {
        let mut buffer = BytesMut::new();
        let mut lines = Vec::new();
        let mut push = |line: Result<_, CodecError>| {
            lines.push(match line {
                Ok(line) => Ok(String::from(line)),
                Err(CodecError::LineTooLong { limit, .. }) => Err(limit),
                Err(error) => panic!("{error}"),
            });
        };
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            while let Some(line) = codec.decode(&mut buffer).expect("no I/O") {
                push(line);
            }
        }
        while let Some(line) = codec.decode_eof(&mut buffer).expect("no I/O") {
            push(line);
        }
        lines
    }

    #[test]
    fn the_lines_are_those_of_the_decoder_for_every_partition() {
        let mut rng = Rng::new(27);
        for round in 0..700 {
            let (encoding, named) = NAMED[round % NAMED.len()];
            let input = mixed(&mut rng, named, 1 + round % 4);
            let text = decoder(encoding, Scope::Line).decode(&input).into_owned();
            let mut expected: Vec<_> = text
                .split_inclusive('\n')
                .map(|line| match line.strip_suffix('\n') {
                    Some(line) => Ok(line.strip_suffix('\r').unwrap_or(line).to_owned()),
                    None => Ok(line.to_owned()),
                })
                .collect();
            if input == b"\xFF\xFE" {
                // As in `TranscodeLinesCodec`.
                expected.push(Ok(String::new()));
            }
            partitions(&input, |chunks| {
                let codec = FallbackLinesCodec::new(encoding).expect("it is supported");
                assert_eq!(lines(codec, chunks), expected, "{encoding} {chunks:02X?}");
            });
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once() {
        for input in [
            &b"\x8F\xE0\n\x8F\xE0\xA8\xA2\xA5\xE2!\nok"[..],
            // The BOM is a part of the first line.
            b"\xFF\xFE\x1F\x04@\x04\n\0\x1F\x04@\x048\x042\x045\x04\n\0o\0k\0",
        ] {
            partitions(input, |chunks| {
                let codec = FallbackLinesCodec::new(Encoding::Ibm866).expect("it is supported");
                let lines = lines(codec.with_max_length(6), chunks);
                assert_eq!(lines, [Ok("Пр".to_owned()), Err(6), Ok("ok".to_owned())], "{chunks:02X?}");
            });
        }
    }
}
