//! Which media types are text, and where the encoding of their documents is declared.
//!
//! The names are those of the [IANA registry](https://www.iana.org/assignments/media-types) whose registered templates
//! describe text in UTF-8 or ASCII, and unregistered names that servers and clients send. Types whose documents often have
//! another encoding, which they declare in a way that is not supported here, are left out (EDIFACT, PostScript, SDP, SGML,
//! XQuery). Every `text/*` is text (RFC 6838 §4.2.1).

use super::ContentType;

/// How the encoding of a text is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// By the `charset` parameter. Without it the text is UTF-8 (RFC 6657 §3).
    Charset,
    /// The standard of the type requires UTF-8 and defines no `charset` parameter. A parameter has no effect.
    Utf8,
    /// The same, for JSON texts, lines and sequences of them.
    Json,
    /// By a BOM, the `charset` parameter, or the XML declaration, in this order (RFC 7303 §3).
    Xml,
    /// By a BOM, the `charset` parameter, or a `meta` element (HTML §13.2.3).
    Html,
    /// By a BOM, the `charset` parameter, or `@charset` (CSS Syntax Level 3 §3.2).
    Css,
}

use TextKind::{Charset, Css, Html, Json, Utf8, Xml};

/// Subtypes of `application`.
const APPLICATION: [(&str, TextKind); 55] = [
    // JSON and sequences of JSON texts: RFC 8259 §8.1 and §11, RFC 7464, CSP Level 3 §5.3.
    ("json", Json),
    ("json-seq", Json),
    ("csp-report", Json),
    ("hjson", Utf8),
    ("json5", Utf8),
    ("jsonl", Json),
    ("jsonlines", Json),
    ("ndjson", Json),
    ("x-json", Json),
    ("x-json-stream", Json),
    ("x-jsonl", Json),
    ("x-jsonlines", Json),
    ("x-ndjson", Json),
    ("x-ldjson", Json),
    // XML: RFC 7303 §9.
    ("xml", Xml),
    ("xml-dtd", Xml),
    ("xml-external-parsed-entity", Xml),
    ("smil", Xml),
    // Configuration and data: RFC 9512, TOML 1.0, RFC 6020, Common Workflow Language.
    ("yaml", Utf8),
    ("x-yaml", Utf8),
    ("cwl", Utf8),
    ("vnd.yaml", Utf8),
    ("vnd.oai.openapi", Utf8),
    ("toml", Utf8),
    ("x-toml", Utf8),
    ("yang", Utf8),
    ("x-www-form-urlencoded", Charset),
    // Programs: RFC 9239, ECMA-262, RFC 6922.
    ("javascript", Charset),
    ("ecmascript", Charset),
    ("x-javascript", Charset),
    ("x-ecmascript", Charset),
    ("node", Charset),
    ("typescript", Charset),
    ("x-typescript", Charset),
    ("sql", Charset),
    ("x-sql", Charset),
    ("graphql", Utf8),
    ("x-sh", Charset),
    ("x-ns-proxy-autoconfig", Charset),
    // Queries and RDF: SPARQL 1.1 §21 and its Update §6, RDF 1.1 N-Triples, N-Quads and TriG, RFC 9535.
    ("sparql-query", Utf8),
    ("sparql-update", Utf8),
    ("n-triples", Utf8),
    ("n-quads", Utf8),
    ("trig", Utf8),
    ("jsonpath", Utf8),
    // Links and play lists: RFC 6690, RFC 9264, RFC 8216 §4.
    ("link-format", Utf8),
    ("linkset", Utf8),
    ("vnd.apple.mpegurl", Utf8),
    // Mail and news: RFC 5228 §8, RFC 3842, RFC 5537 §4.
    ("sieve", Utf8),
    ("simple-message-summary", Utf8),
    ("news-checkgroups", Charset),
    ("news-groupinfo", Charset),
    // Keys and tokens, which are ASCII: RFC 8555 §9.1, RFC 7515 §9.2.1, RFC 7519 §10.3.1.
    ("pem-certificate-chain", Utf8),
    ("jose", Utf8),
    ("jwt", Utf8),
];

/// Subtypes of `text` that are not [`TextKind::Charset`].
const TEXT: [(&str, TextKind); 12] = [
    ("html", Html),
    ("css", Css),
    ("xml", Xml),
    ("xml-external-parsed-entity", Xml),
    ("xsl", Xml),
    ("vnd.wap.wml", Xml),
    // HTML §9.2.5, HTML §16.1 (2014), WebVTT §1 and §8.1.
    ("event-stream", Utf8),
    ("cache-manifest", Utf8),
    ("vtt", Utf8),
    ("json", Json),
    ("x-json", Json),
    ("yaml", Utf8),
];

/// Structured syntax suffixes (RFC 6839, RFC 7303, RFC 8091, RFC 9512, RFC 8417 §7.2).
const SUFFIXES: [(&str, TextKind); 5] =
    [("json", Json), ("json-seq", Json), ("xml", Xml), ("yaml", Utf8), ("jwt", Utf8)];

/// Types whose messages have a binary prefix of five bytes, or are base64 of it: gRPC, gRPC-Web, and the streams of
/// Connect. The suffix is the format of the messages, not that of the body.
const LENGTH_PREFIXED: [&str; 4] = ["grpc", "grpc-web", "grpc-web-text", "connect"];

fn find(table: &[(&str, TextKind)], name: &str) -> Option<TextKind> {
    table.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|&(_, kind)| kind)
}

/// Returns how the encoding of a text type is declared. Returns `None` for a type that is not text by default.
pub(crate) fn text_kind(content_type: &ContentType<'_>) -> Option<TextKind> {
    if is_length_prefixed(content_type) {
        return None;
    }
    let (top, subtype) = (content_type.top(), content_type.subtype());
    let by_name = if top.eq_ignore_ascii_case("application") {
        find(&APPLICATION, subtype)
    } else if top.eq_ignore_ascii_case("text") {
        find(&TEXT, subtype)
    } else {
        None
    };
    by_name
        .or_else(|| find(&SUFFIXES, content_type.suffix()?))
        .or_else(|| top.eq_ignore_ascii_case("text").then_some(Charset))
}

/// Whether a media type is text by default: `text/*`, JSON, XML, YAML, types with the suffix `+json`, `+json-seq`,
/// `+xml`, `+yaml` or `+jwt`, `application/x-www-form-urlencoded`, and the programs, queries and data of `application/*`
/// whose registration describes text, such as JavaScript, SQL, GraphQL, SPARQL and TOML.
///
/// The bodies of gRPC, gRPC-Web and Connect streams are not text, also with the suffix `+json`
/// ([`is_length_prefixed`]).
///
/// ```
/// use utf8_codec::content_type::{ContentType, is_text_type};
///
/// let is_text = |value: &'static str| ContentType::parse(value.as_bytes()).is_ok_and(|given| is_text_type(&given));
/// assert!(is_text("application/openapi+yaml") && is_text("image/svg+xml") && is_text("application/sql"));
/// assert!(!is_text("application/grpc+json") && !is_text("image/png"));
/// ```
pub fn is_text_type(content_type: &ContentType<'_>) -> bool {
    text_kind(content_type).is_some()
}

/// Whether the body consists of messages with a binary length before each: `application/grpc`, `grpc-web`,
/// `grpc-web-text` and `connect`, each with a suffix or without. A length byte above `7F` is not an error in the
/// text of a message.
pub fn is_length_prefixed(content_type: &ContentType<'_>) -> bool {
    let subtype = content_type.subtype().as_bytes();
    let is_named = |known: &&str| {
        subtype.split_at_checked(known.len()).is_some_and(|(name, suffix)| {
            matches!(suffix.first(), None | Some(b'+')) && name.eq_ignore_ascii_case(known.as_bytes())
        })
    };
    content_type.top().eq_ignore_ascii_case("application") && LENGTH_PREFIXED.iter().any(is_named)
}

/// Whether the value of a `Content-Type` field is that of gRPC: `application/grpc`, with a suffix or without. The value
/// may be malformed after the type, as it is for the servers that read only its start. gRPC-Web is another protocol.
pub fn is_grpc(value: &[u8]) -> bool {
    const TYPE: &[u8] = b"application/grpc";
    value.split_at_checked(TYPE.len()).is_some_and(|(start, rest)| {
        start.eq_ignore_ascii_case(TYPE) && matches!(rest.first(), None | Some(b'+' | b';' | b' ' | b'\t'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_no_name_twice_and_none_in_upper_case() {
        for table in [&APPLICATION[..], &TEXT, &SUFFIXES] {
            for (index, (name, _)) in table.iter().enumerate() {
                assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase()), "{name}");
                assert_eq!(find(&table[index + 1..], name), None, "{name}");
            }
        }
    }
}
