//! `SseStream` returns the events of `SseCodec`.

use core::time::Duration;
use std::io;

use bytes::Bytes;
use futures::executor::block_on;
use futures::stream::{FusedStream, iter};
use futures::{FutureExt, StreamExt};
use utf8_codec::TextDecoder;
use utf8_codec::codec::SseCodec;
use utf8_codec::codec::sse::Event;
use utf8_codec::stream::{SseStream, Utf8StreamError};

use crate::sse_model::{Items, decode, random_stream};
use crate::support::{Rng, some_partitions};

/// Returns the chunks as `Bytes` with one reference, and with two.
fn chunks(chunks: &[&[u8]], shared: bool) -> (Vec<Bytes>, Vec<Bytes>) {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
    let other = if shared { chunks.clone() } else { Vec::new() };
    (chunks, other)
}

#[test]
fn a_stream_returns_the_items_of_the_codec() {
    let mut rng = Rng::new(18);
    for round in 0..200 {
        let bytes = random_stream(&mut rng, 30);
        some_partitions(&bytes, 2, |cut| {
            let settings = || {
                SseCodec::with_decoder(TextDecoder::new()).with_max_event_length(8).with_max_line_length(20)
            };
            let (chunks, _other) = chunks(cut, round % 2 == 0);
            let mut stream = SseStream::with_codec(iter(chunks), settings());
            let got: Items =
                block_on(stream.by_ref().map(|item| item.map_err(|error| error.to_string())).collect());
            let mut codec = settings();
            assert_eq!(got, decode(&mut codec, &[&bytes]), "{cut:?}");
            assert_eq!(stream.codec().last_event_id(), codec.last_event_id());
            assert_eq!(stream.codec().offset(), bytes.len() as u64);
            assert!(stream.is_terminated());
        });
    }
}

#[test]
fn reading_continues_after_an_error_of_the_inner_stream() {
    let inner = iter([
        Ok(Bytes::from_static(b"data: a")),
        Err(io::Error::from(io::ErrorKind::TimedOut)),
        Ok(Bytes::from_static(b"b\n\n")),
    ]);
    let mut events = SseStream::new(inner);
    let error = events.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert!(matches!(&error, Utf8StreamError::Inner(_)), "{error:?}");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
    assert_eq!(events.next().now_or_never().unwrap().unwrap().unwrap().data, "ab");
    assert!(events.next().now_or_never().unwrap().is_none());
}

#[test]
fn a_new_connection_continues_with_the_id_and_the_time() {
    let first = iter([Bytes::from_static(b"id: 1\nretry: 9\ndata: a\n\nid: 2\ndata: cut")]);
    let mut events = SseStream::new(first);
    assert_eq!(block_on(events.by_ref().count()), 1);
    let (_, codec, _) = events.into_parts();
    assert_eq!((codec.last_event_id(), codec.retry()), (Some("1"), Some(Duration::from_millis(9))));
    let second = iter([Bytes::from_static(b"\xEF\xBB\xBFdata: b\n\n")]);
    let got: Vec<_> = block_on(SseStream::with_codec(second, codec).map(Result::unwrap).collect());
    assert_eq!(got, [Event::new("b").with_id("1")]);
}

#[test]
fn one_poll_reads_a_bounded_number_of_chunks() {
    let mut polled = 0;
    let endless = futures::stream::repeat_with(|| {
        polled += 1;
        Bytes::from_static(b": keep-alive\n\n")
    });
    let mut events = SseStream::new(endless);
    assert!(events.next().now_or_never().is_none(), "the poll ends");
    drop(events);
    assert!(polled <= 1024, "{polled}");
}

#[test]
fn an_error_in_an_event_is_invalid_data() {
    let codec = SseCodec::with_decoder(TextDecoder::new());
    let mut events = SseStream::with_codec(iter([Bytes::from_static(b"data: \xFF\n\n")]), codec);
    let error = block_on(events.next()).unwrap().unwrap_err();
    assert_eq!(error.utf8_error().unwrap().offset, 6);
    let error = io::Error::from(error);
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(utf8_codec::Utf8Error::find(&error).unwrap().offset, 6);
}

#[test]
fn an_event_that_a_failed_connection_cut_is_not_returned() {
    let cut = || Ok(Bytes::from_static(b"id: 1\ndata: a\n\nid: 2\ndata: cut"));
    let failure = || Err(io::Error::from(io::ErrorKind::ConnectionReset));
    let rest = || Ok(Bytes::from_static(b" off\n"));
    for (inner, expected, id) in [
        (vec![cut(), failure()], vec!["a", "!"], "1"),
        (vec![cut(), failure(), failure()], vec!["a", "!", "!"], "1"),
        (vec![cut(), failure(), rest()], vec!["a", "!", "cut off"], "2"),
        (vec![cut(), rest()], vec!["a", "cut off"], "2"),
    ] {
        let mut events = SseStream::with_codec(iter(inner), SseCodec::new().with_dispatch_at_end(true));
        let data = |item: Result<Event, _>| item.map_or("!".to_owned(), |event| event.data.to_string());
        let got: Vec<_> = block_on(events.by_ref().map(data).collect());
        assert_eq!(got, expected);
        assert!(events.is_terminated());
        assert_eq!(events.codec().last_event_id(), Some(id));
    }
}

#[test]
fn bytes_after_the_last_event_are_not_lost() {
    let mut events =
        SseStream::new(iter([Bytes::from_static(b"data: a\n\n\xFF\0bin"), Bytes::from_static(b"ary")]));
    assert_eq!(block_on(events.next()).unwrap().unwrap().data, "a");
    let (inner, _, read) = events.into_parts();
    assert_eq!([&read[..], &block_on(inner.collect::<Vec<_>>()).concat()].concat(), b"\xFF\0binary");
}
