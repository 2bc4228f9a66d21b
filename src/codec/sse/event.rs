//! An event and its encoding.

use core::fmt::Write;
use core::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use bytestring::ByteString;

use crate::codec::error::CodecError;
use crate::line_ending::LineEnding;

/// The type of an event without an `event` field.
pub(super) const MESSAGE: &str = "message";

/// A server-sent event.
///
/// ```
/// use core::time::Duration;
/// use utf8_codec::codec::sse::Event;
///
/// let event = Event::new("{}").with_event("done").with_id("42").with_retry(Duration::from_secs(3));
/// assert_eq!(event.to_bytes()?, "event: done\nid: 42\nretry: 3000\ndata: {}\n\n");
/// # Ok::<(), utf8_codec::codec::CodecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Event {
    /// The type of the event. It is `message` if the event has no `event` field. The encoder writes no field for
    /// `message` or an empty type.
    pub event: ByteString,
    /// The `data` lines, joined with LF. The encoder splits the data at each LF, CRLF and CR, and writes one `data`
    /// line for each part. A reader receives LF instead of all three.
    pub data: ByteString,
    /// When read: the last event ID of the stream when the event ended, same as `MessageEvent.lastEventId`. It is
    /// `None` until the first `id` field of the stream, and stays the same until the next one. When written: the `id`
    /// field. For `None` no field is written, so the reader keeps its ID; an empty ID resets it.
    pub id: Option<ByteString>,
    /// When read: the reconnection time, if a `retry` field was received since the previous event. When written: the
    /// `retry` field, in whole milliseconds.
    pub retry: Option<Duration>,
}

impl Event {
    /// Creates an event of type `message`.
    pub fn new(data: impl Into<ByteString>) -> Self {
        Self { event: ByteString::from_static(MESSAGE), data: data.into(), id: None, retry: None }
    }

    /// Sets the type. An empty type becomes `message`.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<ByteString>) -> Self {
        self.event = event.into();
        if self.event.is_empty() {
            self.event = ByteString::from_static(MESSAGE);
        }
        self
    }

    /// Sets the ID.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<ByteString>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the reconnection time.
    #[must_use]
    #[inline]
    pub const fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Returns the encoded event, for a server without `Framed`.
    ///
    /// # Errors
    ///
    /// Same as [`write_to`](Self::write_to).
    #[inline]
    pub fn to_bytes(&self) -> Result<Bytes, CodecError> {
        let mut bytes = BytesMut::new();
        self.write_to(&mut bytes)?;
        Ok(bytes.freeze())
    }

    /// Appends the encoded event to `dst`.
    ///
    /// # Errors
    ///
    /// Returns [`CodecError::InvalidField`] if the type contains CR or LF, or the ID contains CR, LF or NUL. Nothing is
    /// written then.
    #[inline]
    pub fn write_to(&self, dst: &mut BytesMut) -> Result<(), CodecError> {
        let id = self.id.as_deref().unwrap_or_default();
        if let Some(position) = LineEnding::Any.embedded(self.event.as_bytes()) {
            return Err(CodecError::InvalidField { field: "event", position });
        }
        if let Some(position) = id.bytes().position(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(CodecError::InvalidField { field: "id", position });
        }
        dst.reserve(self.event.len() + id.len() + self.data.len() + ROOM_FOR_NAMES);
        if !self.event.is_empty() && self.event != MESSAGE {
            put_line(dst, "event: ", self.event.as_bytes());
        }
        if self.id.is_some() {
            put_line(dst, "id: ", id.as_bytes());
        }
        if let Some(retry) = self.retry {
            put_retry(dst, retry);
        }
        put_lines(dst, "data: ", &self.data);
        dst.put_u8(b'\n');
        Ok(())
    }
}

/// A comment, which readers ignore. Some proxies close a connection without traffic: send a comment every 15 seconds.
///
/// The text is split at each LF, CRLF and CR. Each part is written as one line.
///
/// ```
/// use utf8_codec::codec::sse::Comment;
///
/// assert_eq!(Comment("keep-alive").to_bytes(), ": keep-alive\n\n");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Comment<'t>(pub &'t str);

/// The reconnection time without an event. It is written in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retry(pub Duration);

impl Comment<'_> {
    /// Returns the encoded comment, for a server without `Framed`.
    #[inline]
    pub fn to_bytes(self) -> Bytes {
        let mut bytes = BytesMut::new();
        self.write_to(&mut bytes);
        bytes.freeze()
    }

    /// Appends the comment to `dst`.
    #[inline]
    pub fn write_to(self, dst: &mut BytesMut) {
        put_lines(dst, ": ", self.0);
        dst.put_u8(b'\n');
    }
}

impl Retry {
    /// Returns the encoded field, for a server without `Framed`.
    #[inline]
    pub fn to_bytes(self) -> Bytes {
        let mut bytes = BytesMut::new();
        self.write_to(&mut bytes);
        bytes.freeze()
    }

    /// Appends the field to `dst`.
    #[inline]
    pub fn write_to(self, dst: &mut BytesMut) {
        put_retry(dst, self.0);
        dst.put_u8(b'\n');
    }
}

/// Space for the field names, the line terminators and the digits of `retry` in an event with one `data` line.
const ROOM_FOR_NAMES: usize = 64;

/// Writes a line for each line of `text`. The part after the last terminator is also a line.
#[inline]
fn put_lines(dst: &mut BytesMut, name: &str, text: &str) {
    let mut rest = text.as_bytes();
    while let Some((length, terminator)) = LineEnding::Any.find(rest, 0) {
        put_line(dst, name, &rest[..length]);
        rest = &rest[length + terminator..];
    }
    put_line(dst, name, rest);
}

#[inline]
fn put_line(dst: &mut BytesMut, name: &str, value: &[u8]) {
    dst.put_slice(name.as_bytes());
    dst.put_slice(value);
    dst.put_u8(b'\n');
}

#[inline]
fn put_retry(dst: &mut BytesMut, time: Duration) {
    // Writing to a `BytesMut` never fails.
    let _ = writeln!(dst, "retry: {}", time.as_millis());
}
