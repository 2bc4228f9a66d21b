//! Conversions between encodings without sequences: ISO 8859-1, windows-1252, UTF-16 and UTF-32.
//!
//! The loops have no branch for a single character, so that the compiler uses vectors. What a block has is a `bool`, because
//! masks are combined in fewer instructions than values. The loops are inlined into the functions of each kernel, and compiled
//! there with its instructions: [`units`].

use core::ops::BitXor;

use super::latin::windows_1252_byte;
use super::utf16::order;
use crate::encoding::windows_1252;
use crate::kernels::functions::Units;

/// The number of characters that are converted at once.
const BLOCK: usize = 64;

/// The length of the longest vectors. The output is aligned to it.
const ALIGNMENT: usize = 64;

/// The UTF-16 code unit of each byte of windows-1252.
pub(in crate::kernels) static WINDOWS_1252: [u16; 256] = {
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

/// Whether a byte is one of `80..=9F`.
#[inline(always)]
fn has_c1(bytes: &[u8; BLOCK]) -> bool {
    bytes.iter().fold(false, |any, byte| any | (byte ^ 0x80 < 0x20))
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
    let head = output.as_ptr().align_offset(ALIGNMENT);
    let head = if head < ALIGNMENT { head.min(count) } else { 0 };
    let ((start, input), (room, output)) = (input.split_at(head), output.split_at_mut(head));
    encode_each(start, room);
    let (blocks, rest) = input.as_chunks::<BLOCK>();
    let (rooms, room) = output.as_chunks_mut::<BLOCK>();
    for (block, room) in blocks.iter().zip(rooms) {
        if WINDOWS && has_c1(block) {
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
    T: Copy + Ord + BitXor<Output = T> + From<u8> + Into<u32>,
{
    let (input, _) = input.as_chunks::<N>();
    let mut done = 0;
    while let Some(block) = input[done..].first_chunk::<BLOCK>()
        && let Some(room) = output[done..].first_chunk_mut::<BLOCK>()
    {
        let mut any = false;
        for (bytes, room) in block.iter().zip(room) {
            let unit = decode(*bytes);
            // In windows-1252 the bytes `80..=9F` are other characters.
            any |= (unit > T::from(0xFF)) | (WINDOWS & (unit ^ T::from(0x80) < T::from(0x20)));
            *room = unit.into() as u8;
        }
        if !any {
            done += BLOCK;
            continue;
        }
        // Converts one character by itself. Those before it are written.
        let is_other = |bytes: &[u8; N]| !matches!(decode(*bytes).into(), 0..0x80 | 0xA0..=0xFF);
        done += block.iter().position(is_other).unwrap_or(0);
        match byte_of::<WINDOWS>(decode(input[done]).into()) {
            Some(byte) => output[done] = byte,
            None => return (done * N, done),
        }
        done += 1;
    }
    for (bytes, room) in input[done..].iter().zip(&mut output[done..]) {
        let Some(byte) = byte_of::<WINDOWS>(decode(*bytes).into()) else { break };
        *room = byte;
        done += 1;
    }
    (done * N, done)
}

/// Returns the byte of a character, or `None` if the encoding does not have it.
fn byte_of<const WINDOWS: bool>(value: u32) -> Option<u8> {
    match value {
        0..0x80 => Some(value as u8),
        _ if WINDOWS => windows_1252_byte(value),
        _ => u8::try_from(value).ok(),
    }
}

/// Reads ASCII and writes UTF-32, in blocks, up to the first block with another byte. Returns the number of bytes read and
/// the number of bytes written.
#[inline(always)]
pub(in crate::kernels) fn ascii_to_utf32<const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (blocks, _) = input.as_chunks::<BLOCK>();
    let (rooms, _) = output.as_chunks_mut::<{ 4 * BLOCK }>();
    let mut read = 0;
    for (block, room) in blocks.iter().zip(rooms) {
        if block.iter().fold(false, |any, byte| any | !byte.is_ascii()) {
            break;
        }
        for (unit, &byte) in room.as_chunks_mut().0.iter_mut().zip(block) {
            *unit = order_32::<BIG_ENDIAN>(byte.into());
        }
        read += BLOCK;
    }
    (read, 4 * read)
}

/// Reads UTF-16 and writes UTF-32 while there is output space, up to an unpaired surrogate. Returns the number of bytes
/// read and the number of bytes written.
#[inline(always)]
pub(in crate::kernels) fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (units, _) = input.as_chunks::<2>();
    let (room, _) = output.as_chunks_mut::<4>();
    let (mut read, mut written) = (0, 0);
    loop {
        let (blocks, _) = units[read..].as_chunks::<BLOCK>();
        let (rooms, _) = room[written..].as_chunks_mut::<BLOCK>();
        let mut same = 0;
        for (block, room) in blocks.iter().zip(rooms) {
            let mut any = false;
            for (room, bytes) in room.iter_mut().zip(block) {
                let unit = unit::<FROM_BIG_ENDIAN>(*bytes);
                any |= unit & 0xF800 == 0xD800;
                *room = order_32::<BIG_ENDIAN>(unit.into());
            }
            if any {
                break;
            }
            same += BLOCK;
        }
        read += same;
        written += same;
        for _ in 0..BLOCK {
            let (Some(bytes), Some(room)) = (units.get(read), room.get_mut(written)) else {
                return (2 * read, 4 * written);
            };
            let first = u32::from(unit::<FROM_BIG_ENDIAN>(*bytes));
            let second = units.get(read + 1).map_or(0, |bytes| u32::from(unit::<FROM_BIG_ENDIAN>(*bytes)));
            let is_pair = first & 0xF800 == 0xD800;
            if is_pair && (first >= 0xDC00 || second & 0xFC00 != 0xDC00) {
                return (2 * read, 4 * written);
            }
            // No branch for each character.
            let pair = 0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF);
            *room = order_32::<BIG_ENDIAN>(if is_pair { pair } else { first });
            read += 1 + usize::from(is_pair);
            written += 1;
        }
    }
}

/// Reads UTF-32 and writes UTF-16 while there is output space, up to a value that is not a scalar value. Returns the
/// number of bytes read and the number of bytes written.
#[inline(always)]
pub(in crate::kernels) fn to_utf16<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (units, _) = input.as_chunks::<4>();
    let (room, _) = output.as_chunks_mut::<2>();
    let (mut read, mut written) = (0, 0);
    loop {
        let (blocks, _) = units[read..].as_chunks::<BLOCK>();
        let (rooms, _) = room[written..].as_chunks_mut::<BLOCK>();
        let mut same = 0;
        for (block, room) in blocks.iter().zip(rooms) {
            let mut any = false;
            for (room, bytes) in room.iter_mut().zip(block) {
                let value = value::<BIG_ENDIAN>(*bytes);
                any |= (value > 0xFFFF) | (value & 0xF800 == 0xD800);
                *room = order::<TO_BIG_ENDIAN>(value as u16);
            }
            if any {
                break;
            }
            same += BLOCK;
        }
        read += same;
        written += same;
        for _ in 0..BLOCK {
            let character = units.get(read).and_then(|bytes| char::from_u32(value::<BIG_ENDIAN>(*bytes)));
            let Some(value) = character.map(u32::from) else { return (4 * read, 2 * written) };
            // No branch for each character: the second unit is always written, if there is room.
            let is_pair = value > 0xFFFF;
            let rest = value.wrapping_sub(0x1_0000);
            let first = if is_pair { 0xD800 | rest >> 10 } else { value } as u16;
            let second = 0xDC00 | rest as u16 & 0x3FF;
            match &mut room[written..] {
                [one, two, ..] => {
                    *one = order::<TO_BIG_ENDIAN>(first);
                    *two = order::<TO_BIG_ENDIAN>(second);
                }
                [one] if !is_pair => *one = order::<TO_BIG_ENDIAN>(first),
                _ => return (4 * read, 2 * written),
            }
            read += 1;
            written += 1 + usize::from(is_pair);
        }
    }
}

const fn order_32<const BIG_ENDIAN: bool>(value: u32) -> [u8; 4] {
    if BIG_ENDIAN { value.to_be_bytes() } else { value.to_le_bytes() }
}

const fn value<const BIG_ENDIAN: bool>(bytes: [u8; 4]) -> u32 {
    if BIG_ENDIAN { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

const fn unit<const BIG_ENDIAN: bool>(bytes: [u8; 2]) -> u16 {
    if BIG_ENDIAN { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

/// Returns a function with each value of its last two parameters.
macro_rules! four {
    ($name:ident $(, $parameter:literal)?) => {
        [
            $name::<$($parameter,)? false, false>,
            $name::<$($parameter,)? false, true>,
            $name::<$($parameter,)? true, false>,
            $name::<$($parameter,)? true, true>,
        ]
    };
}
pub(in crate::kernels) use four;

/// Compiles the loops with target features, and returns them as [`Units`].
macro_rules! units {
    ($($features:literal)?) => {{
        use $crate::kernels::arch::portable::units;

        $(#[target_feature(enable = $features)])?
        fn widen<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
            input: &[u8],
            output: &mut [u8],
        ) -> (usize, usize) {
            units::widen::<WINDOWS, WIDE, BIG_ENDIAN>(input, output)
        }

        $(#[target_feature(enable = $features)])?
        fn narrow<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
            input: &[u8],
            output: &mut [u8],
        ) -> (usize, usize) {
            units::narrow::<WINDOWS, WIDE, BIG_ENDIAN>(input, output)
        }

        $(#[target_feature(enable = $features)])?
        fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
            input: &[u8],
            output: &mut [u8],
        ) -> (usize, usize) {
            units::from_utf16::<FROM_BIG_ENDIAN, BIG_ENDIAN>(input, output)
        }

        $(#[target_feature(enable = $features)])?
        fn to_utf16<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
            input: &[u8],
            output: &mut [u8],
        ) -> (usize, usize) {
            units::to_utf16::<BIG_ENDIAN, TO_BIG_ENDIAN>(input, output)
        }

        $(#[target_feature(enable = $features)])?
        fn ascii_to_utf32<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
            units::ascii_to_utf32::<BIG_ENDIAN>(input, output)
        }

        Units {
            widen: [units::four!(widen, false), units::four!(widen, true)],
            narrow: [units::four!(narrow, false), units::four!(narrow, true)],
            from_utf16: units::four!(from_utf16),
            to_utf16: units::four!(to_utf16),
            ascii_to_utf32: [ascii_to_utf32::<false>, ascii_to_utf32::<true>],
        }
    }};
}
#[cfg(utf8_codec_vectors = "x86_64")]
pub(in crate::kernels) use units;

/// The functions compiled without instructions that the target may not have.
pub(in crate::kernels) static UNITS: Units = units!();
