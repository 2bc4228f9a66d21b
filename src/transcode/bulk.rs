//! The fast path: well-formed input that the target can hold.
//!
//! [`copy`] may stop anywhere between code points, and takes nothing else. What it leaves is read code point by code
//! point, where errors are found.

use super::source::{Item, Source};
use super::target::Target;
use crate::encoding::Encoding;
use crate::kernels::{self, utf16};

/// Bytes that are validated at a time and then read again: they stay in the first-level cache.
const BLOCK: usize = 4 * 1024;

/// Copies from `src` to `dst` while both last: bytes taken and bytes written.
pub(super) fn copy(source: &Source, target: &Target, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let utf_8 = (source.reads_utf_8(), target.writes_utf_8());
    match (utf_8, source.encoding(), target.encoding()) {
        ((true, true), ..) => same(src, dst),
        ((true, _), _, Encoding::Utf16Le) => utf16::encode::<false>(src, dst),
        ((true, _), _, Encoding::Utf16Be) => utf16::encode::<true>(src, dst),
        ((_, true), Encoding::Utf16Le, _) => utf16::decode::<false>(src, dst),
        ((_, true), Encoding::Utf16Be, _) => utf16::decode::<true>(src, dst),
        _ => one_by_one(source, target, src, dst),
    }
}

/// From UTF-8 to UTF-8.
fn same(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let mut done = 0;
    while done < src.len().min(dst.len()) {
        let end = src.len().min(dst.len()).min(done + BLOCK);
        let (text, _) = kernels::prefix(kernels::Boundary::START, &src[done..end]);
        dst[done..done + text.len()].copy_from_slice(text.as_bytes());
        done += text.len();
        if done + 3 < end || text.is_empty() {
            break;
        }
    }
    (done, done)
}

/// Between any encodings: ASCII in blocks, the rest code point by code point.
fn one_by_one(source: &Source, target: &Target, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    loop {
        let (ascii_read, ascii_written) =
            ascii(source.encoding(), target.encoding(), &src[read..], &mut dst[written..]);
        read += ascii_read;
        written += ascii_written;
        // A block is not tried for ASCII again before some code points have passed.
        for _ in 0..BLOCK_UNITS {
            let rest = &src[read..];
            if rest.is_empty() {
                return (read, written);
            }
            let Item::CodePoint { value, len } = source.read(rest) else { return (read, written) };
            let Some(sequence) = target.encode(value) else { return (read, written) };
            let bytes = sequence.as_slice();
            let Some(room) = dst.get_mut(written..written + bytes.len()) else { return (read, written) };
            room.copy_from_slice(bytes);
            read += len;
            written += bytes.len();
        }
    }
}

/// Code units in a block of ASCII.
const BLOCK_UNITS: usize = 16;

/// Copies blocks of ASCII.
fn ascii(from: Encoding, to: Encoding, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let nul = from != Encoding::ModifiedUtf8 && to != Encoding::ModifiedUtf8;
    // (bytes in a unit, the one of them that is ASCII)
    match (unit(from), unit(to)) {
        ((1, _), (1, _)) => blocks::<1, 0, 1, 0>(src, dst, nul),
        ((1, _), (2, 0)) => blocks::<1, 0, 2, 0>(src, dst, nul),
        ((1, _), (2, _)) => blocks::<1, 0, 2, 1>(src, dst, nul),
        ((1, _), (4, 0)) => blocks::<1, 0, 4, 0>(src, dst, nul),
        ((1, _), (_, _)) => blocks::<1, 0, 4, 3>(src, dst, nul),
        ((2, 0), (1, _)) => blocks::<2, 0, 1, 0>(src, dst, nul),
        ((2, 0), (2, 0)) => blocks::<2, 0, 2, 0>(src, dst, nul),
        ((2, 0), (2, _)) => blocks::<2, 0, 2, 1>(src, dst, nul),
        ((2, 0), (4, 0)) => blocks::<2, 0, 4, 0>(src, dst, nul),
        ((2, 0), (_, _)) => blocks::<2, 0, 4, 3>(src, dst, nul),
        ((2, _), (1, _)) => blocks::<2, 1, 1, 0>(src, dst, nul),
        ((2, _), (2, 0)) => blocks::<2, 1, 2, 0>(src, dst, nul),
        ((2, _), (2, _)) => blocks::<2, 1, 2, 1>(src, dst, nul),
        ((2, _), (4, 0)) => blocks::<2, 1, 4, 0>(src, dst, nul),
        ((2, _), (_, _)) => blocks::<2, 1, 4, 3>(src, dst, nul),
        ((_, 0), (1, _)) => blocks::<4, 0, 1, 0>(src, dst, nul),
        ((_, 0), (2, 0)) => blocks::<4, 0, 2, 0>(src, dst, nul),
        ((_, 0), (2, _)) => blocks::<4, 0, 2, 1>(src, dst, nul),
        ((_, 0), (4, 0)) => blocks::<4, 0, 4, 0>(src, dst, nul),
        ((_, 0), (_, _)) => blocks::<4, 0, 4, 3>(src, dst, nul),
        ((_, _), (1, _)) => blocks::<4, 3, 1, 0>(src, dst, nul),
        ((_, _), (2, 0)) => blocks::<4, 3, 2, 0>(src, dst, nul),
        ((_, _), (2, _)) => blocks::<4, 3, 2, 1>(src, dst, nul),
        ((_, _), (4, 0)) => blocks::<4, 3, 4, 0>(src, dst, nul),
        ((_, _), (_, _)) => blocks::<4, 3, 4, 3>(src, dst, nul),
    }
}

/// Bytes in a code unit of an encoding, and which of them holds an ASCII character.
const fn unit(encoding: Encoding) -> (usize, usize) {
    match encoding {
        Encoding::Utf16Le => (2, 0),
        Encoding::Utf16Be => (2, 1),
        Encoding::Utf32Le => (4, 0),
        Encoding::Utf32Be => (4, 3),
        _ => (1, 0),
    }
}

/// Copies whole blocks of ASCII between units of `S` and of `T` bytes, whose ASCII is in byte `AT` and `TO`. `nul`:
/// whether U+0000 is what it is in ASCII.
fn blocks<const S: usize, const AT: usize, const T: usize, const TO: usize>(
    src: &[u8],
    dst: &mut [u8],
    nul: bool,
) -> (usize, usize) {
    let mut blocks = 0;
    for (from, to) in src.chunks_exact(BLOCK_UNITS * S).zip(dst.chunks_exact_mut(BLOCK_UNITS * T)) {
        let mut ascii = [0; BLOCK_UNITS];
        let mut other = 0;
        for (unit, place) in from.chunks_exact(S).zip(&mut ascii) {
            for (i, &byte) in unit.iter().enumerate() {
                other |= if i == AT { byte & 0x80 } else { byte };
            }
            *place = unit[AT];
        }
        if other != 0 || (!nul && ascii.contains(&0)) {
            break;
        }
        for (unit, &byte) in to.chunks_exact_mut(T).zip(&ascii) {
            unit.fill(0);
            unit[TO] = byte;
        }
        blocks += 1;
    }
    (blocks * BLOCK_UNITS * S, blocks * BLOCK_UNITS * T)
}
