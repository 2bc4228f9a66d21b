//! `Utf8LineBatchesCodec` returns the same lines and errors as `Utf8LinesCodec` for every partition.

use core::fmt::Debug;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::{CodecError, Utf8LineBatchesCodec, Utf8LinesCodec};
use utf8_codec::{Ascii, BomPolicy, ErrorPolicy, LineEnding, TextDecoder};

use crate::support::{Rng, every_partition};

/// Lines and errors in order. An error is represented by its message and its rejected bytes.
type Outcome = Vec<Result<String, (String, Vec<u8>)>>;

fn facts(error: CodecError) -> (String, Vec<u8>) {
    let rejected = match &error {
        CodecError::IllFormed { rejected, .. } | CodecError::LineTooLong { rejected, .. } => {
            rejected.bytes.to_vec()
        }
        _ => Vec::new(),
    };
    (error.to_string(), rejected)
}

fn by_lines_codec(mut codec: Utf8LinesCodec, chunks: &[&[u8]]) -> Outcome {
    let (mut buffer, mut out) = (BytesMut::new(), Vec::new());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(line) = codec.decode(&mut buffer).unwrap() {
            out.push(line.map(String::from).map_err(facts));
        }
    }
    while let Some(line) = codec.decode_eof(&mut buffer).unwrap() {
        out.push(line.map(String::from).map_err(facts));
    }
    assert!(buffer.is_empty());
    out
}

fn in_batches(mut codec: Utf8LineBatchesCodec, chunks: &[&[u8]]) -> (Outcome, usize) {
    let (mut buffer, mut out, mut batches) = (BytesMut::new(), Vec::new(), 0);
    let mut take = |batch: Result<utf8_codec::codec::LineBatch, CodecError>| match batch {
        Ok(lines) => {
            batches += 1;
            let texts: Vec<_> = lines.iter().collect();
            assert!(!texts.is_empty(), "no empty batch");
            assert!(lines.clone().into_iter().eq(texts.iter().copied()));
            // `for_each` calls `fold`, and `collect` calls `next`.
            for taken in 0..=texts.len().min(2) {
                let (mut rest, mut others) = (lines.iter(), Vec::new());
                assert!(rest.by_ref().take(taken).eq(texts[..taken].iter().copied()));
                rest.for_each(|line| others.push(line));
                assert_eq!(others, texts[taken..]);
            }
            out.extend(lines.iter().map(|line| Ok(line.to_owned())));
        }
        Err(error) => out.push(Err(facts(error))),
    };
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(batch) = codec.decode(&mut buffer).unwrap() {
            take(batch);
        }
    }
    while let Some(batch) = codec.decode_eof(&mut buffer).unwrap() {
        take(batch);
    }
    assert!(buffer.is_empty());
    (out, batches)
}

const ENDINGS: [LineEnding; 5] =
    [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, LineEnding::Any, LineEnding::Ascii(Ascii::NUL)];

/// Lines of all kinds: empty, long, ill-formed, with every terminator.
fn lines(rng: &mut Rng, len: usize) -> Vec<u8> {
    const PARTS: [&[u8]; 10] =
        [b"\n", b"\r\n", b"\r", b"\0", b"a", b"bcd", b"\xC3\xA9", b"\xEF\xBB\xBF", b"\xFF", b"\xE2\x82"];
    let mut out = Vec::new();
    while out.len() < len {
        out.extend_from_slice(PARTS[rng.below(PARTS.len())]);
    }
    out.truncate(len);
    out
}

#[test]
fn batches_have_the_lines_and_errors_of_the_lines_codec() {
    let mut rng = Rng::new(55);
    let policies = [
        TextDecoder::new(),
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Strip),
        TextDecoder::new().with_bom_policy(BomPolicy::Require),
    ];
    for round in 0..250 {
        let input = lines(&mut rng, 1 + round % 8);
        for text in policies.clone() {
            for ending in ENDINGS {
                let max_text = [2, 4, usize::MAX][round % 3];
                let codec =
                    Utf8LinesCodec::with_decoder(text.clone()).with_line_ending(ending).with_max_length(3);
                let codec = codec.with_max_text_length(max_text);
                every_partition(&input, |chunks| {
                    let expected = by_lines_codec(codec.clone(), chunks);
                    assert_eq!(
                        in_batches(codec.clone().into_batches(), chunks).0,
                        expected,
                        "{ending:?} {chunks:02X?}"
                    );
                });
            }
        }
    }
}

#[test]
fn long_buffers_with_few_ill_formed_lines_return_few_batches() {
    let mut rng = Rng::new(5);
    for ending in ENDINGS {
        let terminator: &[u8] = match ending {
            LineEnding::CrLf => b"\r\n",
            LineEnding::Ascii(byte) => &[byte.get()],
            _ => b"\n",
        };
        let mut input = Vec::new();
        for line in 0..2_000 {
            let length = rng.below(40);
            input.extend(core::iter::repeat_n(b'x', length));
            match line {
                700 => input.extend_from_slice(b"\xFF"),
                1_400 => input.extend_from_slice(&[b'y'; 100]),
                _ => {}
            }
            input.extend_from_slice(terminator);
        }
        let codec = Utf8LinesCodec::new().with_line_ending(ending).with_max_length(64);
        let expected = by_lines_codec(codec.clone(), &[&input]);
        let (got, batches) = in_batches(codec.into_batches(), &[&input]);
        assert_eq!(got, expected);
        assert_eq!((expected.len(), batches), (2_000, 3), "{ending:?}");
        assert_eq!(expected.iter().filter(|line| line.is_err()).count(), 2);
    }
}

#[test]
fn a_batch_is_one_slice_of_the_read_buffer() {
    let mut buffer = BytesMut::from("eins\nzw\u{F6}lf\r\n\nrest");
    let place = buffer.as_ptr();
    let mut codec = Utf8LinesCodec::new().into_batches();
    let lines = codec.decode(&mut buffer).unwrap().unwrap().unwrap();
    assert_eq!(lines.as_text(), "eins\nzw\u{F6}lf\r\n\n");
    assert_eq!(lines.as_text().as_ptr(), place);
    assert_eq!(lines.iter().collect::<Vec<_>>(), ["eins", "zw\u{F6}lf", ""]);
    assert_eq!((&lines).into_iter().map(str::len).sum::<usize>(), 10);
    assert_eq!((codec.offset(), &buffer[..]), (14, &b"rest"[..]));
}

#[test]
fn a_replacement_with_a_terminator_does_not_end_a_line() {
    let text = TextDecoder::new().with_error_policy(ErrorPolicy::ReplaceWith('\n'));
    let codec = Utf8LinesCodec::with_decoder(text);
    let (got, _) = in_batches(codec.into_batches(), &[b"a\xFFb\nc\n"]);
    assert_eq!(got, [Ok("a\nb".into()), Ok("c".into())]);
}

#[test]
fn ascii_delimiters_end_lines() {
    let codec = Utf8LinesCodec::new().with_line_ending(LineEnding::Ascii(Ascii::RECORD_SEPARATOR));
    let bytes = b"\x1E{\"a\":1}\n\x1E{\"b\":\"\xC3\xA9\"}\n";
    assert_eq!(by_lines_codec(codec.clone(), &[bytes]), in_batches(codec.clone().into_batches(), &[bytes]).0);
    let texts: Vec<_> = by_lines_codec(codec, &[bytes]).into_iter().map(Result::unwrap).collect();
    assert_eq!(texts, ["", "{\"a\":1}\n", "{\"b\":\"\u{E9}\"}\n"]);

    let mut codec = Utf8LinesCodec::new().with_line_ending(LineEnding::Ascii(Ascii::NUL)).into_batches();
    let mut buffer = BytesMut::new();
    codec.encode("two\nlines", &mut buffer).unwrap();
    assert_eq!(&buffer[..], b"two\nlines\0");
    let error: CodecError = codec.encode("two\0texts", &mut buffer).unwrap_err().downcast().unwrap();
    assert!(matches!(error, CodecError::EmbeddedTerminator { position: 3 }), "{error}");
    assert_eq!(buffer.len(), 10, "nothing was written");
}

#[test]
fn ill_formed_lines_in_a_large_buffer_equal_single_lines() {
    // That the time is linear is measured by `benches/growth/count`.
    const SIZE: usize = 20_000;
    let lines = |line: &[u8]| line.repeat(SIZE / line.len());
    let inputs = [
        lines(b"\xFF\n"),
        lines(b"a\n\xFF\n"),
        lines(b"far too long a line\n"),
        [lines(b"\xFF\r\n"), lines(b"\n")].concat(),
        [lines(b"\xFF\n"), lines(b"a")].concat(),
    ];
    for input in inputs {
        for ending in [LineEnding::LfOrCrLf, LineEnding::CrLf] {
            let codec = Utf8LinesCodec::new().with_line_ending(ending).with_max_length(16);
            let (out, _) = in_batches(codec.clone().into_batches(), &[&input]);
            assert_eq!(out, by_lines_codec(codec, &[&input]));
        }
    }
}

/// A file that grows: the stream ends, and resumes after that.
#[test]
fn a_line_that_is_too_long_ends_with_the_stream() {
    fn check<C, I>(mut codec: C, first: impl Fn(I) -> String)
    where
        C: Decoder<Item = Result<I, CodecError>, Error: Debug>,
    {
        let mut buffer = BytesMut::new();
        let expected = [("long", 1, 0), ("again", 2, 4)];
        for (text, number, offset) in expected {
            buffer.extend_from_slice(text.as_bytes());
            let error = codec.decode_eof(&mut buffer).unwrap().unwrap().map(drop).unwrap_err();
            assert_eq!(error.to_string(), format!("line {number} at byte {offset} is longer than 3 bytes"));
            assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
        }
        buffer.extend_from_slice(b"b\n\xFF\n");
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().map(&first).unwrap(), "b");
        let error = codec.decode(&mut buffer).unwrap().unwrap().map(drop).unwrap_err();
        assert!(error.to_string().starts_with("line 4, column 1: ill-formed UTF-8 at byte 11"), "{error}");
    }
    let codec = Utf8LinesCodec::new().with_max_length(3);
    check(codec.clone(), String::from);
    check(codec.into_batches(), |lines| lines.iter().map(String::from).collect());
}
