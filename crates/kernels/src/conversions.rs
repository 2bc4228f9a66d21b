//! The conversions between UTF-8 and UTF-16, ISO 8859-1 and windows-1252, by their encodings.

use super::dispatch::Kernel;
pub use super::latin::len_in_utf_8;
use super::{latin, utf16};

/// An encoding that a kernel converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// UTF-8.
    Utf8,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// ISO 8859-1.
    Latin1,
    /// windows-1252.
    Windows1252,
}

/// Converts to or from UTF-8 while there is input and output space. Stops at ill-formed input, and at a character that
/// the target does not have. Returns the number of bytes read and the number of bytes written. Output after them may be
/// overwritten. Returns `None` for other pairs.
pub fn convert(from: Form, to: Form, input: &[u8], output: &mut [u8]) -> Option<(usize, usize)> {
    convert_by(Kernel::in_use(), from, to, input, output)
}

pub(crate) fn convert_by(
    kernel: Kernel,
    from: Form,
    to: Form,
    input: &[u8],
    output: &mut [u8],
) -> Option<(usize, usize)> {
    use Form::{Latin1, Utf8, Utf16Be, Utf16Le, Windows1252};
    let convert = match (from, to) {
        (Utf8, Latin1) => latin::encode::<false>,
        (Utf8, Windows1252) => latin::encode::<true>,
        (Latin1, Utf8) => latin::decode::<false>,
        (Windows1252, Utf8) => latin::decode::<true>,
        (Utf8, Utf16Le) => utf16::encode::<false>,
        (Utf8, Utf16Be) => utf16::encode::<true>,
        (Utf16Le, Utf8) => utf16::decode::<false>,
        (Utf16Be, Utf8) => utf16::decode::<true>,
        _ => return None,
    };
    Some(convert(kernel, input, output))
}
