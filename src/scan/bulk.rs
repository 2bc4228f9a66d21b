//! Chunks of more than a vector: the main loop of the vector kernels.
//!
//! It has two gaits. In ASCII it only looks whether there is anything else, a group of vectors at a time; where that is in
//! one half of a group, this half is judged. In dense text all vectors are judged, a segment at a time. Both judge by the
//! formula for the Basic Multilingual Plane until a lead of four shows up, then by the whole one.

use super::vector::{Vector, holds_four, last_four, or_flaws_at, or_flaws_in_bmp_at};
use super::{Last, SMALL};

/// Groups between two looks at the marks; the next time it is twice as many, up to [`LONGEST_SEGMENT`]. An early flaw,
/// which comes often where text is repaired, is found early, and a late one after little work.
const FIRST_SEGMENT: usize = 2;
/// With 16 a flaw in dense text would be found later than by a look at every block (AVX2, 0.84 of simdutf8 `compat`).
const LONGEST_SEGMENT: usize = 8;
/// How far ahead memory is asked into the nearest cache (docs/performance.md has what other distances give).
const AHEAD: usize = 1024;
/// And into the next one, for dense text. In ASCII there is no time for both: that would cost a fifth of the speed where
/// the second cache has the text already.
const FAR_AHEAD: usize = 4096;

/// [`Implementation::take`](super::kernel::Implementation::take) for chunks of more than a vector.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than a vector.
#[inline(always)]
pub(super) unsafe fn take_large<V: Vector>(last: &mut Last, chunk: &[u8]) -> usize {
    let len = chunk.len();
    // SAFETY: the caller's promises, and a vector is four bytes or more.
    unsafe {
        // The chunk is longer than a vector.
        let x = V::load(chunk.as_ptr());
        let marks = V::zero().or_flaws(x, x.moved(V::last_bytes(last.word())));
        if marks.is_marked() {
            return marks.first_mark();
        }
        let mut is_beyond = last.is_beyond();
        let flaw = if len > SMALL {
            first_flaw::<V>(chunk, x.is_ascii(), &mut is_beyond)
        } else {
            // One that is good, and yet was sent here with marks in it, has a sequence of four.
            is_beyond |= len >= V::LEN + 3;
            V::locate(chunk, V::LEN, len)
        };
        if flaw < len {
            return flaw;
        }
        let after = Last::new(last_four(chunk.as_ptr().add(len)), 0);
        if after.ends_with_no_lead() {
            return len - 1;
        }
        let after = after.with_history_of(*last);
        *last = match (is_beyond, last.is_beyond()) {
            (false, _) => after,
            (true, false) => after.beyond(),
            (true, true) => after.less_beyond(),
        };
        len
    }
}

/// The first flaw in a chunk that is not small and begins with a good vector, or its length if it has none. Says if it
/// met a sequence of four.
///
/// `hope`: is ASCII likely? Only then is it worth the look in which half of a group the other bytes are.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than [`SMALL`].
#[inline(always)]
unsafe fn first_flaw<V: Vector>(chunk: &[u8], mut hope: bool, is_beyond: &mut bool) -> usize {
    let (start, len, group) = (chunk.as_ptr(), chunk.len(), V::GROUP * V::LEN);
    let half = group / 2;
    // SAFETY: the features are the caller's promise. Everything before `at` is in the chunk and is good; each call says
    // why what it reads is in the chunk.
    unsafe {
        // To the first aligned place with four bytes before it in the chunk, by a vector at 4 if need be.
        let mut at = V::LEN - start as usize % V::LEN;
        if at < 4 {
            let marks = or_flaws_at(V::zero(), start.add(4));
            if marks.is_marked() {
                return 4 + marks.first_mark();
            }
            at += V::LEN;
        }
        debug_assert!(at >= 4);
        let mut segment = FIRST_SEGMENT;
        while len - at >= group {
            // `4 <= at`, and a group from there is in the chunk.
            let before = last_four(start.add(at));
            if is_ascii_word(before) {
                if is_ascii::<V>(start.add(at), V::GROUP) {
                    loop {
                        V::prefetch(start.wrapping_add(at + AHEAD));
                        at += group;
                        if len - at < group || !is_ascii::<V>(start.add(at), V::GROUP) {
                            break;
                        }
                    }
                    hope = true;
                    segment = FIRST_SEGMENT;
                    if len - at < group {
                        break;
                    }
                }
                if hope {
                    let halves = [0, half].map(|skip| is_ascii::<V>(start.add(at + skip), V::GROUP / 2));
                    // Or the byte after the first half must be judged too: it may be due to be a continuation.
                    let is_apart = halves[1] & is_ascii_word(last_four(start.add(at + half)));
                    if halves[0] | is_apart {
                        // Without a branch, since it may be either.
                        let from = at + half * usize::from(halves[0]);
                        if marks_of_all::<V>(start.add(from), 1, V::GROUP / 2, *is_beyond).is_marked() {
                            let flaw = V::locate(chunk, from, from + half);
                            if flaw < from + half {
                                return flaw;
                            }
                            *is_beyond = true;
                        }
                        at += group;
                        continue;
                    }
                }
            }
            hope = false;
            *is_beyond |= holds_four(before);
            let groups = segment.min((len - at) / group);
            let stop = at + groups * group;
            if marks_of_all::<V>(start.add(at), groups, V::GROUP, *is_beyond).is_marked() {
                let flaw = V::locate(chunk, at, stop);
                if flaw < stop {
                    return flaw;
                }
                // The marks were leads of four.
                *is_beyond = true;
            }
            at = stop;
            segment = (2 * segment).min(LONGEST_SEGMENT);
        }
        // Less than a group is left of a chunk that is longer than one. So the last group begins before `at`, and if a
        // sequence is unfinished there, it holds some of it.
        let all_ascii = hope && is_ascii::<V>(start.add(len - group), V::GROUP);
        if all_ascii || !marks_of_rest::<V>(chunk, at).is_marked() { len } else { V::locate(chunk, at, len) }
    }
}

/// Are all four bytes ASCII?
const fn is_ascii_word(word: u32) -> bool {
    word & 0x8080_8080 == 0
}

/// Are this many vectors ASCII?
///
/// # Safety
///
/// The CPU has the features; so many vectors at `from` can be read.
#[inline(always)]
unsafe fn is_ascii<V: Vector>(from: *const u8, vectors: usize) -> bool {
    // SAFETY: as above.
    unsafe {
        let mut any = V::load(from);
        let mut i = 1;
        while i < vectors {
            any = any.or(V::load(from.add(i * V::LEN)));
            i += 1;
        }
        any.is_ascii()
    }
}

/// `marks`, and those of this many vectors at `from`; of sequences of four only if `IS_BEYOND`.
///
/// # Safety
///
/// The CPU has the features; so many vectors at `from`, and three bytes before it, can be read. `IS_BEYOND`, or none
/// of these three bytes begins a sequence of four.
#[inline(always)]
unsafe fn marks_of<V: Vector, const IS_BEYOND: bool>(mut marks: V, from: *const u8, vectors: usize) -> V {
    // SAFETY: as above.
    unsafe {
        let mut i = 0;
        while i < vectors {
            let from = from.add(i * V::LEN);
            if i * V::LEN % 64 == 0 {
                V::prefetch(from.wrapping_add(AHEAD));
                V::prefetch_far(from.wrapping_add(FAR_AHEAD));
            }
            marks = if IS_BEYOND { or_flaws_at(marks, from) } else { or_flaws_in_bmp_at(marks, from) };
            i += 1;
        }
        marks
    }
}

/// The marks of so many stretches of so many vectors each.
///
/// # Safety
///
/// As for [`marks_of`], of all of them.
#[inline(always)]
unsafe fn marks_of_all<V: Vector>(from: *const u8, stretches: usize, vectors: usize, is_beyond: bool) -> V {
    // SAFETY: as above.
    unsafe {
        let (mut marks, mut i) = (V::zero(), 0);
        if is_beyond {
            while i < stretches {
                marks = marks_of::<V, true>(marks, from.add(i * vectors * V::LEN), vectors);
                i += 1;
            }
        } else {
            while i < stretches {
                marks = marks_of::<V, false>(marks, from.add(i * vectors * V::LEN), vectors);
                i += 1;
            }
        }
        marks
    }
}

/// The marks from `at` to the end of the chunk; the last vector overlaps the one before it.
///
/// # Safety
///
/// The CPU has the features; `at` is within the chunk and has four bytes before it; the chunk has two vectors.
#[inline(always)]
unsafe fn marks_of_rest<V: Vector>(chunk: &[u8], mut at: usize) -> V {
    let (start, len) = (chunk.as_ptr(), chunk.len());
    // SAFETY: each vector is in the chunk, with three bytes before it.
    unsafe {
        let mut marks = V::zero();
        while len - at >= V::LEN {
            marks = or_flaws_at(marks, start.add(at));
            at += V::LEN;
        }
        if at < len { or_flaws_at(marks, start.add(len - V::LEN)) } else { marks }
    }
}

/// The exact place of the first flaw from `at` to `end`, or `end`: by pairs of vectors, then by vectors.
///
/// # Safety
///
/// The CPU has the features; from `at`, which has four bytes or more before it, to `end` are whole vectors, or `end` is
/// the end of the chunk and it has two vectors, or `at` has one before it.
#[inline(always)]
pub(super) unsafe fn locate<V: Vector>(chunk: &[u8], mut at: usize, end: usize) -> usize {
    let start = chunk.as_ptr();
    // SAFETY: each vector that is loaded is in the chunk, and `3 <= at` throughout.
    unsafe {
        while end - at > 2 * V::LEN {
            let from = start.add(at);
            if or_flaws_at(or_flaws_at(V::zero(), from), from.add(V::LEN)).is_marked() {
                break;
            }
            at += 2 * V::LEN;
        }
        while end - at >= V::LEN {
            let marks = or_flaws_at(V::zero(), start.add(at));
            if marks.is_marked() {
                return at + marks.first_mark();
            }
            at += V::LEN;
        }
        if at == end {
            return end;
        }
        // Less than a vector is left: this is the end of the chunk, and `LEN <= at`.
        let x = V::load_rest(chunk, at);
        let mark = V::zero().or_flaws(x, x.moved(V::load(start.add(at - V::LEN)))).first_mark();
        end.min(at + mark)
    }
}
