//! Which media types are text.

use utf8_codec_http::{BodyKind, BodyRules, MissingCharset};

use super::documents::{check, plan};

#[test]
fn a_text_that_is_utf_8_by_its_standard_is_checked_whatever_the_charset_setting() {
    for missing in [MissingCharset::Utf8, MissingCharset::Pass, MissingCharset::Reject] {
        for rules in [BodyRules::new(), BodyRules::for_responses()] {
            let rules = rules.with_missing_charset(missing);
            for content_type in [
                "application/json",
                "application/geo+json",
                "application/yaml",
                "text/event-stream",
                "application/openmetrics-text",
                "application/x-www-form-urlencoded",
            ] {
                let (passed, reason) = check(&rules, content_type, b"a=\xFF");
                assert_eq!(
                    (&passed[..], reason.unwrap().kind()),
                    (&b"a="[..], "InvalidLead"),
                    "{content_type}"
                );
            }
        }
    }
    let rules = BodyRules::new().with_missing_charset(MissingCharset::Pass);
    for content_type in ["text/plain", "text/html", "application/sql"] {
        assert_eq!(plan(&rules, content_type).unwrap().kind(), BodyKind::Pass, "{content_type}");
    }
}

/// coreruleset#4734, #3074 and #4362, logstash-output-elasticsearch#561, prometheus#4803.
#[test]
fn types_in_use_are_text_and_unknown_ones_that_declare_utf_8() {
    for (content_type, body, error) in [
        ("application/x-amz-json-1.0", &b"{\"a\":\"\xFF\"}"[..], 6),
        ("application/x-amz-json-1.1", b"{\"a\":\"\xFF\"}", 6),
        ("application/json-rpc", b"{\"a\":\"\xFF\"}", 6),
        (
            "application/vnd.elasticsearch+x-ndjson; compatible-with=8",
            b"{\"index\":{}}\n{\"a\":\"\xFF\"}\n",
            19,
        ),
        ("application/fhir+ndjson", b"{\"resourceType\":\"Patient\",\"id\":\"\xFF\"}\n", 32),
        (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            b"# TYPE a counter\na_total{vhost=\"\xFFtest-api\"} 1\n# EOF\n",
            32,
        ),
        ("application/x-mpegURL", b"#EXTM3U\n\xFF", 8),
        ("Audio/mpegurl", b"#EXTM3U\n\xFF", 8),
        ("application/vnd.x; charset=utf-8", b"a\xFF", 1),
        ("x-unknown/x; charset=UTF8", b"a\xFF", 1),
        ("text/plain; charset=unicode-2-0-utf-8", b"a\xFF", 1),
    ] {
        for rules in [BodyRules::new(), BodyRules::for_responses()] {
            let (passed, reason) = check(&rules, content_type, body);
            let reason = reason.expect(content_type);
            assert_eq!(reason.offset_and_len(), Some((error, 1)), "{content_type}");
            assert_eq!(passed, body[..error as usize], "{content_type}");
        }
    }
    // Frameworks add `charset=utf-8` to every type.
    for binary in [
        "application/octet-stream; charset=utf-8",
        "application/pdf;charset=UTF-8",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document; charset=utf-8",
        "application/epub+zip; charset=utf-8",
        "image/png; charset=utf-8",
        "audio/mpeg; charset=utf-8",
        "multipart/mixed; boundary=b; charset=utf-8",
        "application/protobuf; charset=utf-8",
        "application/x-amz-cbor-1.1; charset=utf-8",
        "application/vnd.amazon.eventstream; charset=utf-8",
        "application/x-git-upload-pack-result; charset=utf-8",
        "application/bson; charset=utf-8",
        "application/x-jackson-smile; charset=utf-8",
        "application/ubjson; charset=utf-8",
        "application/vnd.mapbox-vector-tile; charset=utf-8",
        "application/x-capnp; charset=utf-8",
        "application/flatbuffers; charset=utf-8",
        "application/x-hessian; charset=utf-8",
        "application/x-amf; charset=utf-8",
        "application/vnd.apple.pkpass; charset=utf-8",
        "application/vnd.debian.binary-package; charset=utf-8",
        "application/x-rpm; charset=utf-8",
        "application/x-lzma; charset=utf-8",
        "application/x-compress; charset=utf-8",
        "application/x-tgz; charset=utf-8",
        "application/x-iso9660-image; charset=utf-8",
        "application/x-apple-diskimage; charset=utf-8",
        "application/x-hdf5; charset=utf-8",
        "application/x-mach-binary; charset=utf-8",
        "application/x-executable; charset=utf-8",
        "application/grpc+json; charset=utf-8",
        "application/vnd.x",
        "application/vnd.x; charset=latin1",
        "application/vnd.x; charset=utf-8; charset=latin1",
    ] {
        assert_eq!(plan(&BodyRules::new(), binary).unwrap().kind(), BodyKind::Pass, "{binary}");
    }
    let none = BodyRules::new().with_text_types(|_| false);
    assert_eq!(plan(&none, "application/vnd.x; charset=utf-8").unwrap().kind(), BodyKind::Pass);
}
