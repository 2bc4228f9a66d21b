//! The names of the transfer encodings.

use crate::plain::trim_blanks;

utf8_codec::kinds! {
    /// The transfer encodings of RFC 2045 §6.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum TransferEncoding {
        /// Lines of at most 998 ASCII bytes (§2.7). This is the default if no encoding is declared (§6.1).
        #[default]
        SevenBit = "7bit",
        /// Lines of at most 998 bytes (§2.8).
        EightBit = "8bit",
        /// Any bytes (§2.9).
        Binary = "binary",
        /// Printable ASCII with escapes `=XX` (§6.7).
        QuotedPrintable = "quoted-printable",
        /// Groups of four symbols for three bytes (§6.8).
        Base64 = "base64",
    }
}

impl TransferEncoding {
    /// Returns the encoding with this name. Case, and white space and folds around the name, are ignored. Returns
    /// `None` for any other name.
    pub fn for_name(name: &[u8]) -> Option<Self> {
        let name = trim_blanks(name);
        Self::ALL.iter().copied().find(|encoding| name.eq_ignore_ascii_case(encoding.as_str().as_bytes()))
    }

    /// Whether each byte is decoded as itself. Only such a body may contain parts (RFC 2045 §6.4).
    pub const fn is_identity(self) -> bool {
        matches!(self, Self::SevenBit | Self::EightBit | Self::Binary)
    }
}
