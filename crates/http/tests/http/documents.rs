//! XML, HTML and CSS whose encoding is declared in the body: the result is the same for every partition.

use bytes::Bytes;
use http_body::Body as _;
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_http::{
    BodyFilter, BodyKind, BodyPlan, BodyRules, ContentFields, MessageKind, MissingCharset, RejectReason,
    Rejection, Uncheckable, Utf8Body,
};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::{every_partition, policies, some_partitions};

pub(crate) fn plan(rules: &BodyRules, content_type: &str) -> Result<BodyPlan, RejectReason> {
    let mut fields = ContentFields::new();
    fields.add("content-type", content_type.as_bytes());
    rules.decide(&fields)
}

/// Returns what passes, and the reason of the error.
fn filtered(rules: &BodyRules, content_type: &str, chunks: &[&[u8]]) -> (Vec<u8>, Option<RejectReason>) {
    let mut filter = BodyFilter::new(&plan(rules, content_type).unwrap(), rules);
    let (mut passed, mut reason) = (Vec::new(), None);
    let mut drain = |filter: &mut BodyFilter| {
        while let Some(next) = filter.next() {
            match next {
                Ok(data) => passed.extend_from_slice(&data),
                Err(error) => reason = Some(error),
            }
        }
    };
    for chunk in chunks {
        filter.push(Bytes::copy_from_slice(chunk));
        drain(&mut filter);
    }
    filter.finish();
    drain(&mut filter);
    assert_eq!(filter.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    (passed, reason)
}

/// Checks that every partition has the result of the whole, through the filter and through the body.
pub(crate) fn check(rules: &BodyRules, content_type: &str, body: &[u8]) -> (Vec<u8>, Option<RejectReason>) {
    let whole = filtered(rules, content_type, &[body]);
    let plan = plan(rules, content_type).unwrap();
    let each = |chunks: &[&[u8]]| {
        assert_eq!(filtered(rules, content_type, chunks), whole, "{content_type} {chunks:02X?}");
        for hint in EndHint::ALL {
            let body = Utf8Body::with_filter(Script::of(chunks, hint), BodyFilter::new(&plan, rules));
            let hint = body.size_hint();
            let (data, _, reason) = drain(body);
            let len = data.len() as u64;
            assert!(hint.upper().is_none_or(|upper| len <= upper), "{content_type} {chunks:02X?} {hint:?}");
            assert!(reason.is_some() || hint.lower() <= len, "{content_type} {chunks:02X?} {hint:?}");
            assert_eq!((data, reason), whole, "{content_type} {chunks:02X?}");
        }
    };
    if body.len() <= 8 {
        every_partition(body, each)
    } else {
        some_partitions(body, 2, each)
    }
    whole
}

/// Rules for every setting of text in another charset.
fn others() -> [BodyRules; 3] {
    let rules = BodyRules::new();
    [rules.clone().with_other_charset(Uncheckable::Pass), rules.clone(), rules.with_transcoding()]
}

const TYPES: [&str; 4] = ["application/xml", "image/svg+xml", "text/html", "text/css"];

#[test]
fn every_end_and_every_partition_of_a_document_has_one_result() {
    let long = [b"<!-- ", &[b'x'; 1100][..], b" --><meta charset=latin1>\xE9"].concat();
    let documents: [&[u8]; 16] = [
        b"",
        b"<",
        b"\xFF",
        b"\xFF\xFE",
        b"\xEF\xBB",
        b"\xEF\xBB\xBF\xFF",
        b"\xFE\xFF\0a",
        b"<\0?\0x\0m\0",
        b"<?xml version='1.0' encoding='latin1'?>\xE9",
        b"<?xml version='1.0'?>\xC3\xA9\xE9",
        b"<meta charset=latin1>\xE9",
        b"\xE9<meta http-equiv=content-type content='text/html; charset=sjis'>",
        b"<meta charset=utf-8>\xC3\xA9\xC3",
        b"@charset \"latin1\";\xE9",
        b"na\xC3\xAFve \xF0\x9F\x98\x80 \xFF",
        &long,
    ];
    for content_type in TYPES {
        for other in others() {
            for policy in policies() {
                let decoder = TextDecoder::new().with_error_policy(policy);
                let boms = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require];
                let all = matches!(policy, ErrorPolicy::Strict | ErrorPolicy::Replace);
                for bom in boms.into_iter().take(if all { 3 } else { 1 }) {
                    let rules = other.clone().with_decoder(decoder.clone().with_bom_policy(bom));
                    let is_long = policy == ErrorPolicy::Strict && bom == BomPolicy::Keep;
                    for document in documents.iter().filter(|document| is_long || document.len() < 100) {
                        check(&rules, content_type, document);
                    }
                    // The end in any place.
                    let declared = b"<?xml encoding='latin1'?>\xE9";
                    let ends = if is_long { 0..=declared.len() } else { 24..=declared.len() };
                    for end in ends {
                        check(&rules, content_type, &declared[..end]);
                    }
                }
            }
        }
    }
}

#[test]
fn a_declared_charset_is_rejected_before_anything_passes() {
    let utf_16: &[u8] = b"\xFE\xFF\0<\0a\0/\0>";
    for (content_type, document, offset) in [
        ("text/xml", &b"<?xml version=\"1.0\" encoding = 'KOI8-R' ?><a>\xC1</a>"[..], 32),
        ("application/atom+xml", utf_16, 0),
        ("application/xml-dtd", b"<?xml encoding='shift_jis'?>", 16),
        ("text/html", b"<!DOCTYPE html><p>\xC1<meta charset='koi8-r'>", 34),
        ("text/html", b"<meta content='text/html; charset=big5' http-equiv=Content-Type>", 34),
        ("text/html", utf_16, 0),
        ("text/css", b"@charset \"gbk\";", 10),
        ("text/css", utf_16, 0),
    ] {
        let rejection = Rejection::new(MessageKind::Request, RejectReason::DeclaredCharset { offset });
        assert_eq!(rejection.status(), 415);
        let problem = rejection.problem_json();
        let detail = format!("the encoding that the body declares at byte {offset} is not UTF-8");
        assert!(
            problem.contains(&format!(r#""detail":"{detail}","kind":"UnsupportedCharset""#)),
            "{problem}"
        );
        assert!(problem.ends_with(&format!(r#","offset":{offset},"len":0}}"#)), "{problem}");
        for policy in policies() {
            let decoder = TextDecoder::new().with_error_policy(policy);
            let requests = BodyRules::new().with_decoder(decoder.clone());
            let rejected = (Vec::new(), Some(rejection.reason.clone()));
            assert_eq!(check(&requests, content_type, document), rejected, "{content_type} {policy:?}");
            let responses = BodyRules::for_responses().with_decoder(decoder);
            assert_eq!(
                check(&responses, content_type, document),
                (document.to_vec(), None),
                "{content_type}"
            );
        }
    }
}

#[test]
fn a_bom_precedes_charset_which_precedes_a_declaration() {
    let declared = b"<?xml version='1.0' encoding='latin1'?>\xC3\xA9";
    for rules in [BodyRules::new(), BodyRules::for_responses()] {
        assert_eq!(plan(&rules, "text/xml; charset=utf-8").unwrap().kind(), BodyKind::Text);
        assert_eq!(check(&rules, "text/xml; charset=utf-8", declared), (declared.to_vec(), None));
        let html = b"<meta charset=latin1>\xE9";
        let (passed, reason) = check(&rules, "text/html; charset=utf-8", html);
        assert_eq!((&passed[..], reason.unwrap().kind()), (&html[..21], "Truncated"));
        let bom = b"\xEF\xBB\xBF<?xml version='1.0' encoding='latin1'?>\xE9";
        let (passed, reason) = check(&rules, "text/xml", bom);
        assert_eq!((&passed[..], reason.unwrap().kind()), (&bom[..bom.len() - 1], "Truncated"));
    }
    let required = BodyRules::new().with_missing_charset(MissingCharset::Reject);
    assert_eq!(plan(&required, "text/xml").unwrap_err(), RejectReason::MissingCharset);
    let unchecked = BodyRules::new().with_missing_charset(MissingCharset::Pass);
    assert_eq!(plan(&unchecked, "text/xml").unwrap().kind(), BodyKind::Pass);
}

#[test]
fn repairs_of_a_document_have_the_offsets_of_the_body() {
    let rules = BodyRules::new();
    for (content_type, document, kind, offset) in [
        ("text/xml", &b"<?xml version='1.0' encoding='UTF-8'?>\xFF"[..], "InvalidLead", 38),
        // The declaration was read as ASCII, so it cannot be true.
        ("text/xml", b"<?xml version='1.0' encoding='utf-16'?>\xFF", "InvalidLead", 39),
        ("text/html", b"<meta charset=utf-16le>\xFF", "InvalidLead", 23),
        // XML allows neither text before the declaration nor a `meta` element.
        ("text/xml", b" <?xml version='1.0' encoding='latin1'?>\xFF", "InvalidLead", 40),
        ("text/xml", b"<meta charset=latin1>\xFF", "InvalidLead", 21),
        ("text/plain", b"<?xml version='1.0' encoding='latin1'?>\xFF", "InvalidLead", 39),
        ("text/xml", b"<?xml version='1.0' encoding='us-ascii'?>\xC3\xA9", "OutsideSubset", 41),
    ] {
        let (passed, reason) = check(&rules, content_type, document);
        let reason = reason.unwrap();
        assert_eq!((reason.kind(), reason.offset_and_len().unwrap().0), (kind, offset), "{content_type}");
        assert_eq!(passed, document[..offset as usize], "{content_type}");
    }
    let repair = rules.with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let (passed, reason) = check(&repair, "text/xml", b"<?xml version='1.0'?>\xFF");
    assert_eq!((&passed[..], reason), ("<?xml version='1.0'?>\u{FFFD}".as_bytes(), None));
}

/// HTML §13.2.3.2 and CSS Syntax §3.2 ignore labels that the WHATWG Encoding Standard does not have. XML has no such rule.
#[test]
fn an_unknown_label_does_not_switch_the_check_off() {
    for (content_type, document) in [
        ("text/html", &b"<meta charset=klingon>"[..]),
        ("text/html", b"<meta charset=utf-32><meta http-equiv=content-type content='charset=utf_7'>"),
        ("text/html", b"<meta charset=klingon><meta charset=utf8>"),
        ("text/html", b"<?xml encoding='klingon'?>"),
        ("text/css", b"@charset \"klingon\";"),
    ] {
        for rules in [BodyRules::new(), BodyRules::for_responses()] {
            let (passed, reason) = check(&rules, content_type, &[document, b"\xC3\xA9\xFF"].concat());
            let reason = reason.unwrap();
            let offset = document.len() as u64 + 2;
            assert_eq!((reason.kind(), reason.offset_and_len()), ("InvalidLead", Some((offset, 1))));
            assert_eq!(passed, [document, b"\xC3\xA9"].concat());
        }
    }
    // The next declaration counts.
    let document = b"<meta charset=klingon><meta charset=koi8-r>\xC1";
    let rejected = (Vec::new(), Some(RejectReason::DeclaredCharset { offset: 36 }));
    assert_eq!(check(&BodyRules::new(), "text/html", document), rejected);
    assert_eq!(check(&BodyRules::for_responses(), "text/html", document), (document.to_vec(), None));
    let document = b"<?xml encoding='klingon'?>\xC1";
    assert_eq!(check(&BodyRules::for_responses(), "text/xml", document), (document.to_vec(), None));
}

#[test]
fn documents_without_a_declaration_are_not_held() {
    for (content_type, start) in [("text/xml", "<a>"), ("text/xml", "<?xml-model?>"), ("text/css", "@import")]
    {
        let rules = BodyRules::for_responses();
        let mut filter = BodyFilter::new(&plan(&rules, content_type).unwrap(), &rules);
        let chunk = Bytes::from(start);
        filter.push(chunk.clone());
        let passed = filter.next().unwrap().unwrap();
        assert_eq!((passed.as_ptr(), passed.len()), (chunk.as_ptr(), start.len()), "{start}");
    }
    // A response passes whatever it declares, so its ASCII is not held.
    let rules = BodyRules::for_responses();
    let mut filter = BodyFilter::new(&plan(&rules, "text/html").unwrap(), &rules);
    for (chunk, passed) in [("<p>step 1", Some("<p>step 1")), ("né", Some("n")), (" step 2", None)] {
        filter.push(Bytes::from(chunk));
        let next = filter.next().map(|next| next.unwrap());
        assert_eq!(next.as_deref(), passed.map(str::as_bytes), "{chunk}");
    }
    filter.finish();
    assert_eq!(filter.next().unwrap().unwrap(), "é step 2");
    // Of HTML in a request, at most 1,024 bytes are held.
    let rules = BodyRules::new();
    let mut filter = BodyFilter::new(&plan(&rules, "text/html").unwrap(), &rules);
    for _ in 0..1023 {
        filter.push(Bytes::from_static(b"x"));
        assert!(filter.next().is_none());
    }
    filter.push(Bytes::from_static(b"xy"));
    assert_eq!(filter.next().unwrap().unwrap(), vec![b'x'; 1023]);
    assert_eq!(filter.next().unwrap().unwrap(), "xy");
}

#[test]
fn ascii_is_checked_under_every_policy_and_not_refused() {
    for content_type in ["text/plain; charset=us-ascii", "application/xml; charset=ANSI_X3.4-1968"] {
        for policy in policies() {
            let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
            assert_eq!(check(&rules, content_type, b"hello"), (b"hello".to_vec(), None));
            let (passed, reason) = check(&rules, content_type, b"hell\xC3\xB6");
            assert_eq!((&passed[..], reason.unwrap().kind()), (&b"hell"[..], "OutsideSubset"));
        }
        let no_nul = BodyRules::new().with_decoder(TextDecoder::new().with_subset(&Subset::NO_NUL));
        assert_eq!(plan(&no_nul, content_type).unwrap_err(), RejectReason::UnsupportedCharset);
        assert_eq!(plan(&BodyRules::for_responses(), content_type).unwrap().kind(), BodyKind::Pass);
    }
    let form = "application/x-www-form-urlencoded; charset=us-ascii";
    assert_eq!(check(&BodyRules::new(), form, b"a=%41"), (b"a=%41".to_vec(), None));
    assert_eq!(check(&BodyRules::new(), form, b"a=%C3%A9").1.unwrap().kind(), "OutsideSubset");
}

#[test]
fn labels_are_checked_as_the_encoding_that_they_mean() {
    let rules = BodyRules::new();
    for label in ["utf_8", "csUTF8", "cp65001"] {
        for rules in [BodyRules::new(), BodyRules::for_responses()] {
            let content_type = format!("text/plain; charset={label}");
            assert_eq!(plan(&rules, &content_type).unwrap().kind(), BodyKind::Text, "{label}");
            let (passed, reason) = check(&rules, &content_type, b"\xC3\xA9\xE9");
            assert_eq!((&passed[..], reason.unwrap().kind()), (&b"\xC3\xA9"[..], "Truncated"), "{label}");
            let declared = format!("<?xml encoding='{label}'?>");
            let document = [declared.as_bytes(), b"\xFF"].concat();
            let (passed, reason) = check(&rules, "text/xml", &document);
            assert_eq!(
                (&passed[..], reason.unwrap().kind()),
                (declared.as_bytes(), "InvalidLead"),
                "{label}"
            );
        }
    }
    for label in ["646", "ansi_x3_4_1968"] {
        let content_type = format!("text/plain; charset={label}");
        assert_eq!(check(&rules, &content_type, b"a\xC3\xA9").1.unwrap().kind(), "OutsideSubset", "{label}");
    }
}

/// A label is compared as a whole, and only in XML, for the strings of .NET. HTML and CSS have rules of their own for UTF-16,
/// and no label for UTF-32.
#[test]
fn a_declaration_of_a_wide_encoding_in_ascii_means_utf_8() {
    for label in
        ["utf-16", "UTF-16LE", "utf-16be", "utf-32", "Unicode", "ucs-2", "iso-10646-ucs-2", "ISO-10646-UCS-4"]
    {
        for rules in [BodyRules::new(), BodyRules::for_responses()] {
            let declared = format!("<?xml encoding='{label}'?>");
            let document = [declared.as_bytes(), b"\xFF"].concat();
            let (passed, reason) = check(&rules, "text/xml", &document);
            assert_eq!(
                (&passed[..], reason.unwrap().kind()),
                (declared.as_bytes(), "InvalidLead"),
                "{label}"
            );
        }
    }
    for label in ["utf-16x", "ucs-2-internal", "utf-32-custom"] {
        let document = format!("<?xml encoding='{label}'?>").into_bytes();
        assert_eq!(
            check(&BodyRules::new(), "text/xml", &document).1.unwrap().kind(),
            "UnsupportedCharset",
            "{label}"
        );
        assert_eq!(check(&BodyRules::for_responses(), "text/xml", &document), (document, None));
    }
}

#[test]
fn a_bom_of_utf_16_is_ill_formed_where_the_parameter_is_utf_8() {
    for content_type in TYPES.map(|name| format!("{name}; charset=utf-8")) {
        for rules in [BodyRules::new(), BodyRules::for_responses()] {
            for document in [b"\xFF\xFEa\0", b"\xFE\xFF\0a"] {
                let (passed, reason) = check(&rules, &content_type, document);
                assert_eq!((passed, reason.unwrap().kind()), (Vec::new(), "InvalidLead"), "{content_type}");
            }
        }
    }
}

#[test]
fn the_parameter_has_no_effect_on_types_that_are_always_utf_8() {
    for content_type in [
        "application/json; charset=iso-8859-1",
        "application/problem+json; charset=us-ascii",
        "application/x-ndjson; charset=utf-16",
        "application/geo+json-seq; charset=latin1",
        "text/event-stream; charset=windows-1252",
        "application/yaml; charset=latin1",
    ] {
        for other in others() {
            let rules = other.with_missing_charset(MissingCharset::Reject);
            assert_eq!(plan(&rules, content_type).unwrap().kind(), BodyKind::Text, "{content_type}");
            assert_eq!(check(&rules, content_type, "é".as_bytes()), ("é".into(), None));
            assert_eq!(check(&rules, content_type, b"\xE9").1.unwrap().kind(), "Truncated");
        }
        let both = format!("{content_type}; charset=utf-8");
        assert_eq!(plan(&BodyRules::new(), &both).unwrap_err(), RejectReason::ConflictingCharset);
    }
}

/// donsetch#290. The Fetch Standard ignores a coding that it does not know.
#[test]
fn a_coding_that_clients_ignore_does_not_switch_the_check_off() {
    let decided = |rules: &BodyRules, codings: &[&'static str]| {
        let mut fields = ContentFields::new();
        fields.add("content-type", b"text/plain");
        codings.iter().for_each(|coding| fields.add("Content-Encoding", coding.as_bytes()));
        rules.decide(&fields).map(|plan| plan.kind())
    };
    let [requests, responses] = [BodyRules::new(), BodyRules::for_responses()];
    for identity in ["", "identity", "Identity, ,identity"] {
        assert_eq!(decided(&requests, &[identity]), Ok(BodyKind::Text), "{identity}");
    }
    for ignored in ["utf-8", "UTF8", "none", "None", "8bit", "7bit", "binary", "us-ascii", "identity, utf-8"]
    {
        assert_eq!(decided(&responses, &[ignored]), Ok(BodyKind::Text), "{ignored}");
        assert_eq!(decided(&requests, &[ignored]), Err(RejectReason::ContentCoding), "{ignored}");
        for codings in [[ignored, "gzip"], ["gzip", ignored]] {
            assert_eq!(decided(&responses, &codings), Ok(BodyKind::Pass), "{codings:?}");
        }
    }
    for coding in ["gzip", "br", "zstd", "x-private", "utf-8, gzip"] {
        assert_eq!(decided(&responses, &[coding]), Ok(BodyKind::Pass), "{coding}");
    }
}

#[test]
fn a_transcoded_document_has_a_charset_parameter() {
    let rules = BodyRules::new().with_transcoding();
    for (content_type, document, expected) in [
        (
            "text/xml",
            &b"<?xml version='1.0' encoding='koi8-r'?>\xC1"[..],
            "<?xml version='1.0' encoding='koi8-r'?>а",
        ),
        ("text/xml", b"<a>\xC3\xA9</a>", "<a>é</a>"),
        ("text/xml", b"\xFF\xFEa\0", "a"),
        ("text/html", b"<meta charset=us-ascii>\x93", "<meta charset=us-ascii>“"),
        ("text/css", b"@charset \"big5\";\xA4\xA4", "@charset \"big5\";中"),
    ] {
        let with_charset = format!("{content_type}; charset=utf-8");
        assert_eq!(plan(&rules, content_type).unwrap().content_type().unwrap(), &with_charset[..]);
        assert_eq!(check(&rules, content_type, document), (expected.into(), None));
    }
    let unknown = b"<?xml version='1.0' encoding='klingon'?>";
    let reason = RejectReason::DeclaredCharset { offset: 30 };
    assert_eq!(check(&rules, "text/xml", unknown), (Vec::new(), Some(reason)));
    // A BOM has precedence over the parameter ("decode" in the WHATWG Encoding Standard).
    for content_type in ["text/html; charset=sjis", "text/plain; charset=latin1", "text/csv; charset=koi8-r"]
    {
        for bom in [b"\xFF\xFEa\0\xE9\0", &b"\xFE\xFF\0a\0\xE9"[..], b"\xEF\xBB\xBFa\xC3\xA9"] {
            assert_eq!(check(&rules, content_type, bom), ("aé".into(), None), "{content_type}");
        }
    }
    assert_eq!(check(&rules, "text/plain; charset=latin1", b"\xFF\xE9"), ("ÿé".into(), None));
}

#[test]
fn length_prefixed_messages_are_never_text() {
    use utf8_codec_http::Uncheckable;

    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let all = BodyRules::new()
        .with_text_types(|_| true)
        .with_missing_charset(MissingCharset::Reject)
        .with_decoder(decoder);
    for content_type in [
        "application/grpc",
        "application/grpc+json",
        "Application/gRPC+JSON; charset=latin1",
        "application/grpc-web+json",
        "application/grpc-web-text",
        "application/grpc-web-text+json",
        "application/connect+json",
        "application/connect+proto",
    ] {
        for rules in [BodyRules::new(), BodyRules::for_responses(), all.clone()] {
            assert_eq!(plan(&rules, content_type).unwrap().kind(), BodyKind::Pass, "{content_type}");
            let rules = rules.with_length_prefixed(Uncheckable::Reject);
            assert_eq!(
                plan(&rules, content_type).unwrap_err(),
                RejectReason::LengthPrefixed,
                "{content_type}"
            );
        }
    }
    assert_eq!(plan(&BodyRules::new(), "application/vnd.connect+json").unwrap().kind(), BodyKind::Text);
}
