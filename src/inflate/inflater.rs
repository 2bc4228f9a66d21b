//! Limits on what an inflater returns.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;

use super::{Inflate, InflateError, Inflated};

/// The default maximum length of the text, the same as for a message in the filters of the family.
const MAX_LENGTH: u64 = 64 << 20;

/// The default maximum ratio, the same as of Apache's `DeflateInflateRatioLimit`. Deflate reaches at most 1032.
const MAX_RATIO: u64 = 200;

/// The length that is allowed in addition to the ratio: a short message may be one line, repeated.
const ANY_RATIO: u64 = 1 << 20;

/// The length of a piece of the text.
const PIECE: usize = 8 * 1024;

/// The ratio is tested against whole blocks of the input. How much has been read when a byte of the text is written
/// depends on how the input is divided, but the block in which the last read byte is does not.
const BLOCK: u64 = 4 * 1024;

/// Inflates messages in pieces, up to limits.
///
/// End each message with [`finish`](Self::finish). After an error, which every later call returns,
/// [`restart`](Self::restart) makes the value usable for a new stream of messages.
pub struct Inflater {
    inflate: Box<dyn Inflate>,
    max_length: u64,
    max_ratio: u64,
    /// Empty before the first input.
    piece: Box<[u8]>,
    /// The numbers of bytes of the message so far.
    read: u64,
    written: u64,
    /// Whether there may be more text without more input.
    is_full: bool,
    error: Option<InflateError>,
}

impl Inflater {
    /// Creates an inflater with the default [limits](super#limits).
    pub fn new(inflate: impl Inflate + 'static) -> Self {
        Self::of(Box::new(inflate), MAX_LENGTH, MAX_RATIO)
    }

    fn of(inflate: Box<dyn Inflate>, max_length: u64, max_ratio: u64) -> Self {
        let piece = Box::default();
        Self { inflate, max_length, max_ratio, piece, read: 0, written: 0, is_full: false, error: None }
    }

    /// Sets the maximum length of the text of a message.
    #[must_use]
    pub const fn with_max_length(mut self, bytes: u64) -> Self {
        self.max_length = bytes;
        self
    }

    /// Returns the maximum length of the text of a message.
    pub const fn max_length(&self) -> u64 {
        self.max_length
    }

    /// Sets how many times as long as the input so far, in blocks of 4 KiB, the text of a message may be. 1 MiB is
    /// allowed in addition.
    #[must_use]
    pub const fn with_max_ratio(mut self, ratio: u64) -> Self {
        self.max_ratio = ratio;
        self
    }

    /// Reads the next bytes of the message, and calls `f` with each piece of its text. No piece is empty. Where pieces end is
    /// not specified.
    ///
    /// # Errors
    ///
    /// Returns the first error of the message, or the error of `f`.
    pub fn feed_with<E: From<InflateError>>(
        &mut self,
        mut input: &[u8],
        mut f: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(piece) = self.take_piece(&mut input)? {
            if let Err(error) = f(piece) {
                self.error = Some(InflateError::Corrupt);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the next piece of the text, and removes what was read from the start of `input`. Returns `None` when all of it
    /// was read and all of its text returned: then the next bytes of the message are needed, or [`finish`](Self::finish).
    ///
    /// # Errors
    ///
    /// Returns the first error of the message.
    pub fn take_piece(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, InflateError> {
        loop {
            if let Some(error) = self.error {
                return Err(error);
            }
            if input.is_empty() && !self.is_full {
                return Ok(None);
            }
            let len = self.inflate_block(input).map_err(|error| self.fail(error))?;
            if len > 0 {
                return Ok(Some(&self.piece[..len]));
            }
        }
    }

    /// Inflates input that is in one block, and returns the length of the piece.
    fn inflate_block(&mut self, input: &mut &[u8]) -> Result<usize, InflateError> {
        if self.piece.is_empty() {
            self.piece = vec![0; PIECE].into_boxed_slice();
        }
        // What the last block left is returned before the next one starts.
        let of_last = u64::from(self.is_full && self.read > 0);
        let block_end = ((self.read - of_last) / BLOCK + 1) * BLOCK;
        let block = &input[..((block_end - self.read) as usize).min(input.len())];
        let (limit, beyond) = self.limit(block_end);
        // One byte more than the limit, to see whether the text continues.
        let left = limit.saturating_sub(self.written);
        let space = usize::try_from(left).unwrap_or(PIECE).saturating_add(1).min(PIECE);
        let Inflated { read, written } = self.inflate.inflate(block, &mut self.piece[..space])?;
        let is_stuck = (read, written) == (0, 0) && !block.is_empty();
        if is_stuck || read > block.len() || written > space {
            // The implementation is wrong.
            return Err(InflateError::Corrupt);
        }
        *input = &input[read..];
        self.read += read as u64;
        // A call that filled the output may have left text, and an error after it.
        self.is_full = written == space || (self.is_full && written > 0);
        let is_beyond = written as u64 > left;
        if is_beyond {
            self.fail(beyond);
        }
        let len = written - usize::from(is_beyond);
        self.written += len as u64;
        Ok(len)
    }

    /// Returns the limit of the text of a block, and the error beyond it.
    const fn limit(&self, block_end: u64) -> (u64, InflateError) {
        let of_ratio = block_end.saturating_mul(self.max_ratio).saturating_add(ANY_RATIO);
        if self.max_length <= of_ratio {
            (self.max_length, InflateError::TooLong(self.max_length))
        } else {
            (of_ratio, InflateError::Ratio(self.max_ratio))
        }
    }

    fn fail(&mut self, error: InflateError) -> InflateError {
        self.error = Some(error);
        error
    }

    /// Ends the message. The next input is that of another message.
    ///
    /// # Errors
    ///
    /// Returns the error of the message, or [`InflateError::Truncated`] if it is not complete.
    pub fn finish(&mut self) -> Result<(), InflateError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.inflate.finish().map_err(|error| self.fail(error))?;
        (self.read, self.written) = (0, 0);
        Ok(())
    }

    /// Starts a new stream of messages, with the same settings.
    pub fn restart(&mut self) {
        self.inflate = self.inflate.fresh();
        (self.read, self.written, self.is_full, self.error) = (0, 0, false, None);
    }

    /// Returns the number of bytes of the message that were read. After an error it depends on how they were divided.
    pub const fn read(&self) -> u64 {
        self.read
    }

    /// Returns the number of bytes of text of the message that were returned.
    pub const fn written(&self) -> u64 {
        self.written
    }
}

/// A clone is at its start, because the state of an inflater cannot be cloned. The clone of an inflater that is inside
/// a message returns an error.
impl Clone for Inflater {
    fn clone(&self) -> Self {
        let mut clone = Self::of(self.inflate.fresh(), self.max_length, self.max_ratio);
        clone.error = self.error.or((self.read > 0).then_some(InflateError::Truncated));
        clone
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater")
            .field("max_length", &self.max_length)
            .field("max_ratio", &self.max_ratio)
            .field("read", &self.read)
            .field("written", &self.written)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}
