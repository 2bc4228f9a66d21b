//! Compares `proxy::Filter` with a plain `TextDecoder` for the same slices. The results are ratios of times: medians of
//! interleaved rounds of one run.
//!
//! `feed`: edits only. `copied`: both copy the text to a buffer, like an engine that sends it. `hook`: the filter
//! replaces a `Bytes`.
#![allow(missing_docs)]

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use bytes::Bytes;
use utf8_codec::proxy::{Edit, Filter};
use utf8_codec::{ErrorPolicy, TextDecoder};

/// The bytes of one round.
const SIZE: usize = 1 << 20;
/// Odd sizes, so that slices end inside characters.
const SLICES: [usize; 3] = [1_447, 16_383, 65_535];
const ROUNDS: usize = 41;

fn corpora() -> [(&'static str, Vec<u8>); 6] {
    let repeat = |unit: &str| unit.repeat(SIZE / unit.len()).into_bytes();
    let mut one_in_a_thousand = repeat("Grüße aus Köln, ");
    one_in_a_thousand.iter_mut().step_by(1_000).for_each(|byte| *byte = 0xFF);
    [
        ("ASCII", repeat("GET /index.html HTTP/1.1 ")),
        ("mixed Latin", repeat("Grüße aus Köln, ça va très bien. ")),
        ("CJK", repeat("网络把字节切在哪里，文本都一样。")),
        ("1 error in 1000", one_in_a_thousand),
        ("1 error in 8", repeat("abcdef ").chunks(7).flat_map(|part| [part, b"\xFF"].concat()).collect()),
        ("all FF", vec![0xFF; SIZE]),
    ]
}

fn decode(decoder: TextDecoder, slices: &[Bytes]) -> usize {
    let mut decoder = decoder;
    let mut sum = 0;
    for slice in slices {
        for piece in decoder.feed(black_box(slice)) {
            sum += black_box(piece.text()).map_or(0, str::len);
        }
    }
    sum
}

fn feed(decoder: TextDecoder, slices: &[Bytes]) -> usize {
    let mut filter = Filter::with_decoder(decoder);
    let mut sum = 0;
    for slice in slices {
        let _ = filter.feed_with(black_box(slice), |edit| match black_box(edit) {
            Edit::Pass(range) => sum += range.len(),
            Edit::Insert(bytes) => sum += bytes.len(),
            _ => {}
        });
    }
    sum
}

fn decode_copied(decoder: TextDecoder, slices: &[Bytes]) -> usize {
    let mut decoder = decoder;
    let mut buffer = Vec::with_capacity(4 << 16);
    let mut sum = 0;
    for slice in slices {
        buffer.clear();
        for piece in decoder.feed(black_box(slice)) {
            buffer.extend_from_slice(piece.text().unwrap_or_default().as_bytes());
        }
        sum += black_box(&buffer).len();
    }
    sum
}

fn feed_copied(decoder: TextDecoder, slices: &[Bytes]) -> usize {
    let mut filter = Filter::with_decoder(decoder);
    let mut buffer = Vec::with_capacity(4 << 16);
    let mut sum = 0;
    for slice in slices {
        buffer.clear();
        let _ = filter.feed_with(black_box(slice), |edit| match edit {
            Edit::Pass(range) => buffer.extend_from_slice(&slice[range]),
            Edit::Insert(bytes) => buffer.extend_from_slice(bytes),
            _ => {}
        });
        sum += black_box(&buffer).len();
    }
    sum
}

fn hook(decoder: TextDecoder, slices: &[Bytes]) -> usize {
    let mut filter = Filter::with_decoder(decoder);
    let mut sum = 0;
    for slice in slices {
        let mut body = Some(slice.clone());
        let _ = filter.rewrite(&mut body, false);
        sum += black_box(body).map_or(0, |body| body.len());
    }
    sum
}

fn time(work: impl FnOnce() -> usize) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

/// Returns the median ratio of two times that are measured one after the other in each round.
fn ratio(ours: impl Fn() -> usize, theirs: impl Fn() -> usize) -> f64 {
    let mut ratios: Vec<f64> =
        (0..ROUNDS).map(|_| time(&ours).as_secs_f64() / time(&theirs).as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ROUNDS / 2]
}

fn main() {
    println!("{:<16} {:>6}  {:>6} {:>6} {:>6}   decoder MB/s", "text", "slice", "feed", "copied", "hook");
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    for (name, corpus) in corpora() {
        for size in SLICES {
            let corpus = Bytes::from(corpus.clone());
            let slices: Vec<Bytes> = (0..corpus.len())
                .step_by(size)
                .map(|at| corpus.slice(at..corpus.len().min(at + size)))
                .collect();
            let plain = || decode(decoder, &slices);
            let edits = ratio(|| feed(decoder, &slices), plain);
            let copied = ratio(|| feed_copied(decoder, &slices), || decode_copied(decoder, &slices));
            let hooked = ratio(|| hook(decoder, &slices), plain);
            let speed = corpus.len() as f64 / time(plain).as_secs_f64() / 1e6;
            println!("{name:<16} {size:>6}  {edits:>6.2} {copied:>6.2} {hooked:>6.2}   {speed:.0}");
        }
    }
}
