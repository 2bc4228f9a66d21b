//! The codec for server-sent events. `stream::SseStream` also uses it.

use core::time::Duration;

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::Decoder;

use super::block::{Block, Data, SMALL_BUFFER};
use super::event::{Event, MESSAGE};
use crate::codec::error::{CodecError, LineStart};
use crate::codec::items::Items;
use crate::codec::line_reader::LineReader;
use crate::codec::whole_text::Json;
use crate::json::JsonStrings;
use crate::line_ending::LineEnding;
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
/// again. The error of an ill-formed comment is returned, but the event is not discarded. Each error is an item, and the
/// stream continues.
///
/// # Limits
///
/// A line and an event may have [`DEFAULT_MAX_LENGTH`](Self::DEFAULT_MAX_LENGTH) bytes each, unless
/// [`with_max_line_length`](Self::with_max_line_length) or [`with_max_event_length`](Self::with_max_event_length) sets
/// another limit. An ID may have [`MAX_ID_LENGTH`](Self::MAX_ID_LENGTH) bytes.
///
/// Between two reads a peer can make a stream hold at most twice the limit of an event and 256 KiB: the event, its ID, the
/// one before it, and small read buffers of which the event is a slice. The read buffer comes on top of that: in `FramedRead`
/// 4 times the limit of a line plus a read, because its capacity doubles; in `SseStream` twice a line plus a chunk. So does
/// the text of a line while it is decoded. A policy may make this text longer than the line.
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::Decoder;
/// use utf8_codec::codec::SseCodec;
///
/// let mut codec = SseCodec::new().with_max_event_length(16);
/// let mut buffer = BytesMut::from("id: 1\ndata: na\u{EF}ve\r\rdata: more than 16 bytes\n\ndata: end\n\n");
/// let event = codec.decode(&mut buffer)?.expect("an event")?;
/// assert_eq!((&*event.data, event.id.as_deref()), ("naïve", Some("1")));
///
/// let error = codec.decode(&mut buffer)?.unwrap().unwrap_err();
/// assert_eq!(error.to_string(), "event at line 4, byte 20, or its ID, is longer than 16 bytes");
/// assert_eq!(codec.decode(&mut buffer)?.expect("an event")?.data, "end");
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct SseCodec {
    lines: LineReader,
    /// A copy of the decoder at the start of a stream, for [`restart`](Self::restart).
    text: TextDecoder,
    /// The limits that were set.
    set_line_length: Option<usize>,
    set_event_length: Option<usize>,
    max_event_length: usize,
    dispatches_at_end: bool,
    /// Whether the stream has ended. If the source resumes, the event that is being read is not continued.
    has_ended: bool,
    /// Whether a read buffer was longer than [`SMALL_BUFFER`].
    has_large_buffer: bool,
    block: Block,
    /// Set if the strings of the data are JSON.
    json: Option<Json>,
    /// The bytes of the event that is being read, if they are returned with it.
    pub(super) record: Option<BytesMut>,
    /// The last `id` field of the event that is being read. It takes effect when the event ends.
    new_id: Option<ByteString>,
    last_event_id: Option<ByteString>,
    retry: Option<Duration>,
    /// Whether `retry` was set after the last event.
    is_new_retry: bool,
}

default_is_new!(SseCodec);

impl SseCodec {
    /// The default limit of a line and of an event: 8 MiB, enough for an image in base64.
    pub const DEFAULT_MAX_LENGTH: usize = 8 * 1024 * 1024;
    /// The limit of an ID: 64 KiB. A client sends the ID in a header field, and servers accept much shorter ones.
    pub const MAX_ID_LENGTH: usize = 64 * 1024;

    /// Creates a codec with the default limits that replaces ill-formed sequences by U+FFFD, as the standard requires.
    #[inline]
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace))
    }

    /// Creates a codec with the error policy and the subset of `text`; `TextDecoder::new()` is strict. The BOM policy
    /// is always [`Strip`](BomPolicy::Strip), as the standard requires.
    #[inline]
    pub const fn with_decoder(text: TextDecoder) -> Self {
        let text = text.with_bom_policy(BomPolicy::Strip);
        Self {
            text: text.restarted_at(0),
            lines: Self::lines(text, Self::DEFAULT_MAX_LENGTH),
            set_line_length: None,
            set_event_length: None,
            max_event_length: Self::DEFAULT_MAX_LENGTH,
            dispatches_at_end: false,
            has_ended: false,
            has_large_buffer: false,
            block: Block::new(false),
            json: None,
            record: None,
            new_id: None,
            last_event_id: None,
            retry: None,
            is_new_retry: false,
        }
    }

    #[inline]
    const fn lines(text: TextDecoder, max_length: usize) -> LineReader {
        let mut lines = LineReader::new(text);
        lines.ending = LineEnding::Any;
        lines.max_length = max_length;
        lines
    }

    /// Sets the limit of a line in bytes, without its terminator. A longer comment is skipped without an error. A limit
    /// above the default is also the limit of an event, unless [`with_max_event_length`](Self::with_max_event_length)
    /// sets it.
    #[must_use]
    #[inline]
    pub const fn with_max_line_length(mut self, bytes: usize) -> Self {
        self.set_line_length = Some(bytes);
        self.with_limits()
    }

    /// Sets the limit of an event in bytes: the length of its type and its data, after the policy was applied. Above the
    /// default, a line may also have this length plus the length of a field name, unless
    /// [`with_max_line_length`](Self::with_max_line_length) sets its limit.
    #[must_use]
    #[inline]
    pub const fn with_max_event_length(mut self, bytes: usize) -> Self {
        self.set_event_length = Some(bytes);
        self.with_limits()
    }

    /// Updates the limits. One that is not set follows the other one upwards.
    #[inline]
    const fn with_limits(mut self) -> Self {
        #[inline]
        const fn or_above_default(set: Option<usize>, other: Option<usize>, room: usize) -> usize {
            match (set, other) {
                (Some(set), _) => set,
                (None, Some(other)) if other > SseCodec::DEFAULT_MAX_LENGTH => other.saturating_add(room),
                (None, _) => SseCodec::DEFAULT_MAX_LENGTH,
            }
        }
        let line = self.set_line_length;
        let event = self.set_event_length;
        self.lines.max_length = or_above_default(line, event, "event: ".len());
        self.max_event_length = or_above_default(event, line, 0);
        self
    }

    /// Ends the last event at the end of the stream, without an empty line. The last line needs no terminator either.
    /// By default, as the standard requires, such an event is discarded, because it may be incomplete. Some servers
    /// do not write the last empty line. A client that reconnects after a lost connection should not set it: an event that
    /// was cut off would be returned, and its ID would take effect. `SseStream` discards such an event if the inner
    /// stream failed.
    ///
    /// ```
    /// # use bytes::BytesMut;
    /// # use tokio_util::codec::Decoder;
    /// use utf8_codec::codec::SseCodec;
    ///
    /// let stream = b"data: {\"usage\":1}\n";
    /// assert!(SseCodec::new().decode_eof(&mut BytesMut::from(&stream[..]))?.is_none());
    /// let event = SseCodec::new().with_dispatch_at_end(true).decode_eof(&mut BytesMut::from(&stream[..]))?;
    /// assert_eq!(event.expect("an event")?.data, "{\"usage\":1}");
    /// # std::io::Result::Ok(())
    /// ```
    #[must_use]
    #[inline]
    pub const fn with_dispatch_at_end(mut self, dispatch: bool) -> Self {
        self.dispatches_at_end = dispatch;
        self
    }

    /// Also checks the escapes in the strings of [JSON](crate::json), in `data` lines. A line with an escape that is not
    /// accepted is ill-formed, or the escape is replaced.
    #[must_use]
    #[inline]
    pub const fn with_json_strings(mut self, strings: JsonStrings) -> Self {
        self.json = Some(Json::new(strings));
        self
    }

    /// Returns the last event ID, which a client sends as `Last-Event-ID` when it reconnects. An `id` field takes
    /// effect when its event ends, even if the event has no data. Returns `None` if no `id` field has taken effect yet.
    /// An empty ID resets it: then a client sends no header.
    #[inline]
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Returns the reconnection time from the last valid `retry` field. A number of milliseconds that does not fit in a
    /// `u64` becomes `u64::MAX`.
    #[inline]
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Returns the absolute offset, in bytes, up to which the stream was read or discarded.
    ///
    /// After an event this is the end of the event: after its empty line, whose CR may be followed by an LF that is
    /// counted with the next line. The bytes before this offset can therefore be forwarded unchanged. After `None` it
    /// is the end of the last whole line, which may be a comment or part of an event.
    ///
    /// ```
    /// use bytes::BytesMut;
    /// use tokio_util::codec::Decoder;
    /// use utf8_codec::codec::SseCodec;
    ///
    /// let (mut codec, mut buffer) = (SseCodec::new(), BytesMut::from(": ping\n\ndata: a\n\ndata: b\nda"));
    /// assert!(codec.decode(&mut buffer)?.is_some());
    /// assert_eq!(codec.offset(), ": ping\n\ndata: a\n\n".len() as u64);
    /// assert!(codec.decode(&mut buffer)?.is_none());
    /// assert_eq!(codec.offset(), ": ping\n\ndata: a\n\ndata: b\n".len() as u64);
    /// # std::io::Result::Ok(())
    /// ```
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.lines.text.offset()
    }

    /// Returns the number of ill-formed sequences so far. In a rejected line only the first one is counted.
    #[inline]
    pub const fn counters(&self) -> Counters {
        self.lines.text.counters()
    }

    /// Starts another stream after a reconnection. The offset and the counters are reset to 0. The settings, the
    /// reconnection time and the last event ID are kept. The ID stays until the new stream sets another one.
    #[inline]
    pub fn restart(&mut self) {
        self.lines = Self::lines(self.text.clone(), self.lines.max_length);
        self.discard_event();
        self.is_new_retry = false;
        self.has_ended = false;
    }

    /// Discards the event that is being read, with its `id` field.
    #[inline]
    fn discard_event(&mut self) {
        self.discard_block(Block::default());
        self.new_id = None;
    }

    #[inline]
    fn discard_block(&mut self, next: Block) {
        self.block = next;
        if let Some(record) = &mut self.record {
            record.clear();
        }
    }

    /// Keeps bytes of the event, if they are returned with it.
    #[inline]
    fn record(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        let Some(record) = &mut self.record else { return Ok(()) };
        if self.block.is_discarded {
            return Ok(());
        }
        let length = record.len() + bytes.len();
        if length <= self.max_event_length {
            record.extend_from_slice(bytes);
        }
        self.check_length(length)
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
    #[inline]
    fn take_data(&mut self, src: &mut BytesMut, length: usize, terminator: usize, start: LineStart) -> bool {
        let Some(value) = src[..length].strip_prefix(b"data:") else { return false };
        let skipped = length - value.strip_prefix(b" ").unwrap_or(value).len();
        let is_first = matches!(self.block.data, Data::None) && !self.block.is_discarded;
        if !is_first
            || self.json.is_some()
            || length - skipped + self.block.event.len() > self.max_event_length
        {
            return false;
        }
        let Some(value) = self.lines.take_line_after(skipped, src, length, terminator) else { return false };
        self.block.start.get_or_insert(start);
        self.block.data = Data::Line(value);
        self.block.has_slices = true;
        true
    }

    /// Processes a line without an error that is not empty.
    #[inline]
    fn line(&mut self, line: ByteString, start: LineStart) -> Result<(), CodecError> {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        if name.is_empty() {
            return Ok(());
        }
        self.block.start.get_or_insert(start);
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" if !self.block.is_discarded => {
                self.check_length(self.block.data.len_with(value) + self.block.event.len())?;
                let value = line.slice_ref(value);
                self.block.data.push(value, self.max_event_length);
                // Only for the first line, so that the type is not copied again for each line.
                self.block.has_slices |= matches!(self.block.data, Data::Line(_));
            }
            "event" if !self.block.is_discarded => {
                self.check_length(self.block.data.len() + value.len())?;
                self.block.event = line.slice_ref(value);
                self.block.has_slices = true;
            }
            // A copy, because the ID is kept and a slice would keep the memory of the read buffer alive.
            "id" if !value.as_bytes().contains(&0) => {
                self.check(value.len(), Self::MAX_ID_LENGTH)?;
                self.new_id = Some(String::from(value).into());
            }
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = Some(Duration::from_millis(value.parse().unwrap_or(u64::MAX)));
                self.is_new_retry = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns an error and discards the event if `length`, its length with the next field, is above the limit.
    #[inline]
    fn check_length(&mut self, length: usize) -> Result<(), CodecError> {
        self.check(length, self.max_event_length)
    }

    #[inline]
    fn check(&mut self, length: usize, limit: usize) -> Result<(), CodecError> {
        if length <= limit {
            return Ok(());
        }
        let event = self.block.start.unwrap_or_else(|| self.lines.line());
        debug!(offset = event.offset, limit, "event too long");
        self.discard_block(Block::new(true));
        Err(CodecError::EventTooLong { event, limit })
    }

    /// Ends the event at an empty line.
    #[inline]
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

    /// Reads up to the end of an event, or with [`record`](Self::record) up to an empty line.
    #[inline]
    fn next(&mut self, src: &mut BytesMut) -> Result<Option<Option<Event>>, CodecError> {
        self.has_large_buffer |= src.capacity() > SMALL_BUFFER;
        let event = self.next_event(src);
        if self.has_large_buffer && matches!(event, Ok(None)) {
            self.block.copy_slices();
        }
        event
    }

    #[inline]
    fn next_event(&mut self, src: &mut BytesMut) -> Result<Option<Option<Event>>, CodecError> {
        loop {
            let before = self.offset();
            let is_at_line = self.lines.start_line(src);
            // An LF after the CR that ended a line was consumed.
            if self.offset() != before {
                self.record(b"\n")?;
            }
            if !is_at_line {
                return Ok(None);
            }
            let start = self.lines.line();
            let is_comment = self.unmarked(src).first() == Some(&b':');
            self.lines.json = self.json.filter(|_| self.unmarked(src).starts_with(b"data"));
            // Every event ends with an empty line, so an LF at the front is tested before the search.
            let mut found = if src.first() == Some(&b'\n') { Some((0, 1)) } else { self.lines.find(src) };
            if let (Some(_), Some((length, terminator))) = (&self.record, &mut found) {
                // The LF after the CR may not have arrived, so it is always read with the next line.
                if src[*length] == b'\r' {
                    *terminator = 1;
                }
                self.record(&src[..*length + *terminator])?;
            }
            let line = match found {
                // A comment may follow, which has no limit.
                None if self.unmarked(src).is_empty() => return Ok(None),
                None => match self.lines.await_terminator(src) {
                    Ok(()) => return Ok(None),
                    Err(error) => Err(error),
                },
                Some((0, terminator)) if self.lines.take_empty(src, terminator) => Ok(ByteString::new()),
                Some((length, terminator)) => {
                    if self.take_data(src, length, terminator, start) {
                        continue;
                    }
                    self.lines.take_line(src, length, terminator)
                }
            };
            match line {
                Ok(line) if line.is_empty() => {
                    let is_returned = self.record.is_some() && !self.block.is_discarded;
                    let event = self.dispatch();
                    if event.is_some() || is_returned {
                        return Ok(Some(event));
                    }
                }
                Ok(line) => self.line(line, start)?,
                Err(CodecError::LineTooLong { .. }) if is_comment && self.record.is_none() => {}
                Err(error) => {
                    self.reject_line(is_comment);
                    return Err(error);
                }
            }
        }
    }

    /// Discards the event of a line with an error, unless the line is a comment that is not returned.
    fn reject_line(&mut self, is_comment: bool) {
        if !is_comment || self.record.is_some() {
            self.discard_block(Block::new(true));
        }
    }

    /// Same as [`next`](Self::next). If the stream resumes after its end, the event before the end is not continued.
    #[inline]
    pub(super) fn next_resumed(&mut self, src: &mut BytesMut) -> Result<Option<Option<Event>>, CodecError> {
        if core::mem::take(&mut self.has_ended) {
            self.discard_event();
        }
        self.next(src)
    }

    /// Reads what is left at the end of the stream: the next event, and then the event that the end of the stream
    /// completes, if such an event is returned. An unfinished line is validated.
    pub(super) fn next_last(&mut self, src: &mut BytesMut) -> Result<Option<Option<Event>>, CodecError> {
        if let Some(event) = self.next(src)? {
            return Ok(Some(event));
        }
        self.lines.end_discarded(src);
        if self.dispatches_at_end {
            self.has_ended = true;
            self.record(src)?;
            return Ok(self.last_event(src)?.map(Some));
        }
        self.discard_event();
        let error = core::iter::from_fn(|| self.lines.decode_eof(src)).find_map(Result::err);
        error.map_or(Ok(None), Err)
    }

    /// Reads the line at the end of the stream that has no terminator, and ends the event.
    #[inline]
    fn last_event(&mut self, src: &mut BytesMut) -> Result<Option<Event>, CodecError> {
        let start = self.lines.line();
        let is_comment = self.unmarked(src).first() == Some(&b':');
        match self.lines.decode_eof(src) {
            Some(Ok(line)) if !line.is_empty() => self.line(line, start)?,
            Some(Ok(_)) | None => {}
            Some(Err(error)) => {
                self.reject_line(is_comment);
                return Err(error);
            }
        }
        Ok(self.dispatch())
    }
}

impl Items for SseCodec {
    type Item = Event;

    fn start(&mut self) {
        self.restart();
    }

    #[inline]
    fn next_item(&mut self, src: &mut BytesMut) -> Option<Result<Event, CodecError>> {
        self.next_resumed(src).map(Option::flatten).transpose()
    }

    /// An unfinished line and an unfinished event are discarded, unless
    /// [`with_dispatch_at_end`](SseCodec::with_dispatch_at_end) is set.
    fn next_at_end(&mut self, src: &mut BytesMut) -> Option<Result<Event, CodecError>> {
        self.next_last(src).map(Option::flatten).transpose()
    }
}

impl_decoder!(SseCodec);
