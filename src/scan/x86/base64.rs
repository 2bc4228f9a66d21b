//! Groups of base64 symbols to bytes, for the kernels of x86-64.
//!
//! Both look up the 6 bits of each symbol, and pack four of them by two multiplications that add neighbours: 6 + 6 bits to
//! 12, 12 + 12 to 24. The formulation is Muła's and Lemire's ("Faster Base64 Encoding and Decoding using AVX2
//! Instructions", 2018; "Base64 encoding and decoding at almost the speed of a memory copy", 2020).

use core::arch::x86_64::*;

use super::super::kernel::Kernel;
use super::{AVX2, AVX512};

/// Decodes groups of four symbols, up to one with another byte, as far as the kernel has vectors for it. Returns how many
/// were decoded.
#[inline]
pub(in crate::scan) fn decode_groups(kernel: Kernel, symbols: &[u8], out: &mut [u8]) -> usize {
    let kernel = kernel.name();
    if kernel == AVX512.name {
        // SAFETY: a `Kernel` is one that the machine has.
        unsafe { avx512(symbols, out) }
    } else if kernel == AVX2.name {
        // SAFETY: as above.
        unsafe { avx2(symbols, out) }
    } else {
        0
    }
}

/// The 6 bits of each ASCII byte, `80` for those that are not symbols.
static VALUES: [u8; 128] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [0x80; 128];
    let mut value = 0;
    while value < 64 {
        values[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// The positions of the bytes of 16 groups in a vector of 32-bit lanes, each with its 24 bits lowest.
static PACKED: [u8; 64] = {
    let mut packed = [0; 64];
    let mut i = 0;
    while i < 48 {
        packed[i] = (i / 3 * 4 + 2 - i % 3) as u8;
        i += 1;
    }
    packed
};

/// # Safety
///
/// The CPU has these features.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
unsafe fn avx512(symbols: &[u8], out: &mut [u8]) -> usize {
    // SAFETY: the statics have 64 and 128 bytes.
    let (low, high, packed) = unsafe {
        (
            _mm512_loadu_si512(VALUES.as_ptr().cast()),
            _mm512_loadu_si512(VALUES.as_ptr().add(64).cast()),
            _mm512_loadu_si512(PACKED.as_ptr().cast()),
        )
    };
    // The bits of the bytes that are not symbols, and the packed bytes.
    let decode = |read| {
        let values = _mm512_permutex2var_epi8(low, read, high);
        // The lookup ignores the highest bit of a byte.
        let bad = _mm512_movepi8_mask(_mm512_or_si512(values, read));
        let pairs = _mm512_maddubs_epi16(values, _mm512_set1_epi32(0x0140_0140));
        let lanes = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_1000));
        (bad, _mm512_permutexvar_epi8(packed, lanes))
    };
    let groups = (symbols.len() / 4).min(out.len() / 3);
    let mut done = 0;
    // A step does not depend on the result of the one before it, as the last one below does.
    while groups - done >= 16 {
        // SAFETY: 16 groups follow.
        let read = unsafe { _mm512_loadu_si512(symbols.as_ptr().add(done * 4).cast()) };
        let (bad, bytes) = decode(read);
        if bad != 0 {
            break;
        }
        // SAFETY: there is room for 48 bytes; masked bytes are not written.
        unsafe { _mm512_mask_storeu_epi8(out.as_mut_ptr().add(done * 3).cast(), u64::MAX >> 16, bytes) };
        done += 16;
    }
    let count = (groups - done).min(16);
    if count > 0 {
        let mask = _bzhi_u64(u64::MAX, 4 * count as u32);
        // SAFETY: `count` groups follow, and masked bytes are not read.
        let read = unsafe {
            let filler = _mm512_set1_epi8(b'A' as i8);
            _mm512_mask_loadu_epi8(filler, mask, symbols.as_ptr().add(done * 4).cast())
        };
        let (bad, bytes) = decode(read);
        let good = count.min(bad.trailing_zeros() as usize / 4);
        let mask = _bzhi_u64(u64::MAX, 3 * good as u32);
        // SAFETY: `good` is at most `count`, and there is room for as many groups; masked bytes are not written.
        unsafe { _mm512_mask_storeu_epi8(out.as_mut_ptr().add(done * 3).cast(), mask, bytes) };
        done += good;
    }
    done
}

/// # Safety
///
/// The CPU has this feature.
#[target_feature(enable = "avx2")]
unsafe fn avx2(symbols: &[u8], out: &mut [u8]) -> usize {
    // By the low and the high half of a byte: a bit that both have says that the byte is not a symbol.
    let low_classes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A,
    ));
    let high_classes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
    ));
    // What to add to a symbol for its value, by its high half; that of `/` comes before that of `+`.
    let deltas =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
    let packed =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
    let halves = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    let slash = _mm256_set1_epi8(0x2F);
    let mut done = 0;
    // Eight groups are 24 bytes, and a store writes 32.
    while symbols.len() - done * 4 >= 32 && out.len() - done * 3 >= 32 {
        // SAFETY: 32 bytes follow.
        let read = unsafe { _mm256_loadu_si256(symbols.as_ptr().add(done * 4).cast()) };
        // Bit 5 stays in the half: the lookup ignores it.
        let high = _mm256_and_si256(_mm256_srli_epi32::<4>(read), slash);
        let low = _mm256_and_si256(read, slash);
        let classes = (_mm256_shuffle_epi8(high_classes, high), _mm256_shuffle_epi8(low_classes, low));
        if _mm256_testz_si256(classes.0, classes.1) == 0 {
            break;
        }
        let delta = _mm256_shuffle_epi8(deltas, _mm256_add_epi8(_mm256_cmpeq_epi8(read, slash), high));
        let values = _mm256_add_epi8(read, delta);
        let pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x0140_0140));
        let lanes = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_1000));
        let bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(lanes, packed), halves);
        // SAFETY: there is room for 32 bytes.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(done * 3).cast(), bytes) };
        done += 8;
    }
    done
}
