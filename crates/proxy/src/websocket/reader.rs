//! The reader of an endpoint.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::iter::FusedIterator;

use bytes::Bytes;
use utf8_codec::inflate::{InflateError, Inflater};
use utf8_codec::validator::Mask;
use utf8_codec::{Counters, ShortStr, TextDecoder, TextPiece, Utf8Error, from_utf8};

use super::close::CloseFrame;
use super::error::FrameError;
use super::frames::{Data, End, Frames, Step};
use super::header::{FrameSender, Opcode};

/// Reads the frames that a peer sends, for a client or a server that has the bytes of the connection.
///
/// Text is returned as it arrives, even inside a frame, and never ends inside a character. The events, the errors and
/// the offsets do not depend on how the stream is split into chunks, apart from how text and data are divided into
/// [`Text`](FrameEvent::Text), [`Seam`](FrameEvent::Seam) and [`Binary`](FrameEvent::Binary).
///
/// ```
/// use utf8_codec_proxy::websocket::{FrameEvent, FrameReader, Opcode, FrameSender};
///
/// let mut reader = FrameReader::new(FrameSender::Server);
/// let mut text = String::new();
/// for mut chunk in [*b"\x01\x03gr\xC3\x89", *b"\x00\x80\x03\xBCn!"] {
///     for event in reader.feed(&mut chunk[..]) {
///         match event? {
///             FrameEvent::Text(part) => text.push_str(part),
///             FrameEvent::Seam(character) => text.push_str(&character),
///             FrameEvent::End(Opcode::Text) => assert_eq!(text, "grün!"),
///             FrameEvent::Ping(payload) => assert_eq!(payload, ""), // reply with a pong
///             _ => {}
///         }
///     }
/// }
/// # Ok::<(), utf8_codec_proxy::websocket::FrameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrameReader {
    frames: Frames,
    text: TextDecoder,
    inflation: Option<Box<Inflation>>,
    end: Option<End>,
}

/// Inflates the compressed messages of the sender.
#[derive(Clone)]
struct Inflation {
    inflater: Inflater,
    /// A piece of a message, returned up to `at`.
    piece: Vec<u8>,
    at: usize,
    /// Whether the inflater has ended the message, of which some text may be pending.
    is_finished: bool,
}

/// What the peer sent. Events are in stream order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameEvent<'c> {
    /// Text of a message, borrowed from the chunk; never empty.
    Text(&'c str),
    /// A character of a message whose bytes came in different chunks or frames.
    Seam(ShortStr),
    /// The replacement of an ill-formed sequence. The offset of the error counts from the start of the message.
    Repaired(ShortStr, Utf8Error),
    /// Data of a binary message, borrowed from the chunk; never empty.
    Binary(&'c [u8]),
    /// Text of a compressed message; never empty.
    InflatedText(String),
    /// Data of a compressed binary message; never empty.
    InflatedBinary(Vec<u8>),
    /// The end of a message, and whether it was `Text` or `Binary`.
    End(Opcode),
    /// A ping. Reply with a pong with the same payload.
    Ping(Bytes),
    /// A pong.
    Pong(Bytes),
    /// The last frame. Reply with a close frame, unless you sent one. Bytes after it are discarded.
    Close(Option<Box<CloseFrame>>),
}

impl FrameReader {
    /// Creates a reader of the frames that `sender` sends. It rejects ill-formed text, frames of more than 16 MiB and
    /// messages of more than 64 MiB.
    pub fn new(sender: FrameSender) -> Self {
        Self::with_decoder(sender, TextDecoder::new())
    }

    /// Creates a reader that applies the policies of the decoder to each text message. They do not apply to the reason of
    /// a close frame, which must be well-formed.
    pub fn with_decoder(sender: FrameSender, decoder: TextDecoder) -> Self {
        let mut text = decoder.restarted_at(0);
        text.restart();
        Self { frames: Frames::new(sender), text, inflation: None, end: None }
    }

    /// Sets the maximum length of the payload of a data frame. Without it a peer that announces a long frame makes a
    /// program wait for it, or reserve memory.
    #[must_use]
    pub const fn with_max_frame_length(mut self, bytes: u64) -> Self {
        self.frames.max_frame_length = bytes;
        self
    }

    /// Sets the maximum length of a message, the sum of the payloads of its frames. Without it a peer can fill the memory
    /// of a program that collects messages.
    #[must_use]
    pub const fn with_max_message_length(mut self, bytes: u64) -> Self {
        self.frames.max_message_length = bytes;
        self
    }

    /// Inflates compressed messages. Without an inflater they are errors. See [Compression](super#compression).
    #[must_use]
    pub fn with_inflater(mut self, inflater: Inflater) -> Self {
        self.frames.passes_compressed = true;
        self.inflation = Some(Box::new(Inflation { inflater, piece: Vec::new(), at: 0, is_finished: false }));
        self
    }

    /// Reads the next chunk. The mask is removed in the chunk, and text and data are borrowed from it.
    ///
    /// The chunk is read as the iterator advances, and the rest of it when the iterator is dropped: the events of that rest
    /// are lost. An error is the last item, and the only item of every later call, even if it was in that rest.
    #[must_use = "the events of the chunk are lost if the iterator is dropped"]
    pub fn feed<'r, 'c>(&'r mut self, chunk: &'c mut [u8]) -> FrameEvents<'r, 'c> {
        FrameEvents { reader: self, rest: chunk, data: None, text: &[], is_whole: false, is_over: false }
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Returns the error of the stream if there was one, or [`Truncated`](super::FrameErrorKind::Truncated) if it ends
    /// inside a frame or a message. If it ends before a close frame there is no error, but the peer may not have sent
    /// everything: see [`is_closed`](Self::is_closed).
    pub fn finish(&mut self) -> Result<(), FrameError> {
        let result = self.frames.finish(self.end.take());
        self.text.restart();
        if let Some(inflation) = &mut self.inflation {
            inflation.inflater.restart();
            inflation.start_message();
        }
        result
    }

    /// Returns the number of errors in text messages so far, by kind.
    pub const fn counters(&self) -> Counters {
        self.text.counters()
    }

    /// Returns the number of bytes read. After an error it is the offset of the error.
    pub const fn offset(&self) -> u64 {
        self.frames.offset()
    }

    /// Whether a close frame was read.
    pub const fn is_closed(&self) -> bool {
        matches!(self.end, Some(End::Closed))
    }
}

/// The events of a chunk, returned by [`FrameReader::feed`].
#[derive(Debug)]
pub struct FrameEvents<'r, 'c> {
    reader: &'r mut FrameReader,
    rest: &'c mut [u8],
    /// A part of a message that is not returned completely.
    data: Option<Data>,
    /// What is left of that part, compressed if the message is.
    text: &'c [u8],
    /// Whether all of a text message was returned, and its end was not.
    is_whole: bool,
    is_over: bool,
}

impl<'c> FrameEvents<'_, 'c> {
    /// Returns the text of a short message in one frame, if no policy applies to it. If it is ill-formed, it is left in
    /// `data`.
    #[inline(always)]
    fn short_text(&mut self) -> Option<&'c str> {
        let FrameReader { frames, text, end, .. } = &mut *self.reader;
        if self.data.is_some() || end.is_some() || !text.is_past_start() {
            return None;
        }
        let (header, len) = frames.short_text(self.rest)?;
        let (frame, rest) = core::mem::take(&mut self.rest).split_at_mut(header + len);
        self.rest = rest;
        let data = frames.take_short_text((header, len));
        let (header, payload) = frame.split_at_mut(header);
        if let Some(key) = header.get(2..).and_then(<[u8]>::first_chunk) {
            Mask::new(*key).apply(payload);
        }
        let payload = &*payload;
        match from_utf8(payload) {
            Ok(text) => Some(text),
            Err(_) => {
                (self.data, self.text) = (Some(data), payload);
                None
            }
        }
    }

    #[inline(always)]
    fn next_event(&mut self) -> Result<Option<FrameEvent<'c>>, FrameError> {
        loop {
            if let Some(data) = &self.data {
                if let Some(event) = self.reader.next_of_data(data, &mut self.text)? {
                    if matches!(event, FrameEvent::End(_)) {
                        self.data = None;
                    }
                    return Ok(Some(event));
                }
                self.data = None;
            }
            let rest = core::mem::take(&mut self.rest);
            let mut at = 0;
            let step = self.reader.frames.step(rest, &mut at)?;
            let (read, after) = rest.split_at_mut(at);
            self.rest = after;
            match step {
                None => return Ok(None),
                Some(Step::Control { header, .. }) => return Ok(Some(self.reader.control(header.opcode))),
                Some(Step::Data(data)) => {
                    let payload = &mut read[data.range.clone()];
                    if let Some(mut mask) = data.mask {
                        mask.apply(payload);
                    }
                    let payload = &*payload;
                    let is_decoded = data.message.is_text || data.message.is_compressed;
                    self.data = Some(data);
                    if is_decoded {
                        self.text = payload;
                    } else if !payload.is_empty() {
                        return Ok(Some(FrameEvent::Binary(payload)));
                    }
                }
            }
        }
    }
}

impl FrameReader {
    /// Returns the next event of a part of a message, of which `rest` is not decoded yet.
    #[inline(always)]
    fn next_of_data<'c>(
        &mut self,
        data: &Data,
        rest: &mut &'c [u8],
    ) -> Result<Option<FrameEvent<'c>>, FrameError> {
        if data.message.is_compressed {
            return self.next_inflated(data, rest);
        }
        if data.message.is_text {
            while !rest.is_empty() {
                let (piece, taken) = self.text.take_piece(rest);
                *rest = &rest[taken..];
                if let Some(piece) = piece {
                    return self.piece(data, piece).map(Some);
                }
            }
            if data.ends_message {
                if let Some(piece) = self.text.finish() {
                    return self.piece(data, piece).map(Some);
                }
                self.text.restart();
            } else {
                self.frames.note_pending(data, self.text.pending().len());
            }
        }
        if !data.ends_message {
            return Ok(None);
        }
        Ok(Some(FrameEvent::End(if data.message.is_text { Opcode::Text } else { Opcode::Binary })))
    }

    #[inline(always)]
    fn piece<'c>(&self, data: &Data, piece: TextPiece<'c>) -> Result<FrameEvent<'c>, FrameError> {
        match piece {
            TextPiece::Text(text) => Ok(FrameEvent::Text(text)),
            TextPiece::Seam(character) => Ok(FrameEvent::Seam(character)),
            TextPiece::Repaired(text, error) => Ok(FrameEvent::Repaired(text, error)),
            TextPiece::IllFormed(error) => Err(self.frames.text_error(data, error)),
        }
    }

    /// Returns the next event of a part of a compressed message, of which `rest` is not inflated yet.
    fn next_inflated<'c>(
        &mut self,
        data: &Data,
        rest: &mut &[u8],
    ) -> Result<Option<FrameEvent<'c>>, FrameError> {
        let Self { frames, text, inflation: Some(inflation), .. } = self else { return Ok(None) };
        let is_text = data.message.is_text;
        loop {
            let left = &inflation.piece[inflation.at..];
            if left.is_empty() {
                match inflation.take_piece(rest) {
                    Ok(true) => continue,
                    Ok(false) => break,
                    Err(error) => return Err(inflation.error(data, error)),
                }
            }
            if !is_text {
                return Ok(Some(FrameEvent::InflatedBinary(core::mem::take(&mut inflation.piece))));
            }
            let (piece, taken) = text.take_piece(left);
            inflation.at += taken;
            if let Some(piece) = piece {
                return inflated(frames, data, piece).map(Some);
            }
        }
        if !data.ends_message {
            return Ok(None);
        }
        if !core::mem::replace(&mut inflation.is_finished, true) {
            inflation.inflater.finish().map_err(|error| inflation.error(data, error))?;
        }
        if is_text {
            if let Some(piece) = text.finish() {
                return inflated(frames, data, piece).map(Some);
            }
            text.restart();
        }
        inflation.start_message();
        Ok(Some(FrameEvent::End(if is_text { Opcode::Text } else { Opcode::Binary })))
    }

    #[cold]
    fn control(&mut self, opcode: Opcode) -> FrameEvent<'static> {
        let payload = self.frames.control_payload();
        match opcode {
            Opcode::Close => {
                self.end = Some(End::Closed);
                let frame = payload.split_first_chunk().map(|(&code, reason)| {
                    CloseFrame::new(u16::from_be_bytes(code), from_utf8(reason).unwrap_or_default())
                });
                FrameEvent::Close(frame.map(Box::new))
            }
            Opcode::Ping => FrameEvent::Ping(Bytes::copy_from_slice(payload)),
            _ => FrameEvent::Pong(Bytes::copy_from_slice(payload)),
        }
    }
}

/// Returns an event with a piece of the text of a compressed message.
fn inflated<'c>(frames: &Frames, data: &Data, piece: TextPiece<'_>) -> Result<FrameEvent<'c>, FrameError> {
    match piece {
        TextPiece::Text(text) => Ok(FrameEvent::InflatedText(text.into())),
        TextPiece::Seam(character) => Ok(FrameEvent::Seam(character)),
        TextPiece::Repaired(text, error) => Ok(FrameEvent::Repaired(text, error)),
        TextPiece::IllFormed(error) => Err(frames.text_error(data, error)),
    }
}

impl Inflation {
    fn start_message(&mut self) {
        self.piece.clear();
        (self.at, self.is_finished) = (0, false);
    }

    /// Takes the next piece of the message. Returns whether there is one.
    fn take_piece(&mut self, rest: &mut &[u8]) -> Result<bool, InflateError> {
        self.at = 0;
        self.piece.clear();
        let piece = self.inflater.take_piece(rest)?;
        self.piece.extend_from_slice(piece.unwrap_or_default());
        Ok(piece.is_some())
    }

    fn error(&self, data: &Data, error: InflateError) -> FrameError {
        data.inflated_error(error.into(), self.inflater.written())
    }
}

/// Does not show the data.
impl fmt::Debug for Inflation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflation")
            .field("inflater", &self.inflater)
            .field("held", &(self.piece.len() - self.at))
            .finish_non_exhaustive()
    }
}

impl<'c> Iterator for FrameEvents<'_, 'c> {
    type Item = Result<FrameEvent<'c>, FrameError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        if core::mem::take(&mut self.is_whole) {
            return Some(Ok(FrameEvent::End(Opcode::Text)));
        }
        if let Some(text) = self.short_text() {
            self.is_whole = true;
            return Some(Ok(FrameEvent::Text(text)));
        }
        let next = match self.reader.end {
            None => self.next_event(),
            Some(End::Closed) => Ok(None),
            Some(End::Failed(error)) => Err(error),
        };
        match next {
            Ok(Some(event)) => Some(Ok(event)),
            Ok(None) => {
                self.is_over = true;
                None
            }
            Err(error) => {
                self.is_over = true;
                self.reader.frames.stop_at(&error);
                self.reader.end = Some(End::Failed(error));
                Some(Err(error))
            }
        }
    }
}

impl FusedIterator for FrameEvents<'_, '_> {}

impl Drop for FrameEvents<'_, '_> {
    /// Reads the rest of the chunk, so that the next one continues the stream.
    fn drop(&mut self) {
        while self.next().is_some() {}
    }
}
