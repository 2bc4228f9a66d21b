//! `FrameReader` and `FrameFilter` return what the model reads from the whole stream, for every partition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use test_support::websocket::{Rules, SENDERS, facts, read};
use utf8_codec::Ascii;
use utf8_codec::inflate::{Deflate, Inflater};
use utf8_codec_fuzz::Input;
use utf8_codec_proxy::Edit;
use utf8_codec_proxy::websocket::{CompressionPolicy, FrameEvent, FrameFilter, FrameReader};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let rules = Rules {
        compressed: input.pick(1, &[false, true]),
        max_frame: input.pick(2, &[0, 5, 1 << 20]),
        max_message: input.pick(5, &[0, 9, 1 << 20]),
        substitute: input.pick(6, &[None, Some(b'?')]),
        ..Rules::new(input.pick(0, &SENDERS))
    };
    let expected = read(input.bytes, rules);
    let mut filter = FrameFilter::new(rules.sender)
        .with_compression(if rules.compressed { CompressionPolicy::Pass } else { CompressionPolicy::Remove })
        .with_max_frame_length(rules.max_frame)
        .with_max_message_length(rules.max_message);
    if let Some(byte) = rules.substitute.and_then(Ascii::new) {
        filter = filter.with_substitute(byte);
    }
    let mut forwarded = Vec::new();
    let mut result = Ok(());
    for chunk in input.chunks() {
        result = filter.feed_with(chunk, |edit| match edit {
            Edit::Pass(range) => forwarded.extend_from_slice(&chunk[range]),
            Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
            _ => {}
        });
    }
    let again = read(&forwarded, Rules { substitute: None, ..rules });
    assert_eq!((again.frames, again.error), (forwarded.len(), None));
    assert_eq!(again.items, expected.items);
    let error = result.err().map(facts);
    assert_eq!((error, filter.is_closed()), (expected.error, expected.is_closed));

    // With an inflater the verdict is that of the reader, however the stream is divided.
    let inflater = Inflater::new(Deflate::permessage());
    let mut filter = FrameFilter::new(rules.sender).with_inflater(inflater.clone());
    let mut result = Ok(());
    for chunk in input.chunks() {
        result = filter.feed_with(chunk, |_| {});
    }
    let mut reader = FrameReader::new(rules.sender).with_inflater(inflater);
    let by_reader = reader.feed(&mut input.bytes.to_vec()).find_map(Result::err);
    assert_eq!((result.err(), filter.is_closed()), (by_reader, reader.is_closed()));

    // The reader has no compressed messages and no such repair.
    let expected = read(input.bytes, Rules { compressed: false, substitute: None, ..rules });
    let mut reader = FrameReader::new(rules.sender)
        .with_max_frame_length(rules.max_frame)
        .with_max_message_length(rules.max_message);
    let (mut messages, mut payload, mut error) = (Vec::new(), Vec::new(), None);
    for chunk in input.chunks() {
        for event in reader.feed(&mut chunk.to_vec()) {
            match event {
                Ok(FrameEvent::Text(text)) => payload.extend_from_slice(text.as_bytes()),
                Ok(FrameEvent::Seam(text)) => payload.extend_from_slice(text.as_bytes()),
                Ok(FrameEvent::Binary(data)) => payload.extend_from_slice(data),
                Ok(FrameEvent::End(opcode)) => messages.push((opcode as u8, core::mem::take(&mut payload))),
                Ok(_) => {}
                Err(found) => error = Some(facts(found)),
            }
        }
    }
    let of_data = |item: &(u8, Vec<u8>)| item.0 < 8;
    assert_eq!(messages, expected.items.into_iter().filter(of_data).collect::<Vec<_>>());
    assert_eq!((error, reader.is_closed()), (expected.error, expected.is_closed));
});
