//! Codec for text without frames.

use std::io;

use bytes::BytesMut;
use bytestring::ByteString;
use kernels::held;
use tokio_util::codec::{Decoder, Encoder};

use super::error::{CodecError, ill_formed};
use super::items::Items;
use crate::text::{Counters, TextDecoder};

/// A codec for text without frames. An item is the text of one read, in whole characters.
///
/// An item is a slice of the read buffer, or a copy if something in it was repaired, if the BOM policy may
/// apply to it, or if a [subset](TextDecoder::with_subset) is set. A strict codec with a subset returns the text of a long
/// read in several items. An unfinished sequence at the end of a read stays in the buffer: at most 3 bytes.
///
/// # Errors
///
/// An item is [`CodecError::IllFormed`] for each ill-formed sequence that the policy does not repair, after the text
/// before it. `rejected` contains the sequence. If the stream ends inside a sequence, the error is
/// [`Truncated`](crate::ErrorKind::Truncated), reported once. If the source resumes after its end, decoding continues,
/// and the offsets are not reset. Wrap the codec in [`FailFast`](crate::codec::FailFast) to end at the first error.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec::codec::Utf8Codec;
///
/// # tokio_test::block_on(async {
/// let socket = tokio_test::io::Builder::new().read(b"caf\xC3").read(b"\xA9").build();
/// let mut text = FramedRead::new(socket, Utf8Codec::new());
/// assert_eq!(text.next().await.unwrap()??, "caf");
/// assert_eq!(text.next().await.unwrap()??, "é");
/// assert!(text.next().await.is_none());
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Utf8Codec {
    text: TextDecoder,
}

impl Utf8Codec {
    /// Creates a strict codec that keeps the BOM.
    #[inline]
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// Creates a codec with the policies of `text`.
    #[inline]
    pub const fn with_decoder(text: TextDecoder) -> Self {
        Self { text }
    }

    /// Returns the absolute offset, in bytes, up to which the stream was returned or reported.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.text.valid_up_to()
    }

    /// Returns the number of ill-formed sequences so far, by kind.
    #[inline]
    pub const fn counters(&self) -> Counters {
        self.text.counters()
    }

    /// Returns the text at the start of `src` to which no policy applies, or `None` if `src` must be decoded with the
    /// policies.
    #[inline]
    fn unchanged<'b>(&mut self, src: &'b [u8]) -> Option<&'b str> {
        if !self.text.is_past_start() {
            return None;
        }
        let start = self.text.valid_up_to();
        // The pending bytes are still in the buffer, unless the caller passes another one.
        self.text.seek(start);
        let (text, error) = self.text.take_text(src);
        if error.is_none() {
            return Some(text);
        }
        // The ill-formed bytes are decoded again with the policies, under `Strict` by the next call.
        if self.text.is_strict() && !text.is_empty() {
            return Some(text);
        }
        self.text.seek(start);
        None
    }

    /// Decodes `src` into a new string with the policies. Stops before an error if there is text before it.
    #[inline]
    fn decode_with_policies(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        let start = self.text.valid_up_to();
        self.text.seek(start);
        let mut out = String::new();
        let error = if self.text.is_strict() {
            // Only the first piece, because the second one may be an error. It is returned, counted and logged by the
            // next call.
            let (piece, _) = self.text.take_piece(src);
            piece.and_then(|piece| piece.text().map(|text| out.push_str(text)).err())
        } else {
            // Only BOM errors are not repaired, and they come before all text.
            self.text.feed_into(src, &mut out).err()
        };
        let mut taken = src.split_to(self.text.valid_up_to().wrapping_sub(start) as usize);
        match error {
            Some(error) => {
                // A BOM that the policy removed before the sequence is not part of `rejected`.
                let before = taken.len().saturating_sub(usize::from(error.len));
                Some(Err(ill_formed(error, taken.split_off(before).freeze(), None)))
            }
            None => (!out.is_empty()).then(|| Ok(out.into())),
        }
    }
}

impl Items for Utf8Codec {
    type Item = ByteString;

    #[inline]
    fn next_item(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        trace!(offset = self.offset(), buffered = src.len(), "decoding text");
        match held::take_front(src, |bytes| self.unchanged(bytes)) {
            Some(text) => (!text.is_empty()).then_some(Ok(text)),
            None => self.decode_with_policies(src),
        }
    }

    fn next_at_end(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        if let Some(text) = self.next_item(src) {
            return Some(text);
        }
        let end = self.text.finish()?;
        let rejected = src.split().freeze();
        match end.text() {
            Ok("") => None,
            Ok(repaired) => Some(Ok(repaired.into())),
            Err(error) => Some(Err(ill_formed(error, rejected, None))),
        }
    }
}

impl_decoder!(Utf8Codec);

impl<T: AsRef<str>> Encoder<T> for Utf8Codec {
    type Error = io::Error;

    fn encode(&mut self, text: T, dst: &mut BytesMut) -> io::Result<()> {
        dst.extend_from_slice(text.as_ref().as_bytes());
        Ok(())
    }
}
