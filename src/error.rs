//! Error types: the kind, the offset and the length of an ill-formed sequence.

use core::fmt;
use core::str::FromStr;

use kernels::grammar::Kind;

kinds! {
    /// Why a sequence is an error.
    ///
    /// The names follow the Unicode Standard and RFC 3629. [`fmt::Display`] writes the name of the variant, so logs,
    /// protocol replies and this page use the same words.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    #[repr(u8)]
    pub enum ErrorKind {
        /// A byte that starts no sequence: `FE` and `FF` in every encoding, `F0..=F4` in CESU-8 and Modified UTF-8,
        /// `00` in Modified UTF-8.
        InvalidLead,
        /// A continuation byte, `80..=BF`, at the start of a sequence.
        UnexpectedContinuation,
        /// A sequence that is interrupted by a byte that is not a continuation byte. The interrupting byte is not part
        /// of the error. In UTF-7, base64 at the end of a shift that does not complete a code unit, or that leaves bits
        /// that are not zero.
        MissingContinuation,
        /// A sequence that is longer than necessary for its character: `C0`, `C1`, `E0 80..=9F`, `F0 80..=8F` (RFC 3629
        /// §3); with sequences of up to 6 bytes (RFC 2279) also `F8 80..=87`, `FC 80..=83`. `C0 80` is U+0000 in
        /// Modified UTF-8.
        Overlong,
        /// Half of a UTF-16 surrogate pair: `ED A0..=BF` (RFC 3629 §3), or the code unit in UTF-32. A whole pair in
        /// WTF-8, if pairs are rejected.
        Surrogate,
        /// A code point above U+10FFFF: `F4 90..=BF`, `F5..=FD` (RFC 3629 §3). In UTF-32, which is read as UCS-4, a
        /// value above 7FFFFFFF.
        AboveMax,
        /// The stream ended inside a sequence.
        Truncated,
        /// The stream does not start with a BOM, but [`BomPolicy::Require`](crate::BomPolicy) is set.
        MissingBom,
        /// The stream starts with a BOM, but [`BomPolicy::Reject`](crate::BomPolicy) is set.
        UnexpectedBom,
        /// A surrogate without the other half of its pair, in an encoding that has surrogate pairs: UTF-16, CESU-8,
        /// Modified UTF-8, UTF-7, and the escapes of JSON.
        UnpairedSurrogate,
        /// U+FFFE or U+FFFF, where they are not allowed (ISO/IEC 10646-1 Annex R, Note 3).
        Noncharacter,
        /// A code point that the target encoding does not have.
        Unmappable,
        /// A sequence of the right form for which the encoding has no character, in the legacy encodings of the Encoding
        /// Standard.
        Unassigned,
        /// A character outside the [adopted subset](crate::Subset).
        OutsideSubset,
        /// A character of which some bytes are percent-encoded and others are not, in a urlencoded form. Some programs
        /// decode the text before the escapes, so they find ill-formed bytes.
        PartlyEscaped,
        /// `\u` without four hexadecimal digits, in [JSON](crate::json).
        IncompleteEscape,
    }
}

const KIND_NAMES: [&str; ErrorKind::ALL.len()] = names_of!(ErrorKind, as_str);

impl ErrorKind {
    /// Returns the kind that a grammar names.
    #[inline]
    #[doc(hidden)]
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::InvalidLead => Self::InvalidLead,
            Kind::UnexpectedContinuation => Self::UnexpectedContinuation,
            Kind::MissingContinuation => Self::MissingContinuation,
            Kind::Overlong => Self::Overlong,
            Kind::Surrogate => Self::Surrogate,
            Kind::AboveMax => Self::AboveMax,
            Kind::Truncated => Self::Truncated,
        }
    }
}

impl FromStr for ErrorKind {
    type Err = UnknownName;

    /// Parses the name of a variant.
    ///
    /// ```
    /// use utf8_codec::ErrorKind;
    ///
    /// assert_eq!("Overlong".parse(), Ok(ErrorKind::Overlong));
    /// assert!("overlong".parse::<ErrorKind>().is_err());
    /// ```
    #[inline]
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let unknown = UnknownName::new("kind of error", &KIND_NAMES);
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name).ok_or(unknown)
    }
}

/// The error for text that is not the name of an [`ErrorKind`], a policy or a line ending. `Display` lists the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    known: &'static [&'static str],
}

impl UnknownName {
    #[doc(hidden)]
    #[inline]
    pub const fn new(what: &'static str, known: &'static [&'static str]) -> Self {
        Self { what, known }
    }
}

impl fmt::Display for UnknownName {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {}; known are ", self.what)?;
        for (index, name) in self.known.iter().enumerate() {
            write!(f, "{}{name}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownName {}

/// One ill-formed sequence: a *maximal subpart* (Unicode definition D93b).
///
/// A byte that cannot continue any well-formed text is reported by the call that receives it. A stream that ends inside
/// a character is reported once, as [`ErrorKind::Truncated`].
///
/// The error contains no bytes of the input, so it can be logged and sent to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Utf8Error {
    /// The offset in the stream of the first byte of the ill-formed sequence. The byte may have come in an earlier
    /// chunk. Every byte before it was well-formed or reported.
    pub offset: u64,
    /// Why the sequence is an error.
    pub kind: ErrorKind,
    /// The number of bytes of the ill-formed sequence, 1 to 3. A byte that interrupts the sequence is not counted,
    /// because the next sequence starts with it.
    ///
    /// It is 0 for [`ErrorKind::MissingBom`] before well-formed text. It is up to 8 for a whole character that is
    /// rejected ([`ErrorKind::OutsideSubset`], [`ErrorKind::Unmappable`]), and for encodings other than UTF-8. For escapes
    /// of JSON it is the length of the escapes, up to 12.
    pub len: u8,
    form: Form,
}

/// How the sequence represents a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Utf8,
    /// In another encoding.
    Encoding,
    /// As an escape of JSON.
    Escape,
}

const _: () = assert!(size_of::<Utf8Error>() <= 16);

impl Utf8Error {
    /// Creates an error at an absolute offset.
    #[inline]
    pub const fn new(offset: u64, kind: ErrorKind, len: u8) -> Self {
        Self { offset, kind, len, form: Form::Utf8 }
    }

    /// Creates an error of an escape in [JSON](crate::json).
    #[inline]
    pub const fn escaped(offset: u64, kind: ErrorKind, len: u8) -> Self {
        Self { offset, kind, len, form: Form::Escape }
    }

    /// Returns the error with another offset, for text inside another format.
    #[inline]
    pub const fn with_offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Whether the sequence is an escape in [JSON](crate::json), such as `\uD800`, in text that is well-formed. The
    /// error then has the offset of the backslash.
    #[inline]
    pub const fn is_escaped(&self) -> bool {
        matches!(self.form, Form::Escape)
    }
}

/// Creates an error of a sequence in another encoding, which is displayed as such.
#[inline]
pub const fn in_encoding(offset: u64, kind: ErrorKind, len: u8) -> Utf8Error {
    Utf8Error { offset, kind, len, form: Form::Encoding }
}

/// Creates an error of kind [`InvalidData`](std::io::ErrorKind::InvalidData) that wraps the `Utf8Error`.
/// [`Utf8Error::find`] returns the wrapped error.
#[cfg(feature = "std")]
impl From<Utf8Error> for std::io::Error {
    #[inline]
    fn from(error: Utf8Error) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

/// Displays a number of bytes: `1 byte`, `2 bytes`.
#[derive(Debug)]
pub struct ByteCount(pub usize);

impl fmt::Display for ByteCount {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Utf8Error {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, kind, len, form } = *self;
        let is_escaped = self.is_escaped();
        let len = ByteCount(len.into());
        match kind {
            ErrorKind::OutsideSubset if is_escaped => write!(f, "escape of a character outside the subset")?,
            _ if is_escaped => write!(f, "ill-formed escape")?,
            ErrorKind::OutsideSubset => write!(f, "character outside the subset")?,
            ErrorKind::MissingBom => write!(f, "no BOM")?,
            ErrorKind::UnexpectedBom => write!(f, "BOM")?,
            _ if matches!(form, Form::Encoding) => write!(f, "ill-formed text")?,
            _ => write!(f, "ill-formed UTF-8")?,
        }
        write!(f, " at byte {offset} ({kind}, {len})")
    }
}

impl core::error::Error for Utf8Error {}
