//! Bodies in JSON: the escapes in their strings are checked, with the same result for every partition.

use bytes::Bytes;
use http_body::Body as _;
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{Ascii, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_http::{BodyFilter, BodyKind, BodyPlan, BodyRules, ContentFields, RejectReason, Utf8Body};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::json::{self, Error};
use crate::support::{Rng, every_partition, some_partitions};

const STRINGS: JsonStrings = JsonStrings::new().with_subset(&Subset::NO_NUL);

fn plan(rules: &BodyRules, content_type: &str) -> BodyPlan {
    let mut fields = ContentFields::new();
    fields.add("content-type", content_type.as_bytes());
    rules.decide(&fields).expect("a text")
}

/// Returns what passes, the error, and the number of repaired sequences.
fn filtered(rules: &BodyRules, chunks: &[&[u8]]) -> (Vec<u8>, Option<Error>, u64) {
    let mut filter = BodyFilter::new(&plan(rules, "application/json"), rules);
    let (mut passed, mut error) = (Vec::new(), None);
    let mut take = |filter: &mut BodyFilter| {
        while let Some(next) = filter.next() {
            match next {
                Ok(data) => passed.extend_from_slice(&data),
                Err(RejectReason::Body(found)) => error = Some(json::error(found)),
                Err(other) => panic!("{other}"),
            }
        }
    };
    for chunk in chunks {
        filter.push(Bytes::copy_from_slice(chunk));
        take(&mut filter);
    }
    filter.finish();
    take(&mut filter);
    assert!(filter.text_decoder().is_none(), "the rest is not plain text");
    (passed, error, filter.repaired())
}

/// Checks every partition through the filter and through the body.
fn check(input: &[u8], text: TextDecoder, policy: EscapePolicy) {
    let rules =
        BodyRules::new().with_decoder(text.clone()).with_json_strings(STRINGS.with_escape_policy(policy));
    let (out, errors) = json::decode(input, text.clone(), policy, Some(&Subset::NO_NUL));
    let is_fatal = |error: &&Error| match error.3 {
        true => policy == EscapePolicy::Strict,
        false => text.error_policy() == ErrorPolicy::Strict,
    };
    let fatal = errors.iter().find(is_fatal).copied();
    let repaired = errors.iter().filter(|error| !error.3 || policy.repairs()).count() as u64;
    let each = |chunks: &[&[u8]]| {
        let (passed, error, count) = filtered(&rules, chunks);
        assert_eq!(error, fatal, "{policy} {chunks:02X?}");
        if error.is_none() {
            assert_eq!((&passed[..], count), (out.as_bytes(), repaired), "{policy} {chunks:02X?}");
        } else if text.error_policy() == ErrorPolicy::Strict && policy == EscapePolicy::Strict {
            assert_eq!(passed, input[..fatal.unwrap().0 as usize], "{policy} {chunks:02X?}");
        }
        for hint in EndHint::ALL {
            let filter = BodyFilter::new(&plan(&rules, "application/json"), &rules);
            let body = Utf8Body::with_filter(Script::of(chunks, hint), filter);
            let sizes = body.size_hint();
            let (data, _, error) = drain(body);
            assert_eq!((&data, error.is_some()), (&passed, fatal.is_some()), "{policy} {chunks:02X?}");
            let len = data.len() as u64;
            assert!(sizes.upper().is_none_or(|upper| len <= upper), "{chunks:02X?} {sizes:?}");
            assert!(fatal.is_some() || sizes.lower() <= len, "{chunks:02X?} {sizes:?}");
        }
    };
    if input.len() <= 8 { every_partition(input, each) } else { some_partitions(input, 3, each) }
}

#[test]
fn every_partition_of_a_body_agrees_with_the_oracle() {
    let mut rng = Rng::new(48);
    for policy in [ErrorPolicy::Strict, ErrorPolicy::Substitute(Ascii::QUESTION_MARK)] {
        let text = TextDecoder::new().with_error_policy(policy);
        for &escapes in EscapePolicy::ALL {
            for round in 0..12 {
                let mut input = json::dirty(&mut rng, 1 + round % 4, round % 2 == 0);
                input.truncate(8);
                check(&input, text.clone(), escapes);
                check(&json::dirty(&mut rng, 3 + round, round % 2 == 0), text.clone(), escapes);
            }
        }
    }
}

#[test]
fn a_long_body_with_many_replaced_escapes_keeps_its_length() {
    let input = br#"{"a":"\u0000\uD83D\uDE00"},"#.repeat(2_000);
    let rules = BodyRules::new().with_json_strings(STRINGS.with_escape_policy(EscapePolicy::Replace));
    let (passed, error, repaired) = filtered(&rules, &[&input]);
    assert_eq!((passed.len(), error, repaired), (input.len(), None, 2_000));
    assert_eq!(passed, br#"{"a":"\uFFFD\uD83D\uDE00"},"#.repeat(2_000));
}

#[test]
fn only_types_of_json_are_checked_and_event_streams_by_choice() {
    let rules = BodyRules::new().with_json_strings(STRINGS);
    for json in [
        "application/json; charset=latin1",
        "application/problem+json",
        "application/x-ndjson",
        "application/jsonl",
        "application/json-seq",
        "application/geo+json-seq",
        "text/json",
    ] {
        assert_eq!(plan(&rules, json).kind(), BodyKind::Json, "{json}");
        assert_eq!(plan(&BodyRules::new(), json).kind(), BodyKind::Text, "{json}");
    }
    for text in ["text/plain", "application/json5", "application/javascript", "text/event-stream"] {
        assert_eq!(plan(&rules, text).kind(), BodyKind::Text, "{text}");
    }
    assert_eq!(plan(&rules, "application/grpc+json").kind(), BodyKind::Pass);
    let streams = rules.with_json_event_streams(true);
    assert_eq!(plan(&streams, "text/event-stream").kind(), BodyKind::Json);
}

#[test]
fn a_replaced_escape_changes_digests_and_a_dropped_one_also_the_length() {
    for (policy, changes) in [
        (EscapePolicy::Strict, false),
        (EscapePolicy::Keep, false),
        (EscapePolicy::Replace, true),
        (EscapePolicy::Drop, true),
    ] {
        let rules = BodyRules::new().with_json_strings(STRINGS.with_escape_policy(policy));
        let plan = plan(&rules, "application/json");
        assert_eq!(plan.invalidates("content-length", b"9"), !policy.keeps_len(), "{policy}");
        assert_eq!(plan.invalidates("etag", b"\"a\""), changes, "{policy}");
        assert_eq!(plan.json_strings(), Some(STRINGS.with_escape_policy(policy)));
    }
}

/// `drain` compares the size hint after each frame with what follows.
#[test]
fn the_size_hint_includes_what_follows_an_escape() {
    let start = [b'a'; 400];
    for end in [&b"\\\xFF"[..], b"\\u\xFF", b"\\uD8\xFF\\", b"\\\xC3\xA9", b"\\u\xE2\x82", b"\\\xFFb\\\xFE"] {
        for policy in
            [ErrorPolicy::Substitute(Ascii::QUESTION_MARK), ErrorPolicy::Replace, ErrorPolicy::Strict]
        {
            let text = TextDecoder::new().with_error_policy(policy);
            for &escapes in EscapePolicy::ALL {
                check(&[&start, end].concat(), text.clone(), escapes);
            }
        }
    }
}
