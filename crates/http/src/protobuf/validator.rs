//! The walk through a serialized message.

mod repair;
mod whole;

use core::fmt;
use core::ops::Range;
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;

use utf8_codec::{Ascii, BomPolicy, Counters, ErrorPolicy, TextDecoder, TextPiece, Utf8Error, from_utf8};

use super::edit::{Edits, StringEdit};
use super::error::{FieldPath, Frame, ProtobufError, ProtobufErrorKind, UnknownMessage};
use super::schema::Schema;
use super::tables::{FieldKind, MessageId, Tables};
use super::varint::Varint;

/// Validates the strings of serialized messages, one message after the other, as their bytes arrive.
///
/// The bytes may be cut anywhere: inside a tag, a length or a character. Fields that are not strings are skipped without
/// a look at their values, and unknown fields are too. The error is returned for the first byte that shows it, before the
/// rest of the field arrives.
///
/// ```
/// # // message M { string s = 1; } in a file with the syntax proto3
/// # let bytes = b"\x0A\x1B\x0A\x01f\x22\x0E\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09b\x06proto3";
/// use utf8_codec_http::protobuf::{Schema, StringValidator};
///
/// let schema = Schema::from_descriptor_set(bytes)?;
/// let mut message = StringValidator::new(&schema, "M")?;
/// message.validate(b"\x0A\x05caf\xC3")?; // field 1, 5 bytes; the last one is still to come
/// message.validate(b"\xA9\x0A\x02")?;
/// let error = message.validate(b"\xFF").unwrap_err();
/// assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 9 (InvalidLead, 1 byte) in s");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct StringValidator {
    tables: Arc<Tables>,
    root: MessageId,
    checks_unverified: bool,
    /// The policy of [`repair`](Self::repair). That of the decoder keeps lengths.
    policy: ErrorPolicy,
    decoder: TextDecoder,
    /// The end of the outermost message, if it is known.
    end: u64,
    frames: Vec<Frame>,
    field: u32,
    state: State,
    varint: Varint,
    offset: u64,
    failed: Option<ProtobufError>,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug)]
enum State {
    Tag,
    /// A value of wire type 0.
    Varint,
    /// The length of a field of this kind.
    Length(FieldKind),
    /// So many bytes that are not read.
    Skip(u64),
    /// A string with so many bytes left.
    Text(u64),
}

/// The maximum number of messages in which a message is nested, as in the readers of C++, Java and Python, and in prost.
const MAX_NESTING: usize = 100;

/// The maximum length of a message: 2 GiB ("Encoding", "Size").
pub(super) const MAX_LENGTH: u64 = i32::MAX as u64;

impl StringValidator {
    /// Creates a strict validator for messages of a type, given by its full name: `package.Message`.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema has no such message.
    pub fn new(schema: &Schema, message: &str) -> Result<Self, UnknownMessage> {
        Self::with_decoder(schema, message, TextDecoder::new())
    }

    /// Creates a validator with the policy for ill-formed text and the subset of a decoder.
    ///
    /// The lengths around a string must stay true while the message streams, so a policy that
    /// [changes lengths](ErrorPolicy::keeps_len) acts as [`ErrorPolicy::Substitute`] with `?`, except in
    /// [`repair`](Self::repair). A BOM is a character of its string, whatever the policy for the BOM.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new).
    pub fn with_decoder(
        schema: &Schema,
        message: &str,
        decoder: TextDecoder,
    ) -> Result<Self, UnknownMessage> {
        let root = schema.tables().find(message).ok_or_else(|| UnknownMessage(message.to_string()))?;
        let policy = decoder.error_policy();
        let streaming =
            if policy.keeps_len() { policy } else { ErrorPolicy::Substitute(Ascii::QUESTION_MARK) };
        Ok(Self {
            tables: Arc::clone(schema.tables()),
            root,
            checks_unverified: false,
            policy,
            decoder: decoder.restarted_at(0).with_error_policy(streaming).with_bom_policy(BomPolicy::Keep),
            end: u64::MAX,
            frames: Vec::new(),
            field: 0,
            state: State::Tag,
            varint: Varint::default(),
            offset: 0,
            failed: None,
        })
    }

    /// Sets whether the strings are checked whose encoding no reader verifies: those of proto2, and those with
    /// `utf8_validation = NONE`, unless an option of their file or field says that Java verifies them. By default they are
    /// skipped like `bytes`, as by the readers of protobuf, although a `string` "must always contain UTF-8 encoded text" in each
    /// version of the language.
    #[must_use]
    pub const fn with_unverified_strings(mut self, check: bool) -> Self {
        self.checks_unverified = check;
        self
    }

    /// Validates the next bytes of the message. Under a policy that repairs, ill-formed strings are only counted;
    /// [`feed_with`](Self::feed_with) returns the repaired bytes.
    ///
    /// # Errors
    ///
    /// Returns the first error that the policy does not repair. Every further call returns the same error until
    /// [`finish`](Self::finish).
    #[inline]
    pub fn validate(&mut self, chunk: &[u8]) -> Result<(), ProtobufError> {
        self.feed_with(chunk, |_| {})
    }

    /// Validates the next bytes of the message and calls `edit` for each edit. A chunk without an error, between two
    /// characters, is one [`StringEdit::Pass`]. What is forwarded has the length of the input; at most 3 bytes are held.
    ///
    /// # Errors
    ///
    /// Same as [`validate`](Self::validate). The bytes before [`ProtobufError::offset`] have been forwarded.
    pub fn feed_with(&mut self, chunk: &[u8], edit: impl FnMut(StringEdit<'_>)) -> Result<(), ProtobufError> {
        let mut edits = Edits::new(chunk, edit);
        self.walk(chunk, 0, &mut edits).map(|_| edits.end())
    }

    /// Ends the message. The next bytes start another message at offset 0, and the counters are kept.
    ///
    /// # Errors
    ///
    /// Returns the error of the message if there was one, or [`Truncated`](ProtobufErrorKind::Truncated) if it ends inside
    /// a field.
    pub fn finish(&mut self) -> Result<(), ProtobufError> {
        let result = match self.failed.take() {
            Some(error) => Err(error),
            None if self.is_complete() => Ok(()),
            None => Err(self.truncated()),
        };
        self.restart(0, u64::MAX);
        result
    }

    /// Returns the number of bytes of the message that were read. After an error it is the offset of the error.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of errors in strings so far, by kind.
    pub const fn counters(&self) -> Counters {
        self.decoder.counters()
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Changes the validator to one that repairs nothing.
    pub(crate) fn into_strict(mut self) -> Self {
        self.policy = ErrorPolicy::Strict;
        self.decoder = self.decoder.with_error_policy(ErrorPolicy::Strict);
        self
    }

    /// Whether the message may end here.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state, State::Tag) && !self.varint.is_begun() && self.frames.is_empty()
    }

    /// Whether the message has ended.
    pub(super) fn is_at_end(&self) -> bool {
        self.offset == self.end
    }

    /// Returns the error of a message that ends here.
    pub(super) fn truncated(&mut self) -> ProtobufError {
        if matches!(self.state, State::Tag) {
            self.field = 0;
        }
        self.error(self.offset, ProtobufErrorKind::Truncated)
    }

    /// Starts a message at an offset, which ends at another if that is known.
    pub(super) fn restart(&mut self, offset: u64, end: u64) {
        self.decoder.seek(offset);
        self.frames.clear();
        (self.field, self.state, self.varint) = (0, State::Tag, Varint::default());
        (self.offset, self.end, self.failed) = (offset, end, None);
    }

    /// Changes the message that has just started to a text of the same length.
    pub(super) const fn expect_text(&mut self) {
        self.state = State::Text(self.end - self.offset);
    }

    pub(super) fn path(&self) -> FieldPath<'_> {
        FieldPath { tables: &self.tables, root: self.root, frames: &self.frames, field: self.field }
    }

    #[cold]
    pub(super) fn error(&self, offset: u64, kind: ProtobufErrorKind) -> ProtobufError {
        ProtobufError::new(offset, kind, 0, self.path())
    }

    /// Reads the chunk from a position, to its end or to that of the message. Returns the position there.
    pub(super) fn walk<F: FnMut(StringEdit<'_>)>(
        &mut self,
        chunk: &[u8],
        start: usize,
        edits: &mut Edits<'_, F>,
    ) -> Result<usize, ProtobufError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let base = self.offset.wrapping_sub(start as u64);
        let mut at = start;
        let result = self.walk_from(chunk, base, &mut at, edits);
        self.offset = base.wrapping_add(at as u64);
        let result = result.map_err(|stop| match stop {
            Stop::Malformed(kind) => {
                edits.pass_up_to(at);
                self.error(self.offset, kind)
            }
            Stop::IllFormed(error) => {
                self.offset = error.offset;
                ProtobufError::new(error.offset, ProtobufErrorKind::Text(error.kind), error.len, self.path())
            }
        });
        match result {
            Ok(()) => Ok(at),
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Returns the message that contains the next byte, and its end.
    #[inline(always)]
    fn top(&self) -> (MessageId, u64) {
        self.frames.last().map_or((self.root, self.end), |top| (top.message, top.end))
    }

    #[inline(always)]
    fn walk_from<F: FnMut(StringEdit<'_>)>(
        &mut self,
        chunk: &[u8],
        base: u64,
        position: &mut usize,
        edits: &mut Edits<'_, F>,
    ) -> Result<(), Stop> {
        // The byte before the position shows an error of a tag, a varint or a length.
        macro_rules! fail {
            ($kind:expr) => {{
                *position -= 1;
                return Err(Stop::Malformed($kind));
            }};
        }
        // Evaluates to the next varint, or continues if the chunk ends inside it.
        macro_rules! varint {
            ($bytes:expr, $ends_message:expr, $wrong:expr) => {
                match self.varint.read($bytes, position, $wrong) {
                    Ok(Some(value)) => value,
                    Ok(None) if $ends_message => fail!(ProtobufErrorKind::InvalidLength),
                    Ok(None) => continue,
                    Err(kind) => fail!(kind),
                }
            };
        }
        loop {
            // Between fields, errors are not in one.
            if matches!(self.state, State::Tag) && !self.varint.is_begun() {
                self.field = 0;
            }
            *position = self.skip_whole_fields(chunk, base, *position);
            let at = *position;
            let (message, end) = self.top();
            let left = end.wrapping_sub(base.wrapping_add(at as u64));
            let limit =
                at + usize::try_from(left).map_or(chunk.len() - at, |left| left.min(chunk.len() - at));
            let ends_here = left <= (chunk.len() - at) as u64;
            match self.state {
                State::Tag if left == 0 && !self.varint.is_begun() => match self.frames.pop() {
                    None => return Ok(()),
                    Some(frame) if frame.is_group => {
                        self.frames.push(frame);
                        return Err(Stop::Malformed(ProtobufErrorKind::UnpairedGroup));
                    }
                    Some(_) => {}
                },
                _ if at == chunk.len() => return Ok(()),
                State::Tag => {
                    let group = self.frames.last().filter(|top| top.is_group).map(|top| top.field);
                    let tag = varint!(&chunk[..limit], ends_here, |tag, bits, _| wrong_tag(tag, bits, group));
                    let number = (tag >> 3) as u32;
                    if number == 0 {
                        fail!(ProtobufErrorKind::InvalidTag);
                    }
                    if tag & 7 == 4 {
                        if group != Some(number) {
                            fail!(ProtobufErrorKind::UnpairedGroup);
                        }
                        self.frames.pop();
                        continue;
                    }
                    self.field = number;
                    let kind = self.tables.kind(message, number);
                    self.state = match (tag & 7, kind) {
                        (2, FieldKind::UnverifiedString) if !self.checks_unverified => {
                            State::Length(FieldKind::Skipped)
                        }
                        (2, kind) if !matches!(kind, FieldKind::Group(_)) => State::Length(kind),
                        (0, FieldKind::Skipped) => State::Varint,
                        (1, FieldKind::Skipped) => State::Skip(8),
                        (5, FieldKind::Skipped) => State::Skip(4),
                        (3, FieldKind::Skipped | FieldKind::Group(_)) => {
                            let message = match kind {
                                FieldKind::Group(message) => message,
                                _ => MessageId::UNKNOWN,
                            };
                            if self.frames.len() == MAX_NESTING {
                                fail!(ProtobufErrorKind::TooDeep);
                            }
                            self.frames.push(Frame { end, message, field: number, is_group: true });
                            State::Tag
                        }
                        _ => fail!(ProtobufErrorKind::WireType),
                    };
                    let needed = match self.state {
                        State::Tag => 0,
                        State::Skip(len) => len,
                        _ => 1,
                    };
                    if needed > end.wrapping_sub(base.wrapping_add(*position as u64)) {
                        fail!(ProtobufErrorKind::InvalidLength);
                    }
                    if let State::Skip(len) = self.state {
                        self.skip(len, chunk, position);
                    }
                }
                State::Varint => {
                    varint!(&chunk[..limit], ends_here, |_, _, _| None);
                    self.state = State::Tag;
                }
                State::Length(kind) => {
                    let len = varint!(&chunk[..limit], ends_here, |len, _, at| {
                        let left = end.wrapping_sub(base.wrapping_add(at as u64));
                        (len > left.min(MAX_LENGTH)).then_some(ProtobufErrorKind::InvalidLength)
                    });
                    let at = *position;
                    let offset = base.wrapping_add(at as u64);
                    self.state = match kind {
                        _ if len == 0 && !matches!(kind, FieldKind::Message(_)) => State::Tag,
                        FieldKind::Message(message) => {
                            if self.frames.len() == MAX_NESTING {
                                fail!(ProtobufErrorKind::TooDeep);
                            }
                            let end = offset + len;
                            self.frames.push(Frame { end, message, field: self.field, is_group: false });
                            State::Tag
                        }
                        FieldKind::String | FieldKind::UnverifiedString => {
                            match chunk[at..].get(..len as usize) {
                                Some(text) if !self.decoder.has_subset() && from_utf8(text).is_ok() => {
                                    *position += text.len();
                                    State::Tag
                                }
                                _ => {
                                    self.decoder.seek(offset);
                                    State::Text(len)
                                }
                            }
                        }
                        FieldKind::Skipped | FieldKind::Group(_) => {
                            self.skip(len, chunk, position);
                            continue;
                        }
                    };
                }
                State::Skip(left) => self.skip(left, chunk, position),
                State::Text(left) => {
                    let taken = left.min((chunk.len() - at) as u64) as usize;
                    *position += taken;
                    self.text(at, &chunk[at..at + taken], taken as u64 == left, edits)?;
                    self.state =
                        if taken as u64 == left { State::Tag } else { State::Text(left - taken as u64) };
                }
            }
        }
    }

    /// Skips so many bytes, of which only some may be in the chunk.
    #[inline(always)]
    fn skip(&mut self, len: u64, chunk: &[u8], position: &mut usize) {
        let taken = len.min((chunk.len() - *position) as u64);
        *position += taken as usize;
        self.state = if taken == len { State::Tag } else { State::Skip(len - taken) };
    }

    /// Decodes a part of a string, which starts at a position of the chunk.
    fn text<F: FnMut(StringEdit<'_>)>(
        &mut self,
        start: usize,
        part: &[u8],
        is_last: bool,
        edits: &mut Edits<'_, F>,
    ) -> Result<(), Stop> {
        let path =
            FieldPath { tables: &self.tables, root: self.root, frames: &self.frames, field: self.field };
        let mut put = |range: Range<usize>, piece: TextPiece<'_>| {
            let (text, error) = match piece {
                TextPiece::Text(_) => return Ok(()),
                TextPiece::Seam(text) => (text, None),
                TextPiece::Repaired(text, error) => (text, Some(error)),
                TextPiece::IllFormed(error) => {
                    edits.pass_up_to(start + range.start);
                    return Err(Stop::IllFormed(error));
                }
            };
            edits.replace(
                start + range.start..start + range.end,
                text.as_bytes(),
                error.map(|error| (error, path)),
            );
            Ok(())
        };
        for (range, piece) in self.decoder.feed_ranges(part) {
            put(range, piece)?;
        }
        let held = self.decoder.pending().len().min(part.len());
        match is_last.then(|| self.decoder.finish()).flatten() {
            Some(piece) => put(part.len() - held..part.len(), piece)?,
            None => edits.hold(start + part.len() - held..start + part.len()),
        }
        Ok(())
    }
}

/// Returns why a tag that starts with these bits is an error, if it is. `group` is the field of the group that may end.
#[inline(always)]
fn wrong_tag(tag: u64, bits: u32, group: Option<u32>) -> Option<ProtobufErrorKind> {
    match tag & 7 {
        6 | 7 => Some(ProtobufErrorKind::InvalidTag),
        4 => {
            // The 10th byte has only one bit of the value.
            let bits = bits.min(u64::BITS);
            let is_start = |field: u32| (u64::from(field << 3 | 4) ^ tag).trailing_zeros() >= bits;
            (!group.is_some_and(is_start)).then_some(ProtobufErrorKind::UnpairedGroup)
        }
        // The field number would be above 2^29 - 1.
        _ if tag > u64::from(u32::MAX) => Some(ProtobufErrorKind::InvalidTag),
        _ => None,
    }
}

/// Why the walk ends early.
enum Stop {
    Malformed(ProtobufErrorKind),
    IllFormed(Utf8Error),
}

impl fmt::Debug for StringValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StringValidator").field("offset", &self.offset).finish_non_exhaustive()
    }
}
