//! Validation on every target: words of ASCII, and the state machine of the grammar as a shift-based DFA (Per Vognsen).
//!
//! A table holds a 64-bit number for each byte. For each state the number has 6 bits, which are the next state. A step
//! shifts the number by the current state. The shift depends on the previous step, but the load from the table does
//! not.

use crate::encoding::{Machine, UTF_8};
use crate::kernels::functions::Index;
use crate::kernels::state::{Carry, Prediction, SMALL, ScanState};

/// The number of bits of a state. A state is stored as its index in [`STATES`] times this width, which is the distance
/// of the shift.
const WIDTH: u32 = 6;
const MASK: u64 = (1 << WIDTH) - 1;
const BOUNDARY: u64 = 0;
/// The numbers in [`UTF_8`] of the states that are used here. States that only longer sequences need are left out.
const STATES: [u8; 8] = [0, 1, 2, 3, 6, 7, 8, 9];
/// An additional state, after an ill-formed sequence. No byte leaves it.
const REJECTED: u64 = STATES.len() as u64 * WIDTH as u64;

static SHIFTS: [u64; 256] = shifts(&UTF_8);

const fn shifts(machine: &Machine) -> [u64; 256] {
    let mut shifts = [REJECTED << REJECTED; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut from = 0;
        while from < STATES.len() {
            let to = match machine.next(STATES[from], byte as u8) {
                Some(state) => index_of(state) * WIDTH as u64,
                None => REJECTED,
            };
            shifts[byte] |= to << (from as u32 * WIDTH);
            from += 1;
        }
        byte += 1;
    }
    shifts
}

const fn index_of(state: u8) -> u64 {
    let mut index = 0;
    while STATES[index] != state {
        index += 1;
    }
    index as u64
}

/// Returns the state after a byte. Only the low 6 bits of a state are significant.
#[inline]
fn step(state: u64, byte: u8) -> u64 {
    SHIFTS[usize::from(byte)] >> (state & MASK)
}

/// Returns the state after the carry.
fn state_after(carry: Carry) -> u64 {
    // Only the last 3 bytes matter. Continuation bytes at their start belong to a sequence that started earlier. It is
    // complete, because a sequence has at most 4 bytes.
    let bytes = carry.word().to_le_bytes();
    let start = (1..4).find(|&at| bytes[at] & 0xC0 != 0x80).unwrap_or(4);
    bytes[start..].iter().fold(BOUNDARY, |state, &byte| step(state, byte))
}

const BLOCK: usize = 32;

/// A safe [`Validate`](crate::kernels::functions::Validate), with the state behind a reference.
pub(super) fn validate(chunk: &[u8], state: &mut ScanState) -> Result<(), Index> {
    let mut before = *state;
    let end = before.carry().after(chunk);
    if chunk.len() <= SMALL && before.expects_ascii() {
        if chunk.is_ascii() {
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

/// A safe [`IsText`](crate::kernels::functions::IsText).
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.len() <= SMALL && bytes.is_ascii()
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
            let (groups, _) = chunk.get(at..).unwrap_or_default().as_chunks::<{ 4 * BLOCK }>();
            at += 4 * BLOCK * groups.iter().take_while(|group| is_ascii(group)).count();
            continue;
        }
        let after = block.iter().fold(state, |state, &byte| step(state, byte));
        if after & MASK == REJECTED {
            return first_rejected(state, block).map(|index| at + index);
        }
        state = after;
        at += BLOCK;
    }
    first_rejected(state, chunk.get(at..).unwrap_or_default()).map(|index| at + index)
}

/// Returns the index of the first byte that leads to [`REJECTED`] from this state.
fn first_rejected(mut state: u64, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| {
        state = step(state, byte);
        state & MASK == REJECTED
    })
}

#[inline(always)]
fn is_ascii<const N: usize>(block: &[u8; N]) -> bool {
    let (words, _) = block.as_chunks::<8>();
    let any = words.iter().fold(0, |any, &word| any | u64::from_ne_bytes(word));
    any & 0x8080_8080_8080_8080 == 0
}
