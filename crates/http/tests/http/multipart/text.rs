//! The text of the parts, under every policy.

use bytes::Bytes;
use futures::executor::block_on;
use http_body_util::BodyExt;
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_http::{
    BodyFilter, BodyRules, ContentFields, MissingCharset, MultipartError, RejectReason, Rejection,
    Uncheckable, Utf8Body,
};

use super::{BOUNDARY, check, check_all, find, form, passes};
use crate::support::Rng;
use crate::support::bodies::{EndHint, Script, drain};
use crate::support::some_partitions;

#[test]
fn text_fields_are_checked_and_files_pass() {
    let file = b"\x89PNG\r\n\x1A\n\xFF\xFE\r\n--=_\r\n--\r\r\n-\xED\xA0\x80";
    let parts = [
        ("; name=\"a\"", "", "naïve €\r\n--=_b\r\n\r".as_bytes()),
        ("; name=\"f\"; filename=\"é.png\"", "Content-Type: image/png\r\n", &file[..]),
        ("; name=\"g\"; FileName=x; filename*=UTF-8''x", "Content-Type: text/plain\r\n", &file[..]),
        ("; name=\"bin\"; filename=x", "Content-Type: application/octet-stream\r\n", &file[..]),
        ("; name=\"e\"", "", b""),
        ("; name=\"s\"; filename*=UTF-8''", "", "no file name: \u{E9}".as_bytes()),
        ("; name=\"j\"", "content-type: application/json; charset=UTF8\r\n", "{\"é\": 1}".as_bytes()),
        ("; name=\"x\"; filename*=UTF-8''x", "", &file[..]),
    ];
    let good = form(&parts);
    passes(&good, &BodyRules::new());
    passes(
        &["pr\u{E9}ambule\r\n".as_bytes(), &good[..], "\u{E9}pilogue".as_bytes()].concat(),
        &BodyRules::new(),
    );

    for (broken, kind, len) in [
        (&b"abc \xED\xA0\x80"[..], ErrorKind::Surrogate, 1),
        (b"abc \xE2\x82", ErrorKind::Truncated, 2),
        (b"abc \xE2\x82\r\n--=_b", ErrorKind::MissingContinuation, 2),
        (b"abc \xFF", ErrorKind::InvalidLead, 1),
    ] {
        for place in [0, 5, 6] {
            let mut parts = parts;
            parts[place].2 = broken;
            let form = form(&parts);
            let (out, error) = check_all(&form, &BodyRules::new());
            let error = error.and_then(|error| error.utf8_error()).expect("ill-formed text");
            let offset = find(&form, b"abc ") + 4;
            assert_eq!((error.offset, error.kind, error.len), (offset, kind, len));
            assert!(out == form[..offset as usize], "the text before it is forwarded");
        }
    }
}

#[test]
fn the_escapes_of_a_field_in_json_are_checked() {
    const JSON: &str = "Content-Type: application/json\r\n";
    const LINES: &str = "Content-Type: application/x-ndjson\r\n";
    let strings = JsonStrings::new().with_subset(&Subset::NO_NUL);
    let rules = BodyRules::new().with_json_strings(strings);
    let field = |fields, content| form(&[("; name=a", fields, content)]);
    for content in [&br#"{"a":"\uD83D\uDE00 \\uD83D"}"#[..], b"1", br"\", br"\\"] {
        passes(&field(JSON, content), &rules);
    }
    for (content, kind, bad, len) in [
        (&br#"["\uD83D"]"#[..], ErrorKind::UnpairedSurrogate, &br"\uD83D"[..], 6),
        (br#"["\n\u0000"]"#, ErrorKind::OutsideSubset, br"\u0000", 6),
        (br#"["\u00"#, ErrorKind::IncompleteEscape, br"\u00", 4),
        (b"[\"a\xFF", ErrorKind::InvalidLead, b"\xFF", 1),
    ] {
        for fields in [JSON, LINES] {
            let form = field(fields, content);
            let (out, error) = check_all(&form, &rules);
            let error = error.expect("an escape that does not encode a character");
            let problem = Rejection::from_error(&error).unwrap().problem_json();
            assert!(problem.contains("\"field\":\"a\""), "{problem}");
            let error = error.utf8_error().unwrap();
            assert_eq!((error.offset, error.kind, error.len), (find(&form, bad), kind, len), "{fields}");
            assert_eq!(out, form[..error.offset as usize], "the text before it is forwarded");
        }
    }
    // Other text, other parts, and rules without the check.
    let bad = br#"["\uD83D"]"#;
    for fields in ["", "Content-Type: text/plain\r\n"] {
        passes(&field(fields, bad), &rules);
    }
    passes(&form(&[("; name=a; filename=b", JSON, bad)]), &rules);
    passes(&field(JSON, bad), &BodyRules::new());

    let replace = rules.clone().with_json_strings(strings.with_escape_policy(EscapePolicy::Replace));
    let parts = [
        ("; name=a", JSON, &br#"["\uD83D","\u00"]"#[..]),
        ("; name=b", "", br"\uD83D"),
        ("; name=c", JSON, br"\u0000\u"),
    ];
    let replaced = [
        ("; name=a", JSON, &br#"["\uFFFD","????"]"#[..]),
        ("; name=b", "", br"\uD83D"),
        ("; name=c", JSON, br"\uFFFD??"),
    ];
    let (out, error) = check_all(&form(&parts), &replace);
    assert!(error.is_none() && out == form(&replaced), "{error:?} {}", out.escape_ascii());
    let mut filter = BodyFilter::form_data(BOUNDARY, &replace).unwrap();
    filter.push(form(&parts).into());
    while let Some(next) = filter.next() {
        next.unwrap();
    }
    filter.finish();
    assert_eq!((filter.repaired(), filter.has_changed()), (4, true));

    let decided = |rules: &BodyRules| {
        let mut fields = ContentFields::new();
        fields.add("content-type", b"multipart/form-data; boundary=b");
        rules.clone().with_form_data(true).decide(&fields).unwrap()
    };
    for (rules, changes) in [(&rules, false), (&replace, true)] {
        assert_eq!(decided(rules).invalidates("etag", b"\"a\""), changes);
        assert!(!decided(rules).invalidates("content-length", b"9"));
    }
    // A replacement does not make a delimiter.
    let form = b"--??x\r\nContent-Disposition: form-data; name=a\r\nContent-Type: application/json\r\n\r\n--\\ux\r\n--??x--";
    some_partitions(form, 20, |chunks| {
        let script = Script::of(chunks, EndHint::Nothing);
        let (_, _, error) = drain(Utf8Body::form_data(script, b"??x", &replace).unwrap());
        let offset = find(form, b"\\ux");
        let is_malformed = |error| matches!(error, RejectReason::Multipart(MultipartError::Malformed { offset: at }) if at == offset);
        assert!(error.is_some_and(is_malformed));
    });
}

#[test]
fn a_field_is_checked_if_its_charset_is_utf8() {
    let latin1: &[u8] = b"caf\xE9!";
    let field = |fields| form(&[("; name=\"x\"", fields, latin1)]);
    let pass = BodyRules::new().with_other_charset(Uncheckable::Pass);
    passes(&field("Content-Type: text/plain; charset=latin1\r\n"), &pass);
    // RFC 7578 section 5.1.2: without a charset a field is in UTF-8.
    for missing in [MissingCharset::Utf8, MissingCharset::Pass, MissingCharset::Reject] {
        let rules = BodyRules::new().with_missing_charset(missing);
        for fields in ["", "Content-Type: text/html\r\n", "Content-Type: application/json\r\n"] {
            let (_, error) = check_all(&field(fields), &rules);
            let error = error.and_then(|error| error.utf8_error()).expect("ill-formed");
            assert_eq!(error.offset, find(&field(fields), b"\xE9"), "{fields}");
        }
    }
    // JSON has no such parameter (RFC 8259 section 11).
    let json = "Content-Type: application/json; charset=latin1\r\n";
    passes(&form(&[("; name=x", json, "é".as_bytes())]), &BodyRules::new());
    let error = check_all(&field(json), &pass).1.and_then(|error| error.utf8_error()).expect("ill-formed");
    assert_eq!(error.offset, find(&field(json), b"\xE9"));
    for fields in
        ["Content-Type: text/plain; charset=latin1\r\n", "Content-Type: text/plain; charset=a; charset=b\r\n"]
    {
        let form = field(fields);
        let offset = find(&form, latin1);
        let (_, error) = check_all(&form, &BodyRules::new());
        assert!(
            matches!(error, Some(RejectReason::Multipart(MultipartError::Charset { offset: at })) if at == offset)
        );
    }
    let charset =
        |label: &'static [u8]| form(&[("; name=\"_charset_\"", "", label), ("; name=x", "", latin1)]);
    passes(&charset(b"iso-8859-1"), &pass);
    for utf8 in [&b"UTF-8"[..], b""] {
        let form = charset(utf8);
        let (_, error) = check_all(&form, &pass);
        let at = error.and_then(|error| error.utf8_error()).map(|error| error.offset);
        // An empty label is not a label of UTF-8.
        assert_eq!(at, (!utf8.is_empty()).then(|| find(&form, b"\xE9!")));
    }
    let (_, error) = check_all(&charset(b"iso-8859-1"), &BodyRules::new());
    assert!(matches!(error, Some(RejectReason::Multipart(MultipartError::Charset { .. }))));
}

#[test]
fn a_replacement_does_not_cross_the_end_of_its_field() {
    let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let file = ("; name=f; filename=x", "", &b"\xFF\xE2\x82"[..]);
    let bad = form(&[("; name=a", "", b"a\xFFb\xE2\x82"), file, ("; name=b", "", b"\xC3")]);
    let good = form(&[
        ("; name=a", "", "a\u{FFFD}b\u{FFFD}".as_bytes()),
        file,
        ("; name=b", "", "\u{FFFD}".as_bytes()),
    ]);
    let (out, error) = check_all(&bad, &rules);
    assert!(error.is_none());
    assert!(out == good, "{}", out.escape_ascii());

    let mut body =
        Utf8Body::form_data(Script::of(&[&bad], EndHint::Nothing), BOUNDARY, &rules).expect("a boundary");
    while block_on(body.frame()).is_some() {}
    assert_eq!(body.repaired(), 3);
}

#[test]
fn the_bom_policy_applies_to_each_field() {
    let field = ("; name=a", "", "\u{FEFF}a".as_bytes());
    let without = ("; name=a", "", &b"a"[..]);
    let rules = |bom| BodyRules::new().with_decoder(TextDecoder::new().with_bom_policy(bom));
    for policy in [BomPolicy::Strip, BomPolicy::Require] {
        let (out, error) = check_all(&form(&[field, field, field]), &rules(policy));
        assert!(error.is_none(), "{policy:?}: {error:?}");
        assert!(out == form(&[without, without, without]));
    }
    let (_, error) = check_all(&form(&[without]), &rules(BomPolicy::Require));
    let error = error.and_then(|error| error.utf8_error()).expect("a BOM is missing");
    assert_eq!((error.offset, error.kind), (find(&form(&[without]), b"a\r\n--"), ErrorKind::MissingBom));
}

#[test]
fn random_forms_have_the_same_result_for_random_partitions() {
    let mut rng = Rng::new(7578);
    for _ in 0..30 {
        let contents: Vec<_> = (0..1 + rng.below(4)).map(|_| rng.below(60)).collect();
        let contents: Vec<_> = contents.into_iter().map(|len| rng.dirty_text(len)).collect();
        let kinds = ["; name=a", "; name=a; filename=b"];
        let parts: Vec<_> = contents.iter().map(|text| (kinds[rng.below(2)], "", &text[..])).collect();
        let form = form(&parts);
        let is_good =
            parts.iter().all(|(kind, _, text)| kind.contains("file") || str::from_utf8(text).is_ok());
        let (out, error) = check_all(&form, &BodyRules::new());
        assert_eq!(error.is_none(), is_good);
        let offset =
            error.and_then(|error| error.utf8_error()).map_or(form.len() as u64, |error| error.offset);
        assert!(out == form[..offset as usize]);
    }
}

#[test]
fn a_file_passes_without_a_copy() {
    let file = vec![0xFF; 100_000];
    let form = Bytes::from(form(&[("; name=f; filename=x", "", &file)]));
    let body = http_body_util::Full::new(form.clone());
    let mut body = Utf8Body::form_data(body, BOUNDARY, &BodyRules::new()).expect("a boundary");
    let mut is_slice = false;
    while let Some(frame) = block_on(body.frame()) {
        let data = frame.expect("good").into_data().expect("data");
        is_slice |= data.len() > 100_000 && form.as_ptr_range().contains(&data.as_ptr());
    }
    assert!(is_slice);
}

#[test]
fn nothing_follows_the_error_of_a_missing_bom() {
    let rules = BodyRules::new().with_decoder(
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Require),
    );
    let form = form(&[("; name=a", "", "\u{E9}".as_bytes())]);
    let start = form.len() - 2 - b"\r\n--\r\n--".len() - BOUNDARY.len();
    // The character is split, and the delimiter is in the second chunk.
    let chunks = [&form[..=start], &form[start + 1..]];
    assert_eq!(chunks[0].last(), Some(&0xC3));
    for chunks in [&[&form[..]][..], &chunks] {
        let (out, error) = check(chunks, EndHint::Nothing, &rules);
        assert_eq!(out.escape_ascii().to_string(), form[..start].escape_ascii().to_string());
        let error = error.and_then(|error| error.utf8_error()).expect("an error");
        assert_eq!((error.offset, error.kind), (start as u64, ErrorKind::MissingBom));
    }
}

#[test]
fn a_chunk_is_released_although_its_last_byte_is_pending() {
    for parameters in ["; name=a", "; name=f; filename=f"] {
        let whole = form(&[(parameters, "", &[b'x'; 5000])]);
        let chunk = Bytes::copy_from_slice(&whole[..4000]);
        let mut filter = BodyFilter::form_data(BOUNDARY, &BodyRules::new()).expect("a boundary");
        filter.push(chunk.clone());
        let mut len = 0;
        while let Some(data) = filter.next() {
            len += data.expect("good").len();
        }
        assert_eq!(len, 3999);
        assert!(chunk.is_unique(), "{parameters}");
    }
}

/// undici, Werkzeug and the WHATWG algorithm decode a part without `filename` as text.
#[test]
fn a_field_is_checked_whatever_its_type() {
    for fields in ["image/png", "application/octet-stream", "application/json", "multipart/mixed; boundary=c"]
    {
        let fields = format!("Content-Type: {fields}\r\n");
        let bad = form(&[("; name=a", &fields, b"a\xFF")]);
        let strict = BodyRules::new().with_text_types(|_| false);
        let error = check_all(&bad, &strict).1.and_then(|error| error.utf8_error()).expect("ill-formed");
        assert_eq!((error.offset, error.kind), (find(&bad, b"\xFF"), ErrorKind::InvalidLead), "{fields}");
        passes(&form(&[("; name=a", &fields, "\u{E9}".as_bytes())]), &BodyRules::new());
        passes(
            &form(&[("; name=a; filename=b", &fields, b"a\xFF")]),
            &BodyRules::new().with_text_types(|_| true),
        );
    }
    // The exception is a setting of its own.
    let excluded = BodyRules::new().with_field_types(|given| given.top() != "image");
    let part = |content_type| form(&[("; name=a", content_type, b"a\xFF")]);
    passes(&part("Content-Type: image/png\r\n"), &excluded);
    for checked in ["Content-Type: application/octet-stream\r\n", ""] {
        assert!(check_all(&part(checked), &excluded).1.is_some(), "{checked}");
    }
}

#[test]
fn a_field_in_ascii_is_checked() {
    let field = |label: &str, content: &[u8]| {
        let fields =
            format!("Content-Type: text/plain; charset={label}\r\nContent-Transfer-Encoding: 8bit\r\n");
        form(&[("; name=a", &fields, content)])
    };
    let facts = |form: &[u8], rules: &BodyRules| {
        let error = check_all(form, rules).1.and_then(|error| error.utf8_error());
        error.map(|error| (error.offset, error.kind, error.len))
    };
    for label in ["US-ASCII", "ascii", "ANSI_X3.4-1968", "iso646-us", "\"cp367\""] {
        passes(&field(label, b"x"), &BodyRules::new());
        for (content, kind, len) in [
            (&b"a\xFF"[..], ErrorKind::InvalidLead, 1),
            (b"a\xE9", ErrorKind::Truncated, 1),
            ("a\u{E9}".as_bytes(), ErrorKind::OutsideSubset, 2),
        ] {
            let form = field(label, content);
            let expected = Some((find(&form, &content[1..]), kind, len));
            assert_eq!(facts(&form, &BodyRules::new()), expected, "{label}");
            // A repair would not be ASCII.
            let replace =
                BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
            assert_eq!(facts(&form, &replace), expected, "{label}");
        }
    }
    passes(&field("us-ascii", b"\xFF"), &BodyRules::new().with_other_charset(Uncheckable::Pass));
    let default = form(&[("; name=\"_charset_\"", "", b"us-ascii"), ("; name=b", "", "\u{E9}".as_bytes())]);
    assert!(matches!(facts(&default, &BodyRules::new()), Some((_, ErrorKind::OutsideSubset, 2))));
    // Two subsets cannot be combined.
    let own = BodyRules::new().with_decoder(TextDecoder::new().with_subset(&Subset::NO_NUL));
    let error = check_all(&field("us-ascii", b"x"), &own).1;
    assert!(matches!(error, Some(RejectReason::Multipart(MultipartError::Charset { .. }))), "{error:?}");
}
