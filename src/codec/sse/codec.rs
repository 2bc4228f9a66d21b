//! The codec for server-sent events. `stream::SseStream` also uses it.

use core::time::Duration;

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::Decoder;

use super::event::{Event, MESSAGE};
use crate::codec::ending::LineEnding;
use crate::codec::error::{CodecError, LineStart};
use crate::codec::line_reader::LineReader;
use crate::policy::{BomPolicy, ErrorPolicy};
use crate::text::{Counters, TextDecoder};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A codec for server-sent events. It reads [`Event`]s, and writes [`Event`], [`Comment`](super::Comment) and
/// [`Retry`](super::Retry). The [module](super) describes the format.
///
/// # Errors
///
/// - [`CodecError::EventTooLong`] and [`CodecError::LineTooLong`], once, as soon as a limit is exceeded.
/// - [`CodecError::IllFormed`] for each ill-formed line that the policy does not repair, after the line has ended. A
///   line that is truncated by the end of the stream is also validated.
///
/// The event that contains the error is discarded up to the empty line that ends it, because its data would be
/// incomplete. Its other `id` and `retry` fields take effect, so a client that reconnects does not receive the event
/// again. The error of an ill-formed comment is returned, but the event is not discarded. `FramedRead` ends after an
/// `Err`: wrap the codec in [`ErrorsAsItems`](crate::codec::ErrorsAsItems).
///
/// # Limits
///
/// See [`max_line_length`](Self::max_line_length) and [`max_event_length`](Self::max_event_length). The codec holds one
/// event, its ID and at most one line of the read buffer.
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::Decoder;
/// use utf8_codec::codec::SseCodec;
///
/// let mut codec = SseCodec::new().max_event_length(16);
/// let mut buffer = BytesMut::from("id: 1\ndata: na\u{EF}ve\r\rdata: more than 16 bytes\n\ndata: end\n\n");
/// let event = codec.decode(&mut buffer)?.expect("an event");
/// assert_eq!((&*event.data, event.id.as_deref()), ("naïve", Some("1")));
///
/// let error = codec.decode(&mut buffer).unwrap_err();
/// assert_eq!(error.to_string(), "event at line 4, byte 20 is longer than 16 bytes");
/// assert_eq!(codec.decode(&mut buffer)?.expect("an event").data, "end");
/// # Ok::<(), utf8_codec::codec::CodecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SseCodec {
    lines: LineReader,
    /// A copy of the decoder at the start of a stream, for [`restart`](Self::restart).
    text: TextDecoder,
    max_event_length: usize,
    block: Block,
    /// The last `id` field of the event that is being read. It takes effect when the event ends.
    new_id: Option<ByteString>,
    last_event_id: Option<ByteString>,
    retry: Option<Duration>,
    /// Whether `retry` was set after the last event.
    is_new_retry: bool,
}

/// The fields of the event that is being read.
#[derive(Clone, Debug, Default)]
struct Block {
    event: ByteString,
    data: Data,
    /// The start of the first line that is not a comment.
    start: Option<LineStart>,
    /// Whether the event contains an error.
    is_discarded: bool,
}

#[derive(Clone, Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line, a slice of the read buffer.
    Line(ByteString),
    /// Lines joined with LF.
    Lines(String),
}

impl Data {
    /// Returns the length after appending another line, in bytes.
    fn len_with(&self, line: &str) -> usize {
        match self {
            Self::None => line.len(),
            Self::Line(first) => first.len() + 1 + line.len(),
            Self::Lines(lines) => lines.len() + 1 + line.len(),
        }
    }

    fn push(&mut self, line: ByteString) {
        match self {
            Self::None => *self = Self::Line(line),
            Self::Line(first) => {
                let mut lines = String::with_capacity(2 * (first.len() + 1 + line.len()));
                lines.extend([&**first, "\n", &*line]);
                *self = Self::Lines(lines);
            }
            Self::Lines(lines) => lines.extend(["\n", &*line]),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Line(line) => line.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    fn into_text(self) -> Option<ByteString> {
        match self {
            Self::None => None,
            Self::Line(line) => Some(line),
            Self::Lines(lines) => Some(lines.into()),
        }
    }
}

impl Default for SseCodec {
    fn default() -> Self {
        Self::new()
    }
}

impl SseCodec {
    /// The default limit of a line and of an event: 1 MiB.
    pub const DEFAULT_MAX_LENGTH: usize = 1024 * 1024;

    /// Creates a codec with the default limits that replaces ill-formed sequences by U+FFFD, as the standard requires.
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new().on_error(ErrorPolicy::Replace))
    }

    /// Creates a codec with the error policy and the subset of `text`; `TextDecoder::new()` is strict. The BOM policy
    /// is always [`Strip`](BomPolicy::Strip), as the standard requires.
    pub const fn with_decoder(text: TextDecoder) -> Self {
        let text = text.bom(BomPolicy::Strip);
        Self {
            lines: Self::lines(text, Self::DEFAULT_MAX_LENGTH),
            text: text.at(0),
            max_event_length: Self::DEFAULT_MAX_LENGTH,
            block: Block { event: ByteString::new(), data: Data::None, start: None, is_discarded: false },
            new_id: None,
            last_event_id: None,
            retry: None,
            is_new_retry: false,
        }
    }

    const fn lines(text: TextDecoder, max_length: usize) -> LineReader {
        let mut lines = LineReader::new(text);
        lines.ending = LineEnding::Any;
        lines.max_length = max_length;
        lines
    }

    /// Sets the limit of a line in bytes, without its terminator. A longer comment is skipped without an error.
    #[must_use]
    pub const fn max_line_length(mut self, bytes: usize) -> Self {
        self.lines.max_length = bytes;
        self
    }

    /// Sets the limit of an event in bytes: the length of its type and its data.
    #[must_use]
    pub const fn max_event_length(mut self, bytes: usize) -> Self {
        self.max_event_length = bytes;
        self
    }

    /// Returns the last event ID, which a client sends as `Last-Event-ID` when it reconnects. An `id` field takes
    /// effect when its event ends, even if the event has no data. Returns `None` if no `id` field has taken effect yet.
    /// An empty ID resets it: then a client sends no header.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Returns the reconnection time from the last valid `retry` field. A number of milliseconds that does not fit in a
    /// `u64` becomes `u64::MAX`.
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Returns the absolute offset, in bytes, up to which the stream was read or discarded.
    pub const fn offset(&self) -> u64 {
        self.lines.text.offset()
    }

    /// Returns the number of ill-formed sequences so far. In a rejected line only the first one is counted.
    pub const fn counters(&self) -> Counters {
        self.lines.text.counters()
    }

    /// Starts another stream after a reconnection. The offset and the counters are reset to 0. The settings, the
    /// reconnection time and the last event ID are kept. The ID stays until the new stream sets another one.
    pub fn restart(&mut self) {
        self.lines = Self::lines(self.text, self.lines.max_length);
        self.discard_event();
        self.is_new_retry = false;
    }

    /// Discards the event that is being read, with its `id` field.
    fn discard_event(&mut self) {
        self.block = Block::default();
        self.new_id = None;
    }

    /// Returns `src` without the BOM, or without the first bytes of what may be the BOM, at the start of a stream.
    #[inline]
    fn unmarked<'s>(&self, src: &'s [u8]) -> &'s [u8] {
        if !self.lines.text.is_at_start() {
            return src;
        }
        let marked = src.iter().zip(BOM).take_while(|(byte, bom)| byte == bom).count();
        if marked == src.len().min(BOM.len()) { &src[marked..] } else { src }
    }

    /// Reads the first `data` line of an event, which is the most frequent line. It creates one slice of the buffer.
    /// [`line`](Self::line) would create two: one of the line and one of the value. Returns `false` and reads nothing
    /// if the line is not such a line, is ill-formed or exceeds a limit.
    fn take_data(&mut self, src: &mut BytesMut, length: usize, terminator: usize, start: LineStart) -> bool {
        let Some(value) = src[..length].strip_prefix(b"data:") else { return false };
        let skipped = length - value.strip_prefix(b" ").unwrap_or(value).len();
        let is_first = matches!(self.block.data, Data::None) && !self.block.is_discarded;
        if !is_first || length - skipped + self.block.event.len() > self.max_event_length {
            return false;
        }
        let Some(value) = self.lines.take_after(skipped, src, length, terminator) else { return false };
        self.block.start.get_or_insert(start);
        self.block.data = Data::Line(value);
        true
    }

    /// Processes a line without an error. Returns the event if the line ends one.
    fn line(&mut self, line: ByteString, start: LineStart) -> Result<Option<Event>, CodecError> {
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        if name.is_empty() {
            return Ok(None);
        }
        self.block.start.get_or_insert(start);
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" if !self.block.is_discarded => {
                self.check_length(self.block.data.len_with(value) + self.block.event.len())?;
                let value = line.slice_ref(value);
                self.block.data.push(value);
            }
            "event" if !self.block.is_discarded => {
                self.check_length(self.block.data.len() + value.len())?;
                self.block.event = line.slice_ref(value);
            }
            // A copy, because the ID is kept and a slice would keep the memory of the read buffer alive.
            "id" if !value.contains('\0') => self.new_id = Some(String::from(value).into()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = Some(Duration::from_millis(value.parse().unwrap_or(u64::MAX)));
                self.is_new_retry = true;
            }
            _ => {}
        }
        Ok(None)
    }

    /// Returns an error and discards the event if `length`, its length with the next field, is above the limit.
    fn check_length(&mut self, length: usize) -> Result<(), CodecError> {
        if length <= self.max_event_length {
            return Ok(());
        }
        let limit = self.max_event_length;
        let event = self.block.start.unwrap_or_else(|| self.lines.line());
        debug!(offset = event.offset, limit, "event too long");
        self.block = Block { is_discarded: true, ..Block::default() };
        Err(CodecError::EventTooLong { event, limit })
    }

    /// Ends the event at an empty line.
    fn dispatch(&mut self) -> Option<Event> {
        if self.new_id.is_some() {
            self.last_event_id = self.new_id.take();
        }
        let block = core::mem::take(&mut self.block);
        let data = block.data.into_text()?;
        let event = if block.event.is_empty() { ByteString::from_static(MESSAGE) } else { block.event };
        let retry = self.retry.filter(|_| core::mem::take(&mut self.is_new_retry));
        trace!(offset = self.offset(), length = data.len(), "event");
        Some(Event { event, data, id: self.last_event_id.clone(), retry })
    }
}

impl Decoder for SseCodec {
    type Item = Event;
    type Error = CodecError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Event>, CodecError> {
        loop {
            if !self.lines.start_line(src) {
                return Ok(None);
            }
            let start = self.lines.line();
            let is_comment = self.unmarked(src).first() == Some(&b':');
            // Every event ends with an empty line, so an LF at the front is tested before the search.
            let found = if src.first() == Some(&b'\n') { Some((0, 1)) } else { self.lines.find(src) };
            let line = match found {
                // A comment may follow, which has no limit.
                None if self.unmarked(src).is_empty() => return Ok(None),
                None => self.lines.await_terminator(src).map(|()| None),
                Some((0, terminator)) if self.lines.take_empty(src, terminator) => {
                    if let Some(event) = self.dispatch() {
                        return Ok(Some(event));
                    }
                    continue;
                }
                Some((length, terminator)) => {
                    if self.take_data(src, length, terminator, start) {
                        continue;
                    }
                    self.lines.take(src, length, terminator)
                }
            };
            match line {
                Ok(None) => return Ok(None),
                Ok(Some(line)) => {
                    if let Some(event) = self.line(line, start)? {
                        return Ok(Some(event));
                    }
                }
                Err(CodecError::LineTooLong { .. }) if is_comment => {}
                Err(error) => {
                    if !is_comment {
                        self.block = Block { is_discarded: true, ..Block::default() };
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Same as [`decode`](Decoder::decode). An unfinished line and an unfinished event are discarded.
    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Event>, CodecError> {
        let decoded = self.decode(src);
        self.lines.end_discarded(src);
        if matches!(decoded, Ok(Some(_))) {
            return decoded;
        }
        if self.lines.find(src).is_none() {
            // The event ends with the stream. It ends even if an error in it is returned only now, because `FramedRead`
            // does not call `decode_eof` again after an error.
            self.discard_event();
        }
        decoded?;
        while self.lines.decode_eof(src)?.is_some() {}
        Ok(None)
    }
}
