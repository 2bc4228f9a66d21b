//! `Filter` makes the same edits for every partition. Also tests its body hook.

use bytes::Bytes;
use utf8_codec::json::JsonStrings;
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder, Utf8Error};
use utf8_codec_proxy::{Edit, Filter, ForwardPolicy};

use crate::support::cases::cases;
use crate::support::{Rng, every_partition, oracle, policies, some_partitions};

/// The forwarded bytes, the errors, and the last result.
type Filtered = (Vec<u8>, Vec<Utf8Error>, Result<(), Utf8Error>);

/// Filters by applying the edits of each slice.
fn edited(mut filter: Filter, chunks: &[&[u8]]) -> Filtered {
    let (mut forwarded, mut errors) = (Vec::new(), Vec::new());
    for chunk in chunks {
        let mut end = 0;
        let (start, held, before) = (filter.offset(), filter.pending().len(), forwarded.len());
        let repaired = errors.len();
        let result = filter.feed_with(chunk, |edit| match edit {
            Edit::Pass(range) => {
                assert!(!range.is_empty() && range.start >= end, "{range:?} after {end}");
                end = range.end;
                forwarded.extend_from_slice(&chunk[range]);
            }
            Edit::Insert(bytes) => {
                assert!(!bytes.is_empty());
                forwarded.extend_from_slice(bytes);
            }
            Edit::IllFormed(error) => errors.push(error),
            edit => panic!("{edit:?}"),
        });
        assert!(core::str::from_utf8(&forwarded).is_ok(), "whole characters only");
        if result.is_ok() {
            assert_eq!(filter.offset(), start + chunk.len() as u64);
        }
        // A stripped BOM may precede the slice.
        if result.is_ok() && errors.len() == repaired && start > 3 {
            let now = filter.pending().len();
            assert_eq!(forwarded.len() - before, held + chunk.len() - now, "nothing vanishes");
        }
    }
    let result = filter.finish_with(|edit| match edit {
        Edit::Pass(range) => panic!("{range:?} of nothing"),
        Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
        Edit::IllFormed(error) => errors.push(error),
        edit => panic!("{edit:?}"),
    });
    (forwarded, errors, result)
}

/// Filters with the hook that replaces a chunk.
fn hooked(mut filter: Filter, chunks: &[&[u8]]) -> Filtered {
    let (mut forwarded, mut errors) = (Vec::new(), Vec::new());
    let mut hook = |filter: &mut Filter, mut body: Option<Bytes>, end: bool| {
        let result = filter.rewrite_with(&mut body, end, |error| errors.push(error));
        assert!(end || body.is_some(), "`None` ends a body");
        let body = body.unwrap_or_default();
        assert!(core::str::from_utf8(&body).is_ok(), "whole characters only");
        forwarded.extend_from_slice(&body);
        result
    };
    for chunk in chunks {
        let _ = hook(&mut filter, Some(Bytes::copy_from_slice(chunk)), false);
    }
    let result = hook(&mut filter, None, true);
    (forwarded, errors, result)
}

fn check(input: &[u8], chunks: &[&[u8]]) {
    let (good, faults) = oracle::decode(input);
    let facts = |errors: &[Utf8Error]| errors.iter().map(|e| (e.offset, e.kind, e.len)).collect::<Vec<_>>();
    for run in [edited, hooked] {
        let skip = Filter::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Skip));
        let (text, errors, _) = run(skip, chunks);
        assert_eq!((text, facts(&errors)), (good.clone().into_bytes(), faults.clone()), "skip {chunks:02X?}");

        let (text, errors, result) = run(Filter::new(), chunks);
        assert_eq!(facts(&errors), faults[..faults.len().min(1)], "strict {chunks:02X?}");
        let end = errors.first().map_or(input.len(), |error| error.offset as usize);
        assert_eq!(text, &input[..end], "all good bytes before the first error are forwarded");
        assert_eq!(result, errors.first().map_or(Ok(()), |error| Err(*error)));

        let replace = Filter::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
        let replaced = String::from_utf8_lossy(input);
        assert_eq!(run(replace, chunks).0, replaced.as_bytes(), "replace {chunks:02X?}");
    }
}

#[test]
fn a_filter_forwards_and_reports_the_same_for_every_partition() {
    let mut rng = Rng::new(7000);
    for round in 0..500 {
        let input = rng.dirty_text(1 + round % 8);
        every_partition(&input, |chunks| check(&input, chunks));
    }
    for round in 0..50 {
        let input = rng.dirty_text(9 + round);
        some_partitions(&input, 10, |chunks| check(&input, chunks));
    }
}

/// Returns the result of `TextDecoder` for the same chunks.
fn decoded(mut decoder: TextDecoder, chunks: &[&[u8]]) -> (Vec<u8>, Option<Utf8Error>) {
    let mut text = Vec::new();
    for chunk in chunks {
        for piece in decoder.feed(chunk) {
            match piece.text() {
                Ok(good) => text.extend_from_slice(good.as_bytes()),
                Err(error) => return (text, Some(error)),
            }
        }
    }
    match decoder.finish().as_ref().map(|piece| piece.text().map(str::as_bytes)) {
        Some(Ok(repair)) => text.extend_from_slice(repair),
        Some(Err(error)) => return (text, Some(error)),
        None => {}
    }
    (text, None)
}

#[test]
fn a_filter_forwards_the_text_of_a_decoder_under_every_policy() {
    let mut rng = Rng::new(16);
    let boms = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject];
    for round in 0..60 {
        let mut input = rng.dirty_text(40 + round);
        if round % 2 == 0 {
            input.splice(0..0, *b"\xEF\xBB\xBF");
        }
        for (on_error, bom) in policies().into_iter().flat_map(|policy| boms.map(|bom| (policy, bom))) {
            for subset in [None, Some(&Subset::NO_NONCHARACTERS), Some(&Subset::LATIN_1)] {
                let decoder = TextDecoder::new().with_error_policy(on_error).with_bom_policy(bom);
                let decoder = subset.map_or(decoder.clone(), |subset| decoder.with_subset(subset));
                for size in [1, 2, 7, 200] {
                    let chunks: Vec<_> = input.chunks(size).collect();
                    let (text, error) = decoded(decoder.clone(), &chunks);
                    for run in [edited, hooked] {
                        let (forwarded, _, result) = run(Filter::with_decoder(decoder.clone()), &chunks);
                        assert_eq!(forwarded, text, "{on_error:?} {bom:?} {chunks:02X?}");
                        assert_eq!(result.err(), error, "{on_error:?} {bom:?} {chunks:02X?}");
                    }
                }
            }
        }
    }
}

/// Returns the number of bytes before the first one that is part of no character, and the error.
fn possible(input: &[u8]) -> (usize, Option<(u64, ErrorKind, u8)>) {
    let error = oracle::decode(input).1.first().copied();
    // The bytes of the sequence, except one that starts no character.
    let is_start = |at: usize| matches!(input[at], 0xC2..=0xF4);
    let len = error
        .map_or(input.len(), |(at, _, len)| at as usize + if is_start(at as usize) { len.into() } else { 0 });
    (len, error)
}

#[test]
fn bytes_are_forwarded_up_to_the_first_impossible_one() {
    let filter = || Filter::new().with_forward_policy(ForwardPolicy::Bytes);
    let check = |input: &[u8], chunks: &[&[u8]]| {
        let (possible, expected) = possible(input);
        let (mut filter, mut forwarded, mut rejected) = (filter(), Vec::new(), None);
        for chunk in chunks {
            let result = filter.feed_with(chunk, |edit| match edit {
                Edit::Pass(range) => forwarded.extend_from_slice(&chunk[range]),
                Edit::IllFormed(error) => rejected = Some(error),
                edit => panic!("{edit:?}"),
            });
            assert!(result.is_err() || filter.offset() == forwarded.len() as u64);
        }
        let result = filter.finish_with(|edit| match edit {
            Edit::IllFormed(error) => rejected = Some(error),
            edit => panic!("{edit:?}"),
        });
        assert_eq!(forwarded, &input[..possible], "{chunks:02X?}");
        assert_eq!(rejected.map(|error| (error.offset, error.kind, error.len)), expected, "{chunks:02X?}");
        assert_eq!(result, rejected.map_or(Ok(()), Err));
    };
    let mut rng = Rng::new(43);
    for round in 0..500 {
        let input = rng.dirty_text(1 + round % 8);
        every_partition(&input, |chunks| check(&input, chunks));
    }
    for input in cases() {
        some_partitions(&input, 4, |chunks| check(&input, chunks));
    }
}

#[test]
fn characters_are_held_where_they_could_change() {
    let bytes = |filter: Filter| filter.with_forward_policy(ForwardPolicy::Bytes);
    let decoder = TextDecoder::new();
    let mut filters: Vec<_> = [
        decoder.clone().with_bom_policy(BomPolicy::Strip),
        decoder.clone().with_bom_policy(BomPolicy::Reject),
        decoder.clone().with_subset(&Subset::LATIN_1),
    ]
    .into_iter()
    .chain(
        policies()
            .into_iter()
            .map(|policy| decoder.clone().with_error_policy(policy))
            .filter(|d| *d != decoder),
    )
    .map(Filter::with_decoder)
    .collect();
    filters.push(Filter::new().with_json_strings(JsonStrings::new()));
    for filter in filters {
        let mut rng = Rng::new(44);
        for _ in 0..20 {
            let input = rng.dirty_text(20);
            for size in [1, 2, 7] {
                let chunks: Vec<_> = input.chunks(size).collect();
                assert_eq!(
                    edited(bytes(filter.clone()), &chunks),
                    edited(filter.clone(), &chunks),
                    "{filter:?}"
                );
            }
        }
    }
}

/// Formats the edits of one slice.
fn edits(filter: &mut Filter, slice: &[u8]) -> Vec<String> {
    let mut edits = Vec::new();
    let _ = filter.feed_with(slice, |edit| edits.push(format!("{edit:?}")));
    edits
}

#[test]
fn a_slice_after_a_split_character_passes_without_a_copy() {
    let mut filter = Filter::new();
    assert_eq!(edits(&mut filter, b"sch\xC3"), ["Pass(0..3)"]);
    assert_eq!(edits(&mut filter, b"\xB6n \xF0"), ["Insert([195])", "Pass(0..3)"]);
    assert_eq!(edits(&mut filter, b"\x9F"), [""; 0]);
    assert_eq!(edits(&mut filter, b""), [""; 0]);
    assert_eq!(filter.pending(), b"\xF0\x9F");
    assert_eq!(edits(&mut filter, b"\x92\xA9"), ["Insert([240, 159])", "Pass(0..2)"]);
    // The held bytes are ill-formed, and the next slice passes from its start.
    let mut filter = Filter::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Skip));
    assert_eq!(edits(&mut filter, b"\xE2\x82"), [""; 0]);
    let error = Utf8Error::new(0, ErrorKind::MissingContinuation, 2);
    assert_eq!(edits(&mut filter, b"text"), [format!("IllFormed({error:?})"), "Pass(0..4)".to_owned()]);
}

#[test]
fn short_text_between_replacements_is_inserted_with_them() {
    let mut filter = Filter::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let edits = edits(&mut filter, &b"ab\xFF".repeat(100));
    let of = |kind| edits.iter().filter(|edit| edit.starts_with(kind)).count();
    assert_eq!(of("IllFormed"), 100);
    assert!(of("Pass") < 10 && of("Insert") < 20, "{edits:?}");
}

#[test]
fn a_hook_never_sets_none_before_the_end() {
    // With `None`, pingora forwarded these chunks as a complete request with the body `na`.
    let mut filter = Filter::new();
    let mut sent = Vec::new();
    let hook = |filter: &mut Filter, chunk: Option<&'static [u8]>, end| {
        let mut body = chunk.map(Bytes::from_static);
        assert_eq!(filter.rewrite(&mut body, end), Ok(()));
        body
    };
    for chunk in [&b"na\xF0"[..], b"\x9F", b"\x98", b"", b"\x80x"] {
        sent.extend_from_slice(&hook(&mut filter, Some(chunk), false).expect("the body goes on"));
    }
    assert_eq!(sent, "na\u{1F600}x".as_bytes());
    assert_eq!(hook(&mut filter, None, true), None, "the end adds nothing");

    let mut filter = Filter::new();
    assert_eq!(hook(&mut filter, None, false).as_deref(), Some(&b""[..]), "only the flag ends a body");
    assert_eq!(hook(&mut filter, Some(b"\xE2"), false).as_deref(), Some(&b""[..]));
    assert_eq!(hook(&mut filter, Some(b"\x82\xAC"), true).as_deref(), Some("€".as_bytes()));
}

#[test]
fn a_rejected_stream_stays_rejected() {
    let mut filter = Filter::new();
    let rejected = Err(Utf8Error::new(1, ErrorKind::InvalidLead, 1));
    let mut body = Some(Bytes::from_static(b"a\xFFb\xC0"));
    assert_eq!((filter.rewrite(&mut body, false), body.as_deref()), (rejected, Some(&b"a"[..])));
    for (end, left) in [(false, Some(Bytes::new())), (true, None)] {
        let mut body = Some(Bytes::from_static(b"good"));
        assert_eq!((filter.rewrite(&mut body, end), body), (rejected, left));
    }
    assert_eq!(filter.feed_with(b"good", |edit| panic!("{edit:?}")), rejected);
    assert_eq!(filter.finish_with(|edit| panic!("{edit:?}")), rejected);
    assert_eq!(filter.counters().total(), 1);
}

#[test]
fn an_end_inside_a_character_is_rejected_or_repaired() {
    let cut = Utf8Error::new(1, ErrorKind::Truncated, 2);
    let mut body = Some(Bytes::from_static(b"a\xE2\x82"));
    assert_eq!(Filter::new().rewrite(&mut body, true), Err(cut));
    assert_eq!(body.as_deref(), Some(&b"a"[..]));

    let mut filter = Filter::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Escape));
    let mut body = Some(Bytes::from_static(b"a\xE2\x82"));
    assert_eq!(filter.rewrite(&mut body, false), Ok(()));
    let mut body = None;
    let mut errors = Vec::new();
    assert_eq!(filter.rewrite_with(&mut body, true, |error| errors.push(error)), Ok(()));
    assert_eq!(errors, [cut]);
    assert_eq!(body.as_deref(), Some(&br"\xe2\x82"[..]));
}

#[test]
fn a_filter_keeps_the_bom_unless_its_decoder_does_not() {
    let text = |bom| {
        let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(bom);
        hooked(Filter::with_decoder(decoder), &[b"\xEF", b"\xBB", b"\xBFa"])
    };
    assert_eq!(text(BomPolicy::Keep).0, "\u{FEFF}a".as_bytes());
    assert_eq!(text(BomPolicy::Strip).0, b"a");
    let (forwarded, errors, result) = text(BomPolicy::Reject);
    assert_eq!((forwarded, errors.len()), (vec![], 1), "no repair makes it acceptable");
    assert_eq!(result, Err(Utf8Error::new(0, ErrorKind::UnexpectedBom, 3)));
}
