//! `FrameReader` returns what the model reads from the whole stream, for every partition into chunks.

use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_proxy::websocket::{FrameEvent, FrameReader, FrameSender, Opcode};

use crate::support::websocket::{Read, Rules, SENDERS, conversation, facts, frame, read};
use crate::support::{Rng, every_partition, policies, some_partitions};

/// Reads a stream in chunks. The bytes of complete frames are not counted.
fn collect(mut reader: FrameReader, chunks: &[&[u8]]) -> Read {
    let mut all = Read::default();
    let mut message = None;
    for chunk in chunks {
        for event in reader.feed(&mut chunk.to_vec()) {
            let mut push = |kind: u8, bytes: &[u8]| {
                let (_, payload) = message.get_or_insert((kind, Vec::new()));
                payload.extend_from_slice(bytes);
            };
            match event {
                Ok(FrameEvent::Text(text)) => {
                    assert!(!text.is_empty());
                    push(1, text.as_bytes());
                }
                Ok(FrameEvent::Seam(text)) => push(1, text.as_bytes()),
                Ok(FrameEvent::Repaired(text, _)) => push(1, text.as_bytes()),
                Ok(FrameEvent::Binary(data)) => {
                    assert!(!data.is_empty());
                    push(2, data);
                }
                Ok(FrameEvent::End(opcode)) => {
                    push(opcode as u8, b"");
                    let message = message.take().expect("a message");
                    assert_eq!(message.0, opcode as u8);
                    all.items.push(message);
                }
                Ok(FrameEvent::Ping(payload)) => all.items.push((9, payload.to_vec())),
                Ok(FrameEvent::Pong(payload)) => all.items.push((10, payload.to_vec())),
                Ok(FrameEvent::Close(close)) => {
                    let payload =
                        close.map(|close| [&close.code().to_be_bytes(), close.reason().as_bytes()].concat());
                    all.items.push((8, payload.unwrap_or_default()));
                }
                Ok(event) => panic!("{event:?}"),
                Err(error) => all.error = all.error.or(Some(facts(error))),
            }
        }
    }
    all.is_closed = reader.is_closed();
    let end = chunks.concat().len() as u64;
    assert!(all.is_closed || reader.offset() == all.error.map_or(end, |error| error.0), "{chunks:02X?}");
    all.unfinished = message;
    all
}

/// What the reader can return of what the model reads.
fn visible(read: Read) -> Read {
    let unfinished = read.unfinished.filter(|(_, payload)| !payload.is_empty());
    Read { unfinished, frames: 0, repaired: Vec::new(), ..read }
}

#[test]
fn short_streams_are_read_as_a_whole_for_every_partition() {
    for sender in SENDERS {
        let key = (sender == FrameSender::Client).then_some([0x37, 0xFA, 0x21, 0x3D]);
        let streams = [
            [frame(0x01, b"\xC3", key), frame(0x80, b"\xA9", key)].concat(),
            [frame(0x81, b"", key), frame(0x82, b"\xFF", key)].concat(),
            frame(0x81, b"a\xF4\x90", key),
            frame(0x88, b"\x03\xE8\xFF", key),
            [frame(0x01, b"\xE2\x82", key), frame(0x80, b"", key)].concat(),
        ];
        for stream in streams {
            let stream = &stream[..stream.len().min(12)];
            let expected = visible(read(stream, Rules::new(sender)));
            every_partition(stream, |chunks| {
                assert_eq!(collect(FrameReader::new(sender), chunks), expected, "{chunks:02X?}");
            });
        }
    }
}

#[test]
fn conversations_are_read_as_a_whole_for_random_partitions() {
    let mut rng = Rng::new(6455);
    for round in 0..240 {
        let sender = rng.pick(&SENDERS);
        let stream = conversation(&mut rng, sender, 1 + round % 9, 3 + round % 40);
        let expected = visible(read(&stream, Rules::new(sender)));
        some_partitions(&stream, 3, |chunks| {
            assert_eq!(collect(FrameReader::new(sender), chunks), expected, "{chunks:02X?}");
        });
    }
    for len in [1000, 70_000] {
        let sender = rng.pick(&SENDERS);
        let stream = conversation(&mut rng, sender, 9, len);
        let expected = visible(read(&stream, Rules::new(sender)));
        for size in [1, 7, 1021, usize::MAX] {
            let chunks: Vec<_> = stream.chunks(size.min(stream.len().max(1))).collect();
            assert_eq!(collect(FrameReader::new(sender), &chunks), expected);
        }
    }
}

#[test]
fn an_error_is_returned_for_its_first_impossible_byte() {
    let mut rng = Rng::new(1002);
    for round in 0..400 {
        let sender = rng.pick(&SENDERS);
        let stream = conversation(&mut rng, sender, 1 + round % 5, 12);
        let mut reader = FrameReader::new(sender);
        for end in 1..=stream.len() {
            let error = reader.feed(&mut stream[end - 1..end].to_vec()).find_map(Result::err);
            let expected = read(&stream[..end], Rules::new(sender));
            assert_eq!(error.map(facts), expected.error, "{:02X?}", &stream[..end]);
            if expected.is_closed {
                break;
            }
        }
    }
}

#[test]
fn each_message_is_decoded_under_every_policy() {
    let mut rng = Rng::new(7);
    for on_error in policies() {
        for _ in 0..40 {
            let decoder = TextDecoder::new().with_error_policy(on_error);
            let texts = [rng.dirty_text(9), rng.dirty_text(30)];
            let stream: Vec<u8> = texts
                .iter()
                .flat_map(|text| {
                    let (a, b) = text.split_at(rng.clone().below(text.len()));
                    [frame(0x01, a, Some([1, 2, 3, 4])), frame(0x80, b, Some([5, 6, 7, 8]))].concat()
                })
                .collect();
            let decoded: Result<Vec<_>, _> = texts.iter().map(|text| decoder.decode_whole(text)).collect();
            some_partitions(&stream, 2, |chunks| {
                let got = collect(FrameReader::with_decoder(FrameSender::Client, decoder.clone()), chunks);
                match &decoded {
                    Ok(texts) => {
                        let got: Vec<_> = got.items.iter().map(|(_, text)| &text[..]).collect();
                        assert_eq!(got, texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
                    }
                    Err(_) => assert!(got.error.is_some() && on_error == ErrorPolicy::Strict),
                }
            });
        }
    }
}

#[test]
fn a_stream_ends_between_messages_and_another_can_start() {
    let whole = [frame(0x01, b"ab", None), frame(0x89, b"", None), frame(0x80, b"c", None)].concat();
    let mut reader = FrameReader::new(FrameSender::Server);
    for end in 0..=whole.len() {
        assert_eq!(reader.feed(&mut whole[..end].to_vec()).filter(Result::is_err).count(), 0);
        let error = reader.finish().map_err(facts);
        let offset = end as u64;
        let in_message = [0, 0, 0, 1, 2, 2, 2, 2, 2, 3][end];
        let truncated = (offset, in_message, utf8_codec_proxy::websocket::FrameErrorKind::Truncated);
        assert_eq!(error, if [0, whole.len()].contains(&end) { Ok(()) } else { Err(truncated) }, "{end}");
        assert_eq!((reader.offset(), reader.finish()), (0, Ok(())));
    }
    let mut close = frame(0x88, b"", None);
    assert_eq!(reader.feed(&mut close).next(), Some(Ok(FrameEvent::Close(None))));
    assert_eq!(reader.feed(&mut [0xFF]).next(), None, "bytes after a close frame are discarded");
    assert_eq!(reader.finish(), Ok(()));
    assert!(!reader.is_closed());
    let mut text = frame(0x81, b"x", None);
    let events: Vec<_> = reader.feed(&mut text).collect();
    assert_eq!(events, [Ok(FrameEvent::Text("x")), Ok(FrameEvent::End(Opcode::Text))]);
}

#[test]
fn what_an_iterator_that_is_dropped_has_not_returned_is_read() {
    let mut reader = FrameReader::new(FrameSender::Server);
    assert_eq!(reader.feed(&mut frame(0x81, b"ab", None)).next(), Some(Ok(FrameEvent::Text("ab"))));
    let error = reader.feed(&mut frame(0x81, b"x\xFF", None)).find_map(Result::err);
    assert_eq!(error.map(|error| (error.offset, error.message_offset)), Some((7, 1)));

    let mut rng = Rng::new(1003);
    for round in 0..300 {
        let sender = rng.pick(&SENDERS);
        let stream = conversation(&mut rng, sender, 1 + round % 5, 12);
        let mut all = FrameReader::new(sender);
        let mut some = FrameReader::new(sender);
        for chunk in stream.chunks(1 + rng.below(20)) {
            all.feed(&mut chunk.to_vec()).for_each(drop);
            some.feed(&mut chunk.to_vec()).take(rng.below(3)).for_each(drop);
            assert_eq!((some.offset(), some.is_closed()), (all.offset(), all.is_closed()));
        }
        let error = some.feed(&mut []).next().and_then(Result::err);
        assert_eq!(error, all.feed(&mut []).next().and_then(Result::err), "the only item after an error");
        assert_eq!(some.finish(), all.finish());
    }
}
