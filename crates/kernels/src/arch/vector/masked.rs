//! Validation of the payload of a WebSocket frame without a copy: each vector is combined with the key (XOR) when it is loaded.

use super::super::super::state::Carry;
use super::{Vector, ends_with_never_a_lead, load_at};

/// The distance in bytes at which memory is prefetched into the L1 cache.
const AHEAD: usize = 1024;

/// A vector type that can be combined with a key.
pub(crate) trait Masked: Vector {
    /// # Safety
    ///
    /// The CPU has the instructions of this type.
    unsafe fn splat(word: u32) -> Self;

    fn xor(self, other: Self) -> Self;
}

/// Implements [`masked_text_end`](super::super::super::functions::Functions).
///
/// # Safety
///
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn masked_text_end<V: Masked>(bytes: &[u8], from: usize, key: [u8; 4]) -> usize {
    let mut at = from;
    let key = u32::from_le_bytes(key);
    // The keys of the bytes from an index on, and of those 1, 2 and 3 bytes before.
    // SAFETY: the CPU has the instructions.
    let keys: [V; 4] = unsafe {
        [
            V::splat(key),
            V::splat(key.rotate_left(8)),
            V::splat(key.rotate_left(16)),
            V::splat(key.rotate_left(24)),
        ]
    };
    let (group, prefetches) = (V::GROUP * V::LEN, V::prefetches_ascii());
    let (mut segment, mut has_four_bytes) = (V::FIRST_SEGMENT, false);
    while let Some((done, rest)) = bytes.split_at_checked(at) {
        let Some(before) = done.last_chunk().filter(|_| rest.len() >= group) else { break };
        let before = Carry::from_word(u32::from_le_bytes(*before) ^ key);
        if before.is_ascii() {
            let start = at;
            // SAFETY: the CPU has the instructions; there is a group at `at`.
            while bytes.len() - at >= group && unsafe { is_ascii(bytes, at, keys[0]) } {
                if prefetches {
                    V::prefetch(bytes.as_ptr().wrapping_add(at + AHEAD));
                }
                at += group;
            }
            if at > start {
                segment = V::FIRST_SEGMENT;
                continue;
            }
        }
        has_four_bytes |= before.has_lead_of_four();
        let end = at + group * segment.min(rest.len() / group);
        // SAFETY: the CPU has the instructions; the range has a number of groups, after at least 4 bytes.
        let marks = unsafe {
            if has_four_bytes {
                marks::<V, 4, true>(bytes, at, end, keys)
            } else {
                marks::<V, 4, false>(bytes, at, end, keys)
            }
        };
        if !marks.is_marked() {
            at = end;
            segment = V::next_segment(segment);
        } else if has_four_bytes {
            break;
        } else {
            // The marks may be lead bytes of 4-byte sequences.
            has_four_bytes = true;
        }
    }
    // The vectors after the last group, or the first ones of a segment with an error.
    while at >= 4 && bytes.len().saturating_sub(at) >= V::LEN {
        // SAFETY: the CPU has the instructions; there is a vector at `at`, after at least 4 bytes.
        if unsafe { marks::<V, 1, true>(bytes, at, at + V::LEN, keys) }.is_marked() {
            break;
        }
        at += V::LEN;
    }
    // A byte that is never a lead is marked at the byte after it.
    let end = bytes.get(..at).and_then(<[u8]>::last_chunk).map_or(0, |last| u32::from_le_bytes(*last) ^ key);
    if at > from && ends_with_never_a_lead(Carry::from_word(end)) { at - V::LEN } else { at }
}

/// Whether a group is ASCII.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - There is a group at `at`.
#[inline(always)]
unsafe fn is_ascii<V: Masked>(bytes: &[u8], at: usize, key: V) -> bool {
    // SAFETY: the caller guarantees the requirements.
    let mut any: V = unsafe { load_at::<V>(bytes, at) }.xor(key);
    for i in 1..V::GROUP {
        // SAFETY: same as above.
        any = any.or(unsafe { load_at::<V>(bytes, at + i * V::LEN) }.xor(key));
    }
    any.is_ascii()
}

/// Returns the marks of the vectors in a range. Without `FOUR_BYTES` each lead byte of a 4-byte sequence is marked.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `3 <= at <= end <= bytes.len()`, and the range is a multiple of `STEP` vectors.
/// - With `FOUR_BYTES`, or no lead byte of a 4-byte sequence is in the 3 bytes before `at`.
#[inline(always)]
unsafe fn marks<V: Masked, const STEP: usize, const FOUR_BYTES: bool>(
    bytes: &[u8],
    mut at: usize,
    end: usize,
    keys: [V; 4],
) -> V {
    // SAFETY: the CPU has the instructions.
    let mut marks = unsafe { V::zero() };
    while at < end {
        for i in 0..STEP {
            if i * V::LEN % 64 == 0 {
                V::prefetch(bytes.as_ptr().wrapping_add(at + i * V::LEN + AHEAD));
            }
            // SAFETY: the caller guarantees the range, and at least 3 bytes before it.
            let load =
                |before: usize| unsafe { load_at::<V>(bytes, at + i * V::LEN - before) }.xor(keys[before]);
            let (x, [p1, p2]) = (load(0), [load(1), load(2)]);
            marks = if FOUR_BYTES {
                marks.or_marks(x, [p1, p2, load(3)])
            } else {
                marks.or_marks_in_bmp(x, [p1, p2])
            };
        }
        at += STEP * V::LEN;
    }
    marks
}
