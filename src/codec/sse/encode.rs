//! Encoders for a server that writes through `Framed`.

use bytes::BytesMut;
use tokio_util::codec::Encoder;

use super::codec::SseCodec;
use super::event::{Comment, Event, Retry};
use crate::codec::error::CodecError;

impl Encoder<&Event> for SseCodec {
    type Error = CodecError;

    /// Writes an event, same as [`Event::write_to`].
    fn encode(&mut self, event: &Event, dst: &mut BytesMut) -> Result<(), CodecError> {
        event.write_to(dst)
    }
}

impl Encoder<Event> for SseCodec {
    type Error = CodecError;

    /// Writes an event, same as [`Event::write_to`].
    fn encode(&mut self, event: Event, dst: &mut BytesMut) -> Result<(), CodecError> {
        event.write_to(dst)
    }
}

impl Encoder<Comment<'_>> for SseCodec {
    type Error = CodecError;

    /// Writes a comment. Never fails.
    fn encode(&mut self, comment: Comment<'_>, dst: &mut BytesMut) -> Result<(), CodecError> {
        comment.write_to(dst);
        Ok(())
    }
}

impl Encoder<Retry> for SseCodec {
    type Error = CodecError;

    /// Writes the reconnection time. Never fails.
    fn encode(&mut self, retry: Retry, dst: &mut BytesMut) -> Result<(), CodecError> {
        retry.write_to(dst);
        Ok(())
    }
}
