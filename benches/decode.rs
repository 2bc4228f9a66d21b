//! The speed of the crate alone, to compare changes of it: validation of streams and strings, errors, repair, frames,
//! lines, the encoder. `benches/ratios` compares it with other crates.
#![allow(missing_docs)]

use core::hint::black_box;

use bytes::BytesMut;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures::StreamExt;
use tokio_util::codec::{Encoder, FramedRead};
use utf8_codec::codec::{Utf8Codec, Utf8LinesCodec};
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Decoder, from_utf8};

/// Texts with one kind of characters each, and some line ends.
const TEXTS: [(&str, &str); 5] = [
    ("ascii", "{\"id\": 17, \"name\": \"streaming\"},\n"),
    ("french", "<p>Les élèves déçus révèlent où naît le génie.</p>\n"),
    ("cyrillic", "Съешь ещё этих мягких французских булок.\n"),
    ("cjk", "天地玄黃宇宙洪荒日月盈昃辰宿列張\n"),
    ("emoji", "😀🚀🎉💩🔥🌍\n"),
];

fn text(sentence: &str, len: usize) -> Vec<u8> {
    sentence.repeat(len / sentence.len() + 1).into_bytes()
}

fn streams(c: &mut Criterion) {
    let mut group = c.benchmark_group("stream");
    for (name, sentence) in TEXTS {
        let data = text(sentence, 1 << 16);
        group.throughput(Throughput::Bytes(data.len() as u64));
        for chunk in [1, 16, 64, 256, 1460, 8192, 65536] {
            group.bench_with_input(BenchmarkId::new(name, chunk), &chunk, |b, &chunk| {
                b.iter(|| {
                    let mut decoder = Utf8Decoder::new();
                    data.chunks(chunk).all(|chunk| decoder.validate(black_box(chunk)).is_ok())
                });
            });
        }
    }
    group.finish();
}

fn strings(c: &mut Criterion) {
    let mut group = c.benchmark_group("one-shot");
    for (name, sentence) in TEXTS {
        for len in [8, 16, 40, 140] {
            let mut data = text(sentence, len);
            data.truncate(len);
            while core::str::from_utf8(&data).is_err() {
                data.pop();
            }
            group.bench_with_input(BenchmarkId::new(name, len), &data, |b, data| {
                b.iter(|| from_utf8(black_box(data)).is_ok());
            });
        }
    }
    group.finish();
}

fn errors(c: &mut Criterion) {
    let mut group = c.benchmark_group("ill-formed");
    for (name, sentence) in TEXTS {
        let mut data = text(sentence, 4096);
        data[3001] = 0xFF;
        group.bench_function(BenchmarkId::new("place", name), |b| {
            b.iter(|| Utf8Decoder::new().validate(black_box(&data)));
        });
        for one_in in [10_000, 100, 10] {
            let mut data = text(sentence, 1 << 16);
            data.iter_mut().skip(7).step_by(one_in).for_each(|byte| *byte = 0xFF);
            group.bench_function(BenchmarkId::new(format!("repair, one in {one_in}"), name), |b| {
                let mut out = String::with_capacity(3 * data.len());
                b.iter(|| {
                    out.clear();
                    let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
                    for piece in decoder.feed(&data) {
                        out.push_str(piece.text().unwrap_or_default());
                    }
                    out.len()
                });
            });
        }
    }
    group.finish();
}

fn frames(c: &mut Criterion) {
    const CAPACITY: usize = 1 << 16;
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut group = c.benchmark_group("frames");
    for (name, sentence) in TEXTS {
        let data = text(sentence, 1 << 20);
        let data = &data[..];
        group.throughput(Throughput::Bytes(data.len() as u64));
        group.bench_function(BenchmarkId::new("text", name), |b| {
            b.iter(|| runtime.block_on(FramedRead::with_capacity(data, Utf8Codec::new(), CAPACITY).count()));
        });
        group.bench_function(BenchmarkId::new("lines", name), |b| {
            b.iter(|| {
                runtime.block_on(FramedRead::with_capacity(data, Utf8LinesCodec::new(), CAPACITY).count())
            });
        });
        group.bench_function(BenchmarkId::new("lines in batches", name), |b| {
            b.iter(|| {
                let codec = Utf8LinesCodec::new().into_batches();
                runtime.block_on(FramedRead::with_capacity(data, codec, CAPACITY).count())
            });
        });
    }
    group.finish();
}

fn encoder(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode");
    for (name, sentence) in TEXTS {
        group.bench_function(BenchmarkId::new("line", name), |b| {
            let (mut codec, mut buffer) = (Utf8LinesCodec::new(), BytesMut::with_capacity(1024));
            b.iter(|| {
                buffer.clear();
                codec.encode(black_box(sentence.trim_end()), &mut buffer).is_ok()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, streams, strings, errors, frames, encoder);
criterion_main!(benches);
