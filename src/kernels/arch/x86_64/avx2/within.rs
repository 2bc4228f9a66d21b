//! Validates text and finds out whether it contains characters of a set, in one pass, with AVX2.
//!
//! The loop over dense text looks up the nibbles of two neighboring bytes for the validation, and the same nibbles in
//! the tables of the set. If a pair of bytes is in the set, the segment is searched for the exact character, with three
//! bytes.

use core::arch::x86_64::*;

use super::Ymm;
use crate::kernels::arch::vector::{Vector, load_at, or_marks_at};
use crate::kernels::functions::ASCII_GROUP;
use crate::kernels::prefixes::Prefixes;
use crate::kernels::state::Carry;

/// The number of bytes in a vector.
const WIDTH: usize = Ymm::LEN;
/// The number of bytes in a group of the loop over dense text.
const GROUP: usize = 4 * WIDTH;
/// The number of groups in the first segment of dense text, and in the longest one. Each segment is twice as long as
/// the one before. A segment is only tested at its end.
const SEGMENTS: [usize; 2] = [2, 8];
/// The distance in bytes at which memory is prefetched.
const AHEAD: usize = 1024;

/// Implements [`TextWithout`](crate::kernels::functions::TextWithout).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1")]
pub(in crate::kernels) unsafe fn text_without(bytes: &[u8], set: &Prefixes) -> usize {
    if bytes.len() < 2 * WIDTH {
        return 0;
    }
    // SAFETY: the features are enabled here; the length was tested.
    unsafe { if set.has_ascii() { scan::<true>(bytes, set) } else { scan::<false>(bytes, set) } }
}

/// The tables of the first two bytes.
#[derive(Clone, Copy)]
struct Pairs([__m256i; 4]);

/// Loads a table into both halves of a vector.
#[target_feature(enable = "avx2")]
#[inline]
fn table(entries: &u128) -> __m256i {
    // SAFETY: there are 16 bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(core::ptr::from_ref(entries).cast()) })
}

#[target_feature(enable = "avx2")]
#[inline]
fn high_nibbles(x: __m256i) -> __m256i {
    _mm256_and_si256(_mm256_srli_epi16::<4>(x), _mm256_set1_epi8(0x0F))
}

/// Returns the bits that the entries of both nibbles of each byte have in common.
#[target_feature(enable = "avx2")]
#[inline]
fn entries(high: __m256i, low: __m256i, x: __m256i) -> __m256i {
    let low = _mm256_shuffle_epi8(low, _mm256_and_si256(x, _mm256_set1_epi8(0x0F)));
    _mm256_and_si256(_mm256_shuffle_epi8(high, high_nibbles(x)), low)
}

impl Pairs {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new(set: &Prefixes) -> Self {
        let [a, b, c, d] = set.pairs();
        Self([table(a), table(b), table(c), table(d)])
    }

    /// Returns the bits of the pairs of a byte of `first` and the byte of `second` after it.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn find(self, first: __m256i, second: __m256i) -> __m256i {
        let [a, b, c, d] = self.0;
        _mm256_and_si256(entries(a, b, first), entries(c, d, second))
    }
}

/// The tables for ASCII.
#[derive(Clone, Copy)]
struct Ascii {
    /// All bits for the bytes that are not ASCII.
    high: __m256i,
    /// The bits that are not set.
    low: __m256i,
}

impl Ascii {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new(set: &Prefixes) -> Self {
        let [high, low, ..] = set.pairs();
        Self { high: table(&(high | u128::MAX << 64)), low: table(&!low) }
    }

    /// Returns `any` with nonzero bytes or bit 7 set for each byte that is not ASCII or is in the set.
    ///
    /// A lookup returns 0 if bit 7 of the index is set, so every byte that is not ASCII has all bits of its high nibble.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn or_marks<const HAS_ASCII: bool>(self, any: __m256i, x: __m256i) -> __m256i {
        if HAS_ASCII {
            let high = _mm256_shuffle_epi8(self.high, high_nibbles(x));
            _mm256_or_si256(any, _mm256_andnot_si256(_mm256_shuffle_epi8(self.low, x), high))
        } else {
            _mm256_or_si256(any, x)
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn is_clean<const HAS_ASCII: bool>(any: __m256i) -> bool {
        if HAS_ASCII { _mm256_testz_si256(any, any) != 0 } else { _mm256_movemask_epi8(any) == 0 }
    }
}

/// [`text_without`]. `HAS_ASCII` is whether ASCII bytes are in the set.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There are at least two vectors.
#[target_feature(enable = "avx2,bmi1")]
unsafe fn scan<const HAS_ASCII: bool>(bytes: &[u8], set: &Prefixes) -> usize {
    let (start, len) = (bytes.as_ptr(), bytes.len());
    let (pairs, ascii) = (Pairs::new(set), Ascii::new(set));
    // The same first steps as in `validate_large`. From here on, all bytes before `at` have been validated, and all of
    // them but the last one have been looked up.
    // SAFETY: there is a vector at 0.
    let x: Ymm = unsafe { load_at(bytes, 0) };
    if Ymm(_mm256_setzero_si256()).or_marks(x, x.shifted_after(Carry::START)).is_marked() {
        return 0;
    }
    // SAFETY: there are two vectors.
    if let Some(index) = unsafe { first_of(bytes, set, 0, WIDTH + 1) } {
        return index;
    }
    let mut at = WIDTH - start as usize % WIDTH;
    if at < 4 {
        // SAFETY: there are two vectors.
        if unsafe { or_marks_at(Ymm(_mm256_setzero_si256()), bytes, 4) }.is_marked() {
            return 0;
        }
        // SAFETY: there are two vectors.
        if let Some(index) = unsafe { first_of(bytes, set, 4, WIDTH + 5) } {
            return index;
        }
        at += WIDTH;
    }
    let (mut segment, mut has_four_bytes) = (SEGMENTS[0], false);
    while len - at > GROUP {
        // The last byte before `at` is tested again, because it was not the first byte of a pair.
        // SAFETY: `4 <= at`, and there is a vector at `at`.
        let x: Ymm = unsafe { load_at(bytes, at - 1) };
        if Ascii::is_clean::<HAS_ASCII>(ascii.or_marks::<HAS_ASCII>(_mm256_setzero_si256(), x.0)) {
            // The byte at `at - 1` is ASCII, so no sequence is unfinished.
            while len - at > ASCII_GROUP {
                let mut any = _mm256_setzero_si256();
                let mut i = 0;
                while i < ASCII_GROUP {
                    if i % 64 == 0 {
                        Ymm::prefetch(start.wrapping_add(at + i + AHEAD));
                    }
                    // SAFETY: there is a group at `at`.
                    let x: Ymm = unsafe { load_at(bytes, at + i) };
                    any = ascii.or_marks::<HAS_ASCII>(any, x.0);
                    i += WIDTH;
                }
                if !Ascii::is_clean::<HAS_ASCII>(any) {
                    break;
                }
                at += ASCII_GROUP;
                segment = SEGMENTS[0];
            }
            if len - at <= GROUP {
                break;
            }
        }
        // A byte after the segment is read.
        let groups = segment.min((len - at - 1) / GROUP);
        let stop = at + groups * GROUP;
        // SAFETY: `4 <= at`, and there are `groups` groups at `at`.
        let mut results = unsafe { segment_at(&pairs, bytes, at, groups, has_four_bytes) };
        if results.0.is_marked() && !has_four_bytes {
            // The marks may be lead bytes of 4-byte sequences.
            has_four_bytes = true;
            // SAFETY: same as above.
            results = unsafe { segment_at(&pairs, bytes, at, groups, true) };
        }
        let (marks, found) = results;
        if marks.is_marked() {
            break;
        }
        if _mm256_testz_si256(found, found) == 0
            // SAFETY: `4 <= at < stop < len`.
            && let Some(index) = unsafe { first_of(bytes, set, at - 1, stop) }
        {
            return index;
        }
        at = stop;
        segment = (2 * segment).min(SEGMENTS[1]);
    }
    // The start of the last character before `at`. Its first byte has not been looked up.
    let is_continuation = |&back: &usize| bytes.get(at - back).is_some_and(|byte| byte >> 6 == 2);
    at - 1 - (1..4).take_while(is_continuation).count()
}

/// The results of a number of vectors.
#[derive(Clone, Copy)]
struct Step {
    /// The marks of the validation.
    marks: Ymm,
    /// The bits of the pairs that are in the set.
    found: __m256i,
}

impl Step {
    /// Adds the results of the vector at an index.
    ///
    /// # Safety
    ///
    /// `3 <= at`, and `at + WIDTH <= bytes.len()`.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn after<const FOUR_BYTES: bool>(self, pairs: Pairs, bytes: &[u8], at: usize) -> Self {
        // SAFETY: the caller guarantees the range.
        let [x, p1, p2]: [Ymm; 3] =
            unsafe { [load_at(bytes, at), load_at(bytes, at - 1), load_at(bytes, at - 2)] };
        let marks = if FOUR_BYTES {
            // SAFETY: the caller guarantees the range.
            self.marks.or_marks(x, [p1, p2, unsafe { load_at(bytes, at - 3) }])
        } else {
            self.marks.or_marks_in_bmp(x, [p1, p2])
        };
        Self { marks, found: _mm256_or_si256(self.found, pairs.find(p1.0, x.0)) }
    }
}

/// Returns the results of `groups` groups at an index. The whole formula is used if `has_four_bytes`.
///
/// # Safety
///
/// `4 <= at`, and the groups are inside the bytes.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
unsafe fn segment_at(
    pairs: &Pairs,
    bytes: &[u8],
    at: usize,
    groups: usize,
    has_four_bytes: bool,
) -> (Ymm, __m256i) {
    let mut step = Step { marks: Ymm(_mm256_setzero_si256()), found: _mm256_setzero_si256() };
    // SAFETY: the caller guarantees the range. One of the 3 bytes before it can be the lead byte of a 4-byte sequence
    // only if the whole formula is used.
    unsafe {
        if has_four_bytes {
            groups_at::<true>(pairs, bytes, at, groups, &mut step);
        } else {
            groups_at::<false>(pairs, bytes, at, groups, &mut step);
        }
    }
    (step.marks, step.found)
}

/// Adds the results of `groups` groups. Not inlined, because then the registers suffice for the tables.
///
/// # Safety
///
/// Same as for [`segment_at`].
#[target_feature(enable = "avx2,bmi1")]
#[inline(never)]
unsafe fn groups_at<const FOUR_BYTES: bool>(
    pairs: &Pairs,
    bytes: &[u8],
    at: usize,
    groups: usize,
    results: &mut Step,
) {
    let mut step = *results;
    let mut from = at;
    while from < at + groups * GROUP {
        Ymm::prefetch(bytes.as_ptr().wrapping_add(from + AHEAD));
        // SAFETY: the caller guarantees the range.
        unsafe {
            step = step.after::<FOUR_BYTES>(*pairs, bytes, from);
            step = step.after::<FOUR_BYTES>(*pairs, bytes, from + WIDTH);
        }
        from += 2 * WIDTH;
    }
    *results = step;
}

/// Returns the index of the first character of the set whose first byte is in `from..stop - 1`.
///
/// # Safety
///
/// `from + 1 <= stop < bytes.len()`, and `stop - 1 - from` is a multiple of the length of a vector.
#[target_feature(enable = "avx2,bmi1")]
#[inline(never)]
unsafe fn first_of(bytes: &[u8], set: &Prefixes, from: usize, stop: usize) -> Option<usize> {
    let pairs = Pairs::new(set);
    let [a, b, c, d, e, f] = set.triples();
    let [a, b, c, d, e, f] = [table(a), table(b), table(c), table(d), table(e), table(f)];
    let whole = _mm256_set1_epi8(set.whole().cast_signed());
    let mut at = from;
    while at < stop - 1 {
        // SAFETY: the last of the bytes is at `stop` or before it.
        let [first, second, third]: [Ymm; 3] =
            unsafe { [load_at(bytes, at), load_at(bytes, at + 1), load_at(bytes, at + 2)] };
        let triples = _mm256_and_si256(
            _mm256_and_si256(entries(a, b, first.0), entries(c, d, second.0)),
            entries(e, f, third.0),
        );
        let found = _mm256_or_si256(_mm256_and_si256(pairs.find(first.0, second.0), whole), triples);
        let is_zero = _mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()));
        if is_zero != -1 {
            return Some(at + (!is_zero).trailing_zeros() as usize);
        }
        at += WIDTH;
    }
    None
}
