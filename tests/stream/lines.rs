//! `Utf8LinesStream`: the lines and the errors of the codec, for every partition.

use bytes::BytesMut;
use futures::StreamExt;
use futures::executor::block_on;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{CodecError, Utf8LinesCodec};
use utf8_codec::stream::{Utf8LinesStream, Utf8StreamError, Utf8StreamExt};

use crate::support::every_partition;
use crate::support::hostile::{HostileStream, Step, steps};

type Lines = Vec<Result<String, String>>;

fn by_codec(mut codec: Utf8LinesCodec, input: &[u8]) -> Lines {
    let mut buffer = BytesMut::from(input);
    let mut lines = Lines::new();
    while let Some(line) = codec.decode_eof(&mut buffer).unwrap() {
        lines.push(line.map(Into::into).map_err(|error: CodecError| error.to_string()));
    }
    lines
}

#[test]
fn the_lines_are_those_of_the_codec() {
    for input in [&b"\xC3\xA9\r\n\nlong\n\xFFx"[..], b"a\n\xE2\x82", b"\r\r\n", b""] {
        for codec in [Utf8LinesCodec::new(), Utf8LinesCodec::new().with_max_length(3)] {
            let expected = by_codec(codec.clone(), input);
            every_partition(input, |chunks| {
                let inner = HostileStream::new(steps(chunks));
                let lines = Utf8LinesStream::with_codec(inner, codec.clone());
                let lines: Lines = block_on(
                    lines.map(|line| line.map(Into::into).map_err(|error| error.to_string())).collect(),
                );
                assert_eq!(lines, expected, "{chunks:02X?}");
            });
        }
    }
}

#[test]
fn a_failed_chunk_does_not_end_the_lines() {
    let kind = std::io::ErrorKind::TimedOut;
    let steps = [Step::Chunk(b"on".into()), Step::Fail(kind), Step::Chunk(b"e\ntw".into()), Step::Fail(kind)];
    let mut lines = HostileStream::new(steps).utf8_lines(10);
    let mut next = || {
        block_on(lines.next()).map(|line| line.map_err(|error| matches!(error, Utf8StreamError::Inner(_))))
    };
    assert_eq!(next(), Some(Err(true)));
    assert_eq!(next(), Some(Ok("one".into())));
    assert_eq!(next(), Some(Err(true)));
    assert_eq!(next(), None, "an unfinished line after an error is discarded");
}
