//! `TranscodeLinesCodec`: lines in any encoding.

use std::io;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::{CodecError, Utf8LinesCodec};
use utf8_codec::{Ascii, BomPolicy, ErrorPolicy, LineEnding, Subset};
use utf8_codec_encodings::codec::{TranscodeCodec, TranscodeLinesCodec};
use utf8_codec_encodings::{Encoding, Switches, TranscodeError, Transcoder};

use crate::codec::codec_with;
use crate::support::encodings::{OWN, encoded};
use crate::support::{Rng, every_partition, some_partitions};

/// Returns all items of a codec for lines. An error is represented by its message.
fn lines(mut codec: TranscodeLinesCodec, chunks: &[&[u8]]) -> Vec<Result<String, String>> {
    let (mut buffer, mut items) = (BytesMut::new(), Vec::new());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(item) = codec.decode(&mut buffer).unwrap() {
            items.push(item.map(String::from).map_err(|error| error.to_string()));
        }
    }
    while let Some(item) = codec.decode_eof(&mut buffer).unwrap() {
        items.push(item.map(String::from).map_err(|error| error.to_string()));
    }
    assert!(buffer.is_empty(), "every byte was returned or reported");
    items
}

/// Returns the error inside an `io::Error`.
fn reason(error: io::Error) -> CodecError<TranscodeError> {
    error.downcast().expect("an error of the codec")
}

const ENDINGS: [LineEnding; 5] = [
    LineEnding::LfOrCrLf,
    LineEnding::Lf,
    LineEnding::CrLf,
    LineEnding::Any,
    LineEnding::Ascii(Ascii::RECORD_SEPARATOR),
];

#[test]
fn lines_of_every_encoding_equal_those_of_utf_8() {
    let mut rng = Rng::new(12);
    for round in 0..150 {
        let text: String =
            (0..round % 12).map(|_| ["\r", "\n", "\u{1E}", "a", "\u{A0A}", "\u{E9}"][rng.below(6)]).collect();
        for ending in ENDINGS {
            let codec = || TranscodeCodec::new(Encoding::Utf8).into_lines().with_line_ending(ending);
            let mut reference = Utf8LinesCodec::new().with_line_ending(ending);
            let (mut buffer, mut expected) = (BytesMut::from(&*text), Vec::new());
            while let Some(line) = reference.decode_eof(&mut buffer).unwrap() {
                expected.push(Ok(line.unwrap().to_string()));
            }
            assert_eq!(lines(codec(), &[text.as_bytes()]), expected, "{ending:?} {text:?}");
            for &encoding in OWN {
                if matches!(encoding, Encoding::Latin1 | Encoding::Windows1252) && text.contains('\u{A0A}') {
                    continue;
                }
                let bytes = encoded(encoding, &text);
                some_partitions(&bytes, 4, |chunks| {
                    let codec = TranscodeCodec::new(encoding).into_lines().with_line_ending(ending);
                    assert_eq!(
                        lines(codec, chunks),
                        expected,
                        "{encoding} {ending:?} {text:?} {chunks:02X?}"
                    );
                });
            }
        }
    }
}

#[test]
fn one_ill_formed_sequence_rejects_one_line() {
    let bytes = b"\0a\0\n\0b\xDC\0\0\n\xD8\0\0\r\0\n\0t\0o\0o\0 \0l\0o\0n\0g\0\n\0c\0\n\0d\0";
    let expected = [
        Ok("a".to_owned()),
        Err("line 2, column 3: ill-formed UTF-16BE at byte 6 (UnpairedSurrogate, 2 bytes)".to_owned()),
        Err("line 3, column 1: ill-formed UTF-16BE at byte 10 (UnpairedSurrogate, 2 bytes)".to_owned()),
        Err("line 4 at byte 16 is longer than 8 bytes".to_owned()),
        Ok("c".to_owned()),
        Err("line 6, column 3: ill-formed UTF-16BE at byte 40 (Truncated, 1 byte)".to_owned()),
    ];
    let codec = |policy| codec_with(Encoding::Utf16Be, |transcoder| transcoder.with_error_policy(policy));
    some_partitions(bytes, 200, |chunks| {
        assert_eq!(
            lines(codec(ErrorPolicy::Strict).into_lines().with_max_length(8), chunks),
            expected,
            "{chunks:02X?}"
        );
        let repaired = lines(codec(ErrorPolicy::Replace).into_lines(), chunks);
        let expected = ["a", "b\u{FFFD}", "\u{FFFD}", "too long", "c", "d\u{FFFD}"];
        assert_eq!(repaired, expected.map(|line| Ok(line.to_owned())), "{chunks:02X?}");
    });
}

#[test]
fn a_limit_of_the_text_applies_after_the_conversion() {
    let codec =
        || TranscodeCodec::new(Encoding::Latin1).into_lines().with_max_length(4).with_max_text_length(4);
    some_partitions(b"abcd\n\xE9\xE9\n\xE9\xE9a\nabcde\n\xE9\xE9\r", 50, |chunks| {
        let expected = [
            Ok("abcd".to_owned()),
            Ok("\u{E9}\u{E9}".to_owned()),
            Err("line 3 at byte 8 is longer than 4 bytes".to_owned()),
            Err("line 4 at byte 12 is longer than 4 bytes".to_owned()),
            Err("line 5 at byte 18 is longer than 4 bytes".to_owned()),
        ];
        assert_eq!(lines(codec(), chunks), expected, "{chunks:02X?}");
    });
}

#[test]
fn a_terminator_is_neither_ill_formed_nor_part_of_the_line() {
    let nul = LineEnding::Ascii(Ascii::NUL);
    // A byte 00 alone is not Modified UTF-8, and the subset has no U+0000.
    let modified: fn(Transcoder) -> Transcoder = |transcoder| transcoder;
    let subset: fn(Transcoder) -> Transcoder = |transcoder| transcoder.with_subset(&Subset::NO_NUL);
    for (encoding, with) in [(Encoding::ModifiedUtf8, modified), (Encoding::Utf8, subset)] {
        let codec = |policy| {
            let codec = codec_with(encoding, |transcoder| with(transcoder).with_error_policy(policy));
            codec.into_lines().with_line_ending(nul)
        };
        for (bytes, repaired) in [(&b"ab\0c\0"[..], ["ab", "c"]), (b"ab\xE2\x82\0c\0", ["ab\\xe2\\x82", "c"])]
        {
            some_partitions(bytes, 60, |chunks| {
                let found = lines(codec(ErrorPolicy::Escape), chunks);
                assert_eq!(found, repaired.map(|line| Ok(line.to_owned())), "{chunks:02X?}");
                let strict = lines(codec(ErrorPolicy::Strict), chunks);
                assert_eq!(strict[0].is_ok(), repaired[0] == "ab", "{strict:?}");
                assert_eq!(strict[1..], [Ok("c".to_owned())], "{chunks:02X?}");
            });
        }
    }
}

#[test]
fn a_terminator_outside_the_subset_is_not_counted() {
    for codec in [
        codec_with(Encoding::Latin1, |transcoder| transcoder.with_subset(&Subset::NO_NUL)),
        TranscodeCodec::new(Encoding::ModifiedUtf8),
    ] {
        let mut codec = codec.into_lines().with_line_ending(LineEnding::Ascii(Ascii::NUL)).with_max_length(2);
        let mut buffer = BytesMut::from("ab\0c\0long\0");
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "ab");
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "c");
        assert!(codec.decode(&mut buffer).unwrap().unwrap().is_err(), "too long");
        assert_eq!((codec.counters().total(), codec.offset()), (0, 10));
    }
}

/// The terminator ends the sequence. With `sniff` the bytes that may start a BOM are unfinished too.
#[test]
fn a_terminator_after_an_unfinished_sequence_is_not_counted() {
    static LETTERS: Subset = Subset::new(&[0x41..=0x7A]);
    for (ending, text) in [(LineEnding::Any, "\r\n"), (LineEnding::CrLf, "\r\n"), (LineEnding::Lf, "\n")] {
        for (unfinished, errors) in [(&b"\xE2\x82"[..], 1), (b"\xFF", 1), (b"\xEF\xBB", 1), (b"\0\0\xFE", 3)]
        {
            let input = [unfinished, text.as_bytes(), b"a", text.as_bytes()].concat();
            every_partition(&input, |chunks| {
                let codec = codec_with(Encoding::Utf8, |transcoder| {
                    let transcoder = transcoder.with_subset(&LETTERS).with_sniffing(true);
                    transcoder.with_error_policy(ErrorPolicy::ReplaceWith('#'))
                });
                let mut codec = codec.into_lines().with_line_ending(ending);
                let (mut buffer, mut lines) = (BytesMut::new(), Vec::new());
                for chunk in chunks {
                    buffer.extend_from_slice(chunk);
                    while let Some(line) = codec.decode(&mut buffer).expect("no error of the transport") {
                        lines.push(line.expect("every error is repaired").to_string());
                    }
                }
                assert!(codec.decode_eof(&mut buffer).expect("the end").is_none());
                assert_eq!(lines, ["#".repeat(errors as usize), "a".to_owned()], "{chunks:02X?}");
                assert_eq!(codec.counters().total(), errors, "{ending:?} {chunks:02X?}");
            });
        }
    }
}

#[test]
fn a_missing_bom_before_an_empty_line_is_an_error() {
    for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le] {
        for ending in [LineEnding::LfOrCrLf, LineEnding::CrLf, LineEnding::Any] {
            some_partitions(&encoded(encoding, "\r\na\r\n"), 30, |chunks| {
                for sniff in [false, true] {
                    let codec = codec_with(encoding, |transcoder| {
                        transcoder.with_sniffing(sniff).with_bom_policy(BomPolicy::Require)
                    });
                    let found = lines(codec.into_lines().with_line_ending(ending), chunks);
                    let message = found[0].as_ref().expect_err("no BOM");
                    assert!(
                        message.starts_with("line 1, column 1: no BOM at byte 0 (MissingBom"),
                        "{message}"
                    );
                    assert_eq!(found[1..], [Ok("a".to_owned())], "{chunks:02X?}");
                }
            });
        }
    }
}

#[test]
fn the_limit_counts_the_line_and_not_its_terminator() {
    let codec = || TranscodeCodec::new(Encoding::Utf16Le).into_lines().with_max_length(8);
    let too_long = "line 1 at byte 0 is longer than 8 bytes".to_owned();
    for (text, line) in [("abcd\n", Ok("abcd".to_owned())), ("abcde\n", Err(too_long.clone()))] {
        some_partitions(&encoded(Encoding::Utf16Le, text), 60, |chunks| {
            assert_eq!(lines(codec(), chunks), core::slice::from_ref(&line), "{chunks:02X?}");
        });
    }
    // The error is returned before the terminator arrives.
    let mut buffer = BytesMut::from(&*encoded(Encoding::Utf16Le, "abcdefgh"));
    let item = codec().decode(&mut buffer).unwrap();
    let Some(Err(CodecError::LineTooLong { limit: 8, rejected })) = item else { panic!("{item:?}") };
    assert_eq!(rejected.bytes, encoded(Encoding::Utf16Le, "abcd"));
    // An LF after the CR that ends a long line is not an empty line.
    some_partitions(&encoded(Encoding::Utf16Le, "abcde\r\nf\n"), 60, |chunks| {
        let expected = [Err(too_long.clone()), Ok("f".to_owned())];
        assert_eq!(lines(codec().with_line_ending(LineEnding::Any), chunks), expected, "{chunks:02X?}");
    });
}

#[test]
fn only_a_bom_at_the_start_selects_the_encoding_of_the_lines() {
    let utf16 = |text| encoded(Encoding::Utf16Le, text);
    // In UTF-16LE the bytes of U+FFFE are those of a BOM in UTF-16BE.
    some_partitions(&utf16("\u{FFFE}a\nb\n"), 20, |chunks| {
        let codec = TranscodeCodec::new(Encoding::Utf16Le).into_lines();
        assert_eq!(lines(codec, chunks), [Ok("\u{FFFE}a".to_owned()), Ok("b".to_owned())], "{chunks:02X?}");
    });
    some_partitions(&utf16("\u{FEFF}a\n\u{FFFE}b\n"), 20, |chunks| {
        let codec = codec_with(Encoding::Utf8, |transcoder| {
            transcoder.with_sniffing(true).with_bom_policy(BomPolicy::Strip)
        })
        .into_lines();
        assert_eq!(lines(codec, chunks), [Ok("a".to_owned()), Ok("\u{FFFE}b".to_owned())], "{chunks:02X?}");
    });
}

#[test]
fn a_bom_selects_the_encoding_of_the_lines() {
    for encoding in
        [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be]
    {
        let bytes = encoded(encoding, "\u{FEFF}a\nb\n");
        some_partitions(&bytes, 20, |chunks| {
            let codec = codec_with(Encoding::Utf8, |transcoder| {
                transcoder.with_sniffing(true).with_bom_policy(BomPolicy::Strip)
            })
            .into_lines();
            assert_eq!(
                lines(codec, chunks),
                [Ok("a".to_owned()), Ok("b".to_owned())],
                "{encoding} {chunks:02X?}"
            );
        });
    }
}

/// `FF FE 00 00` is also the BOM of UTF-32LE.
#[test]
fn a_terminator_after_a_bom_and_a_nul_ends_the_line() {
    some_partitions(&encoded(Encoding::Utf16Le, "\u{FEFF}\0\na\n"), 60, |chunks| {
        let codec = codec_with(Encoding::Utf8, |transcoder| transcoder.with_sniffing(true)).into_lines();
        assert_eq!(lines(codec, chunks), [Ok("\0".to_owned()), Ok("a".to_owned())], "{chunks:02X?}");
    });
}

#[test]
fn a_bom_longer_than_the_limit_selects_the_encoding() {
    let bytes = encoded(Encoding::Utf16Le, "\u{FEFF}a\nb\n\nc");
    some_partitions(&bytes, 200, |chunks| {
        for max in [0, 1] {
            let codec = codec_with(Encoding::Utf8, |transcoder| transcoder.with_sniffing(true))
                .into_lines()
                .with_max_length(max);
            let too_long = |line, offset| {
                let unit = if max == 1 { "byte" } else { "bytes" };
                Err(format!("line {line} at byte {offset} is longer than {max} {unit}"))
            };
            let expected = [too_long(1, 0), too_long(2, 6), Ok(String::new()), too_long(4, 12)];
            assert_eq!(lines(codec, chunks), expected, "{chunks:02X?}");
        }
    });
}

#[test]
fn lines_are_written_in_the_encoding_with_their_terminator() {
    for &encoding in OWN {
        for (ending, terminator) in [(LineEnding::LfOrCrLf, "\n"), (LineEnding::CrLf, "\r\n")] {
            let mut codec = TranscodeCodec::new(encoding).into_lines().with_line_ending(ending);
            let mut out = BytesMut::new();
            codec.encode("a\u{E9}", &mut out).unwrap();
            assert_eq!(out, encoded(encoding, &format!("a\u{E9}{terminator}")), "{encoding}");
            let error = reason(codec.encode("two\nlines", &mut out).unwrap_err());
            assert!(matches!(error, CodecError::EmbeddedTerminator { position: 3 }));
            assert_eq!(codec.decode(&mut out).unwrap().unwrap().unwrap(), "a\u{E9}");
            assert!(out.is_empty());
        }
    }
}

#[test]
fn a_replacement_does_not_end_a_line_that_is_written() {
    static WITHOUT_EURO: Subset = Subset::new(&[0..=0x20AB, 0x20AD..=0x0010_FFFF]);
    let substitute = |byte| ErrorPolicy::Substitute(Ascii::new(byte).unwrap());
    for &encoding in OWN {
        for (on_error, ending, line, position) in [
            (ErrorPolicy::ReplaceWith('\n'), LineEnding::LfOrCrLf, "a\u{20AC}b\u{20AC}", Some(1)),
            (substitute(b'\n'), LineEnding::Lf, "a\u{20AC}", Some(1)),
            (ErrorPolicy::ReplaceWith('\r'), LineEnding::CrLf, "a\u{20AC}b", Some(1)),
            (ErrorPolicy::ReplaceWith('\r'), LineEnding::Any, "\u{E9}\u{20AC}b", Some(2)),
            (ErrorPolicy::ReplaceWith('\r'), LineEnding::LfOrCrLf, "a\u{20AC}b\u{20AC}", Some(5)),
            (ErrorPolicy::ReplaceWith('\r'), LineEnding::LfOrCrLf, "a\u{20AC}b", None),
            (ErrorPolicy::Skip, LineEnding::LfOrCrLf, "a\r\u{20AC}", Some(2)),
            (ErrorPolicy::Escape, LineEnding::Ascii(Ascii::new(b'x').unwrap()), "a\u{20AC}", Some(1)),
            (ErrorPolicy::Replace, LineEnding::LfOrCrLf, "a\u{20AC}b", None),
        ] {
            let codec = codec_with(encoding, |transcoder| {
                transcoder.with_subset(&WITHOUT_EURO).with_error_policy(on_error)
            });
            let mut codec = codec.into_lines().with_line_ending(ending);
            let mut out = BytesMut::from("before");
            match (codec.encode(line, &mut out).map_err(reason), position) {
                (Ok(()), None) => assert!(out.len() > 6),
                (Err(CodecError::EmbeddedTerminator { position }), Some(expected)) => {
                    assert_eq!((position, &out[..]), (expected, &b"before"[..]), "{encoding} {on_error:?}");
                }
                (other, _) => panic!("{encoding} {on_error:?} {ending:?} {line:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_line_that_is_too_long_ends_with_the_stream() {
    let mut codec = TranscodeCodec::new(Encoding::Utf16Le).into_lines().with_max_length(4);
    let mut buffer = BytesMut::from(&encoded(Encoding::Utf16Le, "long")[..]);
    let error = codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 1 at byte 0 is longer than 4 bytes");
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    // The stream resumes.
    buffer.extend_from_slice(&encoded(Encoding::Utf16Le, "b\nlong\n"));
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "b");
    let error = codec.decode(&mut buffer).unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 3 at byte 12 is longer than 4 bytes");
}

#[test]
fn the_last_line_without_a_terminator_has_one_error() {
    for (encoding, surrogates, line, offset) in [
        // Both bytes of the unfinished sequence become surrogates, which are not in UTF-8.
        (Encoding::Utf8b, false, &b"ab\xE2\x82"[..], 2),
        // The surrogate is a character of the source, and half a code unit follows it.
        (Encoding::Utf16Le, true, b"a\0\x3D\xD8b", 2),
    ] {
        let switches = Switches::STRICT.with_surrogates(surrogates);
        let codec = || codec_with(encoding, |transcoder| transcoder.with_switches(switches)).into_lines();
        every_partition(line, |chunks| {
            let items = lines(codec(), chunks);
            let is_one = matches!(&items[..], [Err(error)] if error.contains(&format!("at byte {offset} (Unmappable")));
            assert!(is_one, "{items:?} {chunks:02X?}");
        });
        let mut codec = codec().with_max_length(1);
        let mut buffer = BytesMut::from(line);
        assert!(codec.decode_eof(&mut buffer).unwrap().unwrap().is_err());
        assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
        // The stream resumes after its end.
        buffer.extend_from_slice(&encoded(encoding, "\n"));
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "", "{encoding}");
    }
}

#[test]
fn part_of_a_unit_ends_a_line_as_long_as_the_limit() {
    every_partition(b"a\0b", |chunks| {
        let codec = TranscodeCodec::new(Encoding::Utf16Le).into_lines().with_max_length(2);
        let expected = Err("line 1 at byte 0 is longer than 2 bytes".to_owned());
        assert_eq!(lines(codec, chunks), [expected]);
    });
    // The stream resumes after its end.
    let mut codec = TranscodeCodec::new(Encoding::Utf16Le).into_lines().with_max_length(2);
    let mut buffer = BytesMut::from(&b"a\0b"[..]);
    assert!(codec.decode_eof(&mut buffer).unwrap().unwrap().is_err());
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"c\0\n\0");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "c");
}

#[test]
fn lines_of_ebcdic_equal_those_of_utf_8() {
    let mut rng = Rng::new(1047);
    for _ in 0..60 {
        let text: String = (0..rng.below(9))
            .map(|_| ["\r", "\n", "\u{85}", "\u{8E}", "%", "\u{1E}", "\u{E9}"][rng.below(7)])
            .collect();
        let mut bytes = Vec::new();
        let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Ibm1047);
        transcoder.feed_into(text.as_bytes(), &mut bytes).unwrap();
        for ending in ENDINGS {
            let codec = |encoding| TranscodeCodec::new(encoding).into_lines().with_line_ending(ending);
            let expected = lines(codec(Encoding::Utf8), &[text.as_bytes()]);
            every_partition(&bytes, |chunks| {
                assert_eq!(lines(codec(Encoding::Ibm1047), chunks), expected, "{ending:?} {chunks:02X?}");
            });
            let mut out = BytesMut::new();
            let mut codec = codec(Encoding::Ibm1047);
            codec.encode("a%", &mut out).unwrap();
            assert!(out.len() > 2 && codec.encode("\r\n\u{1E}", &mut out).is_err());
            assert_eq!(codec.decode(&mut out).unwrap().unwrap().unwrap(), "a%");
        }
    }
}
