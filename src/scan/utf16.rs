//! Between UTF-8 and UTF-16, in bulk.

use super::arch;
use super::kernel::Kernel;
use crate::boundary::truncate;

/// Writes well-formed text as UTF-16: how many octets. Text that there may be no room for is left out: two octets for
/// each octet of text are always enough.
pub(crate) fn encode<const BIG_ENDIAN: bool>(text: &str, dst: &mut [u8]) -> usize {
    encode_with::<BIG_ENDIAN>(Kernel::in_use(), text, dst)
}

fn encode_with<const BIG_ENDIAN: bool>(kernel: Kernel, text: &str, dst: &mut [u8]) -> usize {
    let text = truncate(text, dst.len() / 2);
    // SAFETY: there is room.
    let (read, written) = unsafe { arch::utf16::encode::<BIG_ENDIAN>(kernel, text, dst) };
    // SAFETY: what was written left two octets for each octet of the rest.
    written + unsafe { encode_portable::<BIG_ENDIAN>(&text[read..], &mut dst[written..]) }
}

/// Reads UTF-16 and writes UTF-8 while both last, up to an unpaired surrogate: octets taken and octets written.
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

/// # Safety
///
/// `dst` has two octets for each octet of `text`.
unsafe fn encode_portable<const BIG_ENDIAN: bool>(text: &str, dst: &mut [u8]) -> usize {
    debug_assert!(dst.len() / 2 >= text.len());
    let mut written = 0;
    let mut rest = text.as_bytes();
    while let [lead, behind @ ..] = rest {
        // SAFETY of every `put`: each unit stands for one octet of the text or more, so that there is room for it.
        rest = match (*lead, behind) {
            (0..0x80, _) => {
                let mut run = rest;
                while let Some((block, after)) = run.split_first_chunk::<8>()
                    && u64::from_ne_bytes(*block) & 0x8080_8080_8080_8080 == 0
                {
                    let mut units = [[0; 2]; 8];
                    for (unit, octet) in units.iter_mut().zip(block) {
                        *unit = order::<BIG_ENDIAN>((*octet).into());
                    }
                    // SAFETY: as above.
                    unsafe { put(dst, &mut written, units) };
                    run = after;
                    if rest.len() - run.len() >= 2 * BLOCK {
                        // Plain ASCII, it seems.
                        let read = encode_ascii::<BIG_ENDIAN>(run, &mut dst[written..]);
                        run = &run[read..];
                        written += 2 * read;
                    }
                }
                while let [octet @ 0..0x80, after @ ..] = run {
                    // SAFETY: as above.
                    unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>((*octet).into())]) };
                    run = after;
                }
                run
            }
            (_, [b, after @ ..]) if *lead < 0xE0 => {
                let unit = u16::from(lead & 0x1F) << 6 | tail(*b);
                // SAFETY: as above.
                unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>(unit)]) };
                after
            }
            (_, [b, c, after @ ..]) if *lead < 0xF0 => {
                let unit = u16::from(*lead) << 12 | tail(*b) << 6 | tail(*c);
                // SAFETY: as above.
                unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>(unit)]) };
                after
            }
            (_, [b, c, d, after @ ..]) => {
                // Ten bits each, of the value less 10000.
                let high = 0xD7C0 + (u16::from(lead & 0x07) << 8 | tail(*b) << 2 | tail(*c) >> 4);
                let low = 0xDC00 | (tail(*c) & 0x0F) << 6 | tail(*d);
                // SAFETY: as above.
                unsafe { put(dst, &mut written, [order::<BIG_ENDIAN>(high), order::<BIG_ENDIAN>(low)]) };
                after
            }
            // Not in well-formed text.
            _ => break,
        };
    }
    written
}

/// # Safety
///
/// `dst` has room for the units behind the octets written.
#[inline(always)]
unsafe fn put<const N: usize>(dst: &mut [u8], written: &mut usize, units: [[u8; 2]; N]) {
    // SAFETY: there is room; octets have no alignment.
    unsafe { dst.as_mut_ptr().add(*written).cast::<[[u8; 2]; N]>().write(units) };
    *written += 2 * N;
}

/// Writes blocks of ASCII: how many octets were read.
fn encode_ascii<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> usize {
    let mut read = 0;
    for (octets, place) in src.chunks_exact(2 * BLOCK).zip(dst.chunks_exact_mut(4 * BLOCK)) {
        if !octets.is_ascii() {
            break;
        }
        for (unit, octet) in place.as_chunks_mut::<2>().0.iter_mut().zip(octets) {
            *unit = order::<BIG_ENDIAN>((*octet).into());
        }
        read += 2 * BLOCK;
    }
    read
}

/// The free bits of an octet that is not the first.
const fn tail(octet: u8) -> u16 {
    (octet & 0x3F) as u16
}

const fn order<const BIG_ENDIAN: bool>(unit: u16) -> [u8; 2] {
    if BIG_ENDIAN { unit.to_be_bytes() } else { unit.to_le_bytes() }
}

fn decode_portable<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let (len, mut rest, mut room) = (dst.len(), src, dst);
    let unit =
        |octets: [u8; 2]| if BIG_ENDIAN { u16::from_be_bytes(octets) } else { u16::from_le_bytes(octets) };
    let mut ascii_lately = 0;
    // The longest sequence; what is left then is for whoever looks more closely.
    while let Some((place, _)) = room.split_first_chunk_mut::<4>() {
        let Some((first, after)) = rest.split_first_chunk::<2>() else { break };
        let (written, after) = match unit(*first) {
            octet @ 0..0x80 => {
                place[0] = octet as u8;
                ascii_lately += 1;
                if ascii_lately > BLOCK / 2 {
                    let read = decode_ascii::<BIG_ENDIAN>(rest, room);
                    if read > 0 {
                        rest = &rest[2 * read..];
                        room = &mut room[read..];
                        continue;
                    }
                    ascii_lately = 0;
                }
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

/// Reads blocks of ASCII: how many code units.
fn decode_ascii<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> usize {
    let mut read = 0;
    for (units, place) in src.chunks_exact(2 * BLOCK).zip(dst.chunks_exact_mut(BLOCK)) {
        let mut other = 0;
        for (unit, octet) in units.as_chunks::<2>().0.iter().zip(place) {
            let unit = if BIG_ENDIAN { u16::from_be_bytes(*unit) } else { u16::from_le_bytes(*unit) };
            other |= unit;
            *octet = unit as u8;
        }
        if other >= 0x80 {
            break;
        }
        read += BLOCK;
    }
    read
}

/// The octet with these six free bits.
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
        let octets =
            |units: &[u16]| units.iter().flat_map(|&unit| order::<BIG_ENDIAN>(unit)).collect::<Vec<_>>();
        for (i, text) in texts().enumerate() {
            let units: Vec<u16> = text.encode_utf16().collect();
            let utf_16 = octets(&units);
            // Everything stands at every place in memory, too. No more room than is asked for, and hostile octets
            // behind it.
            let shift = i % 32;
            let source = ["?".repeat(shift), text.clone()].concat();
            let mut out = vec![0xEE; shift + 2 * text.len() + 64];
            let len =
                encode_with::<BIG_ENDIAN>(kernel, &source[shift..], &mut out[shift..shift + 2 * text.len()]);
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
            assert_eq!(octets(&text[..written].encode_utf16().collect::<Vec<_>>()), utf_16[..read], "{text}");
            assert_eq!(out[text.len() / 2..], [0xEE; 64], "{text}");

            // Half a pair anywhere between characters stops it in front of it.
            let at = units.len() * (i % 7) / 6;
            let at = if matches!(units.get(at), Some(0xDC00..0xE000)) { at - 1 } else { at };
            for half in [0xDC00, 0xD800] {
                let unpaired = octets(&[&units[..at], &[half], &units[at..]].concat());
                let mut out = vec![0; text.len() + 200];
                let (read, written) = decode_with::<BIG_ENDIAN>(kernel, &unpaired, &mut out);
                let good = String::from_utf16(&units[..at]).expect("whole pairs");
                assert_eq!((read, &out[..written]), (2 * at, good.as_bytes()), "{text}");
            }
        }
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
