//! What was wrong, and where.

use core::fmt;

/// Why bytes are not well-formed.
///
/// The names are those of the Unicode Standard and RFC 3629. [`fmt::Display`] gives the name of the variant, so that
/// a log line, a reply and this page use one vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// A byte that starts no sequence of the encoding: `FE` and `FF` in every one; `F0..=F4` in CESU-8, and `00` as well
    /// in Modified UTF-8.
    InvalidLead,
    /// A continuation byte, `80..=BF`, where a sequence must start.
    UnexpectedContinuation,
    /// A sequence was broken off by a byte that is not a continuation. That byte is not part of the error.
    MissingContinuation,
    /// A longer form than the character needs: `C0`, `C1`, `E0 80..=9F`, `F0 80..=8F` (RFC 3629 §3).
    Overlong,
    /// Half of a UTF-16 surrogate pair: `ED A0..=BF` (RFC 3629 §3).
    Surrogate,
    /// A code point above U+10FFFF: `F4 90..=BF`, `F5..=FD` (RFC 3629 §3).
    AboveMax,
    /// The stream ended inside a sequence.
    Truncated,
    /// A stream that had to start with the BOM `EF BB BF` does not ([`BomPolicy::Require`](crate::BomPolicy)).
    MissingBom,
    /// A stream that must not start with the BOM `EF BB BF` does ([`BomPolicy::Reject`](crate::BomPolicy)).
    UnexpectedBom,
    /// Half of a surrogate pair without its other half, where the encoding writes pairs: UTF-16, CESU-8, Modified UTF-8.
    UnpairedSurrogate,
    /// `FFFE` or `FFFF`, where they were not to occur (ISO/IEC 10646-1 Annex R, Note 3).
    Noncharacter,
    /// A code point that the target encoding cannot hold.
    Unmappable,
    /// A character outside the [adopted subset](crate::Subset).
    OutsideSubset,
}

impl ErrorKind {
    /// Every kind, in the order of their declaration.
    pub const ALL: [Self; 13] = [
        Self::InvalidLead,
        Self::UnexpectedContinuation,
        Self::MissingContinuation,
        Self::Overlong,
        Self::Surrogate,
        Self::AboveMax,
        Self::Truncated,
        Self::MissingBom,
        Self::UnexpectedBom,
        Self::UnpairedSurrogate,
        Self::Noncharacter,
        Self::Unmappable,
        Self::OutsideSubset,
    ];

    /// The name of the variant, for logs and protocols.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidLead => "InvalidLead",
            Self::UnexpectedContinuation => "UnexpectedContinuation",
            Self::MissingContinuation => "MissingContinuation",
            Self::Overlong => "Overlong",
            Self::Surrogate => "Surrogate",
            Self::AboveMax => "AboveMax",
            Self::Truncated => "Truncated",
            Self::MissingBom => "MissingBom",
            Self::UnexpectedBom => "UnexpectedBom",
            Self::UnpairedSurrogate => "UnpairedSurrogate",
            Self::Noncharacter => "Noncharacter",
            Self::Unmappable => "Unmappable",
            Self::OutsideSubset => "OutsideSubset",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One ill-formed sequence: a *maximal subpart* in the sense of Unicode definition D93b.
///
/// It never holds payload bytes, so it can be logged and shown to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Utf8Error {
    /// Absolute position in the stream, in bytes, of the first byte of the ill-formed sequence, even when that
    /// byte came in an earlier chunk. Everything before it is well-formed or was reported before.
    pub offset: u64,
    /// Why it is ill-formed.
    pub kind: ErrorKind,
    /// Bytes in the ill-formed sequence, `1..=3`; `0` only for [`ErrorKind::MissingBom`] before good text. The
    /// byte that broke a sequence is not counted: it is read again as the start of the next one. A whole character
    /// that is refused, and a sequence of an encoding other than UTF-8, may have up to eight.
    pub len: u8,
}

impl Utf8Error {
    /// An error at an absolute offset.
    pub const fn new(offset: u64, kind: ErrorKind, len: u8) -> Self {
        Self { offset, kind, len }
    }
}

/// A number of bytes in words: `1 byte`, `2 bytes`.
pub(crate) struct ByteCount(pub(crate) usize);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Utf8Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ill-formed UTF-8 at byte {} ({}, {})", self.offset, self.kind, ByteCount(self.len.into()))
    }
}

impl core::error::Error for Utf8Error {}
