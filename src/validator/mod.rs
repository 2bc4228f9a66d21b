//! Validation of messages.
//!
//! For applications that do the framing themselves: WebSocket, gRPC, MQTT. [`Utf8Validator`] validates one message
//! after the other as its bytes arrive, without a buffer. [`Mask`] is the mask of a WebSocket frame, so that a payload
//! can be validated while it is masked, or while the mask is removed. For the text of a message as a `String`, use
//! [`Utf8Decoder::feed_into`](crate::Utf8Decoder::feed_into) with each frame, and `finish` at the end of the message.
//!
//! ```
//! use utf8_codec::validator::{Mask, Utf8Validator};
//!
//! # fn main() -> Result<(), utf8_codec::Utf8Error> {
//! let mut text = Utf8Validator::new();
//! // Two frames of a WebSocket message, each with its own mask. A character is split between them.
//! let mut first = *b"caf\xC3";
//! Mask::new([1, 2, 3, 4]).apply(&mut first); // as it came from the network
//! text.unmask(&mut first, &mut Mask::new([1, 2, 3, 4]))?;
//! assert_eq!(&first, b"caf\xC3");
//! text.validate(b"\xA9")?;
//! text.finish()?; // an error if the message ended inside a character
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! The call that receives the first byte that cannot be part of a character returns a [`Utf8Error`]. Its offset counts from
//! the start of the message.
//!
//! # Limits
//!
//! The validator holds at most 3 bytes of a message. The length of a message is not limited here.
//!
//! # Cost
//!
//! The state is a few words long. Nothing is allocated, and each byte is read once.
//!
//! # Feature
//!
//! None, `no_std`. `Utf8Validator::validate_buf` needs `bytes`.

use crate::decoder::Utf8Decoder;
use crate::error::Utf8Error;

/// Validates messages one after the other as their bytes arrive, without a buffer.
///
/// This is for an application that keeps the payload in its own frames and only needs to validate it: a WebSocket text
/// message or close reason (RFC 6455 §8.1), a gRPC string. The error is returned for the first byte that makes the
/// message ill-formed, even if only a part of the frame has arrived. A peer therefore cannot send an ill-formed prefix
/// and delay the rest. A frame may end inside a character, a message may not: call
/// [`finish`](Self::finish).
///
/// The validator holds only the bytes of an unfinished character. A clone is a snapshot, and assigning it
/// back restores it.
///
/// ```
/// use utf8_codec::ErrorKind;
/// use utf8_codec::validator::Utf8Validator;
///
/// let mut text = Utf8Validator::new();
/// text.validate("κόσμε".as_bytes())?; // a frame
/// text.validate(b"\xF4")?; // the first byte of the next one
/// let error = text.validate(b"\x90").unwrap_err(); // before the third byte arrives
/// assert_eq!((error.offset, error.kind), (10, ErrorKind::AboveMax));
/// // Now close with Utf8Validator::CLOSE_CODE.
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a message may be truncated: call `finish`"]
pub struct Utf8Validator {
    decoder: Utf8Decoder,
    failed: Option<Utf8Error>,
}

impl Utf8Validator {
    /// The code with which a WebSocket connection is closed if a message is not UTF-8: 1007, "received data within a
    /// message that was not consistent with the type of the message" (RFC 6455 §7.4.1).
    pub const CLOSE_CODE: u16 = 1007;

    /// Creates a validator at the start of a message.
    #[inline]
    pub const fn new() -> Self {
        Self { decoder: Utf8Decoder::new(), failed: None }
    }

    /// Validates the next bytes of the message: a frame, a segment, a single byte, or none.
    ///
    /// # Errors
    ///
    /// Returns the first ill-formed sequence, with its offset in the message. Every further call returns the same error
    /// until [`finish`](Self::finish).
    #[inline]
    pub fn validate(&mut self, bytes: &[u8]) -> Result<(), Utf8Error> {
        self.verdict()?;
        self.decoder.validate(bytes).inspect_err(|&error| self.failed = Some(error))
    }

    /// Same as [`validate`](Self::validate), but for a payload in several segments. The segments are consumed: pass a
    /// clone to use them later. Cloning is cheap for `Bytes`.
    ///
    /// ```
    /// use bytes::Buf;
    /// use utf8_codec::validator::Utf8Validator;
    ///
    /// let payload = b"caf\xC3".chain(&b"\xA9"[..]);
    /// let mut text = Utf8Validator::new();
    /// text.validate_buf(payload)?;
    /// text.finish()?;
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`validate`](Self::validate).
    #[cfg(feature = "bytes")]
    #[inline]
    pub fn validate_buf(&mut self, mut payload: impl bytes::Buf) -> Result<(), Utf8Error> {
        self.verdict()?;
        while payload.has_remaining() {
            let segment = payload.chunk();
            if segment.is_empty() {
                // The buffer violates its contract. Without this test the loop would not end.
                break;
            }
            self.validate(segment)?;
            payload.advance(segment.len());
        }
        Ok(())
    }

    /// Returns the error of the message so far, if there is one. The methods test this first, because an empty payload
    /// has no block whose validation would return the error.
    #[inline]
    fn verdict(&self) -> Result<(), Utf8Error> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Same as [`validate`](Self::validate), but for a payload that stays masked, in a proxy that forwards frames.
    ///
    /// # Errors
    ///
    /// Same as [`validate`](Self::validate).
    #[inline]
    pub fn validate_masked(&mut self, bytes: &[u8], mask: &mut Mask) -> Result<(), Utf8Error> {
        self.verdict()?;
        validate_masked(&mut self.decoder, bytes, mask).inspect_err(|&error| self.failed = Some(error))
    }

    /// Removes the mask from a payload and validates it block by block, while each block is in the L1 cache.
    ///
    /// # Errors
    ///
    /// Same as [`validate`](Self::validate). The mask is removed from all of `bytes`, even after an error.
    #[inline]
    pub fn unmask(&mut self, bytes: &mut [u8], mask: &mut Mask) -> Result<(), Utf8Error> {
        let mut verdict = self.verdict();
        for block in bytes.chunks_mut(BLOCK) {
            mask.apply(block);
            verdict = verdict.and_then(|()| self.validate(block));
        }
        verdict
    }

    /// Ends the message. The next bytes start another message at offset 0.
    ///
    /// # Errors
    ///
    /// Returns the error of the message if there was one, or [`Truncated`](crate::ErrorKind::Truncated) if the message
    /// ends inside a character.
    #[inline]
    pub fn finish(&mut self) -> Result<(), Utf8Error> {
        let Self { mut decoder, failed } = core::mem::take(self);
        failed.map_or_else(|| decoder.finish(), Err)
    }

    /// Returns the number of bytes of the message that were validated. After an error this is the end of the ill-formed
    /// sequence.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Returns the 0 to 3 bytes of an unfinished character at the end of the bytes so far.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }
}

/// The number of bytes that are unmasked at a time.
const BLOCK: usize = 4096;
/// The same for a few bytes, for which it would be wasted work to initialize a long block.
const SHORT: usize = 68;
const MEDIUM: usize = 1024;

/// Validates the next bytes of a masked payload, as [`Utf8Decoder::validate`]. After an error the mask is not at the
/// offset of the decoder.
#[inline]
pub fn validate_masked(decoder: &mut Utf8Decoder, bytes: &[u8], mask: &mut Mask) -> Result<(), Utf8Error> {
    if bytes.len() <= SHORT {
        validate_copies::<SHORT>(decoder, bytes, mask)
    } else if bytes.len() <= MEDIUM {
        validate_copies::<MEDIUM>(decoder, bytes, mask)
    } else {
        validate_copies::<BLOCK>(decoder, bytes, mask)
    }
}

/// Validates a copy of at most `LEN` bytes at a time.
fn validate_copies<const LEN: usize>(
    decoder: &mut Utf8Decoder,
    bytes: &[u8],
    mask: &mut Mask,
) -> Result<(), Utf8Error> {
    let mut copy = [0; LEN];
    for block in bytes.chunks(LEN) {
        // The copy is never shorter, which the compiler does not see.
        let copy = copy.get_mut(..block.len()).unwrap_or_default();
        mask.copy(block, copy);
        decoder.validate(copy)?;
    }
    Ok(())
}

/// Combines bytes with the same number of bytes of a key. There is no branch in the loop, so that the compiler uses vectors.
#[inline]
fn xor(to: &mut [u8], from: &[u8], keys: &[u8]) {
    for ((to, from), key) in to.iter_mut().zip(from).zip(keys) {
        *to = from ^ key;
    }
}

/// The mask of a WebSocket frame (RFC 6455 §5.3), and the position of the next payload byte in it.
///
/// Each frame has its own mask. Use the same `Mask` for all parts of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The key, rotated so that its first byte masks the next byte.
    key: [u8; 4],
}

impl Mask {
    /// Creates the mask for the start of a payload that is masked with `key`.
    #[inline]
    pub const fn new(key: [u8; 4]) -> Self {
        Self { key }
    }

    /// Applies the mask to the next bytes. This masks or unmasks them.
    #[inline]
    pub fn apply(&mut self, bytes: &mut [u8]) {
        let [a, b, c, d] = self.key;
        let wide = u128::from_ne_bytes([a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d]);
        let mut blocks = bytes.chunks_exact_mut(16);
        for block in &mut blocks {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(block);
            block.copy_from_slice(&(u128::from_ne_bytes(bytes) ^ wide).to_ne_bytes());
        }
        let mut words = blocks.into_remainder().chunks_exact_mut(4);
        for word in &mut words {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(word);
            word.copy_from_slice(&(u32::from_ne_bytes(bytes) ^ u32::from_ne_bytes(self.key)).to_ne_bytes());
        }
        for (byte, key) in words.into_remainder().iter_mut().zip(self.key) {
            *byte ^= key;
        }
        *self = self.rotated(bytes.len());
    }

    /// Writes the next bytes to `copy`, which has the same length, and applies the mask to it.
    #[inline]
    fn copy(&mut self, bytes: &[u8], copy: &mut [u8]) {
        let keys = [self.key; 16];
        let mut from = bytes.chunks_exact(64);
        let mut to = copy.chunks_exact_mut(64);
        for (to, from) in to.by_ref().zip(from.by_ref()) {
            xor(to, from, keys.as_flattened());
        }
        xor(to.into_remainder(), from.remainder(), keys.as_flattened());
        *self = self.rotated(bytes.len());
    }

    /// Returns the mask `bytes` bytes later.
    #[doc(hidden)]
    #[inline]
    pub const fn rotated(self, bytes: usize) -> Self {
        let rotated = u32::from_le_bytes(self.key).rotate_right(8 * (bytes % 4) as u32);
        Self { key: rotated.to_le_bytes() }
    }

    /// Returns the key of a frame whose payload starts with the next byte.
    #[doc(hidden)]
    #[inline]
    pub const fn key(self) -> [u8; 4] {
        self.key
    }
}
