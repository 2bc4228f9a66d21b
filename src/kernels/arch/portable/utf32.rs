//! Conversions of UTF-32 from and to UTF-8 and UTF-16 on every target: blocks that the compiler vectorizes, and single
//! characters.

use super::utf16::order;

/// The number of characters that are tested at once.
const BLOCK: usize = 16;

pub(super) const fn order_32<const BIG_ENDIAN: bool>(value: u32) -> [u8; 4] {
    if BIG_ENDIAN { value.to_be_bytes() } else { value.to_le_bytes() }
}

pub(super) const fn value<const BIG_ENDIAN: bool>(bytes: [u8; 4]) -> u32 {
    if BIG_ENDIAN { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

pub(super) const fn unit<const BIG_ENDIAN: bool>(bytes: [u8; 2]) -> u16 {
    if BIG_ENDIAN { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

/// Writes text as UTF-32 while there is output space. Returns the number of bytes read and the number of bytes written.
pub(in crate::kernels) fn encode_portable<const BIG_ENDIAN: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    let (mut rest, mut written) = (text, 0);
    loop {
        let (blocks, _) = rest.as_bytes().as_chunks::<BLOCK>();
        let (room, _) = output[written..].as_chunks_mut::<{ 4 * BLOCK }>();
        let mut ascii = 0;
        for (block, room) in blocks.iter().zip(room).take_while(|(block, _)| block.is_ascii()) {
            for (unit, &byte) in room.as_chunks_mut().0.iter_mut().zip(block) {
                *unit = order_32::<BIG_ENDIAN>(byte.into());
            }
            ascii += BLOCK;
        }
        rest = &rest[ascii..];
        written += 4 * ascii;
        // Converts up to `BLOCK` characters one by one, then tries blocks again.
        let mut characters = rest.chars();
        for _ in 0..BLOCK {
            let Some(room) = output[written..].first_chunk_mut() else {
                return (text.len() - rest.len(), written);
            };
            let Some(character) = characters.next() else { return (text.len(), written) };
            *room = order_32::<BIG_ENDIAN>(character.into());
            written += 4;
            rest = characters.as_str();
        }
    }
}

/// Reads UTF-32 and writes UTF-8 while there is output space for 4 bytes, up to a value that is not a scalar value.
/// Returns the number of bytes read and the number of bytes written.
pub(in crate::kernels) fn decode_portable<const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (units, _) = input.as_chunks::<4>();
    let (mut read, mut written) = (0, 0);
    loop {
        let (blocks, _) = units[read..].as_chunks::<BLOCK>();
        let (room, _) = output[written..].as_chunks_mut::<BLOCK>();
        let mut ascii = 0;
        for (block, room) in blocks.iter().zip(room) {
            let mut any = 0;
            for (byte, unit) in room.iter_mut().zip(block) {
                let value = value::<BIG_ENDIAN>(*unit);
                any |= value;
                *byte = value as u8;
            }
            if any >= 0x80 {
                break;
            }
            ascii += BLOCK;
        }
        read += ascii;
        written += ascii;
        for _ in 0..BLOCK {
            let Some(unit) = units.get(read) else { return (4 * read, written) };
            let Some(character) = char::from_u32(value::<BIG_ENDIAN>(*unit)) else {
                return (4 * read, written);
            };
            let Some(room) = output[written..].first_chunk_mut::<4>() else { return (4 * read, written) };
            written += character.encode_utf8(room).len();
            read += 1;
        }
    }
}

/// Reads UTF-16 and writes UTF-32 while there is output space, up to an unpaired surrogate. Returns the number of bytes
/// read and the number of bytes written.
pub(in crate::kernels) fn from_utf16_portable<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
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
            let rest = units[read..].iter().take(2).map(|bytes| unit::<FROM_BIG_ENDIAN>(*bytes));
            let Some(Ok(character)) = char::decode_utf16(rest).next() else { return (2 * read, 4 * written) };
            let Some(room) = room.get_mut(written) else { return (2 * read, 4 * written) };
            *room = order_32::<BIG_ENDIAN>(character.into());
            read += character.len_utf16();
            written += 1;
        }
    }
}

/// Reads UTF-32 and writes UTF-16 while there is output space, up to a value that is not a scalar value. Returns the
/// number of bytes read and the number of bytes written.
pub(in crate::kernels) fn to_utf16_portable<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
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
            let Some(bytes) = units.get(read) else { return (4 * read, 2 * written) };
            let Some(character) = char::from_u32(value::<BIG_ENDIAN>(*bytes)) else {
                return (4 * read, 2 * written);
            };
            let mut pair = [0; 2];
            let pair = character.encode_utf16(&mut pair);
            let Some(room) = room.get_mut(written..written + pair.len()) else {
                return (4 * read, 2 * written);
            };
            for (room, unit) in room.iter_mut().zip(pair) {
                *room = order::<TO_BIG_ENDIAN>(*unit);
                written += 1;
            }
            read += 1;
        }
    }
}
