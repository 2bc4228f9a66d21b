//! Output buffers that grow.

use alloc::string::String;
use alloc::vec::Vec;

use utf8_codec::ErrorKind;

#[cfg(feature = "codec")]
use super::carry::Room;
use super::{Status, Transcoder};
use crate::error::TranscodeError;
use sealed::Token;

/// A growing output of a [`Transcoder`]: `Vec<u8>` or `String`.
///
/// A `String` accepts only the target encoding UTF-8. With any other target no input is consumed, and the error is
/// [`ErrorKind::Unmappable`] with length 0.
pub trait Output: sealed::Sealed {}

impl Output for Vec<u8> {}
impl Output for String {}

mod sealed {
    use alloc::string::String;
    use alloc::vec::Vec;

    use kernels::GrowingString;

    use crate::encoding::Encoding;

    /// A sealed trait is private, but generic code can call its methods through the bound `Output`. Therefore the
    /// method has a [`Token`] parameter, which only this file can construct.
    ///
    /// ```compile_fail,E0599
    /// use utf8_codec_encodings::Output;
    ///
    /// fn forge(text: &mut impl Output) {
    ///     text.append(|bytes: &mut Vec<u8>| bytes.push(0xFF));
    /// }
    /// ```
    ///
    /// ```compile_fail,E0277
    /// use utf8_codec_encodings::{Encoding, Output};
    ///
    /// fn forge(text: &mut impl Output) {
    ///     drop(text.grow(Encoding::Utf8, Default::default()));
    /// }
    /// ```
    pub trait Sealed {
        /// Starts an append. Returns `None` if the output cannot contain this encoding.
        fn grow(&mut self, encoding: Encoding, token: Token) -> Option<Growing<'_>>;
    }

    /// A parameter of [`Sealed::grow`]. Only this file can construct it, so the method is private. Soundness does not
    /// depend on it.
    #[derive(Debug)]
    pub struct Token(pub(super) ());

    /// An output during an append.
    ///
    /// Dropping it without a [`commit`](Self::commit) discards what was appended, even during a panic (a `tracing`
    /// subscriber may panic at any event).
    #[derive(Debug)]
    pub enum Growing<'o> {
        Bytes(GrowingBytes<'o>),
        Text(GrowingString<'o>),
    }

    #[derive(Debug)]
    pub struct GrowingBytes<'o> {
        output: &'o mut Vec<u8>,
        start: usize,
        /// The end of the appended bytes. Unused space follows.
        end: usize,
    }

    impl Growing<'_> {
        /// Returns a buffer of `len` bytes after the appended bytes. Its contents are unspecified.
        pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
            match self {
                Self::Bytes(GrowingBytes { output, end, .. }) => {
                    let room = *end..*end + len;
                    if output.len() < room.end {
                        output.resize(room.end, 0);
                    }
                    &mut output[room]
                }
                Self::Text(text) => text.room(len),
            }
        }

        /// Appends the first `written` bytes of the buffer, which are whole characters of the encoding.
        pub(super) fn keep(&mut self, written: usize) {
            match self {
                Self::Bytes(bytes) => bytes.end = bytes.output.len().min(bytes.end + written),
                Self::Text(text) => {
                    let kept = text.keep(written);
                    debug_assert_eq!(kept, written, "a conversion to UTF-8 wrote something else");
                }
            }
        }

        /// Commits the appended bytes.
        pub(super) fn commit(self) {
            match self {
                Self::Bytes(mut bytes) => bytes.start = bytes.end,
                Self::Text(text) => text.commit(),
            }
        }
    }

    impl Drop for GrowingBytes<'_> {
        fn drop(&mut self) {
            self.output.truncate(self.start);
        }
    }

    impl Sealed for Vec<u8> {
        fn grow(&mut self, _: Encoding, _: Token) -> Option<Growing<'_>> {
            let end = self.len();
            Some(Growing::Bytes(GrowingBytes { output: self, start: end, end }))
        }
    }

    impl Sealed for String {
        fn grow(&mut self, encoding: Encoding, _: Token) -> Option<Growing<'_>> {
            (encoding == Encoding::Utf8).then(|| Growing::Text(GrowingString::new(self)))
        }
    }
}

/// The maximum number of bytes by which the output grows at a time. They fit in the L1 cache.
const STEP: usize = 8 * 1024;

/// The first growth. It is smaller because the space is zeroed and an error may follow the first byte.
const FIRST_STEP: usize = 1024;

impl Transcoder {
    /// Converts the next chunk and appends the result to `out`.
    ///
    /// # Errors
    ///
    /// Returns the first error that the policy does not repair. The text before it is in `out`. The input is consumed
    /// up to the end of the ill-formed sequence. Continue with the rest: `&chunk[(transcoder.offset() - offset_before)
    /// as usize..]`.
    pub fn feed_into(&mut self, chunk: &[u8], out: &mut impl Output) -> Result<(), TranscodeError> {
        let mut rest = chunk;
        self.append(chunk.len(), out, |transcoder, room| {
            let progress = transcoder.feed_into_slice(rest, room);
            rest = &rest[progress.read..];
            (progress.status, progress.written, rest.len())
        })
    }

    /// Ends the stream and appends the rest of the text to `out`. The transcoder can be used again:
    /// [`offset`](Self::offset) is not reset, and the BOM policy is only applied at offset 0.
    ///
    /// # Errors
    ///
    /// Returns an error that the policy does not repair, such as [`ErrorKind::Truncated`] if the stream ended inside a
    /// sequence, or [`ErrorKind::MissingBom`] if an empty stream requires a BOM. Each error is returned once. An
    /// unfinished sequence may have several: a byte each in [`Utf8b`](crate::Encoding::Utf8b), or an unpaired surrogate
    /// and half a code unit. Call again until the result is `Ok`.
    pub fn finish_into(&mut self, out: &mut impl Output) -> Result<(), TranscodeError> {
        self.append(0, out, |transcoder, room| {
            let progress = transcoder.finish_into_slice(room);
            (progress.status, progress.written, 0)
        })
    }

    /// Converts the bytes of an unfinished sequence, which `next` follows, and appends the result to `out`. Returns the
    /// number of bytes of `next` that were consumed because they belong to the sequence.
    #[cfg(feature = "codec")]
    pub(crate) fn end_sequence(
        &mut self,
        next: &[u8],
        out: &mut impl Output,
    ) -> (usize, Result<(), TranscodeError>) {
        let mut rest = next;
        let result = self.append(0, out, |transcoder, room| {
            let mut room = Room::new(room);
            let status = transcoder.conversion.run_carry(&mut rest, &mut room);
            (status, room.written(), 0)
        });
        (next.len() - rest.len(), result)
    }

    /// Calls `write` with new output space until the `left` bytes of input are consumed. `write` returns the status,
    /// the number of bytes written, and the number of bytes of input left. If it panics, the transcoder and the output
    /// do not change.
    fn append(
        &mut self,
        mut left: usize,
        out: &mut impl Output,
        mut write: impl FnMut(&mut Self, &mut [u8]) -> (Status, usize, usize),
    ) -> Result<(), TranscodeError> {
        let Some(mut out) = out.grow(self.target(), Token(())) else {
            let error = self.conversion.error(ErrorKind::Unmappable, 0);
            return Err(self.conversion.between(error));
        };
        let mut transcoder = self.clone();
        let mut step = FIRST_STEP;
        let result = loop {
            // Twice the length of the input is enough for nearly all text.
            let room = step.min(left.saturating_mul(2).saturating_add(4 * Self::MIN_OUTPUT));
            let (status, written, rest) = write(&mut transcoder, out.room(room));
            out.keep(written);
            left = rest;
            match status {
                Status::InputEmpty => break Ok(()),
                Status::OutputFull => step = STEP.min(8 * step),
                Status::IllFormed(error) => break Err(error),
            }
        };
        out.commit();
        *self = transcoder;
        result
    }
}
