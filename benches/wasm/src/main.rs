//! Compares validation with `simd128` with simdutf8 and the standard library, in one process.
//!
//! ```sh
//! cd benches/wasm
//! RUSTFLAGS='-C target-feature=+simd128' CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/../../.ci/node_wasi.mjs" \
//!     cargo run --release --target wasm32-wasip1
//! ```
//!
//! The contenders alternate. Each round gives a ratio of times, and the table has the median of the rounds and the
//! quartiles. With `--check GOAL` the program fails if a median of 8 KiB or more against simdutf8 is below the goal.

#[path = "../../../src/rng.rs"]
mod rng;

use std::hint::black_box;
use std::process::ExitCode;

use rng::Rng;
use utf8_codec::validator::Utf8Validator;

const ROUNDS: usize = 21;
/// The duration of a turn in nanoseconds.
const TURN: u64 = 2_000_000;
const SIZES: [usize; 5] = [64, 256, 1460, 8 << 10, 64 << 10];

/// Returns a text of about this length: words of an alphabet with spaces between them, and markup if `html` is set.
fn text(len: usize, alphabet: &str, html: bool) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut rng = Rng::new(1);
    let mut next = |below: usize| rng.below(below);
    let mut text = String::new();
    while text.len() < len {
        if html && next(4) == 0 {
            text.push_str("<a class=\"link\" href=\"/wiki/page\">");
        }
        for _ in 0..1 + next(9) {
            text.push(letters[next(letters.len())]);
        }
        text.push(' ');
    }
    text
}

/// Returns the text in chunks of this size. They end between characters, so that whole-text validators can be measured.
fn chunks(text: &str, size: usize) -> Vec<&[u8]> {
    let mut rest = text;
    let mut chunks = Vec::new();
    while rest.len() >= size {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(size));
        chunks.push(chunk.as_bytes());
        rest = after;
    }
    chunks
}

type Contender = fn(&[&[u8]]) -> bool;

fn ours(chunks: &[&[u8]]) -> bool {
    let mut validator = Utf8Validator::new();
    chunks.iter().all(|chunk| validator.validate(black_box(chunk)).is_ok()) && validator.finish().is_ok()
}

fn ours_at_once(chunks: &[&[u8]]) -> bool {
    chunks.iter().all(|chunk| utf8_codec::from_utf8(black_box(chunk)).is_ok())
}

fn simdutf8(chunks: &[&[u8]]) -> bool {
    chunks.iter().all(|chunk| simdutf8::basic::from_utf8(black_box(chunk)).is_ok())
}

fn std(chunks: &[&[u8]]) -> bool {
    chunks.iter().all(|chunk| std::str::from_utf8(black_box(chunk)).is_ok())
}

/// Returns the CPU time of this thread in nanoseconds. Other programs have little influence on it.
fn now() -> u64 {
    // SAFETY: the clock exists, and the import only writes to memory of its wrapper.
    unsafe { wasi::clock_time_get(wasi::CLOCKID_THREAD_CPUTIME_ID, 1) }.expect("a clock")
}

/// Returns the nanoseconds for one pass over the chunks.
fn turn(contender: Contender, chunks: &[&[u8]]) -> f64 {
    let start = now();
    let mut passes = 0;
    loop {
        assert!(contender(black_box(chunks)));
        passes += 1;
        let elapsed = now() - start;
        if elapsed >= TURN {
            return elapsed as f64 / f64::from(passes);
        }
    }
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let goal: Option<f64> = arguments
        .iter()
        .position(|argument| argument == "--check")
        .map(|at| arguments[at + 1].parse().expect("a ratio"));
    let latin = "abcdefghijklmnopqrstuvwxyz";
    let texts = [
        ("ASCII", text(128 << 10, latin, false)),
        ("French HTML", text(128 << 10, "abcdefghijklmnopqrstuvéèàçâ", true)),
        ("Cyrillic", text(128 << 10, "абвгдежзийклмнопрстуфхцчшщъыьэюя", false)),
        ("CJK", text(128 << 10, "的一是不了人我在有他这为之大来以个中上们", false)),
        ("emoji", text(128 << 10, "😀😁😂🤣😃😄😅😆😉😊", false)),
    ];
    let peers: [(&str, Contender, Contender); 3] =
        [("simdutf8", ours, simdutf8), ("simdutf8, from_utf8", ours_at_once, simdutf8), ("std", ours, std)];
    println!("| chunks | text | GB/s | against | ratio | quartiles |");
    println!("|---|---|---:|---|---:|---|");
    let mut missed = 0;
    for size in SIZES {
        for (name, text) in &texts {
            let chunks = chunks(text, size);
            let bytes: usize = chunks.iter().map(|chunk| chunk.len()).sum();
            for (peer, ours, theirs) in peers {
                let mut speeds = Vec::new();
                let ratios = (0..ROUNDS).map(|_| {
                    let (ours, theirs) = (turn(ours, &chunks), turn(theirs, &chunks));
                    speeds.push(bytes as f64 / ours);
                    theirs / ours
                });
                let [low, median, high] = quartiles(ratios.collect());
                let [_, speed, _] = quartiles(speeds);
                println!("| {size} B | {name} | {speed:.1} | {peer} | {median:.2} | {low:.2}-{high:.2} |");
                let counts = size >= 8 << 10 && peer.starts_with("simdutf8");
                missed += usize::from(counts && goal.is_some_and(|goal| median < goal));
            }
        }
    }
    if missed > 0 {
        println!("{missed} rows are below the goal");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
