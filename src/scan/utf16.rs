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

/// # Safety
///
/// `dst` has two octets for each octet of `text`.
unsafe fn encode_portable<const BIG_ENDIAN: bool>(text: &str, dst: &mut [u8]) -> usize {
    debug_assert!(dst.len() / 2 >= text.len());
    let octets = text.as_bytes();
    let mut out = dst.as_mut_ptr();
    let mut put = |unit: u16| {
        // SAFETY: every unit put stands for one octet of the text or more, so that there is room for it.
        unsafe {
            out.cast::<[u8; 2]>().write(order::<BIG_ENDIAN>(unit));
            out = out.add(2);
        }
    };
    let mut rest = octets;
    while let [lead, behind @ ..] = rest {
        rest = match (*lead, behind) {
            (0..0x80, _) => {
                let mut run = rest;
                while let Some((block, after)) = run.split_first_chunk::<8>() {
                    if u64::from_ne_bytes(*block) & 0x8080_8080_8080_8080 != 0 {
                        break;
                    }
                    block.iter().for_each(|&octet| put(octet.into()));
                    run = after;
                }
                while let [octet @ 0..0x80, after @ ..] = run {
                    put((*octet).into());
                    run = after;
                }
                run
            }
            (_, [b, after @ ..]) if *lead < 0xE0 => {
                put(u16::from(lead & 0x1F) << 6 | tail(*b));
                after
            }
            (_, [b, c, after @ ..]) if *lead < 0xF0 => {
                put(u16::from(*lead) << 12 | tail(*b) << 6 | tail(*c));
                after
            }
            (_, [b, c, d, after @ ..]) => {
                // Ten bits each, of the value less 10000.
                put(0xD7C0 + (u16::from(lead & 0x07) << 8 | tail(*b) << 2 | tail(*c) >> 4));
                put(0xDC00 | (tail(*c) & 0x0F) << 6 | tail(*d));
                after
            }
            // Not in well-formed text.
            _ => break,
        };
    }
    out as usize - dst.as_ptr() as usize
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
    // The longest sequence; what is left then is for whoever looks more closely.
    while let Some((place, _)) = room.split_first_chunk_mut::<4>() {
        let Some((first, after)) = rest.split_first_chunk::<2>() else { break };
        let (written, after) = match unit(*first) {
            octet @ 0..0x80 => {
                place[0] = octet as u8;
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

/// The octet with these six free bits.
const fn cont(bits: u32) -> u8 {
    0x80 | (bits & 0x3F) as u8
}
