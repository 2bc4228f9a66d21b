//! The grammar of a stream of frames, without what happens to its data.

use core::ops::Range;

use utf8_codec::validator::Mask;
use utf8_codec::{Utf8Decoder, Utf8Error};

use super::close::{may_be_sent, may_start};
use super::error::{FrameError, FrameErrorKind};
use super::header::{Context, FrameHeader, FrameSender, MAX_CONTROL, MAX_HEADER, Opcode};

/// Limits that only an attack reaches.
const MAX_FRAME_LENGTH: u64 = 16 << 20;
const MAX_MESSAGE_LENGTH: u64 = 64 << 20;

/// The first byte of a text message in one frame.
const FINAL_TEXT: u8 = 0x81;

/// How a stream of frames ended early.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// By a close frame.
    Closed,
    Failed(FrameError),
}

/// Reads headers and control frames, and finds the data between them.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    pub(super) sender: FrameSender,
    pub(super) max_frame_length: u64,
    pub(super) max_message_length: u64,
    pub(super) passes_compressed: bool,
    /// The number of bytes read.
    offset: u64,
    /// The start of a header, if the last slice ended inside one.
    partial: [u8; MAX_HEADER],
    partial_len: usize,
    frame: Option<Frame>,
    message: Option<Message>,
    control: Control,
    /// The offset on the wire of the first pending byte of a character.
    pending_start: u64,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    header: FrameHeader,
    /// The offset of the header on the wire.
    start: u64,
    /// Positioned at the next byte of the payload.
    mask: Mask,
    left: u64,
}

/// A message that has started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) is_text: bool,
    pub(super) is_compressed: bool,
    /// The number of bytes read.
    len: u64,
}

/// What comes next in a slice.
#[derive(Debug)]
pub(super) enum Step {
    Data(Data),
    /// A complete control frame. Its payload is in [`Frames::control_payload`].
    Control {
        header: FrameHeader,
        /// The frame in the slice, if all of it is there.
        whole: Option<Range<usize>>,
    },
}

/// A part of the payload of a data frame.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) message: Message,
    /// The payload in the slice. It is only empty at the end of a frame.
    pub(super) range: Range<usize>,
    /// Positioned at the start of the range.
    pub(super) mask: Option<Mask>,
    /// The offset of the range on the wire, and in the message.
    pub(super) wire: u64,
    pub(super) offset: u64,
    /// The offset of the frame on the wire.
    pub(super) frame: u64,
    /// Whether it is part of the first frame of the message.
    pub(super) is_first: bool,
    pub(super) ends_message: bool,
    /// The position of the frame in the slice, if all of it is there.
    pub(super) whole_from: Option<usize>,
}

/// The payload of a control frame, without its mask.
#[derive(Clone, Debug)]
struct Control {
    bytes: [u8; MAX_CONTROL],
    len: usize,
    reason: Utf8Decoder,
}

impl Frames {
    pub(super) const fn new(sender: FrameSender) -> Self {
        Self {
            sender,
            max_frame_length: MAX_FRAME_LENGTH,
            max_message_length: MAX_MESSAGE_LENGTH,
            passes_compressed: false,
            offset: 0,
            partial: [0; MAX_HEADER],
            partial_len: 0,
            frame: None,
            message: None,
            control: Control { bytes: [0; MAX_CONTROL], len: 0, reason: Utf8Decoder::new() },
            pending_start: 0,
        }
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Sets the offset to that of an error, which ends the stream: how many bytes after it were read depends on the
    /// slices.
    pub(super) const fn stop_at(&mut self, error: &FrameError) {
        self.offset = error.offset;
    }

    pub(super) fn control_payload(&self) -> &[u8] {
        &self.control.bytes[..self.control.len]
    }

    /// Returns the lengths of the header and of the payload if the slice starts with a complete text message of at most
    /// 125 bytes in one frame, for which nothing is pending. The message is not empty.
    #[inline(always)]
    pub(super) fn short_text(&self, slice: &[u8]) -> Option<(usize, usize)> {
        let is_between_messages = self.frame.is_none() && self.message.is_none() && self.partial_len == 0;
        let (header, len) = match (self.sender, slice) {
            (FrameSender::Client, &[FINAL_TEXT, len @ 0x81..=0xFD, ..]) => (6, len & 0x7F),
            (FrameSender::Server, &[FINAL_TEXT, len @ 0x01..=0x7D, ..]) => (2, len),
            _ => return None,
        };
        let is_allowed = u64::from(len) <= self.max_frame_length.min(self.max_message_length);
        let len = usize::from(len);
        (is_between_messages && is_allowed && slice.len() >= header + len).then_some((header, len))
    }

    /// Moves after the message that [`short_text`](Self::short_text) found, and returns its data. The slice starts with it.
    #[inline(always)]
    pub(super) fn take_short_text(&mut self, (header, len): (usize, usize)) -> Data {
        let frame = self.offset;
        let wire = frame.wrapping_add(header as u64);
        self.offset = wire.wrapping_add(len as u64);
        Data {
            message: Message { is_text: true, is_compressed: false, len: 0 },
            range: header..header + len,
            mask: None,
            wire,
            offset: 0,
            frame,
            is_first: true,
            ends_message: true,
            whole_from: Some(0),
        }
    }

    /// Reads the next step from `slice[*at..]`, and moves `at` after it. Returns `None` if the slice ends before it.
    #[inline(always)]
    pub(super) fn step(&mut self, slice: &[u8], at: &mut usize) -> Result<Option<Step>, FrameError> {
        let mut start = None;
        let mut frame = match self.frame {
            Some(frame) => frame,
            None => {
                let before = *at;
                let is_new = self.partial_len == 0;
                let Some((header, offset)) = self.read_header(slice, at)? else { return Ok(None) };
                if is_new {
                    start = Some(before);
                }
                let mask = Mask::new(header.mask.unwrap_or_default());
                Frame { header, start: offset, mask, left: header.len }
            }
        };
        let len = usize::try_from(frame.left).unwrap_or(usize::MAX).min(slice.len() - *at);
        let range = *at..*at + len;
        let mask = frame.mask;
        let wire = self.offset;
        frame.left -= len as u64;
        frame.mask = mask.rotated(len);
        *at += len;
        self.offset = wire.wrapping_add(len as u64);
        let ends_frame = frame.left == 0;
        self.frame = (!ends_frame).then_some(frame);
        if !ends_frame {
            start = None;
        }
        let header = frame.header;
        if header.opcode.is_control() {
            self.read_control(header, &slice[range], mask, wire)?;
            let whole = start.map(|start| start..*at);
            return Ok(ends_frame.then_some(Step::Control { header, whole }));
        }
        if len == 0 && !ends_frame {
            return Ok(None);
        }
        // A data frame is only read inside a message.
        let Some(message) = &mut self.message else { return Ok(None) };
        let before = *message;
        message.len += len as u64;
        let ends_message = ends_frame && header.is_final;
        if ends_message {
            self.message = None;
        }
        Ok(Some(Step::Data(Data {
            message: before,
            range,
            mask: header.mask.map(|_| mask),
            wire,
            offset: before.len,
            frame: frame.start,
            is_first: header.opcode != Opcode::Continuation,
            ends_message,
            whole_from: start,
        })))
    }

    /// Reads the rest of a header. Returns it with its offset on the wire, or `None` if the slice ends inside it.
    #[inline(always)]
    fn read_header(
        &mut self,
        slice: &[u8],
        at: &mut usize,
    ) -> Result<Option<(FrameHeader, u64)>, FrameError> {
        let context = Context {
            sender: self.sender,
            is_in_message: self.message.is_some(),
            passes_compressed: self.passes_compressed,
        };
        let rest = &slice[*at..];
        let before = self.partial_len;
        let read = if before == 0 {
            FrameHeader::read(rest, context)
        } else {
            let taken = rest.len().min(MAX_HEADER - before);
            self.partial[before..before + taken].copy_from_slice(&rest[..taken]);
            FrameHeader::read(&self.partial[..before + taken], context)
        };
        let start = self.offset.wrapping_sub(before as u64);
        let read = read.and_then(|read| match read {
            Some((header, len)) => self.start(header).map(|()| Some((header, len))).map_err(|kind| (1, kind)),
            None => Ok(None),
        });
        match read {
            Ok(Some((header, len))) => {
                self.partial_len = 0;
                *at += len - before;
                self.offset = start.wrapping_add(len as u64);
                Ok(Some((header, start)))
            }
            Ok(None) => {
                if before == 0 {
                    self.partial[..rest.len()].copy_from_slice(rest);
                }
                self.partial_len = before + rest.len();
                *at = slice.len();
                self.offset = self.offset.wrapping_add(rest.len() as u64);
                Ok(None)
            }
            Err((position, kind)) => Err(self.error_at(start.wrapping_add(position as u64), kind)),
        }
    }

    /// Starts a frame: tests the limits, and starts a message or a control frame.
    #[inline(always)]
    fn start(&mut self, header: FrameHeader) -> Result<(), FrameErrorKind> {
        if header.opcode.is_control() {
            self.control.len = 0;
            return Ok(());
        }
        if header.len > self.max_frame_length {
            return Err(FrameErrorKind::FrameTooLong(self.max_frame_length));
        }
        if header.len > self.max_message_length.saturating_sub(self.message.map_or(0, |message| message.len))
        {
            return Err(FrameErrorKind::MessageTooLong(self.max_message_length));
        }
        if header.opcode != Opcode::Continuation {
            let is_text = header.opcode == Opcode::Text;
            self.message = Some(Message { is_text, is_compressed: header.is_compressed, len: 0 });
        }
        Ok(())
    }

    /// Reads a part of the payload of a control frame, which starts at the offset `wire`.
    fn read_control(
        &mut self,
        header: FrameHeader,
        part: &[u8],
        mut mask: Mask,
        wire: u64,
    ) -> Result<(), FrameError> {
        let Control { bytes, len: before, reason } = &mut self.control;
        let len = *before + part.len();
        let Some(unmasked) = bytes.get_mut(*before..len) else { return Ok(()) };
        unmasked.copy_from_slice(part);
        if header.mask.is_some() {
            mask.apply(unmasked);
        }
        if header.opcode != Opcode::Close {
            *before = len;
            return Ok(());
        }
        let start = wire.wrapping_sub(*before as u64);
        if *before == 0 {
            *reason = Utf8Decoder::new();
        }
        let read = (*before).max(2);
        *before = len;
        let is_whole = len as u64 == header.len;
        let judged = match bytes[..len] {
            [first, ..] if !may_start(first) => Err((0, FrameErrorKind::CloseCode(None))),
            [first, second, ..] if !may_be_sent(u16::from_be_bytes([first, second])) => {
                let code = u16::from_be_bytes([first, second]);
                Err((0, FrameErrorKind::CloseCode(Some(code))))
            }
            ref payload => reason
                .validate(payload.get(read..).unwrap_or_default())
                .and_then(|()| if is_whole { reason.finish() } else { Ok(()) })
                .map_err(|error| (2 + error.offset, FrameErrorKind::Reason(error))),
        };
        judged.map_err(|(position, kind)| self.error_at(start.wrapping_add(position), kind))
    }

    /// Starts another stream with the same settings.
    const fn restart(&mut self) {
        (self.offset, self.partial_len, self.frame, self.message) = (0, 0, None, None);
    }

    /// Ends the stream, which may have ended before, and starts another.
    pub(super) fn finish(&mut self, end: Option<End>) -> Result<(), FrameError> {
        let is_truncated = self.frame.is_some() || self.message.is_some() || self.partial_len > 0;
        let result = match end {
            Some(End::Failed(error)) => Err(error),
            None if is_truncated => Err(self.error_at(self.offset, FrameErrorKind::Truncated)),
            Some(End::Closed) | None => Ok(()),
        };
        self.restart();
        result
    }

    fn error_at(&self, offset: u64, kind: FrameErrorKind) -> FrameError {
        FrameError { offset, message_offset: self.message.map_or(0, |message| message.len), kind }
    }

    /// Returns the error for ill-formed text that ends in `data` or, if the message ended there, at its end.
    #[cold]
    pub(super) fn text_error(&self, data: &Data, error: Utf8Error) -> FrameError {
        let offset = match error.offset.checked_sub(data.offset) {
            _ if data.message.is_compressed => data.frame,
            Some(position) => data.wire.wrapping_add(position),
            None => self.pending_start,
        };
        FrameError { offset, message_offset: error.offset, kind: FrameErrorKind::Text(error) }
    }

    /// Notes that the last `pending` bytes of the text end inside a character. The last of them are at the end of `data`.
    #[inline(always)]
    pub(super) fn note_pending(&mut self, data: &Data, pending: usize) {
        if (1..=data.range.len()).contains(&pending) {
            self.pending_start = data.wire.wrapping_add((data.range.len() - pending) as u64);
        }
    }
}

impl Data {
    /// Returns the error for the inflated data of a compressed message, up to `message_offset`.
    #[cold]
    pub(super) const fn inflated_error(&self, kind: FrameErrorKind, message_offset: u64) -> FrameError {
        let message_offset = match kind {
            FrameErrorKind::Text(error) => error.offset,
            _ => message_offset,
        };
        FrameError { offset: self.frame, message_offset, kind }
    }
}
