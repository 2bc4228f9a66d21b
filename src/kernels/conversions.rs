//! The conversions between UTF-8, UTF-16, UTF-32, ISO 8859-1 and windows-1252, by their encodings.

use super::dispatch::Kernel;
use super::{latin, utf16, utf32};
use crate::encoding::Encoding;

/// Converts between encodings whose code units differ in length, while there is input and output space. Stops at ill-formed
/// input, and at a character that the target does not have. Returns the number of bytes read and the number of bytes
/// written. Output after them may be overwritten. Returns `None` for other encodings.
pub(crate) fn convert(
    from: Encoding,
    to: Encoding,
    input: &[u8],
    output: &mut [u8],
) -> Option<(usize, usize)> {
    convert_by(Kernel::in_use(), from, to, input, output)
}

pub(super) fn convert_by(
    kernel: Kernel,
    from: Encoding,
    to: Encoding,
    input: &[u8],
    output: &mut [u8],
) -> Option<(usize, usize)> {
    use Encoding::{Latin1, Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le, Windows1252};
    let convert = match (from, to) {
        (Utf8, Latin1) => latin::encode::<false>,
        (Utf8, Windows1252) => latin::encode::<true>,
        (Latin1, Utf8) => latin::decode::<false>,
        (Windows1252, Utf8) => latin::decode::<true>,
        (Utf8, Utf16Le) => utf16::encode::<false>,
        (Utf8, Utf16Be) => utf16::encode::<true>,
        (Utf16Le, Utf8) => utf16::decode::<false>,
        (Utf16Be, Utf8) => utf16::decode::<true>,
        (Utf8, Utf32Le) => utf32::encode::<false>,
        (Utf8, Utf32Be) => utf32::encode::<true>,
        (Utf32Le, Utf8) => utf32::decode::<false>,
        (Utf32Be, Utf8) => utf32::decode::<true>,
        (Utf16Le, Utf32Le) => utf32::from_utf16::<false, false>,
        (Utf16Le, Utf32Be) => utf32::from_utf16::<false, true>,
        (Utf16Be, Utf32Le) => utf32::from_utf16::<true, false>,
        (Utf16Be, Utf32Be) => utf32::from_utf16::<true, true>,
        (Utf32Le, Utf16Le) => utf32::to_utf16::<false, false>,
        (Utf32Le, Utf16Be) => utf32::to_utf16::<false, true>,
        (Utf32Be, Utf16Le) => utf32::to_utf16::<true, false>,
        (Utf32Be, Utf16Be) => utf32::to_utf16::<true, true>,
        _ => {
            let units = kernel.units();
            let convert = match (index_of_bytes(from), index_of_units(to)) {
                (Some(bytes), Some(to)) => units.widen[bytes][to],
                _ => units.narrow[index_of_bytes(to)?][index_of_units(from)?],
            };
            // SAFETY: this CPU supports every `Kernel`.
            return Some(unsafe { convert(input, output) });
        }
    };
    Some(convert(kernel, input, output))
}

/// The first index of [`Units`](super::functions::Units).
const fn index_of_bytes(encoding: Encoding) -> Option<usize> {
    match encoding {
        Encoding::Latin1 => Some(0),
        Encoding::Windows1252 => Some(1),
        _ => None,
    }
}

/// The second index of [`Units`](super::functions::Units).
const fn index_of_units(encoding: Encoding) -> Option<usize> {
    match encoding {
        Encoding::Utf16Le => Some(0),
        Encoding::Utf16Be => Some(1),
        Encoding::Utf32Le => Some(2),
        Encoding::Utf32Be => Some(3),
        _ => None,
    }
}
