//! `SseCodec` and `SseStream`: the same events for every partition, and decoding reverses
//! encoding.
#![no_main]

use bytes::Bytes;
use futures::StreamExt;
use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;
use utf8_codec::codec::SseCodec;
use utf8_codec::codec::sse::Event;
use utf8_codec::stream::SseStream;
use utf8_codec_fuzz::{Input, items};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (line, event) = (input.pick(5, &[0, 8, 100, 1 << 20]), input.pick(6, &[0, 20, 300, 1 << 20]));
    let new = || {
        let codec = SseCodec::with_decoder(input.decoder()).with_max_line_length(line).with_max_event_length(event);
        codec.with_dispatch_at_end(input.pick(7, &[false, true]))
    };
    let chunks = input.chunks();
    let (mut whole, mut cut) = (new(), new());
    assert_eq!(items(&mut cut, &chunks), items(&mut whole, &[input.bytes]));
    assert_eq!((cut.last_event_id(), cut.retry()), (whole.last_event_id(), whole.retry()));
    assert_eq!((cut.offset(), cut.counters()), (whole.offset(), whole.counters()));

    let parts = futures::stream::iter(
        chunks.into_iter().map(|chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk))),
    );
    let streamed: Vec<_> = block_on(SseStream::new(parts).map(|event| event.map_err(drop)).collect());
    let decoded: Vec<_> =
        items(&mut SseCodec::new(), &[input.bytes]).into_iter().map(|item| item.map_err(drop)).collect();
    let until_error =
        |items: Vec<Result<Event, ()>>| items.into_iter().take_while(Result::is_ok).collect::<Vec<_>>();
    assert_eq!(until_error(streamed), until_error(decoded));

    let (text, _) = input.text();
    let sent = Event::new(text.clone());
    if let Ok(wire) = sent.to_bytes() {
        let lines = text.replace("\r\n", "\n").replace('\r', "\n");
        let received =
            items(&mut SseCodec::new().with_max_line_length(usize::MAX).with_max_event_length(usize::MAX), &[&wire]);
        let data: Vec<_> =
            received.into_iter().map(|event| event.expect("well-formed").data.to_string()).collect();
        assert_eq!(data, [lines]);
    }
});
