//! Which media types are text, and where the encoding of their documents is declared.
//!
//! Types whose documents often have another encoding, which they declare in a way that is not supported here, are left out
//! (EDIFACT, PostScript, SDP, SGML, XQuery).

use super::{Charset, ContentType};

/// How the encoding of a text is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
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
    /// A urlencoded form, which is UTF-8 without the `charset` parameter that some readers use (WHATWG URL Standard §5.1).
    Form,
}

impl TextKind {
    /// Whether the text is UTF-8 whatever its parameter is.
    pub const fn is_always_utf8(self) -> bool {
        matches!(self, Self::Utf8 | Self::Json)
    }
}

/// A row of the table: the type, the subtype, and the kind of a text.
type Row = (&'static str, &'static str, Option<TextKind>);

/// Creates the table and its documentation from the same rows.
macro_rules! media_types {
    ($(#[$doc:meta])* $vis:vis fn $function:ident; $($top:literal $subtype:literal $kind:ident $source:literal;)*) => {
        const TYPES: &[Row] = &[$(($top, $subtype, kind!($kind)),)*];

        $(#[$doc])*
        ///
        /// The first row that matches a type counts.
        ///
        /// | type | encoding | source |
        /// |---|---|---|
        $(#[doc = concat!("| `", $top, "/", $subtype, "` | ", stringify!($kind), " | ", $source, " |")])*
        $vis fn $function(content_type: &ContentType<'_>) -> bool {
            text_kind(content_type).is_some()
        }
    };
}

macro_rules! kind {
    (Binary) => {
        None
    };
    ($kind:ident) => {
        Some(TextKind::$kind)
    };
}

media_types! {
    /// Whether a media type is text by default: `text/*`, JSON, XML, YAML and the programs, queries and data of
    /// `application/*` in this table. A type that is not in it is text if it declares UTF-8, as in `application/vnd.x;
    /// charset=utf-8`.
    ///
    /// The bodies of gRPC, gRPC-Web and Connect streams are not text, even with the suffix `+json`
    /// ([`is_length_prefixed`]).
    ///
    /// ```
    /// use utf8_codec_media::content_type::{ContentType, is_text_type};
    ///
    /// let is_text = |value: &'static str| ContentType::parse(value.as_bytes()).is_ok_and(|given| is_text_type(&given));
    /// assert!(is_text("application/openapi+yaml") && is_text("image/svg+xml") && is_text("application/sql"));
    /// assert!(!is_text("application/grpc+json") && !is_text("image/png"));
    /// assert!(is_text("application/vnd.x; charset=utf-8") && !is_text("image/png; charset=utf-8"));
    /// ```
    ///
    /// # Types
    ///
    /// `Charset` is text in the charset of its parameter, and `Utf8` is UTF-8 whatever its parameter is. So is `Json`. `Xml`,
    /// `Html` and `Css` may declare their encoding in the document. `Form` is checked after percent-decoding. `Binary` is not
    /// text, even if it declares UTF-8: some servers add the parameter to all types.
    pub fn is_text_type;

    // JSON, and lines and sequences of JSON texts.
    "application" "json" Json "RFC 8259 §11";
    "application" "json-seq" Json "RFC 7464 §4";
    "application" "csp-report" Json "CSP Level 3, Report a violation";
    "application" "json-rpc" Json "JSON-RPC 2.0";
    "application" "jsonrequest" Json "unregistered name of `application/json-rpc`";
    "application" "x-amz-json-1.0" Json "AWS, Smithy: AWS JSON 1.0 protocol";
    "application" "x-amz-json-1.1" Json "AWS, Smithy: AWS JSON 1.1 protocol";
    "application" "x-json" Json "`application/json` before RFC 4627";
    "application" "jsonl" Json "jsonlines.org";
    "application" "jsonlines" Json "jsonlines.org";
    "application" "x-jsonl" Json "jsonlines.org";
    "application" "x-jsonlines" Json "jsonlines.org";
    "application" "x-ndjson" Json "github.com/ndjson/ndjson-spec §3.3";
    "application" "ndjson" Json "unregistered name of `x-ndjson`";
    "application" "x-ldjson" Json "unregistered name of `x-ndjson`";
    "application" "x-json-stream" Json "unregistered name of `x-ndjson`";
    "application" "hjson" Utf8 "hjson.github.io";
    "application" "json5" Utf8 "spec.json5.org";
    "text" "json" Json "unregistered name of `application/json`";
    "text" "x-json" Json "unregistered name of `application/json`";
    // XML.
    "application" "xml" Xml "RFC 7303 §9.1";
    "application" "xml-external-parsed-entity" Xml "RFC 7303 §9.3";
    "application" "xml-dtd" Xml "RFC 7303 §9.5";
    "application" "smil" Xml "RFC 4536";
    "text" "xml" Xml "RFC 7303 §9.2";
    "text" "xml-external-parsed-entity" Xml "RFC 7303 §9.4";
    "text" "xsl" Xml "unregistered name of `application/xslt+xml`";
    "text" "vnd.wap.wml" Xml "IANA registry: WAP Forum";
    // Configuration and data.
    "application" "yaml" Utf8 "RFC 9512 §2.1";
    "application" "x-yaml" Utf8 "RFC 9512 §2.1";
    "text" "yaml" Utf8 "RFC 9512 §2.1";
    "text" "x-yaml" Utf8 "RFC 9512 §2.1";
    "application" "vnd.yaml" Utf8 "unregistered name of `application/yaml`";
    "application" "cwl" Utf8 "IANA registry: Common Workflow Language";
    "application" "vnd.oai.openapi" Utf8 "OpenAPI Initiative";
    "application" "toml" Utf8 "IANA registry: TOML 1.0";
    "application" "x-toml" Utf8 "unregistered name of `application/toml`";
    "application" "yang" Utf8 "RFC 6020 §14.1";
    "application" "openmetrics-text" Utf8 "OpenMetrics 1.0";
    "application" "x-www-form-urlencoded" Form "WHATWG URL Standard §5";
    // Programs.
    "application" "javascript" Charset "RFC 9239 §6";
    "application" "ecmascript" Charset "RFC 9239 §6";
    "application" "x-javascript" Charset "RFC 9239 §6";
    "application" "x-ecmascript" Charset "RFC 9239 §6";
    "application" "node" Charset "IANA registry: Node.js";
    "application" "typescript" Charset "unregistered name of TypeScript";
    "application" "x-typescript" Charset "unregistered name of TypeScript";
    "application" "sql" Charset "RFC 6922";
    "application" "x-sql" Charset "unregistered name of `application/sql`";
    "application" "graphql" Utf8 "GraphQL October 2021 §2.1";
    "application" "x-sh" Charset "Apache HTTP Server: `mime.types`";
    "application" "x-ns-proxy-autoconfig" Charset "Netscape: proxy auto-config";
    // Queries and RDF.
    "application" "sparql-query" Utf8 "SPARQL 1.1 Query Language";
    "application" "sparql-update" Utf8 "SPARQL 1.1 Update §6";
    "application" "n-triples" Utf8 "RDF 1.1 N-Triples";
    "application" "n-quads" Utf8 "RDF 1.1 N-Quads";
    "application" "trig" Utf8 "RDF 1.1 TriG";
    "application" "jsonpath" Utf8 "RFC 9535 §3.1";
    // Links and play lists.
    "application" "link-format" Utf8 "RFC 6690 §7.3";
    "application" "linkset" Utf8 "RFC 9264 §4.1";
    "application" "vnd.apple.mpegurl" Utf8 "RFC 8216 §4";
    "application" "x-mpegurl" Utf8 "Apple: HTTP Live Streaming before RFC 8216";
    "audio" "mpegurl" Utf8 "RFC 8216 §4";
    // Mail and news.
    "application" "sieve" Utf8 "RFC 5228 §7";
    "application" "simple-message-summary" Utf8 "RFC 3842";
    "application" "news-checkgroups" Charset "RFC 5537 §4.3";
    "application" "news-groupinfo" Charset "RFC 5537 §4.2";
    // Keys and tokens, which are ASCII.
    "application" "pem-certificate-chain" Utf8 "RFC 8555 §9.1";
    "application" "jose" Utf8 "RFC 7515 §9.2.1";
    "application" "jwt" Utf8 "RFC 7519 §10.3.1";
    // Other text.
    "text" "html" Html "HTML §17.1";
    "text" "css" Css "RFC 2318, CSS Syntax Level 3 §3.2";
    "text" "event-stream" Utf8 "HTML §9.2.5";
    "text" "cache-manifest" Utf8 "HTML5 (2014)";
    "text" "vtt" Utf8 "WebVTT";
    // Structured syntax suffixes.
    "*" "*+json" Json "RFC 6839 §3.1";
    "*" "*+json-seq" Json "RFC 8091";
    "*" "*+ndjson" Json "HL7 FHIR: Bulk Data Access";
    "*" "*+x-ndjson" Json "Elasticsearch: REST API compatibility";
    "*" "*+xml" Xml "RFC 7303 §9.6";
    "*" "*+yaml" Utf8 "RFC 9512 §2.2";
    "*" "*+jwt" Utf8 "RFC 8417 §7.2";
    "text" "*" Charset "RFC 6838 §4.2.1";
    // Not text.
    "*" "*+zip" Binary "RFC 6839 §3.6";
    "*" "*+gzip" Binary "RFC 8460 §6";
    "*" "*+zstd" Binary "RFC 8878 §7";
    "*" "*+cbor" Binary "RFC 8949 §9.5";
    "*" "*+cbor-seq" Binary "RFC 8742 §6.3";
    "*" "*+cwt" Binary "RFC 9782";
    "*" "*+ber" Binary "RFC 6839 §3.2";
    "*" "*+der" Binary "RFC 6839 §3.3";
    "*" "*+fastinfoset" Binary "RFC 6839 §3.4";
    "*" "*+wbxml" Binary "RFC 6839 §3.5";
    "*" "*+sqlite3" Binary "IANA registry: structured syntax suffixes";
    "*" "*+proto" Binary "Buf: Connect protocol";
    "*" "*+protobuf" Binary "unregistered suffix of protobuf";
    "application" "octet-stream" Binary "RFC 2046 §4.5.1";
    "application" "binary" Binary "unregistered name of `application/octet-stream`";
    "application" "x-binary" Binary "unregistered name of `application/octet-stream`";
    "application" "download" Binary "unregistered name of `application/octet-stream`";
    "application" "x-download" Binary "unregistered name of `application/octet-stream`";
    "application" "force-download" Binary "unregistered name of `application/octet-stream`";
    "application" "x-msdownload" Binary "Apache HTTP Server: `mime.types`";
    "application" "pdf" Binary "RFC 8118";
    "application" "zip" Binary "IANA registry: PKWARE";
    "application" "x-zip*" Binary "Microsoft: `application/x-zip-compressed`";
    "application" "gzip" Binary "RFC 6713";
    "application" "x-gzip" Binary "RFC 6713 §3";
    "application" "zlib" Binary "RFC 6713";
    "application" "zstd" Binary "RFC 8878 §7.1";
    "application" "x-tar" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-gtar" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-bzip*" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-xz" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-7z-compressed" Binary "Apache HTTP Server: `mime.types`";
    "application" "vnd.rar" Binary "IANA registry: RAR";
    "application" "x-rar*" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-lzma" Binary "freedesktop.org: shared MIME-info";
    "application" "x-compress" Binary "freedesktop.org: shared MIME-info";
    "application" "x-tgz" Binary "unregistered name of `application/gzip`";
    "application" "x-rpm" Binary "freedesktop.org: shared MIME-info";
    "application" "vnd.debian.binary-package" Binary "IANA registry: Debian";
    "application" "vnd.apple.pkpass" Binary "Apple: Wallet";
    "application" "x-iso9660-image" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-apple-diskimage" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-mach-binary" Binary "the program `file`";
    "application" "x-executable" Binary "freedesktop.org: shared MIME-info";
    "application" "x-git-*" Binary "Git: HTTP transfer protocols";
    "application" "x-hdf" Binary "HDF Group";
    "application" "x-hdf5" Binary "HDF Group";
    "application" "java-archive" Binary "IANA registry: Java";
    "application" "java-vm" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-java-*" Binary "Java: serialized objects";
    "application" "vnd.android.package-archive" Binary "Android: APK";
    "application" "wasm" Binary "WebAssembly Web API §5";
    "application" "cbor" Binary "RFC 8949 §9.3";
    "application" "cbor-seq" Binary "RFC 8742 §6.1";
    "application" "cose*" Binary "RFC 9052 §11.3";
    "application" "cwt" Binary "RFC 8392 §9.2";
    "application" "msgpack" Binary "MessagePack";
    "application" "x-msgpack" Binary "MessagePack";
    "application" "vnd.msgpack" Binary "IANA registry: MessagePack";
    "application" "x-amz-cbor-1.1" Binary "AWS: Kinesis";
    "application" "vnd.amazon.eventstream" Binary "AWS, Smithy: event streams";
    "application" "bson" Binary "bsonspec.org";
    "application" "x-bson" Binary "bsonspec.org";
    "application" "smile" Binary "github.com/FasterXML/smile-format-specification";
    "application" "x-jackson-smile" Binary "github.com/FasterXML/smile-format-specification";
    "application" "ubjson" Binary "ubjson.org";
    "application" "flatbuffers" Binary "FlatBuffers";
    "application" "x-capnp" Binary "Cap'n Proto";
    "application" "x-hessian" Binary "Caucho: Hessian";
    "application" "x-amf" Binary "Adobe: Action Message Format";
    "application" "vnd.mapbox-vector-tile" Binary "IANA registry: Mapbox";
    "application" "protobuf" Binary "protobuf";
    "application" "x-protobuf" Binary "protobuf";
    "application" "x-protobuffer" Binary "protobuf";
    "application" "x-google-protobuf" Binary "protobuf";
    "application" "vnd.google.protobuf" Binary "Prometheus: exposition formats";
    "application" "vnd.kubernetes.protobuf" Binary "Kubernetes API";
    "application" "proto" Binary "Buf: Connect protocol";
    "application" "x-thrift" Binary "Apache Thrift";
    "application" "vnd.apache.thrift.binary" Binary "IANA registry: Apache Thrift";
    "application" "vnd.apache.thrift.compact" Binary "IANA registry: Apache Thrift";
    "application" "vnd.apache.arrow.*" Binary "IANA registry: Apache Arrow";
    "application" "vnd.apache.parquet" Binary "IANA registry: Apache Parquet";
    "application" "avro" Binary "Apache Avro";
    "application" "x-avro*" Binary "Apache Avro";
    "application" "vnd.sqlite3" Binary "IANA registry: SQLite";
    "application" "x-sqlite3" Binary "SQLite";
    "application" "dicom" Binary "RFC 3240";
    "application" "ogg" Binary "RFC 5334";
    "application" "mp4" Binary "RFC 4337";
    "application" "msword" Binary "IANA registry: Microsoft";
    "application" "vnd.ms-*" Binary "IANA registry: Microsoft";
    "application" "vnd.openxmlformats-officedocument.*" Binary "IANA registry: ECMA-376";
    "application" "vnd.oasis.opendocument.*" Binary "IANA registry: OpenDocument";
    "application" "font-*" Binary "RFC 8081 §4";
    "application" "x-font-*" Binary "Apache HTTP Server: `mime.types`";
    "application" "x-shockwave-flash" Binary "Apache HTTP Server: `mime.types`";
    "application" "pkcs*" Binary "RFC 8551, RFC 5967";
    "application" "x-pkcs*" Binary "Apache HTTP Server: `mime.types`";
    "application" "pkix-*" Binary "RFC 2585 §4";
    "application" "x-x509-*" Binary "Netscape: certificates";
    "application" "ocsp-*" Binary "RFC 6960";
    "application" "timestamp-*" Binary "RFC 3161 §3.4";
    "application" "dns-message" Binary "RFC 8484 §6";
    "application" "vnd.tcpdump.pcap" Binary "IANA registry: tcpdump";
    "image" "*" Binary "RFC 2046 §4.2";
    "audio" "*" Binary "RFC 2046 §4.3";
    "video" "*" Binary "RFC 2046 §4.4";
    "font" "*" Binary "RFC 8081 §4";
    "model" "*" Binary "RFC 2077";
    "haptics" "*" Binary "RFC 9695";
    "multipart" "*" Binary "RFC 2046 §5.1: its parts declare their own";
    "message" "*" Binary "RFC 2046 §5.2: its parts declare their own";
}

/// Returns how the encoding of a text type is declared. Returns `None` for a type that is not text by default.
pub fn text_kind(content_type: &ContentType<'_>) -> Option<TextKind> {
    if is_length_prefixed(content_type) {
        return None;
    }
    match TYPES.iter().find(|row| matches(row, content_type)) {
        Some(&(.., kind)) => kind,
        None => (content_type.charset() == Charset::Utf8).then_some(TextKind::Charset),
    }
}

/// Whether a row applies to a type.
fn matches(&(top, subtype, _): &Row, content_type: &ContentType<'_>) -> bool {
    if let Some(suffix) = subtype.strip_prefix("*+") {
        return content_type.suffix().is_some_and(|given| given.eq_ignore_ascii_case(suffix));
    }
    let given = content_type.subtype().as_bytes();
    let is_subtype = match subtype.strip_suffix('*') {
        Some(start) => {
            given.get(..start.len()).is_some_and(|given| given.eq_ignore_ascii_case(start.as_bytes()))
        }
        None => given.eq_ignore_ascii_case(subtype.as_bytes()),
    };
    is_subtype && content_type.top().eq_ignore_ascii_case(top)
}

/// Types whose messages have a binary prefix of five bytes, or are base64 of it: gRPC, gRPC-Web, and the streams of
/// Connect. The suffix is the format of the messages, not of the body.
const LENGTH_PREFIXED: [&str; 4] = ["grpc", "grpc-web", "grpc-web-text", "connect"];

/// Whether the type is one of these subtypes of `application`, with a suffix or without.
fn is_one_of(content_type: &ContentType<'_>, subtypes: &[&str]) -> bool {
    let subtype = content_type.subtype().as_bytes();
    let name = subtype.split(|&byte| byte == b'+').next().unwrap_or_default();
    content_type.top().eq_ignore_ascii_case("application")
        && subtypes.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether the body consists of messages with a binary length before each: `application/grpc`, `grpc-web`,
/// `grpc-web-text` and `connect`, each with a suffix or without, and delimited protobuf
/// (`application/vnd.google.protobuf; encoding=delimited`). A length byte above `7F` is not an error in the text of a
/// message.
pub fn is_length_prefixed(content_type: &ContentType<'_>) -> bool {
    is_one_of(content_type, &LENGTH_PREFIXED)
        || content_type.is("application", "vnd.google.protobuf")
            && content_type
                .parameter("encoding")
                .is_some_and(|given| given.eq_ignore_ascii_case(b"delimited"))
}

/// Same as [`is_length_prefixed`] for the value of a field, which may be malformed after the type.
pub fn is_length_prefixed_value(value: &[u8]) -> bool {
    ContentType::parse_mail_prefix(value).is_ok_and(|(given, _)| is_length_prefixed(&given))
}

/// Whether the value of a field names gRPC or gRPC-Web, whose responses have a `grpc-status`.
pub fn has_grpc_status(value: &[u8]) -> bool {
    ContentType::parse_mail_prefix(value)
        .is_ok_and(|(given, _)| is_one_of(&given, &["grpc", "grpc-web", "grpc-web-text"]))
}

/// Whether the value of a `Content-Type` field names gRPC: `application/grpc`, with a suffix or without. The value
/// may be malformed after the type, as it is for the servers that read only its start. gRPC-Web is another protocol.
pub fn is_grpc(value: &[u8]) -> bool {
    const TYPE: &[u8] = b"application/grpc";
    value.split_at_checked(TYPE.len()).is_some_and(|(start, rest)| {
        start.eq_ignore_ascii_case(TYPE) && matches!(rest.first(), None | Some(b'+' | b';' | b' ' | b'\t'))
    })
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn each_row_is_in_lower_case_and_is_the_first_that_matches_its_type() {
        for (index, (top, subtype, _)) in TYPES.iter().enumerate() {
            let name = format!("{}/{}", top.replace('*', "x"), subtype.replace('*', "x"));
            assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase()), "{name}");
            let content_type = ContentType::parse(name.as_bytes()).unwrap();
            assert_eq!(TYPES.iter().position(|row| matches(row, &content_type)), Some(index), "{name}");
        }
    }
}
