//! Validation, generic over the vector type.
//!
//! The functions here are `#[inline(always)]`. Each architecture inlines them into its own functions, which have the
//! `#[target_feature]` attribute for its vector type.

mod entries;
mod large;
mod short;
mod small;

pub(super) use entries::{entries, entry_methods};
#[cfg(feature = "transcode")]
pub(super) use large::ascii_len;
pub(crate) use large::{find, validate_large};
pub(super) use short::LAST_TO_FRONT;
#[cfg(any(utf8_codec_vectors = "aarch64", utf8_codec_vectors = "wasm32"))]
pub(super) use short::words_of_short;
pub(crate) use small::{is_text, validate};

use super::super::formula;
use super::super::functions::Index;
use super::super::state::{Carry, SMALL, ScanState};

/// A vector of bytes, and the [formula](super::super::formula) on it.
///
/// A value of an implementing type exists only if the CPU has its instructions, because the functions that create one
/// without another are `unsafe`. Methods that take a value are therefore safe.
pub(crate) trait Vector: Copy {
    /// The number of bytes in a vector.
    const LEN: usize;
    /// The number of vectors that the main loop reads at a time. It is even.
    const GROUP: usize;
    /// The number of vectors that one iteration of the loop over dense text reads, a divisor of `GROUP`. A type with a
    /// large `GROUP` is faster if this number is smaller.
    const STEP: usize = Self::GROUP;
    /// The maximum length of a small chunk, at least the length of a group. Small chunks are validated without the
    /// aligned main loop.
    const SMALL: usize = SMALL;
    /// Whether chunks of up to two vectors have code of their own, which uses the whole formula and reads the second
    /// vector at its 4 addresses. If `load_rest` takes few instructions, this is not faster.
    const UNROLLED: bool = false;
    /// The number of groups in the first segment. The segments grow up to [`LONGEST_SEGMENT`](Self::LONGEST_SEGMENT)
    /// groups. An error is noticed only at the end of its segment. When text is repaired, the validation starts again
    /// after each error, so the first segment is short.
    const FIRST_SEGMENT: usize = 2;
    /// The maximum number of groups in a segment. If the segments doubled up to 16, finding an error in dense text would
    /// be slower than a test of every block (AVX2: 0.84 of the speed of simdutf8 `compat`).
    const LONGEST_SEGMENT: usize = 8;

    /// Returns the number of groups in the segment after one of `groups` groups.
    #[inline(always)]
    fn next_segment(groups: usize) -> usize {
        (2 * groups).min(Self::LONGEST_SEGMENT)
    }

    /// Returns a vector of zeros, which has no marks.
    ///
    /// # Safety
    ///
    /// The CPU has the instructions of this type.
    unsafe fn zero() -> Self;

    /// # Safety
    ///
    /// - The CPU has the instructions of this type.
    /// - `LEN` bytes at `from` can be read.
    unsafe fn load(from: *const u8) -> Self;

    /// Loads the bytes of `chunk` from `at` to its end, followed by zeros. Reads only bytes of the chunk.
    ///
    /// # Safety
    ///
    /// - The CPU has the instructions of this type.
    /// - `at <= chunk.len() <= at + LEN`.
    /// - The chunk has at least 4 bytes and, if `at` is not 0, at least `LEN`.
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self;

    /// Same as [`load_rest`](Self::load_rest) at 0. This function may have a branch on the length, because most chunks of a
    /// stream have the same length.
    ///
    /// # Safety
    ///
    /// - The CPU has the instructions of this type.
    /// - The chunk has at least 4 bytes and at most `LEN`.
    #[inline(always)]
    unsafe fn load_whole(chunk: &[u8]) -> Self {
        // SAFETY: the caller guarantees the requirements.
        unsafe { Self::load_rest(chunk, 0) }
    }

    /// Returns this vector shifted by 1, 2 and 3 bytes. The last bytes of the vector before it are shifted in.
    fn shifted(self, before: Self) -> [Self; 3];

    /// Returns this vector shifted by 1, 2 and 3 bytes. The carry is shifted in.
    fn shifted_after(self, carry: Carry) -> [Self; 3];

    /// Combines two vectors of text with a bitwise or. Vectors of marks must not be combined: a vector may keep its
    /// marks in other fields, which the result does not have.
    fn or(self, other: Self) -> Self;

    fn is_ascii(self) -> bool;

    /// Adds a mark for each byte of `x` that makes the stream ill-formed. `p` are the bytes that are 1, 2 and 3 bytes
    /// before those of `x`.
    fn or_marks(self, x: Self, p: [Self; 3]) -> Self;

    /// Adds marks by the formula for text without sequences of 4 bytes. `p` are the bytes that are 1 and 2 bytes before
    /// those of `x`. Any byte directly after a lead byte of a 4-byte sequence is marked.
    ///
    /// No byte of `x` may be 2 or 3 bytes after a lead byte of a 4-byte sequence.
    fn or_marks_in_bmp(self, x: Self, p: [Self; 2]) -> Self;

    /// [`or_marks_in_bmp`](Self::or_marks_in_bmp) for two vectors, which may take fewer instructions.
    #[inline(always)]
    fn or_marks_of_pair(self, (x, p): (Self, [Self; 2]), (y, q): (Self, [Self; 2])) -> Self {
        self.or_marks_in_bmp(x, p).or_marks_in_bmp(y, q)
    }

    fn is_marked(self) -> bool;

    /// Returns the index of the first mark if it is less than `len`.
    fn first_mark_before(self, len: usize) -> Option<usize>;

    #[cfg(test)]
    fn mark_bits(self) -> u64;

    /// Calls the function [`validate_large`] without inlining it into [`validate`].
    ///
    /// # Safety
    ///
    /// Same as for [`validate_large`].
    unsafe fn validate_large(chunk: &[u8], state: &mut ScanState) -> Result<(), Index>;

    /// Calls the function [`find`] without inlining it into the loops.
    ///
    /// # Safety
    ///
    /// Same as for [`find`].
    unsafe fn find(chunk: &[u8], at: usize, end: usize) -> Option<usize>;

    /// Prefetches a cache line that will be read soon. The address may be invalid. Does nothing by default.
    #[inline(always)]
    fn prefetch(_from: *const u8) {}

    /// Whether loops that only test for ASCII prefetch. By default they do.
    #[inline(always)]
    fn prefetches_ascii() -> bool {
        true
    }

    /// Prefetches a cache line that will be read later. Does nothing by default.
    #[inline(always)]
    fn prefetch_far(_from: *const u8) {}
}

/// Loads the vector at an index.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `at + V::LEN <= chunk.len()`.
#[inline(always)]
pub(crate) unsafe fn load_at<V: Vector>(chunk: &[u8], at: usize) -> V {
    debug_assert!(at + V::LEN <= chunk.len());
    // SAFETY: the caller guarantees the requirements.
    unsafe { V::load(chunk.as_ptr().add(at)) }
}

/// Returns the carry before an index.
///
/// # Safety
///
/// `4 <= at <= chunk.len()`.
#[inline(always)]
pub(crate) unsafe fn carry_at(chunk: &[u8], at: usize) -> Carry {
    debug_assert!((4..=chunk.len()).contains(&at));
    // SAFETY: the caller guarantees the range; the read needs no alignment.
    Carry::from_word(u32::from_le(unsafe { chunk.as_ptr().add(at - 4).cast::<u32>().read_unaligned() }))
}

/// Whether the last byte of a chunk is [never a lead](formula::is_never_a_lead). `end` is the carry after the chunk.
#[inline]
const fn ends_with_never_a_lead(end: Carry) -> bool {
    // A table takes three instructions fewer than a comparison with the ranges, for each chunk.
    const NEVER: [bool; 256] = {
        let mut never = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            never[byte] = formula::is_never_a_lead(byte as u8);
            byte += 1;
        }
        never
    };
    NEVER[(end.word() >> 24) as usize]
}

/// Combines `marks` with those of the vector at an index.
///
/// The preceding bytes are loaded from the addresses 1, 2 and 3 bytes lower, which is faster than shifting registers.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `3 <= at` and `at + V::LEN <= chunk.len()`.
#[inline(always)]
pub(crate) unsafe fn or_marks_at<V: Vector>(marks: V, chunk: &[u8], at: usize) -> V {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        marks.or_marks(
            load_at(chunk, at),
            [load_at(chunk, at - 1), load_at(chunk, at - 2), load_at(chunk, at - 3)],
        )
    }
}

/// [`or_marks_at`] for text without sequences of 4 bytes.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `2 <= at` and `at + V::LEN <= chunk.len()`.
#[inline(always)]
unsafe fn or_marks_in_bmp_at<V: Vector>(marks: V, chunk: &[u8], at: usize) -> V {
    // SAFETY: the caller guarantees the requirements.
    unsafe { marks.or_marks_in_bmp(load_at(chunk, at), [load_at(chunk, at - 1), load_at(chunk, at - 2)]) }
}
