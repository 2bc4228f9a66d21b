//! Cases from reports: forms, and header fields with extended values.

use bytes::Bytes;
use http_body_util::Full;
use utf8_codec_http::{BodyFilter, BodyRules, MessageKind, RejectReason, check_field};

use crate::support::some_partitions;

/// A part: the start of its header fields, which end with an empty line, and its content.
type Part = (&'static str, &'static [u8]);

/// The numbers of reports, what is tested, the parts of the form, and the error as [`shown`].
const FORMS: [(&str, &str, &[Part], Option<&str>); 11] = [
    (
        "tornado#1898",
        "a file name only as an extended value, as python-requests sends it",
        &[("form-data; name=\"f\"; filename*=utf-8''%D0%B4.jpg", b"\xFF\xD8")],
        None,
    ),
    (
        "tornado#1898",
        "the same, where one reading of the backslash finds no file name",
        &[("form-data; x=\"\\\" ; y=\"; filename*=utf-8''z", b"\xFF\xD8")],
        Some("Malformed { offset: 40 }"),
    ),
    (
        "jshttp/content-disposition#138, hoppscotch#6605",
        "an ill-formed file name in UTF-8 (RFC 8187 section 3.2.1)",
        &[("form-data; name=\"f\"; filename*=UTF-8''caf%E9.txt", b"x")],
        Some("MissingContinuation@67"),
    ),
    (
        "clj-http#394, unirest-java#18, jmeter#6251",
        "a field in US-ASCII, as Apache HttpClient sends it",
        &[(
            "form-data; name=\"a\"\r\nContent-Type: text/plain; charset=US-ASCII\r\nContent-Transfer-Encoding: 8bit",
            b"x",
        )],
        None,
    ),
    (
        "rstudio#18726, whatwg/html#6282",
        "a file name that ends with a backslash, as browsers send it (HTML section 4.10.21.8)",
        &[("form-data; name=\"f\"; filename=\"a\\\"", b"\xFF\xD8")],
        None,
    ),
    (
        "ModSecurity#460",
        "a part without a file name is text, whatever its type",
        &[("form-data; name=\"a\"\r\nContent-Type: image/png", b"\xFF")],
        Some("InvalidLead@74"),
    ),
    (
        "python-multipart#306",
        "a delimiter after a bare LF in a file",
        &[(
            "form-data; name=\"f\"; filename=\"x\"\r\nContent-Type: image/png",
            b"AA\n--b\r\nContent-Disposition: form-data; name=\"h\"\r\n\r\n\xFF",
        )],
        Some("Malformed { offset: 91 }"),
    ),
    (
        "python-multipart#306",
        "a delimiter in the middle of a line in a file, for readers that search only its hyphens",
        &[(
            "form-data; name=\"f\"; filename=\"x\"",
            b"AA--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\xFF",
        )],
        Some("Malformed { offset: 65 }"),
    ),
    (
        "ModSecurity#460",
        "an empty file name does not make a part a file",
        &[("form-data; name=\"f\"; filename=\"\"\r\nContent-Type: image/png", b"\xFF")],
        Some("InvalidLead@87"),
    ),
    (
        "rstudio#18726, whatwg/html#6282",
        "an escaped backslash before a quote, which Django reads as an escaped quote",
        &[("form-data; name=\"f\\\\\"; filename=\"x\"", b"\xFF")],
        Some("Malformed { offset: 45 }"),
    ),
    (
        "python-multipart#306",
        "hyphens after a bare LF that are no delimiter",
        &[("form-data; name=\"f\"; filename=\"x\"", b"AA\n--c\n--\xFF")],
        None,
    ),
];

fn shown(error: &RejectReason) -> String {
    match (error.utf8_error(), error) {
        (Some(error), _) => format!("{}@{}", error.kind, error.offset),
        (None, RejectReason::Multipart(error)) => format!("{error:?}"),
        (None, other) => other.to_string(),
    }
}

#[test]
fn forms() {
    for (reports, case, parts, expected) in FORMS {
        let mut form = Vec::new();
        for (fields, content) in parts {
            form.extend_from_slice(format!("--b\r\nContent-Disposition: {fields}\r\n\r\n").as_bytes());
            form.extend_from_slice(content);
            form.extend_from_slice(b"\r\n");
        }
        form.extend_from_slice(b"--b--\r\n");
        some_partitions(&form, 20, |chunks| {
            let mut filter = BodyFilter::form_data(b"b", &BodyRules::new()).expect("a boundary");
            chunks.iter().for_each(|chunk| filter.push(Bytes::copy_from_slice(chunk)));
            filter.finish();
            let (mut passed, mut error) = (Vec::new(), None);
            while let Some(next) = filter.next() {
                match next {
                    Ok(data) => passed.extend_from_slice(&data),
                    Err(found) => error = Some(shown(&found)),
                }
            }
            assert_eq!(error.as_deref(), expected, "{reports}: {case}");
            assert!(error.is_some() || passed == form, "{reports}: {case}");
        });
    }
}

/// A boundary that cannot be parsed is an error only if the form is checked.
#[test]
fn boundaries() {
    // busboy#306, media-typer#5, and the other characters that a token does not have.
    for boundary in ["==b", "a/b", "a:b", "a?b", "(b)", "a,b", "a b", "\"b", "", "b; x", "\"b\"c"] {
        for (subtype, form_data, is_accepted) in
            [("form-data", false, true), ("mixed", true, true), ("form-data", true, false)]
        {
            let request = http::Request::post("/")
                .header("content-type", format!("multipart/{subtype}; boundary={boundary}"))
                .body(Full::<Bytes>::from("--==b\r\n"))
                .expect("a request");
            let (mut parts, body) = request.into_parts();
            let rules = BodyRules::new().with_form_data(form_data);
            let result = rules.apply(MessageKind::Request, &mut parts.headers, body);
            assert_eq!(result.is_ok(), is_accepted, "{subtype} {boundary} {form_data}");
        }
    }
    for malformed in ["multipart", "multipart/form-data boundary=b", "text/plain; charset==b", "image/png; ="]
    {
        let mut fields = utf8_codec_http::ContentFields::new();
        fields.add("content-type", malformed.as_bytes());
        assert!(BodyRules::new().decide(&fields).is_err(), "{malformed}");
    }
}

/// jshttp/content-disposition#138, ktor#3470, aiohttp#13500.
#[test]
fn extended_values() {
    let joined = b"attachment; filename*0*=UTF-8''%E2%98; filename*1*=%83.txt";
    assert_eq!(check_field("content-disposition", joined), Ok(()));
    let value = b"attachment; filename*=UTF-8''caf%E9.txt";
    assert_eq!(check_field("content-disposition", value).map_err(|error| error.offset), Err(32));
}
