//! The text of compressed messages (RFC 7692).

use alloc::vec::Vec;
use core::fmt;

use utf8_codec::inflate::Inflater;
use utf8_codec::validator::Mask;
use utf8_codec::{Ascii, Utf8Decoder, Utf8Error};

use super::error::FrameErrorKind;
use super::frames::Data;
use super::plan::Plan;
use crate::Edit;

/// The compressed messages of one direction.
#[derive(Clone)]
pub(super) struct Inflation {
    inflater: Inflater,
    text: Utf8Decoder,
    /// The repaired data that is not forwarded yet. It ends with the pending bytes of a character.
    repaired: Vec<u8>,
}

/// The length of the parts that are copied to remove their mask.
const COPY: usize = 1024;

impl Inflation {
    pub(super) const fn new(inflater: Inflater) -> Self {
        Self { inflater, text: Utf8Decoder::new(), repaired: Vec::new() }
    }

    /// Starts another stream.
    pub(super) fn restart(&mut self) {
        self.inflater.restart();
        self.text = Utf8Decoder::new();
        self.repaired.clear();
    }

    /// Returns the offset in the inflated message.
    pub(super) const fn offset(&self) -> u64 {
        self.inflater.written()
    }

    /// Checks a part of a message.
    pub(super) fn check(&mut self, payload: &[u8], data: &Data) -> Result<(), FrameErrorKind> {
        let Self { inflater, text, .. } = self;
        unmasked(payload, data.mask, |part| {
            inflater.feed_with(part, |piece| match data.message.is_text {
                true => text.validate(piece).map_err(FrameErrorKind::Text),
                false => Ok(()),
            })
        })?;
        if data.ends_message {
            inflater.finish()?;
            text.finish().map_err(FrameErrorKind::Text)?;
            *text = Utf8Decoder::new();
        }
        Ok(())
    }

    /// Inflates a part of a message, replaces each ill-formed byte of its text by `byte`, and forwards the result. What
    /// precedes an error is forwarded.
    pub(super) fn repair<F: FnMut(Edit<'_>)>(
        &mut self,
        payload: &[u8],
        data: &Data,
        byte: Ascii,
        is_continued: &mut bool,
        plan: &mut Plan<F>,
    ) -> Result<(), FrameErrorKind> {
        let Self { inflater, text, repaired } = self;
        let mut output = Output { repaired, data, byte, is_continued, plan };
        let mut result = unmasked(payload, data.mask, |part| {
            inflater.feed_with(part, |piece| {
                output.forward(text.pending().len(), false);
                output.repair(text, piece);
                Ok(())
            })
        });
        if data.ends_message && result.is_ok() {
            result = inflater.finish().map_err(FrameErrorKind::from);
        }
        if data.ends_message && result.is_ok() {
            if let Err(error) = text.finish() {
                output.substitute(error, 0);
            }
            *text = Utf8Decoder::new();
            output.forward(0, true);
        } else {
            output.forward(text.pending().len(), false);
        }
        result
    }
}

/// What is forwarded of a message that is repaired.
struct Output<'o, F> {
    repaired: &'o mut Vec<u8>,
    data: &'o Data,
    byte: Ascii,
    is_continued: &'o mut bool,
    plan: &'o mut Plan<F>,
}

impl<F: FnMut(Edit<'_>)> Output<'_, F> {
    /// Adds a piece of the message.
    fn repair(&mut self, text: &mut Utf8Decoder, piece: &[u8]) {
        self.repaired.extend_from_slice(piece);
        if !self.data.message.is_text {
            return;
        }
        let mut rest = piece;
        loop {
            let before = text.offset();
            let Err(error) = text.validate(rest) else { return };
            rest = &rest[(text.offset() - before) as usize..];
            self.substitute(error, rest.len());
        }
    }

    /// Replaces the bytes of an ill-formed sequence that is followed by `after` bytes.
    fn substitute(&mut self, error: Utf8Error, after: usize) {
        let end = self.repaired.len() - after;
        self.repaired[end - usize::from(error.len)..end].fill(self.byte.get());
        self.plan.report(error.with_offset(self.data.frame));
    }

    /// Forwards all but the last `held` bytes as an uncompressed fragment.
    fn forward(&mut self, held: usize, is_final: bool) {
        let len = self.repaired.len() - held;
        if len == 0 && !is_final {
            return;
        }
        let mut message = self.data.message;
        message.is_compressed = false;
        self.plan.fragment(message, self.is_continued, (is_final, self.data.mask, len as u64));
        if let Some(mut mask) = self.data.mask {
            mask.apply(&mut self.repaired[..len]);
        }
        self.plan.insert(&self.repaired[..len]);
        self.repaired.drain(..len);
    }
}

/// Removes the mask of a payload, in copies, and calls `f` with its parts.
fn unmasked<E>(
    payload: &[u8],
    mask: Option<Mask>,
    mut f: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let Some(mut mask) = mask else { return f(payload) };
    let mut copy = [0; COPY];
    payload.chunks(COPY).try_for_each(|part| {
        let copy = &mut copy[..part.len()];
        copy.copy_from_slice(part);
        mask.apply(copy);
        f(copy)
    })
}

/// Does not show the data.
impl fmt::Debug for Inflation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflation")
            .field("inflater", &self.inflater)
            .field("text", &self.text)
            .field("held", &self.repaired.len())
            .finish()
    }
}
