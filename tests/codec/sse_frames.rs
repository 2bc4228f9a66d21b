//! Server-sent events with their bytes: `SseFramesCodec`.

use bytes::BytesMut;
use tokio_util::codec::Decoder;
use utf8_codec::TextDecoder;
use utf8_codec::codec::SseCodec;
use utf8_codec::codec::sse::{Event, SseFrame};

use crate::sse_model;
use crate::support::{Rng, every_partition, some_partitions};

/// The bytes, the event, and the offset after it.
type Frames = Vec<Result<(Vec<u8>, Option<Event>, u64), String>>;

fn decode(codec: SseCodec, chunks: &[&[u8]]) -> Frames {
    let mut codec = codec.into_frames();
    let mut buffer = BytesMut::new();
    let mut frames = Frames::new();
    let facts = |frame: SseFrame, end| (frame.bytes.to_vec(), frame.event, end);
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(frame) = codec.decode(&mut buffer).unwrap() {
            frames.push(
                frame.map(|frame| facts(frame, codec.codec().offset())).map_err(|error| error.to_string()),
            );
        }
    }
    while let Some(frame) = codec.decode_eof(&mut buffer).unwrap() {
        frames
            .push(frame.map(|frame| facts(frame, codec.codec().offset())).map_err(|error| error.to_string()));
    }
    assert!(buffer.is_empty());
    frames
}

fn strict() -> SseCodec {
    SseCodec::with_decoder(TextDecoder::new())
}

/// Checks that the frames follow one another in the stream, and have its events.
fn check(codec: &SseCodec, stream: &[u8], chunks: &[&[u8]]) {
    let whole = decode(codec.clone(), &[stream]);
    assert_eq!(decode(codec.clone(), chunks), whole, "{chunks:02X?}");
    // The events are those of `SseCodec`, unless the error is in a comment.
    let mut place = 0;
    let mut events = Vec::new();
    let mut has_error = false;
    for frame in whole {
        match frame {
            Ok((bytes, event, end)) => {
                let start = end as usize - bytes.len();
                assert_eq!(bytes, stream[start..end as usize]);
                assert!(start == place || (has_error && start > place), "a byte is missing");
                place = end as usize;
                events.extend(event);
                has_error = false;
            }
            Err(_) => has_error = true,
        }
    }
    let expected: Vec<_> = sse_model::decode(&mut codec.clone(), &[stream]).into_iter().flatten().collect();
    assert!(events.iter().all(|event| expected.contains(event)), "{events:?} {expected:?}");
    if !stream.contains(&0xFF) && !stream.contains(&0xE2) {
        assert_eq!(events, expected);
    }
}

#[test]
fn frames_are_the_same_for_every_partition() {
    for stream in [
        &b":\r\ndata\r\n\r"[..],
        b"\xEF\xBB\xBF\r\ndata\n",
        b"data\r\r\n\r\nx\n",
        b":\n\ndata\xFF\n\n:",
        b"data\n:\xFF\n\nx\n",
    ] {
        every_partition(stream, |chunks| check(&strict(), stream, chunks));
    }
    let mut rng = Rng::new(20);
    for round in 0..300 {
        let stream = sse_model::random_stream(&mut rng, 30);
        let codec = if round % 2 == 0 { SseCodec::new() } else { strict().with_dispatch_at_end(true) };
        some_partitions(&stream, 3, |chunks| check(&codec, &stream, chunks));
    }
}

#[test]
fn comments_and_keep_alives_are_frames() {
    let stream = b": ping\n\ndata:1\r\n\r\nid: 7\n\n\ndata: cut";
    let frames: Vec<_> = decode(strict(), &[stream]).into_iter().map(Result::unwrap).collect();
    let bytes: Vec<_> = frames.iter().map(|(bytes, ..)| &bytes[..]).collect();
    assert_eq!(bytes, [&b": ping\n\n"[..], b"data:1\r\n\r", b"\nid: 7\n\n", b"\n"]);
    assert_eq!(
        frames.iter().map(|(_, event, _)| event.is_some()).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    let last = decode(strict().with_dispatch_at_end(true), &[stream]).pop().unwrap().unwrap();
    assert_eq!((&last.0[..], &*last.1.unwrap().data), (&b"data: cut"[..], "cut"));
}

#[test]
fn bytes_with_an_error_are_not_returned() {
    let stream = b"data: 1\n: \xFF\n\ndata: 2\n\n: 34567890\n\ndata: 3\nid: 7\nx: 8901234\n\ndata: 4\n\n";
    let codec = || strict().with_max_event_length(30).with_max_line_length(9);
    some_partitions(stream, 100, |chunks| {
        let shown: Vec<_> = decode(codec(), chunks)
            .into_iter()
            .map(|frame| frame.map(|(bytes, ..)| String::from_utf8(bytes).unwrap()))
            .collect();
        let expected = [
            Err("line 2, column 3: ill-formed UTF-8 at byte 10 (InvalidLead, 1 byte)".to_owned()),
            Ok("data: 2\n\n".to_owned()),
            Err("line 6 at byte 22 is longer than 9 bytes".to_owned()),
            Err("line 10 at byte 48 is longer than 9 bytes".to_owned()),
            Ok("data: 4\n\n".to_owned()),
        ];
        assert_eq!(shown, expected, "{chunks:02X?}");
        let found = decode(codec().with_max_line_length(20).with_max_event_length(16), chunks);
        assert_eq!(found[3], Err("event at line 8, byte 34, or its ID, is longer than 16 bytes".to_owned()));
    });
}
