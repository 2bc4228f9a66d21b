//! Codec for text in other encodings.

use std::io;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::CodecError;
use utf8_codec::internal::ill_formed;
use utf8_codec::{Counters, ErrorPolicy};

use crate::error::TranscodeError;
use crate::{Encoding, TranscodeStatus, Transcoder, UnmappablePolicy};

/// A codec for a peer that uses another encoding. An item is the text of one read, converted to UTF-8. Text that is
/// written is converted to the encoding of the peer. [`into_lines`](Self::into_lines) converts this codec into a codec
/// for lines.
///
/// All texts that are written are one stream. In ISO-2022-JP a text therefore starts in the character set that the one before
/// it ended in: a peer that returned to ASCII between them would write two escape sequences in a row, which decoders reject
/// (Encoding Standard §12.2). The stream returns to ASCII at the next ASCII character, such as a line break. A line of
/// [`TranscodeLinesCodec`](super::TranscodeLinesCodec) starts and ends in ASCII.
///
/// An unfinished sequence, code unit or surrogate pair at the end of a read stays in the buffer: at most 8 bytes.
/// `Framed::into_parts` therefore returns every byte that was not decoded.
///
/// # Errors
///
/// An item is [`CodecError::IllFormed`] for each error that the policy does not repair, after the well-formed text before
/// it. Offsets count the bytes of the stream, and `Display` names the encoding. Encoding returns the same error, in an
/// `io::Error`, for a text with a character that the encoding does not have
/// ([`Unmappable`](utf8_codec::ErrorKind::Unmappable)). Nothing is written then, and the offset counts the bytes of the
/// text.
///
/// ```
/// # use futures::{SinkExt, StreamExt};
/// # use tokio_util::codec::Framed;
/// use utf8_codec_encodings::codec::TranscodeCodec;
/// use utf8_codec_encodings::Encoding;
///
/// # tokio_test::block_on(async {
/// let socket = tokio_test::io::Builder::new().read(b"\0a\xD8\x3D\xDC").read(b"\xA9").write(b"\0o\0k").build();
/// let mut text = Framed::new(socket, TranscodeCodec::new(Encoding::Utf16Be));
/// assert_eq!(text.next().await.unwrap()??, "a");
/// assert_eq!(text.next().await.unwrap()??, "💩");
/// text.send("ok").await?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct TranscodeCodec {
    pub(super) reading: Transcoder,
    writing: Transcoder,
    /// The error after the text that was returned last. The next call returns it.
    error: Option<CodecError<TranscodeError>>,
}

impl TranscodeCodec {
    /// Creates a strict codec that keeps the BOM, for a peer that reads and writes `encoding`.
    pub const fn new(encoding: Encoding) -> Self {
        Self::with_transcoders(
            Transcoder::new(encoding, Encoding::Utf8),
            Transcoder::new(Encoding::Utf8, encoding),
        )
    }

    /// Creates a codec with the encodings and the policies of two transcoders: one from the encoding of the peer to
    /// UTF-8, and one from UTF-8 to it. No BOM is written.
    ///
    /// ```
    /// use utf8_codec_encodings::codec::TranscodeCodec;
    /// use utf8_codec_encodings::{Encoding, Transcoder, UnmappablePolicy};
    /// # use bytes::BytesMut;
    /// # use tokio_util::codec::Encoder;
    ///
    /// let writing = Transcoder::new(Encoding::Utf8, Encoding::Latin1);
    /// let writing = writing.with_unmappable_policy(UnmappablePolicy::Reference);
    /// let mut codec = TranscodeCodec::with_transcoders(Transcoder::new(Encoding::Latin1, Encoding::Utf8), writing);
    /// let mut buffer = BytesMut::new();
    /// codec.encode("5 €", &mut buffer)?;
    /// assert_eq!(&buffer[..], b"5 &#8364;");
    /// # std::io::Result::Ok(())
    /// ```
    pub const fn with_transcoders(reading: Transcoder, writing: Transcoder) -> Self {
        Self { reading, writing, error: None }
    }

    /// Returns the absolute offset, in bytes, up to which the stream was returned or reported.
    pub const fn offset(&self) -> u64 {
        self.reading.offset()
    }

    /// Returns the number of decoding errors so far.
    pub const fn counters(&self) -> Counters {
        self.reading.counters()
    }

    /// Returns the encoding for writing.
    pub(super) const fn written(&self) -> Encoding {
        self.writing.target()
    }

    /// Returns the start of the first character of a text that the encoding for writing does not have or that is outside
    /// the subset.
    pub(super) fn first_replaced(&self, text: &str) -> Option<usize> {
        let writing = self.writing.clone().with_error_policy(ErrorPolicy::Strict);
        let mut writing = writing.with_unmappable_policy(UnmappablePolicy::AsIllFormed);
        let mut out = [0; 1024];
        let mut read = 0;
        loop {
            let progress = writing.feed_into_slice(&text.as_bytes()[read..], &mut out);
            read += progress.read;
            match progress.status {
                TranscodeStatus::InputEmpty => return None,
                TranscodeStatus::OutputFull => {}
                TranscodeStatus::IllFormed(error) => return Some(error.offset as usize),
            }
        }
    }

    /// Decodes `src` with `read`. Returns the text, or the error if there is no text before it.
    fn read(
        &mut self,
        src: &mut BytesMut,
        read: impl FnOnce(&mut Transcoder, &[u8], &mut String) -> Result<(), TranscodeError>,
    ) -> Option<Result<ByteString, CodecError<TranscodeError>>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        // The transcoder is cloned, so that it stays consistent with the buffer if a `tracing` subscriber panics.
        let mut reading = self.reading.clone();
        let mut text = String::new();
        let result = read(&mut reading, src, &mut text);
        reading.give_back();
        let mut taken = src.split_to((reading.offset() - self.reading.offset()) as usize);
        self.reading = reading;
        if let Err(error) = result {
            let rejected = taken.split_off(taken.len() - usize::from(error.len)).freeze();
            let error = ill_formed(error, rejected, None);
            if text.is_empty() {
                return Some(Err(error));
            }
            self.error = Some(error);
        }
        (!text.is_empty()).then(|| Ok(text.into()))
    }

    /// Appends a text in the encoding for writing. `ends` returns to ASCII after it. Returns the transcoder after the text,
    /// for [`wrote`](Self::wrote), with the counters of the characters that a policy replaced.
    pub(super) fn write(
        &self,
        text: &str,
        dst: &mut BytesMut,
        ends: bool,
    ) -> Result<Transcoder, CodecError<TranscodeError>> {
        let text = text.as_bytes();
        let start = dst.len();
        let mut writing = self.writing.clone();
        let mut read = 0;
        loop {
            let written = dst.len();
            // 2 bytes of output for each byte of text are enough for most texts and encodings. UTF-32 needs up to 4, so
            // the loop continues with the rest of the text.
            dst.resize(written + 2 * (text.len() - read) + Transcoder::MIN_OUTPUT, 0);
            let progress = writing.feed_into_slice(&text[read..], &mut dst[written..]);
            dst.truncate(written + progress.written);
            read += progress.read;
            match progress.status {
                TranscodeStatus::InputEmpty => {
                    if ends {
                        let mut end = [0; Transcoder::MIN_OUTPUT];
                        let progress = writing.finish_into_slice(&mut end);
                        dst.extend_from_slice(&end[..progress.written]);
                    }
                    return Ok(writing);
                }
                TranscodeStatus::OutputFull => {}
                TranscodeStatus::IllFormed(error) => {
                    dst.truncate(start);
                    let at = error.offset as usize;
                    let rejected = Bytes::copy_from_slice(&text[at..at + usize::from(error.len)]);
                    return Err(ill_formed(error, rejected, None));
                }
            }
        }
    }
}

impl TranscodeCodec {
    /// Called after the text that [`write`](Self::write) appended stays in the output.
    pub(super) fn wrote(&mut self, written: &Transcoder) {
        self.writing = self.writing.clone().after(written);
    }
}

impl Decoder for TranscodeCodec {
    type Item = Result<ByteString, CodecError<TranscodeError>>;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        Ok(self.read(src, |reading, bytes, text| reading.feed_into(bytes, text)))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if let Some(text) = self.decode(src)? {
            return Ok(Some(text));
        }
        Ok(self.read(src, |reading, bytes, text| {
            reading.feed_into(bytes, text)?;
            reading.finish_into(text)
        }))
    }
}

impl<T: AsRef<str>> Encoder<T> for TranscodeCodec {
    type Error = io::Error;

    fn encode(&mut self, text: T, dst: &mut BytesMut) -> io::Result<()> {
        let written = self.write(text.as_ref(), dst, false)?;
        self.wrote(&written);
        Ok(())
    }
}
