//! Chunks longer than a vector: the main loop.
//!
//! The loop has two modes. In ASCII it only tests groups of vectors for ASCII. If one half of a group is ASCII and the
//! other is not, it computes the marks of the formula for the other half. In dense text, where most groups are not
//! ASCII, it computes the marks of all vectors and tests them once per segment, which is a number of groups. Both modes
//! start with the formula for text without sequences of 4 bytes, and change to the whole formula after the first lead
//! byte of a 4-byte sequence.

use super::super::super::functions::Index;
use super::super::super::state::ScanState;
use super::{Vector, carry_at, ends_with_never_a_lead, load_at, or_marks_at};

/// The distance in bytes at which memory is prefetched into the L1 cache. 640 bytes, 2 KiB and 4 KiB are up to a tenth
/// slower for 512 MiB of text on Emerald Rapids. ASCII is prefetched only if [`Vector::prefetches_ascii`].
const AHEAD: usize = 1024;
/// The distance at which memory is prefetched into the L2 cache, for dense text. The loop over ASCII does not use it:
/// if the text is already in the L2 cache, this prefetch would cost a fifth of the speed of that loop.
const FAR_AHEAD: usize = 4096;

/// [`Validate`](super::super::super::functions::Validate) for chunks longer than a vector.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - The chunk is longer than a vector.
#[inline(always)]
pub(crate) unsafe fn validate_large<V: Vector>(chunk: &[u8], state: &mut ScanState) -> Result<(), Index> {
    let len = chunk.len();
    let carry = state.carry();
    let prediction = state.prediction();
    // SAFETY: the CPU has the instructions; the chunk is longer than a vector.
    let (none, x) = unsafe { (V::zero(), load_at::<V>(chunk, 0)) };
    if let Some(index) = none.or_marks(x, x.shifted_after(carry)).first_mark_before(V::LEN) {
        return Err(Index::new(index));
    }
    let expected_four_bytes = prediction.expects_four_bytes() || carry.has_lead_of_four();
    let mut has_four_bytes = expected_four_bytes;
    let found = if len > V::SMALL {
        // SAFETY: the CPU has the instructions; the chunk is not small.
        unsafe { first_ill_formed::<V>(chunk, x.is_ascii(), &mut has_four_bytes) }
    } else {
        // A small chunk comes here only after `small::validate` found marks. For `LEN + 3` bytes or more, these may be
        // from the formula without sequences of 4 bytes. If the chunk is well-formed, it then has such a sequence.
        has_four_bytes |= len >= V::LEN + 3;
        // SAFETY: the CPU has the instructions; there is a vector before the range, which ends with the chunk.
        unsafe { V::find(chunk, V::LEN, len) }
    };
    if let Some(index) = found {
        return Err(Index::new(index));
    }
    // SAFETY: a vector has at least 4 bytes.
    let end = unsafe { carry_at(chunk, len) };
    if ends_with_never_a_lead(end) {
        return Err(Index::new(len - 1));
    }
    let prediction = prediction.after_chunk(end);
    let prediction = match (has_four_bytes, expected_four_bytes) {
        (false, _) => prediction,
        (true, false) => prediction.with_four_bytes(),
        (true, true) => prediction.one_chunk_later(),
    };
    *state = ScanState::new(end, prediction);
    Ok(())
}

/// Returns the index of the first byte that makes a chunk ill-formed. The first vector of the chunk is well-formed.
/// Sets `has_four_bytes` if there is a sequence of 4 bytes.
///
/// If `expects_ascii` is set and a group is not ASCII, its halves are tested separately. This is only useful if ASCII
/// is likely.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - The chunk is longer than [`Vector::SMALL`].
#[inline(always)]
unsafe fn first_ill_formed<V: Vector>(
    chunk: &[u8],
    mut expects_ascii: bool,
    has_four_bytes: &mut bool,
) -> Option<usize> {
    let start = chunk.as_ptr();
    let len = chunk.len();
    let group = V::GROUP * V::LEN;
    let half = group / 2;
    // Moves `at` to the first aligned index with 4 bytes before it. If that index is after the first vector, the vector
    // at 4 is tested first. From here on, all bytes before `at` have been validated.
    let mut at = V::LEN - start as usize % V::LEN;
    if at < 4 {
        // SAFETY: the CPU has the instructions; the chunk is longer than two vectors.
        let marks = unsafe { or_marks_at(V::zero(), chunk, 4) };
        if let Some(index) = marks.first_mark_before(V::LEN) {
            return Some(4 + index);
        }
        at += V::LEN;
    }
    debug_assert!(at >= 4);
    let mut segment = V::FIRST_SEGMENT;
    while len - at >= group {
        // SAFETY: `4 <= at <= len`.
        let before = unsafe { carry_at(chunk, at) };
        if before.is_ascii() {
            // SAFETY: the CPU has the instructions; there is a group at `at`.
            if unsafe { is_ascii::<V>(chunk, at, V::GROUP) } {
                // SAFETY: the CPU has the instructions; there is a group at `at`.
                at = unsafe { skip_ascii::<V>(chunk, at + group) };
                expects_ascii = true;
                segment = V::FIRST_SEGMENT;
                if len - at < group {
                    break;
                }
            }
            if expects_ascii {
                // SAFETY: the CPU has the instructions; there is a group at `at`, and both halves are inside it.
                let halves = unsafe {
                    [is_ascii::<V>(chunk, at, V::GROUP / 2), is_ascii::<V>(chunk, at + half, V::GROUP / 2)]
                };
                // SAFETY: `4 <= at + half <= len`.
                let middle = unsafe { carry_at(chunk, at + half) };
                // The first half is only validated by itself if no sequence continues in the second half.
                let is_first_apart = halves[1] & middle.is_ascii();
                if halves[0] | is_first_apart {
                    // The half is selected without a branch, because the branch would be mispredicted.
                    let from = at + half * usize::from(halves[0]);
                    // SAFETY: the CPU has the instructions; there is a half at `from`, after ASCII.
                    if unsafe { marks_of::<V>(chunk, from, V::GROUP / 2, *has_four_bytes) }.is_marked() {
                        // SAFETY: the CPU has the instructions; a half is a number of vectors.
                        if let Some(index) = unsafe { V::find(chunk, from, from + half) } {
                            return Some(index);
                        }
                        *has_four_bytes = true;
                    }
                    at += group;
                    continue;
                }
            }
        }
        expects_ascii = false;
        *has_four_bytes |= before.has_lead_of_four();
        let groups = segment.min((len - at) / group);
        let stop = at + groups * group;
        // SAFETY: the CPU has the instructions; there are `groups` groups at `at`, and `has_four_bytes` is set if one
        // of the 3 bytes before it is a lead byte of a 4-byte sequence.
        if unsafe { marks_of_segment::<V>(chunk, at, groups, *has_four_bytes) }.is_marked() {
            // SAFETY: the CPU has the instructions; a segment is a number of vectors.
            if let Some(index) = unsafe { V::find(chunk, at, stop) } {
                return Some(index);
            }
            // The marks were lead bytes of 4-byte sequences.
            *has_four_bytes = true;
        }
        at = stop;
        segment = V::next_segment(segment);
    }
    // Less than a group is left of a chunk that is longer than a group. The last group of the chunk starts before `at`.
    // It contains part of any sequence that is unfinished at `at`, and then it is not ASCII.
    // SAFETY: the CPU has the instructions; the chunk is longer than a group.
    if expects_ascii && unsafe { is_ascii::<V>(chunk, len - group, V::GROUP) } {
        return None;
    }
    // SAFETY: the CPU has the instructions; `4 <= at <= len`, and the chunk has two vectors.
    if unsafe { marks_of_rest::<V>(chunk, at) }.is_marked() {
        // SAFETY: the CPU has the instructions; the range ends with the chunk, which has two vectors.
        unsafe { V::find(chunk, at, len) }
    } else {
        None
    }
}

/// Implements [`AsciiLen`](super::super::super::functions::AsciiLen).
///
/// # Safety
///
/// The CPU has the instructions of `V`.
#[cfg(feature = "transcode")]
#[inline(always)]
pub(crate) unsafe fn ascii_len<V: Vector>(bytes: &[u8]) -> usize {
    // SAFETY: the CPU has the instructions.
    unsafe { skip_ascii::<V>(bytes, 0) }
}

/// Returns the index after the groups of ASCII that start at `at`.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `at <= chunk.len()`.
#[inline(always)]
unsafe fn skip_ascii<V: Vector>(chunk: &[u8], at: usize) -> usize {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        if V::prefetches_ascii() {
            skip_ascii_by::<V, true>(chunk, at)
        } else {
            skip_ascii_by::<V, false>(chunk, at)
        }
    }
}

/// Same as [`skip_ascii`]. The memory is prefetched if `PREFETCH`.
///
/// # Safety
///
/// Same as for [`skip_ascii`].
#[inline(always)]
unsafe fn skip_ascii_by<V: Vector, const PREFETCH: bool>(chunk: &[u8], mut at: usize) -> usize {
    let group = V::GROUP * V::LEN;
    // SAFETY: the CPU has the instructions; there is a group at `at`.
    while chunk.len() - at >= group && unsafe { is_ascii::<V>(chunk, at, V::GROUP) } {
        if PREFETCH {
            V::prefetch(chunk.as_ptr().wrapping_add(at + AHEAD));
        }
        at += group;
    }
    at
}

/// Whether `vectors` vectors at index `at` are ASCII.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `at + vectors * V::LEN <= chunk.len()`, and `vectors` is at least 1.
#[inline(always)]
unsafe fn is_ascii<V: Vector>(chunk: &[u8], at: usize, vectors: usize) -> bool {
    // SAFETY: the caller guarantees the requirements.
    let mut any: V = unsafe { load_at(chunk, at) };
    let mut i = 1;
    while i < vectors {
        // SAFETY: the caller guarantees the requirements.
        any = any.or(unsafe { load_at(chunk, at + i * V::LEN) });
        i += 1;
    }
    any.is_ascii()
}

/// Returns the marks of `groups` groups at index `at`.
///
/// # Safety
///
/// Same as for [`or_marks_of`], for all of the groups.
#[inline(always)]
unsafe fn marks_of_segment<V: Vector>(chunk: &[u8], at: usize, groups: usize, has_four_bytes: bool) -> V {
    // SAFETY: the CPU has the instructions.
    let mut marks = unsafe { V::zero() };
    let steps = groups * (V::GROUP / V::STEP);
    let mut i = 0;
    if has_four_bytes {
        while i < steps {
            // SAFETY: the caller guarantees the requirements.
            marks = unsafe { or_marks_of::<V, true>(marks, chunk, at + i * V::STEP * V::LEN, V::STEP) };
            i += 1;
        }
    } else {
        while i < steps {
            // SAFETY: the caller guarantees the requirements.
            marks = unsafe { or_marks_of::<V, false>(marks, chunk, at + i * V::STEP * V::LEN, V::STEP) };
            i += 1;
        }
    }
    marks
}

/// Returns the marks of `vectors` vectors at index `at`.
///
/// # Safety
///
/// Same as for [`or_marks_of`].
#[inline(always)]
unsafe fn marks_of<V: Vector>(chunk: &[u8], at: usize, vectors: usize, has_four_bytes: bool) -> V {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        if has_four_bytes {
            or_marks_of::<V, true>(V::zero(), chunk, at, vectors)
        } else {
            or_marks_of::<V, false>(V::zero(), chunk, at, vectors)
        }
    }
}

/// Combines `marks` with those of `vectors` vectors at index `at`. The whole formula is used if `FOUR_BYTES`.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `3 <= at` and `at + vectors * V::LEN <= chunk.len()`.
///
/// Without `FOUR_BYTES` the marks have no meaning if one of the 3 bytes before `at` is a lead byte of a 4-byte
/// sequence.
#[inline(always)]
unsafe fn or_marks_of<V: Vector, const FOUR_BYTES: bool>(
    mut marks: V,
    chunk: &[u8],
    at: usize,
    vectors: usize,
) -> V {
    let mut i = 0;
    while i < vectors {
        let at = at + i * V::LEN;
        if i * V::LEN % 64 == 0 {
            V::prefetch(chunk.as_ptr().wrapping_add(at + AHEAD));
            V::prefetch_far(chunk.as_ptr().wrapping_add(at + FAR_AHEAD));
        }
        // SAFETY: the caller guarantees the requirements.
        let with_before =
            |at| unsafe { (load_at(chunk, at), [load_at(chunk, at - 1), load_at(chunk, at - 2)]) };
        if FOUR_BYTES {
            // SAFETY: the caller guarantees the requirements.
            marks = unsafe { or_marks_at(marks, chunk, at) };
        } else if i % 2 == 1 {
            marks = marks.or_marks_of_pair(with_before(at - V::LEN), with_before(at));
        } else if i + 1 == vectors {
            let (x, p) = with_before(at);
            marks = marks.or_marks_in_bmp(x, p);
        }
        i += 1;
    }
    marks
}

/// Returns the marks from an index to the end of the chunk. The last vector overlaps the one before it.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `3 <= at <= chunk.len()`, and the chunk has two vectors.
#[inline(always)]
unsafe fn marks_of_rest<V: Vector>(chunk: &[u8], mut at: usize) -> V {
    let len = chunk.len();
    // SAFETY: the CPU has the instructions.
    let mut marks = unsafe { V::zero() };
    while len - at >= V::LEN {
        // SAFETY: the CPU has the instructions; `3 <= at`, and there is a vector at `at`.
        marks = unsafe { or_marks_at(marks, chunk, at) };
        at += V::LEN;
    }
    if at < len {
        // SAFETY: the CPU has the instructions; the chunk has two vectors, so 3 bytes are before the last one.
        marks = unsafe { or_marks_at(marks, chunk, len - V::LEN) };
    }
    marks
}

/// Returns the index of the first byte in `at..end` that makes the chunk ill-formed. The chunk is well-formed before
/// `at`. The search is by pairs of vectors, then by vectors.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `4 <= at <= end <= chunk.len()`.
/// - `end - at` is a multiple of `V::LEN`, or `end` is the end of the chunk and there is at least one vector before
///   `at` or at least two before `end`.
#[inline(always)]
pub(crate) unsafe fn find<V: Vector>(chunk: &[u8], mut at: usize, end: usize) -> Option<usize> {
    // SAFETY: the CPU has the instructions.
    let none = unsafe { V::zero() };
    while end - at > 2 * V::LEN {
        // SAFETY: the CPU has the instructions; `3 <= at`, and there are two vectors at `at`.
        let marks = unsafe { or_marks_at(or_marks_at(none, chunk, at), chunk, at + V::LEN) };
        if marks.is_marked() {
            break;
        }
        at += 2 * V::LEN;
    }
    while end - at >= V::LEN {
        // SAFETY: the CPU has the instructions; `3 <= at`, and there is a vector at `at`.
        let marks = unsafe { or_marks_at(none, chunk, at) };
        if marks.is_marked() {
            return marks.first_mark_before(V::LEN).map(|index| at + index);
        }
        at += V::LEN;
    }
    if at == end {
        return None;
    }
    // SAFETY: the CPU has the instructions; less than a vector is left before the end of the chunk, which has at least
    // 4 bytes.
    let x: V = unsafe { V::load_rest(chunk, at) };
    // SAFETY: the CPU has the instructions. The caller guarantees a vector before `at`, or two before `end`, of which less
    // than one is left, so `V::LEN <= at`.
    let before = unsafe { load_at(chunk, at - V::LEN) };
    none.or_marks(x, x.shifted(before)).first_mark_before(end - at).map(|index| at + index)
}
