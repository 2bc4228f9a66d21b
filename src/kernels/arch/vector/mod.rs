//! Validation over any type of vectors.
//!
//! The functions here are `#[inline(always)]`, so that they are compiled into the functions with `#[target_feature]` that
//! each architecture has for its type.

mod large;
mod small;

pub(super) use large::{find, validate_large};
pub(super) use small::{is_text, validate};

use super::super::functions::Index;
use super::super::state::{Carry, ScanState};

/// A vector of bytes, and the [formula](super::super::formula) on it.
///
/// There is a value of the type only where the CPU has the instructions for it: code that makes one promises that. This is
/// why functions that take a value are safe.
pub(in crate::kernels) trait Vector: Copy {
    /// The number of bytes in a vector.
    const LEN: usize;
    /// The number of vectors that the main loop reads at a time. It is even.
    const GROUP: usize;

    /// All bits 0: no mark, no byte above `7F`.
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

    /// The bytes of `chunk` from `at` to its end, then zeros. Reads only bytes of the chunk.
    ///
    /// # Safety
    ///
    /// - The CPU has the instructions of this type.
    /// - `at <= chunk.len() <= at + LEN`.
    /// - The chunk has 4 bytes or more, and a whole vector unless `at` is 0.
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self;

    /// This vector moved by 1, 2 and 3 bytes, with the last bytes of the vector before it moved in.
    fn shifted(self, before: Self) -> [Self; 3];

    /// The same with the carry moved in.
    fn shifted_after(self, carry: Carry) -> [Self; 3];

    fn or(self, other: Self) -> Self;

    fn is_ascii(self) -> bool;

    /// These marks, and one for each byte of `x` that makes the stream ill-formed; `p` are the bytes 1, 2 and 3 before.
    fn or_marks(self, x: Self, p: [Self; 3]) -> Self;

    /// The same for text without sequences of 4 bytes; `p` are the bytes 1 and 2 before. A byte right after a lead of 4 is
    /// marked whatever it is.
    ///
    /// No byte of `x` may be 2 or 3 bytes after a lead of 4.
    fn or_marks_in_bmp(self, x: Self, p: [Self; 2]) -> Self;

    fn is_marked(self) -> bool;

    /// The index of the first mark, if it is less than `len`.
    fn first_mark_before(self, len: usize) -> Option<usize>;

    /// A bit for each mark.
    #[cfg(test)]
    fn mark_bits(self) -> u64;

    /// [`validate_large`], out of line.
    ///
    /// # Safety
    ///
    /// As for [`validate_large`].
    unsafe fn validate_large(chunk: &[u8], state: &mut ScanState) -> Result<(), Index>;

    /// [`find`], out of line.
    ///
    /// # Safety
    ///
    /// As for [`find`].
    unsafe fn find(chunk: &[u8], at: usize, end: usize) -> Option<usize>;

    /// Asks for a cache line that will be read soon. The address may be invalid.
    fn prefetch(from: *const u8);

    /// The same for one that will be read later.
    fn prefetch_far(from: *const u8);
}

/// The vector at an index.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `at + V::LEN <= chunk.len()`.
#[inline(always)]
unsafe fn load_at<V: Vector>(chunk: &[u8], at: usize) -> V {
    debug_assert!(at + V::LEN <= chunk.len());
    // SAFETY: the caller's promises.
    unsafe { V::load(chunk.as_ptr().add(at)) }
}

/// The carry before an index.
///
/// # Safety
///
/// `4 <= at <= chunk.len()`.
#[inline(always)]
unsafe fn carry_at(chunk: &[u8], at: usize) -> Carry {
    debug_assert!((4..=chunk.len()).contains(&at));
    // SAFETY: the caller's promise; the read needs no alignment.
    Carry::from_word(u32::from_le(unsafe { chunk.as_ptr().add(at - 4).cast::<u32>().read_unaligned() }))
}

/// These marks, and those of the vector at an index.
///
/// To read the bytes before it again at other addresses is faster than to move them in registers.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `3 <= at` and `at + V::LEN <= chunk.len()`.
#[inline(always)]
unsafe fn or_marks_at<V: Vector>(marks: V, chunk: &[u8], at: usize) -> V {
    // SAFETY: the caller's promises.
    unsafe {
        marks.or_marks(
            load_at(chunk, at),
            [load_at(chunk, at - 1), load_at(chunk, at - 2), load_at(chunk, at - 3)],
        )
    }
}

/// The same for text without sequences of 4 bytes.
///
/// # Safety
///
/// - The CPU has the instructions of `V`.
/// - `2 <= at` and `at + V::LEN <= chunk.len()`.
#[inline(always)]
unsafe fn or_marks_in_bmp_at<V: Vector>(marks: V, chunk: &[u8], at: usize) -> V {
    // SAFETY: the caller's promises.
    unsafe { marks.or_marks_in_bmp(load_at(chunk, at), [load_at(chunk, at - 1), load_at(chunk, at - 2)]) }
}
