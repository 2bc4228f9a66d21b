//! Compares every kernel of this CPU with the grammar, for every pair of bytes in every state.
//!
//! A table of a kernel with a single wrong bit fails here, unless the bit never affects a result.

use super::{first_rejected, validate_by};
use crate::dispatch::Kernel;
use crate::formula::is_never_a_lead;
use crate::state::{Carry, Prediction, ScanState};

/// The end of a stream in each state of the grammar.
#[rustfmt::skip]
const STATES: [&[u8]; 12] = [
    b"", b"\xC2", b"\xE0", b"\xE1", b"\xED", b"\xF0", b"\xF1", b"\xF4", b"\xE1\x80", b"\xF1\x80",
    b"\xF1\x80\x80", b"\xF4\x8F\xBF",
];

/// The length of a pair and 3 bytes after it.
const PAIR_LEN: usize = 5;
const CHUNK_LEN: usize = 100;
/// The maximum number of bytes needed to reach a state.
const MAX_BEGUN: usize = 3;

/// The first and the last byte of each class of the grammar.
fn is_limit(byte: u8) -> bool {
    matches!(byte, 0x00 | 0x7F..=0x80 | 0x8F..=0x90 | 0x9F..=0xA0 | 0xBF..=0xC2 | 0xDF..=0xE1 | 0xEC..=0xF1 | 0xF3..=0xF5 | 0xFF)
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn pairs_with_a_limit_in_every_state_agree_with_the_grammar() {
    check_pairs(|[first, second]| is_limit(first) || is_limit(second));
}

#[test]
#[ignore = "seconds in release mode, a minute without optimization"]
fn every_pair_in_every_state_agrees_with_the_grammar() {
    check_pairs(|_| true);
}

fn check_pairs(is_tested: impl Fn([u8; 2]) -> bool) {
    for kernel in Kernel::available() {
        for begun in STATES {
            let before = ScanState::new(Carry::START.after(begun), Prediction::NONE);
            let mut chunk = [b'a'; CHUNK_LEN];
            for [first, second] in (0..=u16::MAX).map(u16::to_be_bytes).filter(|&pair| is_tested(pair)) {
                // The formula without sequences of 4 bytes could wrongly accept continuation bytes after `F0..=FF`.
                let tails: &[u8] = if first >= 0xF0 || second >= 0xF0 { b"a\x80" } else { b"a" };
                for &tail in tails {
                    let short = [first, second, tail, tail, tail];
                    let expected = first_rejected(begun, &short);
                    // A byte that is never a lead may be reported at the next index.
                    let may_be_late = expected.is_some_and(|index| is_never_a_lead(short[index]));
                    let check = |found: Result<(), usize>, start: usize| {
                        let expected = expected.map(|index| start + index);
                        assert!(
                            found.err() == expected
                                || may_be_late && found.err() == expected.map(|index| index + 1),
                            "{kernel:?}: {short:02X?} after {begun:02X?}: {found:?}, not {expected:?}"
                        );
                    };

                    // The state comes from the previous chunk: the whole formula, on one vector.
                    check(validate_by(kernel, &mut before.clone(), &short), 0);

                    // The state is reached inside the chunk, at some index: the formula for text without sequences of 4
                    // bytes, then the whole formula.
                    let starts = CHUNK_LEN - MAX_BEGUN - PAIR_LEN;
                    let start =
                        usize::from(first.wrapping_mul(7).wrapping_add(second.wrapping_mul(13))) % starts;
                    let at = start + begun.len();
                    chunk[start..at].copy_from_slice(begun);
                    chunk[at..at + PAIR_LEN].copy_from_slice(&short);
                    for prediction in [Prediction::NONE, Prediction::FOUR_BYTES] {
                        check(validate_by(kernel, &mut ScanState::new(Carry::START, prediction), &chunk), at);
                    }
                    chunk[start..at + PAIR_LEN].fill(b'a');
                }
            }
        }
    }
}
