//! `Utf8FramesCodec` over byte codecs: one text in each frame, or one text over many frames.

use std::io;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use futures::StreamExt;
use tokio_util::codec::{
    AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, Encoder, FramedRead, LengthDelimitedCodec,
};
use utf8_codec::codec::{ErrorsAsItems, Fragment, Recoverable, Utf8FramesCodec, Utf8FramesError};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};

use crate::support::{Rng, every_partition, oracle};

fn length_delimited(payloads: &[&[u8]]) -> BytesMut {
    let mut out = BytesMut::new();
    for payload in payloads {
        LengthDelimitedCodec::new().encode(Bytes::copy_from_slice(payload), &mut out).unwrap();
    }
    out
}

/// Decodes bytes that arrive one at a time, up to the end of the stream. Returns all items.
fn decode_all<C: Decoder>(codec: &mut C, bytes: &[u8]) -> Vec<Result<C::Item, C::Error>> {
    let (mut buffer, mut out) = (BytesMut::new(), Vec::new());
    for byte in bytes {
        buffer.extend_from_slice(&[*byte]);
        while let Some(item) = codec.decode(&mut buffer).transpose() {
            out.push(item);
        }
    }
    while let Some(item) = codec.decode_eof(&mut buffer).transpose() {
        out.push(item);
    }
    out
}

fn facts<T, E: core::fmt::Debug>(item: Result<T, Utf8FramesError<E>>) -> Result<T, (u64, Utf8Error, Bytes)> {
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
    let text = Utf8FramesCodec::new(LengthDelimitedCodec::new()).decode(&mut buffer).unwrap().unwrap();
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
    let inner = AnyDelimiterCodec::new_with_max_length(b"\0".to_vec(), b"\0".to_vec(), 8);
    let mut codec = ErrorsAsItems::new(Utf8FramesCodec::new(inner));
    let bytes = b"one\0tw\xC3\0much too long\0gr\xC3\xBCn\0last";
    let got: Vec<_> = decode_all(&mut codec, bytes).into_iter().map(Result::unwrap).collect();
    assert_eq!(got[0].as_ref().unwrap(), "one");
    assert_eq!(got[1].as_ref().unwrap_err().utf8_error(), Some(Utf8Error::new(2, ErrorKind::Truncated, 1)));
    assert!(matches!(got[2], Err(Utf8FramesError::Inner(AnyDelimiterCodecError::MaxChunkLengthExceeded))));
    assert!(!AnyDelimiterCodecError::Io(io::ErrorKind::ConnectionReset.into()).is_recoverable());
    assert_eq!(got[3].as_ref().unwrap(), "gr\u{FC}n");
    assert_eq!(got[4].as_ref().unwrap(), "last");
    assert_eq!(got.len(), 5);
}

#[test]
fn errors_of_the_byte_codec_are_returned_unchanged() {
    let inner = LengthDelimitedCodec::builder().max_frame_length(4).new_codec();
    let mut codec = ErrorsAsItems::new(Utf8FramesCodec::new(inner));
    let error = codec.decode(&mut length_delimited(&[b"too long"])).unwrap_err();
    assert!(matches!(&error, Utf8FramesError::Inner(error) if error.kind() == io::ErrorKind::InvalidData));
    assert!(core::error::Error::source(&error).is_some());
}

#[test]
fn errors_do_not_contain_payload() {
    let bytes = length_delimited(&[b"secret\xFF"]);
    let error =
        decode_all(&mut Utf8FramesCodec::new(LengthDelimitedCodec::new()), &bytes).remove(0).unwrap_err();
    assert_eq!(error.to_string(), "frame 0: ill-formed UTF-8 at byte 6 (InvalidLead, 1 byte)");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    assert!(core::error::Error::source(&error).unwrap().is::<Utf8Error>());
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

/// A byte codec for fragments: a length byte, whose high bit is set for the last fragment, and the payload.
#[derive(Debug, Default)]
struct Fragments;

impl Decoder for Fragments {
    type Item = Fragment<BytesMut>;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let Some(&head) = src.first() else { return Ok(None) };
        let length = usize::from(head & 0x7F);
        if src.len() <= length {
            return Ok(None);
        }
        let payload = src.split_to(1 + length).split_off(1);
        Ok(Some(if head > 0x7F { Fragment::Last(payload) } else { Fragment::More(payload) }))
    }
}

impl Encoder<Fragment<Bytes>> for Fragments {
    type Error = io::Error;

    fn encode(&mut self, fragment: Fragment<Bytes>, dst: &mut BytesMut) -> io::Result<()> {
        let (payload, last) = fragment.into_parts();
        dst.extend_from_slice(&[payload.len() as u8 | u8::from(last) << 7]);
        dst.extend_from_slice(&payload);
        Ok(())
    }
}

fn fragments(messages: &[&[&[u8]]]) -> BytesMut {
    let mut out = BytesMut::new();
    for message in messages {
        let (last, more) = message.split_last().unwrap();
        for payload in more {
            Fragments.encode(Fragment::More(Bytes::copy_from_slice(payload)), &mut out).unwrap();
        }
        Fragments.encode(Fragment::Last(Bytes::copy_from_slice(last)), &mut out).unwrap();
    }
    out
}

#[test]
fn one_text_over_many_frames_agrees_with_the_oracle() {
    let mut rng = Rng::new(22);
    for round in 0..800 {
        let input = rng.dirty_text(1 + round % 8);
        let (_, errors) = oracle::decode(&input);
        every_partition(&input, |chunks| {
            let bytes = fragments(&[chunks, &[b"next"]]);
            let mut codec = Utf8FramesCodec::new(Fragments).into_fragments();
            let (mut text, mut error, mut ends) = (String::new(), None, 0);
            for item in decode_all(&mut codec, &bytes) {
                match facts(item) {
                    Ok(fragment) => {
                        let (part, last) = fragment.into_parts();
                        text.push_str(&part);
                        ends += usize::from(last);
                    }
                    Err((frame, reported, rejected)) => {
                        assert_eq!(rejected, chunks[frame as usize], "the frame of the error");
                        assert!(
                            error.replace((reported.offset, reported.kind, reported.len)).is_none(),
                            "reported once"
                        );
                    }
                }
            }
            assert_eq!(error, errors.first().copied(), "{chunks:02X?}");
            if error.is_none() {
                assert_eq!(text.as_bytes(), [&input[..], b"next"].concat());
            }
            assert!(text.ends_with("next"), "the next message is decoded as usual");
            assert_eq!(ends, if error.is_none() { 2 } else { 1 });
        });
    }
}

#[test]
fn a_final_fragment_that_ends_inside_a_character_is_truncated() {
    // fastwebsockets 0.10 returned "abc" for this and dropped the rest.
    let bytes = fragments(&[&[b"ab", b"c\xE2\x82"]]);
    let mut codec = Utf8FramesCodec::new(Fragments).into_fragments();
    let got: Vec<_> = decode_all(&mut codec, &bytes).into_iter().map(facts).collect();
    let error = Utf8Error::new(3, ErrorKind::Truncated, 2);
    assert_eq!(got, [Ok(Fragment::More("ab".into())), Err((1, error, Bytes::from_static(b"c\xE2\x82")))]);
    assert_eq!(codec.counters().of(ErrorKind::Truncated), 1);
}

#[test]
fn an_end_inside_a_message_and_a_character_is_one_error() {
    let mut bytes = BytesMut::new();
    Fragments.encode(Fragment::More(Bytes::from_static(b"ab\xE2\x82")), &mut bytes).unwrap();
    let mut codec = Utf8FramesCodec::new(Fragments).into_fragments();
    let got: Vec<_> = decode_all(&mut codec, &bytes).into_iter().map(facts).collect();
    let error = Utf8Error::new(2, ErrorKind::Truncated, 2);
    assert_eq!(got, [Ok(Fragment::More("ab".into())), Err((0, error, Bytes::from_static(b"\xE2\x82")))]);
}

/// `FramedRead` does not call `decode_eof` again after an error.
#[test]
fn a_resumed_stream_starts_with_a_message() {
    let more = |payload: &'static [u8]| {
        let mut bytes = BytesMut::new();
        Fragments.encode(Fragment::More(Bytes::from_static(payload)), &mut bytes).unwrap();
        bytes
    };
    let mut codec = Utf8FramesCodec::new(Fragments).into_fragments();
    assert!(codec.decode_eof(&mut more(b"a\xFF")).is_err());
    let mut next = fragments(&[&[b"b", b"c"]]);
    assert_eq!(codec.decode(&mut next).unwrap(), Some(Fragment::More("b".into())));
    assert_eq!(codec.decode(&mut next).unwrap(), Some(Fragment::Last("c".into())));

    // An error of the byte codec, which removes the rest of the stream.
    #[derive(Default)]
    struct Consuming(Fragments);
    impl Decoder for Consuming {
        type Item = Fragment<BytesMut>;
        type Error = io::Error;
        fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
            self.0.decode(src)
        }
        fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
            self.0.decode_eof(src).inspect_err(|_| src.clear())
        }
    }
    let mut codec = Utf8FramesCodec::new(Consuming::default()).into_fragments();
    let mut bytes = more(b"a\xC3");
    bytes.extend_from_slice(b"\x05ab");
    assert_eq!(codec.decode(&mut bytes).unwrap(), Some(Fragment::More("a".into())));
    assert!(codec.decode_eof(&mut bytes).is_err());
    let error = codec.decode(&mut fragments(&[&[b"\xA9"]])).unwrap_err().utf8_error();
    assert_eq!(error, Some(Utf8Error::new(0, ErrorKind::UnexpectedContinuation, 1)));

    // Other frames of the message are still in the buffer.
    let mut codec = Utf8FramesCodec::new(Fragments).into_fragments();
    let mut bytes = fragments(&[&[b"\xFF", b"rest", b"end"], &[b"next"]]);
    assert!(codec.decode_eof(&mut bytes).is_err());
    assert_eq!(codec.decode(&mut bytes).unwrap(), Some(Fragment::Last("next".into())));
}

#[test]
fn fragments_are_slices_unless_a_character_spans_two_of_them() {
    let mut buffer = fragments(&[&[b"one \xC3", b"\xA9 two"], &["dr\u{FC}ei".as_bytes()]]);
    let third = buffer[buffer.len() - 6..].as_ptr();
    let mut codec = Utf8FramesCodec::new(Fragments).into_fragments();
    let mut next = || codec.decode(&mut buffer).unwrap().unwrap();
    assert_eq!(next(), Fragment::More("one ".into()));
    assert_eq!(next(), Fragment::Last("\u{E9} two".into()));
    let (text, last) = next().into_parts();
    assert!(last);
    assert_eq!((&*text, text.as_ptr()), ("dr\u{FC}ei", third));
}

#[test]
fn encoded_fragments_keep_their_final_flag() {
    let mut codec = Utf8FramesCodec::new(Fragments).into_fragments();
    let mut buffer = BytesMut::new();
    codec.encode(Fragment::More("a"), &mut buffer).unwrap();
    codec.encode(Fragment::Last("b"), &mut buffer).unwrap();
    assert_eq!(&buffer[..], b"\x01a\x81b");
}

#[test]
fn a_session_continues_after_an_ill_formed_message() {
    let bytes = fragments(&[&[b"go", b"od"], &[b"b\xFF", b"ad"], &[b"good again"]]);
    let codec = ErrorsAsItems::new(Utf8FramesCodec::new(Fragments).into_fragments());
    let got: Vec<_> = futures::executor::block_on(FramedRead::new(&bytes[..], codec).collect());
    let texts: Vec<_> = got.into_iter().map(|item| item.unwrap().map(Fragment::into_parts).ok()).collect();
    let text = |text: &str, last| Some((text.into(), last));
    assert_eq!(texts, [text("go", false), text("od", true), None, text("good again", true)]);
}

/// The decoder of a codec for frames only has policies.
#[test]
fn a_decoder_that_was_used_before_does_not_affect_the_frames() {
    let mut used =
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Strip);
    assert_eq!(used.feed(b"\xFF\xFF\xE2").count(), 2);
    let codec = Utf8FramesCodec::with_decoder(LengthDelimitedCodec::new(), used);
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
    assert_eq!(codec.into_fragments().counters().total(), 0);
}
