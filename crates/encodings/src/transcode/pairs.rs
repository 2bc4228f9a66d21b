//! The fast path between UTF-8 and the encodings with surrogate pairs of 6 bytes: CESU-8 and Modified UTF-8.
//!
//! Both differ from UTF-8 only in supplementary characters and, in Modified UTF-8 (`MODIFIED`), in U+0000, which is `C0
//! 80`. Everything else is copied. A `LENIENT` source also has `00` and sequences of 4 bytes. Validation is always done
//! on UTF-8: on the input of [`split`], and on the output of [`join`], or on its input while that has no pairs.
//!
//! Validating the output is sufficient for the following reason. Assume that no byte of the input is `F0` or above, and
//! that each `ED A0..AF xx ED B0..BF xx` is replaced by the 4 bytes of its character. If such a pair starts at a
//! character boundary in CESU-8, it does so in UTF-8. If it is inside an unfinished sequence, both are ill-formed. A
//! surrogate that is not replaced is ill-formed in UTF-8. So the output is well-formed UTF-8 if and only if the input
//! is well-formed CESU-8.
//!
//! The vector code of a kernel copies text up to the first character that differs, and finds the positions of these
//! characters.

use kernels::ascii::{AsciiCopy, copy_bmp};
use kernels::class_search::{self, Class};
use kernels::copy::copy_in_pieces;
use kernels::{AtBoundary, TextEnd};

/// The size of a block. It is small enough to be read again from the L1 cache.
const BLOCK: usize = 4 * 1024;
/// The size of the first block. It is small, because an error in the first bytes makes all of the work on the block
/// useless.
const FIRST_BLOCK: usize = 64;

/// Converts UTF-8 to an encoding with pairs, up to an ill-formed sequence. Returns the number of bytes read and the
/// number of bytes written.
pub(super) fn split<const MODIFIED: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    let mut ascii = AsciiCopy::NEW;
    loop {
        let same = copy_ascii::<MODIFIED>(&mut ascii, &src[read..], &mut dst[written..]);
        read += same;
        written += same;
        // The output is at most twice as long as the input: 4 bytes become 6, and in Modified UTF-8 the byte `00`
        // becomes 2.
        let len = (src.len() - read).min((dst.len() - written) / 2).min(BLOCK);
        let (text, _) = kernels::prefix(AtBoundary::START, &src[read..read + len]);
        if text.is_empty() {
            return (read, written);
        }
        written += split_text::<MODIFIED>(text, &mut dst[written..]);
        read += text.len();
        if text.len() + 3 < len {
            return (read, written);
        }
    }
}

/// Copies the ASCII at the start of the input. It is the same in both encodings, except `00` in Modified UTF-8. Returns
/// the number of bytes copied, which may be less than possible.
#[inline]
fn copy_ascii<const MODIFIED: bool>(ascii: &mut AsciiCopy, src: &[u8], dst: &mut [u8]) -> usize {
    if MODIFIED { ascii.run::<false>(src, dst) } else { ascii.run::<true>(src, dst) }
}

/// Copies well-formed text and converts the characters that differ. `room` is twice as long as the text. Returns the
/// number of bytes written.
// Inlined into one function with all other conversions, its loop would have too few registers.
#[inline(never)]
fn split_text<const MODIFIED: bool>(text: &str, room: &mut [u8]) -> usize {
    let same = copy_same::<MODIFIED>(text, room);
    let text = &text.as_bytes()[same..];
    let mut copy = Copy { src: text, dst: &mut room[same..], read: 0, written: 0 };
    let class = if MODIFIED { &SUPPLEMENTARY_OR_NUL } else { &SUPPLEMENTARY };
    class_search::each(text, class, |at| {
        copy.up_to(at)
            && match text[at..] {
                [a, b, c, d, ..] if a != 0 => copy.replace(4, pair_of([a, b, c, d])),
                _ => copy.replace(1, [0xC0, 0x80]),
            }
    });
    copy.up_to(text.len());
    same + copy.written
}

/// Copies text up to a character that differs, or to a byte before it, which may be inside a character. Returns the number
/// of bytes copied, which may be less than possible.
fn copy_same<const MODIFIED: bool>(text: &str, room: &mut [u8]) -> usize {
    if MODIFIED { copy_bmp::<false>(text, room) } else { copy_bmp::<true>(text, room) }
}

/// The characters that are converted from UTF-8.
const SUPPLEMENTARY: Class = Class::EMPTY.with_leads(0xF0, 0xFF);
const SUPPLEMENTARY_OR_NUL: Class = SUPPLEMENTARY.with_ascii(0, 0);
/// The bytes that are converted to UTF-8, or that the encoding does not have.
const PAIRS: Class = SUPPLEMENTARY.with_leads(0xED, 0xED);
const PAIRS_AND_NUL: Class = PAIRS.with_ascii(0, 0).with_leads(0xC0, 0xC0);
const PAIRS_AND_NUL_LENIENT: Class = Class::EMPTY.with_leads(0xED, 0xED).with_leads(0xC0, 0xC0);

/// Copies from one slice to another with replacements.
struct Copy<'s, 'd> {
    src: &'s [u8],
    dst: &'d mut [u8],
    read: usize,
    written: usize,
}

impl Copy<'_, '_> {
    /// Copies up to a position. Bytes after it may be overwritten. Returns whether all bytes fit.
    #[inline(always)]
    fn up_to(&mut self, position: usize) -> bool {
        const LEN: usize = 16;
        let len = position - self.read;
        if len <= LEN
            && let Some(from) = self.src.get(self.read..).and_then(|rest| rest.first_chunk::<LEN>())
            && let Some(to) = self.dst.get_mut(self.written..).and_then(|rest| rest.first_chunk_mut())
        {
            // A copy of fixed length is faster than a copy of `len` bytes.
            *to = *from;
        } else if let Some(to) = self.dst.get_mut(self.written..self.written + len) {
            copy_in_pieces(&self.src[self.read..position], to);
        } else {
            return self.fill();
        }
        self.read += len;
        self.written += len;
        true
    }

    /// Copies as many bytes as fit.
    #[cold]
    fn fill(&mut self) -> bool {
        let len = self.dst.len() - self.written;
        self.dst[self.written..].copy_from_slice(&self.src[self.read..self.read + len]);
        self.read += len;
        self.written += len;
        false
    }

    /// Writes `bytes` for the next `read` bytes of the source. Returns whether they fit.
    #[inline(always)]
    fn replace<const N: usize>(&mut self, read: usize, bytes: [u8; N]) -> bool {
        let Some(to) = self.dst.get_mut(self.written..).and_then(|rest| rest.first_chunk_mut()) else {
            return false;
        };
        *to = bytes;
        self.read += read;
        self.written += N;
        true
    }
}

/// Returns the surrogate pair, in 6 bytes, of a sequence of 4 bytes.
#[inline]
const fn pair_of([a, b, c, d]: [u8; 4]) -> [u8; 6] {
    // Each surrogate has 10 bits of the value minus 10000. The 5 highest bits of the value are in the first two bytes.
    let plane = (((a & 0x07) << 2) | ((b >> 4) & 0x03)).wrapping_sub(1);
    [0xED, 0xA0 | plane & 0x0F, 0x80 | (b & 0x0F) << 2 | c >> 4 & 0x03, 0xED, 0xB0 | c & 0x0F, d]
}

/// Returns the sequence of 4 bytes of a surrogate pair in 6 bytes.
#[inline]
const fn joined([_, b, c, _, e, f]: [u8; 6]) -> [u8; 4] {
    let plane = (b & 0x0F) + 1;
    [0xF0 | plane >> 2, 0x80 | (plane & 0x03) << 4 | c >> 2 & 0x0F, 0x80 | (c & 0x03) << 4 | e & 0x0F, f]
}

/// Converts an encoding with pairs to UTF-8, up to an ill-formed sequence. Returns the number of bytes read and the
/// number of bytes written.
pub(super) fn join<const MODIFIED: bool, const LENIENT: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    let mut block = FIRST_BLOCK;
    // Whether the next block is expected to have no pair. Then the input is validated before it is copied, which is
    // faster than to validate the output after it.
    let mut is_same = true;
    let mut ascii = AsciiCopy::NEW;
    loop {
        if is_same {
            let same = copy_ascii::<MODIFIED>(&mut ascii, &src[read..], &mut dst[written..]);
            read += same;
            written += same;
        }
        // The output is never longer than the input.
        let len = (src.len() - read).min(dst.len() - written).min(block);
        let from = &src[read..read + len];
        if is_same {
            let (text, _) = kernels::prefix(AtBoundary::START, from);
            let (taken, made) = join_text::<MODIFIED, LENIENT>(text, &mut dst[written..]);
            read += taken;
            written += made;
            if taken < text.len() {
                return (read, written);
            }
            // If more than an unfinished sequence is left, it starts with a pair, or it is ill-formed.
            is_same = text.len() + 3 >= len && !text.is_empty();
            if is_same {
                block = BLOCK.min(4 * block);
            }
            continue;
        }
        let (taken, made) = join_bytes::<MODIFIED, LENIENT>(from, &mut dst[written..written + len]);
        let to = &mut dst[written..written + made];
        let (text, end) = kernels::prefix(AtBoundary::START, to);
        let good = text.len();
        if let TextEnd::IllFormed(_) = end {
            // Convert the input again, up to the end of the well-formed output.
            let (taken, made) = join_bytes::<MODIFIED, LENIENT>(from, &mut to[..good]);
            return (read + taken, written + made);
        }
        // The bytes of an unfinished sequence were copied.
        read += taken - (made - good);
        written += good;
        if good == 0 || taken + 6 < len {
            return (read, written);
        }
        is_same = taken == made;
        block = BLOCK.min(4 * block);
    }
}

/// [`join_bytes`] of UTF-8. The result is well-formed, because no pair is. `room` is as long as the text.
fn join_text<const MODIFIED: bool, const LENIENT: bool>(text: &str, room: &mut [u8]) -> (usize, usize) {
    if MODIFIED && LENIENT {
        // Everything is well-formed.
        copy_in_pieces(text.as_bytes(), &mut room[..text.len()]);
        return (text.len(), text.len());
    }
    let same = copy_same::<MODIFIED>(text, room);
    let (taken, made) = join_bytes::<MODIFIED, LENIENT>(&text.as_bytes()[same..], &mut room[same..]);
    (same + taken, same + made)
}

/// Copies bytes and converts those that differ. Stops at the first byte that is always ill-formed at its position, and
/// at an unfinished pair. The result may be ill-formed. Returns the number of bytes read and the number of bytes
/// written.
// Not inlined, for the same reason as `split_text`.
#[inline(never)]
fn join_bytes<const MODIFIED: bool, const LENIENT: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let class = match (MODIFIED, LENIENT) {
        (false, _) => &PAIRS,
        (true, false) => &PAIRS_AND_NUL,
        (true, true) => &PAIRS_AND_NUL_LENIENT,
    };
    let mut copy = Copy { src, dst, read: 0, written: 0 };
    let is_all = class_search::each(src, class, |at| {
        if at < copy.read {
            // This is the second half of a pair.
            return true;
        }
        copy.up_to(at)
            && match src[at..] {
                [0xED, b @ 0xA0..=0xAF, c @ 0x80..=0xBF, 0xED, e @ 0xB0..=0xBF, f @ 0x80..=0xBF, ..] => {
                    copy.replace(6, joined([0xED, b, c, 0xED, e, f]))
                }
                [0xED, 0x80..=0x9F, ..] => copy.up_to(at + 1),
                [0xC0, 0x80, ..] if MODIFIED => copy.replace(2, [0]),
                _ => false,
            }
    });
    if is_all {
        copy.up_to(src.len());
    }
    (copy.read, copy.written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::dialects;

    #[test]
    fn every_supplementary_character_is_a_pair_of_sequences_of_3_bytes() {
        for value in 0x1_0000..=0x10_FFFF_u32 {
            let mut four = [0; 6];
            assert_eq!(dialects::encode(value, &mut four), 4);
            let four = [four[0], four[1], four[2], four[3]];
            let rest = value - 0x1_0000;
            let mut six = [0; 6];
            for (half, unit) in [0xD800 | rest >> 10, 0xDC00 | rest & 0x3FF].into_iter().enumerate() {
                let mut sequence = [0; 6];
                assert_eq!(dialects::encode(unit, &mut sequence), 3);
                six[3 * half..3 * half + 3].copy_from_slice(&sequence[..3]);
            }
            assert_eq!((pair_of(four), joined(six)), (six, four), "{value:X}");
        }
    }
}
