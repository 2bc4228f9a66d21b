//! Converts text with sequences of 4 bytes, `a b c d`. For each input byte it computes the byte of the output
//! that starts in its place, and for some a second byte after it. The table inserts the second bytes.
//!
//! | input | first byte | second byte |
//! |---|---|---|
//! | `a` | `ED` | |
//! | `b` | `A0` plus the 5 highest bits of the character, which are in `a` and `b`, minus 1 | |
//! | `c` | `80` plus 4 bits of `b` and 2 bits of `c` | `ED` |
//! | `d` | `B0` plus 4 bits of `c` | `d` |
//! | `00` in Modified UTF-8 | `C0` | `80` |
//! | other | the byte | |

use core::arch::x86_64::*;

use super::super::copy::{GROUP, below};
use super::{WIDTH, at_least_f0, byte, load};

/// For each mask, the indexes of 8 bytes, where the index plus 8 follows each index in the mask.
static INSERTED: [[u8; 16]; 256] = {
    let mut table = [[0; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut index, mut len) = (0, 0);
        while index < 8 {
            table[mask][len] = index;
            len += 1;
            if mask >> index & 1 == 1 {
                table[mask][len] = index + 8;
                len += 1;
            }
            index += 1;
        }
        mask += 1;
    }
    table
};

/// [`Encode`](crate::kernels::functions::Encode) of the whole text as CESU-8, or as Modified UTF-8 if `MODIFIED`.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The output has 2 bytes for each byte of the text.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn split<const MODIFIED: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= text.len());
    let (start, len) = (text.as_ptr(), text.len());
    // No byte of input becomes more than 2 bytes of output, so `written <= 2 * read`.
    let (mut read, mut written) = (0, 0);
    // The vector before the next one, if the next one may start inside a sequence of 4 bytes.
    let mut before = _mm256_setzero_si256();
    while len - read >= GROUP {
        if !ends_inside(before) {
            // SAFETY: the CPU has the features.
            let same = unsafe {
                if MODIFIED {
                    below::<0xF0, false>(&text.as_bytes()[read..], &mut output[written..])
                } else {
                    below::<0xF0, true>(&text.as_bytes()[read..], &mut output[written..])
                }
            };
            if same > 0 {
                read += same;
                written += same;
                before = _mm256_setzero_si256();
                continue;
            }
        }
        for _ in 0..GROUP / WIDTH {
            // SAFETY: a vector follows in the text.
            let x = unsafe { load(start.add(read)) };
            let parts = Parts::new::<MODIFIED>(x, before);
            // SAFETY: 32 bytes are left in the text, so the output has room for 64.
            written += unsafe { parts.store(parts.mask, output.as_mut_ptr().add(written)) };
            read += WIDTH;
            before = x;
        }
    }
    while len - read >= WIDTH {
        // SAFETY: a vector follows in the text.
        let x = unsafe { load(start.add(read)) };
        let parts = Parts::new::<MODIFIED>(x, before);
        // SAFETY: 32 bytes are left in the text, so the output has room for 64.
        written += unsafe { parts.store(parts.mask, output.as_mut_ptr().add(written)) };
        read += WIDTH;
        before = x;
    }
    let rest = &text.as_bytes()[read..];
    if !rest.is_empty() {
        let (mut last, mut made) = ([0; WIDTH], [0; 2 * WIDTH]);
        last[..rest.len()].copy_from_slice(rest);
        // SAFETY: the array has the size of a vector.
        let parts = Parts::new::<MODIFIED>(unsafe { load(last.as_ptr()) }, before);
        let mask = parts.mask & ((1 << rest.len()) - 1);
        // SAFETY: the array has 64 bytes.
        unsafe { parts.store(mask, made.as_mut_ptr()) };
        let made = &made[..rest.len() + mask.count_ones() as usize];
        output[written..written + made.len()].copy_from_slice(made);
        read += rest.len();
        written += made.len();
    }
    (read, written)
}

/// Whether a sequence of 4 bytes starts in the last 3 bytes of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn ends_inside(x: __m256i) -> bool {
    _mm256_movemask_epi8(at_least_f0(x)).cast_unsigned() >> (WIDTH - 3) != 0
}

/// The output of 32 bytes of text.
#[derive(Clone, Copy)]
struct Parts {
    firsts: __m256i,
    seconds: __m256i,
    /// The bytes of the input that have a second byte.
    mask: u32,
}

impl Parts {
    /// Converts the bytes of `x`. `before` are the bytes before them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new<const MODIFIED: bool>(x: __m256i, before: __m256i) -> Self {
        let neighbor = _mm256_permute2x128_si256::<0x21>(before, x);
        let p1 = _mm256_alignr_epi8::<15>(x, neighbor);
        let p2 = _mm256_alignr_epi8::<14>(x, neighbor);
        let p3 = _mm256_alignr_epi8::<13>(x, neighbor);
        let [is_a, is_b, is_c, is_d] = [x, p1, p2, p3].map(|bytes| at_least_f0(bytes));
        // 4 bits of the byte before and 2 bits of the byte. In `b`, the fourth bit of `a` is 0.
        let bits = _mm256_or_si256(
            _mm256_and_si256(_mm256_slli_epi16::<2>(p1), byte(0x3C)),
            _mm256_and_si256(_mm256_srli_epi16::<4>(x), byte(0x03)),
        );
        let base = _mm256_blendv_epi8(byte(0x80), byte(0xA0 - 1), is_b);
        let of_b_or_c = _mm256_add_epi8(bits, base);
        let low_surrogate = _mm256_or_si256(_mm256_and_si256(p1, byte(0x0F)), byte(0xB0));
        let mut firsts = _mm256_blendv_epi8(x, byte(0xED), is_a);
        firsts = _mm256_blendv_epi8(firsts, of_b_or_c, _mm256_or_si256(is_b, is_c));
        firsts = _mm256_blendv_epi8(firsts, low_surrogate, is_d);
        let mut seconds = _mm256_blendv_epi8(byte(0xED), x, is_d);
        let mut has_second = _mm256_or_si256(is_c, is_d);
        if MODIFIED {
            let nuls = _mm256_cmpeq_epi8(x, _mm256_setzero_si256());
            firsts = _mm256_or_si256(firsts, _mm256_and_si256(nuls, byte(0xC0)));
            seconds = _mm256_blendv_epi8(seconds, byte(0x80), nuls);
            has_second = _mm256_or_si256(has_second, nuls);
        }
        Self { firsts, seconds, mask: _mm256_movemask_epi8(has_second).cast_unsigned() }
    }

    /// Writes the first bytes, and the second bytes that are in the mask. Returns the number of bytes, at least 32. Up to
    /// 64 bytes are overwritten.
    ///
    /// # Safety
    ///
    /// - The CPU has the features of the `target_feature` attribute.
    /// - 64 bytes at `out` can be written.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn store(self, mask: u32, out: *mut u8) -> usize {
        let masks = mask.to_le_bytes().map(usize::from);
        // The lanes have the bytes 0..8 and 16..24, or 8..16 and 24..32.
        let even = _mm256_unpacklo_epi64(self.firsts, self.seconds);
        let odd = _mm256_unpackhi_epi64(self.firsts, self.seconds);
        // SAFETY: each entry of the table has 16 bytes.
        let index = |mask: usize| unsafe { _mm_loadu_si128(INSERTED[mask].as_ptr().cast()) };
        let even = _mm256_shuffle_epi8(even, _mm256_set_m128i(index(masks[2]), index(masks[0])));
        let odd = _mm256_shuffle_epi8(odd, _mm256_set_m128i(index(masks[3]), index(masks[1])));
        let quarters = [
            _mm256_castsi256_si128(even),
            _mm256_castsi256_si128(odd),
            _mm256_extracti128_si256::<1>(even),
            _mm256_extracti128_si256::<1>(odd),
        ];
        let mut made = 0;
        for (quarter, mask) in quarters.into_iter().zip(masks) {
            // SAFETY: each quarter before made at most 16 bytes, so 16 bytes of the 64 are left.
            unsafe { _mm_storeu_si128(out.add(made).cast(), quarter) };
            made += 8 + (mask as u32).count_ones() as usize;
        }
        made
    }
}
