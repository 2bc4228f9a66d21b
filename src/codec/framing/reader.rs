//! Reader for frames with a header that contains the length of the payload. Each codec passes a function that reads its
//! header.

use bytes::{Buf, Bytes, BytesMut};

use super::error::FramingError;

/// The maximum number of decimal digits of a length. Every number of 19 digits is below 2^64.
pub const MAX_DIGITS: usize = 19;

/// The default limit of a payload: 8 MiB, as in `LengthDelimitedCodec`.
pub(super) const DEFAULT_MAX_LENGTH: usize = 8 * 1024 * 1024;

/// The state of a codec for frames: its position in the stream and in the current frame, and its settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameReader {
    pub(super) max_length: usize,
    /// Bytes that are skipped between two frames. No header starts with one of them.
    skipped: &'static [u8],
    /// The absolute offset of the front of the buffer.
    offset: u64,
    /// The absolute offset of the current frame.
    start: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Header,
    /// After a frame. Bytes that are skipped may follow.
    Between,
    /// At the start of a payload of this length. It is returned when all of it is in the buffer.
    Payload(usize),
    /// In a payload that is too long. This number of its bytes has not been skipped yet.
    Skip(u64),
    /// After an error. The next frame cannot be found.
    Failed,
}

impl FrameReader {
    #[inline]
    pub(super) const fn new(max_length: usize) -> Self {
        Self { max_length, skipped: &[], offset: 0, start: 0, state: State::Header }
    }

    /// Sets the bytes that are skipped after a frame, in any number.
    #[inline]
    pub(super) const fn skip_after_frames(mut self, bytes: &'static [u8]) -> Self {
        self.skipped = bytes;
        self
    }

    /// Returns the absolute offset of the front of the buffer.
    #[inline]
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the absolute offset of the current frame.
    #[inline]
    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    /// Removes bytes of the current frame from the front of `src`.
    #[inline]
    pub(super) fn advance(&mut self, src: &mut BytesMut, bytes: usize) {
        src.advance(bytes);
        self.offset = self.offset.wrapping_add(bytes as u64);
    }

    /// Returns the next frame if `src` contains all of it. `header` removes a complete header from the front of the
    /// buffer and returns the length of the payload. It may remove a part of a header and return `None`.
    pub(super) fn decode(
        &mut self,
        src: &mut BytesMut,
        mut header: impl FnMut(&mut Self, &mut BytesMut) -> Result<Option<u64>, FramingError>,
    ) -> Result<Option<Bytes>, FramingError> {
        loop {
            match self.state {
                State::Between => {
                    let skipped = src.iter().take_while(|byte| self.skipped.contains(byte)).count();
                    self.advance(src, skipped);
                    self.start = self.offset;
                    if src.is_empty() {
                        return Ok(None);
                    }
                    self.state = State::Header;
                }
                State::Header => match header(self, src) {
                    Ok(None) => return Ok(None),
                    Ok(Some(length)) => match usize::try_from(length) {
                        Ok(length) if length <= self.max_length => self.state = State::Payload(length),
                        _ => {
                            self.state = State::Skip(length);
                            let offset = self.start;
                            let limit = self.max_length;
                            debug!(offset, limit, "frame too long");
                            return Err(FramingError::FrameTooLong { offset, limit });
                        }
                    },
                    Err(error) => return Err(self.fail(error)),
                },
                State::Payload(length) => {
                    if src.len() < length {
                        return Ok(None);
                    }
                    return Ok(Some(self.take(src, length, 0)));
                }
                State::Skip(remaining) => {
                    let skipped = usize::try_from(remaining).unwrap_or(usize::MAX).min(src.len());
                    self.advance(src, skipped);
                    self.state = State::Skip(remaining - skipped as u64);
                    if skipped as u64 != remaining {
                        return Ok(None);
                    }
                    self.end_frame();
                }
                State::Failed => {
                    self.advance(src, src.len());
                    return Ok(None);
                }
            }
        }
    }

    /// Same as [`decode`](Self::decode), for a stream that has ended. An unfinished frame is reported once and discarded.
    pub(super) fn decode_eof(
        &mut self,
        src: &mut BytesMut,
        header: impl FnMut(&mut Self, &mut BytesMut) -> Result<Option<u64>, FramingError>,
    ) -> Result<Option<Bytes>, FramingError> {
        match self.decode(src, header) {
            Ok(None) => self.finish(src).map(|()| None),
            decoded => decoded,
        }
    }

    /// Ends the stream. An unfinished frame is discarded. Returns an error for it, unless one was already returned.
    #[inline]
    fn finish(&mut self, src: &mut BytesMut) -> Result<(), FramingError> {
        let is_reported = !matches!(self.state, State::Header | State::Between | State::Payload(_));
        let is_unfinished = self.start != self.offset || !src.is_empty();
        let offset = self.start;
        self.advance(src, src.len());
        self.end_frame();
        if is_unfinished && !is_reported { Err(FramingError::Truncated { offset }) } else { Ok(()) }
    }

    /// Removes a payload and its trailer, and ends the frame.
    #[inline]
    pub(super) fn take(&mut self, src: &mut BytesMut, length: usize, trailer: usize) -> Bytes {
        trace!(offset = self.start, length, "frame");
        let mut payload = src.split_to(length + trailer);
        payload.truncate(length);
        self.offset = self.offset.wrapping_add((length + trailer) as u64);
        self.end_frame();
        payload.freeze()
    }

    /// Ends the frame. The next frame starts at the front of the buffer.
    #[inline]
    pub(super) fn end_frame(&mut self) {
        self.start = self.offset;
        self.state = State::Between;
    }

    /// Returns `error`. Later calls discard the rest of the stream.
    #[cold]
    fn fail(&mut self, error: FramingError) -> FramingError {
        self.state = State::Failed;
        error
    }

    /// Reads a length of decimal digits without leading zeros, followed by `end`.
    #[inline]
    pub(super) fn digits(&mut self, src: &mut BytesMut, end: u8) -> Result<Option<u64>, FramingError> {
        let mut length = 0;
        for (at, &byte) in src.iter().enumerate() {
            if byte == end && at > 0 {
                self.advance(src, at + 1);
                return Ok(Some(length));
            }
            if !byte.is_ascii_digit() || src[0] == b'0' {
                return Err(FramingError::InvalidHeader { offset: self.offset.wrapping_add(at as u64) });
            }
            if at == MAX_DIGITS {
                return Err(FramingError::HeaderTooLong { offset: self.start, limit: MAX_DIGITS });
            }
            length = length * 10 + u64::from(byte - b'0');
        }
        Ok(None)
    }
}
