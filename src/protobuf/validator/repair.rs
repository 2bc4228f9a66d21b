//! Repair of a complete message, whose lengths may change.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::super::error::{ProtobufError, ProtobufErrorKind};
use super::super::tables::{FieldKind, MessageId, Tables};
use super::super::wire::{Malformed, Slice};
use super::{MAX_LENGTH, StringValidator, UnverifiedStrings};
use crate::text::TextDecoder;

/// A message or group that contains the next byte.
struct Open {
    /// The position of its end in the input. That of a group is not known, so it is the end of the message around it.
    end: usize,
    id: MessageId,
    /// The position of its length in the input, and of its content. `None` if it is a group.
    length: Option<(usize, usize)>,
    /// The index of its length in the output, and the number of bytes of all lengths before it, once it has a repaired
    /// string.
    written: Option<(usize, usize)>,
}

/// A length that is inserted into the output: first that of the input, and at the end of the message that of the output.
struct Length {
    /// Where it is inserted.
    at: usize,
    len: usize,
    /// The number of bytes of its varint.
    width: usize,
}

impl Length {
    /// Changes the length. If it does not change, its varint keeps its bytes.
    fn set(&mut self, len: usize) {
        if len != self.len {
            (self.len, self.width) = (len, (len | 1).ilog2() as usize / 7 + 1);
        }
    }

    fn write_to(&self, out: &mut Vec<u8>) {
        let last = self.width - 1;
        // The varint may have more bits than a `usize`.
        let byte = |index| (self.len as u64 >> (7 * index)) as u8 | 0x80;
        out.extend((0..last).map(byte));
        out.push(byte(last) & 0x7F);
    }
}

impl StringValidator {
    /// Repairs a complete message with any policy, also one that changes lengths: the lengths of the messages around a
    /// string are then written again. A message without an error is borrowed. What was fed before is discarded.
    ///
    /// The fields keep their order. A length that does not change keeps its bytes.
    ///
    /// # Errors
    ///
    /// Returns the error that [`validate`](Self::validate) or [`finish`](Self::finish) would return for the message, or
    /// [`InvalidLength`](ProtobufErrorKind::InvalidLength) if the repaired message would be longer than 2^31 - 1 bytes.
    ///
    /// ```
    /// # // message M { string s = 1; M m = 2; } in a file with the syntax proto3
    /// # let bytes = b"\x0A\x28\x0A\x01f\x22\x1B\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09\
    /// #     \x12\x0B\x0A\x01m\x18\x02\x28\x0B\x32\x02.Mb\x06proto3";
    /// use utf8_codec::protobuf::{Schema, StringValidator};
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    ///
    /// let schema = Schema::from_descriptor_set(bytes)?;
    /// let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    /// let mut messages = StringValidator::with_decoder(&schema, "M", decoder)?;
    /// let repaired = messages.repair(b"\x12\x04\x0A\x02a\xFF")?;
    /// assert_eq!(*repaired, *b"\x12\x06\x0A\x04a\xEF\xBF\xBD");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn repair<'m>(&mut self, message: &'m [u8]) -> Result<Cow<'m, [u8]>, ProtobufError> {
        self.restart(0, u64::MAX);
        let before = self.counters().total();
        // Its error is returned by `finish`.
        let _ = self.validate(message);
        self.finish()?;
        if self.counters().total() == before {
            return Ok(Cow::Borrowed(message));
        }
        self.rewrite(message, 0).map(Cow::Owned)
    }

    /// Writes a valid message, which starts at an offset, with repaired strings.
    pub(in super::super) fn rewrite(&self, message: &[u8], offset: u64) -> Result<Vec<u8>, ProtobufError> {
        let mut rewriter = Rewriter {
            tables: &self.tables,
            decoder: self.decoder.with_error_policy(self.policy),
            checks_unverified: self.unverified == UnverifiedStrings::Check,
            input: message,
            copied: 0,
            out: Vec::with_capacity(message.len()),
            lengths: Vec::new(),
            widths: 0,
            open: Vec::new(),
            changed: 0,
        };
        let malformed = |at| self.error(offset + at as u64, ProtobufErrorKind::InvalidLength);
        rewriter.fields(self.root).map_err(|Malformed(at)| malformed(at))?;
        if (rewriter.out.len() + rewriter.widths) as u64 > MAX_LENGTH {
            return Err(malformed(0));
        }
        Ok(rewriter.with_lengths())
    }
}

impl StringValidator {
    /// Repairs a text that starts at an offset, with any policy.
    pub(in super::super) fn rewrite_text<'t>(
        &self,
        text: &'t [u8],
        offset: u64,
    ) -> Result<Cow<'t, [u8]>, ProtobufError> {
        match self.decoder.with_error_policy(self.policy).decode(text) {
            Ok(Cow::Owned(repaired)) if repaired.len() as u64 > MAX_LENGTH => {
                Err(self.error(offset, ProtobufErrorKind::InvalidLength))
            }
            Ok(Cow::Owned(repaired)) => Ok(Cow::Owned(repaired.into_bytes())),
            _ => Ok(Cow::Borrowed(text)),
        }
    }
}

/// The output, without the lengths of the messages that contain a repaired string, and these lengths in the order of their
/// positions.
struct Rewriter<'m> {
    tables: &'m Tables,
    decoder: TextDecoder,
    checks_unverified: bool,
    input: &'m [u8],
    /// Where the input starts that was not copied.
    copied: usize,
    out: Vec<u8>,
    lengths: Vec<Length>,
    /// The number of bytes of all lengths whose message has ended.
    widths: usize,
    open: Vec<Open>,
    /// How many of these messages and groups have a repaired string.
    changed: usize,
}

impl Rewriter<'_> {
    fn fields(&mut self, root: MessageId) -> Result<(), Malformed> {
        let mut rest = Slice { bytes: self.input, position: 0 };
        loop {
            let top = self.open.last();
            let (id, end) = top.map_or((root, self.input.len()), |top| (top.id, top.end));
            if rest.position >= end {
                if self.open.is_empty() {
                    self.copy(end, end);
                    return Ok(());
                }
                self.close();
                continue;
            }
            let tag = rest.varint()?;
            let after_tag = rest.position;
            match (tag & 7, self.tables.kind(id, (tag >> 3) as u32)) {
                (0, _) => drop(rest.varint()?),
                (1, _) => drop(rest.take(8)?),
                (5, _) => drop(rest.take(4)?),
                (3, kind) => {
                    let id = if let FieldKind::Group(id) = kind { id } else { MessageId::UNKNOWN };
                    self.open.push(Open { end, id, length: None, written: None });
                }
                (4, _) => self.close(),
                (_, kind) => {
                    let len = rest.varint()?;
                    let start = rest.position;
                    match kind {
                        FieldKind::Message(id) => {
                            let (end, length) =
                                (start.saturating_add(len as usize), Some((after_tag, start)));
                            self.open.push(Open { end, id, length, written: None });
                        }
                        FieldKind::UnverifiedString if !self.checks_unverified => drop(rest.take(len)?),
                        FieldKind::String | FieldKind::UnverifiedString => {
                            let text = rest.take(len)?.bytes;
                            if let Ok(Cow::Owned(repaired)) = self.decoder.decode(text) {
                                self.open_lengths();
                                self.copy(after_tag, rest.position);
                                let mut length = Length { at: 0, len: text.len(), width: start - after_tag };
                                length.set(repaired.len());
                                length.write_to(&mut self.out);
                                self.out.extend_from_slice(repaired.as_bytes());
                            }
                        }
                        FieldKind::Skipped | FieldKind::Group(_) => drop(rest.take(len)?),
                    }
                }
            }
        }
    }

    /// Copies the input up to a position, and continues at another.
    fn copy(&mut self, end: usize, next: usize) {
        self.out.extend_from_slice(&self.input[self.copied..end]);
        self.copied = next;
    }

    /// Leaves the lengths of all messages that contain the next byte to the end of each.
    fn open_lengths(&mut self) {
        for index in self.changed..self.open.len() {
            let Open { end, length: Some((at, start)), .. } = self.open[index] else { continue };
            self.copy(at, start);
            self.open[index].written = Some((self.lengths.len(), self.widths));
            self.lengths.push(Length { at: self.out.len(), len: end - start, width: start - at });
        }
        self.changed = self.open.len();
    }

    /// Ends the innermost message or group.
    fn close(&mut self) {
        let Some(Open { end, written, .. }) = self.open.pop() else { return };
        self.changed = self.changed.min(self.open.len());
        let Some((index, widths_before)) = written else { return };
        self.copy(end, end);
        let length = &mut self.lengths[index];
        length.set(self.out.len() - length.at + self.widths - widths_before);
        self.widths += length.width;
    }

    fn with_lengths(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.out.len() + self.widths);
        let mut start = 0;
        for length in &self.lengths {
            out.extend_from_slice(&self.out[start..length.at]);
            length.write_to(&mut out);
            start = length.at;
        }
        out.extend_from_slice(&self.out[start..]);
        out
    }
}
