//! Compressed messages of gRPC.
#![allow(missing_docs)]

use utf8_codec_engines::config::{FilterKind, Settings};
use utf8_codec_engines::plan::{Content, MessagePlan, Verdict, decide};
use utf8_codec_engines::{MessageKind, MessageReason, Reason};

/// The descriptor set of `service Echo { rpc Chat(Text) returns (Text); }` with `message Text { string text = 1; }`.
const SET: &str = "base64:CnIKBGVjaG8SBHV0ZjgiFAoEVGV4dBIMCgR0ZXh0GAEgASgJMkYKBEVjaG8SHgoERWNobxIKLnV0ZjguVGV4dBoKLnV0ZjguVGV4dBIeCgRDaGF0EgoudXRmOC5UZXh0GgoudXRmOC5UZXh0YgZwcm90bzM=";
/// Frames with the message `café` in gzip, and with `caf\xFF`.
const GOOD: &[u8] =
    b"\x01\0\0\0\x1B\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xE3bMNL;\xBC\x12\x00+\xA4^7\x07\x00\x00\x00";
const BAD: &[u8] = b"\x01\0\0\0\x1A\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xE3bINL\xFB\x0F\x00S\xFE\xFA\x9B\x06\x00\x00\x00";

fn plan(on_error: &str, limit: &str, encoding: &[u8]) -> MessagePlan {
    let json = format!(r#"{{"on_error": "{on_error}", "protobuf": {{"descriptor_set": "{SET}"{limit}}}}}"#);
    let settings = Settings::parse(json.as_bytes(), FilterKind::Http).unwrap();
    let fields = [
        (&b":path"[..], &b"/utf8.Echo/Chat"[..]),
        (b"content-type", b"application/grpc"),
        (b"content-length", b"99"),
        (b"grpc-encoding", encoding),
    ];
    decide(&settings, MessageKind::Request, fields.into_iter(), Content::Body, None).unwrap()
}

/// Returns what is forwarded, and the result.
fn feed(mut plan: MessagePlan, calls: &[&[u8]]) -> (Vec<u8>, Verdict) {
    let mut forwarded = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let outcome = plan.check.feed(&[call], index + 1 == calls.len());
        forwarded.extend_from_slice(outcome.head.as_slice());
        forwarded.extend_from_slice(&call[..outcome.kept]);
        forwarded.extend_from_slice(&outcome.tail);
        if outcome.verdict != Verdict::Pass {
            return (forwarded, outcome.verdict);
        }
    }
    (forwarded, Verdict::Pass)
}

fn kind(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Rejected(reason) => Some(reason.kind()),
        _ => None,
    }
}

const LIMIT: &str = r#", "max_inflated_message": 4194304"#;

#[test]
fn a_compressed_message_is_checked_or_repaired_for_every_cut() {
    let input = [GOOD, BAD].concat();
    let repaired = [GOOD, b"\0\0\0\0\x06\x0A\x04caf?"].concat();
    for cut in 1..input.len() {
        let (head, tail) = input.split_at(cut);
        let (_, verdict) = feed(plan("strict", LIMIT, b"gzip"), &[head, tail]);
        let Verdict::Rejected(Reason::Message(MessageReason::Protobuf(error))) = verdict else {
            panic!("{verdict:?}")
        };
        assert_eq!((error.offset, error.inflated_offset), (GOOD.len() as u64, Some(5)), "{cut}");

        let plan = plan("substitute=?", LIMIT, b"gzip");
        assert_eq!(plan.removed, ["content-length"]);
        assert_eq!(feed(plan, &[head, tail]), (repaired.clone(), Verdict::Pass), "{cut}");
    }
}

#[test]
fn what_is_not_inflated_is_rejected() {
    for (limit, encoding) in [("", &b"gzip"[..]), (LIMIT, b"snappy"), (LIMIT, b"identity")] {
        let plan = plan("substitute=?", limit, encoding);
        assert_eq!(kind(feed(plan, &[GOOD]).1), Some("Compressed"));
    }
    let small = plan("strict", r#", "max_inflated_message": 4"#, b"gzip");
    assert_eq!(kind(feed(small, &[GOOD]).1), Some("InflateTooLong"));
}
