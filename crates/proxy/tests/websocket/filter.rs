//! `FrameFilter` forwards the same messages for every partition into slices, in complete frames.

use bytes::Bytes;
use utf8_codec::{Ascii, ErrorKind};
use utf8_codec_proxy::Edit;
use utf8_codec_proxy::websocket::{CompressionPolicy, FrameError, FrameErrorKind, FrameFilter, FrameSender};

use crate::support::websocket::{Error, Read, Rules, SENDERS, conversation, facts, frame, read};
use crate::support::{Rng, every_partition, some_partitions};

fn filter_of(rules: Rules) -> FrameFilter {
    let filter = FrameFilter::new(rules.sender)
        .with_compression(if rules.compressed { CompressionPolicy::Pass } else { CompressionPolicy::Remove })
        .with_max_frame_length(rules.max_frame)
        .with_max_message_length(rules.max_message);
    match rules.substitute.and_then(Ascii::new) {
        Some(byte) => filter.with_substitute(byte),
        None => filter,
    }
}

struct Filtered {
    forwarded: Vec<u8>,
    reported: Vec<(u64, ErrorKind, u8)>,
    result: Result<(), FrameError>,
    is_closed: bool,
    offset: u64,
}

fn filter(rules: Rules, slices: &[&[u8]]) -> Filtered {
    let mut filter = filter_of(rules);
    let mut forwarded = Vec::new();
    let mut reported = Vec::new();
    let mut result = Ok(());
    for slice in slices {
        let mut end = 0;
        result = filter.feed_with(slice, |edit| match edit {
            Edit::Pass(range) => {
                assert!(!range.is_empty() && range.start >= end, "{range:?} after {end}");
                end = range.end;
                forwarded.extend_from_slice(&slice[range]);
            }
            Edit::Insert(bytes) => {
                assert!(!bytes.is_empty());
                forwarded.extend_from_slice(bytes);
            }
            Edit::IllFormed(error) => reported.push((error.offset, error.kind, error.len)),
            edit => panic!("{edit:?}"),
        });
    }
    Filtered { forwarded, reported, result, is_closed: filter.is_closed(), offset: filter.offset() }
}

fn error_of(result: Result<(), FrameError>) -> Option<Error> {
    result.err().map(facts)
}

fn check(stream: &[u8], rules: Rules, slices: &[&[u8]]) {
    let expected = read(stream, rules);
    let Filtered { forwarded, reported, result, is_closed, offset } = filter(rules, slices);
    let again = read(&forwarded, Rules { substitute: None, ..rules });
    assert_eq!((again.frames, again.error), (forwarded.len(), None), "complete frames: {slices:02X?}");
    assert_eq!(again.items, expected.items, "{slices:02X?}");
    // Of a message that has not ended, only bytes can be compared.
    let bytes = |read: &Read| read.unfinished.clone().unwrap_or_default().1;
    assert_eq!(bytes(&again), bytes(&expected), "{slices:02X?}");
    assert_eq!(error_of(result), expected.error, "{slices:02X?}");
    assert_eq!(is_closed, expected.is_closed, "{slices:02X?}");
    let end = if expected.is_closed { expected.frames } else { stream.len() } as u64;
    assert_eq!(offset, expected.error.map_or(end, |error| error.0), "{slices:02X?}");
    let rejected = match expected.error {
        Some((offset, _, FrameErrorKind::Text(error))) => Some((offset, error.kind, error.len)),
        _ => None,
    };
    let expected: Vec<_> = expected.repaired.into_iter().chain(rejected).collect();
    assert_eq!(reported, expected, "{slices:02X?}");
}

fn every_rule(sender: FrameSender) -> [Rules; 3] {
    let rules = Rules::new(sender);
    [
        rules,
        Rules { substitute: Some(b'?'), ..rules },
        Rules { compressed: true, max_frame: 30, max_message: 40, ..rules },
    ]
}

#[test]
fn short_streams_are_forwarded_for_every_partition() {
    for sender in SENDERS {
        let key = (sender == FrameSender::Client).then_some([0x37, 0xFA, 0x21, 0x3D]);
        let streams = [
            [frame(0x01, b"\xC3", key), frame(0x80, b"\xA9", key)].concat(),
            [frame(0x01, b"\xE2", key), frame(0x00, b"\x82", key), frame(0x80, b"\xFF", key)].concat(),
            frame(0x81, b"a\xF4\x90", key),
            [frame(0x01, b"", key), frame(0x80, b"", key)].concat(),
            [frame(0x89, b"", key), frame(0x81, b"\xC3", key)].concat(),
            frame(0xC1, b"\xC3", key),
        ];
        for stream in streams {
            let stream = &stream[..stream.len().min(12)];
            for rules in every_rule(sender) {
                every_partition(stream, |slices| check(stream, rules, slices));
            }
        }
    }
}

#[test]
fn conversations_are_forwarded_for_random_partitions() {
    let mut rng = Rng::new(1007);
    for round in 0..120 {
        let sender = rng.pick(&SENDERS);
        let stream = conversation(&mut rng, sender, 1 + round % 9, 3 + round % 40);
        for rules in every_rule(sender) {
            some_partitions(&stream, 3, |slices| check(&stream, rules, slices));
        }
    }
    for len in [1000, 70_000] {
        let sender = rng.pick(&SENDERS);
        let stream = conversation(&mut rng, sender, 9, len);
        for rules in every_rule(sender) {
            for size in [1, 7, 1021, usize::MAX] {
                check(&stream, rules, &stream.chunks(size.min(stream.len().max(1))).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn complete_frames_are_one_range_and_are_not_copied() {
    let key = Some([1, 2, 3, 4]);
    let stream = [
        frame(0x01, "grün".as_bytes(), key),
        frame(0x89, b"ping", key),
        frame(0x00, b"", key),
        frame(0x80, &[b'x'; 3000], key),
        frame(0x82, b"\xFF", key),
        frame(0x88, b"\x03\xE8", key),
    ]
    .concat();
    let mut edits = Vec::new();
    let mut filter = FrameFilter::new(FrameSender::Client);
    assert_eq!(filter.feed_with(&stream, |edit| edits.push(format!("{edit:?}"))), Ok(()));
    assert_eq!((edits, filter.is_closed()), (vec![format!("Pass(0..{})", stream.len())], true));
    let mut chunk = Bytes::from(stream);
    let before = chunk.clone();
    assert_eq!(FrameFilter::new(FrameSender::Client).rewrite(&mut chunk), Ok(()));
    assert_eq!((chunk.as_ptr(), chunk.len()), (before.as_ptr(), before.len()));
}

#[test]
fn a_chunk_is_replaced_by_what_is_forwarded() {
    let mut rng = Rng::new(3);
    for _ in 0..50 {
        let stream = conversation(&mut rng, FrameSender::Client, 6, 20);
        let rules = every_rule(FrameSender::Client)[1];
        some_partitions(&stream, 2, |slices| {
            let (mut filter_of_chunks, mut forwarded) = (filter_of(rules), Vec::new());
            let mut result = Ok(());
            for slice in slices {
                let mut chunk = Bytes::copy_from_slice(slice);
                result = filter_of_chunks.rewrite(&mut chunk);
                forwarded.extend_from_slice(&chunk);
            }
            let expected = filter(rules, slices);
            assert_eq!((forwarded, result), (expected.forwarded, expected.result));
            assert_eq!(filter_of_chunks.is_closed(), expected.is_closed);
        });
    }
}

#[test]
fn a_stream_ends_between_messages_and_another_can_start() {
    let mut filter = FrameFilter::new(FrameSender::Server);
    for (stream, at_end) in [
        (frame(0x81, b"a", None), None),
        (frame(0x01, b"a", None), Some((3, 1, FrameErrorKind::Truncated))),
        (b"\x81".to_vec(), Some((1, 0, FrameErrorKind::Truncated))),
        (
            frame(0x81, b"\xFF", None),
            read(&frame(0x81, b"\xFF", None), Rules::new(FrameSender::Server)).error,
        ),
        (frame(0x88, b"", None), None),
        (frame(0x80, b"a", None), Some((0, 0, FrameErrorKind::UnexpectedContinuation))),
    ] {
        let _ = filter.feed_with(&stream, |_| {});
        assert_eq!(error_of(filter.finish()), at_end, "{stream:02X?}");
        assert!(!filter.is_closed(), "another stream");
        assert_eq!(filter.offset(), 0);
    }
}
