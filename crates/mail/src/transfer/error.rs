//! The errors of the transfer layer.

use core::fmt;

use utf8_codec::internal::ByteCount;

utf8_codec::kinds! {
    /// The kind of an error in an encoded body, independent of the decoded text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum TransferErrorKind {
        /// A byte above `7F` in `7bit`, `quoted-printable` or `base64`. It is decoded as itself, except in base64,
        /// where it is skipped.
        EightBit,
        /// A NUL in `7bit` or `8bit` (RFC 2045 §2.7, §2.8).
        Nul,
        /// A line that is longer than the limit, by default 998 bytes without its line break (RFC 5322 §2.1.1), in
        /// `7bit`, `8bit` or `quoted-printable`. If a transport splits such a line, the line break becomes part of the
        /// text.
        LineTooLong,
        /// A warning: a line of more than 76 bytes in `quoted-printable` or `base64`.
        LongLine,
        /// `quoted-printable`: a `=` without two hexadecimal digits or a line break after it. It is decoded as itself.
        InvalidEscape,
        /// `quoted-printable`: a control character that is neither a tab nor part of a line break (RFC 2045 §6.7). It
        /// is decoded as itself.
        ControlCharacter,
        /// `base64`: a byte that is neither in the alphabet nor white space. It is skipped (RFC 2045 §6.8).
        InvalidSymbol,
        /// `base64`: a group of two or three symbols that is not padded with `=`.
        MissingPadding,
        /// `base64`: a `=` that no group needs as padding.
        UnexpectedPadding,
        /// `base64`: symbols after the padding that ends the data. They are decoded as new data. Some readers stop at
        /// the padding.
        DataAfterPadding,
        /// `base64`: the unused bits of the last symbol are not zero (RFC 4648 §3.5).
        NonZeroBits,
        /// The body ended after the first digit of an escape, or after the first symbol of a group.
        Truncated,
        /// The declared transfer encoding is not one of RFC 2045. The body is not decoded.
        UnknownEncoding,
    }
}

impl TransferErrorKind {
    /// Whether this is a warning: a rule for writers is violated, but all readers decode the same text.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::LongLine)
    }
}

/// An error of the transfer layer. It contains no bytes of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TransferError {
    /// The offset of the first byte of the error, in bytes, in the stream that contains the encoded body.
    pub offset: u64,
    /// The offset in the decoded body, in bytes: of the bytes that the error was decoded to or, if it was skipped or is
    /// white space that may end a line, of the next byte.
    pub decoded_offset: u64,
    /// The kind of the error.
    pub kind: TransferErrorKind,
    /// The length of the error in encoded bytes. `0` if something is missing.
    pub len: u8,
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "malformed transfer encoding at byte {} ({}, {})",
            self.offset,
            self.kind,
            ByteCount(self.len.into())
        )
    }
}

impl core::error::Error for TransferError {}

/// An error without its offset in the decoded body.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireError {
    pub(super) offset: u64,
    pub(super) kind: TransferErrorKind,
    pub(super) len: u8,
}

impl WireError {
    /// Adds the offset in the decoded body.
    pub(super) const fn at(self, decoded_offset: u64) -> TransferError {
        let Self { offset, kind, len } = self;
        TransferError { offset, decoded_offset, kind, len }
    }
}
