//! Chunks of more than a vector: the main loop of the vector kernels.
//!
//! It has two gaits. In ASCII it only looks whether there is anything else, a group of vectors at a time; a character or
//! two in such a group are judged by one vector that begins with them. In dense text all vectors are judged, a segment
//! at a time: with the formula for the Basic Multilingual Plane until a lead of four shows up, then with the whole one.

use super::last::holds_four;
use super::vector::{Vector, last_four, or_flaws_at, or_flaws_in_bmp_at};
use super::{Last, SMALL};

/// No kernel has more octets in a [group](Vector::GROUP).
const LARGEST_GROUP: usize = 256;
/// Groups between two looks at the marks; the next time it is twice as many, up to [`LONGEST_SEGMENT`]. An early flaw,
/// which comes often where text is repaired, is found early, and a late one after little work.
const FIRST_SEGMENT: usize = 2;
/// With 16 a flaw in dense text would be found later than by a look at every block (AVX2, 0.84 of simdutf8 `compat`).
const LONGEST_SEGMENT: usize = 8;
/// How far ahead memory is asked for: the best of eight distances (docs/performance.md).
const AHEAD: usize = 1024;

/// [`Implementation::take`](super::kernel::Implementation::take) for chunks of more than a vector.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than a vector.
#[inline(always)]
pub(super) unsafe fn take_large<V: Vector>(last: &mut Last, chunk: &[u8]) -> usize {
    let len = chunk.len();
    // SAFETY: the caller's promises, and a vector is four octets or more.
    unsafe {
        // The chunk is longer than a vector.
        let x = V::load(chunk.as_ptr());
        let marks = V::zero().or_flaws(x, x.moved(V::last_octets(last.word())));
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
        let behind = Last::new(last_four(chunk.as_ptr().add(len)), 0);
        if behind.ends_with_no_lead() {
            return len - 1;
        }
        let behind = behind.after(*last);
        *last = match (is_beyond, last.is_beyond()) {
            (false, _) => behind,
            (true, false) => behind.beyond(),
            (true, true) => behind.less_beyond(),
        };
        len
    }
}

/// The first flaw in a chunk that is not small and begins with a good vector, or its length if it has none. Says if it
/// met a sequence of four.
///
/// `hope`: is ASCII likely? Only then is it worth the look where in a group the other octets are.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than [`SMALL`].
#[inline(always)]
unsafe fn first_flaw<V: Vector>(chunk: &[u8], mut hope: bool, is_beyond: &mut bool) -> usize {
    let (start, len, group) = (chunk.as_ptr(), chunk.len(), V::GROUP * V::LEN);
    // SAFETY: the features are the caller's promise. Everything before `at` is in the chunk and is good; each call says
    // why what it reads is in the chunk.
    unsafe {
        // To the first aligned place with four octets before it in the chunk, by a vector at 4 if need be.
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
                if is_ascii_group::<V>(start.add(at)) {
                    loop {
                        V::prefetch(start.wrapping_add(at + AHEAD));
                        at += group;
                        if len - at < group || !is_ascii_group::<V>(start.add(at)) {
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
                    let (first, last) = above_ascii::<V>(start.add(at));
                    // The octet behind the last one must be judged too: it may be due to be a continuation.
                    if last - first < V::LEN - 1 {
                        let from = at + first;
                        let mark = first_mark_behind_ascii::<V>(chunk, from);
                        if mark < V::LEN.min(len - from) {
                            return from + mark;
                        }
                        at += group;
                        continue;
                    }
                }
            }
            hope = false;
            *is_beyond |= holds_four(before);
            let stop = at + segment.min((len - at) / group) * group;
            if marks_of_groups::<V>(start, at, stop, *is_beyond).is_marked() {
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
        let is_ascii = hope && is_ascii_group::<V>(start.add(len - group));
        if is_ascii || !marks_of_rest::<V>(chunk, at).is_marked() { len } else { V::locate(chunk, at, len) }
    }
}

/// Are all four octets ASCII?
const fn is_ascii_word(word: u32) -> bool {
    word & 0x8080_8080 == 0
}

/// # Safety
///
/// The CPU has the features; a group at `from` can be read.
#[inline(always)]
unsafe fn is_ascii_group<V: Vector>(from: *const u8) -> bool {
    // SAFETY: as above.
    unsafe {
        let mut any = V::load(from);
        let mut i = 1;
        while i < V::GROUP {
            any = any.or(V::load(from.add(i * V::LEN)));
            i += 1;
        }
        any.is_ascii()
    }
}

/// Where in a group the first and the last octet above `7F` are, of which there is one.
///
/// # Safety
///
/// The CPU has the features; a group at `from` can be read.
#[inline(always)]
unsafe fn above_ascii<V: Vector>(from: *const u8) -> (usize, usize) {
    let words = V::GROUP * V::LEN / 64;
    let mut above = [0; LARGEST_GROUP / 64];
    let (mut first, mut last) = (0, 0);
    let mut i = 0;
    while i < words {
        // SAFETY: as above.
        above[i] = unsafe { V::above_ascii(from.add(64 * i)) };
        i += 1;
    }
    // Without a branch, since any of them may be the one.
    i = 0;
    while i < words {
        if above[i] != 0 {
            last = 64 * i + 63 - above[i].leading_zeros() as usize;
        }
        let back = words - 1 - i;
        if above[back] != 0 {
            first = 64 * back + above[back].trailing_zeros() as usize;
        }
        i += 1;
    }
    (first, last)
}

/// The first mark in the vector at `at`, or behind it, or behind the end of the chunk. The octets before it are ASCII.
///
/// # Safety
///
/// The CPU has the features; `at` is within the chunk, which has four octets or more.
#[inline(always)]
unsafe fn first_mark_behind_ascii<V: Vector>(chunk: &[u8], at: usize) -> usize {
    // SAFETY: as above; what is left of the chunk may be less than a vector.
    unsafe {
        let x =
            if chunk.len() - at < V::LEN { V::load_rest(chunk, at) } else { V::load(chunk.as_ptr().add(at)) };
        V::zero().or_flaws(x, x.moved(V::zero())).first_mark()
    }
}

/// The marks of the groups from `at` to `stop`; of sequences of four only if `is_beyond`.
///
/// # Safety
///
/// The CPU has the features; `stop - at` is a multiple of a group; from three octets before `at` to `stop` memory can
/// be read from `start` on. `is_beyond`, or none of these three octets begins a sequence of four.
#[inline(always)]
unsafe fn marks_of_groups<V: Vector>(start: *const u8, mut at: usize, stop: usize, is_beyond: bool) -> V {
    // SAFETY: as above.
    unsafe {
        let mut marks = V::zero();
        if is_beyond {
            while at < stop {
                let mut i = 0;
                while i < V::GROUP {
                    let from = start.add(at + i * V::LEN);
                    V::prefetch(from.wrapping_add(AHEAD));
                    marks = or_flaws_at(marks, from);
                    i += 1;
                }
                at += V::GROUP * V::LEN;
            }
        } else {
            while at < stop {
                let mut i = 0;
                while i < V::GROUP {
                    let from = start.add(at + i * V::LEN);
                    V::prefetch(from.wrapping_add(AHEAD));
                    marks = or_flaws_in_bmp_at(marks, from);
                    i += 1;
                }
                at += V::GROUP * V::LEN;
            }
        }
        marks
    }
}

/// The marks from `at` to the end of the chunk; the last vector overlaps the one before it.
///
/// # Safety
///
/// The CPU has the features; `at` is within the chunk and has four octets before it; the chunk has two vectors.
#[inline(always)]
unsafe fn marks_of_rest<V: Vector>(chunk: &[u8], mut at: usize) -> V {
    let (start, len) = (chunk.as_ptr(), chunk.len());
    // SAFETY: each vector is in the chunk, with three octets before it.
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
/// The CPU has the features; from `at`, which has four octets or more before it, to `end` are whole vectors, or `end` is
/// the end of the chunk and it has two vectors, or `at` has one before it.
#[inline(always)]
pub(super) unsafe fn locate<V: Vector>(chunk: &[u8], mut at: usize, end: usize) -> usize {
    let start = chunk.as_ptr();
    // SAFETY: each vector that is loaded is in the chunk, and `3 <= at` throughout.
    unsafe {
        while end - at >= 2 * V::LEN {
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
