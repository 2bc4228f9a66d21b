//! `Utf8Body` over scripted bodies.

use core::cell::Cell;
use core::convert::Infallible;
use std::pin::pin;

use bytes::{Buf, Bytes};
use futures::FutureExt;
use futures::executor::block_on;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt, Empty, Full, LengthLimitError, Limited, StreamBody};
use utf8_codec::json::JsonStrings;
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_http::{BodyRules, BoxError, HttpCounters, MessageKind, RejectReason, Utf8Body, check_field};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::cases::cases;
use crate::support::{Rng, every_partition, oracle, some_partitions};

pub(crate) fn facts(error: Option<RejectReason>) -> Option<(u64, ErrorKind, u8)> {
    error
        .map(|error| error.utf8_error().expect("ill-formed text"))
        .map(|error| (error.offset, error.kind, error.len))
}

fn check_strict(input: &[u8], chunks: &[&[u8]]) {
    let first = oracle::decode(input).1.first().copied();
    let good = &input[..first.map_or(input.len(), |(offset, ..)| offset as usize)];
    for end_hint in EndHint::ALL {
        let (data, _, error) = drain(Utf8Body::new(Script::of(chunks, end_hint)));
        assert_eq!((&data[..], facts(error)), (good, first), "{chunks:02X?} {end_hint:?}");
    }
}

fn check_repair(input: &[u8], chunks: &[&[u8]]) {
    for policy in
        [ErrorPolicy::Replace, ErrorPolicy::ReplaceWith('?'), ErrorPolicy::Escape, ErrorPolicy::Skip]
    {
        let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(BomPolicy::Strip);
        let (mut whole, mut expected) = (decoder.clone(), String::new());
        whole.feed(input).for_each(|piece| expected.push_str(piece.text().unwrap()));
        whole.finish().iter().for_each(|piece| expected.push_str(piece.text().unwrap()));
        for end_hint in EndHint::ALL {
            let (data, _, error) =
                drain(Utf8Body::with_decoder(Script::of(chunks, end_hint), decoder.clone()));
            assert!(error.is_none());
            assert_eq!(String::from_utf8(data).unwrap(), expected, "{chunks:02X?} {end_hint:?} {policy:?}");
        }
    }
}

#[test]
fn text_and_errors_are_the_same_for_every_partition() {
    let mut rng = Rng::new(9112);
    for round in 0..400 {
        let input = rng.dirty_text(1 + round % 8);
        every_partition(&input, |chunks| check_strict(&input, chunks));
    }
    for round in 0..40 {
        let input = rng.dirty_text(1 + round % 6);
        every_partition(&input, |chunks| check_repair(&input, chunks));
    }
    for round in 0..20 {
        let input = rng.dirty_text(300 + 100 * round);
        some_partitions(&input, 3, |chunks| check_strict(&input, chunks));
    }
}

#[test]
fn each_class_of_input_is_checked_and_repaired() {
    for input in cases() {
        for size in [1, 2, 3, 64] {
            let chunks: Vec<_> = input.chunks(size).collect();
            check_strict(&input, &chunks);
            check_repair(&input, &chunks);
        }
    }
}

#[test]
fn frames_pass_without_a_copy() {
    let frame = Bytes::from("sm\u{F6}rg\u{E5}s".repeat(50));
    let mut body = pin!(Utf8Body::new(Full::new(frame.clone())));
    let got = block_on(body.frame()).unwrap().unwrap().into_data().unwrap();
    assert_eq!((got.as_ptr(), got.len()), (frame.as_ptr(), frame.len()));
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));

    let cut = frame.slice(..3);
    let mut body = Utf8Body::new(Full::new(cut.clone()));
    let got = block_on(body.frame()).unwrap().unwrap().into_data().unwrap();
    assert_eq!((got.as_ptr(), &got[..]), (cut.as_ptr(), &b"sm"[..]));
    assert!(!body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(1), "the pending byte is not returned yet");
    assert_eq!(body.offset(), 3);

    // The rest of a character is a frame of its own if long text follows.
    let rest = [&b"\xB6"[..], &[b'r'; 300]].concat();
    let mut body = Utf8Body::new(Script::of(&[b"\xC3", &rest], EndHint::Size));
    let got = block_on(body.frame()).unwrap().unwrap().into_data().unwrap();
    assert_eq!((&got[..], body.size_hint().exact()), ("\u{F6}".as_bytes(), Some(300)));
}

#[test]
fn a_frame_with_several_chunks_ends_after_the_last_one() {
    let data = Bytes::from_static(b"ab").chain(Bytes::from_static(b"c"));
    let (data, _, error) = drain(Utf8Body::new(Full::new(data)));
    assert_eq!((&data[..], facts(error)), (&b"abc"[..], None));
}

#[test]
fn an_announced_end_needs_no_other_poll_of_the_inner_body() {
    for end_hint in EndHint::ALL {
        let mut body = pin!(Utf8Body::new(Script::of(&[b"caf\xC3"], end_hint)));
        assert_eq!(block_on(body.frame()).unwrap().unwrap().into_data().unwrap(), "caf");
        // The inner body is pending once before its end.
        let next = body.frame().now_or_never();
        assert_eq!(next.is_some(), end_hint != EndHint::Nothing, "{end_hint:?}");
        let error = next.unwrap_or_else(|| block_on(body.frame())).unwrap().expect_err("half a character");
        assert_eq!(facts(error.downcast().ok().map(|error| *error)), Some((3, ErrorKind::Truncated, 1)));
    }
}

#[test]
fn a_frame_of_several_chunks_is_read_to_its_end() {
    let chunks = || (&b"caf\xC3"[..]).chain(&b"\xA9 "[..]).chain(&b"\xE2\x82"[..]).chain(&b"\xAC"[..]);
    let frames = [Frame::data(chunks()), Frame::data(chunks())].map(Ok::<_, Infallible>);
    let (data, ..) = drain(Utf8Body::new(StreamBody::new(futures::stream::iter(frames))));
    assert_eq!(data, "café €café €".as_bytes());
}

#[test]
fn size_hints_of_a_repaired_body_are_correct_for_every_subset() {
    let ascii = TextDecoder::new().with_subset(&Subset::ASCII);
    for policy in [ErrorPolicy::ReplaceWith('?'), ErrorPolicy::ReplaceWith('\u{1F980}'), ErrorPolicy::Replace]
    {
        for text in ["\u{1F980}".repeat(9), "\u{E9}\u{20AC}".repeat(9), "a".repeat(9)] {
            let script = Script::of(&[text.as_bytes()], EndHint::Size);
            let (_, _, error) =
                drain(Utf8Body::with_decoder(script, ascii.clone().with_error_policy(policy)));
            assert!(error.is_none());
        }
    }
}

#[test]
fn size_hints_inside_a_surrogate_are_correct() {
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::ReplaceAsJava);
    every_partition(b"a\xED\xA0\x80b\xED\xB0\x80", |chunks| {
        let (text, _, _) = drain(Utf8Body::with_decoder(Script::of(chunks, EndHint::Size), decoder.clone()));
        assert_eq!(text, "a\u{FFFD}b\u{FFFD}".as_bytes());
    });
}

#[test]
fn the_size_hints_of_a_body_that_is_not_checked_are_correct() {
    for end_hint in EndHint::ALL {
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("image/png"))]);
        let script = Script::of(&[b"\xFF\0", b"\x80", b"\xC3"], end_hint);
        let body = BodyRules::new().apply(MessageKind::Request, &mut headers, script).unwrap();
        // `drain` checks the hints after each frame.
        let (data, _, error) = drain(body);
        assert_eq!(data, b"\xFF\0\x80\xC3");
        assert!(error.is_none());
    }
}

#[test]
fn a_body_has_changed_if_a_byte_differs() {
    let (replace, strip) = (
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace),
        TextDecoder::new().with_bom_policy(BomPolicy::Strip),
    );
    for (decoder, sent, changed) in [
        (replace.clone(), &b"a"[..], false),
        (replace.clone(), b"a\xFF", true),
        // The replacement is as long as the sequence.
        (replace, b"\xF0\x90\x80", true),
        (strip.clone(), b"a", false),
        (strip, b"\xEF\xBB\xBFa", true),
    ] {
        let mut body = Utf8Body::with_decoder(Script::of(&[sent], EndHint::Nothing), decoder);
        while block_on(body.frame()).is_some() {}
        assert_eq!(body.has_changed(), changed, "{}", sent.escape_ascii());
    }
}

#[test]
fn an_error_of_the_inner_body_is_returned_unchanged() {
    let frames = || {
        let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"ab\xE2"))), Err(reset)])
    };
    let kind = |error: BoxError| error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    let mut body = Utf8Body::new(StreamBody::new(frames()));
    assert_eq!(block_on(body.frame()).unwrap().unwrap().into_data().unwrap(), "ab");
    let error = block_on(body.frame()).unwrap().unwrap_err();
    assert!(RejectReason::find(&*error).is_none());
    assert_eq!(kind(error), Some(std::io::ErrorKind::ConnectionReset));
    assert!(block_on(body.frame()).is_none());

    let error = block_on(Utf8Body::new(Utf8Body::new(StreamBody::new(frames()))).collect()).unwrap_err();
    assert_eq!(kind(error), Some(std::io::ErrorKind::ConnectionReset));
    let error =
        block_on(Utf8Body::new(Utf8Body::new(Full::<Bytes>::from(&b"\xFF"[..]))).collect()).unwrap_err();
    assert!(error.is::<RejectReason>());
}

/// An error that wraps another one.
#[derive(Debug)]
struct Wrapped(BoxError);

impl core::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("wrapped")
    }
}

impl core::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&*self.0)
    }
}

#[test]
fn the_error_of_a_length_limit_is_at_the_top() {
    let limited = || Limited::new(Full::<Bytes>::from("12345"), 4);
    let wrapped = || limited().map_err(|error| Wrapped(Wrapped(error).into()));
    for error in [
        block_on(Utf8Body::new(limited()).collect()).unwrap_err(),
        block_on(Utf8Body::new(wrapped()).collect()).unwrap_err(),
        block_on(Utf8Body::new(Utf8Body::new(wrapped())).collect()).unwrap_err(),
    ] {
        assert!(error.is::<LengthLimitError>(), "{error:?}");
    }
}

#[test]
fn a_message_without_content_passes_whatever_its_type_requires() {
    let bom = TextDecoder::new().with_bom_policy(BomPolicy::Require);
    let rules = BodyRules::new().with_form_data(true).with_decoder(bom);
    for content_type in ["text/plain", "multipart/form-data; boundary=b", "text/html", "application/json"] {
        for end_hint in EndHint::ALL {
            for chunks in [&[][..], &[&b""[..]]] {
                let mut headers =
                    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
                let script = Script::of(chunks, end_hint);
                let body = rules.apply(MessageKind::Request, &mut headers, script).unwrap();
                let (data, _, error) = drain(body);
                assert!(data.is_empty() && error.is_none(), "{content_type} {end_hint:?} {error:?}");
            }
        }
    }
    // It is known to have none.
    let mut headers =
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=latin1"))]);
    for end_hint in [EndHint::EndStream, EndHint::Size] {
        assert!(rules.apply(MessageKind::Request, &mut headers, Script::of(&[], end_hint)).is_ok());
    }
}

#[test]
fn the_status_of_grpc_is_not_lost() {
    let fields = |fields: &[(&'static str, &[u8])]| -> HeaderMap {
        let value = |value: &[u8]| HeaderValue::from_bytes(value).unwrap();
        fields.iter().map(|&(name, bytes)| (name.parse().unwrap(), value(bytes))).collect()
    };
    let counters = HttpCounters::new();
    let run = |trailers: &HeaderMap| {
        let script = Script::of(&[b"a"], EndHint::Nothing).with_trailers(trailers.clone());
        let (_, passed, error) =
            drain(Utf8Body::new(script).with_trailer_check(true).with_counters(&counters));
        (passed, error.map(|error| error.to_string()))
    };
    let message = fields(&[("grpc-status", b"14"), ("grpc-message", b"\xFF\xFE\xFD")]);
    assert_eq!(run(&message), (Some(message), None));
    let metadata = fields(&[("grpc-status", b"14"), ("x-a", b"\xFF"), ("x-b", b"ok"), ("x-c", b"caf\xC3")]);
    assert_eq!(run(&metadata), (Some(fields(&[("grpc-status", b"14"), ("x-b", b"ok")])), None));
    assert_eq!((counters.snapshot().repaired, counters.snapshot().rejected_total()), (2, 0));
    for trailers in [fields(&[("x-a", b"\xFF")]), fields(&[("grpc-status", b"\xFF"), ("x-a", b"\xFF")])] {
        assert!(run(&trailers).1.is_some(), "{trailers:?}");
    }
}

#[test]
fn an_empty_body_has_no_required_bom() {
    for end_hint in EndHint::ALL {
        let body = Utf8Body::with_decoder(
            Script::of(&[], end_hint),
            TextDecoder::new().with_bom_policy(BomPolicy::Require),
        );
        assert_eq!(facts(drain(body).2), Some((0, ErrorKind::MissingBom, 0)));
        assert!(drain(Utf8Body::new(Script::of(&[], end_hint))).2.is_none());
    }
}

#[test]
fn neither_the_error_nor_the_body_contains_payload() {
    let body = Utf8Body::new(Script::of(&[b"secret\xFF"], EndHint::Nothing));
    let (_, _, error) = drain(body);
    let error = error.expect("an error");
    assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 6 (InvalidLead, 1 byte)");
    assert!(!format!("{error:?}").contains("secret"));
    let body = Utf8Body::new(Empty::<Bytes>::new());
    assert!(format!("{body:?}").starts_with("Utf8Body"));
}

#[test]
fn counters_count_bodies_bytes_repairs_and_errors() {
    let counters = HttpCounters::new();
    drain(Utf8Body::new(Script::of(&[b"ab\xED", b"\xA0"], EndHint::Nothing)).with_counters(&counters));
    let repair = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let frames: &[&[u8]] = &[b"a\xFF\xFF", b"b", b"\xFFc"];
    drain(Utf8Body::with_decoder(Script::of(frames, EndHint::Nothing), repair).with_counters(&counters));
    let now = counters.snapshot();
    assert_eq!((now.bodies, now.bytes, now.repaired), (2, 10, 3));
    assert_eq!((now.rejected(ErrorKind::Surrogate), now.rejected_total()), (1, 1));
}

#[test]
fn one_poll_reads_a_bounded_amount_of_input_without_text() {
    static FRAME: &[u8] = &[0xFF; 1024];
    for frame in [FRAME, b""] {
        let read = Cell::new(0);
        let frames = core::iter::repeat_n(frame, 4_000).map(|frame| {
            read.set(read.get() + 1);
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(frame)))
        });
        let skip = TextDecoder::new().with_error_policy(ErrorPolicy::Skip);
        let body = Utf8Body::with_decoder(StreamBody::new(futures::stream::iter(frames)), skip);
        let mut body = tokio_test::task::spawn(body);
        let poll = body.enter(|cx, body| body.poll_frame(cx));
        assert!(poll.is_pending() && body.is_woken());
        assert!(read.get() < 2000, "{}", read.get());
        let end = block_on(body.into_inner().frame());
        assert!(end.is_none(), "the rest has no text");
        assert_eq!(read.get(), 4_000);
    }
}

#[test]
fn repairs_before_an_error_are_counted_for_every_partition() {
    let repair = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let rules = BodyRules::new().with_decoder(repair).with_json_strings(JsonStrings::new());
    every_partition(b"[\xFF\\uDE00]", |chunks| {
        let (counters, mut fields) = (HttpCounters::new(), HeaderMap::new());
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = Script::of(chunks, EndHint::Nothing);
        let body = rules.apply(MessageKind::Request, &mut fields, body).unwrap();
        let (_, _, error) = drain(body.with_counters(&counters));
        assert_eq!(facts(error), Some((2, ErrorKind::UnpairedSurrogate, 4)));
        assert_eq!(counters.snapshot().repaired, 1, "{chunks:02X?}");
    });
}

#[test]
fn the_error_of_a_bom_is_not_counted_as_repaired() {
    let decoder =
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Require);
    for (chunk, repaired) in [("\u{FEFF}a".as_bytes(), 0), (b"\xEF\xBB\xBFa\xFF", 1), (b"a", 0)] {
        let mut body = Utf8Body::with_decoder(Full::<Bytes>::from(chunk), decoder.clone());
        while let Some(Ok(_)) = block_on(body.frame()) {}
        assert_eq!(body.repaired(), repaired, "{chunk:02X?}");
    }
}

#[test]
fn the_offset_of_a_decoder_is_that_of_the_first_byte() {
    let decoder = TextDecoder::new().restarted_at(100);
    for end_hint in EndHint::ALL {
        let body = Utf8Body::with_decoder(Script::of(&[b"caf", b"\xC3"], end_hint), decoder.clone());
        let hint = body.size_hint();
        assert!(!body.is_end_stream() && hint.lower() <= 4 && hint.upper().is_none_or(|upper| upper >= 4));
        assert_eq!(body.offset(), 0);
        let (data, _, error) = drain(body);
        assert_eq!((&data[..], facts(error)), (&b"caf"[..], Some((103, ErrorKind::Truncated, 1))));
    }
}

/// Rules are for any number of bodies.
#[test]
fn a_used_decoder_does_not_affect_bodies_under_rules() {
    let mut used = TextDecoder::new();
    assert_eq!(used.feed(b"a\xE2\x82").count(), 1);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    let script = Script::of(&[b"b\xFF"], EndHint::ALL[0]);
    let body = BodyRules::new().with_decoder(used).apply(MessageKind::Request, &mut headers, script).unwrap();
    let (data, _, error) = drain(body);
    assert_eq!((&data[..], facts(error)), (&b"b"[..], Some((1, ErrorKind::InvalidLead, 1))));
}

/// The extended values of RFC 8187, and the ways in which readers write and find them.
#[test]
fn the_text_of_an_extended_value_is_checked() {
    use ErrorKind::{AboveMax, InvalidLead, MissingContinuation, OutsideSubset, Truncated};

    for (name, value, expected) in [
        ("Content-Disposition", "attachment; filename*=UTF-8''caf%C3%A9.txt", None),
        (
            "content-disposition",
            "attachment; filename*=UTF-8''caf%E9.txt",
            Some((32, MissingContinuation, 1)),
        ),
        ("content-disposition", "attachment; filename*=utf8'de'%FF", Some((30, InvalidLead, 1))),
        ("content-disposition", "attachment; filename*=\"UTF-8''caf%FF.pdf\"", Some((33, InvalidLead, 1))),
        ("content-disposition", "attachment; filename*=''%FF", Some((24, InvalidLead, 1))),
        ("content-disposition", "attachment;FileName* =\tUTF-8''a%E2%82;x=y", Some((31, Truncated, 2))),
        ("content-disposition", "attachment; filename*=UTF-8''a, b%FF", Some((33, InvalidLead, 1))),
        // Sections are joined in the order of their numbers, in the charset of the first one.
        ("content-disposition", "x; f*0*=UTF-8''a%C3; f*1*=%A9", None),
        ("content-disposition", "x; F*2*=%83; f*1*=%98; f*0*=UTF-8''a%E2", None),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; g*=UTF-8''%FF; f*1*=%83", Some((33, InvalidLead, 1))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*1*=%E2%98%83", Some((15, MissingContinuation, 2))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*1*=%83; f*2*=%FF", Some((38, InvalidLead, 1))),
        // A section between them is missing, is not in percent-encoding, occurs twice, or is that of another parameter.
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*2*=%83", Some((15, Truncated, 2))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*1=x; f*2*=%83", Some((15, Truncated, 2))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*1=x; f*1*=%83", Some((15, Truncated, 2))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*1*=%83; f*1*=x", Some((15, Truncated, 2))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*01*=%83", Some((15, Truncated, 2))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; g*1*=%83", Some((15, Truncated, 2))),
        ("content-disposition", "x; f*=UTF-8''%E2%98; f*1*=%83", Some((13, Truncated, 2))),
        ("content-disposition", "x; f*0*=UTF-8''%E2%98; f*1*=UTF-8''%83", Some((15, MissingContinuation, 2))),
        ("content-disposition", "x; f*0*=koi8-r''%E2%98; f*1*=%83; f*4294967295*=%FF", None),
        // A later section has no charset, so quotes in it are text.
        ("content-disposition", "x; f*0*=UTF-8''a; f*1*=x'y'%FF", Some((27, InvalidLead, 1))),
        ("content-disposition", "x; f*0*=UTF-8''a; f*1*=%FF", Some((23, InvalidLead, 1))),
        ("content-disposition", "x; f*0*=iso-8859-1''a; f*1*=%FF", None),
        ("content-disposition", "x; f*1*=%FF", Some((8, InvalidLead, 1))),
        ("content-disposition", "x; f*0*=UTF-8''a; b*=koi8-r''y; F*1*=%FF", Some((37, InvalidLead, 1))),
        ("content-disposition", "x; f*0*=koi8-r''a; b*0*=UTF-8''y; c*=koi8-r''; f*1*=%FF; b*1*=c", None),
        ("content-disposition", "x; f*0*=utf-8''a; f*0*=koi8-r''; f*1*=%FF", Some((38, InvalidLead, 1))),
        ("content-disposition", "x; f*0*=koi8-r''a; f*0*=utf-8''; f*1*=%FF", Some((38, InvalidLead, 1))),
        (
            "content-disposition",
            "x; f*0*=us-ascii''a; b*=koi8-r''; f*1*=%C3%A9",
            Some((39, OutsideSubset, 1)),
        ),
        // Werkzeug decodes a section in the charset of the value before it, whatever its name.
        ("content-disposition", "x; f*0*=koi8-r''a; b*=UTF-8''y; f*1*=%FF", Some((37, InvalidLead, 1))),
        // The labels of IANA and of Python, which Django decodes.
        ("content-disposition", "x; f*=U8''%FF", Some((10, InvalidLead, 1))),
        ("content-disposition", "x; f*=utf_8''%FF", Some((13, InvalidLead, 1))),
        ("content-disposition", "x; f*=cp65001''%FF", Some((15, InvalidLead, 1))),
        ("content-disposition", "x; f*=646''%C3%A9", Some((11, OutsideSubset, 1))),
        // Without a charset, where a parameter can start.
        ("content-disposition", "attachment; filename*=caf%FF", Some((25, InvalidLead, 1))),
        ("content-disposition", "x;f*=\"caf%FF\"", Some((9, InvalidLead, 1))),
        ("content-disposition", "x; f*0*=%FF", Some((8, InvalidLead, 1))),
        ("content-disposition", "x; f*=caf%C3%A9; g*=100%", None),
        ("content-disposition", "x; filename=\"a*=b%E9.txt\"", None),
        ("content-disposition", "x; filename=\"a 5*1*=b%E9.txt\"", None),
        ("authorization", "Digest username*=%FF, a*=b", Some((17, InvalidLead, 1))),
        ("authorization", "Digest uri=\"/?a*=%FF\",a*=%FF", Some((25, InvalidLead, 1))),
        // Readers differ in where the first value ends.
        (
            "content-disposition",
            "form-data; filename=\"a\\\"; filename*=UTF-8''%FF\"",
            Some((43, InvalidLead, 1)),
        ),
        ("content-disposition", r#"x; f*="UTF-8''a\"; g*=UTF-8''%FF""#, Some((29, InvalidLead, 1))),
        ("content-disposition", "x; f*=us-ascii''a%7F", None),
        ("content-disposition", "x; f*=ISO646-US''a%C3%A9", Some((18, OutsideSubset, 1))),
        // Other charsets, values that are not extended, and fields that have none.
        ("content-disposition", "x; f*=iso-8859-1'en'%A3; g*=windows-1252''%FF", None),
        ("content-disposition", "x; filename=UTF-8''%FF", None),
        ("content-disposition", "x; f*=a'%FF", Some((8, InvalidLead, 1))),
        ("x-other", "x; filename*=UTF-8''%FF", None),
        ("link", "<a>; title*=UTF-8''%C3%A9, </%FF>; rel=next", None),
        ("Link", "<a>; rel=b; title*=UTF-8'de'%FC", Some((28, AboveMax, 1))),
        // The URI of a link is not a value (RFC 8288 section 3).
        ("link", "</search?q*=UTF-8''%E9>; rel=next", None),
        ("link", "<a>; rel=a, \t<;q*=UTF-8''%E9>; rel=b,<,q*=UTF-8''%FF>", None),
        ("link-template", "\"/{?q}\"; a=b, <{q*=UTF-8''%E9}>", None),
        ("link", "</?q*=UTF-8''%E9>; title*=UTF-8''%FF", Some((33, InvalidLead, 1))),
        // Not a URI.
        ("link", "<a>; title=\", <\"; t*=UTF-8''%FF; x=\">\"", Some((28, InvalidLead, 1))),
        ("link", "<a>; title=<;t*=UTF-8''%FF>", Some((23, InvalidLead, 1))),
        ("link", "<a;t*=UTF-8''%FF", Some((13, InvalidLead, 1))),
        ("link", "<a<;t*=UTF-8''%FF>", Some((14, InvalidLead, 1))),
        ("content-disposition", "<q*=UTF-8''%FF>", Some((11, InvalidLead, 1))),
        ("authorization", "Digest username*=UTF-8''J%E4s, realm=x", Some((25, MissingContinuation, 1))),
        ("content-type", "text/plain; name*=utf-8''%ff", Some((25, InvalidLead, 1))),
    ] {
        let error = check_field(name, value.as_bytes()).err();
        assert_eq!(error.map(|error| (error.offset, error.kind, error.len)), expected, "{name}: {value}");
    }
    let error = check_field("x-name", b"Ren\xE9").unwrap_err();
    assert_eq!((error.offset, error.kind), (3, Truncated));
    // Sections of many parameters.
    let first = (0..1000).map(|name| format!("; p{name}*0*=koi8-r''a")).collect::<String>();
    let value = format!("x{first}; f*0*=koi8-r''a; f*1*=%FF");
    assert_eq!(check_field("content-disposition", value.as_bytes()), Ok(()));
    // Escaped and other bytes of a value are text together.
    assert!(check_field("link", "<a>; title*=UTF-8''\u{E9}%C3%A9".as_bytes()).is_ok());
}
