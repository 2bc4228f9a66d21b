//! Runs every consumer of a stream over hostile inputs, with one size and with four times that size.
//!
//! `benches/growth/count` runs it under callgrind, which counts the instructions of each call of [`measured`]. It fails
//! if four times the input needs five times the instructions. Without callgrind, `growth [FILTER] [--share=I/N]` runs
//! every row once.
//!
//! The name of a row contains the consumer, the input, and the length of the chunks.
#![allow(missing_docs)]

mod bodies;
mod codecs;
mod inputs;
mod mail;
mod protobuf;
mod row;
mod text;

/// The size of the input. It is larger than every buffer and window of constant size in the crate, because their cost
/// would otherwise be counted as growth.
const SIZE: usize = 16 * 1024;
/// The size of input that is fed byte by byte. It is smaller, because each byte costs as much as a chunk.
const SIZE_BY_BYTE: usize = 4 * 1024;
const FACTOR: usize = 4;

/// Callgrind counts the instructions of this function.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

fn main() {
    let mut filter = String::new();
    let (mut share, mut of) = (0, 1);
    for argument in std::env::args().skip(1) {
        if let Some(parts) = argument.strip_prefix("--share=") {
            (share, of) = parts
                .split_once('/')
                .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))
                .expect("--share=1/2");
        } else if !argument.starts_with("--") {
            filter = argument;
        }
    }
    let mut number = 0;
    for row in
        [text::rows(), codecs::rows(), bodies::rows(), mail::rows(), protobuf::rows()].into_iter().flatten()
    {
        let cuts = [("whole", usize::MAX, SIZE), ("by byte", 1, SIZE_BY_BYTE)];
        let cuts = if row.by_byte { &cuts[..] } else { &cuts[..1] };
        for input in &row.inputs {
            for &(cut, chunk, size) in cuts {
                let name = format!("{} | {} | {cut}", row.name, input.name);
                number += 1;
                if !name.contains(&filter) || number % of != share {
                    continue;
                }
                for size in [size, FACTOR * size] {
                    let bytes = (input.bytes)(size);
                    measured(&mut || (row.consumer)(&bytes, chunk));
                }
                println!("{name}");
            }
        }
    }
}
