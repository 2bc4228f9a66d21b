//! Codec for lines in UTF-8 or in a named encoding.

use std::io;

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{CodecError, Utf8LinesCodec};
use utf8_codec::{BomPolicy, ErrorPolicy};

use super::lines::TranscodeLinesCodec;
use super::text::TranscodeCodec;
use crate::detect::{FallbackDecoder, Scope, UnsupportedFallback};
use crate::{Encoding, Transcoder};

/// A codec for the lines of a child process, a serial line or a chat. A line is decoded as UTF-8 or, if it is not
/// UTF-8, from a named encoding, as [`FallbackDecoder`] does with [`Scope::Line`]. An item is one line without its LF
/// or CRLF.
///
/// Input that starts with `FF FE` is UTF-16LE, which PowerShell writes. `BlockingFrames` of `utf8_codec` reads a
/// blocking reader with this codec. A prompt is not a line: to show it, use [`FallbackDecoder`] itself.
///
/// # Errors
///
/// An item is [`CodecError::LineTooLong`] for a line that is longer than the limit. The codec continues after it. Ill-formed
/// text is not an error: it becomes U+FFFD.
///
/// # Limits
///
/// A line may have 64 KiB, without the terminator, unless [`with_max_length`](Self::with_max_length) sets another limit. The
/// rest of a line that is too long is discarded in constant memory.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec_encodings::Encoding;
/// use utf8_codec_encodings::codec::FallbackLinesCodec;
///
/// # tokio_test::block_on(async {
/// let output = &b"\xD0\x9F\xD1\x80\r\n\x8F\xE0\nend"[..];
/// let codec = FallbackLinesCodec::new(Encoding::Ibm866)?;
/// let mut lines = FramedRead::new(output, codec);
/// assert_eq!(lines.next().await.unwrap()??, "Пр");
/// assert_eq!(lines.next().await.unwrap()??, "Пр");
/// assert_eq!(lines.next().await.unwrap()??, "end");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct FallbackLinesCodec {
    decoder: FallbackDecoder,
    lines: Utf8LinesCodec,
    utf_16: TranscodeLinesCodec,
    /// Whether the stream is UTF-16LE, when it is known.
    is_utf_16: Option<bool>,
}

impl FallbackLinesCodec {
    /// Creates a codec for UTF-8 and this encoding.
    ///
    /// # Errors
    ///
    /// Returns an error for an encoding that [`FallbackDecoder::new`] does not accept.
    pub fn new(encoding: Encoding) -> Result<Self, UnsupportedFallback> {
        let units = Transcoder::new(Encoding::Utf16Le, Encoding::Utf8)
            .with_error_policy(ErrorPolicy::Replace)
            .with_bom_policy(BomPolicy::Strip);
        let writing = Transcoder::new(Encoding::Utf8, Encoding::Utf16Le);
        Ok(Self {
            decoder: FallbackDecoder::new(encoding, Scope::Line)?,
            lines: Utf8LinesCodec::new(),
            utf_16: TranscodeCodec::with_transcoders(units, writing).into_lines(),
            is_utf_16: None,
        })
    }

    /// Sets the limit of a line, in bytes of the stream. `usize::MAX` means no limit: a peer that never sends a line end then
    /// makes the read buffer grow until memory is exhausted.
    #[must_use]
    pub fn with_max_length(self, bytes: usize) -> Self {
        Self { lines: self.lines.with_max_length(bytes), utf_16: self.utf_16.with_max_length(bytes), ..self }
    }

    /// Returns the next line. `last` means that the stream has ended, and that no terminator is in the buffer.
    fn next(&mut self, src: &mut BytesMut, last: bool) -> io::Result<Option<<Self as Decoder>::Item>> {
        if self.is_utf_16.is_none() {
            if src.is_empty() || (src[..] == [0xFF] && !last) {
                return Ok(None);
            }
            self.is_utf_16 = Some(src.starts_with(&[0xFF, 0xFE]));
        }
        if self.is_utf_16 == Some(true) {
            let line = if last { self.utf_16.decode_eof(src)? } else { self.utf_16.decode(src)? };
            return match line {
                None => Ok(None),
                Some(Ok(line)) => Ok(Some(Ok(line))),
                Some(Err(CodecError::LineTooLong { limit, rejected })) => {
                    Ok(Some(Err(CodecError::LineTooLong { limit, rejected })))
                }
                Some(Err(other)) => Err(other.into()),
            };
        }
        let line = if last { self.lines.decode_eof(src)? } else { self.lines.decode(src)? };
        Ok(line.map(|line| match line {
            Err(CodecError::IllFormed { rejected, .. }) => {
                Ok(self.decoder.decode_line(&rejected.bytes, !last).into())
            }
            line => line,
        }))
    }
}

impl Decoder for FallbackLinesCodec {
    type Item = Result<ByteString, CodecError>;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        self.next(src, false)
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        match self.next(src, false)? {
            Some(line) => Ok(Some(line)),
            None => self.next(src, true),
        }
    }
}
