//! Conversions between UTF-8 and UTF-16.

use super::arch::utf16::{decode_portable, encode_portable};
use super::dispatch::Kernel;
use super::functions::Utf16;
use super::state::AtBoundary;
use super::validation::prefix;
use crate::boundary::truncate;

/// The number of bytes that are validated at a time and then read again. They fit in the L1 cache.
const PAGE: usize = 4 * 1024;

/// The number of bytes that are validated first after ASCII. Each next number is four times the one before, up to [`PAGE`].
const FIRST_PAGE: usize = 256;

/// A length of ASCII after which more ASCII is likely after a few characters.
const MUCH_ASCII: usize = 64;

/// The number of bytes after that much ASCII that are converted without vectors.
const FEW: usize = 8;

/// Reads UTF-8 and writes UTF-16 while there is input and output space, up to an ill-formed sequence. Returns the
/// number of bytes read and the number of bytes written.
///
/// An input byte is only read if there are 2 bytes of output for it, which is always enough.
pub(crate) fn encode<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let Some(utf16) = kernel.utf16() else {
        return encode_some::<BIG_ENDIAN>(input, output, input.len());
    };
    let mut read = 0;
    let mut written = 0;
    let mut page = FIRST_PAGE;
    loop {
        let rest = &input[read..];
        let room = &mut output[written..];
        // SAFETY: the CPU has the instructions of every `Kernel`.
        let (mut taken, mut made) = unsafe { utf16.encode_ascii[usize::from(BIG_ENDIAN)](rest, room) };
        if taken >= MUCH_ASCII {
            page = FIRST_PAGE;
            let (few, few_made) = encode_some::<BIG_ENDIAN>(&rest[taken..], &mut room[made..], FEW);
            taken += few;
            made += few_made;
        }
        if taken > 0 {
            read += taken;
            written += made;
            continue;
        }
        let len = rest.len().min(room.len() / 2).min(page);
        let (text, _) = prefix(AtBoundary::START, &rest[..len]);
        // Whether this is the end of the input, or an ill-formed sequence follows.
        let is_last = len == rest.len() || text.len() + 3 < len;
        let (taken, made) = encode_text::<BIG_ENDIAN>(utf16, text, is_last, room);
        read += taken;
        written += made;
        if is_last || taken == 0 {
            return (read, written);
        }
        page = PAGE.min(4 * page);
    }
}

/// Writes at most `limit` bytes of the input as UTF-16, without vectors and without a separate validation, which would
/// take as long as the conversion.
fn encode_some<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8], limit: usize) -> (usize, usize) {
    let input = &input[..input.len().min(output.len() / 2).min(limit)];
    // SAFETY: the output has 2 bytes for each byte of the input.
    unsafe { encode_portable::<BIG_ENDIAN>(input, output) }
}

/// Writes as much of a text as fits as UTF-16. May stop at a character near the end, unless `is_last` is set. Returns
/// the number of bytes read and the number of bytes written.
fn encode_text<const BIG_ENDIAN: bool>(
    utf16: &Utf16,
    text: &str,
    is_last: bool,
    output: &mut [u8],
) -> (usize, usize) {
    let text = truncate(text, output.len() / 2);
    // SAFETY: the CPU has the instructions of every `Kernel`; the output has 2 bytes for each byte of the text.
    let (read, written) = unsafe { (utf16.encode[usize::from(BIG_ENDIAN)])(text, output) };
    if read > 0 && !is_last {
        return (read, written);
    }
    // SAFETY: a sequence of n bytes needs at most 2 * n bytes of output. The bytes written so far leave 2 bytes for
    // each byte of the rest.
    let (rest, more) =
        unsafe { encode_portable::<BIG_ENDIAN>(&text.as_bytes()[read..], &mut output[written..]) };
    (read + rest, written + more)
}

/// Reads UTF-16 and writes UTF-8 while there is input and output space, up to an unpaired surrogate. Returns the number
/// of bytes read and the number of bytes written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (read, written) = match kernel.utf16() {
        // SAFETY: the CPU has the instructions of every `Kernel`.
        Some(utf16) => unsafe { (utf16.decode[usize::from(BIG_ENDIAN)])(input, output) },
        None => (0, 0),
    };
    let rest = decode_portable::<BIG_ENDIAN>(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}
