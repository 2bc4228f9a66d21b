//! Compares UTF-8 to UTF-16 and back with encoding_rs, in 64 KiB chunks. Both run alternately in one process.
#![allow(missing_docs)]

use core::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use encoding_rs::{CoderResult, UTF_8, UTF_16LE};
use utf8_codec::transcode::{Encoding, Status, Transcoder};

const CHUNK: usize = 64 * 1024;

const TEXTS: [(&str, &str); 5] = [
    ("ascii", "The quick brown fox jumps over the lazy dog, and then it does so once more. "),
    ("latin", "Voix ambiguë d’un cœur qui, au zéphyr, préfère les jattes de kiwis. Été à Noël, déjà vu. "),
    ("cyrillic", "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация. "),
    (
        "cjk",
        "我能吞下玻璃而不伤身体。色は匂へど散りぬるを我が世誰ぞ常ならむ。키스의 고유조건은 입술끼리 만나야 하고。",
    ),
    ("emoji", "😀😃😄😁😆😅🤣😂🙂🙃😉😊😇🥰😍🤩😘😗☺😚😙🥲😋😛😜🤪😝🤑🤗🤭🫢🫣"),
];

/// Returns a chunk of whole characters.
fn chunk(text: &str) -> String {
    let mut chunk = String::new();
    while chunk.len() + text.len() <= CHUNK {
        chunk.push_str(text);
    }
    chunk
}

fn to_utf_16(criterion: &mut Criterion) {
    for (name, text) in TEXTS {
        let text = chunk(text);
        let mut group = criterion.benchmark_group(format!("utf-8 to utf-16/{name}"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        let mut bytes = vec![0; 2 * CHUNK + 16];
        group.bench_function(BenchmarkId::from_parameter("utf8-codec"), |bencher| {
            let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf16Le);
            bencher.iter(|| {
                let progress = transcoder.feed_into_slice(black_box(text.as_bytes()), &mut bytes);
                assert_eq!((progress.status, progress.read), (Status::InputEmpty, text.len()));
            });
        });
        let mut units = vec![0; CHUNK + 16];
        group.bench_function(BenchmarkId::from_parameter("encoding_rs"), |bencher| {
            let mut decoder = UTF_8.new_decoder_without_bom_handling();
            bencher.iter(|| {
                let (result, read, ..) =
                    decoder.decode_to_utf16(black_box(text.as_bytes()), &mut units, false);
                assert_eq!((result, read), (CoderResult::InputEmpty, text.len()));
            });
        });
        group.bench_function(BenchmarkId::from_parameter("encoding_rs::mem"), |bencher| {
            bencher.iter(|| encoding_rs::mem::convert_utf8_to_utf16(black_box(text.as_bytes()), &mut units));
        });
        group.finish();
    }
}

fn to_utf_8(criterion: &mut Criterion) {
    for (name, text) in TEXTS {
        let units: Vec<u16> = chunk(text).encode_utf16().take(CHUNK / 2).collect();
        // A chunk does not end inside a surrogate pair.
        let units = match units.last() {
            Some(0xD800..0xDC00) => &units[..units.len() - 1],
            _ => &units[..],
        };
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let mut group = criterion.benchmark_group(format!("utf-16 to utf-8/{name}"));
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        let mut text = vec![0; 2 * CHUNK + 16];
        group.bench_function(BenchmarkId::from_parameter("utf8-codec"), |bencher| {
            let mut transcoder = Transcoder::new(Encoding::Utf16Le, Encoding::Utf8);
            bencher.iter(|| {
                let progress = transcoder.feed_into_slice(black_box(&bytes), &mut text);
                assert_eq!((progress.status, progress.read), (Status::InputEmpty, bytes.len()));
            });
        });
        group.bench_function(BenchmarkId::from_parameter("encoding_rs"), |bencher| {
            let mut decoder = UTF_16LE.new_decoder_without_bom_handling();
            bencher.iter(|| {
                let (result, read, ..) = decoder.decode_to_utf8(black_box(&bytes), &mut text, false);
                assert_eq!((result, read), (CoderResult::InputEmpty, bytes.len()));
            });
        });
        group.bench_function(BenchmarkId::from_parameter("encoding_rs::mem"), |bencher| {
            bencher.iter(|| encoding_rs::mem::convert_utf16_to_utf8(black_box(units), &mut text));
        });
        group.finish();
    }
}

fn quick() -> Criterion {
    Criterion::default()
        .warm_up_time(core::time::Duration::from_millis(300))
        .measurement_time(core::time::Duration::from_millis(1_000))
        .sample_size(20)
}

criterion_group!(name = benches; config = quick(); targets = to_utf_16, to_utf_8);
criterion_main!(benches);
