//! `LineFilter` passes the same lines for every partition. They are compared with a split of the whole input.
#![cfg(feature = "proxy")]
#![allow(missing_docs)]

mod support;

use core::error::Error;

use support::{Rng, every_partition, oracle, policies, some_partitions};
use utf8_codec::proxy::{Edit, LineError, LineFilter, RejectedLine};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};

#[derive(Debug, Default, PartialEq, Eq)]
struct Filtered {
    forwarded: Vec<u8>,
    errors: Vec<Utf8Error>,
    rejected: Vec<RejectedLine>,
    ended: Option<RejectedLine>,
}

fn filtered(mut filter: LineFilter, chunks: &[&[u8]]) -> Filtered {
    let mut all = Filtered::default();
    let mut take = |slice: &[u8], edit: Edit<'_>| match edit {
        Edit::Pass(range) => {
            assert!(!range.is_empty());
            all.forwarded.extend_from_slice(&slice[range]);
        }
        Edit::Insert(bytes) => {
            assert!(!bytes.is_empty());
            all.forwarded.extend_from_slice(bytes);
        }
        Edit::IllFormed(error) => all.errors.push(error),
        Edit::LineRejected(line) => all.rejected.push(line),
        edit => panic!("{edit:?}"),
    };
    let mut ended = None;
    for chunk in chunks {
        let result = filter.feed_with(chunk, |edit| take(chunk, edit));
        assert!(ended.is_none() || result == Err(ended.unwrap()), "it stays ended");
        ended = ended.or(result.err());
    }
    all.ended = filter.finish_with(|edit| take(&[], edit)).err();
    assert!(ended.is_none() || ended == all.ended);
    all
}

/// Each line with its terminator, and its offset.
fn lines(input: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    input.split_inclusive(|&byte| byte == b'\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line)
    })
}

/// Returns a line without its terminator.
fn content(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

/// Returns the expected result of a strict filter for the whole input.
fn expected(input: &[u8], max_length: usize, stops: bool) -> Filtered {
    let mut all = Filtered::default();
    for (number, (start, line)) in (1..).zip(lines(input)) {
        let (_, faults) = oracle::decode(line);
        let first =
            faults.first().map(|&(offset, kind, len)| Utf8Error::new(offset + start as u64, kind, len));
        // The length is checked before the well-formedness of the bytes within the limit.
        let before = first.map_or(line.len(), |error| error.offset as usize - start);
        let long = match first {
            Some(_) => {
                let text = &line[..before];
                text.len() > max_length + usize::from(text.ends_with(b"\r"))
            }
            None => content(line).len() > max_length,
        };
        let reason = match first {
            _ if long => Some(LineError::TooLong(max_length)),
            Some(error) => {
                all.errors.push(error);
                Some(LineError::IllFormed(error))
            }
            None => None,
        };
        match reason {
            None => all.forwarded.extend_from_slice(line),
            Some(reason) => all.rejected.push(RejectedLine { line: number, reason }),
        }
        if stops && let Some(line) = all.rejected.first() {
            all.ended = Some(*line);
            break;
        }
    }
    all
}

/// Bytes with many lines, some of them long.
fn partly_ill_formed_lines(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut bytes = rng.dirty_text(len);
    for _ in 0..len / 4 {
        let at = rng.below(len);
        bytes[at] = [b'\n', b'\r', b'a', b'\n'][rng.below(4)];
    }
    bytes
}

fn check(input: &[u8], chunks: &[&[u8]]) {
    for max_length in [1, 3, 5, 1_000] {
        let filter = LineFilter::new().with_max_length(max_length);
        let whole = expected(input, max_length, false);
        assert_eq!(filtered(filter.clone(), chunks), whole, "{max_length} {chunks:02X?}");
        let whole = expected(input, max_length, true);
        assert_eq!(
            filtered(filter.with_stop_at_error(true), chunks),
            whole,
            "stop {max_length} {chunks:02X?}"
        );
    }
}

#[test]
fn a_strict_line_filter_passes_the_well_formed_lines_for_every_partition() {
    let mut rng = Rng::new(1459);
    for round in 0..200 {
        let input = partly_ill_formed_lines(&mut rng, 1 + round % 8);
        every_partition(&input, |chunks| check(&input, chunks));
    }
    for round in 0..60 {
        let input = partly_ill_formed_lines(&mut rng, 9 + round);
        some_partitions(&input, 10, |chunks| check(&input, chunks));
    }
}

#[test]
fn a_repairing_line_filter_passes_the_text_of_a_decoder_if_no_line_is_too_long() {
    let mut rng = Rng::new(5424);
    for round in 0..40 {
        let mut input = partly_ill_formed_lines(&mut rng, 60 + 20 * round);
        if round % 2 == 0 {
            input.splice(0..0, *b"\xEF\xBB\xBF");
        }
        for on_error in policies().into_iter().filter(|policy| *policy != ErrorPolicy::Strict) {
            for bom in [BomPolicy::Keep, BomPolicy::Strip] {
                let decoder = TextDecoder::new().with_error_policy(on_error).with_bom_policy(bom);
                let mut text = String::new();
                let mut whole = decoder;
                whole.feed_into(&input, &mut text).unwrap();
                if let Some(end) = whole.finish() {
                    text.push_str(end.text().unwrap());
                }
                let mut reports = None;
                for size in [1, 3, 50, 10_000] {
                    let chunks: Vec<_> = input.chunks(size).collect();
                    let all = filtered(LineFilter::with_decoder(decoder), &chunks);
                    assert_eq!(String::from_utf8(all.forwarded).unwrap(), text, "{on_error:?} {chunks:02X?}");
                    assert_eq!(all.rejected, []);
                    assert_eq!(*reports.get_or_insert(all.errors.clone()), all.errors, "{chunks:02X?}");
                }
            }
        }
    }
}

#[test]
fn a_repaired_line_that_is_too_long_is_rejected_for_every_partition() {
    let mut rng = Rng::new(7);
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Escape);
    for round in 0..40 {
        let input = partly_ill_formed_lines(&mut rng, 200 + round);
        let mut whole = None;
        for size in [1, 2, 5, 64, 1_000] {
            let chunks: Vec<_> = input.chunks(size).collect();
            let all = filtered(LineFilter::with_decoder(decoder).with_max_length(12), &chunks);
            assert!(lines(&all.forwarded).all(|(_, line)| content(line).len() <= 12));
            assert_eq!(
                *whole.get_or_insert_with(|| filtered_again(&all)),
                filtered_again(&all),
                "{chunks:02X?}"
            );
        }
    }
}

#[test]
fn no_error_after_the_line_that_ends_the_stream_is_reported() {
    let mut rng = Rng::new(8);
    for policy in policies() {
        let decoder = TextDecoder::new().with_error_policy(policy);
        for round in 0..40 {
            let input = partly_ill_formed_lines(&mut rng, 200 + round);
            let filter = || LineFilter::with_decoder(decoder).with_max_length(12).with_stop_at_error(true);
            let whole = filtered(filter(), &[&input]);
            for size in [1, 2, 5, 64] {
                let chunks: Vec<_> = input.chunks(size).collect();
                assert_eq!(filtered(filter(), &chunks), whole, "{policy:?} {chunks:02X?}");
            }
        }
    }
}

fn filtered_again(all: &Filtered) -> (Vec<u8>, Vec<Utf8Error>, Vec<RejectedLine>) {
    (all.forwarded.clone(), all.errors.clone(), all.rejected.clone())
}

#[test]
fn a_held_line_never_passes_in_part() {
    let mut filter = LineFilter::new().with_stop_at_error(true);
    let mut forwarded = Vec::new();
    let mut feed = |slice: &[u8]| {
        filter.feed_with(slice, |edit| match edit {
            Edit::Pass(range) => forwarded.extend_from_slice(&slice[range]),
            Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
            _ => {}
        })
    };
    feed(b"ls\nrm /home").unwrap();
    let error = feed(b"\xFF/b\n").unwrap_err();
    assert_eq!(error.to_string(), "line 2: ill-formed UTF-8 at byte 11 (InvalidLead, 1 byte)");
    assert_eq!(feed(b"ls\n"), Err(error));
    assert_eq!(forwarded, b"ls\n");
}

#[test]
fn a_rejected_bom_rejects_the_first_line() {
    for (bom, input, kind) in [
        (BomPolicy::Require, &b"a\nb\n"[..], ErrorKind::MissingBom),
        (BomPolicy::Reject, b"\xEF\xBB\xBFa\nb\n", ErrorKind::UnexpectedBom),
    ] {
        for policy in policies() {
            let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
            for size in [1, 2, 100] {
                let chunks: Vec<_> = input.chunks(size).collect();
                let all = filtered(LineFilter::with_decoder(decoder), &chunks);
                assert_eq!(all.forwarded, b"b\n", "{policy:?} {bom:?} {size}");
                assert_eq!(all.errors.iter().map(|error| error.kind).collect::<Vec<_>>(), [kind]);
                assert_eq!(all.rejected.len(), 1);
            }
        }
    }
}

#[test]
fn held_bytes_include_an_unfinished_character() {
    let mut filter = LineFilter::new();
    filter.feed_with(b"first\nabc\xE2\x82", |_| {}).unwrap();
    assert_eq!((filter.held(), filter.offset()), (5, 11));
    filter.feed_with(b"\xAC", |_| {}).unwrap();
    assert_eq!((filter.held(), filter.offset()), (6, 12));
}

#[test]
fn memory_is_bounded_by_the_length_of_a_line() {
    let mut filter = LineFilter::new().with_max_length(100);
    let mut rejected = 0;
    for _ in 0..1_000 {
        let _ = filter
            .feed_with(&[b'x'; 99], |edit| rejected += usize::from(matches!(edit, Edit::LineRejected(_))));
        assert!(filter.held() <= 101);
    }
    assert_eq!(rejected, 1, "one error for one line");
    assert_eq!(filter.offset(), 99_000);
}

#[test]
fn a_rejected_line_is_an_error_with_its_number_and_reason() {
    let error = Utf8Error::new(9, ErrorKind::Surrogate, 1);
    let ill_formed = RejectedLine { line: 2, reason: LineError::IllFormed(error) };
    assert_eq!(ill_formed.to_string(), format!("line 2: {error}"));
    assert_eq!(Utf8Error::find(&ill_formed), Some(error));
    let too_long = RejectedLine { line: 3, reason: LineError::TooLong(80) };
    assert_eq!(too_long.to_string(), "line 3: longer than 80 bytes");
    assert!(too_long.source().is_none());
}
