//! Between UTF-8 and UTF-16, in bulk.

#[cfg(target_arch = "x86_64")]
use super::arch;
#[cfg(target_arch = "x86_64")]
use super::kernel::Kernel;
use crate::boundary::truncate;

/// Writes well-formed text as UTF-16: how many octets. Text that there may be no room for is left out: two octets for
/// each octet of text are always enough.
pub(crate) fn encode<const BIG_ENDIAN: bool>(text: &str, dst: &mut [u8]) -> usize {
    let text = truncate(text, dst.len() / 2);
    #[cfg(target_arch = "x86_64")]
    if Kernel::in_use().name() == arch::UTF_16_KERNEL {
        // SAFETY: the machine has what that kernel needs; the text is well-formed, and there is room.
        return unsafe { arch::utf16::encode::<BIG_ENDIAN>(text.as_bytes(), dst) };
    }
    // SAFETY: there is room.
    unsafe { encode_portable::<BIG_ENDIAN>(text, dst) }
}

/// Reads UTF-16 and writes UTF-8 while both last, up to an unpaired surrogate: octets taken and octets written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    #[cfg(target_arch = "x86_64")]
    if Kernel::in_use().name() == arch::UTF_16_KERNEL {
        // SAFETY: the machine has what that kernel needs.
        (read, written) = unsafe { arch::utf16::decode::<BIG_ENDIAN>(src, dst) };
    }
    let rest = decode_portable::<BIG_ENDIAN>(&src[read..], &mut dst[written..]);
    read += rest.0;
    written += rest.1;
    (read, written)
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

    fn check<const BIG_ENDIAN: bool>() {
        for text in texts() {
            let utf_16: Vec<u8> = text.encode_utf16().flat_map(order::<BIG_ENDIAN>).collect();
            let (mut chosen, mut portable) = (vec![0xEE; 2 * text.len()], vec![0xEE; 2 * text.len()]);
            let len = encode::<BIG_ENDIAN>(&text, &mut chosen);
            assert_eq!(chosen[..len], utf_16, "{text}");
            // SAFETY: there is room.
            let len = unsafe { encode_portable::<BIG_ENDIAN>(&text, &mut portable) };
            assert_eq!(portable[..len], utf_16, "{text}");

            // Room behind the end, for the longest sequence, and for two vectors.
            for extra in [3, 200] {
                let mut chosen = vec![0xEE; text.len() + extra];
                let (read, written) = decode::<BIG_ENDIAN>(&utf_16, &mut chosen);
                assert_eq!((read, &chosen[..written]), (utf_16.len(), text.as_bytes()), "{text}");
                let mut portable = vec![0xEE; text.len() + extra];
                let (read, written) = decode_portable::<BIG_ENDIAN>(&utf_16, &mut portable);
                assert_eq!((read, &portable[..written]), (utf_16.len(), text.as_bytes()), "{text}");
            }

            // An unpaired surrogate anywhere stops both in front of it.
            let at = utf_16.len() / 4 * 2;
            let unpaired = [&utf_16[..at], &order::<BIG_ENDIAN>(0xDC00)].concat();
            let before = core::char::decode_utf16(text.encode_utf16().take(at / 2)).take_while(Result::is_ok);
            let before: usize = before.filter_map(Result::ok).map(|it| 2 * it.len_utf16()).sum();
            if before == at {
                let mut room = vec![0; unpaired.len() * 2 + 200];
                assert_eq!(decode::<BIG_ENDIAN>(&unpaired, &mut room).0, at, "{text}");
                assert_eq!(decode_portable::<BIG_ENDIAN>(&unpaired, &mut room).0, at, "{text}");
            }
        }
    }

    #[test]
    fn little_endian_as_std_does_it() {
        check::<false>();
    }

    #[test]
    fn big_endian_as_std_does_it() {
        check::<true>();
    }
}
