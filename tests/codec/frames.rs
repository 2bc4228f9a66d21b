//! `Utf8FramesCodec` over byte codecs: one text in each frame.

use core::fmt::Debug;
use std::io;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio_util::codec::{AnyDelimiterCodec, Decoder, Encoder, LengthDelimitedCodec};
use utf8_codec::codec::{Utf8FramesCodec, Utf8FramesError};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};

fn length_delimited(payloads: &[&[u8]]) -> BytesMut {
    let mut out = BytesMut::new();
    for payload in payloads {
        LengthDelimitedCodec::new().encode(Bytes::copy_from_slice(payload), &mut out).unwrap();
    }
    out
}

/// Decodes bytes that arrive one at a time, up to the end of the stream. Returns all items.
fn decode_all<C: Decoder<Error: Debug>>(codec: &mut C, bytes: &[u8]) -> Vec<C::Item> {
    let (mut buffer, mut out) = (BytesMut::new(), Vec::new());
    for byte in bytes {
        buffer.extend_from_slice(&[*byte]);
        while let Some(item) = codec.decode(&mut buffer).unwrap() {
            out.push(item);
        }
    }
    while let Some(item) = codec.decode_eof(&mut buffer).unwrap() {
        out.push(item);
    }
    out
}

fn facts<T, E: Debug>(item: Result<T, Utf8FramesError<E>>) -> Result<T, (u64, Utf8Error, Bytes)> {
    item.map_err(|error| match error {
        Utf8FramesError::IllFormed { frame, error, rejected } => (frame, error, rejected),
        error => panic!("{error:?}"),
    })
}

#[test]
fn every_frame_is_one_whole_text() {
    let bytes = length_delimited(&[b"na\xC3\xAFv", b"", b"cut \xE2\x82", b"\xACgone", b"end"]);
    let mut codec = Utf8FramesCodec::new(LengthDelimitedCodec::new());
    let got: Vec<_> = decode_all(&mut codec, &bytes).into_iter().map(facts).collect();
    let error = |offset, kind, len| Utf8Error::new(offset, kind, len);
    assert_eq!(
        got,
        [
            Ok("na\u{EF}v".into()),
            Ok("".into()),
            Err((2, error(4, ErrorKind::Truncated, 2), Bytes::from_static(b"cut \xE2\x82"))),
            Err((3, error(0, ErrorKind::UnexpectedContinuation, 1), Bytes::from_static(b"\xACgone"))),
            Ok("end".into()),
        ]
    );
    assert_eq!(codec.counters().total(), 2);
}

#[test]
fn the_text_of_a_frame_is_a_slice_of_the_frame() {
    let mut buffer = length_delimited(&["zw\u{F6}lf".as_bytes()]);
    let payload = buffer[4..].as_ptr();
    let text =
        Utf8FramesCodec::new(LengthDelimitedCodec::new()).decode(&mut buffer).unwrap().unwrap().unwrap();
    assert_eq!(text, "zw\u{F6}lf");
    assert_eq!(text.as_ptr(), payload);
}

#[test]
fn policies_apply_to_every_frame() {
    let policies =
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Require);
    let bytes = length_delimited(&[b"\xEF\xBB\xBFa\xFFb", b"none", b"none again", b"\xEF\xBB\xBFc\xE2"]);
    let mut codec = Utf8FramesCodec::with_decoder(LengthDelimitedCodec::new(), policies);
    let got: Vec<_> = decode_all(&mut codec, &bytes).into_iter().map(facts).collect();
    assert_eq!(got[0], Ok("a\u{FFFD}b".into()));
    for (index, frame) in [(1, &b"none"[..]), (2, b"none again")] {
        let error = Utf8Error::new(0, ErrorKind::MissingBom, 0);
        assert_eq!(got[index], Err((index as u64, error, Bytes::from_static(frame))));
    }
    assert_eq!(got[3], Ok("c\u{FFFD}".into()));
    assert_eq!(codec.counters().of(ErrorKind::MissingBom), 2);
    assert_eq!(codec.counters().total(), 4);
}

#[test]
fn one_ill_formed_frame_between_nuls_does_not_end_the_session() {
    let inner = AnyDelimiterCodec::new(b"\0".to_vec(), b"\0".to_vec());
    let mut codec = Utf8FramesCodec::new(inner);
    let bytes = b"one\0tw\xC3\0gr\xC3\xBCn\0last";
    let got = decode_all(&mut codec, bytes);
    assert_eq!(got[0].as_ref().unwrap(), "one");
    assert_eq!(got[1].as_ref().unwrap_err().utf8_error(), Some(Utf8Error::new(2, ErrorKind::Truncated, 1)));
    assert_eq!(got[2].as_ref().unwrap(), "gr\u{FC}n");
    assert_eq!(got[3].as_ref().unwrap(), "last");
    assert_eq!(got.len(), 4);
}

#[test]
fn errors_of_the_byte_codec_are_returned_unchanged() {
    let inner = LengthDelimitedCodec::builder().max_frame_length(4).new_codec();
    let mut codec = Utf8FramesCodec::new(inner);
    let error = codec.decode(&mut length_delimited(&[b"too long"])).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn errors_do_not_contain_payload() {
    let bytes = length_delimited(&[b"secret\xFF"]);
    let error =
        decode_all(&mut Utf8FramesCodec::new(LengthDelimitedCodec::new()), &bytes).remove(0).unwrap_err();
    assert_eq!(error.to_string(), "frame 0: ill-formed UTF-8 at byte 6 (InvalidLead, 1 byte)");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    assert!(core::error::Error::source(&error).is_none(), "the message is complete");
    assert_eq!(Utf8Error::find(&error).map(|error| error.offset), Some(6));
}

#[test]
fn decoding_reverses_encoding() {
    let mut codec = Utf8FramesCodec::new(LengthDelimitedCodec::new());
    let mut buffer = BytesMut::new();
    codec.encode("gr\u{FC}n", &mut buffer).unwrap();
    codec.encode(String::from("blau"), &mut buffer).unwrap();
    codec.encode(ByteString::from_static("rot"), &mut buffer).unwrap();
    let got: Vec<_> = decode_all(&mut codec, &buffer).into_iter().map(Result::unwrap).collect();
    assert_eq!(got, ["gr\u{FC}n", "blau", "rot"]);
}

/// The decoder of a codec for frames only has policies.
#[test]
fn a_decoder_that_was_used_before_does_not_affect_the_frames() {
    let mut used =
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Strip);
    assert_eq!(used.feed(b"\xFF\xFF\xE2").count(), 2);
    let codec = Utf8FramesCodec::with_decoder(LengthDelimitedCodec::new(), used.clone());
    let bytes = length_delimited(&[b"\xEF\xBB\xBFa", b"\x82\xAC", b"b\xFF"]);
    let mut frames = codec.clone();
    let got: Vec<_> = decode_all(&mut frames, &bytes).into_iter().map(Result::unwrap).collect();
    assert_eq!(got, ["a", "\u{FFFD}\u{FFFD}", "b\u{FFFD}"]);
    assert_eq!(frames.counters().total(), 3);

    let strict = Utf8FramesCodec::with_decoder(
        LengthDelimitedCodec::new(),
        used.with_error_policy(ErrorPolicy::Strict),
    );
    let mut errors: Vec<_> = decode_all(&mut strict.clone(), &bytes).into_iter().map(facts).collect();
    let (frame, error, _) = errors.pop().unwrap().unwrap_err();
    assert_eq!((frame, error.offset), (2, 1));
}
