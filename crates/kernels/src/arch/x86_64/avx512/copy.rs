//! Copies bytes and tests them in the same loop.

use core::arch::x86_64::{
    _mm512_cmpeq_epi8_mask, _mm512_cmpge_epu8_mask, _mm512_loadu_si512, _mm512_max_epu8, _mm512_min_epu8,
    _mm512_set1_epi8, _mm512_setzero_si512, _mm512_storeu_si512,
};

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
    // Copies the group at an index. Returns `false` if it has another byte.
    //
    // SAFETY: every `at` below is the start of a group in the first `len` bytes.
    let copy_group = |at: usize| unsafe {
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
    };
    if len < GROUP || !copy_group(0) {
        return 0;
    }
    // The other groups are aligned in the output: a store that crosses cache lines costs more than such a load.
    let mut at = GROUP - (to as usize + GROUP) % WIDTH;
    while len - at >= GROUP && copy_group(at) {
        at += GROUP;
    }
    // The first group may end after `at`.
    at.max(GROUP)
}
