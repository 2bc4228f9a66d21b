//! Repair of a complete message, whose lengths may change.

use core::slice;
use std::borrow::Cow;
use std::vec::Vec;

use utf8_codec::TextDecoder;

use super::super::error::{ProtobufError, ProtobufErrorKind};
use super::super::tables::{FieldKind, MessageId, Tables};
use super::super::wire::{Malformed, Slice};
use super::{MAX_LENGTH, StringFilter};

/// A message or group that contains the next byte.
struct Open {
    /// The position of its end in the input. The end of a group is not known, so this is the end of the message around it.
    end: usize,
    id: MessageId,
    /// The position of its length in the input, and of its content. `None` if it is a group.
    length: Option<(usize, usize)>,
    /// Set once it has a repaired string.
    changed: Option<Changed>,
}

/// What [`Pass::Measure`] knows at the start of a message that changes.
struct Changed {
    /// The index of its length.
    index: usize,
    /// The number of bytes of the output before its content, without lengths of messages that are open.
    start: u64,
}

/// The length of a message or string in the output.
#[derive(Clone, Copy)]
pub(in super::super) struct Length {
    len: u32,
    /// The number of bytes of its varint.
    width: u8,
}

impl Length {
    /// Creates a length of the input, with its width there.
    const fn of_input(len: usize, width: usize) -> Self {
        Self { len: len as u32, width: width as u8 }
    }

    /// Changes the length. If it does not change, its varint keeps its bytes.
    fn set(&mut self, len: u64) -> Result<(), Malformed> {
        let len = u32::try_from(len).ok().filter(|len| u64::from(*len) <= MAX_LENGTH).ok_or(Malformed(0))?;
        if len != self.len {
            *self = Self { len, width: ((len | 1).ilog2() / 7 + 1) as u8 };
        }
        Ok(())
    }

    fn write_to(self, out: &mut Vec<u8>) {
        let last = self.width - 1;
        out.extend((0..last).map(|index| self.bits(index) | 0x80));
        out.push(self.bits(last));
    }

    /// Returns the bits of a byte of the varint, which may have more bits than the length.
    fn bits(self, index: u8) -> u8 {
        (u64::from(self.len) >> (7 * index)) as u8 & 0x7F
    }
}

impl StringFilter {
    /// Repairs a complete message with any policy, also one that changes lengths: the lengths of the messages around a
    /// string are then written again. A message without an error is borrowed. What was fed before has no effect.
    ///
    /// The fields keep their order. Unchanged lengths keep their original encoding.
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
    /// use utf8_codec_http::protobuf::{Schema, StringFilter};
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    ///
    /// let schema = Schema::from_descriptor_set(bytes)?;
    /// let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    /// let messages = StringFilter::with_decoder(&schema, "M", decoder)?;
    /// let repaired = messages.repair(b"\x12\x04\x0A\x02a\xFF")?;
    /// assert_eq!(*repaired, *b"\x12\x06\x0A\x04a\xEF\xBF\xBD");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn repair<'m>(&self, message: &'m [u8]) -> Result<Cow<'m, [u8]>, ProtobufError> {
        let mut check = self.clone();
        check.restart(0, u64::MAX);
        // `finish` returns the same error.
        let _ = check.validate(message);
        check.finish()?;
        if check.counters().total() == self.counters().total() {
            return Ok(Cow::Borrowed(message));
        }
        let mut lengths = Vec::new();
        let len = check.measure(message, 0, &mut lengths)?;
        let mut out = Vec::with_capacity(len);
        check.write(message, &mut lengths.iter(), &mut out);
        Ok(out.into())
    }

    /// Appends the lengths of the messages around a repaired string, in a valid message that starts at an offset. Returns
    /// the length of the repaired message.
    pub(in super::super) fn measure(
        &self,
        message: &[u8],
        offset: u64,
        lengths: &mut Vec<Length>,
    ) -> Result<usize, ProtobufError> {
        let mut rewriter = Rewriter::new(self, message, Pass::Measure(lengths));
        if let Err(Malformed(at)) = rewriter.fields(self.root) {
            return Err(self.error(offset + at as u64, ProtobufErrorKind::InvalidLength));
        }
        if rewriter.len > MAX_LENGTH {
            return Err(self.error(offset, ProtobufErrorKind::InvalidLength));
        }
        Ok(rewriter.len as usize)
    }

    /// Writes a valid message with repaired strings, and with the lengths that [`measure`](Self::measure) appended.
    pub(in super::super) fn write(
        &self,
        message: &[u8],
        lengths: &mut slice::Iter<'_, Length>,
        out: &mut Vec<u8>,
    ) {
        // It was parsed before.
        let _ = Rewriter::new(self, message, Pass::Write(lengths, out)).fields(self.root);
    }
}

impl StringFilter {
    /// Repairs a text that starts at an offset, with any policy.
    pub(in super::super) fn rewrite_text<'t>(
        &self,
        text: &'t [u8],
        offset: u64,
    ) -> Result<Cow<'t, [u8]>, ProtobufError> {
        match self.decoder.clone().with_error_policy(self.policy).decode_whole(text) {
            Ok(Cow::Owned(repaired)) if repaired.len() as u64 > MAX_LENGTH => {
                Err(self.error(offset, ProtobufErrorKind::InvalidLength))
            }
            Ok(Cow::Owned(repaired)) => Ok(Cow::Owned(repaired.into_bytes())),
            _ => Ok(Cow::Borrowed(text)),
        }
    }
}

/// The message is read twice, because the length of a message precedes its content: the output is allocated once.
enum Pass<'p, 'l> {
    Measure(&'p mut Vec<Length>),
    Write(&'p mut slice::Iter<'l, Length>, &'p mut Vec<u8>),
}

/// Reads a message with ill-formed strings.
struct Rewriter<'m, 'p, 'l> {
    tables: &'m Tables,
    decoder: TextDecoder,
    checks_unverified: bool,
    input: &'m [u8],
    /// The start of the input that was not copied yet.
    copied: usize,
    pass: Pass<'p, 'l>,
    /// The length of the output, while it is measured without the lengths of messages that are open.
    len: u64,
    open: Vec<Open>,
    /// How many of these messages and groups have a repaired string.
    changed: usize,
}

impl<'m, 'p, 'l> Rewriter<'m, 'p, 'l> {
    fn new(filter: &'m StringFilter, input: &'m [u8], pass: Pass<'p, 'l>) -> Self {
        Self {
            tables: &filter.tables,
            decoder: filter.decoder.clone().with_error_policy(filter.policy),
            checks_unverified: filter.checks_unverified,
            input,
            copied: 0,
            pass,
            len: 0,
            open: Vec::new(),
            changed: 0,
        }
    }

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
                self.close()?;
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
                    self.open.push(Open { end, id, length: None, changed: None });
                }
                (4, _) => self.close()?,
                (_, kind) => {
                    let len = rest.varint()?;
                    let start = rest.position;
                    match kind {
                        FieldKind::Message(id) => {
                            let end = start.saturating_add(len as usize);
                            let length = Some((after_tag, start));
                            self.open.push(Open { end, id, length, changed: None });
                        }
                        FieldKind::UnverifiedString if !self.checks_unverified => drop(rest.take(len)?),
                        FieldKind::String | FieldKind::UnverifiedString => {
                            let text = rest.take(len)?.bytes;
                            if self.decoder.has_error(text) {
                                self.open_lengths();
                                self.copy(after_tag, rest.position);
                                self.string(text, start - after_tag)?;
                            }
                        }
                        FieldKind::Skipped | FieldKind::Group(_) => drop(rest.take(len)?),
                    }
                }
            }
        }
    }

    /// Adds bytes to the output.
    fn put(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if let Pass::Write(_, out) = &mut self.pass {
            out.extend_from_slice(bytes);
        }
    }

    /// Copies the input up to a position, and continues at another.
    fn copy(&mut self, end: usize, next: usize) {
        let input = self.input;
        self.put(&input[self.copied..end]);
        self.copied = next;
    }

    /// Adds a length to the output.
    fn put_length(&mut self, length: Length) {
        self.len += u64::from(length.width);
        if let Pass::Write(_, out) = &mut self.pass {
            length.write_to(out);
        }
    }

    /// Adds a string that is repaired, and its length. `width` is the width of the length in the input.
    fn string(&mut self, text: &[u8], width: usize) -> Result<(), Malformed> {
        let mut repaired = 0;
        self.decoder.repair_again(text, &mut |part| repaired += part.len() as u64);
        let mut length = Length::of_input(text.len(), width);
        length.set(repaired)?;
        self.put_length(length);
        let decoder = self.decoder.clone();
        match &mut self.pass {
            Pass::Write(_, out) => {
                decoder.repair_again(text, &mut |part| out.extend_from_slice(part.as_bytes()));
            }
            Pass::Measure(_) => {}
        }
        self.len += repaired;
        Ok(())
    }

    /// Starts the messages that contain the next byte: their lengths change.
    fn open_lengths(&mut self) {
        for index in self.changed..self.open.len() {
            let Open { end, length: Some((at, start)), .. } = self.open[index] else { continue };
            self.copy(at, start);
            match &mut self.pass {
                Pass::Measure(lengths) => {
                    self.open[index].changed = Some(Changed { index: lengths.len(), start: self.len });
                    lengths.push(Length::of_input(end - start, start - at));
                }
                Pass::Write(lengths, _) => {
                    if let Some(&length) = lengths.next() {
                        self.put_length(length);
                    }
                }
            }
        }
        self.changed = self.open.len();
    }

    /// Ends the innermost message or group.
    fn close(&mut self) -> Result<(), Malformed> {
        let Some(Open { end, changed, .. }) = self.open.pop() else { return Ok(()) };
        self.changed = self.changed.min(self.open.len());
        let Some(Changed { index, start }) = changed else { return Ok(()) };
        self.copy(end, end);
        let content = self.len - start;
        if let Pass::Measure(lengths) = &mut self.pass {
            lengths[index].set(content)?;
            self.len += u64::from(lengths[index].width);
        }
        Ok(())
    }
}
