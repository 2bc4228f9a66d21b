//! The text codecs as encoders: `Utf8LinesCodec` writes no line that a peer would read as two.

use std::io;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::LineEnding;
use utf8_codec::codec::{CodecError, FailFast, Utf8Codec, Utf8LinesCodec};

const ENDINGS: [LineEnding; 4] = [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, LineEnding::Any];

/// Returns the error inside an `io::Error`.
fn reason(error: io::Error) -> CodecError {
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    error.downcast().expect("an error of the codec")
}

#[test]
fn text_that_a_peer_would_read_as_two_lines_is_rejected() {
    let cases = [
        (LineEnding::LfOrCrLf, "a\nb", Some(1)),
        (LineEnding::LfOrCrLf, "a\r", Some(1)),
        (LineEnding::LfOrCrLf, "a\rb", None),
        (LineEnding::Lf, "a\r", None),
        (LineEnding::Lf, "\n", Some(0)),
        (LineEnding::CrLf, "a\nb", Some(1)),
        (LineEnding::CrLf, "a\r", Some(1)),
        (LineEnding::Any, "a\rb", Some(1)),
        (LineEnding::Any, "a\u{2028}\u{85}b", None),
    ];
    for (ending, line, rejected) in cases {
        let (mut codec, mut out) = (Utf8LinesCodec::new().with_line_ending(ending), BytesMut::new());
        match codec.encode(line, &mut out).map_err(reason) {
            Err(CodecError::EmbeddedTerminator { position }) => {
                assert_eq!(Some(position), rejected, "{ending:?} {line:?}")
            }
            other => {
                other.unwrap();
                assert_eq!(rejected, None, "{ending:?} {line:?}");
                assert_eq!(codec.decode(&mut out).unwrap().unwrap().unwrap(), line);
            }
        }
        assert!(out.is_empty());
    }
}

#[test]
fn text_without_frames_is_not_changed() {
    let mut out = BytesMut::from("a");
    Utf8Codec::new().encode("b\n", &mut out).unwrap();
    FailFast::new(Utf8Codec::new()).encode("c", &mut out).unwrap();
    assert_eq!(out, "ab\nc");
}

#[test]
fn a_terminator_is_found_at_every_position_of_a_line() {
    for len in 0..=300 {
        for ending in ENDINGS {
            let (mut codec, mut out) = (Utf8LinesCodec::new().with_line_ending(ending), BytesMut::new());
            let line = "x".repeat(len);
            codec.encode(&line, &mut out).unwrap();
            for at in 0..len {
                let mut line = line.clone();
                line.replace_range(at..=at, "\n");
                let rejected = reason(codec.encode(&line, &mut out).unwrap_err());
                assert!(
                    matches!(rejected, CodecError::EmbeddedTerminator { position: found } if found == at)
                );
            }
            assert_eq!(codec.decode(&mut out).unwrap().unwrap().unwrap(), line);
            assert!(out.is_empty());
        }
    }
}

#[test]
fn a_line_of_terminators_only_is_not_encoded() {
    for ending in ENDINGS {
        for len in 1..=300 {
            for byte in ["\n", "\r"] {
                let line = byte.repeat(len);
                let (mut codec, mut out) = (Utf8LinesCodec::new().with_line_ending(ending), BytesMut::new());
                let first = match (ending, byte) {
                    (LineEnding::Lf, "\r") => None,
                    // Only the last CR would be read as part of the terminator.
                    (LineEnding::LfOrCrLf, "\r") => Some(len - 1),
                    _ => Some(0),
                };
                match (codec.encode(&line, &mut out).map_err(reason), first) {
                    (Err(CodecError::EmbeddedTerminator { position }), Some(first)) => {
                        assert_eq!((position, out.len()), (first, 0), "{ending:?} {len}");
                    }
                    (Ok(()), None) => assert_eq!(codec.decode(&mut out).unwrap().unwrap().unwrap(), line),
                    (other, _) => panic!("{ending:?} {len}: {other:?}"),
                }
            }
        }
    }
}
