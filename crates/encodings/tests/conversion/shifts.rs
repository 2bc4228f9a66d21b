//! UTF-7 and ISO-2022-KR: the characters, the errors and the offsets are those of a naive decoder for the whole input,
//! for every partition.

use utf8_codec::{ErrorKind, Subset};
use utf8_codec_encodings::detect::{Detection, Detector};
use utf8_codec_encodings::{Encoding, TranscodeStatus, Transcoder};

use crate::support::encodings::{Decoded, Errors, Open, SHIFTED, by_feed, decode, encode};
use crate::support::{Rng, every_partition, some_partitions};

fn expected(from: Encoding, to: Encoding, input: &[u8]) -> (Vec<u8>, Errors) {
    let mut out = Vec::new();
    let mut errors = Vec::new();
    let mut take = |(at, len, found): Decoded| {
        let encoded = found.and_then(|value| encode(to, Open::default(), value).ok_or(ErrorKind::Unmappable));
        match encoded {
            Ok(bytes) => out.extend(bytes),
            Err(kind) => errors.push((at, kind, len)),
        }
    };
    decode(from, Open::default(), false, input).into_iter().for_each(&mut take);
    (out, errors)
}

/// Random input that is often almost well-formed.
fn dirty(rng: &mut Rng, encoding: Encoding, len: usize) -> Vec<u8> {
    const UTF_7: [&[u8]; 22] = [
        b"+",
        b"-",
        b"+-",
        b"a",
        b" ",
        b"\n",
        b"A",
        b"AA",
        b"AAA",
        b"/",
        b"+AOk-",
        b"+AOkA6QDp-",
        b"2D0",
        b"3ek",
        b"+2D3emQ-",
        b"+2D0-+3ek-",
        b"2D3e",
        b"AOl",
        b"\xFF",
        b"~\\",
        b"+2D0",
        b"-+3ek",
    ];
    const ISO_2022_KR: [&[u8]; 14] = [
        b"\x1B$)C", b"\x0E", b"\x0F", b"0!", b"0!0\"", b"\n", b" ", b"a", b"I!", b"~~", b"\x1B", b"\x1B$",
        b"\x80", b"\r\n",
    ];
    let mut out = if rng.below(2) == 0 { b"\x1B$)C".to_vec() } else { Vec::new() };
    while out.len() < len {
        match encoding {
            Encoding::Utf7 => out.extend(rng.pick(&UTF_7)),
            _ => out.extend(rng.pick(&ISO_2022_KR)),
        }
    }
    out.truncate(len);
    out
}

#[test]
fn random_input_agrees_with_the_definition_in_every_partition() {
    let mut rng = Rng::new(1557);
    for encoding in SHIFTED {
        for round in 0..300 {
            let input = dirty(&mut rng, encoding, 1 + round % 10);
            let whole = expected(encoding, Encoding::Utf8, &input);
            every_partition(&input, |chunks| {
                assert_eq!(
                    by_feed(Transcoder::new(encoding, Encoding::Utf8), chunks),
                    whole,
                    "{chunks:02X?}"
                );
            });
        }
        for to in [Encoding::Utf8, Encoding::Utf16Be, Encoding::Cesu8, Encoding::Utf32Le, Encoding::Latin1] {
            for _ in 0..20 {
                let input = dirty(&mut rng, encoding, 400);
                let whole = expected(encoding, to, &input);
                some_partitions(&input, 10, |chunks| {
                    assert_eq!(by_feed(Transcoder::new(encoding, to), chunks), whole, "{to} {chunks:02X?}");
                });
            }
        }
    }
}

#[test]
fn output_of_any_size_is_the_same() {
    let mut rng = Rng::new(2152);
    for encoding in SHIFTED {
        let input = dirty(&mut rng, encoding, 600);
        let whole = expected(encoding, Encoding::Utf8, &input);
        for size in [Transcoder::MIN_OUTPUT, 7, 33, 200] {
            let mut transcoder = Transcoder::new(encoding, Encoding::Utf8);
            let mut rest = &input[..];
            let mut out = Vec::new();
            let mut errors = Vec::new();
            let mut room = vec![0; size];
            loop {
                let progress = match rest {
                    [] => transcoder.finish_into_slice(&mut room),
                    _ => transcoder.feed_into_slice(rest, &mut room),
                };
                out.extend_from_slice(&room[..progress.written]);
                let is_end = rest.is_empty();
                rest = &rest[progress.read..];
                match progress.status {
                    TranscodeStatus::IllFormed(error) => errors.push((error.offset, error.kind, error.len)),
                    TranscodeStatus::InputEmpty if is_end => break,
                    TranscodeStatus::InputEmpty => {}
                    TranscodeStatus::OutputFull => assert!(progress.written > 0, "no progress"),
                }
            }
            assert_eq!((&out, &errors), (&whole.0, &whole.1), "{encoding} {size}");
        }
    }
}

/// The examples of RFC 2152.
#[test]
fn the_examples_of_the_rfc_are_decoded() {
    for (bytes, text) in [
        ("A+ImIDkQ.", "A\u{2262}\u{391}."),
        ("Hi Mom -+Jjo--!", "Hi Mom -\u{263A}-!"),
        ("+ZeVnLIqe-", "\u{65E5}\u{672C}\u{8A9E}"),
        ("Item 3 is +AKM-1.", "Item 3 is \u{A3}1."),
        ("1 +- 1", "1 + 1"),
        ("+2D3emQ-", "\u{1F699}"),
        ("+2D0-+3pk-", "\u{1F699}"),
        ("+//8-\\~", "\u{FFFF}\\~"),
        ("+AOk", "\u{E9}"),
    ] {
        let whole = (text.as_bytes().to_vec(), vec![]);
        some_partitions(bytes.as_bytes(), 10, |chunks| {
            assert_eq!(by_feed(Transcoder::new(Encoding::Utf7, Encoding::Utf8), chunks), whole, "{chunks:?}");
        });
    }
}

#[test]
fn each_error_has_its_kind_and_place() {
    use ErrorKind::*;
    for (encoding, input, errors) in [
        (Encoding::Utf7, &b"a+AOl-b"[..], &[(2, MissingContinuation, 3)][..]),
        (Encoding::Utf7, b"+AOkA-b", &[(4, MissingContinuation, 1)]),
        (Encoding::Utf7, b"+AO b", &[(1, MissingContinuation, 2)]),
        (Encoding::Utf7, b"+!b", &[(0, MissingContinuation, 1)]),
        (Encoding::Utf7, b"+AOk\xE9b", &[(4, InvalidLead, 1)]),
        (Encoding::Utf7, b"+2D0-b", &[(1, UnpairedSurrogate, 3)]),
        (Encoding::Utf7, b"+2D0-+-b", &[(1, UnpairedSurrogate, 3)]),
        (Encoding::Utf7, b"+2D0AYQ-", &[(1, UnpairedSurrogate, 3)]),
        (Encoding::Utf7, b"+3ek-", &[(1, UnpairedSurrogate, 3)]),
        (Encoding::Utf7, b"+2D0-+3el-", &[(1, UnpairedSurrogate, 3), (6, MissingContinuation, 3)]),
        (Encoding::Utf7, b"+2D0-+3el", &[(1, Truncated, 8)]),
        (Encoding::Utf7, b"a+", &[(1, Truncated, 1)]),
        (Encoding::Utf7, b"+AO", &[(1, Truncated, 2)]),
        (Encoding::Iso2022Kr, b"a\x0E0!", &[(1, InvalidLead, 1)]),
        (Encoding::Iso2022Kr, b"\x1B$)C\x0E0\n0!", &[(5, MissingContinuation, 1)]),
        (Encoding::Iso2022Kr, b"\x1B$)C\x0EI!0!", &[(5, Unassigned, 2)]),
        (Encoding::Iso2022Kr, b"\x1B$)C\x0E0", &[(5, Truncated, 1)]),
        (Encoding::Iso2022Kr, b"\x1B$)A", &[(0, InvalidLead, 1)]),
        (Encoding::Iso2022Kr, b"a\xB0\xA1", &[(1, InvalidLead, 1), (2, InvalidLead, 1)]),
    ] {
        every_partition(input, |chunks| {
            let found = by_feed(Transcoder::new(encoding, Encoding::Utf8), chunks).1;
            assert_eq!(found, errors, "{encoding} {chunks:02X?}");
        });
    }
    let mut transcoder = Transcoder::new(Encoding::Utf7, Encoding::Utf8);
    let error = transcoder.feed_into(b"na+AO-ve", &mut String::new()).unwrap_err();
    assert_eq!(error.to_string(), "ill-formed UTF-7 at byte 3 (MissingContinuation, 2 bytes)");
}

/// A line of ISO-2022-KR starts in ASCII, and the characters of KS X 1001 are those of EUC-KR.
#[test]
fn every_character_of_ks_x_1001_is_decoded() {
    let mut shifted = b"\x1B$)Cab\r\n\x0E".to_vec();
    let mut euc = b"ab\r\n".to_vec();
    for lead in 0x21..0x7F_u8 {
        for trail in 0x21..0x7F_u8 {
            let pair = [lead | 0x80, trail | 0x80];
            if !encoding_rs::EUC_KR.decode_without_bom_handling(&pair).1 {
                shifted.extend([lead, trail]);
                euc.extend(pair);
            }
        }
        shifted.extend(b"\x0F.\n\x0E");
        euc.extend(b".\n");
    }
    let (text, _) = encoding_rs::EUC_KR.decode_without_bom_handling(&euc);
    assert!(text.chars().count() > 8000);
    for size in [1, 2, 3, 5, 4096] {
        let chunks: Vec<&[u8]> = shifted.chunks(size).collect();
        let found = by_feed(Transcoder::new(Encoding::Iso2022Kr, Encoding::Utf8), &chunks);
        assert!(found == (text.as_bytes().to_vec(), vec![]), "{size}");
    }
}

#[test]
fn shifts_without_text_take_no_memory() {
    for (encoding, start, bomb) in [
        (Encoding::Utf7, &b""[..], &b"+AOk-"[..]),
        (Encoding::Iso2022Kr, b"\x1B$)C", b"\x0E\x0F"),
        (Encoding::Iso2022Kr, b"", b"\x1B$)C"),
    ] {
        let mut transcoder = Transcoder::new(encoding, Encoding::Utf8).with_subset(&Subset::ASCII);
        let mut text = String::new();
        transcoder.feed_into(start, &mut text).unwrap();
        let input = bomb.repeat(10_000);
        let mut rest = &input[..];
        loop {
            let before = transcoder.offset();
            let is_end = transcoder.feed_into(rest, &mut text).is_ok();
            assert!(transcoder.pending().len() <= 8);
            rest = &rest[(transcoder.offset() - before) as usize..];
            if is_end {
                break;
            }
        }
        assert_eq!((text.as_str(), text.capacity() <= 4096), ("", true), "{encoding}");
    }
}

/// They are only decoded: the characters that represent themselves are the only ones as a target.
#[test]
fn only_ascii_is_encoded() {
    let text: String = (0..0x100).filter_map(char::from_u32).collect();
    for encoding in SHIFTED {
        let (out, errors) = by_feed(Transcoder::new(Encoding::Utf8, encoding), &[text.as_bytes()]);
        let is_mapped = |it: &char| encode(encoding, Open::default(), (*it).into()).is_some();
        let kept: String = text.chars().filter(is_mapped).collect();
        assert_eq!(errors.len(), 256 - kept.chars().count(), "{encoding}");
        let back = by_feed(Transcoder::new(encoding, Encoding::Utf8), &[&out]);
        assert_eq!(back, (kept.into_bytes(), vec![]), "{encoding}");
        assert!(encoding.is_decoded_only());
    }
}

/// A line starts in ASCII, even after an error and after a line that is too long.
#[cfg(feature = "codec")]
#[test]
fn lines_start_in_ascii() {
    use bytes::BytesMut;
    use tokio_util::codec::Decoder;
    use utf8_codec::codec::CodecError;
    use utf8_codec_encodings::codec::TranscodeCodec;

    for (encoding, input, expected) in [
        (Encoding::Utf7, &b"+AOk\n-a\n+AO\r\nAOk\n+2D0-\n"[..], &["\u{E9}", "-a", "!9", "AOk", "!18"][..]),
        (Encoding::Utf7, b"+AOkA6QDpAOkA6Q\nAOk\n+", &["!0", "AOk", "!20"]),
        (Encoding::Iso2022Kr, b"\x1B$)C\x0E0!\n0!\n\x0E0!0\n\x0F0!", &["\u{AC00}", "0!", "!14", "0!"]),
    ] {
        some_partitions(input, 20, |chunks| {
            let mut codec = TranscodeCodec::new(encoding).into_lines().with_max_length(12);
            let mut buffer = BytesMut::new();
            let mut lines = Vec::new();
            for chunk in chunks.iter().copied().map(Some).chain([None]) {
                buffer.extend_from_slice(chunk.unwrap_or_default());
                loop {
                    let line = match chunk {
                        Some(_) => codec.decode(&mut buffer),
                        None => codec.decode_eof(&mut buffer),
                    };
                    match line.expect("no I/O") {
                        None => break,
                        Some(Ok(line)) => lines.push(line.to_string()),
                        Some(Err(CodecError::IllFormed { error, .. })) => {
                            lines.push(format!("!{}", error.offset))
                        }
                        Some(Err(error)) => lines.push(format!("!{}", error.line().expect("a line").offset)),
                    }
                }
            }
            assert_eq!(lines, expected, "{chunks:02X?}");
        });
    }
}

#[test]
fn utf_7_is_not_detected() {
    let mut detector = Detector::new();
    let _ = detector.push(b"+ZeVnLIqe- +AOk-");
    assert_eq!(detector.finish(), Detection::Ascii);
}
