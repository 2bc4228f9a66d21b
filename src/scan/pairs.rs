//! Every pair of bytes in every state, by every kernel that the machine has, against the grammar.
//!
//! A kernel with a table that differs from what it should be in a single bit fails here, unless no text can show the
//! difference.

use super::last::BEYOND;
use super::tests::take_by;
use super::twin::is_never_a_lead;
use super::{Kernel, Last};
use crate::encoding::{State, Step, UTF_8};

/// An end of a stream in each state of the grammar, by the shortest way there and by one that is longer.
const STATES: [&[u8]; 12] = [
    b"",
    b"\xC2",
    b"\xE0",
    b"\xE1",
    b"\xED",
    b"\xF0",
    b"\xF1",
    b"\xF4",
    b"\xE1\x80",
    b"\xF1\x80",
    b"\xF1\x80\x80",
    b"\xF4\x8F\xBF",
];

/// The index of the first byte that the grammar refuses after this state; the length if there is none.
fn first_refused(mut state: State, bytes: &[u8]) -> usize {
    for (at, &byte) in bytes.iter().enumerate() {
        match UTF_8.step(state, byte) {
            Step::To(next) => state = next,
            Step::Refused(_) => return at,
        }
    }
    bytes.len()
}

/// A pair, and ASCII after it.
const PAIR_LEN: usize = 5;
const CHUNK_LEN: usize = 100;
/// The state is reached by so many bytes at most.
const MAX_BEGUN: usize = 3;

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn every_pair_in_every_state_is_judged_as_the_grammar_does() {
    for kernel in Kernel::available() {
        for begun in STATES {
            let (before, state) = (Last::NONE.after(begun), UTF_8.state_after(begun));
            let mut chunk = [b'a'; CHUNK_LEN];
            for pair in 0..=u16::MAX {
                let [first, second] = pair.to_be_bytes();
                let short = [first, second, b'a', b'a', b'a'];
                let expected = first_refused(state, &short);
                // A refused lead may be reported at the byte after it.
                let is_late = short.get(expected).is_some_and(|&byte| is_never_a_lead(byte));
                let check = |found: usize, expected: usize| {
                    assert!(
                        found == expected || is_late && found == expected + 1,
                        "{kernel:?}: {first:02X} {second:02X} after {begun:02X?}: {found}, not {expected}"
                    );
                };

                // The state comes from the chunk before: the formula for all characters, on one vector.
                check(take_by(kernel, &mut before.clone(), &short), expected);

                // The state is reached in the chunk, at some place: the formula for the Basic Multilingual Plane, then
                // the one for all characters.
                let places = CHUNK_LEN - MAX_BEGUN - PAIR_LEN;
                let start = usize::from(first.wrapping_mul(7).wrapping_add(second.wrapping_mul(13))) % places;
                let at = start + begun.len();
                chunk[start..at].copy_from_slice(begun);
                chunk[at..at + PAIR_LEN].copy_from_slice(&short);
                let expected = if expected == PAIR_LEN { CHUNK_LEN } else { at + expected };
                for guess in [0, BEYOND] {
                    check(take_by(kernel, &mut Last::new(0, guess), &chunk), expected);
                }
                chunk[start..at + 2].fill(b'a');
            }
        }
    }
}
