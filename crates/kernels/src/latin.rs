//! Conversions between UTF-8 and ISO 8859-1 or windows-1252.
//!
//! If the parameter `WINDOWS` is `true`, the bytes `80..=9F` have their meaning in windows-1252. UTF-8 for which the kernel has
//! no code is converted through UTF-16, in pieces.

use super::arch::latin::{decode_portable, narrow};
use super::as_chunks::as_chunks;
use super::dispatch::Kernel;
use super::utf16;

/// Reads single bytes and writes UTF-8 while there is input and output space. Returns the number of bytes read and the
/// number of bytes written.
pub(crate) fn decode<const WINDOWS: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let (read, written) = kernel.decode_latin(usize::from(WINDOWS), input, output);
    let rest = decode_portable::<WINDOWS>(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

/// The number of bytes of UTF-8 in a piece, and in the first piece. The first one is small, because a character that the
/// encoding does not have makes the work on the rest of the piece useless.
const PIECE: usize = 2 * 1024;
const FIRST_PIECE: usize = 64;

/// Reads UTF-8 and writes single bytes while there is input and output space. Stops at an ill-formed sequence or at a
/// character that the encoding does not have. Returns the number of bytes read and the number of bytes written.
pub(crate) fn encode<const WINDOWS: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    if !WINDOWS {
        let ascii = kernel.copy_below(0, input, output);
        (read, written) = kernel.encode_latin(&input[ascii..], &mut output[ascii..]);
        read += ascii;
        written += ascii;
    }
    let start = &input[read..input.len().min(read + FIRST_PIECE)];
    let (taken, made) = encode_pieces::<FIRST_PIECE, WINDOWS>(kernel, start, &mut output[written..]);
    read += taken;
    written += made;
    // An unfinished sequence may be left.
    if taken + 3 < start.len() || start.len() < FIRST_PIECE {
        return (read, written);
    }
    let rest = encode_pieces::<PIECE, WINDOWS>(kernel, &input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

/// [`encode`] through `UNITS` code units of UTF-16, except for ASCII.
fn encode_pieces<const UNITS: usize, const WINDOWS: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    let mut units = [[0; 2]; UNITS];
    let units = units.as_flattened_mut();
    loop {
        let ascii = kernel.copy_below(0, &input[read..], &mut output[written..]);
        read += ascii;
        written += ascii;
        let rest = &input[read..];
        let room = &mut output[written..];
        let len = rest.len().min(UNITS);
        let (taken, made) = utf16::encode::<false>(kernel, &rest[..len], units);
        let (used, out) = narrow::<WINDOWS>(&units[..made], room);
        written += out;
        if used < made {
            return (read + len_in_utf_8(as_chunks(&units[..used]).0), written);
        }
        read += taken;
        if taken + 3 < len || taken == 0 {
            return (read, written);
        }
    }
}

/// Returns the length in UTF-8 of little-endian UTF-16 without surrogates.
pub fn len_in_utf_8(units: &[[u8; 2]]) -> usize {
    let mut len = 0;
    for unit in units {
        let unit = u16::from_le_bytes(*unit);
        len += 1 + usize::from(unit >= 0x80) + usize::from(unit >= 0x800);
    }
    len
}
