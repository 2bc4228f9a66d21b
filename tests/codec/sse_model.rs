//! A naive implementation of the standard of server-sent events, and random streams. `tests/stream` also uses it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use core::time::Duration;

use bytes::BytesMut;
use test_support::Rng;
use tokio_util::codec::Decoder;
use utf8_codec::codec::sse::Event;
use utf8_codec::codec::{CodecError, SseCodec};

/// Events, and errors by their `Display` output.
pub type Items = Vec<Result<Event, String>>;

pub fn decode(codec: &mut SseCodec, chunks: &[&[u8]]) -> Items {
    let (mut buffer, mut items) = (BytesMut::new(), Vec::new());
    let item = |item: Result<Event, CodecError>| item.map_err(|error| error.to_string());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(found) = codec.decode(&mut buffer).unwrap() {
            items.push(item(found));
        }
    }
    while let Some(found) = codec.decode_eof(&mut buffer).unwrap() {
        items.push(item(found));
    }
    assert!(buffer.is_empty());
    items
}

pub fn events(bytes: &[u8]) -> Vec<Event> {
    decode(&mut SseCodec::new(), &[bytes]).into_iter().map(Result::unwrap).collect()
}

pub fn datas(bytes: &[u8]) -> Vec<String> {
    events(bytes).into_iter().map(|event| event.data.to_string()).collect()
}

/// Runs the algorithm of the standard on the whole stream. Returns the events, the last event ID and the
/// reconnection time.
pub fn oracle(bytes: &[u8]) -> (Vec<Event>, Option<String>, Option<Duration>) {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let (mut events, mut last_event_id, mut retry, mut new_retry) = (Vec::new(), None, None, None);
    let (mut data, mut kind, mut id) = (String::new(), String::new(), None::<String>);
    let mut lines: Vec<String> = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                lines.push(String::new());
            }
            '\n' => lines.push(String::new()),
            other => lines.last_mut().unwrap().push(other),
        }
    }
    // The last line has no terminator.
    lines.pop();
    for line in lines {
        if line.is_empty() {
            last_event_id.clone_from(&id);
            if !data.is_empty() {
                data.pop();
                let mut event = Event::new(data.as_str()).with_event(&*kind);
                event.id = id.as_deref().map(Into::into);
                event.retry = new_retry.take();
                events.push(event);
            }
            data.clear();
            kind.clear();
            continue;
        }
        let (name, value) = match line.find(':') {
            Some(0) => continue,
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&*line, ""),
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut kind),
            "data" => data.extend([value, "\n"]),
            "id" if !value.contains('\0') => id = Some(value.into()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                retry = Some(Duration::from_millis(value.parse().unwrap_or(u64::MAX)));
                new_retry = retry;
            }
            _ => {}
        }
    }
    (events, last_event_id, retry)
}

/// Checks a stream in chunks against the oracle.
pub fn check(chunks: &[&[u8]]) {
    let bytes = chunks.concat();
    let (expected, id, retry) = oracle(&bytes);
    let mut codec = SseCodec::new();
    let got: Vec<_> = decode(&mut codec, chunks).into_iter().map(Result::unwrap).collect();
    assert_eq!(got, expected, "{chunks:?}");
    assert_eq!((codec.last_event_id(), codec.retry()), (id.as_deref(), retry), "{chunks:?}");
    assert_eq!(codec.offset(), bytes.len() as u64);
}

/// Parts of streams. Random sequences of them contain every kind of line, and many edge cases.
pub const PARTS: &[&[u8]] = &[
    b"data",
    b"data: ",
    b"data:a",
    b"event: token",
    b"event",
    b"id: 7",
    b"id",
    b"id: \0",
    b"retry: 12",
    b"retry: 1x",
    b"retry:99999999999999999999",
    b": comment",
    b":",
    b" ",
    b"x",
    b"\n",
    b"\n",
    b"\r",
    b"\r",
    b"\r\n",
    b"\r\n",
    b"\n\n",
    b"\xC3\xA9",
    b"\xE2\x80\xA8",
    b"\xEF\xBB\xBF",
    b"\xFF",
    b"\xE2\x82",
];

pub fn random_stream(rng: &mut Rng, parts: usize) -> Vec<u8> {
    (0..parts).flat_map(|_| PARTS[rng.below(PARTS.len())]).copied().collect()
}
