//! Validates text and finds out whether it contains characters of a set, in one pass, with AVX2.
//!
//! The loop over dense text looks up the nibbles of two neighboring bytes for the validation, and the same nibbles in
//! the tables of the set. If a pair of bytes is in the set, the segment is searched for the exact character, with three
//! bytes.

use core::arch::x86_64::*;

use super::Ymm;
use crate::kernels::arch::vector::{Vector, carry_at, load_at, or_marks_at};
use crate::kernels::prefixes::{AsciiSet, Prefixes};
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

/// Implements [`TextWithout`](crate::kernels::functions::TextWithout).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1")]
pub(in crate::kernels) unsafe fn text_without(bytes: &[u8], set: &Prefixes) -> usize {
    let (start, len) = (bytes.as_ptr(), bytes.len());
    if len < 2 * WIDTH {
        return 0;
    }
    // The same first steps as in `validate_large`. From here on, all bytes before `at` have been validated, and all of
    // them but the last one have been looked up.
    // SAFETY: there is a vector at 0.
    let x: Ymm = unsafe { load_at(bytes, 0) };
    if Ymm(_mm256_setzero_si256()).or_marks(x, x.shifted_after(Carry::START)).is_marked() {
        return 0;
    }
    // SAFETY: there are two vectors.
    if let Some(index) = unsafe { first_in(bytes, set, 0, WIDTH) } {
        return index;
    }
    let mut at = WIDTH - start as usize % WIDTH;
    if at < 4 {
        // SAFETY: there are two vectors.
        if unsafe { or_marks_at(Ymm(_mm256_setzero_si256()), bytes, 4) }.is_marked() {
            return 0;
        }
        // SAFETY: there are two vectors.
        if let Some(index) = unsafe { first_in(bytes, set, 4, WIDTH + 4) } {
            return index;
        }
        at += WIDTH;
    }
    let pairs = Pairs::new(set);
    let mut segment = SEGMENTS[0];
    // The first segment may start inside a sequence of 4 bytes.
    // SAFETY: `4 <= at`, and there are two vectors, of which at most one is before `at`.
    let mut has_four_bytes = unsafe { carry_at(bytes, at) }.has_lead_of_four();
    while len - at > GROUP {
        // SAFETY: `4 <= at`, and there is a vector at `at`.
        if unsafe { load_at::<Ymm>(bytes, at - 1) }.is_ascii() {
            // SAFETY: same as above.
            let after = unsafe {
                match set.ascii() {
                    AsciiSet::Empty => after_ascii::<0>(bytes, set, at),
                    AsciiSet::Edges { .. } => after_ascii::<1>(bytes, set, at),
                    AsciiSet::EdgesBut { .. } => after_ascii::<2>(bytes, set, at),
                    AsciiSet::Other => after_ascii::<3>(bytes, set, at),
                }
            };
            if after == len {
                return len;
            }
            if after > at {
                (at, segment) = (after, SEGMENTS[0]);
            }
            if len - at <= GROUP {
                break;
            }
        }
        // A byte after the segment is read.
        let groups = segment.min((len - at - 1) / GROUP);
        let stop = at + groups * GROUP;
        // SAFETY: `4 <= at`, and there are `groups` groups at `at`. A lead byte of a 4-byte sequence before `at` was marked
        // in the segment before, unless it is the last byte.
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
        if !is_zero(found)
            // SAFETY: `stop` is before the end.
            && let Some(index) = unsafe { first_in(bytes, set, at - 1, stop - 1) }
        {
            return index;
        }
        at = stop;
        segment = (2 * segment).min(SEGMENTS[1]);
    }
    // The start of the last character before `at`. Its first byte may not have been looked up.
    let is_continuation = |&back: &usize| bytes.get(at - back).is_some_and(|byte| byte >> 6 == 2);
    at - 1 - (1..4).take_while(is_continuation).count()
}

#[target_feature(enable = "avx2")]
#[inline]
fn is_zero(x: __m256i) -> bool {
    _mm256_testz_si256(x, x) != 0
}

/// The number of bytes that [`after_ascii`] tests at once.
const LONG_GROUP: usize = 8 * WIDTH;

/// Returns an index up to which all bytes are ASCII and not in the set, or `at`. If these are all bytes up to the end,
/// the end is returned. `MODE` is the [`AsciiSet`].
///
/// # Safety
///
/// `1 <= at`, and there is a vector at `at`.
#[target_feature(enable = "avx2,bmi1")]
#[inline(never)]
unsafe fn after_ascii<const MODE: u8>(bytes: &[u8], set: &Prefixes, mut at: usize) -> usize {
    let (start, len, ascii) = (bytes.as_ptr(), bytes.len(), Ascii::<MODE>::new(set));
    // The last byte before `at` has not been looked up.
    // SAFETY: the caller guarantees the range.
    if !ascii.is_clean(ascii.with(Ascii::<MODE>::NONE(), unsafe { load_at(bytes, at - 1) })) {
        return at;
    }
    while len - at >= LONG_GROUP {
        let mut seen = Ascii::<MODE>::NONE();
        let mut i = 0;
        while i < LONG_GROUP {
            if i % 128 == 0 {
                Ymm::prefetch(start.wrapping_add(at + i + AHEAD));
            }
            // SAFETY: there is a group at `at`.
            seen = ascii.with(seen, unsafe { load_at(bytes, at + i) });
            i += WIDTH;
        }
        if !ascii.is_clean(seen) {
            return at;
        }
        at += LONG_GROUP;
    }
    while at < len {
        // The last vector overlaps the one before.
        let from = at.min(len - WIDTH);
        // SAFETY: there is a vector before the end.
        if !ascii.is_clean(ascii.with(Ascii::<MODE>::NONE(), unsafe { load_at(bytes, from) })) {
            return at;
        }
        at = from + WIDTH;
    }
    len
}

/// A test of whether bytes are ASCII and not in a set.
#[derive(Clone, Copy)]
struct Ascii<const MODE: u8> {
    /// Modes 1 and 2: the lowest byte that is not in the set. Mode 3: the entries of the high nibble; all bits for the
    /// bytes that are not ASCII.
    first: __m256i,
    /// Modes 1 and 2: the highest byte that is not in the set. Mode 3: the bits that the low nibble does not have.
    last: __m256i,
    /// Mode 2: for each low nibble the byte below `10` if it is not in the set, and 80 otherwise.
    others: __m256i,
}

/// What was seen in a number of vectors: in modes 1 and 2 the lowest and the highest byte; otherwise bits, of which the
/// highest (mode 0) or none (mode 3) may be set.
type Seen = [__m256i; 2];

impl<const MODE: u8> Ascii<MODE> {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new(set: &Prefixes) -> Self {
        let [high, low, ..] = set.pairs();
        let zero = _mm256_setzero_si256();
        match set.ascii() {
            AsciiSet::Edges { first, last } | AsciiSet::EdgesBut { first, last } => {
                let is_outside =
                    _mm256_cmpeq_epi8(_mm256_and_si256(table(low), _mm256_set1_epi8(*high as i8)), zero);
                let numbers =
                    table(&u128::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
                Self {
                    first: _mm256_set1_epi8(first.cast_signed()),
                    last: _mm256_set1_epi8(last.cast_signed()),
                    others: _mm256_blendv_epi8(_mm256_set1_epi8(-0x80), numbers, is_outside),
                }
            }
            AsciiSet::Empty | AsciiSet::Other => {
                Self { first: table(&(high | u128::MAX << 64)), last: table(&!low), others: zero }
            }
        }
    }

    #[allow(non_snake_case)]
    #[target_feature(enable = "avx2")]
    #[inline]
    fn NONE() -> Seen {
        let zero = _mm256_setzero_si256();
        if MODE == 1 || MODE == 2 { [_mm256_set1_epi8(-1), zero] } else { [zero, zero] }
    }

    /// Adds a vector.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn with(self, [low, high]: Seen, Ymm(x): Ymm) -> Seen {
        match MODE {
            0 => [low, _mm256_or_si256(high, x)],
            1 => [_mm256_min_epu8(low, x), _mm256_max_epu8(high, x)],
            2 => {
                // `FF` for the bytes that are not in the set although they are below others that are.
                let is_outside = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(self.others, x), x);
                [_mm256_min_epu8(low, _mm256_or_si256(x, is_outside)), _mm256_max_epu8(high, x)]
            }
            _ => {
                // A lookup returns 0 if bit 7 of the index is set, so a byte that is not ASCII has all bits of its high
                // nibble.
                let bits = _mm256_shuffle_epi8(self.first, high_nibbles(x));
                let bits = _mm256_andnot_si256(_mm256_shuffle_epi8(self.last, x), bits);
                [low, _mm256_or_si256(high, bits)]
            }
        }
    }

    /// Whether all bytes seen are ASCII and not in the set.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn is_clean(self, [low, high]: Seen) -> bool {
        match MODE {
            0 => _mm256_movemask_epi8(high) == 0,
            1 | 2 => {
                let (below, above) = (_mm256_subs_epu8(self.first, low), _mm256_subs_epu8(high, self.last));
                is_zero(_mm256_or_si256(below, above))
            }
            _ => is_zero(high),
        }
    }
}

/// Implements [`FirstOf`](crate::kernels::functions::FirstOf).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1")]
pub(in crate::kernels) unsafe fn first_of(text: &[u8], set: &Prefixes) -> Option<usize> {
    let (pairs, len) = (Pairs::new(set), text.len());
    let mut at = 0;
    while len - at > GROUP + 1 {
        let mut found = _mm256_setzero_si256();
        let mut i = 0;
        while i < GROUP {
            if i % 64 == 0 {
                Ymm::prefetch(text.as_ptr().wrapping_add(at + i + AHEAD));
            }
            // SAFETY: there is a group at `at`, and another byte.
            let [first, second]: [Ymm; 2] = unsafe { [load_at(text, at + i), load_at(text, at + i + 1)] };
            found = _mm256_or_si256(found, pairs.find(first.0, second.0));
            i += WIDTH;
        }
        if !is_zero(found)
            // SAFETY: two bytes follow the group.
            && let Some(index) = unsafe { first_in(text, set, at, at + GROUP) }
        {
            return Some(index);
        }
        at += GROUP;
    }
    // The rest, followed by zeros.
    let mut rest = [0; GROUP + 2 * WIDTH];
    for (to, &byte) in rest.iter_mut().zip(text.get(at..).unwrap_or_default()) {
        *to = byte;
    }
    // SAFETY: a vector follows the range.
    let index = unsafe { first_in(&rest, set, 0, (len - at).next_multiple_of(WIDTH)) };
    index.map(|index| at + index).filter(|&index| index < len)
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
/// - `4 <= at`, and the groups are inside the bytes.
/// - `has_four_bytes` is set if one of the 3 bytes before `at` is the lead byte of a 4-byte sequence, except that it may
///   be unset for the byte directly before `at`, because then the byte at `at` is marked.
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
    debug_assert!(has_four_bytes || bytes[at - 3..at - 1].iter().all(|&byte| byte < 0xF0));
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        if has_four_bytes {
            groups_at::<true>(pairs, bytes, at, groups, &mut step);
        } else {
            groups_at::<false>(pairs, bytes, at, groups, &mut step);
        }
    }
    (step.marks, step.found)
}

/// Adds the results of `groups` groups. It is not inlined, because then the registers suffice for the tables.
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

/// Returns the index of the first character of the set whose first byte is in `from..to`.
///
/// # Safety
///
/// `to + 1 < bytes.len()`, and `to - from` is a multiple of the length of a vector.
#[target_feature(enable = "avx2,bmi1")]
#[inline(never)]
unsafe fn first_in(bytes: &[u8], set: &Prefixes, from: usize, to: usize) -> Option<usize> {
    let pairs = Pairs::new(set);
    let [a, b, c, d, e, f] = set.triples();
    let [a, b, c, d, e, f] = [table(a), table(b), table(c), table(d), table(e), table(f)];
    let whole = _mm256_set1_epi8(set.whole().cast_signed());
    let mut at = from;
    while at < to {
        // SAFETY: the last one of these bytes is at `to + 1` or before it.
        let [first, second, third]: [Ymm; 3] =
            unsafe { [load_at(bytes, at), load_at(bytes, at + 1), load_at(bytes, at + 2)] };
        let triples = _mm256_and_si256(
            _mm256_and_si256(entries(a, b, first.0), entries(c, d, second.0)),
            entries(e, f, third.0),
        );
        let found = _mm256_or_si256(_mm256_and_si256(pairs.find(first.0, second.0), whole), triples);
        let unmarked = _mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()));
        if unmarked != -1 {
            return Some(at + (!unmarked).trailing_zeros() as usize);
        }
        at += WIDTH;
    }
    None
}
