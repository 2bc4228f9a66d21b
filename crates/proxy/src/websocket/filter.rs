//! The filter of a gateway, without I/O.
//!
//! The filter forwards the frames of one direction as edits of a slice, and stops before the first byte that cannot be
//! part of any message. `Frames` reads the slice in steps: a part of a data frame, or a control frame that is complete.
//!
//! The idea is that a part of a message can be forwarded before its frame is complete, as a frame of its own: a new header,
//! the bytes of a character that the last part held back, and a range of the slice. The header is inserted after the
//! part was checked, because it contains the length of what passes. Only a complete frame that starts and ends between
//! characters keeps its header.
//!
//! This is correct because:
//!
//! - The boundaries of fragments have no meaning (RFC 6455 §5.4): the receiver joins their payloads. In the message,
//!   each part goes from `start`, the offset of the first held byte, to `end`, after the last complete character. The
//!   next one starts at this `end`, so no byte is lost or sent twice.
//! - The mask of a byte depends on its position in its frame. A fragment has the key of the frame, rotated by the distance
//!   between both starts, so the masked bytes of the slice stay as they are. Only what is inserted is masked again.
//! - A replacement has the length of what it replaces. A part with an error can therefore have its header before it is decoded
//!   a second time, from `before`, to find the errors.
//! - A compressed message is inflated for the check only, and its bytes pass unchanged. If it is repaired, [`Inflation`]
//!   writes frames of inflated text instead.

use alloc::boxed::Box;
use core::ops::Range;

use bytes::Bytes;
use utf8_codec::boundary::unfinished_len;
use utf8_codec::inflate::Inflater;
use utf8_codec::internal::{Joiner, validate_masked};
use utf8_codec::validator::Mask;
use utf8_codec::{Ascii, Utf8Decoder, Utf8Error};

use super::error::FrameError;
use super::frames::{Data, End, Frames, Step};
use super::handshake::CompressionPolicy;
use super::header::{FrameHeader, FrameSender, Opcode};
use super::inflation::Inflation;
use super::plan::Plan;
use crate::Edit;

/// A filter for one direction of a WebSocket connection that a gateway forwards. The input is slices of an engine's
/// buffer, the output is [`Edit`]s of that buffer, as with [`Filter`](crate::Filter).
///
/// - What was forwarded ends between frames after every slice, so a close frame can be inserted at any time. A frame that
///   is not complete in a slice is therefore forwarded as fragments, one for each slice, with headers of their own (RFC 6455
///   §5.4). A complete frame passes unchanged. The fragments of a masked frame have its key, rotated, so that its
///   payload stays as it is.
/// - A control frame is forwarded when it is complete. Text is forwarded in whole characters: at most 3 bytes move from the
///   end of a frame to the next frame of the message.
/// - At the first byte that cannot be part of any message, the result is an error. What precedes it in the message was
///   forwarded. Send the [close frame](FrameError::close_frame) of the error to both peers, then close both
///   connections.
/// - The messages, the control frames, the errors and the offsets do not depend on how the stream is split into slices.
///   The lengths of fragments do.
///
/// Edits are ranges of the slice and bytes to insert, so that an engine can apply them to its own buffer, in place or while
/// it copies. [`rewrite`](Self::rewrite) applies them to a [`Bytes`].
///
/// ```
/// use utf8_codec_proxy::Edit;
/// use utf8_codec_proxy::websocket::{FrameFilter, FrameSender};
///
/// let mut filter = FrameFilter::new(FrameSender::Server);
/// let mut forwarded = Vec::new();
/// // A frame of 6 bytes that arrives in two parts, and the start of one that is ill-formed.
/// for (slice, passes) in [(&b"\x81\x06na\xC3"[..], true), (b"\xAFve", true), (b"\x81\x7E\xFF\xFFxy\xFFz", false)] {
///     let result = filter.feed_with(slice, |edit| match edit {
///         Edit::Pass(range) => forwarded.extend_from_slice(&slice[range]),
///         Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
///         _ => {}
///     });
///     if let Err(error) = result {
///         error.close_frame().write_to(None, &mut forwarded);
///         assert_eq!((error.offset, error.message_offset, error.close_code()), (14, 2, 1007));
///     }
///     assert_eq!(result.is_ok(), passes);
/// }
/// let frames = b"\x01\x02na\x80\x04\xC3\xAFve\x01\x02xy\x88";
/// assert_eq!(&forwarded[..frames.len()], frames);
/// ```
#[derive(Clone, Debug)]
pub struct FrameFilter {
    frames: Frames,
    text: Utf8Decoder,
    substitute: Option<Ascii>,
    inflation: Option<Box<Inflation>>,
    /// Whether a frame of the message was forwarded, so that the next one is a continuation.
    is_continued: bool,
    end: Option<End>,
}

impl FrameFilter {
    /// Creates a filter of the frames that `sender` sends. It rejects ill-formed text, frames of more than 16 MiB and
    /// messages of more than 64 MiB.
    pub const fn new(sender: FrameSender) -> Self {
        Self {
            frames: Frames::new(sender),
            text: Utf8Decoder::new(),
            substitute: None,
            inflation: None,
            is_continued: false,
            end: None,
        }
    }

    /// Replaces each ill-formed byte of a text message by this byte, as
    /// [`ErrorPolicy::Substitute`](utf8_codec::ErrorPolicy::Substitute) does. Lengths are kept. A close frame with an
    /// ill-formed reason is still rejected. With an [inflater](Self::with_inflater), no message is forwarded compressed.
    #[must_use]
    pub const fn with_substitute(mut self, byte: Ascii) -> Self {
        self.substitute = Some(byte);
        self
    }

    /// Sets the maximum length of the payload of a data frame. The filter needs no memory for it, but the receiver may.
    #[must_use]
    pub const fn with_max_frame_length(mut self, bytes: u64) -> Self {
        self.frames.max_frame_length = bytes;
        self
    }

    /// Sets the maximum length of a message, the sum of the payloads of its frames. Without it a peer can fill the memory
    /// of a receiver that collects messages.
    #[must_use]
    pub const fn with_max_message_length(mut self, bytes: u64) -> Self {
        self.frames.max_message_length = bytes;
        self
    }

    /// Sets what happens to compressed messages (RSV1). The default is [`CompressionPolicy::Remove`]: they are errors. With
    /// [`CompressionPolicy::Pass`] they pass without a check, and with [`CompressionPolicy::Inflate`] they need
    /// [`with_inflater`](Self::with_inflater). Set it for a connection that negotiated `permessage-deflate`
    /// ([`CompressionPolicy::negotiated`]).
    #[must_use]
    pub const fn with_compression(mut self, compression: CompressionPolicy) -> Self {
        self.frames.passes_compressed = match compression {
            CompressionPolicy::Remove => false,
            CompressionPolicy::Pass => true,
            CompressionPolicy::Inflate => self.inflation.is_some(),
        };
        self
    }

    /// Inflates compressed messages and checks their text. See [Compression](super#compression).
    #[must_use]
    pub fn with_inflater(mut self, inflater: Inflater) -> Self {
        self.inflation = Some(Box::new(Inflation::new(inflater)));
        self.with_compression(CompressionPolicy::Inflate)
    }

    /// Filters the next slice of the stream and calls `edit` for each edit. The slice may be empty.
    ///
    /// [`Edit::IllFormed`] has the offset on the wire, and is reported before the `Insert` that contains the replacement. Bytes
    /// after a close frame are discarded ([`is_closed`](Self::is_closed)).
    ///
    /// # Errors
    ///
    /// Returns the error after the frames that pass. The edits before it are valid: forward them, then close both connections
    /// with the code of the error. Every later call returns the same error.
    pub fn feed_with(&mut self, slice: &[u8], edit: impl FnMut(Edit<'_>)) -> Result<(), FrameError> {
        match self.end {
            Some(End::Closed) => return Ok(()),
            Some(End::Failed(error)) => return Err(error),
            None => {}
        }
        let mut plan = Plan::new(edit);
        let result = self.run(slice, &mut plan);
        plan.flush();
        if let Err(error) = result {
            self.frames.stop_at(&error);
            self.end = Some(End::Failed(error));
        }
        result
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Same as [`FrameReader::finish`](super::FrameReader::finish).
    pub fn finish(&mut self) -> Result<(), FrameError> {
        let result = self.frames.finish(self.end.take());
        (self.text, self.is_continued) = (Utf8Decoder::new(), false);
        if let Some(inflation) = &mut self.inflation {
            inflation.restart();
        }
        result
    }

    /// Whether the close frame of the sender was forwarded.
    pub const fn is_closed(&self) -> bool {
        matches!(self.end, Some(End::Closed))
    }

    /// Replaces the next chunk by what can be forwarded: [`feed_with`](Self::feed_with) for hooks that replace a chunk. A
    /// chunk of complete frames is not copied.
    ///
    /// # Errors
    ///
    /// Same as for [`feed_with`](Self::feed_with). What precedes the error is in `chunk`.
    pub fn rewrite(&mut self, chunk: &mut Bytes) -> Result<(), FrameError> {
        let whole = core::mem::take(chunk);
        let mut frames = Joiner::without_limit();
        let result = self.feed_with(&whole, |edit| match edit {
            Edit::Pass(range) => drop(frames.span(&whole[..], range)),
            Edit::Insert(bytes) => drop(frames.copy(&whole[..], bytes)),
            _ => {}
        });
        *chunk = frames.end().map(|frames| frames.of_last(whole)).unwrap_or_default();
        result
    }

    /// Returns the number of bytes read, including those that are held. After an error it is the offset of the error.
    pub const fn offset(&self) -> u64 {
        self.frames.offset()
    }

    #[inline(always)]
    fn run(&mut self, slice: &[u8], plan: &mut Plan<impl FnMut(Edit<'_>)>) -> Result<(), FrameError> {
        let mut at = 0;
        while let Some(step) = self.frames.step(slice, &mut at)? {
            match step {
                Step::Data(data) => self.data(slice, data, plan)?,
                Step::Control { header, whole } => {
                    self.control(&header, whole, plan);
                    if header.opcode == Opcode::Close {
                        self.end = Some(End::Closed);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn control(
        &self,
        header: &FrameHeader,
        whole: Option<Range<usize>>,
        plan: &mut Plan<impl FnMut(Edit<'_>)>,
    ) {
        if let Some(whole) = whole {
            return plan.pass(whole);
        }
        plan.header(header);
        let mask = header.mask.map(Mask::new);
        plan.insert_masked(self.frames.control_payload(), mask);
    }

    /// Forwards a part of a message.
    #[inline(always)]
    fn data(
        &mut self,
        slice: &[u8],
        data: Data,
        plan: &mut Plan<impl FnMut(Edit<'_>)>,
    ) -> Result<(), FrameError> {
        let before = self.text;
        let payload = &slice[data.range.clone()];
        if data.message.is_compressed && self.inflate(payload, &data, plan)? {
            return Ok(());
        }
        let is_read = data.message.is_text && !data.message.is_compressed;
        let result =
            if is_read { validate(&mut self.text, payload, data.mask, data.ends_message) } else { Ok(()) };
        if let Some(from) = data.whole_from {
            let is_between_characters = before.pending().is_empty() && self.text.pending().is_empty();
            if result.is_ok() && is_between_characters && self.is_continued != data.is_first {
                // The whole frame passes unchanged.
                plan.pass(from..data.range.end);
                self.is_continued = true;
                self.end_part(&data);
                return Ok(());
            }
        }
        self.fragment(payload, &data, before, result, plan)
    }

    /// Inflates a part of a compressed message, and checks or repairs it. Returns whether it was forwarded: a message that is
    /// not repaired passes as it is.
    fn inflate(
        &mut self,
        payload: &[u8],
        data: &Data,
        plan: &mut Plan<impl FnMut(Edit<'_>)>,
    ) -> Result<bool, FrameError> {
        let Some(inflation) = &mut self.inflation else { return Ok(false) };
        let result = match self.substitute {
            Some(byte) => inflation.repair(payload, data, byte, &mut self.is_continued, plan),
            None => inflation.check(payload, data),
        };
        if let Err(kind) = result {
            let error = data.inflated_error(kind, inflation.offset());
            if let Some(ill_formed) = error.utf8_error() {
                plan.report(ill_formed.with_offset(error.offset));
            }
            return Err(error);
        }
        if self.substitute.is_some() {
            self.is_continued &= !data.ends_message;
        }
        Ok(self.substitute.is_some())
    }

    /// Forwards a part of a message as a frame with another header, after the bytes that were held. If the part is
    /// ill-formed, it is repaired, or only what precedes the error is forwarded.
    fn fragment(
        &mut self,
        payload: &[u8],
        data: &Data,
        before: Utf8Decoder,
        result: Result<(), Utf8Error>,
        plan: &mut Plan<impl FnMut(Edit<'_>)>,
    ) -> Result<(), FrameError> {
        let part = Part { held: before.pending(), payload, data };
        let read = data.offset + payload.len() as u64;
        // Offsets in the message.
        let start = data.offset - part.held.len() as u64;
        let (end, repairs, rejected) = match (result, self.substitute) {
            (Ok(()), _) => (read - self.text.pending().len() as u64, None, None),
            (Err(error), None) => (error.offset, None, Some(error)),
            (Err(_), Some(byte)) => (read - part.unfinished_len() as u64, Some(byte), None),
        };
        let is_final = data.ends_message && rejected.is_none();
        if start < end || is_final {
            plan.fragment(data.message, &mut self.is_continued, (is_final, part.mask_at(start), end - start));
        }
        let mut from = start;
        if let Some(byte) = repairs {
            self.text = before;
            loop {
                let at = self.text.offset();
                let rest = payload.get((at - data.offset) as usize..).unwrap_or_default();
                let Err(error) = validate(&mut self.text, rest, part.mask_at(at), data.ends_message) else {
                    break;
                };
                let Utf8Error { offset, kind, len, .. } = error;
                let wire = self.frames.text_error(data, error).offset;
                plan.report(Utf8Error::new(wire, kind, len));
                part.forward(from..offset, plan);
                plan.insert_masked(&[byte.get(); 4][..usize::from(len)], part.mask_at(offset));
                from = offset + u64::from(len);
            }
        }
        part.forward(from..end, plan);
        if let Some(error) = rejected {
            let rejected = self.frames.text_error(data, error);
            plan.report(error.with_offset(rejected.offset));
            return Err(rejected);
        }
        self.end_part(data);
        Ok(())
    }

    #[inline(always)]
    fn end_part(&mut self, data: &Data) {
        self.frames.note_pending(data, self.text.pending().len());
        if data.ends_message {
            (self.text, self.is_continued) = (Utf8Decoder::new(), false);
        }
    }
}

/// Validates a part of the text of a message.
#[inline(always)]
fn validate(text: &mut Utf8Decoder, part: &[u8], mask: Option<Mask>, ends: bool) -> Result<(), Utf8Error> {
    match mask {
        Some(mut mask) => validate_masked(text, part, &mut mask)?,
        None => text.validate(part)?,
    }
    if ends { text.finish() } else { Ok(()) }
}

/// A part of the text of a message, and the bytes before it that were held.
struct Part<'p> {
    held: &'p [u8],
    payload: &'p [u8],
    data: &'p Data,
}

impl Part<'_> {
    /// Returns the mask at an offset in the message. The fragments have the key of the frame that they are parts of,
    /// rotated, and held bytes have the key of the frame that they move to.
    fn mask_at(&self, offset: u64) -> Option<Mask> {
        // The distance may be negative. A rotation by 4 changes nothing.
        self.data.mask.map(|mask| mask.rotated(offset.wrapping_sub(self.data.offset) as usize))
    }

    /// Returns the number of bytes at the end that start a character, if the message does not end there.
    fn unfinished_len(&self) -> usize {
        if self.data.ends_message {
            return 0;
        }
        let mut last = [0; 6];
        let held = self.held.len();
        let len = self.payload.len().min(3);
        last[..held].copy_from_slice(self.held);
        let from = self.payload.len() - len;
        let payload = &mut last[held..held + len];
        payload.copy_from_slice(&self.payload[from..]);
        if let Some(mut mask) = self.mask_at(self.data.offset + from as u64) {
            mask.apply(payload);
        }
        unfinished_len(&last[..held + len])
    }

    /// Forwards the bytes at these offsets in the message.
    fn forward(&self, range: Range<u64>, plan: &mut Plan<impl FnMut(Edit<'_>)>) {
        let held = &self.held[self.held_before(range.start)..self.held_before(range.end)];
        plan.insert_masked(held, self.mask_at(range.start));
        plan.pass(self.position(range.start)..self.position(range.end));
    }

    /// Returns the number of held bytes before an offset in the message.
    fn held_before(&self, offset: u64) -> usize {
        self.held.len().saturating_sub(self.data.offset.saturating_sub(offset) as usize)
    }

    /// Returns the position in the slice of an offset in the message, or of the payload if that byte is held.
    fn position(&self, offset: u64) -> usize {
        self.data.range.start + offset.saturating_sub(self.data.offset) as usize
    }
}
