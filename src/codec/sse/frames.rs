//! Server-sent events with their bytes.

use bytes::{Bytes, BytesMut};
use tokio_util::codec::Decoder;

use super::codec::SseCodec;
use super::event::Event;
use crate::codec::error::CodecError;
use crate::codec::items::Items;

/// A codec for proxies that look at server-sent events and forward their bytes: the concatenation of the items is the stream,
/// without the events that have an error. [`SseCodec::into_frames`] creates it.
///
/// A receiver that reads the forwarded bytes gets the events that were looked at if the decoder is strict, as here: under
/// another policy the bytes of an event may be ill-formed, and each receiver repairs them in its own way.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec::TextDecoder;
/// use utf8_codec::codec::SseCodec;
///
/// # tokio_test::block_on(async {
/// let server = &b": hello\n\ndata:1\n\ndata: \xFF\n\ndata: a secret\n\n"[..];
/// let codec = SseCodec::with_decoder(TextDecoder::new()).into_frames();
/// let mut frames = FramedRead::new(server, codec);
/// let mut forwarded = Vec::new();
/// while let Some(frame) = frames.next().await {
///     // An event that is ill-formed or too long is not forwarded.
///     let Ok(frame) = frame? else { continue };
///     if !frame.event.is_some_and(|event| event.data.contains("secret")) {
///         forwarded.extend_from_slice(&frame.bytes);
///     }
/// }
/// assert_eq!(forwarded, b": hello\n\ndata:1\n\n");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
///
/// # Errors
///
/// Same as for [`SseCodec`]. The bytes of the event with the error are not returned. This is also true for an error in
/// a comment, and a comment that is longer than a line is an error.
///
/// # Limits
///
/// Same as for [`SseCodec`]. [`with_max_event_length`](SseCodec::with_max_event_length) also limits the bytes of an
/// item, which are copied once.
#[derive(Clone, Debug)]
pub struct SseFramesCodec {
    codec: SseCodec,
}

/// A part of a stream of server-sent events up to an empty line: an item of [`SseFramesCodec`].
///
/// `Debug` shows the number of bytes, not the bytes.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseFrame {
    /// The bytes as they were received. They end after an LF, or after a CR: the LF of a CRLF, which may arrive later, starts
    /// the next item.
    pub bytes: Bytes,
    /// The event, or `None` if there is no `data` field: a comment, a keep-alive, an ID alone.
    pub event: Option<Event>,
}

impl SseCodec {
    /// Converts this codec into a [`SseFramesCodec`], which returns events with their bytes, and comments.
    #[must_use]
    pub fn into_frames(mut self) -> SseFramesCodec {
        self.record = Some(BytesMut::new());
        SseFramesCodec { codec: self }
    }
}

impl SseFramesCodec {
    /// Returns the codec, with its last event ID, its reconnection time, its offset and its counters.
    pub const fn codec(&self) -> &SseCodec {
        &self.codec
    }

    fn frame(&mut self, event: Option<Event>) -> SseFrame {
        let bytes = self.codec.record.as_mut().map(core::mem::take).unwrap_or_default();
        SseFrame { bytes: bytes.freeze(), event }
    }
}

impl Items for SseFramesCodec {
    type Item = SseFrame;

    fn start(&mut self) {
        self.codec.restart();
    }

    fn next_item(&mut self, src: &mut BytesMut) -> Option<Result<SseFrame, CodecError>> {
        let event = self.codec.next_resumed(src).transpose()?;
        Some(event.map(|event| self.frame(event)))
    }

    fn next_at_end(&mut self, src: &mut BytesMut) -> Option<Result<SseFrame, CodecError>> {
        let event = self.codec.next_last(src).transpose()?;
        Some(event.map(|event| self.frame(event)))
    }
}

impl_decoder!(SseFramesCodec);

impl core::fmt::Debug for SseFrame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SseFrame")
            .field("bytes", &format_args!("{}", crate::error::ByteCount(self.bytes.len())))
            .field("event", &self.event.as_ref().map(|event| event.data.len()))
            .finish()
    }
}
