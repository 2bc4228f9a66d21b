//! Compares the plan with an oracle: the new content of the buffer is the text, for every partition into slices and
//! calls.
#![allow(missing_docs)]

use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
use utf8_codec_engines::config::{FilterKind, Settings};
use utf8_codec_engines::plan::{
    Check, Content, Tunnel, Verdict, check_trailers, decide, is_grpc, is_head, status,
};
use utf8_codec_engines::{MessageKind, MessageReason as Reason};

/// Returns the bytes that an engine forwards if it feeds these calls, each with several slices.
fn forward(check: &mut Check, calls: &[Vec<&[u8]>]) -> (Vec<u8>, Verdict) {
    let mut forwarded = Vec::new();
    for (index, slices) in calls.iter().enumerate() {
        let outcome = check.feed(slices, index + 1 == calls.len());
        let all = slices.concat();
        assert_eq!(outcome.len, all.len());
        forwarded.extend_from_slice(outcome.head.as_slice());
        forwarded.extend_from_slice(&all[..outcome.kept]);
        forwarded.extend_from_slice(&outcome.tail);
        if outcome.verdict != Verdict::Pass {
            return (forwarded, outcome.verdict);
        }
    }
    (forwarded, Verdict::Pass)
}

/// Calls `check` with every partition of the bytes, in which each boundary ends either a slice or a call.
fn partitions(bytes: &[u8]) -> impl Iterator<Item = Vec<Vec<&[u8]>>> {
    let cuts = bytes.len().saturating_sub(1) as u32;
    (0..3_usize.pow(cuts)).map(move |mut code| {
        let (mut calls, mut start) = (vec![Vec::new()], 0);
        for at in 1..=bytes.len() {
            let cut = if at == bytes.len() { 1 } else { code % 3 };
            code /= 3;
            if cut > 0 {
                calls.last_mut().unwrap().push(&bytes[start..at]);
                start = at;
            }
            if cut == 2 {
                calls.push(Vec::new());
            }
        }
        calls
    })
}

const SAMPLES: [&[u8]; 6] = [
    "aé网b".as_bytes(),
    "\u{1F600}é".as_bytes(),
    b"\xEF\xBB\xBFa\xC3\xA9",
    b"a\xE2\x82\xFF\xC3\xA9",
    b"\xC3\xF0\x9F\x98(",
    b"ab\xF4\x90c\xE7",
];

#[test]
fn the_new_content_is_the_text_for_every_partition() {
    for sample in SAMPLES {
        for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace, ErrorPolicy::Escape, ErrorPolicy::Skip] {
            for bom in [BomPolicy::Keep, BomPolicy::Strip] {
                let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
                let (text, error) = match decoder.decode_whole(sample) {
                    Ok(text) => (text.into_owned(), None),
                    Err(error) => {
                        let good = &sample[..error.offset as usize];
                        (decoder.decode_whole(good).unwrap().into_owned(), Some(error))
                    }
                };
                for calls in partitions(sample) {
                    let (forwarded, verdict) = forward(&mut Check::text(decoder.clone(), false), &calls);
                    assert_eq!(String::from_utf8(forwarded).as_deref(), Ok(&*text), "{policy:?} {calls:?}");
                    let expected =
                        error.map_or(Verdict::Pass, |error| Verdict::Rejected(Reason::Body(error).into()));
                    assert_eq!(verdict, expected, "{policy:?} {calls:?}");
                }
            }
        }
    }
}

#[test]
fn nothing_is_copied_while_nothing_changes_in_the_slices_of_a_call() {
    for sample in [&SAMPLES[0], &SAMPLES[1]] {
        for calls in partitions(sample).filter(|calls| calls.len() == 1) {
            let outcome = Check::text(TextDecoder::new(), false).feed(&calls[0], true);
            assert!(outcome.is_unchanged() && outcome.tail.capacity() == 0, "{calls:?}");
        }
        // If calls end inside characters, only the bytes of these characters are moved.
        for calls in partitions(sample) {
            let mut check = Check::text(TextDecoder::new(), false);
            for slices in calls {
                let outcome = check.feed(&slices, false);
                assert!(outcome.tail.capacity() == 0 && outcome.head.as_slice().len() < 4);
            }
        }
    }
}

#[test]
fn bytes_are_kept_in_place_up_to_the_first_impossible_one() {
    let settings = Settings::parse(br#"{"forward": "bytes"}"#, FilterKind::Network).unwrap();
    for (sample, possible) in SAMPLES.into_iter().zip([7, 6, 6, 3, 1, 3]) {
        for calls in partitions(sample) {
            let (mut check, mut rest) = (Check::connection(&settings), possible);
            let last = calls.len() - 1;
            for (index, slices) in calls.iter().enumerate() {
                let outcome = check.feed(slices, index == last);
                assert!(outcome.head.as_slice().is_empty() && outcome.tail.is_empty());
                assert_eq!(outcome.kept, outcome.len.min(rest), "{calls:02X?}");
                rest -= outcome.kept;
                if outcome.verdict != Verdict::Pass {
                    break;
                }
                assert!(outcome.is_unchanged());
            }
            assert_eq!(rest, 0, "{calls:02X?}");
        }
    }
}

#[test]
fn a_stream_that_is_only_observed_passes_unchanged() {
    for sample in SAMPLES {
        for calls in partitions(sample) {
            let mut check = Check::text(TextDecoder::new(), true);
            let mut reported = 0;
            for (index, slices) in calls.iter().enumerate() {
                let outcome = check.feed(slices, index + 1 == calls.len());
                assert!(outcome.is_unchanged());
                reported += usize::from(matches!(outcome.verdict, Verdict::Reported(_)));
            }
            assert_eq!(reported, usize::from(std::str::from_utf8(sample).is_err()), "{calls:?}");
        }
    }
}

fn settings(json: &str) -> Settings {
    Settings::parse(json.as_bytes(), FilterKind::Http).unwrap()
}

type Field<'f> = (&'f [u8], &'f [u8]);

const FORM: [Field<'_>; 1] = [(b"content-type", b"application/x-www-form-urlencoded")];

#[test]
fn a_form_is_checked_after_decoding() {
    let settings = settings("{}");
    let sample: &[u8] = b"a=%C3%A9";
    for calls in partitions(sample) {
        let plan = decide(&settings, MessageKind::Request, FORM.into_iter(), Content::Body, None).unwrap();
        let mut check = plan.check;
        assert_eq!(forward(&mut check, &calls), (sample.to_vec(), Verdict::Pass));
    }
    let mut check =
        decide(&settings, MessageKind::Request, FORM.into_iter(), Content::Body, None).unwrap().check;
    let (forwarded, verdict) = forward(&mut check, &[vec![b"a=%F", b"F"]]);
    assert_eq!(forwarded, b"a=");
    let Verdict::Rejected(reason) = verdict else { panic!("{verdict:?}") };
    assert_eq!((reason.kind(), reason.offset_and_len()), ("InvalidLead", Some((2, 1))));
}

#[test]
fn a_repair_removes_the_fields_that_it_makes_wrong() {
    let fields: [Field<'_>; 4] = [
        (b"content-type", b"text/plain"),
        (b"content-length", b"5"),
        (b"etag", b"\"x\""),
        (b"etag", b"W/\"x\""),
    ];
    let untrue = |json| {
        decide(&settings(json), MessageKind::Request, fields.into_iter(), Content::Body, None)
            .unwrap()
            .removed
    };
    assert_eq!(untrue(r#"{"on_error": "replace"}"#), ["content-length", "etag"]);
    assert!(untrue("{}").is_empty());
    assert!(untrue(r#"{"on_error": "replace", "action": "report"}"#).is_empty());
}

#[test]
fn a_response_without_a_body_loses_the_same_fields_if_it_describes_one() {
    let settings = settings(r#"{"on_error": "replace"}"#);
    let fields = |status: &'static [u8]| -> [Field<'_>; 4] {
        [
            (b":status", status),
            (b"content-type", b"text/plain"),
            (b"content-length", b"5"),
            (b"etag", b"\"x\""),
        ]
    };
    for (code, method, is_described) in [
        (&b"200"[..], &b"HEAD"[..], true),
        (b"404", b"HEAD", true),
        (b"304", b"HEAD", true),
        (b"304", b"GET", true),
        (b"204", b"HEAD", false),
        (b"206", b"HEAD", false),
        (b"200", b"GET", false),
        (b"204", b"PUT", false),
    ] {
        let is_head = is_head([(&b":path"[..], &b"/"[..]), (b":method", method)].into_iter());
        let content = Content::of_response(false, is_head, status(fields(code).into_iter()));
        let plan = decide(&settings, MessageKind::Response, fields(code).into_iter(), content, None).unwrap();
        assert!(plan.check.is_passing());
        let expected: &[&str] = if is_described { &["content-length", "etag"] } else { &[] };
        assert_eq!(plan.removed, expected, "{} {}", method.escape_ascii(), code.escape_ascii());
    }
    // A 304 may lack the type. Then it describes the body of any type.
    let untyped: [Field<'_>; 2] = [(b"etag", b"\"x\""), (b"date", b"x")];
    for (code, json, expected) in [
        (304, r#"{"on_error": "replace"}"#, &["etag"][..]),
        (304, r#"{"on_error": "replace", "action": "report", "bom": "strip"}"#, &[]),
        (304, "{}", &[]),
        (200, r#"{"on_error": "replace"}"#, &[]),
    ] {
        let settings = Settings::parse(json.as_bytes(), FilterKind::Http).unwrap();
        let content = Content::of_response(false, true, code);
        let plan = decide(&settings, MessageKind::Response, untyped.into_iter(), content, None).unwrap();
        assert_eq!(plan.removed, expected, "{code} {json}");
    }
    // The body of a response to GET would be rejected. A response to HEAD has none.
    let coded: [Field<'_>; 2] = [(b"content-type", b"text/plain"), (b"content-encoding", b"gzip")];
    let plan =
        decide(&settings, MessageKind::Response, coded.into_iter(), Content::Described(200), None).unwrap();
    assert!(plan.check.is_passing() && plan.removed.is_empty());
}

#[test]
fn a_request_asks_for_no_range_of_a_response_that_may_be_repaired() {
    let fields: [Field<'_>; 3] = [(b"Range", b"bytes=1-"), (b"if-range", b"\"x\""), (b"accept", b"*/*")];
    for (json, is_removed) in [
        ("{}", false),
        (r#"{"on_error": "replace"}"#, true),
        (r#"{"on_error": "replace", "direction": "response"}"#, true),
        (r#"{"on_error": "replace", "direction": "request"}"#, false),
        (r#"{"bom": "strip"}"#, true),
        (r#"{"bom": "strip", "action": "report"}"#, false),
    ] {
        let settings = settings(json);
        let removed =
            |message| decide(&settings, message, fields.into_iter(), Content::Nothing, None).unwrap().removed;
        let expected: &[&str] = if is_removed { &["Range", "if-range"] } else { &[] };
        assert_eq!(removed(MessageKind::Request), expected, "{json}");
        assert!(removed(MessageKind::Response).is_empty());
    }
}

#[test]
fn messages_are_rejected_by_their_fields() {
    let decide = |json, fields: &[Field<'_>], message| {
        decide(&settings(json), message, fields.iter().copied(), Content::Body, None)
            .map(|plan| plan.check.is_passing())
    };
    let gzip: [Field<'_>; 2] = [(b"content-type", b"text/plain"), (b"content-encoding", b"gzip")];
    assert_eq!(decide("{}", &gzip, MessageKind::Request).unwrap_err(), Reason::ContentCoding.into());
    assert!(decide("{}", &gzip, MessageKind::Response).unwrap());
    assert!(decide(r#"{"content_codings": "pass"}"#, &gzip, MessageKind::Request).unwrap());
    assert!(decide(r#"{"direction": "response"}"#, &gzip, MessageKind::Request).unwrap());
    let image: [Field<'_>; 1] = [(b"content-type", b"image/png")];
    assert!(decide("{}", &image, MessageKind::Request).unwrap());
    assert!(!decide(r#"{"content_types": ["image/*"]}"#, &image, MessageKind::Request).unwrap());
    let field: [Field<'_>; 1] = [(b"x-name", b"na\xEFve")];
    let reason = decide("{}", &field, MessageKind::Request).unwrap_err();
    assert_eq!((reason.kind(), reason.offset_and_len()), ("MissingContinuation", Some((2, 1))));
    assert!(decide(r#"{"headers": "none"}"#, &field, MessageKind::Request).is_ok());
    assert!(check_trailers(field.into_iter()).unwrap_err().to_string().starts_with("trailer x-name"));
}

#[test]
fn a_tunnel_is_not_checked() {
    let connect: [&[Field<'_>]; 2] = [&[(b":method", b"CONNECT")], &[(b":protocol", b"websocket")]];
    for fields in connect {
        assert_eq!(Tunnel::of_request(fields.iter().copied()), Tunnel::Connect);
    }
    let upgrade: [Field<'_>; 3] =
        [(b"Connection", b"keep-alive, Upgrade"), (b"Upgrade", b"websocket"), (b"content-length", b"0")];
    assert_eq!(Tunnel::of_request(upgrade.into_iter()), Tunnel::Upgrade);
    assert!(Tunnel::Connect.skips_request() && Tunnel::Upgrade.skips_request());
    let plan =
        decide(&settings("{}"), MessageKind::Request, FORM.into_iter(), Content::Tunnel, None).unwrap();
    assert!(plan.check.is_passing());
}

#[test]
fn the_body_of_a_request_is_checked_until_an_upgrade() {
    let cases: [(&[Field<'_>], Tunnel); 6] = [
        (&[(b":method", b"POST"), (b"x", b"upgrade")], Tunnel::No),
        (&[(b"upgrade", b"x")], Tunnel::No),
        (&[(b"upgrade", b"x"), (b"connection", b"keep-alive")], Tunnel::No),
        (&[(b"connection", b"upgrade")], Tunnel::No),
        (
            &[(b"upgrade", b"x"), (b"connection", b"upgrade"), (b"content-length", b"4")],
            Tunnel::UpgradeAfterBody,
        ),
        (
            &[(b"upgrade", b"x"), (b"connection", b"upgrade"), (b"transfer-encoding", b"chunked")],
            Tunnel::UpgradeAfterBody,
        ),
    ];
    for (fields, expected) in cases {
        let tunnel = Tunnel::of_request(fields.iter().copied());
        assert_eq!(tunnel, expected, "{fields:?}");
        assert!(!tunnel.skips_request());
        let content = Content::of_request(true, tunnel);
        let check = decide(&settings("{}"), MessageKind::Request, fields.iter().copied(), content, None);
        let verdict = check.unwrap().check.feed(&[b"caf\xFF"], true).verdict;
        assert!(matches!(verdict, Verdict::Rejected(_)), "{fields:?}");
    }
}

#[test]
fn a_response_is_a_tunnel_only_by_its_status() {
    let opens = |tunnel: Tunnel, status: &'static [u8]| {
        tunnel.is_opened_by([(&b":status"[..], status), (b"upgrade", b"x")].into_iter())
    };
    for tunnel in [Tunnel::Connect, Tunnel::Upgrade, Tunnel::UpgradeAfterBody] {
        assert!(opens(tunnel, b"101") && !opens(tunnel, b"403"), "{tunnel:?}");
        assert_eq!(opens(tunnel, b"200"), tunnel == Tunnel::Connect);
        assert!(!tunnel.is_opened_by([(&b"upgrade"[..], &b"x"[..])].into_iter()));
    }
    assert!(!opens(Tunnel::No, b"200"));
}

#[test]
fn the_escapes_of_json_are_the_same_for_every_partition() {
    let json: Field<'_> = (b"content-type", b"application/json");
    let settings = settings(r#"{"json_strings": "replace", "json_subset": "no-nul"}"#);
    for (body, expected) in [(br#""\uD83D\n""#, br#""\uFFFD\n""#), (br#""\u0000\\""#, br#""\uFFFD\\""#)] {
        for calls in partitions(body) {
            let body =
                decide(&settings, MessageKind::Request, [json].into_iter(), Content::Body, None).unwrap();
            let connection =
                Check::text(settings.decoder(), false).with_json_strings(settings.json_strings().unwrap());
            for mut check in [body.check, connection] {
                let (forwarded, verdict) = forward(&mut check, &calls);
                assert_eq!((&forwarded[..], verdict), (&expected[..], Verdict::Pass), "{calls:02X?}");
            }
        }
    }
}

#[test]
fn repairs_before_an_error_are_counted_for_every_partition() {
    let json: Field<'_> = (b"content-type", b"application/json");
    let settings = settings(r#"{"on_error": "replace", "json_strings": "strict"}"#);
    for calls in partitions(b"[\xFF\\uDE00") {
        let body = decide(&settings, MessageKind::Request, [json].into_iter(), Content::Body, None).unwrap();
        for mut check in [body.check, Check::connection(&settings)] {
            let outcomes: Vec<_> = calls.iter().map(|slices| check.feed(slices, false)).collect();
            assert_eq!(outcomes.iter().map(|outcome| outcome.repaired).sum::<u64>(), 1, "{calls:02X?}");
            assert!(outcomes.iter().any(|outcome| matches!(outcome.verdict, Verdict::Rejected(_))));
        }
    }
}

#[test]
fn a_report_is_of_the_first_error_whatever_the_policy() {
    let policies = ["strict", "replace", "substitute", "escape", "latin1", "windows-1252", "skip"];
    for policy in policies {
        let json = format!(r#"{{"on_error": "{policy}", "action": "report"}}"#);
        let settings = settings(&json);
        let body =
            decide(&settings, MessageKind::Request, core::iter::empty(), Content::Body, None).unwrap().check;
        let form =
            decide(&settings, MessageKind::Request, FORM.into_iter(), Content::Body, None).unwrap().check;
        let connection = Check::text(settings.decoder(), settings.only_reports());
        for mut check in [body, form, connection] {
            let outcome = check.feed(&[b"a\xFFb\xFF"], true);
            let Verdict::Reported(reason) = &outcome.verdict else { panic!("{policy}: {outcome:?}") };
            assert_eq!((reason.kind(), reason.offset_and_len()), ("InvalidLead", Some((1, 1))));
            assert!(outcome.is_unchanged() && outcome.repaired == 0);
            assert_eq!(check.feed(&[b"\xFF"], true).verdict, Verdict::Pass);
        }
    }
}

#[test]
fn a_repair_removes_the_digests_in_trailers() {
    let trailers: [Field<'_>; 3] =
        [(b"content-digest", b"sha-256=:x:"), (b"x-note", b"y"), (b"Digest", b"x")];
    let untrue = |json| {
        let plan =
            decide(&settings(json), MessageKind::Request, core::iter::empty(), Content::Body, None).unwrap();
        plan.check.untrue(trailers.into_iter())
    };
    assert_eq!(untrue(r#"{"on_error": "replace"}"#), ["content-digest", "Digest"]);
    assert!(untrue("{}").is_empty());
    assert!(untrue(r#"{"on_error": "replace", "action": "report"}"#).is_empty());
}

#[test]
fn a_document_is_read_as_it_declares_for_every_partition() {
    let html = [&b"<p>"[..], &[b'x'; 1100], "é<b>".as_bytes()].concat();
    for (content_type, document, requests, responses) in [
        (
            "text/xml",
            &b"<?xml encoding='latin1'?>\xE9"[..],
            Err(Reason::DeclaredCharset { offset: 16 }),
            Ok(()),
        ),
        ("text/xml", "<?xml version='1.0'?>é<a>".as_bytes(), Ok(()), Ok(())),
        ("text/html", b"<meta charset=koi8-r>\xC1", Err(Reason::DeclaredCharset { offset: 14 }), Ok(())),
        ("text/html", &html, Ok(()), Ok(())),
    ] {
        for json in [r#"{}"#, r#"{"on_error": "replace"}"#] {
            let settings = Settings::parse(json.as_bytes(), FilterKind::Http).unwrap();
            for (message, expected) in
                [(MessageKind::Request, &requests), (MessageKind::Response, &responses)]
            {
                let fields = [(&b"content-type"[..], content_type.as_bytes())];
                let run = |calls: &[Vec<&[u8]>]| {
                    let fields = fields.iter().copied();
                    let plan = decide(&settings, message, fields, Content::Body, None).unwrap();
                    let mut check = plan.check;
                    let (forwarded, verdict) = forward(&mut check, calls);
                    match expected {
                        Ok(()) => assert_eq!((&forwarded[..], verdict), (document, Verdict::Pass)),
                        Err(reason) => {
                            assert_eq!(
                                (&forwarded[..], verdict),
                                (&b""[..], Verdict::Rejected(reason.clone().into()))
                            );
                        }
                    }
                };
                run(&document.chunks(1).map(|byte| vec![byte]).collect::<Vec<_>>());
                for cut in 0..=document.len() {
                    let (start, rest) = document.split_at(cut);
                    run(&[vec![start], vec![rest]]);
                    run(&[vec![start, rest]]);
                }
            }
        }
    }
}

#[test]
fn what_is_forwarded_before_an_error_is_the_same_for_every_partition() {
    let settings = Settings::parse(b"{}", FilterKind::Http).unwrap();
    for (content_type, expected) in
        [("text/xml", &b"<a>"[..]), ("text/plain", b"<a>\xF0\x9F"), ("application/json", b"<a>\xF0\x9F")]
    {
        let fields = [(&b"content-type"[..], content_type.as_bytes())];
        for calls in partitions(b"<a>\xF0\x9F(") {
            let plan = decide(&settings, MessageKind::Response, fields.into_iter(), Content::Body, None);
            let (forwarded, verdict) = forward(&mut plan.unwrap().check, &calls);
            assert_eq!(forwarded, expected, "{content_type} {calls:02X?}");
            assert!(matches!(verdict, Verdict::Rejected(_)));
        }
    }
}

#[test]
fn a_document_is_not_copied_after_its_start() {
    let settings = Settings::parse(b"{}", FilterKind::Http).unwrap();
    let fields = [(&b"content-type"[..], &b"text/xml"[..])];
    let mut check =
        decide(&settings, MessageKind::Response, fields.into_iter(), Content::Body, None).unwrap().check;
    assert_eq!(check.feed(&[b"<a>\xC3"], false).tail, b"<a>");
    let outcome = check.feed(&[b"\xA9 and more"], false);
    assert_eq!((outcome.head.as_slice(), outcome.kept), (&b"\xC3"[..], 10));
    assert_eq!(outcome.tail.capacity(), 0);
    let outcome = check.feed(&[b"\xFF"], true);
    let Verdict::Rejected(reason) = outcome.verdict else { panic!("{outcome:?}") };
    assert_eq!(reason.offset_and_len(), Some((14, 1)));
}

#[test]
fn length_prefixed_messages_are_never_text() {
    let grpc = [(&b"content-type"[..], &b"application/grpc+json"[..])];
    let plan = |json: &str| {
        let settings = Settings::parse(json.as_bytes(), FilterKind::Http).unwrap();
        decide(&settings, MessageKind::Request, grpc.iter().copied(), Content::Body, None)
    };
    for json in ["{}", r#"{"content_types": ["*/*", "+json"], "on_error": "replace"}"#] {
        assert!(plan(json).unwrap().check.is_passing(), "{json}");
    }
    assert_eq!(plan(r#"{"length_prefixed": "reject"}"#).unwrap_err(), Reason::LengthPrefixed.into());
    assert!(is_grpc(grpc.into_iter()) && !is_grpc([(&b"content-type"[..], &b"text/plain"[..])].into_iter()));
}
