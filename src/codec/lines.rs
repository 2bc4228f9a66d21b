//! Codec for lines of text.

use std::io;

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::{Decoder, Encoder};

use super::error::CodecError;
use super::items::Items;
use super::line_reader::{DEFAULT_MAX_LENGTH, LineReader, NDJSON_MAX_LENGTH};
use super::whole_text::Json;
use crate::json::JsonStrings;
use crate::line_ending::LineEnding;
use crate::text::{Counters, TextDecoder};

/// A codec for lines of text. An item is one line without its terminator. It is a slice of the read buffer, or a copy
/// if a part of it was repaired, if the BOM policy may apply to it, or if a [subset](TextDecoder::with_subset) is adopted.
///
/// A slice keeps the read buffer alive, and `String::from(line)` is a copy that does not. The copy makes a line of 80 bytes
/// take 1.6 times as long, and one of 4 KiB 1.2 times.
///
/// # Limits
///
/// A line may have [`DEFAULT_MAX_LENGTH`](Self::DEFAULT_MAX_LENGTH) bytes unless
/// [`with_max_length`](Self::with_max_length) sets another limit. It limits the bytes that are read: a policy may make
/// the text longer, `Escape` by a factor of 4 ([`ErrorPolicy::max_output_len`](crate::ErrorPolicy::max_output_len)).
/// [`with_max_text_length`](Self::with_max_text_length) limits the text that is returned. **Without a limit a peer that
/// never sends a terminator makes the read buffer grow until memory is exhausted.** The terminator is not counted. A
/// line that is longer is reported once, even if its end has not arrived, and is discarded in constant memory up to its
/// terminator. The lines after it are read normally.
///
/// # Errors
///
/// An item is [`CodecError::LineTooLong`] for a line that is longer than a limit, and [`CodecError::IllFormed`] for an
/// ill-formed line, if the policy does not repair it. The latter is returned after the terminator has arrived. It contains
/// the first ill-formed sequence, the start of the line, and the line itself in `rejected`. The codec is then positioned
/// after the line, and `FramedRead` continues with the next one: wrap the codec in [`FailFast`](crate::codec::FailFast) to
/// end at the first error. The last line of a stream needs no terminator. If it ends inside a sequence, the kind of the
/// error is [`Truncated`](crate::ErrorKind::Truncated).
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::{Decoder, Encoder};
/// use utf8_codec::codec::Utf8LinesCodec;
///
/// let mut codec = Utf8LinesCodec::new();
/// let mut buffer = BytesMut::from("gr\u{FC}n\r\nro");
/// assert_eq!(codec.decode(&mut buffer)?.transpose()?.as_deref(), Some("grün"));
/// assert!(codec.decode(&mut buffer)?.is_none());
///
/// codec.encode("blau", &mut buffer)?;
/// assert_eq!(&buffer[..], b"roblau\n");
/// assert!(codec.encode("two\nlines", &mut buffer).is_err());
///
/// buffer.extend_from_slice(b"d\xFF\n");
/// codec.decode(&mut buffer)?.transpose()?;
/// let error = codec.decode(&mut buffer)?.unwrap().unwrap_err();
/// assert_eq!(error.to_string(), "line 3, column 2: ill-formed UTF-8 at byte 15 (InvalidLead, 1 byte)");
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct Utf8LinesCodec {
    pub(super) reader: LineReader,
}

default_is_new!(Utf8LinesCodec);

impl Utf8LinesCodec {
    /// The default limit of a line: 64 KiB.
    pub const DEFAULT_MAX_LENGTH: usize = DEFAULT_MAX_LENGTH;
    /// The limit of a line of [`ndjson`](Self::ndjson): 1 MiB.
    pub const NDJSON_MAX_LENGTH: usize = NDJSON_MAX_LENGTH;

    /// Creates a strict codec with the default limit that keeps the BOM.
    pub const fn new() -> Self {
        Self { reader: LineReader::strict() }
    }

    /// Creates a codec with the policies of `text`.
    pub const fn with_decoder(text: TextDecoder) -> Self {
        Self { reader: LineReader::new(text) }
    }

    /// Creates a codec for JSON in lines: NDJSON, JSON Lines, and JSON-RPC over standard input and output (MCP). It is
    /// the same as [`new`](Self::new) with a limit of 1 MiB, because a line contains a whole document.
    ///
    /// ```
    /// use utf8_codec::codec::Utf8LinesCodec;
    /// # use bytes::BytesMut;
    /// # use tokio_util::codec::Decoder;
    ///
    /// let message = format!("{{\"result\":\"{}\"}}\n", "日".repeat(33_000));
    /// let line = Utf8LinesCodec::ndjson().decode(&mut BytesMut::from(&*message))?.transpose()?;
    /// assert_eq!(line.as_deref(), Some(message.trim_end()));
    /// # std::io::Result::Ok(())
    /// ```
    pub const fn ndjson() -> Self {
        Self::new().with_max_length(NDJSON_MAX_LENGTH)
    }

    /// Sets the limit of a line that is read, in bytes. `usize::MAX` means no limit: see [Limits](#limits).
    #[must_use]
    pub const fn with_max_length(mut self, bytes: usize) -> Self {
        self.reader.max_length = bytes;
        self
    }

    /// Limits the length of a line after repair, in bytes. Unlimited by default: see [Limits](#limits). A longer text
    /// is reported as a line that is too long.
    ///
    /// ```
    /// use utf8_codec::codec::{CodecError, Utf8LinesCodec};
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    /// # use bytes::BytesMut;
    /// # use tokio_util::codec::Decoder;
    ///
    /// let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    /// let mut codec = Utf8LinesCodec::with_decoder(replace).with_max_length(5).with_max_text_length(5);
    /// let mut buffer = BytesMut::from(&b"gr\xFCn\n\xFF\xFF\n"[..]);
    /// assert!(matches!(codec.decode(&mut buffer)?, Some(Err(CodecError::LineTooLong { limit: 5, .. }))));
    /// assert!(matches!(codec.decode(&mut buffer)?, Some(Err(CodecError::LineTooLong { limit: 5, .. }))));
    /// # std::io::Result::Ok(())
    /// ```
    #[must_use]
    pub const fn with_max_text_length(mut self, bytes: usize) -> Self {
        self.reader.max_text_length = bytes;
        self
    }

    /// Also checks the escapes in the strings of [JSON](crate::json), in lines (NDJSON). A line with an escape that is not
    /// accepted is ill-formed, or is copied if the policy replaces it.
    ///
    /// ```
    /// use utf8_codec::codec::Utf8LinesCodec;
    /// use utf8_codec::json::JsonStrings;
    /// # use bytes::BytesMut;
    /// # use tokio_util::codec::Decoder;
    ///
    /// let mut codec = Utf8LinesCodec::ndjson().with_json_strings(JsonStrings::new());
    /// let mut buffer = BytesMut::from("{\"a\":\"\\uD83D\\uDE00\"}\n{\"a\":\"\\uD83D\"}\n");
    /// assert!(codec.decode(&mut buffer)?.unwrap().is_ok());
    /// let error = codec.decode(&mut buffer)?.unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "line 2, column 7: ill-formed escape at byte 27 (UnpairedSurrogate, 6 bytes)");
    /// # std::io::Result::Ok(())
    /// ```
    #[must_use]
    pub const fn with_json_strings(mut self, strings: JsonStrings) -> Self {
        self.reader.json = Some(Json::new(strings));
        self
    }

    /// Sets the line terminator.
    #[must_use]
    pub const fn with_line_ending(mut self, ending: LineEnding) -> Self {
        self.reader.ending = ending;
        self
    }

    /// Applies the [`BomPolicy`](crate::BomPolicy) of the decoder to each line, and not only to the first one. Some programs
    /// write a BOM before each record.
    ///
    /// ```
    /// use utf8_codec::codec::Utf8LinesCodec;
    /// use utf8_codec::{BomPolicy, TextDecoder};
    /// # use bytes::BytesMut;
    /// # use tokio_util::codec::Decoder;
    ///
    /// let strip = TextDecoder::new().with_bom_policy(BomPolicy::Strip);
    /// let mut codec = Utf8LinesCodec::with_decoder(strip).with_bom_in_each_line(true);
    /// let mut buffer = BytesMut::from("\u{FEFF}{}\n\u{FEFF}[]\n");
    /// assert_eq!(codec.decode(&mut buffer)?.unwrap()?, "{}");
    /// assert_eq!(codec.decode(&mut buffer)?.unwrap()?, "[]");
    /// # std::io::Result::Ok(())
    /// ```
    #[must_use]
    pub const fn with_bom_in_each_line(mut self, apply: bool) -> Self {
        self.reader.bom_in_each_line = apply;
        self
    }

    /// Returns the absolute offset, in bytes, up to which the stream was returned, reported or discarded.
    pub const fn offset(&self) -> u64 {
        self.reader.text.offset()
    }

    /// Returns the number of ill-formed sequences so far. In a rejected line only the first one is counted.
    pub const fn counters(&self) -> Counters {
        self.reader.text.counters()
    }
}

impl Items for Utf8LinesCodec {
    type Item = ByteString;

    #[inline]
    fn next_item(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        self.reader.decode(src)
    }

    fn next_at_end(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        self.reader.decode_eof(src)
    }
}

impl_decoder!(Utf8LinesCodec);

impl<T: AsRef<str>> Encoder<T> for Utf8LinesCodec {
    type Error = io::Error;

    /// Writes a line and its terminator.
    ///
    /// # Errors
    ///
    /// Returns [`CodecError::EmbeddedTerminator`], in an `io::Error`, if a peer would read more than one line, or not all
    /// of the line because it ends with CR. Nothing is written then. Under [`LineEnding::Lf`] a CR is part of the line.
    fn encode(&mut self, line: T, dst: &mut BytesMut) -> io::Result<()> {
        self.reader.encode(line.as_ref().as_bytes(), dst)
    }
}
