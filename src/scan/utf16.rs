//! Between UTF-8 and UTF-16, in bulk.

use super::arch;
use super::kernel::Kernel;
use super::{Boundary, prefix};
use crate::boundary::truncate;

/// Bytes that are validated at a time and then read again: they stay in the nearest cache.
const PAGE: usize = 4 * 1024;

/// Reads UTF-8 and writes UTF-16 while both last, up to something ill-formed: bytes taken and bytes written. Text
/// that there may be no room for is left out: two bytes for each byte of text are always enough.
pub(crate) fn encode<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let kernel = Kernel::in_use();
    if kernel.is_portable() {
        // Validation takes as long as the rest, so that it is done on the way.
        let src = &src[..src.len().min(dst.len() / 2)];
        // SAFETY: there is room.
        return unsafe { encode_portable::<BIG_ENDIAN>(src, dst) };
    }
    let (mut read, mut written) = (0, 0);
    loop {
        let len = (src.len() - read).min((dst.len() - written) / 2).min(PAGE);
        let (text, _) = prefix(Boundary::START, &src[read..read + len]);
        if text.is_empty() {
            return (read, written);
        }
        written += encode_text::<BIG_ENDIAN>(kernel, text, &mut dst[written..]);
        read += text.len();
        if text.len() + 3 < len {
            // Something ill-formed; looked at once, not once for every page before it.
            return (read, written);
        }
    }
}

fn encode_text<const BIG_ENDIAN: bool>(kernel: Kernel, text: &str, dst: &mut [u8]) -> usize {
    let text = truncate(text, dst.len() / 2);
    // SAFETY: there is room.
    let (read, written) = unsafe { arch::utf16::encode::<BIG_ENDIAN>(kernel, text, dst) };
    // SAFETY: what was written left two bytes for each byte of the rest.
    let rest = unsafe { encode_portable::<BIG_ENDIAN>(&text.as_bytes()[read..], &mut dst[written..]) };
    written + rest.1
}

/// Reads UTF-16 and writes UTF-8 while both last, up to an unpaired surrogate: bytes taken and bytes written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    decode_with::<BIG_ENDIAN>(Kernel::in_use(), src, dst)
}

fn decode_with<const BIG_ENDIAN: bool>(kernel: Kernel, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let (read, written) = arch::utf16::decode::<BIG_ENDIAN>(kernel, src, dst);
    let rest = decode_portable::<BIG_ENDIAN>(&src[read..], &mut dst[written..]);
    (read + rest.0, written + rest.1)
}

/// Code units that are looked at together to see whether they are ASCII.
const BLOCK: usize = 16;

/// Bytes that are looked at together, and then widened together: long enough for the compiler's vectors.
const ASCII_BLOCK: usize = 128;

/// Up to something ill-formed: bytes taken and bytes written.
///
/// # Safety
///
/// `dst` has two bytes for each byte of `src`.
unsafe fn encode_portable<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    debug_assert!(dst.len() / 2 >= src.len());
    let mut written = 0;
    let mut rest = src;
    while let Some(lead) = rest.first() {
        // SAFETY of every `put`: each unit stands for one byte of the text or more, so that there is room for it.
        if lead.is_ascii() {
            let start = rest.len();
            while let Some((block, after)) = rest.split_first_chunk::<8>()
                && u64::from_ne_bytes(*block) & 0x8080_8080_8080_8080 == 0
            {
                // SAFETY: as above.
                unsafe { put(dst, &mut written, block.map(|byte| order::<BIG_ENDIAN>(byte.into()))) };
                rest = after;
                if start - rest.len() >= 2 * BLOCK {
                    // Plain ASCII, it seems.
                    let read = encode_ascii::<BIG_ENDIAN>(rest, &mut dst[written..]);
                    rest = &rest[read..];
                    written += 2 * read;
                }
            }
            while let [byte @ 0..0x80, after @ ..] = rest {
                // SAFETY: as above.
                unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>((*byte).into())]) };
                rest = after;
            }
            continue;
        }
        if let [0xC2..0xE0, second @ 0x80..0xC0, after @ ..] = rest {
            let unit = u16::from(lead & 0x1F) << 6 | u16::from(second & 0x3F);
            // SAFETY: as above.
            unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>(unit)]) };
            rest = after;
            continue;
        }
        // The bytes of the sequence from the lowest of the word on; what is after the end is no continuation.
        let word = rest.first_chunk().map_or_else(|| end(rest), |bytes| u32::from_le_bytes(*bytes));
        let bits = |shift: u32| (word >> shift) as u16 & 0x3F;
        if word & 0x00C0_C0F0 == 0x0080_80E0 {
            let unit = (word as u16) << 12 | bits(8) << 6 | bits(16);
            if unit < 0x800 || unit & 0xF800 == 0xD800 {
                break;
            }
            // SAFETY: as above.
            unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>(unit)]) };
            rest = &rest[3..];
        } else if word & 0xC0C0_C0F8 == 0x8080_80F0 {
            // Ten bits each, of the value less 10000.
            let high = (word as u16 & 0x07) << 8 | bits(8) << 2 | bits(16) >> 4;
            if !(0x40..0x440).contains(&high) {
                break;
            }
            let low = 0xDC00 | (bits(16) & 0x0F) << 6 | bits(24);
            // SAFETY: as above.
            unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>(0xD7C0 + high), order::<BIG_ENDIAN>(low)]) };
            rest = &rest[4..];
        } else {
            break;
        }
    }
    (src.len() - rest.len(), written)
}

/// The word of fewer than four bytes.
#[cold]
fn end(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// # Safety
///
/// `dst` has room for the units after the bytes written.
#[inline(always)]
unsafe fn put<const N: usize>(dst: &mut [u8], written: &mut usize, units: [[u8; 2]; N]) {
    // SAFETY: there is room; bytes have no alignment.
    unsafe { dst.as_mut_ptr().add(*written).cast::<[[u8; 2]; N]>().write(units) };
    *written += 2 * N;
}

/// Writes blocks of ASCII: how many bytes were read.
fn encode_ascii<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> usize {
    let blocks = src.as_chunks::<ASCII_BLOCK>().0.iter().take_while(|block| block.is_ascii());
    let mut read = 0;
    for (block, place) in blocks.zip(dst.as_chunks_mut::<{ 2 * ASCII_BLOCK }>().0) {
        for (unit, byte) in place.as_chunks_mut().0.iter_mut().zip(block) {
            *unit = order::<BIG_ENDIAN>((*byte).into());
        }
        read += ASCII_BLOCK;
    }
    read
}

const fn order<const BIG_ENDIAN: bool>(unit: u16) -> [u8; 2] {
    if BIG_ENDIAN { unit.to_be_bytes() } else { unit.to_le_bytes() }
}

fn decode_portable<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let (len, mut rest, mut room) = (dst.len(), src, dst);
    let unit =
        |bytes: [u8; 2]| if BIG_ENDIAN { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let mut ascii_lately = 0;
    // The longest sequence; what is left then is for whoever looks more closely.
    while let Some((place, _)) = room.split_first_chunk_mut::<4>() {
        let Some((first, after)) = rest.split_first_chunk::<2>() else { break };
        let (written, after) = match unit(*first) {
            byte @ 0..0x80 => {
                if let Some((block, after)) = rest.split_first_chunk::<8>()
                    && let Some(bytes) = four_ascii::<BIG_ENDIAN>(*block)
                {
                    *place = bytes;
                    ascii_lately += 4;
                    rest = after;
                    room = &mut room[4..];
                    if ascii_lately > 2 * BLOCK {
                        let read = decode_ascii::<BIG_ENDIAN>(rest, room);
                        rest = &rest[2 * read..];
                        room = &mut room[read..];
                        ascii_lately = 0;
                    }
                    continue;
                }
                ascii_lately = 0;
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
    (src.len() - rest.len(), len - room.len())
}

/// Four code units, if they are ASCII.
fn four_ascii<const BIG_ENDIAN: bool>(units: [u8; 8]) -> Option<[u8; 4]> {
    let units = if BIG_ENDIAN { u64::from_be_bytes(units) } else { u64::from_le_bytes(units) };
    if units & 0xFF80_FF80_FF80_FF80 != 0 {
        return None;
    }
    let pairs = (units | units >> 8) & 0x0000_FFFF_0000_FFFF;
    let bytes = (pairs | pairs >> 16) as u32;
    Some(if BIG_ENDIAN { bytes.to_be_bytes() } else { bytes.to_le_bytes() })
}

/// Reads blocks of ASCII: how many code units.
fn decode_ascii<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> usize {
    let mut read = 0;
    for (units, place) in src.chunks_exact(2 * BLOCK).zip(dst.chunks_exact_mut(BLOCK)) {
        let mut other = 0;
        for (unit, byte) in units.as_chunks::<2>().0.iter().zip(place) {
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

/// The byte with these six free bits.
const fn cont(bits: u32) -> u8 {
    0x80 | (bits & 0x3F) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts in which everything stands at every place of a vector, and over its edges.
    fn texts() -> impl Iterator<Item = String> {
        let parts = ["a", "é", "€", "💩", "plain ASCII, longer than a block", "ёж", "漢字", "💩💩"];
        let mut state = 16_u32;
        (0..2_000).map(move |len| {
            let mut text = "x".repeat(len % 67);
            while text.len() < len % 301 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(parts[(state >> 16) as usize % parts.len()]);
            }
            text
        })
    }

    fn check<const BIG_ENDIAN: bool>(kernel: Kernel) {
        let bytes =
            |units: &[u16]| units.iter().flat_map(|&unit| order::<BIG_ENDIAN>(unit)).collect::<Vec<_>>();
        for (i, text) in texts().enumerate() {
            let units: Vec<u16> = text.encode_utf16().collect();
            let utf_16 = bytes(&units);
            // Everything stands at every place in memory, too. No more room than is asked for, and hostile bytes
            // after it.
            let shift = i % 32;
            let source = ["?".repeat(shift), text.clone()].concat();
            let mut out = vec![0xEE; shift + 2 * text.len() + 64];
            let len =
                encode_text::<BIG_ENDIAN>(kernel, &source[shift..], &mut out[shift..shift + 2 * text.len()]);
            assert_eq!(out[shift..shift + len], utf_16, "{text}");
            assert_eq!(out[shift + 2 * text.len()..], [0xEE; 64], "{text}");

            // Room for the text and the longest sequence, and for vectors.
            let source = [vec![0xEE; shift], utf_16.clone()].concat();
            for extra in [3, 200] {
                let mut out = vec![0xEE; text.len() + extra + 64];
                let (read, written) =
                    decode_with::<BIG_ENDIAN>(kernel, &source[shift..], &mut out[..text.len() + extra]);
                assert_eq!((read, &out[..written]), (utf_16.len(), text.as_bytes()), "{text}");
                assert_eq!(out[text.len() + extra..], [0xEE; 64], "{text}");
            }
            // Too little room: what is written is the start of the text, up to some character.
            let mut out = vec![0xEE; text.len() / 2 + 64];
            let (read, written) = decode_with::<BIG_ENDIAN>(kernel, &utf_16, &mut out[..text.len() / 2]);
            assert_eq!(out[..written], text.as_bytes()[..written], "{text}");
            assert_eq!(bytes(&text[..written].encode_utf16().collect::<Vec<_>>()), utf_16[..read], "{text}");
            assert_eq!(out[text.len() / 2..], [0xEE; 64], "{text}");

            // Half a pair anywhere between characters stops it in front of it.
            let at = units.len() * (i % 7) / 6;
            let at = if matches!(units.get(at), Some(0xDC00..0xE000)) { at - 1 } else { at };
            for half in [0xDC00, 0xD800] {
                let unpaired = bytes(&[&units[..at], &[half], &units[at..]].concat());
                let mut out = vec![0; text.len() + 200];
                let (read, written) = decode_with::<BIG_ENDIAN>(kernel, &unpaired, &mut out);
                let good = String::from_utf16(&units[..at]).expect("whole pairs");
                assert_eq!((read, &out[..written]), (2 * at, good.as_bytes()), "{text}");
            }
        }
    }

    /// The portable loop checks while it goes: it stops where `std` finds the first flaw, or something unfinished.
    #[test]
    fn what_is_ill_formed_is_left() {
        const OCTETS: [u8; 24] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED,
            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF,
        ];
        let mut out = [0xEE; 32];
        for i in 0..OCTETS.len().pow(4) {
            let four = [0, 1, 2, 3].map(|place| OCTETS[i / OCTETS.len().pow(place) % OCTETS.len()]);
            for (bytes, len) in [(&four[..], 4), (&four[1..], 3)] {
                let good = match core::str::from_utf8(bytes) {
                    Ok(text) => text,
                    Err(error) => core::str::from_utf8(&bytes[..error.valid_up_to()]).expect("good"),
                };
                // SAFETY: there is room.
                let (read, written) = unsafe { encode_portable::<false>(bytes, &mut out[..2 * len]) };
                assert_eq!(read, good.len(), "{bytes:02X?}");
                let units = good.encode_utf16().flat_map(order::<false>);
                assert!(units.eq(out[..written].iter().copied()), "{bytes:02X?}");
            }
        }
        assert_eq!(out[8..], [0xEE; 24]);
    }

    #[test]
    fn little_endian_as_std_does_it() {
        Kernel::available().for_each(check::<false>);
    }

    #[test]
    fn big_endian_as_std_does_it() {
        Kernel::available().for_each(check::<true>);
    }
}
