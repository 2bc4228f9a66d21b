//! Writes events, comments and reconnection times.

use std::io;

use bytes::BytesMut;
use tokio_util::codec::Encoder;

use super::codec::SseCodec;
use super::event::{Comment, Event, Retry};

impl Encoder<&Event> for SseCodec {
    type Error = io::Error;

    /// Writes an event, same as [`Event::write_to`].
    #[inline]
    fn encode(&mut self, event: &Event, dst: &mut BytesMut) -> io::Result<()> {
        Ok(event.write_to(dst)?)
    }
}

impl Encoder<Event> for SseCodec {
    type Error = io::Error;

    /// Writes an event, same as [`Event::write_to`].
    #[inline]
    fn encode(&mut self, event: Event, dst: &mut BytesMut) -> io::Result<()> {
        Ok(event.write_to(dst)?)
    }
}

impl Encoder<Comment<'_>> for SseCodec {
    type Error = io::Error;

    /// Writes a comment. Never fails.
    #[inline]
    fn encode(&mut self, comment: Comment<'_>, dst: &mut BytesMut) -> io::Result<()> {
        comment.write_to(dst);
        Ok(())
    }
}

impl Encoder<Retry> for SseCodec {
    type Error = io::Error;

    /// Writes the reconnection time. Never fails.
    #[inline]
    fn encode(&mut self, retry: Retry, dst: &mut BytesMut) -> io::Result<()> {
        retry.write_to(dst);
        Ok(())
    }
}
