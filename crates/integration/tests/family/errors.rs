//! Every error of the crate converts into an `io::Error`, from which the `Utf8Error` can be read again.

use core::convert::Infallible;
use core::hash::{BuildHasher, BuildHasherDefault};
use std::hash::DefaultHasher;
use std::io;

use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream};
use utf8_codec::codec::{CodecError, Utf8FramesError};
use utf8_codec::internal::ill_formed;
use utf8_codec::stream::{Utf8StreamError, Utf8StreamExt};
use utf8_codec::{ErrorKind, TextDecoder, Utf8Error};
use utf8_codec_http::{MessageKind, MultipartError, RejectReason, Rejection};
use utf8_codec_mail::{BodyDecoder, TransferEncoding};

const ERROR: Utf8Error = Utf8Error::new(7, ErrorKind::Surrogate, 1);

fn ill_formed_line(bytes: Bytes) -> CodecError {
    ill_formed(ERROR, bytes, None)
}

#[test]
fn every_kind_is_parsed_from_its_name() {
    for &kind in ErrorKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
        assert!(kind.as_str().to_lowercase().parse::<ErrorKind>().is_err());
    }
    let error = "Bad".parse::<ErrorKind>().unwrap_err().to_string();
    assert!(error.starts_with("unknown kind of error; known are InvalidLead, "), "{error}");
    assert!(error.ends_with(", IncompleteEscape"), "{error}");
}

#[test]
fn every_error_is_invalid_data_with_the_utf8_error_inside() {
    let rejected = Bytes::from_static(b"\xED");
    let pushed = TextDecoder::new().restarted_at(7).decode_chunk(b"\xED\xA0\x80").unwrap_err();
    let ill_formed = ill_formed_line(rejected.clone());
    let errors: [io::Error; 6] = [
        ERROR.into(),
        pushed.into(),
        ill_formed_line(rejected.clone()).into(),
        Utf8FramesError::<Infallible>::IllFormed { frame: 3, error: ERROR, rejected }.into(),
        Utf8StreamError::<io::Error>::Text(ERROR).into(),
        Utf8StreamError::<io::Error, CodecError>::Text(ill_formed).into(),
    ];
    for error in errors {
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        assert_eq!(Utf8Error::find(&error), Some(ERROR), "{error}");
        assert_eq!(Utf8Error::find(&io::Error::other(error)), Some(ERROR), "below another error");
    }
}

#[test]
fn errors_with_another_offset_kind_or_length_are_not_equal() {
    let hash = |error: Utf8Error| BuildHasherDefault::<DefaultHasher>::default().hash_one(error);
    for other in [
        Utf8Error::new(8, ErrorKind::Surrogate, 1),
        Utf8Error::new(7, ErrorKind::Overlong, 1),
        Utf8Error::new(7, ErrorKind::Surrogate, 2),
    ] {
        assert_ne!(other, ERROR);
        assert_ne!(hash(other), hash(ERROR));
    }
}

#[test]
fn the_utf8_error_is_found_in_a_rejection() {
    let field = http::HeaderName::from_static("x-name");
    let reasons = [
        RejectReason::Body(ERROR),
        RejectReason::Header(field.clone(), ERROR),
        RejectReason::Trailer(field, ERROR),
        RejectReason::Path(ERROR),
        RejectReason::Query(ERROR),
    ];
    for reason in reasons {
        assert_eq!(reason.utf8_error(), Some(ERROR), "{reason}");
        let error = io::Error::from(reason);
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let error = io::Error::other(error);
        assert_eq!(RejectReason::find(&error).and_then(RejectReason::utf8_error), Some(ERROR));
    }
    let form = Rejection::new(MessageKind::Request, RejectReason::Multipart(MultipartError::Boundary));
    assert_eq!(form.to_string(), "missing or invalid multipart boundary");
    assert_eq!(form.reason.offset_and_len(), None);
    assert_eq!(
        RejectReason::Multipart(MultipartError::Malformed { offset: 7 }).offset_and_len(),
        Some((7, 0))
    );
}

#[test]
fn an_error_of_the_inner_type_is_unchanged() {
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    let error: io::Error = <Utf8StreamError<_>>::Inner(reset()).into();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(Utf8Error::find(&error), None);
    let other: io::Error = <Utf8StreamError<_>>::Inner("no io::Error").into();
    assert_eq!((other.kind(), other.to_string().as_str()), (io::ErrorKind::Other, "no io::Error"));
}

#[test]
fn one_method_returns_the_utf8_error() {
    let rejected = Bytes::new();
    assert_eq!(ill_formed_line(rejected).utf8_error(), Some(ERROR));
    assert_eq!(CodecError::<Utf8Error>::EmbeddedTerminator { position: 0 }.utf8_error(), None);
    assert_eq!(Utf8StreamError::<()>::Text(ERROR).utf8_error(), Some(ERROR));
    assert_eq!(<Utf8StreamError<()>>::Inner(()).utf8_error(), None);
    assert_eq!(RejectReason::Body(ERROR).utf8_error(), Some(ERROR));

    let mut body = BodyDecoder::new(TransferEncoding::Base64);
    let mut found = None;
    body.feed_with(b"b2jtoIA=", |piece| {
        found = found.or(match piece {
            utf8_codec_mail::BodyPiece::Error(error) => Some(error),
            _ => None,
        });
    });
    let error: utf8_codec_mail::MimeError = found.expect("ED A0 80 is a surrogate");
    assert_eq!(error.utf8_error(), Some(Utf8Error::new(2, ErrorKind::Surrogate, 1)));
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
}

#[test]
fn chunks_can_be_bytes_instead_of_results() {
    let chunks = stream::iter([Bytes::from_static(b"na\xC3"), Bytes::from_static(b"\xAFve")]);
    assert_eq!(chunks.utf8().collect_string().now_or_never(), Some(Ok("naïve".to_owned())));
    let chunks = stream::iter([vec![b'a', 0xC3], vec![0xA9]]);
    assert_eq!(chunks.utf8().collect_string().now_or_never(), Some(Ok("aé".to_owned())));
}

#[test]
fn collecting_ends_at_the_first_error() {
    let ill_formed = stream::iter([&b"good\xFF"[..], b"more"]).utf8().collect_string();
    let error = ill_formed.now_or_never().unwrap().unwrap_err();
    assert_eq!(error.utf8_error(), Some(Utf8Error::new(4, ErrorKind::InvalidLead, 1)));

    let cut = stream::iter([&b"cut \xE2\x82"[..]]).utf8().collect_string();
    let error = cut.now_or_never().unwrap().unwrap_err();
    assert_eq!(error.utf8_error(), Some(Utf8Error::new(4, ErrorKind::Truncated, 2)));

    let failing = stream::iter([Ok(&b"ok"[..]), Err("lost")]).utf8();
    let error = failing.collect_string().now_or_never().unwrap().unwrap_err();
    assert_eq!(error, Utf8StreamError::Inner("lost"));
    assert_eq!(stream::empty::<Vec<u8>>().utf8().collect_string().now_or_never(), Some(Ok(String::new())));
}

#[test]
fn collecting_waits_for_the_inner_stream() {
    let (sender, receiver) = futures::channel::mpsc::unbounded::<Vec<u8>>();
    let mut text = Box::pin(receiver.utf8().collect_string());
    sender.unbounded_send(b"\xE2\x82".to_vec()).unwrap();
    assert!(text.as_mut().now_or_never().is_none());
    sender.unbounded_send(b"\xAC".to_vec()).unwrap();
    drop(sender);
    assert_eq!(text.now_or_never(), Some(Ok("€".to_owned())));
    assert!(stream::iter([b"x".to_vec()]).utf8().next().now_or_never().flatten().is_some());
}
