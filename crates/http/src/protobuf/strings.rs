//! The filter of a serialized message.

mod repair;
mod state;
mod walk;
mod whole;

use core::fmt;
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;

use utf8_codec::{Ascii, BomPolicy, Counters, ErrorPolicy, TextDecoder};

use self::state::{Cursor, State, Stop};
use super::edit::{Edits, StringEdit};
use super::error::{FieldPath, Frame, ProtobufError, ProtobufErrorKind, UnknownMessage};
use super::schema::Schema;
use super::tables::{MessageId, Tables};
use super::varint::Varint;

/// Validates the strings of serialized messages, one message after the other, as their bytes arrive.
///
/// The bytes may be cut anywhere: inside a tag, a length or a character. Fields that are not strings are skipped
/// without reading their values, and so are unknown fields. The error is returned for the first byte that shows it,
/// before the rest of the field arrives.
///
/// ```
/// # // message M { string s = 1; } in a file with the syntax proto3
/// # let bytes = b"\x0A\x1B\x0A\x01f\x22\x0E\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09b\x06proto3";
/// use utf8_codec_http::protobuf::{Schema, StringFilter};
///
/// let schema = Schema::from_descriptor_set(bytes)?;
/// let mut message = StringFilter::new(&schema, "M")?;
/// message.validate(b"\x0A\x05caf\xC3")?; // field 1, 5 bytes; the last one is still to come
/// message.validate(b"\xA9\x0A\x02")?;
/// let error = message.validate(b"\xFF").unwrap_err();
/// assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 9 (InvalidLead, 1 byte) in s");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct StringFilter {
    tables: Arc<Tables>,
    root: MessageId,
    checks_unverified: bool,
    /// The policy of [`repair`](Self::repair). The policy of the decoder keeps lengths.
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

/// The maximum number of messages in which a message is nested, as in the readers of C++, Java and Python, and in prost.
const MAX_NESTING: usize = 100;

/// The maximum length of a message: 2 GiB ("Encoding", "Size").
pub(super) const MAX_LENGTH: u64 = i32::MAX as u64;

impl StringFilter {
    /// Creates a strict filter for messages of a type, given by its full name: `package.Message`.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema has no such message.
    pub fn new(schema: &Schema, message: &str) -> Result<Self, UnknownMessage> {
        Self::with_decoder(schema, message, TextDecoder::new())
    }

    /// Creates a filter with the policy for ill-formed text and the subset of a decoder.
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

    /// Sets whether strings whose encoding no reader verifies are checked: strings of proto2, and strings with
    /// `utf8_validation = NONE`, unless an option of their file or field says that Java verifies them. By default they
    /// are skipped like `bytes`, as by the readers of protobuf, although a `string` "must always contain UTF-8 encoded
    /// text" in each version of the language.
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

    /// Changes the filter to one that repairs nothing.
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

    /// Starts a message at `offset`. It ends at `end`, if that is known.
    pub(super) fn restart(&mut self, offset: u64, end: u64) {
        self.decoder.seek(offset);
        self.frames.clear();
        (self.field, self.state, self.varint) = (0, State::Tag, Varint::default());
        (self.offset, self.end, self.failed) = (offset, end, None);
    }

    /// Reads the message that has just started as a text of the same length.
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

    /// Reads the chunk from a position to the end of the chunk or of the message. Returns that end.
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
        let mut cursor = Cursor { chunk, base, at: start };
        let result = self.walk_fields(&mut cursor, edits);
        self.offset = cursor.offset();
        let result = result.map_err(|stop| match stop {
            Stop::Malformed(kind) => {
                edits.pass_up_to(cursor.at);
                self.error(self.offset, kind)
            }
            Stop::IllFormed(error) => {
                self.offset = error.offset;
                ProtobufError::new(error.offset, ProtobufErrorKind::Text(error.kind), error.len, self.path())
            }
        });
        match result {
            Ok(()) => Ok(cursor.at),
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }
}

impl fmt::Debug for StringFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StringFilter").field("offset", &self.offset).finish_non_exhaustive()
    }
}
