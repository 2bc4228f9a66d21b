//! The one algorithm of the vector kernels, over what they need of a vector.
//!
//! A kernel is an `impl` of [`Vector`] and a function with `#[target_feature]` that calls [`take`]. Everything
//! here is `#[inline(always)]`, so that it is compiled inside that function, with the features that it enables.

use super::Last;

/// A vector of octets, and the formula of [`twin`](super::twin) on it.
///
/// # Safety of the functions
///
/// All of them need the CPU features of the implementing type; the functions that read memory say what more.
pub(super) trait Vector: Copy {
    /// Octets in a vector.
    const LEN: usize;

    /// Nothing: no octet above `7F`, no flaw.
    unsafe fn zero() -> Self;

    /// A vector that ends with the last four octets of the stream.
    unsafe fn last_octets(last: u32) -> Self;

    /// # Safety
    ///
    /// `LEN` octets at `from` can be read.
    unsafe fn load(from: *const u8) -> Self;

    /// The octets of `chunk` from `at` to its end, which are `LEN` or fewer, and zeros. Reads nothing else.
    ///
    /// # Safety
    ///
    /// `at <= chunk.len() <= at + LEN`, and the chunk has four octets or more.
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self;

    /// `self` moved by one, two and three octets, with the last of `before` moved in.
    unsafe fn moved(self, before: Self) -> [Self; 3];

    unsafe fn or(self, other: Self) -> Self;

    unsafe fn is_ascii(self) -> bool;

    /// `self`, with a mark at every flaw of `x`.
    unsafe fn or_flaws(self, x: Self, p: [Self; 3]) -> Self;

    /// Is anything marked?
    unsafe fn is_marked(self) -> bool;

    /// The place of the first mark, or `LEN` or more.
    unsafe fn first_mark(self) -> usize;

    /// [`take_large`], out of line.
    ///
    /// # Safety
    ///
    /// The chunk is longer than a vector.
    unsafe fn take_large(last: &mut Last, chunk: &[u8]) -> usize;

    /// Says that memory will be read soon. No address is wrong.
    unsafe fn prefetch(from: *const u8);
}

/// The main loop takes this many vectors at once.
const GROUP: usize = 4;
/// Where a group is not ASCII, but text that is mostly ASCII lets hope, half of one is looked at.
const PAIR: usize = 2;
/// Marks are looked at after so many groups at first, then after twice as many, and so on: an early flaw, which
/// comes often where text is repaired, is found early, and a late one after little work.
const FIRST_SEGMENT: usize = 1;
/// Octets between two looks at the marks, in the long run. A look at every group would cost a fifth of the speed.
const LONGEST_SEGMENT: usize = 2048;
/// After so many pairs in a row that are not ASCII only the first of a segment is tried for it.
const DENSE: u32 = 6;
/// How far ahead memory is asked for: the best of eight distances (docs/performance.md).
const AHEAD: usize = 1024;

/// Chunks up to this length are not worth the way to alignment: their last vector overlaps the one before it.
const SMALL: usize = 384;

/// [`Implementation::take`](super::kernel::Implementation::take): what small chunks need, and nothing that would make
/// them save registers.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk has four octets or more.
#[inline(always)]
pub(super) unsafe fn take<V: Vector>(last: &mut Last, chunk: &[u8]) -> usize {
    let len = chunk.len();
    // SAFETY: the caller's promises. A chunk that is good up to its last octet has one.
    unsafe {
        if len > SMALL {
            return V::take_large(last, chunk);
        }
        let behind = Last::new(last_four(chunk.as_ptr().add(len)), 0);
        if last.is_calm() {
            if is_ascii::<V>(chunk) {
                *last = behind.calm();
                return len;
            }
            last.disappoint();
        }
        if len <= V::LEN {
            // The rest from 0 is the whole chunk.
            let x = V::load_rest(chunk, 0);
            let flaw = V::zero().or_flaws(x, x.moved(V::last_octets(last.word()))).first_mark();
            if flaw < len {
                return flaw;
            }
        } else if len < V::LEN + 3 || small_marks::<V>(last.word(), chunk).is_marked() {
            // The flaw is found again there.
            return V::take_large(last, chunk);
        }
        if behind.ends_with_no_lead() {
            return len - 1;
        }
        *last = behind.after(*last);
        len
    }
}

/// [`take`] for chunks of more than a vector.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than a vector.
#[inline(always)]
pub(super) unsafe fn take_large<V: Vector>(last: &mut Last, chunk: &[u8]) -> usize {
    // SAFETY: the caller's promises, and a vector is four octets or more.
    unsafe {
        let flaw = first_flaw::<V>(last.word(), chunk);
        if flaw < chunk.len() {
            return flaw;
        }
        let behind = Last::new(last_four(chunk.as_ptr().add(chunk.len())), 0);
        if behind.ends_with_no_lead() {
            return flaw - 1;
        }
        *last = behind.after(*last);
        flaw
    }
}

/// The marks of all vectors of a chunk; the last one overlaps the one before it.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than a vector by three octets or more.
#[inline(always)]
unsafe fn small_marks<V: Vector>(last: u32, chunk: &[u8]) -> V {
    let (start, len) = (chunk.as_ptr(), chunk.len());
    // SAFETY: `LEN` octets from `at`, and three before it, are in the chunk, and so are the last `LEN` octets, and
    // three before them.
    unsafe {
        let x = V::load(start);
        let mut marks = V::zero().or_flaws(x, x.moved(V::last_octets(last)));
        let mut at = V::LEN;
        while at < len - V::LEN {
            marks = or_flaws_at(marks, start.add(at));
            at += V::LEN;
        }
        or_flaws_at(marks, start.add(len - V::LEN))
    }
}

/// The first flaw in a chunk that follows `last`, or its length if it has none.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than a vector.
#[inline(always)]
unsafe fn first_flaw<V: Vector>(last: u32, chunk: &[u8]) -> usize {
    let len = chunk.len();
    // SAFETY: the features are the caller's promise. Each load says where it stays within the chunk.
    unsafe {
        let start = chunk.as_ptr();
        // The chunk is longer than a vector.
        let x = V::load(start);
        let first = V::zero().or_flaws(x, x.moved(V::last_octets(last)));
        if first.is_marked() {
            return first.first_mark();
        }
        let mut marks = V::zero();
        let mut at = V::LEN;
        let mut good = V::LEN;
        if len > SMALL {
            // To the first aligned place whose three octets before it are in the chunk, by a vector at 4 if need be.
            at = V::LEN - start as usize % V::LEN;
            if at < 4 {
                marks = or_flaws_at(marks, start.add(4));
                at += V::LEN;
            }
            let mut segment = FIRST_SEGMENT * GROUP * V::LEN;
            let mut dense = 0;
            while len - at >= PAIR * V::LEN {
                let stop = at + segment.min((len - at) / (PAIR * V::LEN) * (PAIR * V::LEN));
                // `4 <= at` and `stop <= len`.
                (marks, dense) = or_flaws_of_pairs(marks, dense, start, at, stop);
                if marks.is_marked() {
                    return locate::<V>(chunk, good);
                }
                at = stop;
                good = stop;
                segment = (2 * segment).min(LONGEST_SEGMENT);
            }
        }
        while len - at >= V::LEN {
            // `LEN` octets from `at`, and three before it, are in the chunk.
            marks = or_flaws_at(marks, start.add(at));
            at += V::LEN;
        }
        if at < len {
            // `LEN <= at`, and fewer than `LEN` octets are left.
            let x = V::load_rest(chunk, at);
            let rest = V::zero().or_flaws(x, x.moved(V::load(start.add(at - V::LEN))));
            if rest.first_mark() < len - at {
                return locate::<V>(chunk, good);
            }
        }
        if marks.is_marked() { locate::<V>(chunk, good) } else { len }
    }
}

/// # Safety
///
/// The CPU has the features; from three octets before `from` to `LEN` behind it memory can be read.
#[inline(always)]
unsafe fn or_flaws_at<V: Vector>(marks: V, from: *const u8) -> V {
    // SAFETY: as above. To read the same octets again at other places is faster than to move them in registers.
    unsafe {
        marks.or_flaws(V::load(from), [V::load(from.sub(1)), V::load(from.sub(2)), V::load(from.sub(3))])
    }
}

/// Pairs from `at` to `stop`; those that are ASCII are only looked at for that. `dense` of them were not, one after
/// the other, before.
///
/// # Safety
///
/// The CPU has the features; `stop - at` is a positive multiple of a pair; from `start + at - 4` to `start + stop`
/// memory can be read.
#[inline(always)]
unsafe fn or_flaws_of_pairs<V: Vector>(
    mut marks: V,
    mut dense: u32,
    start: *const u8,
    mut at: usize,
    stop: usize,
) -> (V, u32) {
    let mut try_ascii = true;
    // SAFETY: all that is read lies between `at` and `stop`, and `start + at` has four octets before it.
    unsafe {
        while at < stop {
            let from = start.add(at);
            if try_ascii {
                let is_boundary = last_four(from) & 0x8080_8080 == 0;
                if is_boundary && stop - at >= GROUP * V::LEN && is_ascii_from::<V, GROUP>(from) {
                    dense = 0;
                    loop {
                        V::prefetch(start.wrapping_add(at + AHEAD));
                        at += GROUP * V::LEN;
                        if stop - at < GROUP * V::LEN || !is_ascii_from::<V, GROUP>(start.add(at)) {
                            break;
                        }
                    }
                    continue;
                }
                if is_boundary && is_ascii_from::<V, PAIR>(from) {
                    dense = 0;
                } else {
                    marks = or_flaws_from::<V, PAIR>(marks, from);
                    dense += 1;
                    try_ascii = dense < DENSE;
                }
                at += PAIR * V::LEN;
            } else if stop - at >= GROUP * V::LEN {
                marks = or_flaws_from::<V, GROUP>(marks, from);
                at += GROUP * V::LEN;
            } else {
                marks = or_flaws_from::<V, PAIR>(marks, from);
                at += PAIR * V::LEN;
            }
        }
    }
    (marks, dense)
}

/// # Safety
///
/// The CPU has the features; from three octets before `from` to `N` vectors behind it memory can be read.
#[inline(always)]
unsafe fn or_flaws_from<V: Vector, const N: usize>(mut marks: V, from: *const u8) -> V {
    let mut i = 0;
    while i < N {
        // SAFETY: as above.
        unsafe {
            V::prefetch(from.wrapping_add(i * V::LEN + AHEAD));
            marks = or_flaws_at(marks, from.add(i * V::LEN));
        }
        i += 1;
    }
    marks
}

/// # Safety
///
/// The CPU has the features; `N` vectors at `from` can be read.
#[inline(always)]
unsafe fn is_ascii_from<V: Vector, const N: usize>(from: *const u8) -> bool {
    // SAFETY: as above.
    unsafe {
        let mut any = V::load(from);
        let mut i = 1;
        while i < N {
            any = any.or(V::load(from.add(i * V::LEN)));
            i += 1;
        }
        any.is_ascii()
    }
}

/// Is a whole small chunk ASCII?
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk has four octets or more.
#[inline(always)]
unsafe fn is_ascii<V: Vector>(chunk: &[u8]) -> bool {
    let (start, len) = (chunk.as_ptr(), chunk.len());
    // SAFETY: the rest from 0 is the whole chunk; vectors are read from `at <= len - LEN` only, the last one from
    // there, where it may overlap.
    unsafe {
        if len <= V::LEN {
            return V::load_rest(chunk, 0).is_ascii();
        }
        let mut any = V::load(start.add(len - V::LEN));
        let mut at = 0;
        while at < len - V::LEN {
            any = any.or(V::load(start.add(at)));
            at += V::LEN;
        }
        any.is_ascii()
    }
}

/// # Safety
///
/// Four octets before `at` can be read.
#[inline(always)]
unsafe fn last_four(at: *const u8) -> u32 {
    // SAFETY: as above.
    u32::from_le_bytes(unsafe { at.sub(4).cast::<[u8; 4]>().read() })
}

/// The exact place of the first flaw, of which is known that it is not before `at`: pair by pair, then vector by
/// vector.
///
/// # Safety
///
/// The CPU has the features; `at` is within the chunk, a vector or more behind its start.
#[inline(always)]
unsafe fn locate<V: Vector>(chunk: &[u8], mut at: usize) -> usize {
    let len = chunk.len();
    let start = chunk.as_ptr();
    // SAFETY: `LEN <= at <= len` throughout.
    unsafe {
        while len - at >= PAIR * V::LEN {
            let from = start.add(at);
            let is_ascii = last_four(from) & 0x8080_8080 == 0 && is_ascii_from::<V, PAIR>(from);
            if !is_ascii && or_flaws_from::<V, PAIR>(V::zero(), from).is_marked() {
                break;
            }
            at += PAIR * V::LEN;
        }
        let mut before = V::load(start.add(at - V::LEN));
        loop {
            let left = len - at;
            let x = if left < V::LEN { V::load_rest(chunk, at) } else { V::load(start.add(at)) };
            let mark = V::zero().or_flaws(x, x.moved(before)).first_mark();
            if mark < left.min(V::LEN) {
                return at + mark;
            }
            if left <= V::LEN {
                return len;
            }
            before = x;
            at += V::LEN;
        }
    }
}
