//! The codec for lines.

use core::fmt::Debug;

use bytes::BytesMut;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{CodecError, Utf8LinesCodec};
use utf8_codec::{Ascii, BomPolicy, ErrorKind, ErrorPolicy, LineEnding, TextDecoder};

use crate::support::{Rng, every_partition, oracle, some_partitions};
use crate::text::{Item, run};

/// The items that `Utf8LinesCodec` must return, by a naive implementation of its documentation.
pub(crate) fn expected_lines(input: &[u8], ending: LineEnding, limit: usize) -> Vec<Item> {
    let (mut items, mut at) = (Vec::new(), 0);
    while at < input.len() {
        let rest = &input[at..];
        let lf = rest.iter().position(|&byte| byte == b'\n');
        let (payload, line) = match ending {
            LineEnding::Lf => lf.map(|lf| (lf, lf + 1)),
            LineEnding::LfOrCrLf => lf.map(|lf| (lf - usize::from(rest[..lf].ends_with(b"\r")), lf + 1)),
            LineEnding::CrLf => rest.windows(2).position(|pair| pair == b"\r\n").map(|at| (at, at + 2)),
            LineEnding::Any => rest
                .iter()
                .position(|byte| b"\r\n".contains(byte))
                .map(|at| (at, at + if rest[at..].starts_with(b"\r\n") { 2 } else { 1 })),
            _ => unreachable!(),
        }
        .unwrap_or((rest.len(), rest.len()));
        let errors = oracle::decode(&rest[..line]).1;
        items.push(if payload > limit {
            Item::TooLong { offset: at as u64 }
        } else if let Some(&(offset, kind, len)) = errors.first() {
            Item::IllFormed { offset: at as u64 + offset, kind, len, rejected: rest[..payload].to_vec() }
        } else {
            Item::Text(String::from_utf8(rest[..payload].to_vec()).unwrap())
        });
        at += line;
    }
    items
}

fn every_ending() -> [LineEnding; 4] {
    [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, LineEnding::Any]
}

/// Well-formed and ill-formed text with line terminators.
fn partly_ill_formed_lines(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut input = rng.dirty_text(len);
    for byte in &mut input {
        match rng.below(7) {
            0 => *byte = b'\n',
            1 => *byte = b'\r',
            _ => {}
        }
    }
    input
}

/// As in `str::lines`.
#[test]
fn a_cr_at_the_end_of_the_stream_belongs_to_the_line() {
    for input in ["a,b\rc,d\r", "a\r\n\r", "\r", "a\r\r\n\r\r"] {
        let lines: Vec<_> = input.lines().map(|line| Item::Text(line.into())).collect();
        every_partition(input.as_bytes(), |chunks| assert_eq!(run(Utf8LinesCodec::new(), chunks), lines));
    }
    let limited = |max| run(Utf8LinesCodec::new().with_max_length(max), &[b"abc\r"]);
    assert_eq!(limited(4), [Item::Text("abc\r".into())]);
    assert_eq!(limited(3), [Item::TooLong { offset: 0 }]);
}

#[test]
fn a_limit_of_the_text_applies_after_the_policy() {
    let input = b"\xFF\xFF\nabcdef\na\xFFb\nabcdefgh\n\xFF\n";
    let codec = |policy| {
        Utf8LinesCodec::with_decoder(TextDecoder::new().with_error_policy(policy))
            .with_max_length(7)
            .with_max_text_length(5)
    };
    let text = |text: &str| Item::Text(text.into());
    let long = |offset| Item::TooLong { offset };
    let cases = [
        (ErrorPolicy::Replace, vec![long(0), long(3), text("a\u{FFFD}b"), long(14), text("\u{FFFD}")]),
        (ErrorPolicy::Escape, vec![long(0), long(3), long(10), long(14), text("\\xff")]),
        (ErrorPolicy::Skip, vec![text(""), long(3), text("ab"), long(14), text("")]),
    ];
    for (policy, expected) in cases {
        some_partitions(input, 50, |chunks| assert_eq!(run(codec(policy), chunks), expected, "{policy:?}"));
    }
    // The decoder of 512 ill-formed bytes returns three times as many.
    let replaced = |max| {
        let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
        let codec = Utf8LinesCodec::with_decoder(decoder).with_max_length(512).with_max_text_length(max);
        run(codec, &[&[0xFF; 512], b"\n"])
    };
    assert_eq!(replaced(1536), [text(&"\u{FFFD}".repeat(512))]);
    assert_eq!(replaced(1535), [long(0)]);
}

#[test]
fn a_line_of_ndjson_has_at_most_1_mib() {
    for (len, fits) in [(1_048_576, true), (1_048_577, false)] {
        let line = [vec![b'1'; len], b"\r\n".to_vec()].concat();
        let items = run(Utf8LinesCodec::ndjson(), &[&line]);
        assert_eq!(matches!(&items[..], [Item::Text(_)]), fits, "{len}");
    }
}

#[test]
fn lines_are_the_same_for_every_partition() {
    let mut rng = Rng::new(3);
    for round in 0..1_200 {
        let input = partly_ill_formed_lines(&mut rng, 1 + round % 8);
        for ending in every_ending() {
            let limit = [0, 1, 3, 100][round % 4];
            let expected = expected_lines(&input, ending, limit);
            every_partition(&input, |chunks| {
                let codec = Utf8LinesCodec::new().with_line_ending(ending).with_max_length(limit);
                assert_eq!(run(codec, chunks), expected, "{ending:?} {limit} {chunks:02X?}");
            });
        }
    }
    for round in 0..40 {
        let input = partly_ill_formed_lines(&mut rng, 20 + 5 * round);
        for ending in every_ending() {
            let expected = expected_lines(&input, ending, 12);
            some_partitions(&input, 10, |chunks| {
                let codec = Utf8LinesCodec::new().with_line_ending(ending).with_max_length(12);
                assert_eq!(run(codec, chunks), expected, "{ending:?} {chunks:02X?}");
            });
        }
    }
}

#[test]
fn a_line_is_repaired_independently_of_other_lines() {
    let codec = || Utf8LinesCodec::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let input = b"a\xFFb\nc\xE2\x82\nd\xF0\x9F";
    let expected = ["a\u{FFFD}b", "c\u{FFFD}", "d\u{FFFD}"].map(|line| Item::Text(line.to_owned()));
    some_partitions(input, 20, |chunks| assert_eq!(run(codec(), chunks), expected));
}

#[test]
fn a_line_that_never_ends_is_one_error_in_constant_memory() {
    let mut codec = Utf8LinesCodec::new().with_max_length(1_000);
    let (mut buffer, mut errors) = (BytesMut::with_capacity(8 * 1024), 0);
    for _ in 0..10_000 {
        buffer.extend_from_slice(&[b'x'; 700]);
        while let Some(decoded) = codec.decode(&mut buffer).unwrap() {
            assert!(
                matches!(&decoded, Err(CodecError::LineTooLong { limit: 1_000, rejected }) if rejected.bytes == [b'x'; 1_000][..])
            );
            errors += 1;
        }
        assert!(buffer.len() <= 1_000 && buffer.capacity() <= 16 * 1024);
    }
    buffer.extend_from_slice("\nnästa\n".as_bytes());
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "nästa");
    assert_eq!(errors, 1);
    assert_eq!(codec.offset(), 7_000_000 + "\nnästa\n".len() as u64);
}

#[test]
fn a_line_has_at_most_64_kib_by_default() {
    for (len, is_text) in [(65_536, true), (65_537, false)] {
        let mut buffer = BytesMut::from(format!("{}\n", "a".repeat(len)).as_str());
        assert_eq!(Utf8LinesCodec::new().decode(&mut buffer).unwrap().unwrap().is_ok(), is_text, "{len}");
    }
}

#[test]
fn the_limit_counts_the_line_and_not_its_terminator() {
    for terminator in ["\n", "\r\n"] {
        let mut codec = Utf8LinesCodec::new().with_max_length(5);
        let mut buffer = BytesMut::from(format!("abcde{terminator}").as_str());
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "abcde");
    }
}

#[test]
fn an_ill_formed_line_of_the_maximum_length_is_not_too_long() {
    every_partition(b"ab\xFFcd\n", |chunks| {
        let items = run(Utf8LinesCodec::new().with_max_length(5), chunks);
        let rejected = b"ab\xFFcd".to_vec();
        assert_eq!(items, [Item::IllFormed { offset: 2, kind: ErrorKind::InvalidLead, len: 1, rejected }]);
    });
}

#[test]
fn errors_of_lines_have_the_start_of_the_line_and_the_column() {
    // Each line, and its expected error.
    let lines: [(&[u8], Option<Option<u64>>); 6] = [
        (b"good", None),
        (b"b\xFFd", Some(Some(2))),
        (b"", None),
        (b"far too long a line", Some(None)),
        (b"\xE2\x82", Some(Some(1))),
        (b"end\xC3", Some(Some(4))),
    ];
    for (ending, terminator) in [
        (LineEnding::LfOrCrLf, &b"\r\n"[..]),
        (LineEnding::LfOrCrLf, b"\n"),
        (LineEnding::Lf, b"\n"),
        (LineEnding::CrLf, b"\r\n"),
        (LineEnding::Any, b"\r"),
        (LineEnding::Any, b"\r\n"),
        (LineEnding::Ascii(Ascii::NUL), b"\0"),
    ] {
        let (mut input, mut expected) = (Vec::new(), Vec::new());
        for (i, (line, error)) in lines.iter().enumerate() {
            if let Some(column) = *error {
                expected.push((i as u64 + 1, input.len() as u64, column));
            }
            input.extend_from_slice(line);
            if i + 1 < lines.len() {
                input.extend_from_slice(terminator);
            }
        }
        let codec = Utf8LinesCodec::new().with_line_ending(ending).with_max_length(10);
        some_partitions(&input, 20, |chunks| {
            let place = |error: CodecError| {
                let line = error.line().expect("a codec for lines");
                if let (Some(column), Some(error)) = (error.column(), error.utf8_error()) {
                    assert_eq!(line.offset + column - 1, error.offset);
                }
                (line.number, line.offset, error.column())
            };
            assert_eq!(errors(codec.clone(), chunks, place), expected, "{ending:?} {chunks:02X?}");
            assert_eq!(
                errors(codec.clone().into_batches(), chunks, place),
                expected,
                "{ending:?} {chunks:02X?}"
            );
        });
    }
    let mut buffer = BytesMut::from(&b"ok\nb\xFFd\nfar too long a line"[..]);
    let mut codec = Utf8LinesCodec::new().with_max_length(10);
    codec.decode(&mut buffer).unwrap().unwrap().unwrap();
    let shown = |error: CodecError| error.to_string();
    assert_eq!(
        codec.decode(&mut buffer).unwrap().unwrap().map_err(shown).unwrap_err(),
        "line 2, column 2: ill-formed UTF-8 at byte 4 (InvalidLead, 1 byte)"
    );
    assert_eq!(
        codec.decode(&mut buffer).unwrap().unwrap().map_err(shown).unwrap_err(),
        "line 3 at byte 7 is longer than 10 bytes"
    );
}

/// Decodes the bytes and returns `of` of each error.
fn errors<C: Decoder<Item = Result<I, CodecError>, Error: Debug>, I, T>(
    mut codec: C,
    chunks: &[&[u8]],
    of: impl Fn(CodecError) -> T,
) -> Vec<T> {
    let (mut errors, mut buffer) = (Vec::new(), BytesMut::new());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(item) = codec.decode(&mut buffer).unwrap() {
            errors.extend(item.err().map(&of));
        }
    }
    while let Some(item) = codec.decode_eof(&mut buffer).unwrap() {
        errors.extend(item.err().map(&of));
    }
    errors
}

#[test]
fn errors_do_not_contain_payload() {
    let mut buffer = BytesMut::from(&b"secret\xFF\n"[..]);
    let error = Utf8LinesCodec::new().decode(&mut buffer).unwrap().unwrap().unwrap_err();
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(!shown.contains("secret") && !shown.contains("115, 101") && shown.contains('6'), "{shown}");
    }
}

#[test]
fn a_line_that_is_too_long_comes_with_its_start() {
    let long = format!("ab\u{1F980}\u{E9}{}", "c".repeat(2_000));
    for (limit, start) in [(0, ""), (1, "a"), (5, "ab"), (6, "ab\u{1F980}"), (1_500, &long[..1024])] {
        for input in [format!("{long}\r\nnext"), format!("{long}\n"), long.clone()] {
            some_partitions(input.as_bytes(), 10, |chunks| {
                let codec = Utf8LinesCodec::new().with_max_length(limit);
                let starts = errors(codec.clone(), chunks, |error| match error {
                    CodecError::LineTooLong { rejected, .. } => rejected.bytes,
                    other => panic!("{other:?}"),
                });
                assert_eq!(starts[0], start, "{limit}");
                let shown = errors(codec.into_batches(), chunks, |error| format!("{error} {error:?}"));
                assert!(limit == 0 || !shown[0].contains("ab"), "{shown:?}");
            });
        }
    }
    // A limit of the text applies to what a policy made of the line.
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let codec = Utf8LinesCodec::with_decoder(replace).with_max_text_length(4);
    let start = |error| match error {
        CodecError::LineTooLong { rejected, .. } => rejected.bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(errors(codec, &[b"a\xFF\xFF\n"], start), ["a\u{FFFD}"]);
}

#[test]
fn the_bom_policy_applies_to_each_line_if_set() {
    let input = b"\xEF\xBB\xBFa\nb\n\n\xEF\xBB\xBF\n\xEF\xBB\xBF\xEF\xBB\xBFc\xFF\n\xEF\xBB\xBFd";
    for (bom, expected) in [
        (BomPolicy::Keep, ["\u{FEFF}a", "b", "", "\u{FEFF}", "\u{FEFF}\u{FEFF}c\u{FFFD}", "\u{FEFF}d"]),
        (BomPolicy::Strip, ["a", "b", "", "", "\u{FEFF}c\u{FFFD}", "d"]),
        (BomPolicy::Require, ["a", "!", "!", "", "\u{FEFF}c\u{FFFD}", "d"]),
        (BomPolicy::Reject, ["!", "b", "", "!", "!", "!"]),
    ] {
        let text = TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(bom);
        let codec = Utf8LinesCodec::with_decoder(text).with_bom_in_each_line(true);
        let mut starts = Vec::new();
        let mut at = 0;
        for line in input.split_inclusive(|&byte| byte == b'\n') {
            starts.push(at);
            at += line.len() as u64;
        }
        some_partitions(input, 100, |chunks| {
            let found = run(codec.clone(), chunks);
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (item, (expected, start)) in found.into_iter().zip(expected.iter().zip(&starts)) {
                match item {
                    Item::Text(text) => assert_eq!(text, *expected, "{bom:?}"),
                    Item::IllFormed { offset, len, .. } => {
                        assert!(expected.starts_with('!'), "{expected:?} {bom:?}");
                        assert_eq!(offset, *start);
                        assert_eq!(len, if bom == BomPolicy::Reject { 3 } else { 0 });
                    }
                    other => panic!("{other:?}"),
                }
            }
        });
    }
}
