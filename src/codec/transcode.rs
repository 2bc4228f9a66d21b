//! Text in any encoding.

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio_util::codec::{Decoder, Encoder};

use super::error::CodecError;
use crate::error::Utf8Error;
use crate::policy::{BomPolicy, ErrorPolicy};
use crate::subset::Subset;
use crate::text::Counters;
use crate::transcode::{Encoding, Status, Switches, Transcoder};

/// A codec for a peer that speaks another encoding: every read gives the text that it completed, every text is
/// written in that encoding.
///
/// A sequence, a code unit or a surrogate pair that is split across reads waits in the buffer: at most seven bytes.
/// So `Framed::into_parts` hands on every byte that was not given out.
///
/// What reads text on reads it after this codec, as the second example does: `Utf8Stream` takes the items as
/// [`Bytes`], and so does `tokio_util::io::StreamReader`, over which there is `Utf8Reader` or any other reader of UTF-8.
/// The text was checked here; what a stage after adds is its policy, and its offsets count the bytes of the text.
///
/// # Errors
///
/// Decoding gives [`CodecError::IllFormed`] for each error that the policy does not repair, after the good text before
/// it; offsets count the bytes of the stream, and `Display` names the encoding. Encoding gives it for a text with a
/// character that the encoding cannot hold ([`Unmappable`](crate::ErrorKind::Unmappable)); then nothing of the text is
/// written, and the offset counts the bytes of the text.
///
/// ```
/// # use futures::{SinkExt, StreamExt};
/// # use tokio_util::codec::Framed;
/// use utf8_codec::codec::TranscodeCodec;
/// use utf8_codec::transcode::Encoding;
///
/// # tokio_test::block_on(async {
/// let socket = tokio_test::io::Builder::new().read(b"\0a\xD8\x3D\xDC").read(b"\xA9").write(b"\0o\0k").build();
/// let mut text = Framed::new(socket, TranscodeCodec::new(Encoding::Utf16Be));
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("a"));
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("💩"));
/// text.send("ok").await?;
/// # Ok::<(), utf8_codec::codec::CodecError>(())
/// # }).unwrap();
/// ```
///
/// Lines of UTF-16:
///
/// ```
/// # #[cfg(feature = "io")]
/// # tokio_test::block_on(async {
/// use bytestring::ByteString;
/// use futures::TryStreamExt;
/// use tokio::io::AsyncBufReadExt;
/// use tokio_util::{codec::FramedRead, io::StreamReader};
/// use utf8_codec::codec::TranscodeCodec;
/// use utf8_codec::io::Utf8Reader;
/// use utf8_codec::transcode::Encoding;
///
/// let socket = tokio_test::io::Builder::new().read(b"a\0\x3D\xD8\xA9").read(b"\xDC\n\0b\0").build();
/// let text = FramedRead::new(socket, TranscodeCodec::new(Encoding::Utf16Le)).map_ok(ByteString::into_bytes);
/// let mut lines = Utf8Reader::new(StreamReader::new(text)).lines();
/// assert_eq!(lines.next_line().await?.as_deref(), Some("a💩"));
/// assert_eq!(lines.next_line().await?.as_deref(), Some("b"));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct TranscodeCodec {
    reading: Transcoder,
    writing: Transcoder,
    /// Found after the text that was given out last.
    refused: Option<CodecError>,
}

impl TranscodeCodec {
    /// A strict codec that keeps the BOM, for a peer that reads and writes `encoding`.
    pub const fn new(encoding: Encoding) -> Self {
        Self {
            reading: Transcoder::new(encoding, Encoding::Utf8),
            writing: Transcoder::new(Encoding::Utf8, encoding),
            refused: None,
        }
    }

    /// Sets what becomes of ill-formed input, and of characters that the encoding cannot hold.
    #[must_use]
    pub fn on_error(self, on_error: ErrorPolicy) -> Self {
        Self { reading: self.reading.on_error(on_error), writing: self.writing.on_error(on_error), ..self }
    }

    /// Sets what becomes of the BOM of the input. None is written.
    #[must_use]
    pub fn bom(self, bom: BomPolicy) -> Self {
        Self { reading: self.reading.bom(bom), ..self }
    }

    /// Decides what the text of the encoding leaves open.
    #[must_use]
    pub fn switches(self, switches: Switches) -> Self {
        Self { reading: self.reading.switches(switches), writing: self.writing.switches(switches), ..self }
    }

    /// Adopts a subset, for what is read and for what is written.
    #[must_use]
    pub fn subset(self, subset: Subset) -> Self {
        Self { reading: self.reading.subset(subset), writing: self.writing.subset(subset), ..self }
    }

    /// Looks for a BOM first: what it names is read in the place of the encoding. It is not what is written.
    #[must_use]
    pub fn sniff(self) -> Self {
        Self { reading: self.reading.sniff(), ..self }
    }

    /// Absolute position in the stream, in bytes, of the end of what was given out or reported.
    pub const fn offset(&self) -> u64 {
        self.reading.offset()
    }

    /// Errors met while decoding.
    pub const fn counters(&self) -> Counters {
        self.reading.counters()
    }

    /// Gives out the text that `read` makes of the bytes of `src`, or the error if it comes first.
    fn read(
        &mut self,
        src: &mut BytesMut,
        read: impl FnOnce(&mut Transcoder, &[u8], &mut String) -> Result<(), Utf8Error>,
    ) -> Result<Option<ByteString>, CodecError> {
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        // A copy, so that a panic of a `tracing` subscriber leaves the transcoder where the buffer is.
        let (mut reading, mut text) = (self.reading, String::new());
        let told = read(&mut reading, src, &mut text);
        reading.give_back();
        let mut taken = src.split_to((reading.offset() - self.reading.offset()) as usize);
        self.reading = reading;
        if let Err(error) = told {
            let rejected = taken.split_off(taken.len() - usize::from(error.len)).freeze();
            let refused = CodecError::IllFormed { error, rejected, line: None };
            if text.is_empty() {
                return Err(refused);
            }
            self.refused = Some(refused);
        }
        Ok((!text.is_empty()).then(|| text.into()))
    }
}

impl Decoder for TranscodeCodec {
    type Item = ByteString;
    type Error = CodecError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, CodecError> {
        self.read(src, |reading, bytes, text| reading.feed(bytes, text))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, CodecError> {
        if let Some(text) = self.decode(src)? {
            return Ok(Some(text));
        }
        self.read(src, |reading, bytes, text| {
            reading.feed(bytes, text)?;
            reading.finish(text)
        })
    }
}

impl<T: AsRef<str>> Encoder<T> for TranscodeCodec {
    type Error = CodecError;

    fn encode(&mut self, text: T, dst: &mut BytesMut) -> Result<(), CodecError> {
        let text = text.as_ref().as_bytes();
        let (start, mut writing, mut read) = (dst.len(), self.writing, 0);
        loop {
            let written = dst.len();
            // Two bytes for each are enough for every encoding but UTF-32, which takes a second turn.
            dst.resize(written + 2 * (text.len() - read) + Transcoder::MIN_OUTPUT, 0);
            let progress = writing.feed_into(&text[read..], &mut dst[written..]);
            dst.truncate(written + progress.written);
            read += progress.read;
            match progress.status {
                Status::InputEmpty => return Ok(()),
                Status::OutputFull => {}
                Status::IllFormed(error) => {
                    dst.truncate(start);
                    let at = error.offset as usize;
                    let rejected = Bytes::copy_from_slice(&text[at..at + usize::from(error.len)]);
                    return Err(CodecError::IllFormed { error, rejected, line: None });
                }
            }
        }
    }
}
