//! The dialect `utf-8`.

use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder, TextPiece, Utf8Error};

use crate::cases::{Case, cases};
use crate::support::{hex, some_partitions};

/// The output of a decoder for a case.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    text: String,
    /// The text returned for each chunk, then that of `finish`.
    per_chunk: Vec<String>,
    /// Each error with the index of the chunk that reported it; `finish` counts as one more chunk.
    errors: Vec<(usize, Utf8Error)>,
}

fn run(mut decoder: TextDecoder, chunks: &[&[u8]]) -> Outcome {
    let mut outcome = Outcome::default();
    for (number, chunk) in chunks.iter().enumerate() {
        let mut text = String::new();
        for piece in decoder.feed(chunk) {
            outcome.note(number, piece, &mut text);
        }
        outcome.per_chunk.push(text);
    }
    let mut text = String::new();
    if let Some(piece) = decoder.finish() {
        outcome.note(chunks.len(), piece, &mut text);
    }
    outcome.per_chunk.push(text);
    outcome.text = outcome.per_chunk.concat();
    outcome
}

impl Outcome {
    fn note(&mut self, chunk: usize, piece: TextPiece<'_>, out: &mut String) {
        if let TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) = piece {
            self.errors.push((chunk, error));
        }
        if let Ok(text) = piece.text() {
            out.push_str(text);
        }
    }
}

fn check(case: &Case, decoder: TextDecoder) {
    let (id, expect) = (&case.id, case.expect());
    let outcome = run(decoder.clone(), &case.slices());
    let first = outcome.errors.first();

    if let Some(ok) = expect["ok"].as_bool() {
        assert_eq!(outcome.errors.is_empty(), ok, "{id}: ok");
    }
    if let Some(text) = case.expect_hex("text_hex") {
        assert_eq!(outcome.text.as_bytes(), text, "{id}: text");
    }
    if let Some(expected) = expect.get("error") {
        let (_, error) = first.unwrap_or_else(|| panic!("{id}: an error"));
        assert_eq!(Some(error.offset), expected["offset"].as_u64(), "{id}: offset");
        assert_eq!(Some(u64::from(error.len)), expected["len"].as_u64(), "{id}: len");
        if let Some(kind) = expected["kind"].as_str() {
            assert_eq!(error.kind == ErrorKind::Truncated, kind == "truncated", "{id}: {kind}");
        }
    }
    if let Some(expected) = expect["errors"].as_array() {
        let got: Vec<_> =
            outcome.errors.iter().map(|(_, error)| (error.offset, u64::from(error.len))).collect();
        let expected: Vec<_> =
            expected.iter().map(|e| (e[0].as_u64().unwrap(), e[1].as_u64().unwrap())).collect();
        assert_eq!(got, expected, "{id}: every error");
    }
    if let Some(expected) = expect["per_chunk_hex"].as_array() {
        let expected: Vec<_> = expected.iter().map(|hex| hex.as_str().unwrap().to_owned()).collect();
        let got: Vec<_> = outcome.per_chunk.iter().map(|text| hex(text.as_bytes())).collect();
        assert_eq!(got, expected, "{id}: text of each chunk");
    }
    if let Some(expected) = expect["out_chunks_hex"].as_array() {
        let expected: Vec<_> = expected.iter().map(|hex| hex.as_str().unwrap().to_owned()).collect();
        let got = outcome.per_chunk.iter().filter(|text| !text.is_empty());
        assert_eq!(
            got.map(|text| hex(text.as_bytes())).collect::<Vec<_>>(),
            expected,
            "{id}: chunks of text"
        );
    }
    if let Some(latest) = case.json["fail_by_chunk"].as_u64() {
        let (chunk, _) = first.unwrap_or_else(|| panic!("{id}: an error"));
        // The last chunk includes the end of the stream, unless the suite requires the error before the end.
        let end = if case.json["fail_at_eof"] == false { case.chunks.len() } else { case.chunks.len() - 1 };
        let chunk = *chunk.min(&end) as u64;
        assert!(chunk <= latest, "{id}: rejected in chunk {chunk}, {latest} is the latest");
    }
    if case.json["fail_at_eof"] == true {
        let (chunk, _) = first.unwrap_or_else(|| panic!("{id}: an error"));
        assert_eq!(*chunk, case.chunks.len(), "{id}: rejected at the end");
    }
    let whole = case.chunks.concat();
    if let Some(byte) = case.json["invalid_at_byte"].as_u64() {
        let bytes: Vec<_> = whole.chunks(1).collect();
        assert_eq!(
            run(decoder.clone(), &bytes).errors[0].0 as u64,
            byte,
            "{id}: rejected at the first impossible byte"
        );
    }

    let facts =
        |outcome: &Outcome| (outcome.text.clone(), outcome.errors.iter().map(|e| e.1).collect::<Vec<_>>());
    let expected = facts(&outcome);
    let check_cut =
        |chunks: &[&[u8]]| assert_eq!(facts(&run(decoder.clone(), chunks)), expected, "{id}: {chunks:02X?}");
    if whole.len() <= 64 {
        some_partitions(&whole, 4, check_cut);
    } else {
        [&[&whole[..]][..], &whole.chunks(1).collect::<Vec<_>>()].into_iter().for_each(check_cut);
    }
}

/// Runs every case of a policy. Returns the number of cases.
fn run_suites(policy: &str, on_error: ErrorPolicy) -> usize {
    let mut cases = cases(|_| true);
    cases.retain(|case| case.dialect == "utf-8" && case.policy == policy);
    for case in &cases {
        let bom = if case.bom_strip { BomPolicy::Strip } else { BomPolicy::Keep };
        check(case, TextDecoder::new().with_error_policy(on_error).with_bom_policy(bom));
    }
    cases.len()
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn fatal() {
    assert!(run_suites("fatal", ErrorPolicy::Strict) > 4_000);
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn replace() {
    assert!(run_suites("replace", ErrorPolicy::Replace) > 4_900);
}

#[test]
#[cfg_attr(not(has_suites), ignore = "../shared/conformance is absent")]
fn skip() {
    assert!(run_suites("skip", ErrorPolicy::Skip) > 2_300);
}
