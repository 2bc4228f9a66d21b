//! Compares every kernel of this CPU with the standard library, the grammar, and the formula for one byte.

mod chunks;
#[cfg(feature = "transcode")]
mod conversions;
#[cfg(any(feature = "base64", feature = "transcode"))]
pub(super) mod guarded;
#[cfg(utf8_codec_vectors)]
pub(super) mod lanes;
mod pairs;
mod streams;
#[cfg(utf8_codec_vectors)]
mod tiny;
mod within;

#[cfg(not(utf8_codec_kernel = "environment"))]
use super::dispatch::FORCED;
use super::dispatch::Kernel;
use super::formula;
use super::functions::Index;
use super::state::{Carry, Prediction, ScanState};
use super::validation::validate_few;
use crate::grammar::{Step, UTF_8};
use crate::rng::Rng;

/// Validates a chunk of any length. The kernel is used if the chunk is long enough.
fn validate_by(kernel: Kernel, state: &mut ScanState, chunk: &[u8]) -> Result<(), usize> {
    let found = if chunk.len() < 4 {
        let (after, result) = validate_few(*state, chunk);
        *state = ScanState::from_bits(after);
        result
    } else {
        // SAFETY: the chunk has at least 4 bytes.
        unsafe { kernel.validate(state, chunk) }
    };
    found.map_err(Index::get)
}

/// The predictions for all code paths.
const PREDICTIONS: [Prediction; 4] = [
    Prediction::NONE,
    Prediction::ASCII,
    Prediction::FOUR_BYTES,
    Prediction::ASCII.with(Prediction::FOUR_BYTES),
];

/// Returns the result of this kernel, which must be the same for every prediction.
fn found_by(kernel: Kernel, carry: Carry, chunk: &[u8]) -> Result<(), usize> {
    let found = PREDICTIONS.map(|prediction| {
        let mut state = ScanState::new(carry, prediction);
        let found = validate_by(kernel, &mut state, chunk);
        let before = ScanState::new(carry, prediction);
        let expected = if found.is_ok() { before.after(chunk) } else { before };
        assert_eq!(state.pending(), expected.pending(), "{kernel:?}: {chunk:02X?}");
        // The `std` kernel does not keep the bytes before the unfinished sequence.
        if kernel.name() != "std" {
            assert_eq!(state.carry().word(), expected.carry().word(), "{kernel:?}: {chunk:02X?}");
        }
        found
    });
    assert!(found.iter().all(|other| *other == found[0]), "{kernel:?}: {found:?} in {chunk:02X?}");
    found[0]
}

/// Compares a kernel with the formula for one byte. A byte that is never a lead may be reported at its own index or at
/// the next one.
fn assert_found(kernel: Kernel, carry: Carry, chunk: &[u8], context: &dyn Fn() -> String) {
    let found = found_by(kernel, carry, chunk);
    let expected = match formula::first_ill_formed(carry.word(), chunk) {
        None => chunk.len(),
        Some(index) => index,
    };
    let is_right = match found {
        Ok(()) => expected == chunk.len(),
        Err(index) => index == expected || index + 1 == expected && formula::is_never_a_lead(chunk[index]),
    };
    assert!(is_right, "{kernel:?} finds {found:?}, not {expected}: {}", context());
}

/// Returns the index of the first byte that the grammar rejects after an unfinished sequence.
fn first_rejected(begun: &[u8], bytes: &[u8]) -> Option<usize> {
    let mut state = UTF_8.state_after(begun);
    bytes.iter().position(|&byte| match UTF_8.step(state, byte) {
        Step::To(next) => {
            state = next;
            false
        }
        Step::Rejected(_) => true,
    })
}

/// A chunk at a selected address.
struct Placed {
    memory: Vec<u8>,
    start: usize,
}

impl Placed {
    /// Places the chunk `offset` bytes after the start of a cache line.
    fn new(bytes: &[u8], offset: usize) -> Self {
        // Ill-formed bytes surround the chunk, so that a read outside of it would change the result.
        let mut memory = vec![0xFF; bytes.len() + 192];
        let start = memory.as_ptr().align_offset(64) + 64 + offset;
        memory[start..start + bytes.len()].copy_from_slice(bytes);
        memory.truncate(start + bytes.len() + 1);
        Self { memory, start }
    }

    fn chunk(&self) -> &[u8] {
        &self.memory[self.start..self.memory.len() - 1]
    }

    fn chunk_mut(&mut self) -> &mut [u8] {
        let end = self.memory.len() - 1;
        &mut self.memory[self.start..end]
    }
}

/// Splits bytes into chunks of random lengths, each from `least` to what `longest` returns.
fn split<'b>(
    bytes: &'b [u8],
    rng: &mut Rng,
    least: usize,
    mut longest: impl FnMut(&mut Rng) -> usize,
) -> Vec<&'b [u8]> {
    let (mut chunks, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let most = rest.len().min(longest(rng));
        let (chunk, after) = rest.split_at(least + rng.below(most + 1 - least));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// Returns text of this length in characters of the alphabet, filled up with ASCII.
fn text(len: usize, alphabet: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut characters = alphabet.iter().cycle();
    while text.len() < len {
        let character = characters.next().map_or("", |c| c);
        if text.len() + character.len() > len {
            text.push(b'.');
        } else {
            text.extend_from_slice(character.as_bytes());
        }
    }
    text
}

/// Returns texts with one character that is not U+0000, so that a block of a conversion has no other bits. The
/// character has one bit, or all bits below one, or one bit and the lowest.
#[cfg(feature = "transcode")]
fn characters_among_zeros() -> impl Iterator<Item = String> {
    let values = (0..21).flat_map(|bit: u32| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
    values.filter_map(char::from_u32).flat_map(|character| {
        [0, 1, 2, 3, 7, 15, 16, 31, 64, 127].map(|before| {
            let after = 140 - before;
            format!("{}{character}{}", "\0".repeat(before), "\0".repeat(after))
        })
    })
}

const ALPHABETS: [&[&str]; 6] = [
    &["a"],
    &["é"],
    &["€"],
    &["💩"],
    &["a", "é", "€", "💩", "\u{10FFFF}", "\u{D7FF}", "\u{E000}"],
    &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "ж"],
];

/// Ill-formed sequences of every kind, and well-formed sequences at the limits of every range.
#[rustfmt::skip]
const CRITICAL: [&[u8]; 32] = [
    b"\x80", b"\xBF", b"\xC0", b"\xC1\x80", b"\xC2", b"\xC2\x7F", b"\xC2\x80", b"\xC2\xC0", b"\xDF\xBF\x80",
    b"\xE0", b"\xE0\x9F\xBF", b"\xE0\xA0\x80", b"\xE0\xA0\x7F", b"\xE1\x80", b"\xE1\x80\xC2", b"\xED\x9F\xBF",
    b"\xED\xA0\x80", b"\xEF\xBF\xBF\xBF", b"\xF0\x8F\xBF\xBF", b"\xF0\x90\x80\x80", b"\xF0\x90\x80",
    b"\xF0\x90\x80a", b"\xF0\x90\xE0", b"\xF1\x80", b"\xF3\xBF\xBF\xBF", b"\xF3\xBF\xBF\xBF\xBF",
    b"\xF4\x8F\xBF\xBF", b"\xF4\x90\x80\x80", b"\xF5\x80\x80\x80", b"\xF8\x88\x80\x80\x80", b"\xFE", b"\xFF",
];

/// Ends of a stream, for every state.
#[rustfmt::skip]
const ENDS: [&[u8]; 14] = [
    b"", b"abcd", b"\xC3\xA9", b"\xC2", b"\xDF", b"\xE0", b"\xE1", b"\xED", b"\xE2\x82", b"\xF0", b"\xF4",
    b"\xF1\x80", b"\xF0\x9F\x92", b"\xF0\x9F\x92\xA9",
];

#[test]
fn the_kernel_of_the_cfg_is_in_use() {
    #[cfg(utf8_codec_kernel = "environment")]
    let variable = std::env::var("UTF8_CODEC_KERNEL").ok();
    #[cfg(utf8_codec_kernel = "environment")]
    let required = variable.as_deref();
    #[cfg(not(utf8_codec_kernel = "environment"))]
    let required = FORCED;
    if let Some(name) = required {
        let kernel = Kernel::in_use().name();
        assert!(kernel == name, "{name} is required, but this CPU has only {kernel}");
    }
}
