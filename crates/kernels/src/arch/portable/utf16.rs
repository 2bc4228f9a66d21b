//! UTF-16 conversions on every target, with ASCII in blocks. They also convert the rest of the input after the vector
//! code of a kernel.

use crate::as_chunks::{as_chunks, as_chunks_mut};

/// The number of code units that are tested for ASCII at once.
const BLOCK: usize = 16;

/// The number of bytes that are tested for ASCII and then widened at once, enough for the compiler to use vectors.
const ASCII_BLOCK: usize = 128;

/// Reads UTF-8 and writes UTF-16, up to an ill-formed or unfinished sequence. Returns the number of bytes read and the
/// number of bytes written.
///
/// # Safety
///
/// `output` has 2 bytes for each byte of `input`.
pub(crate) unsafe fn encode_portable<const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= input.len());
    let mut written = 0;
    let mut rest = input;
    while let Some(lead) = rest.first() {
        if lead.is_ascii() {
            let start = rest.len();
            while let Some((block, after)) = rest.split_first_chunk::<8>() {
                if u64::from_ne_bytes(*block) & 0x8080_8080_8080_8080 != 0 {
                    break;
                }
                // SAFETY: the output has 2 bytes for each byte of the block and for each byte before it.
                unsafe { put(output, &mut written, block.map(|byte| order::<BIG_ENDIAN>(byte.into()))) };
                rest = after;
                if start - rest.len() >= 2 * BLOCK {
                    // More ASCII is likely.
                    let read = encode_ascii::<BIG_ENDIAN>(rest, &mut output[written..]);
                    rest = &rest[read..];
                    written += 2 * read;
                }
            }
            while let [byte @ 0..0x80, after @ ..] = rest {
                // SAFETY: the output has 2 bytes for this byte and for each byte before it.
                unsafe { put(output, &mut written, [order::<BIG_ENDIAN>((*byte).into())]) };
                rest = after;
            }
            continue;
        }
        if let [0xC2..0xE0, second @ 0x80..0xC0, after @ ..] = rest {
            let unit = u16::from(lead & 0x1F) << 6 | u16::from(second & 0x3F);
            // SAFETY: the output has 4 bytes for this sequence and 2 for each byte before it.
            unsafe { put(output, &mut written, [order::<BIG_ENDIAN>(unit)]) };
            rest = after;
            continue;
        }
        // The first byte is the least significant. Bytes after the end of the input are 0, which is not a continuation
        // byte.
        let word = rest.first_chunk().map_or_else(|| end(rest), |bytes| u32::from_le_bytes(*bytes));
        let [_, second, third, fourth] = word.to_le_bytes().map(|byte| u16::from(byte & 0x3F));
        if word & 0x00C0_C0F0 == 0x0080_80E0 {
            let unit = (word as u16) << 12 | second << 6 | third;
            if unit < 0x800 || unit & 0xF800 == 0xD800 {
                break;
            }
            // SAFETY: the output has 6 bytes for this sequence and 2 for each byte before it.
            unsafe { put(output, &mut written, [order::<BIG_ENDIAN>(unit)]) };
            rest = &rest[3..];
        } else if word & 0xC0C0_C0F8 == 0x8080_80F0 {
            // Each surrogate contains 10 bits of the code point minus 0x10000.
            let high = (word as u16 & 0x07) << 8 | second << 2 | third >> 4;
            if !(0x40..0x440).contains(&high) {
                break;
            }
            let low = 0xDC00 | (third & 0x0F) << 6 | fourth;
            // SAFETY: the output has 8 bytes for this sequence and 2 for each byte before it.
            unsafe {
                put(output, &mut written, [order::<BIG_ENDIAN>(0xD7C0 + high), order::<BIG_ENDIAN>(low)])
            };
            rest = &rest[4..];
        } else {
            break;
        }
    }
    (input.len() - rest.len(), written)
}

/// Returns fewer than 4 bytes as a word.
#[cold]
fn end(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Writes code units at index `written`.
///
/// # Safety
///
/// `*written + 2 * N <= output.len()`.
#[inline(always)]
unsafe fn put<const N: usize>(output: &mut [u8], written: &mut usize, units: [[u8; 2]; N]) {
    debug_assert!(*written + 2 * N <= output.len());
    // SAFETY: the caller guarantees the space; bytes need no alignment.
    unsafe { output.as_mut_ptr().add(*written).cast::<[[u8; 2]; N]>().write(units) };
    *written += 2 * N;
}

/// Writes blocks of ASCII, and returns the number of bytes read.
fn encode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> usize {
    let blocks = as_chunks::<ASCII_BLOCK>(input).0.iter().take_while(|block| block.is_ascii());
    let mut read = 0;
    for (block, room) in blocks.zip(as_chunks_mut::<{ 2 * ASCII_BLOCK }>(output).0) {
        for (unit, byte) in as_chunks_mut(room).0.iter_mut().zip(block) {
            *unit = order::<BIG_ENDIAN>((*byte).into());
        }
        read += ASCII_BLOCK;
    }
    read
}

/// Returns a code unit in the byte order of the output.
pub(crate) const fn order<const BIG_ENDIAN: bool>(unit: u16) -> [u8; 2] {
    if BIG_ENDIAN { unit.to_be_bytes() } else { unit.to_le_bytes() }
}

/// Reads UTF-16 and writes UTF-8 while there is output space for 4 bytes, up to an unpaired surrogate or an unfinished
/// pair. Returns the number of bytes read and the number of bytes written.
pub(crate) fn decode_portable<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let len = output.len();
    let mut rest = input;
    let mut room = output;
    let unit =
        |bytes: [u8; 2]| if BIG_ENDIAN { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let mut recent_ascii = 0;
    while let Some((place, _)) = room.split_first_chunk_mut::<4>() {
        let Some((first, after)) = rest.split_first_chunk::<2>() else { break };
        let (written, after) = match unit(*first) {
            byte @ 0..0x80 => {
                if let Some((bytes, after)) = four_ascii::<BIG_ENDIAN>(rest) {
                    *place = bytes;
                    recent_ascii += 4;
                    rest = after;
                    room = &mut room[4..];
                    if recent_ascii > 2 * BLOCK {
                        let read = decode_ascii::<BIG_ENDIAN>(rest, room);
                        rest = &rest[2 * read..];
                        room = &mut room[read..];
                        recent_ascii = 0;
                    }
                    continue;
                }
                recent_ascii = 0;
                place[0] = byte as u8;
                (1, after)
            }
            value @ 0x80..0x800 => {
                place[0] = 0xC0 | (value >> 6) as u8;
                place[1] = cont(value.into());
                (2, after)
            }
            high @ 0xD800..0xDC00 => {
                let Some((second, after)) = after.split_first_chunk::<2>() else { break };
                let low = unit(*second);
                if low & 0xFC00 != 0xDC00 {
                    break;
                }
                let value = 0x1_0000 + (u32::from(high & 0x3FF) << 10 | u32::from(low & 0x3FF));
                *place = [0xF0 | (value >> 18) as u8, cont(value >> 12), cont(value >> 6), cont(value)];
                (4, after)
            }
            0xDC00..0xE000 => break,
            value => {
                place[0] = 0xE0 | (value >> 12) as u8;
                place[1] = cont(u32::from(value) >> 6);
                place[2] = cont(value.into());
                (3, after)
            }
        };
        rest = after;
        room = &mut room[written..];
    }
    (input.len() - rest.len(), len - room.len())
}

/// Returns the first four code units as bytes if they are ASCII, and the units after them.
fn four_ascii<const BIG_ENDIAN: bool>(units: &[u8]) -> Option<([u8; 4], &[u8])> {
    let (&units, after) = units.split_first_chunk()?;
    let units = if BIG_ENDIAN { u64::from_be_bytes(units) } else { u64::from_le_bytes(units) };
    if units & 0xFF80_FF80_FF80_FF80 != 0 {
        return None;
    }
    let pairs = (units | units >> 8) & 0x0000_FFFF_0000_FFFF;
    let bytes = (pairs | pairs >> 16) as u32;
    Some((if BIG_ENDIAN { bytes.to_be_bytes() } else { bytes.to_le_bytes() }, after))
}

/// Converts blocks of ASCII, and returns the number of code units read.
fn decode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> usize {
    let mut read = 0;
    for (units, room) in input.chunks_exact(2 * BLOCK).zip(output.chunks_exact_mut(BLOCK)) {
        let mut other = 0;
        for (unit, byte) in as_chunks::<2>(units).0.iter().zip(room) {
            let unit = if BIG_ENDIAN { u16::from_be_bytes(*unit) } else { u16::from_le_bytes(*unit) };
            other |= unit;
            *byte = unit as u8;
        }
        if other >= 0x80 {
            break;
        }
        read += BLOCK;
    }
    read
}

/// Returns the continuation byte with the low 6 bits of `bits`.
const fn cont(bits: u32) -> u8 {
    0x80 | (bits & 0x3F) as u8
}
