//! What an error says about two encodings.

use core::fmt;

use super::{Encoding, Transcoder};
use crate::error::{ByteCount, ErrorKind, Utf8Error};

impl Transcoder {
    /// An error of this transcoder in words, with the names of its encodings: the `Display` of [`Utf8Error`] speaks of
    /// UTF-8, which this input need not have been. Payload bytes are not shown.
    ///
    /// ```
    /// use utf8_codec::transcode::{Encoding, Transcoder};
    ///
    /// let mut transcoder = Transcoder::new(Encoding::Utf16Le, Encoding::Latin1);
    /// let mut out = Vec::new();
    /// let error = transcoder.feed(b"a\0\0\xDC", &mut out).unwrap_err();
    /// assert_eq!(
    ///     transcoder.describe(error).to_string(),
    ///     "ill-formed utf-16le at byte 2 (UnpairedSurrogate, 2 bytes)",
    /// );
    /// let error = transcoder.feed("€".encode_utf16().next().unwrap().to_le_bytes().as_ref(), &mut out).unwrap_err();
    /// assert_eq!(
    ///     transcoder.describe(error).to_string(),
    ///     "latin1 cannot hold the character at byte 4 (Unmappable, 2 bytes of utf-16le)",
    /// );
    /// ```
    pub const fn describe(&self, error: Utf8Error) -> impl fmt::Display + fmt::Debug + use<> {
        Described { error, from: self.from(), to: self.to() }
    }
}

#[derive(Debug)]
struct Described {
    error: Utf8Error,
    from: Encoding,
    to: Encoding,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error: Utf8Error { offset, kind, len, .. }, from, to } = *self;
        let len = ByteCount(len.into());
        match kind {
            ErrorKind::Unmappable => write!(f, "{to} cannot hold the character")?,
            ErrorKind::OutsideSubset => write!(f, "character outside the subset")?,
            ErrorKind::MissingBom => write!(f, "no BOM")?,
            ErrorKind::UnexpectedBom => write!(f, "BOM")?,
            _ => return write!(f, "ill-formed {from} at byte {offset} ({kind}, {len})"),
        }
        write!(f, " at byte {offset} ({kind}, {len} of {from})")
    }
}
