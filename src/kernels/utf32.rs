//! Conversions between UTF-32, UTF-8 and UTF-16.
//!
//! UTF-32 and UTF-8 are converted through UTF-16, in pieces: both steps have vector code. Only AVX-512 has code for UTF-8
//! to UTF-32 in one step.

use super::arch::units as portable;
use super::dispatch::Kernel;
use super::state::AtBoundary;
use super::utf16;
use super::validation::prefix;
use crate::boundary::truncate;

/// The number of bytes that are validated at a time and then read again. They fit in the L1 cache.
const PAGE: usize = 4 * 1024;

/// The number of UTF-16 code units in a piece, and in a piece of short input.
const PIECE: usize = 2 * 1024;
const SHORT_PIECE: usize = 128;

/// Reads UTF-8 and writes UTF-32 while there is input and output space, up to an ill-formed sequence. Returns the
/// number of bytes read and the number of bytes written.
///
/// An input byte is only read if there are 4 bytes of output for it, which is always enough.
pub(super) fn encode<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    loop {
        let ascii = kernel.units().ascii_to_utf32[usize::from(BIG_ENDIAN)];
        // SAFETY: the CPU has the instructions of every `Kernel`.
        let (taken, made) = unsafe { ascii(&input[read..], &mut output[written..]) };
        read += taken;
        written += made;
        let Some(convert) = kernel.encode_utf32() else { break };
        let (rest, room) = (&input[read..], &mut output[written..]);
        let (text, _) = prefix(AtBoundary::START, &rest[..rest.len().min(PAGE)]);
        let text = truncate(text, room.len() / 4);
        // SAFETY: the CPU has the instructions of every `Kernel`; the output has 4 bytes for each byte of the text.
        let (taken, made) = unsafe { (convert[usize::from(BIG_ENDIAN)])(text, room) };
        read += taken;
        written += made;
        if taken == 0 {
            break;
        }
    }
    let (rest, room) = (&input[read..], &mut output[written..]);
    let (taken, made) = if rest.len() <= SHORT_PIECE {
        encode_pieces::<SHORT_PIECE, BIG_ENDIAN>(kernel, rest, room)
    } else {
        encode_pieces::<PIECE, BIG_ENDIAN>(kernel, rest, room)
    };
    (read + taken, written + made)
}

/// [`encode`] through `UNITS` code units of UTF-16.
fn encode_pieces<const UNITS: usize, const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    let mut units = [[0; 2]; UNITS];
    let units = units.as_flattened_mut();
    loop {
        let (rest, room) = (&input[read..], &mut output[written..]);
        let len = rest.len().min(room.len() / 4).min(UNITS);
        let (taken, made) = utf16::encode::<false>(kernel, &rest[..len], units);
        let (_, made) = from_utf16::<false, BIG_ENDIAN>(kernel, &units[..made], room);
        read += taken;
        written += made;
        if taken + 3 < len || taken == 0 {
            return (read, written);
        }
    }
}

/// Reads UTF-32 and writes UTF-8 while there is input and output space, up to a value that is not a scalar value.
/// Returns the number of bytes read and the number of bytes written.
pub(super) fn decode<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    if input.len() <= 4 * SHORT_PIECE {
        decode_pieces::<SHORT_PIECE, BIG_ENDIAN>(kernel, input, output)
    } else {
        decode_pieces::<PIECE, BIG_ENDIAN>(kernel, input, output)
    }
}

/// [`decode`] through `UNITS` code units of UTF-16.
fn decode_pieces<const UNITS: usize, const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    let mut units = [[0; 2]; UNITS];
    let units = units.as_flattened_mut();
    loop {
        let (taken, made) = to_utf16::<BIG_ENDIAN, false>(kernel, &input[read..], units);
        let (used, out) = utf16::decode::<false>(kernel, &units[..made], &mut output[written..]);
        written += out;
        if used < made {
            return (read + 4 * characters(&units[..used]), written);
        }
        read += taken;
        if made + 2 < units.len() {
            return (read, written);
        }
    }
}

/// Returns the number of characters of well-formed little-endian UTF-16.
fn characters(units: &[u8]) -> usize {
    units.as_chunks::<2>().0.iter().filter(|[_, high]| high & 0xFC != 0xDC).count()
}

/// Reads UTF-16 and writes UTF-32 while there is input and output space, up to an unpaired surrogate. Returns the
/// number of bytes read and the number of bytes written.
pub(super) fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let orders = 2 * usize::from(FROM_BIG_ENDIAN) + usize::from(BIG_ENDIAN);
    // SAFETY: this CPU supports every `Kernel`.
    let (read, written) = unsafe { (kernel.units().from_utf16[orders])(input, output) };
    // Vector code leaves less than a vector.
    let rest = portable::from_utf16::<FROM_BIG_ENDIAN, BIG_ENDIAN>(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

/// Reads UTF-32 and writes UTF-16 while there is input and output space, up to a value that is not a scalar value.
/// Returns the number of bytes read and the number of bytes written.
pub(super) fn to_utf16<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let orders = 2 * usize::from(BIG_ENDIAN) + usize::from(TO_BIG_ENDIAN);
    // SAFETY: this CPU supports every `Kernel`.
    unsafe { (kernel.units().to_utf16[orders])(input, output) }
}
