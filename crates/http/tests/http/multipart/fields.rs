//! The header fields of the parts.

use utf8_codec::{ErrorKind, ErrorPolicy, TextDecoder};
use utf8_codec_http::{BodyRules, MultipartError, RejectReason, Rejection, Utf8Body};

use super::structure::malformed_at;
use super::{BOUNDARY, check, check_all, find, form, passes};
use crate::support::bodies::{EndHint, Script, drain};
use crate::support::some_partitions;

#[test]
fn names_are_checked() {
    let form = form(&[("; name=\"a\"; filename=\"\u{E9}\"", "", b"\xFF")]);
    passes(&form, &BodyRules::new());
    let bad: Vec<u8> = form.iter().copied().filter(|byte| *byte != 0xA9).collect();
    let error =
        check_all(&bad, &BodyRules::new()).1.and_then(|error| error.utf8_error()).expect("ill-formed");
    assert_eq!((error.offset, error.kind), (find(&bad, b"\xC3"), ErrorKind::MissingContinuation));
}

#[test]
fn the_fields_of_a_part_have_at_most_16_kib() {
    let rest = "Content-Disposition: form-data; name=a\r\nA: \r\n\r\n".len();
    for (len, is_within) in [(16_384, true), (16_385, false)] {
        let fields = format!("A: {}\r\n", "a".repeat(len - rest));
        let form = form(&[("; name=a", &fields, b"text")]);
        let is_too_long = |error: &RejectReason| {
            matches!(error, RejectReason::Multipart(MultipartError::HeadersTooLong { .. }))
        };
        for size in [form.len(), 1, 61] {
            let chunks: Vec<_> = form.chunks(size).collect();
            let error = check(&chunks, EndHint::Nothing, &BodyRules::new()).1;
            assert_eq!(error.is_none(), is_within, "{len}: {error:?}");
            assert!(error.iter().all(is_too_long), "{len}: {error:?}");
        }
    }
}

/// Django reads the bytes around the parts as parts.
#[test]
fn header_fields_around_the_parts_are_malformed() {
    let fields = b"A: form-data\r\nC: base64\r\n\r\n";
    let part = b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--";
    for start in [&b""[..], &[&part[..], b"\r\n"].concat(), &[&part[..], b"\n\r\n"].concat()] {
        let form = [start, fields, b"/w==\r\n", part].concat();
        let end = start.len() + fields.len();
        malformed_at(&form, end - 7..end, end - 2, end - 1);
    }
    for passed in [
        [b"multi-part message\r\n\r\nA: b\r\n\r\n", &part[..]].concat(),
        [b"A: b\r\n", &part[..]].concat(),
        [b"\r\n\r\nA: b\r\n\r\n", &part[..]].concat(),
        [&part[..], b"\r\n\r\nA: b\r\n\r\n"].concat(),
        [&part[..], b"\r\nA: b\r\n"].concat(),
    ] {
        some_partitions(&passed, 30, |chunks| {
            let script = Script::of(chunks, EndHint::Nothing);
            let (data, _, error) = drain(Utf8Body::form_data(script, b"b", &BodyRules::new()).unwrap());
            assert!(error.is_none() && data == passed, "{error:?}");
        });
    }
}

#[test]
fn rejected_fields_hold_their_last_byte() {
    let start = [b"--", BOUNDARY, b"\r\nContent-Disposition: form-data; name=a\r\n"].concat();
    for fields in ["Content-Type: text/plain; charset=latin1\r\n\r\n", "no colon\r\n\r\n"] {
        let cut = [&start[..], fields.as_bytes()].concat();
        let (out, error) = check_all(&cut, &BodyRules::new());
        assert!(matches!(error, Some(RejectReason::Multipart(_))), "{error:?}");
        assert_eq!(out, cut[..cut.len() - 1], "a reader that counts bytes would miss the error");
    }
}

#[test]
fn the_offset_of_invalid_fields_is_that_of_the_invalid_line() {
    for (fields, invalid) in [
        ("no colon\r\n", "no colon"),
        ("Content-Type: a/b\r\ncontent-type: a/b\r\n", "content-type"),
        ("content-disposition: form-data\r\n", "content-disposition"),
    ] {
        let form = form(&[("; name=a", fields, b"")]);
        match check_all(&form, &BodyRules::new()).1 {
            Some(RejectReason::Multipart(MultipartError::Malformed { offset })) => {
                assert_eq!(offset, find(&form, invalid.as_bytes()), "{fields}");
            }
            error => panic!("{fields}: {error:?}"),
        }
    }
}

#[test]
fn a_text_field_that_some_readers_decode_is_rejected() {
    let encoded = |parameters, encoding: &str| {
        let fields = format!("Content-Transfer-Encoding: {encoding}\r\n");
        let form = form(&[(parameters, &fields, b"a=FF")]);
        let offset = find(&form, b"Content-Transfer");
        (check_all(&form, &BodyRules::new()).1, offset)
    };
    for encoding in ["quoted-printable", "Base64", "x-uuencode", "", "8bit, base64"] {
        match encoded("; name=a", encoding) {
            (Some(RejectReason::Multipart(MultipartError::Malformed { offset })), expected) => {
                assert_eq!(offset, expected);
            }
            (error, _) => panic!("{encoding}: {error:?}"),
        }
        assert!(encoded("; name=f; filename=f", encoding).0.is_none(), "files are not checked");
    }
    for encoding in ["7bit", "8BIT", " binary\t"] {
        assert!(encoded("; name=a", encoding).0.is_none(), "{encoding}");
    }
}

#[test]
fn a_part_with_an_empty_file_name_is_a_field() {
    let bad = |parameters, fields| check_all(&form(&[(parameters, fields, b"\xFF")]), &BodyRules::new()).1;
    for name in ["; name=a; filename=\"\"", "; FileName=\"\"; name=a"] {
        // Browsers send the second type for an input without a file.
        for fields in ["", "Content-Type: application/octet-stream\r\n", "Content-Type: image/png\r\n"] {
            let error = bad(name, fields).and_then(|error| error.utf8_error()).expect("the field is checked");
            assert_eq!(error.kind, ErrorKind::InvalidLead, "{name} {fields}");
            passes(&form(&[(name, fields, b"")]), &BodyRules::new());
        }
    }
    let twice = bad("; filename=\"\"; filename=x", "");
    assert!(matches!(twice, Some(RejectReason::Multipart(MultipartError::Malformed { .. }))), "{twice:?}");
}

/// A reader parses the fields as they are forwarded.
#[test]
fn the_fields_of_a_part_are_parsed_after_they_are_repaired() {
    let with = |policy| BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
    let form_of = |disposition: &[u8], content: &[u8]| {
        let start = [b"--", BOUNDARY, b"\r\nContent-Disposition: form-data; ", disposition].concat();
        [&start, &b"\r\n\r\n"[..], content, b"\r\n--", BOUNDARY, b"--\r\n"].concat()
    };
    // With an empty `filename` the part is a field.
    let empty = form_of(b"name=a; filename=\"\xFF\"", b"b\xFFc");
    let (data, error) = check_all(&empty, &with(ErrorPolicy::Skip));
    assert_eq!((data, error.is_none()), (form_of(b"name=a; filename=\"\"", b"bc"), true));
    // With another character it is a file.
    let (data, error) = check_all(&empty, &with(ErrorPolicy::ReplaceWith('x')));
    assert_eq!((data, error.is_none()), (form_of(b"name=a; filename=\"x\"", b"b\xFFc"), true));
    // A replacement that is not a token.
    let (_, error) = check_all(&form_of(b"name=\xFF", b""), &with(ErrorPolicy::ReplaceWith('"')));
    assert!(matches!(error, Some(RejectReason::Multipart(MultipartError::Malformed { .. }))), "{error:?}");
    let (_, error) =
        check_all(&form_of(b"name=\"\xFF; filename=x\"", b"\xFF"), &with(ErrorPolicy::ReplaceWith('"')));
    assert!(matches!(error, Some(RejectReason::Multipart(MultipartError::Malformed { .. }))), "{error:?}");
}

/// `body-part = MIME-part-headers [CRLF *OCTET]` (RFC 2046 section 5.1.1).
#[test]
fn a_part_without_a_body_is_accepted() {
    let part = |parameters: &str, body: &str| {
        let boundary = String::from_utf8_lossy(BOUNDARY);
        format!("--{boundary}\r\nContent-Disposition: form-data; {parameters}\r\n\r\n{body}").into_bytes()
    };
    let close = [b"--", BOUNDARY, b"--\r\n"].concat();
    let (text, file) = (part("name=a", ""), part("name=f; filename=x", ""));
    for parts in [
        vec![text.clone()],
        vec![file.clone()],
        vec![text.clone(), text.clone(), part("name=b", "\u{E9}\r\n")],
        vec![file.clone(), part("name=b", "\u{E9}\r\n")],
        vec![part("name=b", "\u{E9}\r\n"), file.clone()],
        // The next delimiter ends the field for all readers.
        vec![text.clone(), part("name=b", "b\r\n"), file.clone()],
    ] {
        passes(&[&parts.concat()[..], &close].concat(), &BodyRules::new());
    }
    let bad: Vec<u8> = [&text[..], &part("name=b", ""), b"\xFF\r\n", &close].concat();
    let error =
        check_all(&bad, &BodyRules::new()).1.and_then(|error| error.utf8_error()).expect("ill-formed");
    assert_eq!(error.offset, find(&bad, b"\xFF"));
    // For readers that do not find the delimiter, the file is text of the field.
    for hidden in [
        vec![text.clone(), file.clone()],
        vec![text.clone(), text.clone(), part("name=f; filename=x", "\u{FF}\r\n")],
    ] {
        let form = [&hidden.concat()[..], &close].concat();
        let offset = (hidden.len() - 1) * text.len();
        match check_all(&form, &BodyRules::new()).1 {
            Some(RejectReason::Multipart(MultipartError::Malformed { offset: at })) => {
                assert_eq!(at, offset as u64)
            }
            error => panic!("{error:?}"),
        }
    }
}

/// HTML section 4.10.21.8: of the characters of a name, only LF, CR and the quote are escaped.
#[test]
fn a_backslash_is_an_escape_or_the_end_of_a_name() {
    let passes_with = |parameters: &str, content: &[u8]| {
        check_all(&form(&[(parameters, "", content)]), &BodyRules::new()).1.is_none()
    };
    for file in [
        r#"; name="f"; filename="a\""#,
        r#"; name="f"; filename="\""#,
        r#"; name="f"; filename="C:\dir\""#,
        r#"; name="f"; filename="a\"b.txt""#,
        r#"; name="f"; filename="a\\""#,
        r#"; filename="a\"; name="f""#,
    ] {
        assert!(passes_with(file, b"\xFF\xD8"), "{file}");
    }
    for text in [r#"; name="a\""#, r#"; name="a\"b""#, r#"; name="\"""#] {
        assert!(passes_with(text, b"x"), "{text}");
        assert!(!passes_with(text, b"\xFF"), "{text}");
    }
    // One reading finds a file, another one a field. The backslashes of a pair are read differently by Django.
    for parameters in [
        r#"; name="a\"; filename="x""#,
        r#"; x="\" ; y="; filename=z"#,
        r#"; name="a\"; filename=\"x""#,
        r#"; name="\"; filename="""#,
        r#"; name="f\\"; filename="x""#,
        r#"; x="\\"; filename=x; name=f"#,
        r#"; name="f\\"; filename="x"; y="\"; filename=z""#,
    ] {
        let form = form(&[(parameters, "", b"x")]);
        let Some(RejectReason::Multipart(MultipartError::Malformed { offset })) =
            check_all(&form, &BodyRules::new()).1
        else {
            panic!("{parameters}");
        };
        assert_eq!(offset, find(&form, b"\\\""), "{parameters}");
    }
    assert!(!passes_with(r#"; name="a"; filename="b"#, b"x"), "a value without its quote");
}

/// Django ignores `filename` for `filename*` (RFC 8187), and reads a part without a name as a field.
#[test]
fn an_extended_file_name_is_not_empty() {
    let is_malformed = |parameters: &str| {
        let error = check_all(&form(&[(parameters, "", b"x")]), &BodyRules::new()).1;
        matches!(error, Some(RejectReason::Multipart(MultipartError::Malformed { .. })))
    };
    for extended in
        ["*=UTF-8''", "*=utf-8'en'", "*=\"\"", "*0=\"\"", "*0*=UTF-8''a", "*=utf-8-sig''%EF%BB%BF"]
    {
        assert!(is_malformed(&format!("; name=f; filename=x; filename{extended}")), "{extended}");
        assert!(is_malformed(&format!("; name=f; FileName{extended}; filename=x")), "{extended}");
        // It does not make the part a file.
        let form = form(&[(&format!("; name=f; filename{extended}"), "", b"\xFF")]);
        assert!(check_all(&form, &BodyRules::new()).1.unwrap().utf8_error().is_some(), "{extended}");
    }
    for extended in ["*=UTF-8''a", "*=iso-8859-1'en'a'b"] {
        assert!(!is_malformed(&format!("; name=f; filename=x; filename{extended}")), "{extended}");
    }
}

/// RFC 7578 section 4.2: a part has a `Content-Disposition`. Werkzeug searches the end of the header fields in the content.
#[test]
fn a_part_without_header_fields_is_malformed() {
    let start = b"--b\r\n";
    let rest = b"\r\nContent-Disposition: form-data; name=g\r\n\r\nx\r\n--b--\r\n";
    let form = [&start[..], rest].concat();
    malformed_at(&form, 0..12, 5, 6);
}

#[test]
fn an_extended_value_in_a_part_is_checked() {
    for (parameters, fields, bad) in [
        ("; name=f; filename*=UTF-8''caf%E9.txt", "", &b"%E9"[..]),
        ("; name=f; filename=x; filename*=\"UTF-8''caf%FF.pdf\"", "", b"%FF"),
        ("; name=f", "Content-Type: text/plain; name*=utf-8''%ED%A0%80\r\n", b"%ED"),
    ] {
        // It is not repaired, as it is not in a trailer field.
        for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace] {
            let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
            let form = form(&[(parameters, fields, b"x")]);
            let (data, error) = check_all(&form, &rules);
            let error = error.and_then(|error| error.utf8_error()).expect("ill-formed");
            assert_eq!(error.offset, find(&form, bad), "{parameters}");
            assert!(form.starts_with(&data) && data.len() < form.len());
        }
    }
    passes(
        &form(&[("; name=f; filename*=UTF-8''caf%C3%A9.txt; x*=latin1''%E9", "", b"x")]),
        &BodyRules::new(),
    );
}

#[test]
fn the_problem_of_a_form_names_the_field() {
    let long = "n\u{E9}".repeat(30);
    let quoted = format!("; name=\"{long}\"");
    for (parameters, name) in [
        ("; name=city", Some(r#""field":"city","#)),
        ("; name=\"a \\\"b\\\" <c>\"", Some(r#""field":"a \u0022b\u0022 \u003cc\u003e","#)),
        ("; name=\"\u{E9}\u{202E}\u{1F980}\"", Some("\"field\":\"\u{E9}\\u202e\\ud83e\\udd80\",")),
        (&quoted, Some(&*format!("\"field\":\"{}n\",", "n\u{E9}".repeat(21)))),
        ("; x=y", None),
        ("; name=\"\"", None),
    ] {
        let form = form(&[("; name=b", "", b"b"), (parameters, "", b"caf\xFF secret")]);
        let (_, error) = check_all(&form, &BodyRules::new());
        let error = error.expect("ill-formed text");
        let offset = find(&form, b"\xFF");
        assert_eq!(error.to_string(), format!("ill-formed UTF-8 at byte {offset} (InvalidLead, 1 byte)"));
        let rejection = Rejection::from_error(&error).expect("ill-formed text");
        let end = format!(
            "\"kind\":\"InvalidLead\",\"offset\":{offset},\"len\":1,{}\"field_offset\":3}}",
            name.unwrap_or_default()
        );
        assert!(rejection.problem_json().ends_with(&end), "{}\n{end}", rejection.problem_json());
        let RejectReason::Field(field, _) = rejection.reason else { panic!("{rejection:?}") };
        assert_eq!((field.offset, field.name.is_some()), (3, name.is_some()));
    }
    // An error outside of the fields has no field.
    let bad = form(&[("; name=\"\u{E9}\"", "", b"")])
        .iter()
        .map(|byte| if *byte == 0xC3 { 0xFF } else { *byte })
        .collect::<Vec<_>>();
    let error = check_all(&bad, &BodyRules::new()).1.expect("ill-formed");
    let problem = Rejection::from_error(&error).expect("a rejection").problem_json();
    assert!(problem.ends_with("\"len\":1}"), "{problem}");
}
