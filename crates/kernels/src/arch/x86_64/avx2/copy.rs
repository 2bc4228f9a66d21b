//! Copies bytes and tests them in the same loop.

use core::arch::x86_64::{
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_max_epu8, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_subs_epu8,
};

use crate::arch::x86_64::copy_groups;

/// The number of bytes in a vector.
const WIDTH: usize = 32;
/// The number of bytes that are tested together.
pub(super) const GROUP: usize = 4 * WIDTH;

/// [`copy_below`](crate::functions::Functions): copies bytes below `LIMIT`, which is at least `80`, and `00` only
/// if `NUL`.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn below<const LIMIT: u8, const NUL: bool>(input: &[u8], output: &mut [u8]) -> usize {
    let len = input.len().min(output.len());
    let from = input.as_ptr();
    let to = output.as_mut_ptr();
    // SAFETY: `at` is the start of a group in the first `len` bytes.
    copy_groups::<GROUP, WIDTH>(len, to, |at| unsafe {
        let group = [0, 1, 2, 3].map(|vector| _mm256_loadu_si256(from.add(at + vector * WIDTH).cast()));
        let [a, b, c, d] = group;
        let highest = _mm256_max_epu8(_mm256_max_epu8(a, b), _mm256_max_epu8(c, d));
        // Bit 7 is set if the byte is at least `LIMIT`.
        let mut others = _mm256_subs_epu8(highest, _mm256_set1_epi8((LIMIT - 0x80).cast_signed()));
        if !NUL {
            let lowest = _mm256_min_epu8(_mm256_min_epu8(a, b), _mm256_min_epu8(c, d));
            others = _mm256_or_si256(others, _mm256_cmpeq_epi8(lowest, _mm256_setzero_si256()));
        }
        if _mm256_movemask_epi8(others) != 0 {
            return false;
        }
        for (vector, x) in group.into_iter().enumerate() {
            _mm256_storeu_si256(to.add(at + vector * WIDTH).cast(), x);
        }
        true
    })
}
