//! The lines of a stream are the same in every adapter: those of `str::lines`, also at its end, and a limit applies to
//! the same lines.

use core::fmt::{Debug, Display};
use std::io::{BufRead, Error, ErrorKind};

use bytes::BytesMut;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{CodecError, Utf8LinesCodec};
use utf8_codec::io::{LineTooLong, Utf8Reader};
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::codec::TranscodeCodec;
use utf8_codec_encodings::io::TranscodeReader;
use utf8_codec_proxy::{Edit, LineFilter};

use crate::support::every_partition;
use crate::support::hostile::{HostileReader, steps};

/// The lines, and the numbers of those that are too long.
type Lines = Vec<Result<String, u64>>;

fn expected(text: &str, max: usize) -> Lines {
    let line = |(line, number): (&str, u64)| if line.len() > max { Err(number) } else { Ok(line.to_owned()) };
    text.lines().zip(1..).map(line).collect()
}

fn by_codec<C, I, E>(mut codec: C, chunks: &[&[u8]], lines_of: impl Fn(I) -> Vec<String>) -> Lines
where
    C: Decoder<Item = Result<I, CodecError<E>>, Error: Debug>,
    E: Display,
{
    let (mut buffer, mut found) = (BytesMut::new(), Vec::new());
    let mut take = |item: Result<I, CodecError<E>>| match item {
        Ok(item) => found.extend(lines_of(item).into_iter().map(Ok)),
        Err(CodecError::IllFormed { error, .. }) => panic!("{error}"),
        Err(error) => found.push(Err(error.line().expect("a line that is too long").number)),
    };
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(item) = codec.decode(&mut buffer).unwrap() {
            take(item);
        }
    }
    while let Some(item) = codec.decode_eof(&mut buffer).unwrap() {
        take(item);
    }
    found
}

fn by_reader(lines: impl Iterator<Item = Result<String, Error>>) -> Lines {
    let number = |error: Error| error.get_ref().unwrap().downcast_ref::<LineTooLong>().unwrap().number;
    // The reader is not ready between two chunks.
    let is_ready = |line: &Result<_, Error>| {
        line.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::WouldBlock)
    };
    lines.filter(is_ready).map(|line| line.map_err(number)).collect()
}

/// What is forwarded, as a receiver splits it, and the lines that are not.
fn by_filter(max: usize, chunks: &[&[u8]]) -> Lines {
    let mut filter = LineFilter::new().with_max_length(max);
    let (mut found, mut text) = (Vec::new(), Vec::new());
    for chunk in chunks.iter().copied().map(Some).chain([None]) {
        let edit = |edit: Edit<'_>| match edit {
            Edit::Pass(range) => text.extend_from_slice(&chunk.unwrap()[range]),
            Edit::Insert(bytes) => text.extend_from_slice(bytes),
            Edit::LineRejected(line) => {
                found.extend(str::from_utf8(&text).unwrap().lines().map(|line| Ok(line.to_owned())));
                found.push(Err(line.line));
                text.clear();
            }
            _ => {}
        };
        match chunk {
            Some(chunk) => filter.feed_with(chunk, edit).unwrap(),
            None => filter.finish_with(edit).unwrap(),
        }
    }
    found.extend(str::from_utf8(&text).unwrap().lines().map(|line| Ok(line.to_owned())));
    found
}

#[test]
fn every_adapter_has_the_same_lines() {
    const PARTS: [&str; 4] = ["a", "\r", "\n", "bc"];
    let inputs = (0..PARTS.len().pow(5)).map(|number| {
        (0..5).map(|place| PARTS[number / PARTS.len().pow(place) % PARTS.len()]).collect::<String>()
    });
    for text in inputs.step_by(3).chain(["", "\r", "a\r", "a\n\r", "a\r\r\n\r"].map(str::to_owned)) {
        let reader = |chunks: &[&[u8]]| HostileReader::new(steps(chunks));
        assert!(Utf8Reader::new(text.as_bytes()).lines().map(Result::unwrap).eq(text.lines()));
        for max in [0, 1, 2, usize::MAX] {
            let expected = expected(&text, max);
            let check = |chunks: &[&[u8]]| {
                let lines = || Utf8LinesCodec::new().with_max_length(max);
                let transcoded = TranscodeCodec::new(Encoding::Utf8).into_lines().with_max_length(max);
                for (name, found) in [
                    ("codec", by_codec(lines(), chunks, |line| vec![line.into()])),
                    (
                        "batches",
                        by_codec(lines().into_batches(), chunks, |lines| {
                            lines.iter().map(str::to_owned).collect()
                        }),
                    ),
                    ("transcoded", by_codec(transcoded, chunks, |line| vec![line.into()])),
                    ("reader", by_reader(Utf8Reader::new(reader(chunks)).into_bounded_lines(max))),
                    ("transcoding reader", {
                        let reader = TranscodeReader::new(reader(chunks), Encoding::Utf8);
                        by_reader(reader.into_bounded_lines(max))
                    }),
                    ("filter", by_filter(max, chunks)),
                ] {
                    assert_eq!(found, expected, "{name} {max} {chunks:?}");
                }
            };
            check(&[text.as_bytes()]);
            check(&text.as_bytes().chunks(1).collect::<Vec<_>>());
            if text.len() < 4 {
                every_partition(text.as_bytes(), check);
            }
        }
    }
}
