//! Compressed messages, whose text is validated while it is inflated.

use core::mem;
use core::ops::Range;
use std::borrow::Cow;
use std::vec::Vec;

use utf8_codec::ErrorPolicy;
use utf8_codec::inflate::{InflateError, Inflater};

use super::{COMPRESSED, Content, GrpcFilter, Messages, PREFIX, State, set_length};
use crate::protobuf::edit::{Edits, StringEdit};
use crate::protobuf::error::{ProtobufError, ProtobufErrorKind};
use crate::protobuf::strings::StringFilter;

impl GrpcFilter {
    /// Whether a frame with this flag is held until its end, because a repair replaces it.
    pub(super) fn holds(&self, flag: u8) -> bool {
        let repairs = self.message.decoder().error_policy() != ErrorPolicy::Strict;
        repairs && matches!(self.content(flag), Content::Compressed { .. })
    }

    /// Whether a repair may change the length of the body.
    pub(crate) fn may_change_length(&self) -> bool {
        self.holds(COMPRESSED)
    }

    /// Returns the number of bytes of a compressed message that are held.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns the offset of the frame that has started, if an error in it would have this offset.
    pub(super) const fn frame_start(&self) -> Option<u64> {
        match self.state {
            State::Prefix { read: read @ 1.., .. } => Some(self.offset - read as u64),
            State::Compressed { start, .. } => Some(start),
            _ => None,
        }
    }

    /// Starts a compressed message of `len` bytes.
    pub(super) fn start_compressed(&mut self, len: u32, is_text: bool) -> Result<(), ProtobufError> {
        start(&mut self.message, is_text);
        // A receiver has one limit for the compressed and the inflated length. It also bounds a message that is held.
        let limit = self.inflater.as_ref().map_or(0, |inflater| inflater.max_length());
        if u64::from(len) > limit {
            return Err(failed(&self.message, InflateError::TooLong(limit)));
        }
        Ok(())
    }

    /// Validates the text of the next bytes of a compressed message.
    pub(super) fn validate_compressed(
        &mut self,
        bytes: &[u8],
        ends: bool,
        is_text: bool,
    ) -> Result<(), ProtobufError> {
        let Self { message, inflater: Some(inflater), .. } = self else { return Ok(()) };
        inflate(inflater, message, bytes, |message, piece| message.validate(piece))?;
        if ends { end(inflater, message, is_text, |_| {}) } else { Ok(()) }
    }

    /// Forwards a held message as it came, or repaired and not compressed. `range` is its part in the chunk, and `errors` the
    /// number of errors before it.
    pub(super) fn release<F: FnMut(StringEdit<'_>)>(
        &mut self,
        chunk: &[u8],
        range: Range<usize>,
        errors: u64,
        edits: &mut Edits<'_, F>,
    ) -> Result<(), ProtobufError> {
        let held = mem::take(&mut self.held);
        if self.counters().total() == errors {
            // If bytes are held from earlier chunks, the rest of the message is at the start of this chunk.
            edits.replace(range.start..range.start, &held, None);
            return Ok(());
        }
        let frame = [&held, &chunk[range.clone()]].concat();
        let (&[flag, ..], bytes) = frame.split_at(PREFIX) else { return Ok(()) };
        let is_text = matches!(self.content(flag), Content::Compressed { is_text: true });
        let mut out = Vec::from([flag & !COMPRESSED, 0, 0, 0, 0]);
        // A copy, because the filter has already counted these errors.
        let mut again = self.message.clone();
        start(&mut again, is_text);
        let Some(inflater) = &mut self.inflater else { return Ok(()) };
        inflate(inflater, &mut again, bytes, |again, piece| {
            again.feed_with(piece, |edit| match edit {
                StringEdit::Pass(range) => out.extend_from_slice(&piece[range]),
                StringEdit::Insert(bytes) => out.extend_from_slice(bytes),
                StringEdit::IllFormed(error, path) => edits.report(error, path),
            })
        })?;
        end(inflater, &mut again, is_text, |edit| match edit {
            StringEdit::Insert(bytes) => out.extend_from_slice(bytes),
            StringEdit::IllFormed(error, path) => edits.report(error, path),
            StringEdit::Pass(_) => {}
        })?;
        set_length(&mut out, 0);
        edits.replace(range, &out, None);
        Ok(())
    }

    /// Returns `body`, which is valid, with each compressed message that has ill-formed strings inflated.
    pub(super) fn inflate_ill_formed<'b>(&mut self, body: &'b [u8]) -> Result<Cow<'b, [u8]>, ProtobufError> {
        let mut out = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        let mut inflated = 0;
        for (flag, bytes) in Messages(body) {
            let start = at;
            at += PREFIX + bytes.len();
            let Content::Compressed { is_text } = self.content(flag) else { continue };
            if bytes.is_empty() {
                continue;
            }
            let errors = self.counters().total();
            self.start_compressed(bytes.len() as u32, is_text)?;
            self.validate_compressed(bytes, true, is_text)?;
            if self.counters().total() == errors {
                continue;
            }
            out.extend_from_slice(&body[copied..start]);
            copied = at;
            let prefix = out.len();
            out.extend_from_slice(&[flag & !COMPRESSED, 0, 0, 0, 0]);
            let Self { message, inflater: Some(inflater), .. } = self else { continue };
            let limit = inflater.max_length();
            inflate(inflater, message, bytes, |message, piece| {
                out.extend_from_slice(piece);
                // Many messages that inflate to the limit are a bomb too.
                inflated += piece.len() as u64;
                if inflated > limit { Err(failed(message, InflateError::TooLong(limit))) } else { Ok(()) }
            })?;
            inflater.finish().map_err(|error| failed(message, error))?;
            set_length(&mut out, prefix);
        }
        if copied == 0 {
            return Ok(Cow::Borrowed(body));
        }
        out.extend_from_slice(&body[copied..]);
        Ok(Cow::Owned(out))
    }
}

/// Starts a message or text whose length is not known.
fn start(message: &mut StringFilter, is_text: bool) {
    message.restart(0, u64::MAX);
    if is_text {
        message.expect_text();
    }
}

/// Inflates the next bytes of a message, and calls `f` with each piece of its text.
fn inflate(
    inflater: &mut Inflater,
    message: &mut StringFilter,
    mut bytes: &[u8],
    mut f: impl FnMut(&mut StringFilter, &[u8]) -> Result<(), ProtobufError>,
) -> Result<(), ProtobufError> {
    loop {
        match inflater.take_piece(&mut bytes) {
            Ok(Some(piece)) => f(message, piece)?,
            Ok(None) => return Ok(()),
            Err(error) => return Err(failed(message, error)),
        }
    }
}

/// Ends a message.
fn end(
    inflater: &mut Inflater,
    message: &mut StringFilter,
    is_text: bool,
    edit: impl FnMut(StringEdit<'_>),
) -> Result<(), ProtobufError> {
    inflater.finish().map_err(|error| failed(message, error))?;
    if is_text {
        return message.end_text(edit);
    }
    if message.is_complete() { Ok(()) } else { Err(message.truncated()) }
}

/// Returns the error, with the offset after the text so far.
fn failed(message: &StringFilter, error: InflateError) -> ProtobufError {
    message.error(message.offset(), ProtobufErrorKind::Inflate(error))
}
