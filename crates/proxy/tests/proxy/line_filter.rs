//! `LineFilter` passes the same lines for every partition. They are compared with a split of the whole input.

use utf8_codec::{Ascii, BomPolicy, ErrorKind, ErrorPolicy, LineEnding, Subset, TextDecoder, Utf8Error};
use utf8_codec_proxy::{Edit, LineError, LineFilter};

use crate::support::{Rng, every_partition, oracle, policies, some_partitions};

#[derive(Debug, Default, PartialEq, Eq)]
struct Filtered {
    forwarded: Vec<u8>,
    errors: Vec<Utf8Error>,
    /// The numbers of the rejected lines, and why.
    rejected: Vec<(u64, LineError)>,
    ended: Option<(u64, LineError)>,
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
        Edit::LineRejected(line) => all.rejected.push((line.line, line.reason)),
        edit => panic!("{edit:?}"),
    };
    let mut ended = None;
    for chunk in chunks {
        let result = filter.feed_with(chunk, |edit| take(chunk, edit));
        assert!(ended.is_none() || result == Err(ended.unwrap()), "it stays ended");
        ended = ended.or(result.err());
    }
    let at_end = filter.finish_with(|edit| take(&[], edit)).err();
    assert!(ended.is_none() || ended == at_end);
    all.ended = at_end.map(|line| (line.line, line.reason));
    all
}

const ENDINGS: [LineEnding; 6] = [
    LineEnding::LfOrCrLf,
    LineEnding::Lf,
    LineEnding::CrLf,
    LineEnding::Any,
    LineEnding::Ascii(Ascii::NUL),
    LineEnding::Ascii(Ascii::new(b'\r').unwrap()),
];

/// Returns the length of the first line with its terminator.
fn first_line(input: &[u8], ending: LineEnding) -> usize {
    let ends = |at: usize| match ending {
        LineEnding::LfOrCrLf | LineEnding::Lf => input[at] == b'\n',
        LineEnding::CrLf => input[..=at].ends_with(b"\r\n"),
        LineEnding::Any => matches!(input[at], b'\r' | b'\n'),
        LineEnding::Ascii(byte) => input[at] == byte.get(),
        ending => panic!("{ending:?}"),
    };
    let Some(at) = (0..input.len()).find(|&at| ends(at)) else { return input.len() };
    let is_pair = ending == LineEnding::Any && input[at..].starts_with(b"\r\n");
    at + 1 + usize::from(is_pair)
}

/// Each line with its terminator, and its offset.
fn lines(input: &[u8], ending: LineEnding) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    core::iter::from_fn(move || {
        let (at, rest) = (start, &input[start..]);
        start += first_line(rest, ending);
        (!rest.is_empty()).then(|| (at, &input[at..start]))
    })
}

/// Returns a line without its terminator.
fn content(line: &[u8], ending: LineEnding) -> &[u8] {
    let without = |terminators: &[&[u8]]| {
        let content = terminators.iter().find_map(|terminator| line.strip_suffix(*terminator));
        content.unwrap_or(line)
    };
    match ending {
        LineEnding::LfOrCrLf => without(&[b"\r\n", b"\n"]),
        LineEnding::Lf => without(&[b"\n"]),
        LineEnding::CrLf => without(&[b"\r\n"]),
        LineEnding::Any => without(&[b"\r\n", b"\n", b"\r"]),
        LineEnding::Ascii(byte) => without(&[&[byte.get()]]),
        ending => panic!("{ending:?}"),
    }
}

/// Returns the expected result of a strict filter for the whole input.
fn expected(input: &[u8], ending: LineEnding, max_length: usize, stops: bool) -> Filtered {
    let mut all = Filtered::default();
    for (number, (start, line)) in (1..).zip(lines(input, ending)) {
        let (_, faults) = oracle::decode(line);
        let first =
            faults.first().map(|&(offset, kind, len)| Utf8Error::new(offset + start as u64, kind, len));
        // The length is checked before the well-formedness of the bytes within the limit.
        let before = first.map_or(line.len(), |error| error.offset as usize - start);
        let long = match first {
            Some(_) => {
                let text = &line[..before];
                // The CR may be a part of the terminator.
                let may_have_cr = matches!(ending, LineEnding::LfOrCrLf | LineEnding::CrLf);
                text.len() > max_length + usize::from(may_have_cr && text.ends_with(b"\r"))
            }
            None => content(line, ending).len() > max_length,
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
            Some(reason) => all.rejected.push((number, reason)),
        }
        if stops && !all.rejected.is_empty() {
            all.ended = all.rejected.first().copied();
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
        let terminators = [&b"\n"[..], b"\r", b"a", b"\n", b"\r\n", b"\0"];
        let part = terminators[rng.below(terminators.len())];
        let end = (at + part.len()).min(len);
        bytes[at..end].copy_from_slice(&part[..end - at]);
    }
    bytes
}

fn check(input: &[u8], ending: LineEnding, chunks: &[&[u8]]) {
    for max_length in [1, 3, 5, 1_000] {
        let filter = LineFilter::new().with_line_ending(ending).with_max_length(max_length);
        for stops in [false, true] {
            let whole = expected(input, ending, max_length, stops);
            let filtered = filtered(filter.clone().with_stop_at_error(stops), chunks);
            assert_eq!(filtered, whole, "{ending} {max_length} {stops} {chunks:02X?}");
        }
    }
}

#[test]
fn a_strict_line_filter_passes_the_well_formed_lines() {
    let mut rng = Rng::new(1459);
    for round in 0..200 {
        let input = partly_ill_formed_lines(&mut rng, 1 + round % 8);
        for ending in ENDINGS {
            every_partition(&input, |chunks| check(&input, ending, chunks));
        }
    }
    for round in 0..60 {
        let input = partly_ill_formed_lines(&mut rng, 9 + round);
        for ending in ENDINGS {
            some_partitions(&input, 10, |chunks| check(&input, ending, chunks));
        }
    }
}

/// Every sequence of these parts, so that every terminator is next to every other and to ill-formed bytes.
#[test]
fn every_sequence_of_terminators_is_split_for_every_partition() {
    const PARTS: [&[u8]; 6] = [b"\r", b"\n", b"ab", b"\0", b"\xFF", b"\xE2\x82"];
    for number in 0..PARTS.len().pow(4) {
        let parts = (0..4_u32).map(|place| PARTS[number / PARTS.len().pow(place) % PARTS.len()]);
        let input: Vec<u8> = parts.flatten().copied().collect();
        for ending in ENDINGS {
            let each: Vec<&[u8]> = input.chunks(1).collect();
            for at in 0..input.len() {
                check(&input, ending, &[&input[..at], &input[at..]]);
            }
            check(&input, ending, &each);
        }
    }
}

#[test]
fn a_repairing_line_filter_passes_the_text_of_a_decoder() {
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
                let mut whole = decoder.clone();
                whole.feed_into(&input, &mut text).unwrap();
                if let Some(end) = whole.finish() {
                    text.push_str(end.text().unwrap());
                }
                let mut reports = None;
                for (size, ending) in
                    [1, 3, 50, 10_000].into_iter().flat_map(|size| ENDINGS.map(|ending| (size, ending)))
                {
                    let chunks: Vec<_> = input.chunks(size).collect();
                    let all =
                        filtered(LineFilter::with_decoder(decoder.clone()).with_line_ending(ending), &chunks);
                    assert_eq!(
                        String::from_utf8(all.forwarded).unwrap(),
                        text,
                        "{on_error:?} {ending} {chunks:02X?}"
                    );
                    assert_eq!(all.rejected, []);
                    assert_eq!(*reports.get_or_insert(all.errors.clone()), all.errors, "{chunks:02X?}");
                }
            }
        }
    }
}

#[test]
fn a_repaired_line_that_is_too_long_is_rejected() {
    let mut rng = Rng::new(7);
    // The last two write terminators.
    let policies = [ErrorPolicy::Escape, ErrorPolicy::ReplaceWith('\n'), ErrorPolicy::ReplaceWith('\r')];
    for (round, policy) in (0..60).zip(policies.into_iter().cycle()) {
        let input = partly_ill_formed_lines(&mut rng, 200 + round);
        for ending in ENDINGS {
            let filter = LineFilter::with_decoder(TextDecoder::new().with_error_policy(policy));
            let filter = filter.with_line_ending(ending).with_max_length(12);
            let mut whole = None;
            for size in [1, 2, 5, 64, 1_000] {
                let chunks: Vec<_> = input.chunks(size).collect();
                let all = filtered(filter.clone(), &chunks);
                let is_short = |line| content(line, ending).len() <= 12;
                assert!(
                    lines(&all.forwarded, ending).all(|(_, line)| is_short(line)),
                    "{ending} {chunks:02X?}"
                );
                let all = filtered_again(&all);
                assert_eq!(*whole.get_or_insert_with(|| all.clone()), all, "{policy} {ending} {chunks:02X?}");
            }
        }
    }
}

/// The rest of a line that is too long is not decoded, so a terminator outside the subset ends it.
#[test]
fn a_terminator_outside_the_subset_ends_a_line_that_is_too_long() {
    let decoder = TextDecoder::new().with_subset(&Subset::NO_NUL);
    let filter =
        LineFilter::with_decoder(decoder).with_line_ending(LineEnding::Ascii(Ascii::NUL)).with_max_length(1);
    let outside = Utf8Error::new(3, ErrorKind::OutsideSubset, 1);
    every_partition(b"ab\0\0c", |chunks| {
        let all = filtered(filter.clone(), chunks);
        assert_eq!(
            all.rejected,
            [(1, LineError::TooLong(1)), (2, LineError::IllFormed(outside))],
            "{chunks:?}"
        );
        assert_eq!(all.errors, [outside], "{chunks:?}");
    });
}

#[test]
fn no_error_after_the_line_that_ends_the_stream_is_reported() {
    let mut rng = Rng::new(8);
    for policy in policies() {
        let decoder = TextDecoder::new().with_error_policy(policy);
        for round in 0..40 {
            let input = partly_ill_formed_lines(&mut rng, 200 + round);
            let ending = ENDINGS[round % ENDINGS.len()];
            let filter = || {
                let filter = LineFilter::with_decoder(decoder.clone()).with_line_ending(ending);
                filter.with_max_length(12).with_stop_at_error(true)
            };
            let whole = filtered(filter(), &[&input]);
            for size in [1, 2, 5, 64] {
                let chunks: Vec<_> = input.chunks(size).collect();
                assert_eq!(filtered(filter(), &chunks), whole, "{policy:?} {chunks:02X?}");
            }
        }
    }
}

fn filtered_again(all: &Filtered) -> (Vec<u8>, Vec<Utf8Error>, Vec<(u64, LineError)>) {
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
                let all = filtered(LineFilter::with_decoder(decoder.clone()), &chunks);
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
    let mut lines = Vec::new();
    let mut filter = LineFilter::new().with_max_length(3);
    filter
        .feed_with(b"a\nb\xED\xA0\nlong\n", |edit| match edit {
            Edit::LineRejected(line) => lines.push(line),
            edit => assert!(matches!(edit, Edit::Pass(_) | Edit::IllFormed(_)), "{edit:?}"),
        })
        .unwrap();
    let [ill_formed, too_long] = lines[..] else { panic!("{lines:?}") };
    let error = Utf8Error::new(3, ErrorKind::Surrogate, 1);
    assert_eq!(ill_formed.to_string(), format!("line 2: {error}"));
    assert_eq!(ill_formed.reason, LineError::IllFormed(error));
    assert_eq!(too_long.to_string(), "line 3: longer than 3 bytes");
}

#[test]
fn the_numbers_of_lines_continue_in_the_next_stream() {
    // The first stream, and the number of the first line of the next one.
    for (first, number) in [
        (&b""[..], 1),
        (b"a\n", 2),
        (b"a", 2),
        (b"a\nb", 3),
        (b"\xFF\n", 2),
        (b"\xFF", 2),
        (b"a\n\xC3", 3),
        (b"a\r", 2),
    ] {
        for &ending in &[LineEnding::LfOrCrLf, LineEnding::Any] {
            let mut filter = LineFilter::new().with_line_ending(ending);
            filter.feed_with(first, |_| {}).unwrap();
            filter.finish_with(|_| {}).unwrap();
            let mut rejected = Vec::new();
            let _ = filter.feed_with(b"\xFF\n", |edit| {
                if let Edit::LineRejected(line) = edit {
                    rejected.push(line.line);
                }
            });
            assert_eq!(rejected, [number], "{first:?} {ending}");
        }
    }
}
