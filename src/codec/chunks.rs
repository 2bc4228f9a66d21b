//! Text as it arrives.

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::{Decoder, Encoder};

use super::error::CodecError;
use crate::chunks::text_of;
use crate::text::{Counters, TextDecoder};

/// A codec for text without frames: every read gives what it completed, whole characters only.
///
/// An item is cut out of the read buffer without a copy, unless something in it was repaired, a BOM was looked
/// for in it, or a [subset](TextDecoder::subset) is adopted. A sequence that is split across reads waits in the
/// buffer: at most three bytes.
///
/// # Errors
///
/// [`CodecError::IllFormed`], once for each ill-formed sequence that the policy does not repair, after the good text
/// before it; `rejected` is the sequence. A stream that ends inside a sequence gives
/// [`Truncated`](crate::ErrorKind::Truncated) once, then its end; a source that resumes after its end is decoded on,
/// and offsets go on counting. `FramedRead` ends at an `Err` (and resumes if polled on): wrap the codec in
/// [`ErrorsAsItems`](crate::codec::ErrorsAsItems) to see what comes after it.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec::codec::Utf8Codec;
///
/// # tokio_test::block_on(async {
/// let socket = tokio_test::io::Builder::new().read(b"caf\xC3").read(b"\xA9").build();
/// let mut text = FramedRead::new(socket, Utf8Codec::new());
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("caf"));
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("é"));
/// assert!(text.next().await.is_none());
/// # Ok::<(), utf8_codec::codec::CodecError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8Codec {
    text: TextDecoder,
}

impl Utf8Codec {
    /// A strict codec that keeps the BOM.
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// A codec with the policies of `text`.
    pub const fn with_decoder(text: TextDecoder) -> Self {
        Self { text }
    }

    /// Absolute position in the stream, in bytes, of the end of what was given out or reported.
    pub const fn offset(&self) -> u64 {
        self.text.valid_up_to()
    }

    /// Errors met so far.
    pub const fn counters(&self) -> Counters {
        self.text.counters()
    }

    /// Plain validation, which is all that good text needs: how much of `src` can be given out. `None` if the
    /// policies have a say in what comes first.
    fn validate(&mut self, src: &[u8]) -> Option<usize> {
        if !self.text.is_past_start() {
            return None;
        }
        let start = self.text.valid_up_to();
        if !src.starts_with(self.text.pending()) {
            // What waits in the decoder waits in the buffer too, unless a caller has changed the buffer.
            self.text.seek(start);
        }
        match self.text.validate(&src[self.text.pending().len()..]) {
            Ok(()) => Some(src.len() - self.text.pending().len()),
            Err(error) if self.text.is_strict() && error.offset != start => {
                // The error is for the next call, which looks at its bytes again.
                self.text.seek(error.offset);
                Some(error.offset.wrapping_sub(start) as usize)
            }
            Err(_) => {
                self.text.seek(start);
                None
            }
        }
    }

    /// Text with everything in it that the policies have a say in, copied; stops before an error if there is text.
    fn judge(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, CodecError> {
        let start = self.text.valid_up_to();
        self.text.seek(start);
        let before = self.text;
        let mut out = String::new();
        let mut refused = self.text.decode_into(src, &mut out).err();
        if let Some(error) = refused
            && !out.is_empty()
        {
            // The error is for the next call. Only that one was counted: a policy repairs everything after the start
            // of the stream, or nothing.
            self.text = before;
            self.text.seek(error.offset);
            refused = None;
        }
        let mut taken = src.split_to(self.text.valid_up_to().wrapping_sub(start) as usize);
        match refused {
            Some(error) => {
                // What the policies left out before it, a BOM, is no part of it.
                let before = taken.len().saturating_sub(usize::from(error.len));
                Err(CodecError::IllFormed { error, rejected: taken.split_off(before).freeze(), line: None })
            }
            None => Ok((!out.is_empty()).then(|| out.into())),
        }
    }
}

impl Decoder for Utf8Codec {
    type Item = ByteString;
    type Error = CodecError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, CodecError> {
        trace!(offset = self.offset(), buffered = src.len(), "decoding text");
        match self.validate(src) {
            Some(0) => Ok(None),
            Some(good) => {
                let text = src.split_to(good).freeze();
                // SAFETY: `validate` has found the first `good` bytes of `src` well-formed, whole characters.
                #[allow(unsafe_code)]
                Ok(Some(unsafe { text_of(text) }))
            }
            None => self.judge(src),
        }
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, CodecError> {
        if let Some(text) = self.decode(src)? {
            return Ok(Some(text));
        }
        let Some(end) = self.text.finish() else { return Ok(None) };
        let rejected = src.split().freeze();
        match end.text() {
            Ok("") => Ok(None),
            Ok(repaired) => Ok(Some(repaired.into())),
            Err(error) => Err(CodecError::IllFormed { error, rejected, line: None }),
        }
    }
}

impl<T: AsRef<str>> Encoder<T> for Utf8Codec {
    type Error = CodecError;

    fn encode(&mut self, text: T, dst: &mut BytesMut) -> Result<(), CodecError> {
        dst.extend_from_slice(text.as_ref().as_bytes());
        Ok(())
    }
}
