//! Codec for lines of text in other encodings.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use bytestring::ByteString;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::{CodecError, LineStart};
use utf8_codec::internal::{ill_formed, line_start, line_too_long};
use utf8_codec::{Counters, LineEnding};

use super::text::TranscodeCodec;
use crate::error::TranscodeError;
use crate::transcode::SingleByte;
use crate::{Encoding, Transcoder};

/// The default limit of a line, the same as for `Utf8LinesCodec`.
const DEFAULT_MAX_LENGTH: usize = 64 * 1024;

/// The position in the current line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineState {
    /// In a line that is returned when it is complete.
    Line,
    /// After a CR under [`LineEnding::Any`]: an LF here belongs to the terminator.
    AfterCr,
    /// In the rest of a line that was reported as too long.
    Discard,
}

/// A codec for lines of text in another encoding. [`TranscodeCodec::into_lines`] creates it. An item is one line as
/// UTF-8, without its terminator. A terminator is appended to each line that is written.
///
/// # Limits
///
/// The terminator should contain CR or LF. Another [`LineEnding::Ascii`] above `2F` is also found in the second
/// byte of the characters of Shift_JIS, GBK, Big5 and GB 18030, and in ISO-2022-JP, ISO-2022-KR and UTF-7 from `21`. A
/// line of the latter two starts in ASCII.
///
/// A line may have 64 KiB in the other encoding, without the terminator, unless
/// [`with_max_length`](Self::with_max_length) sets another limit. The text may be longer:
/// [`with_max_text_length`](Self::with_max_text_length) limits it. **Without a limit a peer that never sends a
/// terminator makes the read buffer grow until memory is exhausted.** A line that is too long is reported once and
/// discarded in constant memory.
///
/// # Cost
///
/// Besides its conversion, a line allocates a `String` and copies the transcoder. An empty line does neither.
///
/// # Errors
///
/// An item is [`CodecError::LineTooLong`] for a line that is longer than the limit, and [`CodecError::IllFormed`] for an
/// ill-formed line, if the policy does not repair it. The latter is returned after the terminator has arrived. It contains
/// the first ill-formed sequence, the start of the line, and the line itself in `rejected`. The codec is then positioned
/// after the line, so one ill-formed line does not end the session:
///
/// ```
/// # use futures::{SinkExt, StreamExt};
/// # use tokio_util::codec::Framed;
/// use utf8_codec_encodings::codec::TranscodeCodec;
/// use utf8_codec_encodings::Encoding;
///
/// # tokio_test::block_on(async {
/// # let socket = tokio_test::io::Builder::new()
/// #     .read(b"a\0\x3D\xD8\xA9").read(b"\xDC\r\0\n\0b\0\0\xDC\n\0c\0\n\0").write(b"o\0k\0\n\0").build();
/// let codec = TranscodeCodec::new(Encoding::Utf16Le).into_lines();
/// let mut lines = Framed::new(socket, codec);
/// assert_eq!(lines.next().await.unwrap()?.unwrap(), "a💩");
/// let error = lines.next().await.unwrap()?.unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 2, column 3: ill-formed UTF-16LE at byte 12 (UnpairedSurrogate, 2 bytes)",
/// );
/// assert_eq!(lines.next().await.unwrap()?.unwrap(), "c");
/// lines.send("ok").await?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct TranscodeLinesCodec {
    codec: TranscodeCodec,
    ending: LineEnding,
    max_length: usize,
    max_text_length: usize,
    /// The number of bytes at the front of the buffer in which no terminator starts.
    searched: usize,
    /// The number of lines that have ended.
    lines: u64,
    state: LineState,
}

impl TranscodeCodec {
    /// Converts this codec into a [`TranscodeLinesCodec`], which returns lines.
    pub const fn into_lines(self) -> TranscodeLinesCodec {
        TranscodeLinesCodec {
            codec: self,
            ending: LineEnding::LfOrCrLf,
            max_length: DEFAULT_MAX_LENGTH,
            max_text_length: usize::MAX,
            searched: 0,
            lines: 0,
            state: LineState::Line,
        }
    }
}

impl TranscodeLinesCodec {
    /// Sets the limit of a line that is read, in bytes. `usize::MAX` means no limit: see [Limits](#limits).
    #[must_use]
    pub fn with_max_length(self, bytes: usize) -> Self {
        Self { max_length: bytes, ..self }
    }

    /// Sets the limit of the text of a line, in bytes of UTF-8, after a policy was applied to it. By default there is
    /// no limit. A longer text is reported as a line that is too long.
    #[must_use]
    pub fn with_max_text_length(self, bytes: usize) -> Self {
        Self { max_text_length: bytes, ..self }
    }

    /// Sets the line terminator.
    #[must_use]
    pub fn with_line_ending(self, ending: LineEnding) -> Self {
        Self { ending, ..self }
    }

    /// Returns the absolute offset, in bytes, up to which the stream was returned, reported or discarded.
    pub const fn offset(&self) -> u64 {
        self.codec.offset()
    }

    /// Returns the number of decoding errors so far, including those in the rest of a rejected or discarded line.
    pub const fn counters(&self) -> Counters {
        self.codec.counters()
    }

    /// Returns the size and the byte order of the code units. Returns `None` until enough bytes have been read to
    /// detect a BOM.
    fn units(&mut self, src: &[u8], last: bool) -> Option<Units> {
        let reading = &mut self.codec.reading;
        reading.detect(src, last).then(|| Units::of(reading.source()))
    }

    fn line(&self) -> LineStart {
        line_start(self.lines.wrapping_add(1), self.offset())
    }

    fn next(
        &mut self,
        src: &mut BytesMut,
        last: bool,
    ) -> Option<Result<ByteString, CodecError<TranscodeError>>> {
        let units = self.units(src, last)?;
        if self.state == LineState::AfterCr && src.len() >= units.width {
            self.state = LineState::Line;
            if units.ascii(&src[..units.width]) == Some(b'\n') {
                self.skip(src, 0, units.width);
            }
        }
        let found = units.find(self.ending, src, self.searched);
        if self.state == LineState::Discard {
            let Some((length, terminator)) = found else {
                self.skip(src, units.searched(self.ending, src), 0);
                return None;
            };
            self.end_line(units, &src[..length + terminator]);
            self.skip(src, length, terminator);
            return self.next(src, last);
        }
        if let Some((length, terminator)) = found {
            return Some(self.take(units, src, length, terminator, false));
        }
        let length = units.searched(self.ending, src);
        if length > self.max_length {
            let error = line_too_long(self.line(), self.max_length, src);
            self.skip(src, length, 0);
            self.state = LineState::Discard;
            return Some(Err(error));
        }
        self.searched = length;
        None
    }

    /// Decodes the line at the front of `src`. `last` means that the line ends the stream.
    fn take(
        &mut self,
        units: Units,
        src: &mut BytesMut,
        length: usize,
        terminator: usize,
        last: bool,
    ) -> Result<ByteString, CodecError<TranscodeError>> {
        let line = self.line();
        if length > self.max_length {
            let error = line_too_long(line, self.max_length, src);
            self.end_line(units, &src[..length + terminator]);
            self.skip(src, length, terminator);
            if last {
                // A part of a code unit may follow a line that is as long as the limit.
                let _ = finish(&mut self.codec.reading, &mut String::new());
            }
            return Err(error);
        }
        if length == 0 && terminator > 0 && line.offset > 0 && self.codec.reading.pending().is_empty() {
            // After the start of the stream an empty line has no error.
            let passed = self.codec.reading.pass(terminator);
            self.end_line(units, &src[..terminator]);
            src.advance(terminator);
            return passed
                .map(|()| ByteString::new())
                .map_err(|error| ill_formed(error, Bytes::new(), Some(line)));
        }
        // The transcoder is cloned, so that it stays consistent with the buffer if a `tracing` subscriber panics.
        let mut reading = self.codec.reading.clone();
        let mut text = String::new();
        let mut result = feed(&mut reading, &src[..length], &mut text);
        result = result.and(feed_terminator(&mut reading, &src[length..length + terminator], &mut text));
        if last {
            result = result.and(finish(&mut reading, &mut text));
        }
        self.end_line(units, &src[..length + terminator]);
        self.codec.reading = reading;
        let rejected = src.split_to(length + terminator).freeze();
        match result {
            Ok(()) if text.len() > self.max_text_length => {
                Err(line_too_long(line, self.max_text_length, text.as_bytes()))
            }
            Ok(()) => Ok(text.into()),
            Err(error) => Err(ill_formed(error, rejected.slice(..length), Some(line))),
        }
    }

    /// Called before `bytes`, one line, are removed from the buffer. They end with a terminator or with the stream.
    fn end_line(&mut self, units: Units, bytes: &[u8]) {
        self.searched = 0;
        self.lines = self.lines.wrapping_add(1);
        let last = bytes.len().checked_sub(units.width).and_then(|at| units.ascii(&bytes[at..]));
        let after_cr = self.ending == LineEnding::Any && last == Some(b'\r');
        self.state = if after_cr { LineState::AfterCr } else { LineState::Line };
    }

    /// Discards the bytes of a line and its terminator. They are decoded to update the offset and the state of the
    /// transcoder.
    fn skip(&mut self, src: &mut BytesMut, length: usize, terminator: usize) {
        let mut reading = self.codec.reading.clone();
        let mut text = String::new();
        // The errors of a discarded line are not reported.
        let _ = feed(&mut reading, &src[..length], &mut text);
        let _ = feed_terminator(&mut reading, &src[length..length + terminator], &mut text);
        self.codec.reading = reading;
        drop(src.split_to(length + terminator));
        self.searched = 0;
    }

    /// Ends a line that is being discarded at the end of the stream.
    fn end_discarded(&mut self, units: Units, src: &mut BytesMut) {
        if self.state == LineState::Discard {
            let rest = src.len();
            self.end_line(units, &[]);
            self.skip(src, rest, 0);
            let _ = finish(&mut self.codec.reading, &mut String::new());
        }
    }
}

fn embedded(position: usize) -> io::Error {
    CodecError::<TranscodeError>::EmbeddedTerminator { position }.into()
}

/// Decodes all of `bytes`. Returns the first error.
fn feed(reading: &mut Transcoder, bytes: &[u8], text: &mut String) -> Result<(), TranscodeError> {
    let mut rest = bytes;
    let mut result = Ok(());
    loop {
        let before = reading.offset();
        let Err(error) = reading.feed_into(rest, text) else { return result };
        result = result.and(Err(error));
        rest = &rest[reading.offset().wrapping_sub(before) as usize..];
    }
}

/// Ends the stream. Returns the first error.
fn finish(reading: &mut Transcoder, text: &mut String) -> Result<(), TranscodeError> {
    let first = reading.finish_into(text);
    // One unfinished sequence can have several errors: the first is reported.
    if first.is_err() {
        while reading.finish_into(text).is_err() {}
    }
    first
}

/// Moves past a terminator. It is not part of the text, so it is not decoded. It ends an unfinished sequence before it.
/// Returns the first error: the unfinished sequence, or the missing BOM of an empty line.
fn feed_terminator(reading: &mut Transcoder, bytes: &[u8], text: &mut String) -> Result<(), TranscodeError> {
    let mut rest = bytes;
    let mut result = Ok(());
    while !rest.is_empty() && !reading.pending().is_empty() {
        let (taken, ended) = reading.end_sequence(rest, text);
        result = result.and(ended);
        rest = &rest[taken..];
    }
    result.and(reading.pass(rest.len()))
}

impl Decoder for TranscodeLinesCodec {
    type Item = Result<ByteString, CodecError<TranscodeError>>;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        Ok(self.next(src, false))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if let Some(line) = self.next(src, true) {
            return Ok(Some(line));
        }
        let units = self.units(src, true).unwrap_or(Units::of(Encoding::Utf8));
        self.end_discarded(units, src);
        if src.is_empty() {
            let line = Some(self.line());
            let end = finish(&mut self.codec.reading, &mut String::new());
            return Ok(end.err().map(|error| Err(ill_formed(error, src.split().freeze(), line))));
        }
        Ok(Some(self.take(units, src, src.len(), 0, true)))
    }
}

impl<T: AsRef<str>> Encoder<T> for TranscodeLinesCodec {
    type Error = io::Error;

    /// Writes a line and its terminator.
    ///
    /// # Errors
    ///
    /// Returns [`CodecError::EmbeddedTerminator`] if a peer would read more than one line, even if only because the policy
    /// replaces a character by a terminator, or not all of the line because it ends with CR. Returns [`CodecError::IllFormed`]
    /// for a character that the encoding does not have. Both are in an `io::Error`. Nothing is written then.
    fn encode(&mut self, line: T, dst: &mut BytesMut) -> io::Result<()> {
        let line = line.as_ref();
        if let Some(position) = self.ending.embedded(line.as_bytes()) {
            return Err(embedded(position));
        }
        let start = dst.len();
        let written = self.codec.write(line, dst, true)?;
        let units = Units::of(self.codec.written());
        if written.counters().total() > 0
            && let Some(left) = units.embedded(self.ending, &dst[start..])
        {
            // A replacement is or contains a terminator. At the end of the output it belongs to the last character, and
            // elsewhere to the first one that is replaced. Only if the replacements differ may it belong to a later
            // one.
            dst.truncate(start);
            let last = line.char_indices().next_back().map(|(at, _)| at);
            let position = if left == 0 { last } else { self.codec.first_replaced(line) };
            return Err(embedded(position.unwrap_or_default()));
        }
        self.codec.wrote(&written);
        if self.ending == LineEnding::CrLf {
            units.write(b'\r', dst);
        }
        units.write(self.ending.last_byte(), dst);
        Ok(())
    }
}

/// The code units of an encoding, for the search for ASCII characters.
#[derive(Clone, Copy, Debug)]
struct Units {
    /// The length of a unit in bytes.
    width: usize,
    is_big_endian: bool,
    /// Set if ASCII characters have other bytes than in ASCII.
    table: Option<&'static SingleByte>,
}

impl Units {
    fn of(encoding: Encoding) -> Self {
        let (width, is_big_endian) = match encoding {
            Encoding::Utf16Le => (2, false),
            Encoding::Utf16Be => (2, true),
            Encoding::Utf32Le => (4, false),
            Encoding::Utf32Be => (4, true),
            // In every other encoding CR and LF are never a part of another character.
            _ => (1, false),
        };
        Self { width, is_big_endian, table: SingleByte::without_ascii(encoding) }
    }

    /// Returns the ASCII value of a unit. Returns `None` if it is not ASCII.
    fn ascii(self, unit: &[u8]) -> Option<u8> {
        if let Some(table) = self.table {
            return table.unit(*unit.first()?).and_then(|unit| u8::try_from(unit).ok()).filter(u8::is_ascii);
        }
        let (&low, high) = if self.is_big_endian { unit.split_last()? } else { unit.split_first()? };
        (low.is_ascii() && high.iter().all(|&byte| byte == 0)).then_some(low)
    }

    fn write(self, byte: u8, dst: &mut BytesMut) {
        let byte = self.table.and_then(|table| table.byte(byte.into())).unwrap_or(byte);
        let zeros = self.width - 1;
        if self.is_big_endian {
            dst.put_bytes(0, zeros);
        }
        dst.put_u8(byte);
        if !self.is_big_endian {
            dst.put_bytes(0, zeros);
        }
    }

    /// Same as [`LineEnding::embedded`], in whole units. Returns the number of bytes after the unit.
    fn embedded(self, ending: LineEnding, line: &[u8]) -> Option<usize> {
        let mut left = line.len();
        line.chunks_exact(self.width).find_map(|unit| {
            left -= self.width;
            let character = self.ascii(unit)?;
            let is_terminator = match ending {
                LineEnding::LfOrCrLf => character == b'\n' || (character == b'\r' && left == 0),
                LineEnding::CrLf | LineEnding::Any => matches!(character, b'\r' | b'\n'),
                _ => character == ending.last_byte(),
            };
            is_terminator.then_some(left)
        })
    }

    /// Same as [`LineEnding::find`], in whole units.
    fn find(self, ending: LineEnding, src: &[u8], searched: usize) -> Option<(usize, usize)> {
        let width = self.width;
        if width == 1 && self.table.is_none() {
            return ending.find(src, searched);
        }
        let mut after_cr = false;
        for (i, unit) in src.get(searched..)?.chunks_exact(width).enumerate() {
            let at = searched + i * width;
            let character = self.ascii(unit);
            let is_last_byte = character == Some(ending.last_byte());
            match ending {
                LineEnding::LfOrCrLf | LineEnding::CrLf if is_last_byte && after_cr => {
                    return Some((at - width, 2 * width));
                }
                LineEnding::CrLf => {}
                LineEnding::Any if character == Some(b'\r') => {
                    let next = src.get(at + width..at + 2 * width);
                    let is_crlf = next.is_some_and(|next| self.ascii(next) == Some(b'\n'));
                    return Some((at, if is_crlf { 2 * width } else { width }));
                }
                _ if is_last_byte => return Some((at, width)),
                _ => {}
            }
            after_cr = character == Some(b'\r');
        }
        None
    }

    /// Returns the number of bytes at the front of `src` in which no terminator starts. `src` contains no complete
    /// terminator.
    fn searched(self, ending: LineEnding, src: &[u8]) -> usize {
        let whole = src.len() - src.len() % self.width;
        let last = whole.checked_sub(self.width).and_then(|at| self.ascii(&src[at..whole]));
        let may_start = matches!(ending, LineEnding::LfOrCrLf | LineEnding::CrLf) && last == Some(b'\r');
        if may_start { whole - self.width } else { whole }
    }
}
