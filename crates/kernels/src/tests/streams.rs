//! Compares streams in chunks with the standard library on the whole stream.

use super::{ALPHABETS, CRITICAL, found_by, split, text, validate_by};
use crate::dispatch::Kernel;
use crate::grammar::{Sequence, UTF_8};
use crate::rng::Rng;
use crate::state::ScanState;

#[test]
fn random_bytes_have_one_verdict_for_every_split_into_chunks() {
    let mut rng = Rng::new(0x9E37_79B9_7F4A_7C15);
    let rounds = match () {
        () if cfg!(miri) => 60,
        () if cfg!(debug_assertions) => 3_000,
        () => 100_000,
    };
    for round in 0..rounds {
        let mut bytes = Vec::new();
        let in_16 = rng.below(4);
        for _ in 0..rng.below(40) {
            let alphabet = ALPHABETS[rng.below(ALPHABETS.len())];
            bytes.extend(text(rng.below(24), alphabet));
            if rng.below(16) < in_16 {
                bytes.extend_from_slice(CRITICAL[rng.below(CRITICAL.len())]);
            }
        }
        let expected = verdict_of_std(&bytes);
        let is_text = core::str::from_utf8(&bytes).is_ok() && bytes.len() >= 4;
        for kernel in Kernel::available() {
            assert_eq!(kernel.is_text(&bytes), is_text, "{kernel:?}, round {round}: {bytes:02X?}");
            assert_eq!(verdict(kernel, &[&bytes]), expected, "{kernel:?}, round {round}: {bytes:02X?}");
            let chunks = split(&bytes, &mut rng, 0, |_| [3, 20, 70, 400][round % 4]);
            assert_eq!(verdict(kernel, &chunks), expected, "{kernel:?}, round {round}: {chunks:02X?}");
        }
    }
}

/// The length of the well-formed prefix of a stream, and whether an ill-formed or an unfinished sequence follows.
#[derive(Debug, PartialEq)]
struct Verdict {
    valid_up_to: usize,
    ill_formed: bool,
    len: usize,
}

fn verdict_of_std(bytes: &[u8]) -> Verdict {
    match core::str::from_utf8(bytes) {
        Ok(_) => Verdict { valid_up_to: bytes.len(), ill_formed: false, len: 0 },
        Err(error) => Verdict {
            valid_up_to: error.valid_up_to(),
            ill_formed: error.error_len().is_some(),
            len: error.error_len().unwrap_or(bytes.len() - error.valid_up_to()),
        },
    }
}

/// Returns the verdict of a kernel, chunk by chunk, with every prediction.
fn verdict(kernel: Kernel, chunks: &[&[u8]]) -> Verdict {
    verdict_by(chunks, |state, chunk| {
        let found = found_by(kernel, state.carry(), chunk);
        if found.is_ok() {
            *state = state.after(chunk);
        }
        found
    })
}

fn verdict_by(chunks: &[&[u8]], validate: impl Fn(&mut ScanState, &[u8]) -> Result<(), usize>) -> Verdict {
    let (mut state, mut before) = (ScanState::START, 0);
    for chunk in chunks {
        if let Err(index) = validate(&mut state, chunk) {
            let begun = state.after(&chunk[..index]);
            let sequence = [begun.pending(), &chunk[index..]].concat();
            let Sequence::IllFormed { len, .. } = UTF_8.sequence(&sequence) else {
                panic!("{sequence:02X?} is not ill-formed");
            };
            return Verdict { valid_up_to: before + index - begun.pending().len(), ill_formed: true, len };
        }
        before += chunk.len();
    }
    let len = usize::from(state.pending_len());
    Verdict { valid_up_to: before - len, ill_formed: false, len }
}

/// Alternating long sections of different texts, with at most one ill-formed sequence, in chunks of very different
/// lengths.
#[test]
fn long_streams_have_one_verdict_with_their_own_predictions() {
    let mut rng = Rng::new(0x2545_F491_4F6C_DD1D);
    let rounds = match () {
        () if cfg!(miri) => 2,
        () if cfg!(debug_assertions) => 1_000,
        () => 20_000,
    };
    for round in 0..rounds {
        let mut bytes = Vec::new();
        for _ in 0..1 + rng.below(12) {
            let alphabet = ALPHABETS[rng.below(ALPHABETS.len())];
            bytes.extend(text(1 + rng.below(900), alphabet));
        }
        if round % 3 > 0 {
            let at = rng.below(bytes.len());
            bytes[at] = [0x80, 0xBF, 0xC1, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF, b'a'][rng.below(10)];
        }
        let expected = verdict_of_std(&bytes);
        let chunks = split(&bytes, &mut rng, 1, |rng| [20, 300, 700, 3_000][rng.below(4)]);
        for kernel in Kernel::available() {
            let found = verdict_by(&chunks, |state, chunk| validate_by(kernel, state, chunk));
            let lens: Vec<usize> = chunks.iter().map(|chunk| chunk.len()).collect();
            assert_eq!(found, expected, "{kernel:?}, round {round}, chunks of {lens:?}");
        }
    }
}
