//! Copies bytes and tests them in the same loop.

use core::arch::x86_64::{
    _mm512_cmpeq_epi8_mask, _mm512_cmpge_epu8_mask, _mm512_loadu_si512, _mm512_max_epu8, _mm512_min_epu8,
    _mm512_set1_epi8, _mm512_setzero_si512, _mm512_storeu_si512,
};

use crate::arch::x86_64::copy_groups;

/// The number of bytes in a vector.
const WIDTH: usize = 64;
/// The number of bytes that are tested together.
const GROUP: usize = 4 * WIDTH;

/// [`copy_below`](crate::functions::Functions): copies bytes below `LIMIT`, which is at least `80`, and `00` only
/// if `NUL`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn below<const LIMIT: u8, const NUL: bool>(input: &[u8], output: &mut [u8]) -> usize {
    let len = input.len().min(output.len());
    let from = input.as_ptr();
    let to = output.as_mut_ptr();
    // SAFETY: `at` is the start of a group in the first `len` bytes.
    copy_groups::<GROUP, WIDTH>(len, to, |at| unsafe {
        let group = [0, 1, 2, 3].map(|vector| _mm512_loadu_si512(from.add(at + vector * WIDTH).cast()));
        let [a, b, c, d] = group;
        let highest = _mm512_max_epu8(_mm512_max_epu8(a, b), _mm512_max_epu8(c, d));
        let mut others = _mm512_cmpge_epu8_mask(highest, _mm512_set1_epi8(LIMIT.cast_signed()));
        if !NUL {
            let lowest = _mm512_min_epu8(_mm512_min_epu8(a, b), _mm512_min_epu8(c, d));
            others |= _mm512_cmpeq_epi8_mask(lowest, _mm512_setzero_si512());
        }
        if others != 0 {
            return false;
        }
        for (vector, x) in group.into_iter().enumerate() {
            _mm512_storeu_si512(to.add(at + vector * WIDTH).cast(), x);
        }
        true
    })
}
