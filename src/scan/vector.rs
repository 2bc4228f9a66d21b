//! The one algorithm of the vector kernels, over what they need of a vector.
//!
//! A kernel is an `impl` of [`Vector`] and functions with `#[target_feature]` that call [`take`] and
//! [`bulk::take_large`](super::bulk::take_large). Everything in these two files is `#[inline(always)]`, so that it is
//! compiled inside those functions, with the features that they enable.

use super::last::BEYOND;
use super::{Last, SMALL};

/// A vector of bytes, and the formula of [`twin`](super::twin) on it.
///
/// # Safety of the functions
///
/// All of them need the CPU features of the implementing type; the functions that read memory say what more.
pub(super) trait Vector: Copy {
    /// Bytes in a vector.
    const LEN: usize;
    /// Vectors that the main loop takes at once: an even number.
    const GROUP: usize;

    /// Nothing: no byte above `7F`, no flaw.
    unsafe fn zero() -> Self;

    /// A vector that ends with the last four bytes of the stream.
    unsafe fn last_bytes(last: u32) -> Self;

    /// # Safety
    ///
    /// `LEN` bytes at `from` can be read.
    unsafe fn load(from: *const u8) -> Self;

    /// The bytes of `chunk` from `at` to its end, which are `LEN` or fewer, and zeros. Reads nothing else.
    ///
    /// # Safety
    ///
    /// `at <= chunk.len() <= at + LEN`, and the chunk has four bytes or more.
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self;

    /// `self` moved by one, two and three bytes, with the last of `before` moved in.
    unsafe fn moved(self, before: Self) -> [Self; 3];

    unsafe fn or(self, other: Self) -> Self;

    unsafe fn is_ascii(self) -> bool;

    /// `self`, with a mark at every flaw of `x`.
    unsafe fn or_flaws(self, x: Self, p: [Self; 3]) -> Self;

    /// The same for the Basic Multilingual Plane, with an operation or two and a read less: where no byte of `x` stands
    /// two or three places after a lead of four. The byte that stands one place after is marked, whatever it is.
    unsafe fn or_flaws_in_bmp(self, x: Self, p: [Self; 2]) -> Self;

    /// Is anything marked?
    unsafe fn is_marked(self) -> bool;

    /// The place of the first mark, or `LEN` or more.
    unsafe fn first_mark(self) -> usize;

    /// A bit for each mark.
    #[cfg(test)]
    unsafe fn mark_bits(self) -> u64;

    /// [`bulk::take_large`](super::bulk::take_large), out of line.
    ///
    /// # Safety
    ///
    /// The chunk is longer than a vector.
    unsafe fn take_large(last: &mut Last, chunk: &[u8]) -> usize;

    /// [`bulk::locate`](super::bulk::locate), out of line.
    ///
    /// # Safety
    ///
    /// What that asks for.
    unsafe fn locate(chunk: &[u8], at: usize, end: usize) -> usize;

    /// Says that memory will be read soon. No address is wrong.
    unsafe fn prefetch(from: *const u8);

    /// The same, later.
    unsafe fn prefetch_far(from: *const u8);
}

/// [`Implementation::take`](super::kernel::Implementation::take): what small chunks need, and nothing that would make
/// them save registers.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk has four bytes or more.
#[inline(always)]
pub(super) unsafe fn take<V: Vector>(last: &mut Last, chunk: &[u8]) -> usize {
    let len = chunk.len();
    // SAFETY: the caller's promises. A chunk that is good up to its last byte has one.
    unsafe {
        let mut before = *last;
        let after = Last::new(last_four(chunk.as_ptr().add(len)), 0);
        if len <= V::LEN {
            // The rest from 0 is the whole chunk.
            let x = V::load_rest(chunk, 0);
            if before.is_calm() {
                if x.is_ascii() {
                    *last = after.calm();
                    return len;
                }
                before = before.disappointed();
            }
            let flaw = V::zero().or_flaws(x, x.moved(V::last_bytes(before.word()))).first_mark();
            if flaw < len {
                return flaw;
            }
            if after.ends_with_no_lead() {
                return len - 1;
            }
            *last = after.with_history_of(before);
            return len;
        }
        if !(V::LEN + 3..=SMALL).contains(&len) {
            return V::take_large(last, chunk);
        }
        if before.is_calm() {
            if is_ascii::<V>(chunk) {
                *last = after.calm();
                return len;
            }
            before = before.disappointed();
        }
        if small_marks::<V>(before, chunk).is_marked() {
            // What is marked is looked at again there.
            return V::take_large(last, chunk);
        }
        if after.ends_with_no_lead() {
            return len - 1;
        }
        let after = after.with_history_of(before);
        *last = if before.is_beyond() { after.less_beyond() } else { after };
        len
    }
}

/// [`Implementation::is_text`](super::kernel::Implementation::is_text). The zeros after the end of a short one are not
/// what an unfinished sequence is due to be followed by, so that nobody need look for one.
///
/// # Safety
///
/// The CPU has the features of `V`, and there are four bytes or more.
#[inline(always)]
pub(super) unsafe fn is_text<V: Vector>(bytes: &[u8]) -> bool {
    let len = bytes.len();
    // SAFETY: the caller's promises; a rest is a vector or less.
    unsafe {
        if len < V::LEN {
            let x = V::load_rest(bytes, 0);
            return x.is_ascii() || !V::zero().or_flaws(x, x.moved(V::zero())).is_marked();
        }
        if len < 2 * V::LEN {
            let (x, y) = (V::load(bytes.as_ptr()), V::load_rest(bytes, V::LEN));
            let marks = || V::zero().or_flaws(x, x.moved(V::zero())).or_flaws(y, y.moved(x));
            return x.or(y).is_ascii() || !marks().is_marked();
        }
        let mut last = Last::before(len);
        take::<V>(&mut last, bytes) == len && last.is_boundary()
    }
}

/// The marks of all vectors of a chunk; the last one overlaps the one before it.
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than a vector by three bytes or more.
#[inline(always)]
unsafe fn small_marks<V: Vector>(last: Last, chunk: &[u8]) -> V {
    let (start, len) = (chunk.as_ptr(), chunk.len());
    // SAFETY: `LEN` bytes from `at`, and three before it, are in the chunk, and so are the last `LEN` bytes, and
    // three before them.
    unsafe {
        let x = V::load(start);
        let [p1, p2, p3] = x.moved(V::last_bytes(last.word()));
        let mut at = V::LEN;
        if last.is_beyond() {
            let mut marks = V::zero().or_flaws(x, [p1, p2, p3]);
            while at < len - V::LEN {
                marks = or_flaws_at(marks, start.add(at));
                at += V::LEN;
            }
            or_flaws_at(marks, start.add(len - V::LEN))
        } else {
            let mut marks = V::zero().or_flaws_in_bmp(x, [p1, p2]);
            while at < len - V::LEN {
                marks = or_flaws_in_bmp_at(marks, start.add(at));
                at += V::LEN;
            }
            or_flaws_in_bmp_at(marks, start.add(len - V::LEN))
        }
    }
}

/// # Safety
///
/// The CPU has the features; from three bytes before `from` to `LEN` after it memory can be read.
#[inline(always)]
pub(super) unsafe fn or_flaws_at<V: Vector>(marks: V, from: *const u8) -> V {
    // SAFETY: as above. To read the same bytes again at other places is faster than to move them in registers.
    unsafe {
        marks.or_flaws(V::load(from), [V::load(from.sub(1)), V::load(from.sub(2)), V::load(from.sub(3))])
    }
}

/// # Safety
///
/// The CPU has the features; from two bytes before `from` to `LEN` after it memory can be read.
#[inline(always)]
pub(super) unsafe fn or_flaws_in_bmp_at<V: Vector>(marks: V, from: *const u8) -> V {
    // SAFETY: as above.
    unsafe { marks.or_flaws_in_bmp(V::load(from), [V::load(from.sub(1)), V::load(from.sub(2))]) }
}

/// Is a whole small chunk ASCII?
///
/// # Safety
///
/// The CPU has the features of `V`, and the chunk is longer than a vector.
#[inline(always)]
unsafe fn is_ascii<V: Vector>(chunk: &[u8]) -> bool {
    let (start, len) = (chunk.as_ptr(), chunk.len());
    // SAFETY: vectors are read from `at <= len - LEN` only, the last one from there, where it may overlap.
    unsafe {
        let mut any = V::load(start.add(len - V::LEN));
        let mut at = 0;
        while at < len - V::LEN {
            any = any.or(V::load(start.add(at)));
            at += V::LEN;
        }
        any.is_ascii()
    }
}

/// The most significant byte is the last one before `at`.
///
/// # Safety
///
/// Four bytes before `at` can be read.
#[inline(always)]
pub(super) unsafe fn last_four(at: *const u8) -> u32 {
    // SAFETY: as above.
    u32::from_le_bytes(unsafe { at.sub(4).cast::<[u8; 4]>().read() })
}

/// The half of the guess that only vector kernels make.
impl Last {
    /// Is the next chunk judged as one that may have sequences of four? It must be if one of the last three bytes
    /// begins such a sequence: the formula for the others would not know that a byte is due.
    #[inline]
    pub(super) const fn is_beyond(self) -> bool {
        self.guess() > 0xFFFF || holds_four(self.word())
    }

    /// After a chunk with a sequence of four.
    #[inline]
    pub(super) const fn beyond(self) -> Self {
        Self::new(self.word(), self.guess() & 0xFFFF | BEYOND)
    }

    /// After another chunk that was judged as one that may have sequences of four.
    #[inline]
    pub(super) const fn less_beyond(self) -> Self {
        let guess = self.guess();
        Self::new(self.word(), if guess >= A_CHUNK { guess - A_CHUNK } else { guess })
    }
}

/// Does one of the last three bytes begin a sequence of four (or is it a byte that is never a lead)?
#[inline]
pub(super) const fn holds_four(last: u32) -> bool {
    // Bit 7 of each byte of `two`: are its first two bits set? Then the same of the first four.
    let two = last & last << 1;
    two & two << 2 & 0x8080_8000 != 0
}

const A_CHUNK: u32 = 1 << 16;
