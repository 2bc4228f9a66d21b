//! The errors of a message, by layer.

use core::fmt;

use utf8_codec::internal::ByteCount;
use utf8_codec::{ErrorKind, Utf8Error};
use utf8_codec_encodings::{Encoding, TranscodeError};

use super::transfer::{TransferError, TransferErrorKind};

utf8_codec::kinds! {
    /// The layers of a message, from the outermost to the innermost.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum MimeLayer {
        /// Headers and delimiters, which determine the parts.
        Structure = "structure",
        /// The transfer encoding, which determines the bytes of a part.
        Transfer = "transfer",
        /// UTF-8 or another charset, which determines the text of the bytes.
        Text = "text",
    }
}

utf8_codec::kinds! {
    /// The kind of an error in the headers and delimiters of a message.
    ///
    /// Some of the kinds are violations of a standard. The others are syntax that mail readers parse differently.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum StructureErrorKind {
        /// A line of a header that is not a field. The header ends before it, as for most readers.
        MalformedHeader,
        /// A header with more bytes than [`MimeSettings::max_header_length`](crate::MimeSettings). The rest of the header
        /// is read as a part of the body, and the body is not checked.
        HeaderTooLarge,
        /// A malformed `Content-Type` (RFC 2045 §5.1). The part before the malformed byte is used.
        MalformedContentType,
        /// `charset` parameters that differ. Readers differ in which one they use. The text is not checked.
        ConflictingCharset,
        /// A `Content-Type` or `Content-Transfer-Encoding` that readers without the full grammar parse differently:
        /// with a comment (except after a type without parts), with white space inside the type, or with a `boundary`
        /// or `charset` in sections or in percent-encoding (RFC 2231). The result of the full grammar is used. This is
        /// also the error for a subtype of `message` that is not registered, because some readers open it as a message.
        ///
        /// Also used for a [`ByteOrderMark`](Self::ByteOrderMark) or a [`SpaceBeforeColon`](Self::SpaceBeforeColon)
        /// after which some readers show a body as text that is ill-formed, or that was not checked. The error then has
        /// the offset of the warning.
        AmbiguousHeader,
        /// A second `Content-Type` or `Content-Transfer-Encoding` with a different value. The first one is used.
        ConflictingHeader,
        /// A `multipart` type without a boundary, with several that differ, or with one that is not 1 to 70 bytes of
        /// printable ASCII without a space at the end (RFC 2046 §5.1.1). Its body is not checked.
        InvalidBoundary,
        /// A `multipart` body that ended before its first delimiter. It has no parts.
        MissingFirstBoundary,
        /// A `multipart` body that ended without its closing delimiter. Parts may be missing.
        MissingFinalBoundary,
        /// The boundary of an open `multipart` in a position that readers treat differently: in the middle of a line,
        /// after a bare CR, followed by bytes other than padding, in the delimiter of another `multipart`, or with a
        /// line break other than the one of the first delimiter. If it is a delimiter by RFC 2046 §5.1.1, it is treated
        /// as one; otherwise it is content.
        AmbiguousDelimiter,
        /// A header that ends at a delimiter, without the empty line. Some readers parse the delimiter as a field.
        MissingHeaderEnd,
        /// A message that is the whole body of an attached message. Some readers lose the parts after it.
        NestedMessage,
        /// A `multipart` or `message/rfc822` in a transfer encoding that changes bytes (RFC 2045 §6.4). It is read as
        /// if no encoding were declared.
        EncodedStructure,
        /// More levels of parts than [`MimeSettings::max_depth`](crate::MimeSettings). The body is not checked.
        TooDeep,
        /// More parts than [`MimeSettings::max_parts`](crate::MimeSettings). The rest of the message is not checked.
        TooManyParts,
        /// A line of a header with more bytes than [`MimeSettings::max_line_length`](crate::MimeSettings).
        HeaderLineTooLong,
        /// A NUL in a header, or a CR without LF (RFC 5322 §2.2), reported once for each line. Some readers end the
        /// line or the text there, and find fields that others do not find.
        HeaderControl,
        /// A warning: text with bytes above `7F` in a part that declares no transfer encoding. Without a declaration
        /// the encoding is `7bit`.
        UndeclaredEightBit,
        /// A warning: an encoded word of more than 75 bytes (RFC 2047 §2).
        LongEncodedWord,
        /// A warning: a BOM at the start of the message, which editors write into files. It is skipped. Some readers
        /// find no header after it ([`AmbiguousHeader`](Self::AmbiguousHeader) if their text is not well-formed).
        ByteOrderMark,
        /// A warning: white space between the name of a field and the colon. The syntax is obsolete, but must be
        /// accepted (RFC 5322 §4.5). Some readers end the header before the field
        /// ([`AmbiguousHeader`](Self::AmbiguousHeader) if their text is not well-formed).
        SpaceBeforeColon,
        /// A warning: a `Content-Type` that is empty or has no subtype, such as `text`, or an empty `charset`. It is
        /// read as `text/plain`, or as if there were no `charset` (RFC 2045 §5.2). `multipart` and `message` without a
        /// subtype are a [`MalformedContentType`](Self::MalformedContentType), because some readers open their parts.
        IncompleteContentType,
    }
}

impl StructureErrorKind {
    /// Whether this is a warning: a rule for writers is violated, but no reader shows text that was not checked.
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::UndeclaredEightBit
                | Self::LongEncodedWord
                | Self::ByteOrderMark
                | Self::SpaceBeforeColon
                | Self::IncompleteContentType
        )
    }
}

/// The kind of an error in a message, by layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MimeErrorKind {
    /// An error in the headers and delimiters.
    Structure(StructureErrorKind),
    /// An error in the transfer encoding.
    Transfer(TransferErrorKind),
    /// An error in the text.
    Text(ErrorKind),
}

impl MimeErrorKind {
    /// Returns the name of the kind in its layer, for logs and protocols.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Structure(kind) => kind.as_str(),
            Self::Transfer(kind) => kind.as_str(),
            Self::Text(kind) => kind.as_str(),
        }
    }

    /// Returns the layer.
    pub const fn layer(self) -> MimeLayer {
        match self {
            Self::Structure(_) => MimeLayer::Structure,
            Self::Transfer(_) => MimeLayer::Transfer,
            Self::Text(_) => MimeLayer::Text,
        }
    }

    /// Whether this is a warning: a rule for writers is violated, but no reader shows text that was not checked. A part
    /// with only warnings is ok.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Structure(kind) => kind.is_warning(),
            Self::Transfer(kind) => kind.is_warning(),
            Self::Text(_) => false,
        }
    }
}

impl fmt::Display for MimeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error in a message, of any layer. It contains no bytes of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MimeError {
    /// The offset on the wire of the first byte of the error: in the message, or in the stream of a [`BodyDecoder`].
    ///
    /// [`BodyDecoder`]: crate::BodyDecoder
    pub offset: u64,
    /// The offset in the decoded body, or in the decoded encoded word, in bytes. `None` for headers and delimiters,
    /// which are not encoded.
    pub decoded_offset: Option<u64>,
    /// The kind of the error.
    pub kind: MimeErrorKind,
    /// The length of the error: in decoded bytes in the text layer, in encoded bytes in the transfer layer. `0` in the
    /// structure layer, or if something is missing.
    pub len: u8,
    /// The charset of the text.
    pub(super) charset: Encoding,
}

impl MimeError {
    /// Returns the error of the text layer, if this is one. If the text is encoded, the offset counts decoded bytes.
    pub fn utf8_error(&self) -> Option<Utf8Error> {
        match self.kind {
            MimeErrorKind::Text(kind) => {
                Some(Utf8Error::new(self.decoded_offset.unwrap_or(self.offset), kind, self.len))
            }
            MimeErrorKind::Structure(_) | MimeErrorKind::Transfer(_) => None,
        }
    }

    /// Returns the encoding of the text.
    pub const fn encoding(&self) -> Encoding {
        self.charset
    }

    pub(super) const fn new(offset: u64, decoded_offset: Option<u64>, kind: MimeErrorKind, len: u8) -> Self {
        Self { offset, decoded_offset, kind, len, charset: Encoding::Utf8 }
    }

    pub(super) const fn structure(offset: u64, kind: StructureErrorKind) -> Self {
        Self::new(offset, None, MimeErrorKind::Structure(kind), 0)
    }

    /// Creates the error for ill-formed text at the offset `offset` on the wire.
    pub(super) const fn text(offset: u64, decoded_offset: Option<u64>, error: Utf8Error) -> Self {
        Self::new(offset, decoded_offset, MimeErrorKind::Text(error.kind), error.len)
    }

    /// Creates the error for ill-formed text in another charset.
    pub(super) const fn charset(offset: u64, error: TranscodeError) -> Self {
        Self { charset: error.source_encoding, ..Self::text(offset, Some(error.offset), error.utf8_error()) }
    }
}

impl From<TransferError> for MimeError {
    fn from(error: TransferError) -> Self {
        let TransferError { offset, decoded_offset, kind, len } = error;
        Self::new(offset, Some(decoded_offset), MimeErrorKind::Transfer(kind), len)
    }
}

impl fmt::Display for MimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind.layer() {
            MimeLayer::Structure => "malformed message",
            MimeLayer::Transfer => "malformed transfer encoding",
            MimeLayer::Text => "ill-formed ",
        };
        let charset = if self.kind.layer() == MimeLayer::Text { self.charset.title() } else { "" };
        write!(f, "{what}{charset} at byte {} (", self.offset)?;
        if let Some(decoded) = self.decoded_offset {
            write!(f, "decoded byte {decoded}, ")?;
        }
        write!(f, "{}, {})", self.kind, ByteCount(self.len.into()))
    }
}

impl core::error::Error for MimeError {}

#[cfg(feature = "std")]
/// Creates an error of kind [`InvalidData`](std::io::ErrorKind::InvalidData) that wraps the error.
impl From<MimeError> for std::io::Error {
    fn from(error: MimeError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}
