//! Conversions between encodings of one byte per character and the code units of UTF-16 and UTF-32.

use super::dispatch::Kernel;
use crate::encoding::Encoding;

/// A conversion between ISO 8859-1 or windows-1252 and UTF-16 or UTF-32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    is_widening: bool,
    bytes: usize,
    units: usize,
}

impl Conversion {
    /// Returns `None` for other encodings.
    pub(crate) const fn new(from: Encoding, to: Encoding) -> Option<Self> {
        match (index_of_bytes(from), index_of_units(from), index_of_bytes(to), index_of_units(to)) {
            (Some(bytes), _, _, Some(units)) => Some(Self { is_widening: true, bytes, units }),
            (_, Some(units), Some(bytes), _) => Some(Self { is_widening: false, bytes, units }),
            _ => None,
        }
    }

    /// Reads input and writes output while there are both. Stops at a character that the target does not have, and at
    /// ill-formed input. Returns the number of bytes read and the number of bytes written.
    pub(crate) fn run(self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        self.run_by(Kernel::in_use(), input, output)
    }

    pub(super) fn run_by(self, kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        let units = kernel.units();
        let functions = if self.is_widening { &units.widen } else { &units.narrow };
        let convert = functions[self.bytes][self.units];
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { convert(input, output) }
    }
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
