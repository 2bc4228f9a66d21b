//! The trailers of a body, and the status of gRPC in them.

use http::{HeaderMap, HeaderValue};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder};
use utf8_codec_http::{Utf8Body, check_field};

use super::body::facts;
use crate::support::bodies::{EndHint, Script, drain};

fn trailers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
    fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn trailers_come_after_a_clean_end_only() {
    let sums = trailers(&[("x-sum", "1"), ("content-digest", "sha-256=:AAAA:")]);
    for end_hint in EndHint::ALL {
        let script = |chunks: &[&[u8]]| Script::of(chunks, end_hint).with_trailers(sums.clone());
        let (data, got, error) = drain(Utf8Body::new(script(&[b"caf\xC3", b"\xA9"])));
        assert_eq!((&data[..], got.as_ref(), error.is_none()), ("café".as_bytes(), Some(&sums), true));

        let (data, got, error) = drain(Utf8Body::new(script(&[b"caf\xC3"])));
        assert_eq!((&data[..], got), (&b"caf"[..], None), "{end_hint:?}");
        assert_eq!(facts(error), Some((3, ErrorKind::Truncated, 1)));

        let repair = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
        let (data, got, _) = drain(Utf8Body::with_decoder(script(&[b"caf\xC3"]), repair.clone()));
        assert_eq!(data, "caf\u{FFFD}".as_bytes());
        assert_eq!(got, Some(trailers(&[("x-sum", "1")])), "the digest is of the original bytes");
        let (_, got, _) = drain(Utf8Body::with_decoder(script(&[b"caf"]), repair.clone()));
        assert_eq!(got.as_ref(), Some(&sums), "nothing was repaired");
        let tags = trailers(&[("etag", "\"strong\""), ("accept-ranges", "bytes")]);
        for (chunk, expected) in [(b"caf", Some(&tags)), (b"ca\xFF", Some(&HeaderMap::new()))] {
            let script = Script::of(&[chunk], end_hint).with_trailers(tags.clone());
            let (_, got, _) = drain(Utf8Body::with_decoder(script, repair.clone()));
            assert_eq!(got.as_ref(), expected, "a strong tag is that of the original bytes");
        }
        let strip = TextDecoder::new().with_bom_policy(BomPolicy::Strip);
        let (data, got, _) = drain(Utf8Body::with_decoder(script(&[b"\xEF\xBB\xBFcaf"]), strip));
        assert_eq!((&data[..], got), (&b"caf"[..], Some(trailers(&[("x-sum", "1")]))));
    }
}

#[test]
fn a_body_checks_its_trailers_if_configured() {
    let mut fields = trailers(&[("x-good", "1")]);
    fields.insert("x-bad", HeaderValue::from_bytes(b"ab\xFF").unwrap());
    // A reader of a body with a known size may stop before the trailers.
    for end_hint in [EndHint::Nothing, EndHint::EndStream] {
        let body = || Utf8Body::new(Script::of(&[b"text"], end_hint).with_trailers(fields.clone()));
        let (data, got, error) = drain(body());
        assert_eq!((&data[..], got.as_ref(), error.is_none()), (&b"text"[..], Some(&fields), true));
        let (data, got, error) = drain(body().with_trailer_check(true));
        assert_eq!((&data[..], got), (&b"text"[..], None));
        let error = error.expect("an error");
        assert_eq!(error.to_string(), "trailer x-bad: ill-formed UTF-8 at byte 2 (InvalidLead, 1 byte)");
        assert_eq!(error.utf8_error().map(|error| error.offset), Some(2));
    }
}

#[test]
fn the_status_of_a_call_is_not_lost_with_its_message() {
    let mut fields = trailers(&[("grpc-status", "5")]);
    fields.insert("grpc-message", HeaderValue::from_bytes(b"caf\xE9").unwrap());
    let body = Utf8Body::new(Script::of(&[b"text"], EndHint::Nothing).with_trailers(fields.clone()));
    let (_, got, error) = drain(body.with_trailer_check(true));
    assert_eq!((got, error.is_none()), (Some(fields), true));
    assert!(check_field("Grpc-Message", b"\xFF").is_ok());
    assert!(check_field("grpc-message-type", b"\xFF").is_err());
}
