//! Compares `Utf8Body` with the unwrapped body, and with the wrapper that limits bodies in `tower_http`.
//!
//! `cargo bench --features http --bench http`
#![allow(missing_docs)]

use core::convert::Infallible;
use core::hint::black_box;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Limited;
use utf8_codec::http::{BodyRules, MessageKind, Utf8Body};

/// A body whose frames are in memory.
struct Frames(VecDeque<Bytes>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}

fn drain<B: Body<Data = Bytes>>(body: B) -> usize {
    let mut body = pin!(body);
    let mut bytes = 0;
    while let Poll::Ready(Some(Ok(frame))) = body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop()))
    {
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
    bytes
}

fn bodies(criterion: &mut Criterion) {
    let texts = [
        ("json", r#"{"id":123456,"name":"Jane Doe","tags":["a","b"],"ok":true},"#.repeat(20_000)),
        ("latin", "Voix ambiguë d’un cœur qui, au zéphyr, préfère les jattes de kiwis. ".repeat(14_000)),
        ("japanese", "いろはにほへと ちりぬるを わかよたれそ つねならむ。".repeat(14_000)),
    ];
    for (name, text) in texts {
        let text = Bytes::from(text).slice(..1 << 20);
        // The text ends with a whole character.
        let text = text.slice(..text.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len()));
        let mut group = criterion.benchmark_group(format!("http/{name}"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        for frame in [64 * 1024, 1_400] {
            let frames = || {
                Frames(
                    (0..text.len())
                        .step_by(frame)
                        .map(|at| text.slice(at..text.len().min(at + frame)))
                        .collect(),
                )
            };
            let setup = criterion::BatchSize::LargeInput;
            group.bench_function(BenchmarkId::new("bare", frame), |b| {
                b.iter_batched(frames, |body| black_box(drain(body)), setup);
            });
            group.bench_function(BenchmarkId::new("Limited", frame), |b| {
                b.iter_batched(frames, |body| black_box(drain(Limited::new(body, usize::MAX))), setup);
            });
            group.bench_function(BenchmarkId::new("Utf8Body", frame), |b| {
                b.iter_batched(frames, |body| black_box(drain(Utf8Body::new(body))), setup);
            });
        }
        group.finish();
    }
}

/// Compares percent-encoded forms with the same bytes as plain text.
fn forms(criterion: &mut Criterion) {
    let texts = [
        ("ascii", "name=Jane+Doe&comment=a+sentence+of+some+length%2C+with+a+comma&ok=1&".repeat(14_000)),
        ("japanese", "%E3%81%84%E3%82%8D%E3%81%AF%E3%81%AB%E3%81%BB%E3%81%B8%E3%81%A8".repeat(16_000)),
    ];
    let mut fields = HeaderMap::new();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    for (name, text) in texts {
        let text = Bytes::from(text);
        let mut group = criterion.benchmark_group(format!("form/{name}"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        let frames = || Frames(VecDeque::from([text.clone()]));
        let setup = criterion::BatchSize::LargeInput;
        group.bench_function("Utf8Body", |b| {
            b.iter_batched(frames, |body| black_box(drain(Utf8Body::new(body))), setup);
        });
        group.bench_function("form", |b| {
            let checked = || {
                let body = BodyRules::new().apply(MessageKind::Request, &mut fields.clone(), frames());
                body.expect("a form is text")
            };
            b.iter_batched(checked, |body| black_box(drain(body)), setup);
        });
        group.finish();
    }
}

criterion_group!(benches, bodies, forms);
criterion_main!(benches);
