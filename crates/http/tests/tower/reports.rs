//! Bodies of messages: charsets that a document declares itself, text types, gRPC.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_http::{BodyRules, MessageKind, RejectReason};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::some_partitions;

/// Returns what passes of a body, or its rejection.
fn run(
    message: MessageKind,
    rules: &BodyRules,
    content_type: &str,
    chunks: &[&[u8]],
    hint: EndHint,
) -> String {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
    let body = match rules.apply(message, &mut headers, Script::of(chunks, hint)) {
        Ok(body) => body,
        Err(rejection) => return format!("{} {}", rejection.status().as_u16(), rejection.reason.kind()),
    };
    let (data, _, error) = drain(body);
    match error {
        None => format!("ok {}", Bytes::from(data).escape_ascii()),
        Some(RejectReason::Body(error)) => format!("error {}@{}", error.kind.as_str(), error.offset),
        Some(reason) => {
            let rejection = utf8_codec_http::Rejection::new(message, reason);
            format!("{} {}", rejection.status().as_u16(), rejection.reason.kind())
        }
    }
}

/// Checks that a body has this result in every cut.
fn expect(
    message: MessageKind,
    rules: &BodyRules,
    name: &str,
    content_type: &str,
    body: &[u8],
    expected: &str,
) {
    let expected = match expected {
        "ok" => format!("ok {}", body.escape_ascii()),
        other => other.to_owned(),
    };
    some_partitions(body, 8, |chunks| {
        for hint in EndHint::ALL {
            let result = run(message, rules, content_type, chunks, hint);
            assert_eq!(result, expected, "{name} {content_type} {chunks:02X?} {hint:?}");
        }
    });
}

const XML: &[u8] = b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>G\xFCnther</a>";
const HTML: &[u8] = b"<html><head><meta charset=\"windows-1251\"><title>\xCF\xF0\xE8</title></head></html>";
const UTF_16: &[u8] = b"\xFF\xFE<\0a\0/\0>\0";

#[test]
fn requests() {
    let yaml = b"a: \xFF";
    for (name, content_type, body, expected) in [
        (
            "reqwest#58",
            "application/json; charset=iso-8859-1",
            b"{\"a\":\"\xE9\"}",
            "error MissingContinuation@6",
        ),
        ("clj-http#394", "text/plain; charset=us-ascii", b"hello", "ok"),
        ("unirest-java#18", "text/plain; charset=US-ASCII", b"na\xEFve", "error MissingContinuation@2"),
        ("unirest-java#18", "text/plain; charset=us-ascii", b"na\xC3\xAFve", "error OutsideSubset@2"),
        ("fs2-data#332", "application/xml", XML, "415 UnsupportedCharset"),
        ("phpxmlrpc#49", "text/xml", XML, "415 UnsupportedCharset"),
        ("membrane/api-gateway#3129", "application/soap+xml; action=a", XML, "415 UnsupportedCharset"),
        ("metro-saaj#6", "text/xml", UTF_16, "415 UnsupportedCharset"),
        ("metro-saaj#6", "text/xml; charset=utf-8", UTF_16, "error InvalidLead@0"),
        ("CSP endpoints", "application/csp-report", yaml, "error InvalidLead@3"),
        ("k8s", "application/yaml", yaml, "error InvalidLead@3"),
        ("swagger", "application/x-yaml", yaml, "error InvalidLead@3"),
        ("body-parser", "application/x-javascript", yaml, "error InvalidLead@3"),
        ("cargo", "application/toml", yaml, "error InvalidLead@3"),
        ("trino", "application/sql", yaml, "error InvalidLead@3"),
        ("RFC 9512", "application/openapi+yaml", yaml, "error InvalidLead@3"),
        ("jupyter", "application/x-json", yaml, "error InvalidLead@3"),
        ("RDF4J", "application/sparql-query", yaml, "error InvalidLead@3"),
        ("geojson", "application/geo+json-seq", yaml, "error InvalidLead@3"),
        ("grpc-dotnet", "application/grpc+json", b"\0\0\0\0\x80{\"a\":1}\xFF", "ok"),
        ("connect-go", "application/connect+json", b"\0\0\0\0\xFF{}", "ok"),
        ("grpc-web", "application/grpc-web+json", b"\0\0\0\0\xFF{}", "ok"),
        // Not supported: the fold of RFC 5545 §3.1 inside a character.
        ("icalendar#238", "text/calendar", b"SUMMARY:caf\xC3\r\n \xA9\r\n", "error MissingContinuation@11"),
    ] as [(&str, &str, &[u8], &str); 23]
    {
        expect(MessageKind::Request, &BodyRules::new(), name, content_type, body, expected);
    }
}

#[test]
fn a_response_in_a_declared_charset_passes_unchanged() {
    let strict = BodyRules::for_responses();
    let repair = strict.clone().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    for (name, content_type, body) in [
        ("frankframework#6280", "application/xml", XML),
        ("fs2-data#332", "image/svg+xml", XML),
        ("metro-saaj#6", "text/xml", UTF_16),
        ("reqwest#2481", "text/html", HTML),
        ("miniProxy#60", "TEXT/HTML", HTML),
        ("cypress#1543", "text/html; charset=windows-1251", HTML),
        ("bootstrap", "text/css", b"@charset \"iso-8859-1\";\na::after { content: \"\xE9\" }"),
        ("HTML", "text/html", b"<meta charset=klingon><meta charset=windows-1251>\xCF\xF0"),
        ("grpc-dotnet", "application/grpc+json", b"\0\0\0\0\x80{\"a\":1}\xFF"),
    ] as [(&str, &str, &[u8]); 9]
    {
        expect(MessageKind::Response, &strict, name, content_type, body, "ok");
        expect(MessageKind::Response, &repair, name, content_type, body, "ok");
    }
    let json = b"{\"a\":\"\xE9\"}";
    let labeled = "application/json; charset=iso-8859-1";
    let unknown = b"<meta charset=klingon>\xE9";
    expect(MessageKind::Response, &strict, "HTML", "text/html", unknown, "error Truncated@22");
    expect(MessageKind::Response, &strict, "coreruleset#3527", labeled, json, "error MissingContinuation@6");
}

#[test]
fn only_documents_are_transcoded_by_what_they_declare() {
    let rules = BodyRules::for_responses().with_transcoding();
    let json = "{\"a\":\"é\"}".as_bytes();
    for (name, content_type, body, expected) in [
        ("reqwest#58", "application/json; charset=iso-8859-1", json, json),
        (
            "reqwest#58",
            "text/event-stream; charset=iso-8859-1",
            "data: é\n\n".as_bytes(),
            "data: é\n\n".as_bytes(),
        ),
        ("metro-saaj#6", "text/xml", UTF_16, b"<a/>"),
        ("metro-saaj#6", "text/xml; charset=iso-8859-1", UTF_16, b"<a/>"),
        (
            "fs2-data#332",
            "text/xml",
            XML,
            "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>Günther</a>".as_bytes(),
        ),
    ] as [(&str, &str, &[u8], &[u8]); 5]
    {
        let expected = format!("ok {}", expected.escape_ascii());
        expect(MessageKind::Response, &rules, name, content_type, body, &expected);
    }
}
