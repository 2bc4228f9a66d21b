//! `Utf8Body` for plain text, URL-encoded forms and `multipart/form-data`: the same data and errors for every partition
//! into frames, and nothing in it that strict rules reject. Text in another charset, declared by a parameter or by the
//! document, is transcoded.
#![no_main]

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use test_support::bodies::{EndHint, Script, drain};
use utf8_codec_fuzz::{Input, decode_until_error};
use utf8_codec_http::{BodyRules, MessageKind, MissingCharset, RejectReason, Utf8Body};

const TYPES: [&str; 5] = [
    "text/plain",
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "multipart/form-data; boundary=\"--=_b--\"",
];
const CHARSETS: [&str; 13] = [
    "text/plain; charset=utf-8",
    "text/plain; charset=utf-8",
    "text/plain; charset=utf-8",
    "text/plain; charset=utf-8",
    "text/plain; charset=shift_jis",
    "text/plain; charset=iso-2022-jp",
    "text/plain; charset=gb18030",
    "text/plain; charset=utf-16le",
    "text/plain; charset=windows-1252",
    "text/plain; charset=euc-kr",
    "text/xml",
    "text/html",
    "text/css; charset=gb18030",
];

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, decoder) = (input.chunks(), input.decoder());
    let content_type = match input.pick(5, &TYPES) {
        "text/plain" => input.pick(7, &CHARSETS),
        other => other,
    };
    let strict = BodyRules::new().with_missing_charset(MissingCharset::Utf8).with_form_data(true);
    let rules = strict.clone().with_decoder(decoder.clone()).with_transcoding();
    let run = |rules: &BodyRules, content_type, chunks: &[&[u8]], end_hint| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let body = rules.apply(MessageKind::Request, &mut headers, Script::of(chunks, end_hint));
        let (data, trailers, error) = drain(body.expect("text"));
        assert!(trailers.is_none());
        (data, error)
    };
    let (whole, error) = run(&rules, content_type, &[input.bytes], EndHint::Nothing);
    let (cut, other) = run(&rules, content_type, &chunks, input.pick(6, &EndHint::ALL));
    assert_eq!((cut, show(&other)), (whole.clone(), show(&error)));

    if error.is_none() {
        let content_type = if content_type.starts_with("text") { CHARSETS[0] } else { content_type };
        let (again, error) = run(&strict, content_type, &[&whole], EndHint::Nothing);
        assert_eq!((&again, show(&error)), (&whole, show(&None)));
    }

    if content_type == CHARSETS[0] {
        let (text, first) = decode_until_error(decoder.clone(), input.bytes);
        let (data, _, error) = drain(Utf8Body::with_decoder(Script::of(&chunks, EndHint::Nothing), decoder));
        let error = error.map(|error| error.utf8_error().expect("ill-formed"));
        assert_eq!((data.as_slice(), error), (text.as_bytes(), first));
        assert_eq!(whole, data);
    }
});

fn show(error: &Option<RejectReason>) -> String {
    format!("{error:?}")
}
