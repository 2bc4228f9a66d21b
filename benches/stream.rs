//! Compares the decoding of a stream with `eventsource-stream`, for well-formed text and with one ill-formed byte at
//! its start.
//!
//! After the ill-formed byte, `eventsource-stream` buffers everything until the end and scans all of it for every
//! chunk, which is quadratic, as the two sizes show. This crate replaces one character.
#![allow(missing_docs)]

use core::convert::Infallible;
use core::hint::black_box;
use core::time::Duration;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use eventsource_stream::Eventsource;
use futures::executor::block_on;
use futures::{Stream, StreamExt, stream};
use utf8_codec::stream::{SseStream, Utf8StreamExt};
use utf8_codec::{ErrorPolicy, TextDecoder};

/// The size of one write of the server.
const CHUNK: usize = 1024;

const EVENT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"na\u{EF}ve \u{1F980}\"}}]}\n\n";

/// Returns about `size` bytes of events in chunks. If `bad` is set, a comment with an ill-formed byte precedes them.
fn response(size: usize, bad: bool) -> Vec<Bytes> {
    let mut bytes = if bad { b": \xFF\n".to_vec() } else { b": !\n".to_vec() };
    bytes.extend_from_slice(EVENT.repeat(size / EVENT.len()).as_bytes());
    bytes.chunks(CHUNK).map(Bytes::copy_from_slice).collect()
}

fn chunks(response: &[Bytes]) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Unpin + '_ {
    stream::iter(response.iter().cloned().map(Ok))
}

/// Decodes the text only.
fn text(response: &[Bytes]) -> usize {
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let text = stream::iter(response.iter().cloned().map(Ok::<_, Infallible>)).utf8_with(replace);
    block_on(
        text.fold(0, |length, part| {
            core::future::ready(length + black_box(part).map_or(0, |part| part.len()))
        }),
    )
}

fn events(response: &[Bytes]) -> usize {
    let events = SseStream::new(chunks(response));
    block_on(
        events.fold(0, |count, event| core::future::ready(count + usize::from(black_box(event).is_ok()))),
    )
}

fn events_of_the_peer(response: &[Bytes]) -> usize {
    let events = chunks(response).eventsource();
    block_on(
        events.fold(0, |count, event| core::future::ready(count + usize::from(black_box(event).is_ok()))),
    )
}

fn compare(c: &mut Criterion) {
    let mut group = c.benchmark_group("server-sent events");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    for (name, size, bad) in [
        ("clean, 1 MiB", 1 << 20, false),
        ("one bad byte, 256 KiB", 1 << 18, true),
        ("one bad byte, 1 MiB", 1 << 20, true),
    ] {
        let response = response(size, bad);
        assert_eq!(events(&response), size / EVENT.len());
        group.throughput(Throughput::Bytes(response.iter().map(|chunk| chunk.len() as u64).sum()));
        group.bench_with_input(BenchmarkId::new("eventsource-stream", name), &response, |b, response| {
            b.iter(|| events_of_the_peer(response));
        });
        group.bench_with_input(BenchmarkId::new("utf8-codec, events", name), &response, |b, response| {
            b.iter(|| events(response));
        });
        group.bench_with_input(BenchmarkId::new("utf8-codec, text", name), &response, |b, response| {
            b.iter(|| text(response));
        });
    }
}

criterion_group!(benches, compare);
criterion_main!(benches);
