//! The kernel for every machine: words of ASCII, and the grammar's machine with its state in the count of a shift.
//!
//! The machine's table is turned on its side: for each byte a number holds, six bits for each state, where that
//! state goes. A step is a shift by the state, which waits only for the state before it, while the loads wait for
//! nothing (Per Vognsen's "shift-based DFA").

use super::{Last, SMALL};
use crate::encoding::{Machine, UTF_8};

/// Bits of a state, which is its number times this.
const WIDTH: u32 = 6;
const MASK: u64 = (1 << WIDTH) - 1;
const BOUNDARY: u64 = 0;
/// The numbers of the states of [`UTF_8`], by their number there; nothing in this encoding is longer than four bytes.
const STATES: [u8; 8] = [0, 1, 2, 3, 6, 7, 8, 9];
/// The state after them: a byte was refused, and nothing leads away from it.
const REFUSED: u64 = STATES.len() as u64 * WIDTH as u64;

static SHIFTS: [u64; 256] = shifts(&UTF_8);

const fn shifts(machine: &Machine) -> [u64; 256] {
    let mut shifts = [REFUSED << REFUSED; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut from = 0;
        while from < STATES.len() {
            let to = match machine.next(STATES[from], byte as u8) {
                Some(state) => place(state) * WIDTH as u64,
                None => REFUSED,
            };
            shifts[byte] |= to << (from as u32 * WIDTH);
            from += 1;
        }
        byte += 1;
    }
    shifts
}

const fn place(state: u8) -> u64 {
    let mut place = 0;
    while STATES[place] != state {
        place += 1;
    }
    place as u64
}

/// One byte. Only the low six bits of a state mean something.
#[inline]
fn step(state: u64, byte: u8) -> u64 {
    SHIFTS[usize::from(byte)] >> (state & MASK)
}

/// The state after bytes of which the last came last; `0` where none came.
fn state_after(last: u32) -> u64 {
    // A good stream needs three bytes to be known. What stands before them may be half a sequence: it is skipped.
    let bytes = last.to_le_bytes();
    let start = (1..4).find(|&at| bytes[at] & 0xC0 != 0x80).unwrap_or(4);
    bytes[start..].iter().fold(BOUNDARY, |state, &byte| step(state, byte))
}

const BLOCK: usize = 32;

/// [`Implementation::take`](super::kernel::Implementation::take), and safe.
pub(super) fn take(last: &mut Last, chunk: &[u8]) -> usize {
    let mut before = *last;
    let after = before.after(chunk);
    if chunk.len() <= SMALL && before.is_calm() {
        if chunk.is_ascii() {
            *last = after.calm();
            return chunk.len();
        }
        before = before.disappointed();
    }
    let flaw = first_flaw(before.word(), chunk);
    if flaw < chunk.len() {
        return flaw;
    }
    if after.ends_with_no_lead() {
        return flaw - 1;
    }
    *last = after.with_history_of(before);
    flaw
}

/// [`Implementation::is_text`](super::kernel::Implementation::is_text), and safe.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let mut last = Last::before(bytes.len());
    take(&mut last, bytes) == bytes.len() && last.is_boundary()
}

/// The first flaw in a chunk that follows `last`, or its length if it has none.
fn first_flaw(last: u32, chunk: &[u8]) -> usize {
    let mut state = state_after(last);
    let mut at = 0;
    while let Some(block) = chunk.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        if state & MASK == BOUNDARY && is_ascii(block) {
            at += BLOCK;
            // Where one block is ASCII many may be.
            let (groups, _) = chunk[at..].as_chunks::<{ 4 * BLOCK }>();
            at += 4 * BLOCK * groups.iter().take_while(|group| is_ascii(group)).count();
            continue;
        }
        let after = block.iter().fold(state, |state, &byte| step(state, byte));
        if after & MASK == REFUSED {
            return at + first_refused(state, block);
        }
        state = after;
        at += BLOCK;
    }
    at + first_refused(state, &chunk[at..])
}

/// The first byte that the machine refuses from this state on; the number of bytes if there is none.
fn first_refused(mut state: u64, bytes: &[u8]) -> usize {
    for (at, &byte) in bytes.iter().enumerate() {
        state = step(state, byte);
        if state & MASK == REFUSED {
            return at;
        }
    }
    bytes.len()
}

#[inline(always)]
fn is_ascii<const N: usize>(block: &[u8; N]) -> bool {
    let (words, _) = block.as_chunks::<8>();
    let any = words.iter().fold(0, |any, &word| any | u64::from_ne_bytes(word));
    any & 0x8080_8080_8080_8080 == 0
}
