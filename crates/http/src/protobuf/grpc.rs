//! The messages of a gRPC stream, each with its length before it.

mod compressed;
mod web_text;

use core::fmt;
use std::borrow::Cow;
use std::vec::Vec;

use utf8_codec::Counters;
use utf8_codec::inflate::Inflater;

use super::edit::{Edits, StringEdit};
use super::error::{ProtobufError, ProtobufErrorKind};
use super::strings::{MAX_LENGTH, StringFilter};
use crate::options::Uncheckable;
use utf8_codec::TextDecoder;
pub(crate) use web_text::WebTextFilter;

/// Validates the strings of a gRPC stream: of all messages of one request or response ("gRPC over HTTP/2",
/// `Length-Prefixed-Message`).
///
/// It is a [`StringFilter`] for the body of `application/grpc` or `application/grpc+proto` and, with another
/// [protocol](Self::with_protocol), for the body of gRPC-Web or of a Connect stream. Offsets count from the start of the body.
///
/// ```
/// # // message M { string s = 1; } in a file with the syntax proto3
/// # let bytes = b"\x0A\x1B\x0A\x01f\x22\x0E\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09b\x06proto3";
/// use utf8_codec_http::protobuf::{GrpcFilter, Schema, StringFilter};
///
/// let schema = Schema::from_descriptor_set(bytes)?;
/// let mut body = GrpcFilter::new(StringFilter::new(&schema, "M")?);
/// body.validate(b"\0\0\0\0\x04\x0A\x02\xC3\xA9\0\0\0\0\x03\x0A")?;
/// assert_eq!(body.validate(b"\x01\xFF").unwrap_err().offset, 16);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GrpcFilter {
    message: StringFilter,
    protocol: GrpcProtocol,
    compressed: Uncheckable,
    inflater: Option<Box<Inflater>>,
    /// The bytes of a compressed frame from earlier chunks, if it is held.
    held: Vec<u8>,
    state: State,
    offset: u64,
    failed: Option<ProtobufError>,
}

/// The protocol of a stream, which determines how it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GrpcProtocol {
    /// gRPC over HTTP/2: `application/grpc`. All frames are messages.
    #[default]
    Grpc,
    /// gRPC-Web: `application/grpc-web`. The last frame has the flag `80` and the trailer fields. They are not checked,
    /// because they have the status of the call.
    GrpcWeb,
    /// A stream of Connect: `application/connect+proto`. The last frame has the flag `02` and a text in JSON, which is
    /// checked.
    Connect,
}

impl GrpcProtocol {
    /// Returns the flag of the last frame, or 0.
    const fn end_flag(self) -> u8 {
        match self {
            Self::Grpc => 0,
            Self::GrpcWeb => 0x80,
            Self::Connect => 2,
        }
    }
}

/// The flag of a compressed frame.
const COMPRESSED: u8 = 1;

#[derive(Clone, Copy, Debug)]
enum State {
    /// `read` bytes of the prefix were read. `len` contains the bytes of the length.
    Prefix { read: u8, flag: u8, len: u32 },
    /// In a message or in another text.
    Message { is_last: bool },
    /// `left` bytes are left of a compressed message, whose frame starts at `start`. There were `errors` before it.
    Compressed { start: u64, left: u32, flag: u8, is_text: bool, errors: u64 },
    /// `left` bytes of a frame that is not checked are left.
    Skip { left: u64, is_last: bool },
    /// After the last frame.
    End,
}

const START: State = State::Prefix { read: 0, flag: 0, len: 0 };

/// Returns the state after a frame.
const fn after(is_last: bool) -> State {
    if is_last { State::End } else { START }
}

impl GrpcFilter {
    /// Creates a filter for messages that this filter accepts, with its policies. [`Schema::method`] finds their
    /// type by the path of the request.
    ///
    /// [`Schema::method`]: super::Schema::method
    pub fn new(mut message: StringFilter) -> Self {
        message.restart(0, u64::MAX);
        let protocol = GrpcProtocol::Grpc;
        let compressed = Uncheckable::Reject;
        Self {
            message,
            protocol,
            compressed,
            inflater: None,
            held: Vec::new(),
            state: START,
            offset: 0,
            failed: None,
        }
    }

    /// Sets the protocol.
    #[must_use]
    pub const fn with_protocol(mut self, protocol: GrpcProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets what happens to compressed messages, whose strings cannot be checked. By default they are an error:
    /// [`ProtobufErrorKind::Compressed`].
    #[must_use]
    pub const fn with_compressed_messages(mut self, messages: Uncheckable) -> Self {
        self.compressed = messages;
        self
    }

    /// Inflates and checks compressed messages. The inflater must be for the declared encoding, such as `Deflate::gzip` of
    /// [`utf8_codec::inflate`] for `grpc-encoding: gzip`, and keep nothing from one message to the next.
    ///
    /// Set its limits to the longest message that the reader accepts, which is 4 MiB for most. They apply under every
    /// policy, and the limit of the length also to the compressed message. An error has the offset of the frame in the body
    /// ([`ProtobufError::offset`]) and the offset [in the inflated message](ProtobufError::inflated_offset).
    ///
    /// A strict filter forwards a message while it is inflated. With a policy that repairs it is held until its end: a message
    /// without errors is then forwarded as it came, and another one repaired, not compressed, with its new length. A message
    /// without any bytes has no text, and is forwarded.
    #[must_use]
    pub fn with_inflater(self, inflater: Inflater) -> Self {
        Self { inflater: Some(Box::new(inflater)), ..self }
    }

    /// Validates the next bytes of the body, same as [`StringFilter::validate`].
    ///
    /// # Errors
    ///
    /// Same as [`StringFilter::validate`].
    #[inline]
    pub fn validate(&mut self, chunk: &[u8]) -> Result<(), ProtobufError> {
        self.feed_with(chunk, |_| {})
    }

    /// Validates the next bytes of the body and calls `edit` for each edit, same as [`StringFilter::feed_with`]. Only a
    /// [compressed message](Self::with_inflater) is held, and may change its length.
    ///
    /// # Errors
    ///
    /// Same as [`StringFilter::validate`].
    pub fn feed_with(&mut self, chunk: &[u8], edit: impl FnMut(StringEdit<'_>)) -> Result<(), ProtobufError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut edits = Edits::new(chunk, edit);
        let result = self.read(chunk, &mut edits);
        match &result {
            Ok(()) => edits.end(),
            Err(error) => {
                (self.offset, self.failed) = (error.offset, Some(error.clone()));
                self.held = Vec::new();
            }
        }
        result
    }

    fn read<F: FnMut(StringEdit<'_>)>(
        &mut self,
        chunk: &[u8],
        edits: &mut Edits<'_, F>,
    ) -> Result<(), ProtobufError> {
        let mut at = 0;
        // Where the frame starts, or the part of it that is in this chunk.
        let mut frame = 0;
        while at < chunk.len() {
            let start = at;
            self.state = match self.state {
                State::Prefix { read: 0, .. } | State::End => {
                    frame = at;
                    let flag = chunk[at];
                    if let Some(kind) = self.flag_error(flag) {
                        edits.pass_up_to(at);
                        return Err(self.message.error(self.offset, kind));
                    }
                    at += 1;
                    State::Prefix { read: 1, flag, len: 0 }
                }
                State::Prefix { read, flag, len } => {
                    let read = read + 1;
                    let len = len << 8 | u32::from(chunk[at]);
                    // The first of the 4 bytes shows that the length is above 2^31 - 1.
                    if read == 2 && u64::from(len) << 24 > MAX_LENGTH {
                        edits.replace(0..0, &self.held, None);
                        edits.pass_up_to(at);
                        return Err(self.message.error(self.offset, ProtobufErrorKind::InvalidLength));
                    }
                    at += 1;
                    let offset = self.offset + 1;
                    self.message.restart(offset, offset + u64::from(len));
                    let is_last = flag & !COMPRESSED != 0;
                    match self.content(flag) {
                        _ if read < 5 => State::Prefix { read, flag, len },
                        _ if len == 0 => {
                            self.release(chunk, frame..at, self.counters().total(), edits)?;
                            after(is_last)
                        }
                        Content::Skipped => State::Skip { left: len.into(), is_last },
                        Content::Compressed { is_text } => {
                            let start = offset - PREFIX as u64;
                            if let Err(error) = self.start_compressed(len, is_text) {
                                edits.pass_up_to(frame);
                                return Err(error.in_compressed(start));
                            }
                            let errors = self.counters().total();
                            State::Compressed { start, left: len, flag, is_text, errors }
                        }
                        Content::Message => State::Message { is_last },
                        Content::Text => {
                            self.message.expect_text();
                            State::Message { is_last }
                        }
                    }
                }
                State::Message { is_last } => {
                    at = self.message.walk(chunk, at, edits)?;
                    if self.message.is_at_end() { after(is_last) } else { State::Message { is_last } }
                }
                State::Compressed { start, left, flag, is_text, errors } => {
                    let taken = (left as usize).min(chunk.len() - at);
                    let bytes = &chunk[at..at + taken];
                    at += taken;
                    let left = left - taken as u32;
                    if let Err(error) = self.validate_compressed(bytes, left == 0, is_text) {
                        edits.pass_up_to(frame);
                        return Err(error.in_compressed(start));
                    }
                    if left > 0 {
                        State::Compressed { start, left, flag, is_text, errors }
                    } else {
                        if self.holds(flag) {
                            self.release(chunk, frame..at, errors, edits)
                                .map_err(|error| error.in_compressed(start))?;
                        }
                        after(flag & !COMPRESSED != 0)
                    }
                }
                State::Skip { left, is_last } => {
                    let taken = left.min((chunk.len() - at) as u64);
                    at += taken as usize;
                    if taken == left { after(is_last) } else { State::Skip { left: left - taken, is_last } }
                }
            };
            self.offset += (at - start) as u64;
        }
        let is_held = match self.state {
            State::Prefix { read: 1.., flag, .. } | State::Compressed { flag, .. } => self.holds(flag),
            _ => false,
        };
        if is_held {
            self.held.extend_from_slice(&chunk[frame..]);
            edits.hold(frame..chunk.len());
        }
        Ok(())
    }

    /// Returns the error of the first byte of a prefix.
    fn flag_error(&self, flag: u8) -> Option<ProtobufErrorKind> {
        let is_last = flag & !COMPRESSED != 0;
        if matches!(self.state, State::End) || is_last && flag & !COMPRESSED != self.protocol.end_flag() {
            return Some(ProtobufErrorKind::InvalidFlag);
        }
        let is_checked = !is_last || self.protocol == GrpcProtocol::Connect;
        let is_rejected = self.inflater.is_none() && self.compressed == Uncheckable::Reject && is_checked;
        (flag & COMPRESSED != 0 && is_rejected).then_some(ProtobufErrorKind::Compressed)
    }

    /// Returns the content of a frame with a valid flag.
    const fn content(&self, flag: u8) -> Content {
        match (flag, self.protocol) {
            (0, _) => Content::Message,
            (2, GrpcProtocol::Connect) => Content::Text,
            (COMPRESSED, _) if self.inflater.is_some() => Content::Compressed { is_text: false },
            (3, GrpcProtocol::Connect) if self.inflater.is_some() => Content::Compressed { is_text: true },
            _ => Content::Skipped,
        }
    }

    /// Ends the body. The next bytes start another one at offset 0, and the counters are kept.
    ///
    /// # Errors
    ///
    /// Returns the error of the body if there was one, or [`Truncated`](ProtobufErrorKind::Truncated) if it ends inside a
    /// message.
    pub fn finish(&mut self) -> Result<(), ProtobufError> {
        let result = match (self.failed.take(), self.state) {
            (Some(error), _) => Err(error),
            (None, State::Prefix { read: 0, .. } | State::End) => Ok(()),
            (None, State::Message { .. }) => Err(self.message.truncated()),
            (None, _) => Err(self.message.error(self.offset, ProtobufErrorKind::Truncated)),
        };
        self.restart();
        result
    }

    /// Repairs a complete body with any policy, same as [`StringFilter::repair`]. Compressed messages that pass are not
    /// changed. Those with an error are [inflated](Self::with_inflater), together at most up to the limit of one message.
    ///
    /// # Errors
    ///
    /// Returns the error that [`validate`](Self::validate) or [`finish`](Self::finish) would return for the body, or an
    /// error if a repaired message would be too long.
    pub fn repair<'b>(&self, body: &'b [u8]) -> Result<Cow<'b, [u8]>, ProtobufError> {
        let mut check = self.clone();
        check.restart();
        // `finish` returns the same error.
        let _ = check.validate(body);
        check.finish()?;
        if check.counters().total() == self.counters().total() {
            return Ok(Cow::Borrowed(body));
        }
        let inflated = check.inflate_ill_formed(body)?;
        // The output is allocated once: the lengths are measured first.
        let mut lengths = Vec::new();
        let mut len = 0;
        let mut offset = 0;
        for (flag, message) in Messages(&inflated) {
            offset += PREFIX as u64;
            len += PREFIX;
            len += match check.content(flag) {
                Content::Message => check.message.measure(message, offset, &mut lengths)?,
                Content::Text => check.message.rewrite_text(message, offset)?.len(),
                Content::Skipped | Content::Compressed { .. } => message.len(),
            };
            offset += message.len() as u64;
        }
        let mut out = Vec::with_capacity(len);
        let mut lengths = lengths.iter();
        for (flag, message) in Messages(&inflated) {
            let prefix = out.len();
            out.extend_from_slice(&[flag, 0, 0, 0, 0]);
            match check.content(flag) {
                Content::Message => check.message.write(message, &mut lengths, &mut out),
                Content::Text => out.extend_from_slice(&check.message.rewrite_text(message, 0)?),
                Content::Skipped | Content::Compressed { .. } => out.extend_from_slice(message),
            }
            set_length(&mut out, prefix);
        }
        Ok(out.into())
    }

    fn restart(&mut self) {
        self.message.restart(0, u64::MAX);
        (self.state, self.offset, self.failed) = (START, 0, None);
        self.held = Vec::new();
        if let Some(inflater) = &mut self.inflater {
            inflater.restart();
        }
    }

    /// Returns the number of bytes of the body that were read. After an error it is the offset of the error.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of errors in strings so far, by kind.
    pub const fn counters(&self) -> Counters {
        self.message.counters()
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        self.message.decoder()
    }

    /// Changes the filter to one that repairs nothing.
    pub(crate) fn into_strict(self) -> Self {
        Self { message: self.message.into_strict(), ..self }
    }

    /// Whether the body may end here.
    pub(crate) const fn is_complete(&self) -> bool {
        matches!(self.state, State::Prefix { read: 0, .. } | State::End)
    }
}

/// The content of a frame.
#[derive(Clone, Copy)]
enum Content {
    Message,
    Text,
    /// A compressed message or text, which is inflated.
    Compressed {
        is_text: bool,
    },
    /// It is not checked.
    Skipped,
}

/// The length of the flag and the length before a message.
const PREFIX: usize = 5;

/// Sets the length of the message that ends a buffer, whose prefix is at this position.
fn set_length(out: &mut [u8], prefix: usize) {
    let start = prefix + PREFIX;
    let len = (out.len() - start) as u32;
    out[start - 4..start].copy_from_slice(&len.to_be_bytes());
}

/// The messages of a valid body, with their flags.
struct Messages<'b>(&'b [u8]);

impl<'b> Iterator for Messages<'b> {
    type Item = (u8, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[flag, ref len @ ..], messages) = self.0.split_first_chunk::<PREFIX>()?;
        let (message, rest) = messages.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        self.0 = rest;
        Some((flag, message))
    }
}

impl fmt::Debug for GrpcFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcFilter").field("offset", &self.offset).finish_non_exhaustive()
    }
}
