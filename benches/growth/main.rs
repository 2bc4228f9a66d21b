//! Every consumer of a stream over inputs that an attacker would send, at one size and at four times that size.
//!
//! `.ci/growth` runs it under callgrind, which counts the instructions of each call of [`measured`], and fails where
//! four times the input needs five times the instructions. By itself it runs every row once: `growth [FILTER] [--share=I/N]`.
//!
//! A row is the name of a consumer, of an input, and of the way in which the input is cut.
#![allow(missing_docs)]

mod bodies;
mod codecs;
mod inputs;
mod mail;
mod text;

use inputs::Input;

/// Larger than every buffer and window of constant size in the crate, or the work for those would look like growth.
const SIZE: usize = 16 * 1024;
/// One byte at a time buffers do not fill, and each byte costs as much as many.
const SIZE_BY_BYTE: usize = 4 * 1024;
const FACTOR: usize = 4;

/// Takes an input in chunks of at most so many bytes.
type Consumer = Box<dyn Fn(&[u8], usize)>;

/// A consumer, its name, and the inputs that it is given.
struct Row {
    name: String,
    inputs: Vec<Input>,
    /// Whether it is also given one byte at a time.
    by_byte: bool,
    consumer: Consumer,
}

impl Row {
    fn new(
        name: impl Into<String>,
        inputs: impl IntoIterator<Item = Input>,
        consumer: impl Fn(&[u8], usize) + 'static,
    ) -> Self {
        let inputs = inputs.into_iter().collect();
        Self { name: name.into(), inputs, by_byte: true, consumer: Box::new(consumer) }
    }

    /// For a consumer that takes the whole input, or whose every feed costs as much as many bytes.
    fn whole_only(self) -> Self {
        Self { by_byte: false, ..self }
    }
}

/// Takes what comes out, so that it is computed.
fn sink<T>(value: T) {
    core::hint::black_box(value);
}

/// What callgrind counts.
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
    for row in [text::rows(), codecs::rows(), bodies::rows(), mail::rows()].into_iter().flatten() {
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
