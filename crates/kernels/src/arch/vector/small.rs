//! Small chunks and complete texts. The code is written so that the compiler does not save registers on the stack.

use super::super::super::functions::Index;
use super::super::super::state::{Prediction, ScanState};
use super::{Vector, carry_at, ends_with_never_a_lead, load_at, or_marks_at, or_marks_in_bmp_at};

/// Implements [`Validate`](super::super::super::functions::Validate).
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - The chunk has at least 4 bytes.
#[inline(always)]
pub(crate) unsafe fn validate<V: Vector>(chunk: &[u8], state: &mut ScanState) -> Result<(), Index> {
    let len = chunk.len();
    let mut before = *state;
    // SAFETY: the CPU has the instructions.
    let none = unsafe { V::zero() };
    // SAFETY: the chunk has at least 4 bytes.
    let end = unsafe { carry_at(chunk, len) };
    if len <= V::LEN {
        // SAFETY: the CPU has the instructions; the chunk has at least 4 bytes and fits in a vector.
        let x = unsafe { V::load_whole(chunk) };
        if before.expects_ascii() {
            if x.is_ascii() {
                *state = ScanState::new(end, Prediction::ASCII);
                return Ok(());
            }
            before = ScanState::new(before.carry(), before.prediction().mispredicted());
        }
        let marks = none.or_marks(x, x.shifted_after(before.carry()));
        if let Some(index) = marks.first_mark_before(len) {
            return Err(Index::new(index));
        }
        if ends_with_never_a_lead(end) {
            return Err(Index::new(len - 1));
        }
        *state = ScanState::new(end, before.prediction().after_chunk(end));
        return Ok(());
    }
    if len > V::SMALL {
        // SAFETY: the CPU has the instructions; the chunk is longer than a vector.
        return unsafe { V::validate_large(chunk, state) };
    }
    if V::UNROLLED && (V::LEN + 3..=2 * V::LEN).contains(&len) {
        // The whole formula takes fewer instructions than the prediction whether it is needed.
        // SAFETY: the CPU has the instructions; the chunk is at least 3 bytes longer than a vector.
        let (x, y) = unsafe { (load_at::<V>(chunk, 0), load_at::<V>(chunk, len - V::LEN)) };
        if before.expects_ascii() {
            if x.or(y).is_ascii() {
                *state = ScanState::new(end, Prediction::ASCII);
                return Ok(());
            }
            before = ScanState::new(before.carry(), before.prediction().mispredicted());
        }
        let marks = none.or_marks(x, x.shifted_after(before.carry()));
        // SAFETY: the CPU has the instructions; the second vector starts at 3 or later.
        if unsafe { or_marks_at(marks, chunk, len - V::LEN) }.is_marked() {
            // SAFETY: the CPU has the instructions; the chunk is longer than a vector.
            return unsafe { V::validate_large(chunk, state) };
        }
        if ends_with_never_a_lead(end) {
            return Err(Index::new(len - 1));
        }
        *state = ScanState::new(end, before.prediction().after_chunk(end));
        return Ok(());
    }
    if before.expects_ascii() {
        // SAFETY: the CPU has the instructions; the chunk is longer than a vector.
        if unsafe { is_ascii::<V>(chunk) } {
            *state = ScanState::new(end, Prediction::ASCII);
            return Ok(());
        }
        before = ScanState::new(before.carry(), before.prediction().mispredicted());
    }
    let expects_four_bytes = before.prediction().expects_four_bytes() || before.carry().has_lead_of_four();
    let is_marked = if len < V::LEN + 3 {
        // SAFETY: the CPU has the instructions; the chunk is longer than a vector and shorter than two.
        let (x, y) = unsafe { (load_at::<V>(chunk, 0), V::load_rest(chunk, V::LEN)) };
        let rest = none.or_marks(y, y.shifted(x)).first_mark_before(len - V::LEN);
        rest.is_some() || none.or_marks(x, x.shifted_after(before.carry())).is_marked()
    } else {
        // SAFETY: the CPU has the instructions; the chunk is at least 3 bytes longer than a vector.
        unsafe { marks_of_small::<V>(before, chunk, expects_four_bytes) }.is_marked()
    };
    if is_marked {
        // `validate_large` computes the marks again. SAFETY: the CPU has the instructions; the chunk is longer than a
        // vector.
        return unsafe { V::validate_large(chunk, state) };
    }
    if ends_with_never_a_lead(end) {
        return Err(Index::new(len - 1));
    }
    let prediction = before.prediction().after_chunk(end);
    *state = ScanState::new(end, if expects_four_bytes { prediction.one_chunk_later() } else { prediction });
    Ok(())
}

/// [`IsText`](super::super::super::functions::IsText). An unfinished sequence has no mark if the vector ends with the
/// text. The last bytes are therefore tested separately.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - There are at least 4 bytes.
#[inline(always)]
pub(crate) unsafe fn is_text<V: Vector>(bytes: &[u8]) -> bool {
    let len = bytes.len();
    // SAFETY: the CPU has the instructions.
    let zero = unsafe { V::zero() };
    if len <= V::LEN {
        // SAFETY: the CPU has the instructions; there are at least 4 bytes, and they fit in a vector.
        let x = unsafe { V::load_rest(bytes, 0) };
        if x.is_ascii() {
            return true;
        }
        if zero.or_marks(x, x.shifted(zero)).is_marked() {
            return false;
        }
        // Zeros after the bytes mark an unfinished sequence.
        // SAFETY: there are at least 4 bytes.
        return len < V::LEN || unsafe { ends_whole(bytes) };
    }
    if len > V::SMALL {
        let mut state = ScanState::AFTER_ASCII;
        // SAFETY: the CPU has the instructions; there are more bytes than a vector.
        return unsafe { V::validate_large(bytes, &mut state) }.is_ok() && state.pending_len() == 0;
    }
    // SAFETY: the CPU has the instructions; there are more bytes than in a vector.
    if unsafe { is_ascii::<V>(bytes) } {
        return true;
    }
    let marks = if len < V::LEN + 3 || !V::UNROLLED && len <= 2 * V::LEN {
        // SAFETY: the CPU has the instructions; there are more bytes than in a vector, and at most those of two.
        let (x, y) = unsafe { (load_at::<V>(bytes, 0), V::load_rest(bytes, V::LEN)) };
        zero.or_marks(x, x.shifted(zero)).or_marks(y, y.shifted(x))
    } else {
        // SAFETY: the CPU has the instructions; there are at least 3 bytes more than in a vector.
        unsafe { marks_of_small::<V>(ScanState::START, bytes, true) }
    };
    // SAFETY: there are at least 4 bytes.
    !marks.is_marked() && unsafe { ends_whole(bytes) }
}

/// Whether text does not end inside a sequence.
///
/// # Safety
///
/// There are at least 4 bytes.
#[inline(always)]
unsafe fn ends_whole(bytes: &[u8]) -> bool {
    // SAFETY: the caller guarantees 4 bytes.
    unsafe { carry_at(bytes, bytes.len()) }.pending_len() == 0
}

/// Returns the marks of all vectors of a chunk. The last vector overlaps the one before it.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - The chunk is at least 3 bytes longer than a vector.
#[inline(always)]
unsafe fn marks_of_small<V: Vector>(state: ScanState, chunk: &[u8], expects_four_bytes: bool) -> V {
    let last = chunk.len() - V::LEN;
    // SAFETY: the CPU has the instructions; the chunk is longer than a vector.
    let (none, x) = unsafe { (V::zero(), load_at::<V>(chunk, 0)) };
    let [p1, p2, p3] = x.shifted_after(state.carry());
    let mut at = V::LEN;
    if expects_four_bytes {
        let mut marks = none.or_marks(x, [p1, p2, p3]);
        while at < last {
            // SAFETY: the CPU has the instructions; `V::LEN <= at < last`.
            marks = unsafe { or_marks_at(marks, chunk, at) };
            at += V::LEN;
        }
        // SAFETY: the CPU has the instructions; `3 <= last`.
        unsafe { or_marks_at(marks, chunk, last) }
    } else {
        let mut marks = none.or_marks_in_bmp(x, [p1, p2]);
        while at < last {
            // SAFETY: the CPU has the instructions; `V::LEN <= at < last`.
            marks = unsafe { or_marks_in_bmp_at(marks, chunk, at) };
            at += V::LEN;
        }
        // SAFETY: the CPU has the instructions; `3 <= last`.
        unsafe { or_marks_in_bmp_at(marks, chunk, last) }
    }
}

/// Whether a small chunk is ASCII. Vectors may overlap.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - The chunk is at least as long as a vector.
#[inline(always)]
unsafe fn is_ascii<V: Vector>(chunk: &[u8]) -> bool {
    // SAFETY: the CPU has the instructions; a vector is inside the chunk.
    let outer = unsafe { both_ends::<V>(chunk, 0) };
    if chunk.len() <= 2 * V::LEN {
        return outer.is_ascii();
    }
    // SAFETY: the CPU has the instructions; there are more than two vectors.
    let mut any = outer.or(unsafe { both_ends(chunk, V::LEN) });
    if chunk.len() <= 4 * V::LEN {
        return any.is_ascii();
    }
    let mut at = 2 * V::LEN;
    while 2 * at < chunk.len() {
        // SAFETY: the CPU has the instructions; there are more than four vectors, and `at` is before the middle.
        any = any.or(unsafe { both_ends(chunk, at) });
        at += V::LEN;
    }
    any.is_ascii()
}

/// Returns the bits of the vector that starts after `at` bytes and of the one that ends before the last `at` bytes.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - The chunk has `at` bytes more than a vector.
#[inline(always)]
unsafe fn both_ends<V: Vector>(chunk: &[u8], at: usize) -> V {
    // SAFETY: the caller guarantees the instructions and the length.
    unsafe { load_at::<V>(chunk, at).or(load_at(chunk, chunk.len() - V::LEN - at)) }
}
