//! Validation on every target: words of ASCII, and the state machine of the grammar as a shift-based DFA (Per Vognsen).
//!
//! A table holds a 32-bit number for each byte. A state is a distance, by which a step shifts the number of the byte.
//! The low 5 bits of the result are the next state. The shift depends on the previous step, but the load from the table
//! does not.

use crate::as_chunks::as_chunks;
use crate::functions::Index;
use crate::grammar::{Machine, UTF_8};
use crate::state::{Carry, Prediction, SMALL, ScanState};

const MASK: u32 = 31;
/// The numbers in [`UTF_8`] of the states that are used here, and the distance for each. States that only longer
/// sequences need are left out. The numbers of a byte for all states overlap. Z3 found distances at which they agree in
/// the common bits.
const STATES: [(u8, u32); 8] = [(0, BOUNDARY), (1, 3), (2, 8), (3, 2), (6, 13), (7, 25), (8, 27), (9, 15)];
const BOUNDARY: u32 = 20;
/// An additional state, after an ill-formed sequence. No byte leaves it.
const REJECTED: u32 = 0;

static SHIFTS: [u32; 256] = shifts(&UTF_8);

const fn shifts(machine: &Machine) -> [u32; 256] {
    let mut shifts = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut from = 0;
        while from < STATES.len() {
            shifts[byte] |= next(machine, from, byte) << STATES[from].1;
            from += 1;
        }
        while from > 0 {
            from -= 1;
            assert!(shifts[byte] >> STATES[from].1 & MASK == next(machine, from, byte), "the states overlap");
        }
        assert!(shifts[byte] & MASK == REJECTED, "a byte leaves `REJECTED`");
        byte += 1;
    }
    shifts
}

const fn next(machine: &Machine, from: usize, byte: usize) -> u32 {
    let Some(state) = machine.next(STATES[from].0, byte as u8) else { return REJECTED };
    let mut index = 0;
    while STATES[index].0 != state {
        index += 1;
    }
    STATES[index].1
}

/// Returns the state after a byte. Only the low 5 bits of a state are significant.
#[inline]
fn step(state: u32, byte: u8) -> u32 {
    SHIFTS[usize::from(byte)] >> (state & MASK)
}

/// Returns the state after the carry.
fn state_after(carry: Carry) -> u32 {
    // Only the last 3 bytes matter. Continuation bytes at their start belong to a sequence that started earlier. It is
    // complete, because a sequence has at most 4 bytes.
    let bytes = carry.word().to_le_bytes();
    let start = (1..4).find(|&at| bytes[at] & 0xC0 != 0x80).unwrap_or(4);
    bytes[start..].iter().fold(BOUNDARY, |state, &byte| step(state, byte))
}

const BLOCK: usize = 32;

/// A safe [`Validate`](crate::functions::Validate), with the state behind a reference.
pub(crate) fn validate(chunk: &[u8], state: &mut ScanState) -> Result<(), Index> {
    let mut before = *state;
    let end = before.carry().after(chunk);
    if chunk.len() <= SMALL && before.expects_ascii() {
        if is_ascii_chunk(chunk) {
            *state = ScanState::new(end, Prediction::ASCII);
            return Ok(());
        }
        before = ScanState::new(before.carry(), before.prediction().mispredicted());
    }
    if let Some(index) = first_ill_formed(before.carry(), chunk) {
        return Err(Index::new(index));
    }
    *state = ScanState::new(end, before.prediction().after_chunk(end));
    Ok(())
}

/// A safe [`IsText`](crate::functions::IsText).
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.len() <= SMALL && is_ascii_chunk(bytes)
        || first_ill_formed(Carry::START, bytes).is_none() && Carry::START.after(bytes).pending_len() == 0
}

/// Returns the index of the first byte that makes a chunk after this carry ill-formed.
fn first_ill_formed(carry: Carry, chunk: &[u8]) -> Option<usize> {
    let mut state = state_after(carry);
    let mut at = 0;
    while let Some(block) = chunk.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        if state & MASK == BOUNDARY && is_ascii(block) {
            at += BLOCK;
            // After an ASCII block more ASCII is likely.
            let (groups, _) = as_chunks::<{ 4 * BLOCK }>(chunk.get(at..).unwrap_or_default());
            for group in groups {
                if !is_ascii(group) {
                    break;
                }
                at += 4 * BLOCK;
            }
            continue;
        }
        let mut after = state;
        for &byte in block {
            after = step(after, byte);
        }
        if after & MASK == REJECTED {
            break;
        }
        state = after;
        at += BLOCK;
    }
    first_rejected(state, chunk.get(at..).unwrap_or_default()).map(|index| at + index)
}

/// Returns the index of the first byte that leads to [`REJECTED`] from this state.
fn first_rejected(mut state: u32, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| {
        state = step(state, byte);
        state & MASK == REJECTED
    })
}

/// Whether a small chunk is ASCII. The last block overlaps the one before it.
fn is_ascii_chunk(chunk: &[u8]) -> bool {
    match chunk.last_chunk::<BLOCK>() {
        Some(last) => is_ascii(last) && as_chunks::<BLOCK>(chunk).0.iter().all(is_ascii),
        None => chunk.iter().all(u8::is_ascii),
    }
}

#[inline(always)]
fn is_ascii<const N: usize>(block: &[u8; N]) -> bool {
    let (words, _) = as_chunks::<8>(block);
    let mut any = 0;
    for &word in words {
        any |= u64::from_ne_bytes(word);
    }
    any & 0x8080_8080_8080_8080 == 0
}
