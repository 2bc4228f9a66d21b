//! Verdicts for hosts that frame for themselves: WebSocket, gRPC.

#[cfg(feature = "bytes")]
mod buf;

use crate::decoder::Utf8Decoder;
use crate::error::Utf8Error;

/// Judges the text of one message after the other, as its bytes arrive, without a buffer.
///
/// For a host that has the payload already, in its own frames and segments, and only needs to know whether it is
/// text: a WebSocket text message or close reason (RFC 6455 §8.1), a gRPC string. It refuses at the first byte that
/// no text can go on with, inside a partly received frame as well: a peer that sends a bad prefix and withholds the
/// rest is found out at once. A frame may end inside a character, a message may not:
/// [`end_of_message`](Self::end_of_message) has to be asked.
///
/// It is `Copy`, and holds no payload but the bytes of an unfinished character: a copy is a snapshot, and assigning
/// it back restores it.
///
/// ```
/// use utf8_codec::ErrorKind;
/// use utf8_codec::validator::Utf8Validator;
///
/// let mut text = Utf8Validator::new();
/// text.feed("κόσμε".as_bytes())?; // a frame
/// text.feed(b"\xF4")?; // the first byte of the next one
/// let error = text.feed(b"\x90").unwrap_err(); // refused before its third byte has come
/// assert_eq!((error.offset, error.kind), (10, ErrorKind::AboveMax));
/// // Now close with Utf8Validator::CLOSE_CODE.
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a message that nobody ends may be cut short"]
pub struct Utf8Validator {
    decoder: Utf8Decoder,
    failed: Option<Utf8Error>,
}

impl Utf8Validator {
    /// What a WebSocket connection is closed with when a message is not text: 1007, "received data within a message
    /// that was not consistent with the type of the message" (RFC 6455 §7.4.1).
    pub const CLOSE_CODE: u16 = 1007;

    /// At the start of a message.
    pub const fn new() -> Self {
        Self { decoder: Utf8Decoder::new(), failed: None }
    }

    /// Judges the next bytes of the message: a frame, a segment, a single byte. Empty ones are fine.
    ///
    /// # Errors
    ///
    /// The first ill-formed sequence of the message, at its place in the message, in the call that brings the byte
    /// which makes it so. From then on every call gives that error until the message is ended.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Utf8Error> {
        match self.failed {
            None => self.decoder.validate(bytes).inspect_err(|&error| self.failed = Some(error)),
            Some(error) => Err(error),
        }
    }

    /// [`feed`](Self::feed) for a payload that is still masked, which stays as it is: for a proxy that hands frames on.
    ///
    /// # Errors
    ///
    /// As [`feed`](Self::feed).
    pub fn feed_masked(&mut self, bytes: &[u8], mask: &mut Mask) -> Result<(), Utf8Error> {
        let mut block = [0; BLOCK];
        bytes.chunks(BLOCK).try_for_each(|masked| {
            let block = &mut block[..masked.len()];
            block.copy_from_slice(masked);
            mask.apply(block);
            self.feed(block)
        })
    }

    /// Takes the mask off a payload and judges it on the way, while it is in the nearest cache.
    ///
    /// # Errors
    ///
    /// As [`feed`](Self::feed). The mask is off all of `bytes` even so.
    pub fn unmask(&mut self, bytes: &mut [u8], mask: &mut Mask) -> Result<(), Utf8Error> {
        let mut verdict = Ok(());
        for block in bytes.chunks_mut(BLOCK) {
            mask.apply(block);
            verdict = verdict.and_then(|()| self.feed(block));
        }
        verdict
    }

    /// Ends the message; the next bytes start one.
    ///
    /// # Errors
    ///
    /// The error of the message if it had one, else [`Truncated`](crate::ErrorKind::Truncated) if it ends inside a
    /// character.
    pub fn end_of_message(&mut self) -> Result<(), Utf8Error> {
        let Self { mut decoder, failed } = core::mem::take(self);
        failed.map_or_else(|| decoder.finish(), Err)
    }

    /// Bytes of the message that were looked at; after an error those up to the end of the ill-formed sequence.
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// The bytes of an unfinished character, none to three.
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }
}

/// Bytes that are unmasked at once.
const BLOCK: usize = 1024;

/// The mask of a WebSocket frame (RFC 6455 §5.3), and where in it the next byte of the payload stands.
///
/// Each frame has a mask of its own; a frame that arrives in pieces is taken through one `Mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Turned so that the next byte is masked with the first one.
    key: [u8; 4],
}

impl Mask {
    /// At the start of a payload that is masked with `key`.
    pub const fn new(key: [u8; 4]) -> Self {
        Self { key }
    }

    /// Puts the mask on the next bytes, or takes it off.
    pub fn apply(&mut self, bytes: &mut [u8]) {
        let [a, b, c, d] = self.key;
        let wide = u128::from_ne_bytes([a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d]);
        let mut blocks = bytes.chunks_exact_mut(16);
        for block in &mut blocks {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(block);
            block.copy_from_slice(&(u128::from_ne_bytes(bytes) ^ wide).to_ne_bytes());
        }
        for (byte, key) in blocks.into_remainder().iter_mut().zip(self.key.into_iter().cycle()) {
            *byte ^= key;
        }
        self.key.rotate_left(bytes.len() % 4);
    }
}
