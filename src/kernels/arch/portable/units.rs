//! Conversions between encodings of one byte per character (ISO 8859-1, windows-1252) and code units of UTF-16 or
//! UTF-32.
//!
//! The loops have no branch for a single character, so that the compiler uses vectors. They are inlined into the
//! functions of each kernel, and compiled there with its instructions.

use core::ops::BitOrAssign;

use super::latin::windows_1252_byte;
use super::utf16::order;
use super::utf32::{order_32, unit, value};
use crate::encoding::windows_1252;
use crate::kernels::functions::{Units, units};

/// The number of characters that are converted at once.
const BLOCK: usize = 32;

/// The UTF-16 code unit of each byte of windows-1252.
static WINDOWS_1252: [u16; 256] = {
    let mut units = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        units[byte] = windows_1252(byte as u8) as u16;
        byte += 1;
    }
    units
};

/// Reads single bytes and writes UTF-16, or UTF-32 if `WIDE`, while there is input and output space. Returns the number
/// of bytes read and the number of bytes written.
#[inline(always)]
pub(in crate::kernels) fn widen<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    if WIDE {
        widen_to::<WINDOWS, 4>(input, output, |unit| order_32::<BIG_ENDIAN>(unit.into()))
    } else {
        widen_to::<WINDOWS, 2>(input, output, order::<BIG_ENDIAN>)
    }
}

#[inline(always)]
fn widen_to<const WINDOWS: bool, const N: usize>(
    input: &[u8],
    output: &mut [u8],
    encode: impl Fn(u16) -> [u8; N],
) -> (usize, usize) {
    let (output, _) = output.as_chunks_mut::<N>();
    let count = input.len().min(output.len());
    let (input, output) = (&input[..count], &mut output[..count]);
    let encode_each = |input: &[u8], output: &mut [[u8; N]]| {
        for (byte, room) in input.iter().zip(output) {
            *room = encode(if WINDOWS { WINDOWS_1252[usize::from(*byte)] } else { (*byte).into() });
        }
    };
    // The output is aligned first, so that fewer stores cross cache lines.
    let head = output.as_ptr().align_offset(BLOCK);
    let head = if head < BLOCK { head.min(count) } else { 0 };
    let ((start, input), (room, output)) = (input.split_at(head), output.split_at_mut(head));
    encode_each(start, room);
    let (blocks, rest) = input.as_chunks::<BLOCK>();
    let (rooms, room) = output.as_chunks_mut::<BLOCK>();
    for (block, room) in blocks.iter().zip(rooms) {
        if WINDOWS && block.iter().fold(false, |any, byte| any | (byte & 0xE0 == 0x80)) {
            encode_each(block, room);
        } else {
            for (byte, room) in block.iter().zip(room) {
                *room = encode((*byte).into());
            }
        }
    }
    encode_each(rest, room);
    (count, count * N)
}

/// Reads UTF-16, or UTF-32 if `WIDE`, and writes single bytes while there is input and output space. Stops at a
/// character that the encoding does not have, and at ill-formed input. Returns the number of bytes read and the number
/// of bytes written. Output after them may be overwritten.
#[inline(always)]
pub(in crate::kernels) fn narrow<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    if WIDE {
        narrow_from::<WINDOWS, 4, u32>(input, output, value::<BIG_ENDIAN>)
    } else {
        narrow_from::<WINDOWS, 2, u16>(input, output, unit::<BIG_ENDIAN>)
    }
}

#[inline(always)]
fn narrow_from<const WINDOWS: bool, const N: usize, T>(
    input: &[u8],
    output: &mut [u8],
    decode: impl Fn([u8; N]) -> T,
) -> (usize, usize)
where
    T: Copy + Default + BitOrAssign + Into<u32>,
{
    let (input, _) = input.as_chunks::<N>();
    let (blocks, _) = input.as_chunks::<BLOCK>();
    let mut done = 0;
    while let Some(block) = blocks.get(done / BLOCK)
        && let Some(room) = output[done..].first_chunk_mut::<BLOCK>()
    {
        let (mut any, mut is_c1) = (T::default(), false);
        for (bytes, room) in block.iter().zip(room) {
            let unit = decode(*bytes);
            let byte = unit.into() as u8;
            any |= unit;
            is_c1 |= byte & 0xE0 == 0x80;
            *room = byte;
        }
        if any.into() > 0xFF || WINDOWS && is_c1 {
            let converted = narrow_each::<WINDOWS, _>(block.map(&decode), &mut output[done..]);
            if converted < BLOCK {
                return ((done + converted) * N, done + converted);
            }
        }
        done += BLOCK;
    }
    let rest = input[done..].iter().map(|bytes| decode(*bytes));
    done += narrow_each::<WINDOWS, _>(rest, &mut output[done..]);
    (done * N, done)
}

/// Writes the bytes of characters while there is space, up to one that the encoding does not have. Returns the number
/// of characters.
fn narrow_each<const WINDOWS: bool, T: Into<u32>>(
    characters: impl IntoIterator<Item = T>,
    output: &mut [u8],
) -> usize {
    let mut count = 0;
    for (value, room) in characters.into_iter().map(Into::into).zip(output) {
        let byte = match value {
            0..0x80 => Some(value as u8),
            _ if WINDOWS => windows_1252_byte(value),
            _ => u8::try_from(value).ok(),
        };
        let Some(byte) = byte else { break };
        *room = byte;
        count += 1;
    }
    count
}

/// The functions compiled without instructions that the target may not have.
pub(in crate::kernels) static UNITS: Units = units!(widen, narrow);
