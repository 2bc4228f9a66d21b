//! Bodies and messages of WebSocket: the verdicts of the suites.

use utf8_codec::{BomPolicy, ErrorKind, TextDecoder};
use utf8_codec_http::{RejectReason, Utf8Body};

use crate::cases::cases;
use crate::support::bodies::{EndHint, Script, drain};
use crate::support::verdict::verdict_of;

fn facts(error: Option<RejectReason>) -> Option<(u64, ErrorKind, u8)> {
    error
        .map(|error| error.utf8_error().expect("ill-formed text"))
        .map(|error| (error.offset, error.kind, error.len))
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn bodies_have_the_verdicts_of_every_suite() {
    for case in cases(|_| true).iter().filter(|case| case.dialect == "utf-8" && case.policy == "fatal") {
        let bom = if case.bom_strip { BomPolicy::Strip } else { BomPolicy::Keep };
        let body = Script::of(&case.slices(), EndHint::Nothing);
        let (data, _, error) = drain(Utf8Body::with_decoder(body, TextDecoder::new().with_bom_policy(bom)));
        let error = facts(error);
        if let Some(ok) = case.expect()["ok"].as_bool() {
            assert_eq!(error.is_none(), ok, "{}", case.id);
        }
        if let Some(offset) = case.expect()["error"]["offset"].as_u64() {
            assert_eq!(error.map(|(offset, ..)| offset), Some(offset), "{}", case.id);
        }
        if let (None, Some(text)) = (error, case.expect_hex("text_hex")) {
            assert_eq!(data, text, "{}", case.id);
        }
    }
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn messages_fail_at_the_byte_that_autobahn_names() {
    let (mut section_6, mut section_7) = (0, 0);
    for case in cases(|name| name == "autobahn.jsonl") {
        section_6 += usize::from(case.id.starts_with("autobahn/6."));
        section_7 += usize::from(case.id.starts_with("autobahn/7.5.1"));
        let message = case.chunks.concat();
        let (byte, verdict) = verdict_of(message.chunks(1));
        assert_eq!(verdict.is_ok(), case.expect()["ok"], "{}", case.id);

        // The suite has the exact byte, or the latest frame in which the error must be reported.
        if let Some(at) = case.json["invalid_at_byte"].as_u64() {
            assert_eq!(byte, at + 1, "{}", case.id);
        }
        if let Some(chunk) = case.json["fail_by_chunk"].as_u64() {
            let frames = &case.chunks[..=chunk as usize];
            let latest: usize = frames.iter().map(Vec::len).sum();
            assert!(verdict.is_err() && byte <= latest as u64, "{}", case.id);
            // A truncated last character is only known at the end of the message.
            assert!(byte > 0 || frames.len() == case.chunks.len(), "{}", case.id);
        }

        let (frame, same) = verdict_of(case.slices().into_iter());
        assert_eq!(same, verdict, "{}", case.id);
        assert!(frame >= byte && (byte > 0 || frame == 0), "{}", case.id);
        for size in 2..=9 {
            let chops = case.chunks.iter().flat_map(|frame| frame.chunks(size));
            let (chop, same) = verdict_of(chops);
            assert_eq!(same, verdict, "{} in chops of {size}", case.id);
            assert!(byte <= chop && chop < byte + size as u64, "{} in chops of {size}", case.id);
        }
    }
    assert!(section_6 >= 145, "{section_6} cases of section 6");
    assert_eq!(section_7, 1);
}
