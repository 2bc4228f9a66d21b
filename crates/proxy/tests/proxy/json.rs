//! `Filter` and `LineFilter` for JSON make the same edits for every partition, compared with the oracle.

use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{BomPolicy, ErrorPolicy, LineEnding, Subset, TextDecoder};
use utf8_codec_proxy::{Edit, Filter, LineError, LineFilter};

use crate::support::json::{self, Error};
use crate::support::{Rng, every_partition, some_partitions};

const STRINGS: JsonStrings = JsonStrings::new().with_subset(&Subset::NO_NUL);

/// The forwarded bytes, the errors, and the rejected lines.
#[derive(Debug, Default, PartialEq)]
struct Filtered {
    bytes: Vec<u8>,
    errors: Vec<Error>,
    lines: Vec<(u64, Option<Error>)>,
}

impl Filtered {
    fn take(&mut self, slice: &[u8], edit: Edit<'_>) {
        match edit {
            Edit::Pass(range) => self.bytes.extend_from_slice(&slice[range]),
            Edit::Insert(bytes) => self.bytes.extend_from_slice(bytes),
            Edit::IllFormed(error) => self.errors.push(json::error(error)),
            Edit::LineRejected(rejected) => {
                let error = match rejected.reason {
                    LineError::IllFormed(error) => Some(json::error(error)),
                    _ => None,
                };
                self.lines.push((rejected.line, error));
            }
            _ => {}
        }
    }
}

fn filtered(mut filter: Filter, chunks: &[&[u8]]) -> (Filtered, u64) {
    let mut all = Filtered::default();
    for chunk in chunks {
        let _ = filter.feed_with(chunk, |edit| all.take(chunk, edit));
    }
    let result = filter.finish_with(|edit| all.take(&[], edit));
    assert!(result.is_ok() || all.errors.len() == 1 && filter.counters().total() == 1);
    (all, filter.offset())
}

fn lines_filtered(mut filter: LineFilter, chunks: &[&[u8]]) -> Filtered {
    let mut all = Filtered::default();
    for chunk in chunks {
        let _ = filter.feed_with(chunk, |edit| all.take(chunk, edit));
    }
    let _ = filter.finish_with(|edit| all.take(&[], edit));
    all
}

/// Calls `check` with partitions of inputs that have every kind of error, also in bytes.
fn partitions(mut check: impl FnMut(&[u8], &[&[u8]])) {
    let mut rng = Rng::new(47);
    for round in 0..40 {
        let mut input = json::dirty(&mut rng, 1 + round % 4, round % 3 == 0);
        input.truncate(8);
        every_partition(&input, |chunks| check(&input, chunks));
        let input = json::dirty(&mut rng, 4 + round, round % 3 == 0);
        some_partitions(&input, 4, |chunks| check(&input, chunks));
    }
}

#[test]
fn a_strict_filter_forwards_the_bytes_before_the_first_error() {
    partitions(|input, chunks| {
        let (_, errors) =
            json::decode(input, TextDecoder::new(), EscapePolicy::Strict, Some(&Subset::NO_NUL));
        let (found, offset) = filtered(Filter::new().with_json_strings(STRINGS), chunks);
        let first = errors.first();
        assert_eq!(found.errors, errors[..errors.len().min(1)], "{chunks:02X?}");
        let (end, after) = first.map_or((input.len(), input.len()), |&(offset, _, len, _)| {
            (offset as usize, offset as usize + usize::from(len))
        });
        assert_eq!((&found.bytes[..], offset), (&input[..end], after as u64), "{chunks:02X?}");
    });
}

#[test]
fn a_repairing_filter_forwards_the_text_of_the_policy() {
    let question =
        TextDecoder::new().with_error_policy(ErrorPolicy::Substitute(utf8_codec::Ascii::QUESTION_MARK));
    for policy in [EscapePolicy::Replace, EscapePolicy::Drop, EscapePolicy::Keep] {
        partitions(|input, chunks| {
            let filter =
                Filter::with_decoder(question.clone()).with_json_strings(STRINGS.with_escape_policy(policy));
            let (text, errors) = json::decode(input, question.clone(), policy, Some(&Subset::NO_NUL));
            let (found, offset) = filtered(filter, chunks);
            assert_eq!((found.bytes, found.errors), (text.into_bytes(), errors), "{chunks:02X?}");
            assert_eq!(offset, input.len() as u64);
        });
    }
}

#[test]
fn well_formed_json_is_one_pass_of_the_whole_slice() {
    let mut filter = Filter::new().with_json_strings(STRINGS);
    let slice = br#"{"a\\":"\uD83D\uDE00\n"}"#;
    let mut edits = Vec::new();
    let result = filter.feed_with(slice, |edit| edits.push(format!("{edit:?}")));
    assert_eq!((result, edits), (Ok(()), vec![format!("Pass(0..{})", slice.len())]));
}

/// What a filter does, computed for each line on its own.
fn expected_lines(input: &[u8], text: TextDecoder, policy: EscapePolicy, max_length: usize) -> Filtered {
    let mut all = Filtered::default();
    let mut offset = 0;
    for (number, line) in (1..).zip(input.split_inclusive(|&byte| byte == b'\n')) {
        let (out, mut errors) = json::decode(line, text.clone(), policy, Some(&Subset::NO_NUL));
        errors.iter_mut().for_each(|error| error.0 += offset);
        let is_strict =
            |error: &Error| if error.3 { policy } else { EscapePolicy::Strict } == EscapePolicy::Strict;
        let first = errors.iter().position(is_strict);
        let content = line.strip_suffix(b"\n").unwrap_or(line).len() as u64;
        let end = first.map_or(content, |first| errors[first].0 - offset);
        if end > max_length as u64 {
            // The errors before the limit are reported.
            let within = |error: &&Error| error.0 - offset < max_length as u64;
            all.errors.extend(errors.iter().filter(within));
            all.lines.push((number, None));
        } else if let Some(first) = first {
            all.errors.extend_from_slice(&errors[..=first]);
            all.lines.push((number, Some(errors[first])));
        } else {
            all.errors.append(&mut errors);
            all.bytes.extend_from_slice(out.as_bytes());
        }
        offset += line.len() as u64;
    }
    all
}

#[test]
fn a_line_filter_rejects_the_lines_with_an_error() {
    for policy in [EscapePolicy::Strict, EscapePolicy::Replace, EscapePolicy::Drop] {
        let filter = LineFilter::new()
            .with_line_ending(LineEnding::Lf)
            .with_json_strings(STRINGS.with_escape_policy(policy));
        partitions(|input, chunks| {
            let expected = expected_lines(input, TextDecoder::new(), policy, usize::MAX);
            assert_eq!(lines_filtered(filter.clone(), chunks), expected, "{policy} {chunks:02X?}");
        });
    }
}

#[test]
fn a_line_of_json_that_is_too_long_is_rejected_once() {
    let filter = LineFilter::new().with_max_length(9).with_json_strings(STRINGS);
    partitions(|input, chunks| {
        let mut expected = expected_lines(input, TextDecoder::new(), EscapePolicy::Strict, 9);
        let mut found = lines_filtered(filter.clone(), chunks);
        // An error after the limit is not reported, and one before it is the reason.
        expected.errors.retain(|error| expected.lines.iter().any(|line| line.1 == Some(*error)));
        found.errors.retain(|error| found.lines.iter().any(|line| line.1 == Some(*error)));
        assert_eq!(found, expected, "{chunks:02X?}");
    });
}

#[test]
fn a_stream_of_lines_can_end_at_the_first_wrong_escape() {
    let input = b"{\"a\":1}\n{\"b\":\"\\uD83D\"}\n{\"c\":2}\n";
    some_partitions(input, 20, |chunks| {
        let filter = LineFilter::new().with_json_strings(STRINGS).with_stop_at_error(true);
        let found = lines_filtered(filter, chunks);
        assert_eq!(found.bytes, b"{\"a\":1}\n");
        assert_eq!(found.lines.len(), 1);
    });
}

#[test]
fn a_rejected_line_ends_where_the_repaired_text_has_a_terminator() {
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Skip);
    let filter =
        LineFilter::with_decoder(decoder).with_line_ending(LineEnding::CrLf).with_json_strings(STRINGS);
    some_partitions(b"\\uD83D a\r\xFF\nb\r\n", 20, |chunks| {
        let found = lines_filtered(filter.clone(), chunks);
        assert_eq!((&found.bytes[..], found.lines.len()), (&b"b\r\n"[..], 1), "{chunks:02X?}");
    });
}

#[test]
fn the_offset_after_a_rejection_is_the_end_of_the_error() {
    let with_bom = TextDecoder::new().with_bom_policy(BomPolicy::Require);
    for (decoder, input, expected) in
        [(TextDecoder::new(), &br"\uD83D\abc"[..], 6), (with_bom, "é".as_bytes(), 0)]
    {
        every_partition(input, |chunks| {
            let mut filter = Filter::with_decoder(decoder.clone()).with_json_strings(STRINGS);
            let mut lines =
                LineFilter::with_decoder(decoder.clone()).with_json_strings(STRINGS).with_stop_at_error(true);
            for chunk in chunks {
                let _ = filter.feed_with(chunk, |_| {});
                let _ = lines.feed_with(chunk, |_| {});
            }
            assert_eq!([filter.offset(), lines.offset()], [expected; 2], "{chunks:02X?}");
        });
    }
}

#[test]
fn a_rejected_last_line_leaves_nothing_for_the_next_stream() {
    let mut filter = LineFilter::new().with_json_strings(STRINGS);
    let mut all = Filtered::default();
    for stream in [&br"\uD83D\u00"[..], b"41\n"] {
        let _ = filter.feed_with(stream, |edit| all.take(stream, edit));
        let _ = filter.finish_with(|edit| all.take(b"", edit));
    }
    assert_eq!((&all.bytes[..], all.errors.len(), all.lines.len()), (&b"41\n"[..], 1, 1));
}
