//! Sources without end, for the tests that count allocations.
#![allow(dead_code, missing_docs, unreachable_pub)]

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::io::{self, Read};

use bytes::Bytes;
use futures::Stream;
use http_body::{Body, Frame};
use tokio::io::ReadBuf;
use utf8_codec::{Ascii, BomPolicy, ErrorPolicy, Subset, TextDecoder};

/// Text for which each chunk of [`CHUNK`] bytes ends at another position in a character.
pub const TEXT: &str = "na\u{EF}ve \u{20AC} \u{1F980} plain text\n";
/// The length of a chunk. Neither the length of [`TEXT`] nor that of its frames is a multiple of it.
pub const CHUNK: usize = 17;

/// Returns one period of a stream that repeats `unit`. The chunks end at all positions of the unit.
pub fn chunks_of(unit: &[u8]) -> Vec<Bytes> {
    // For a long unit, chunks are longer than the unit.
    let size = if unit.len() < 100 { CHUNK } else { unit.len() + 1 };
    // The first slice of a `Bytes` allocates its reference count.
    let stream = Bytes::from(unit.repeat(size.min(100)));
    (0..stream.len()).step_by(size).map(|at| stream.slice(at..stream.len().min(at + size))).collect()
}

pub fn text_chunks() -> Vec<Bytes> {
    chunks_of(TEXT.as_bytes())
}

/// An event of one line of data is a slice of the read buffer.
pub const EVENT: &[u8] = "event: price\ndata: 12 \u{20AC}\n\n".as_bytes();

pub static ALL_BUT_NUL: Subset = Subset::new(&[1..=0x10_FFFF]);

/// Returns a decoder for each policy.
pub fn decoders() -> Vec<TextDecoder> {
    let policies = [
        ErrorPolicy::Strict,
        ErrorPolicy::Replace,
        ErrorPolicy::ReplaceWith('?'),
        ErrorPolicy::Substitute(Ascii::QUESTION_MARK),
        ErrorPolicy::Escape,
        ErrorPolicy::Latin1,
        ErrorPolicy::Windows1252,
        ErrorPolicy::Skip,
    ];
    let boms = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Reject];
    let with_bom = |policy| boms.map(|bom| TextDecoder::new().with_error_policy(policy).with_bom_policy(bom));
    policies.into_iter().flat_map(with_bom).collect()
}

/// A source that repeats its chunks without end.
pub struct Repeat {
    chunks: Vec<Bytes>,
    next: usize,
    /// The part of the previous chunk that has not been read.
    rest: Bytes,
}

impl Repeat {
    pub fn of(unit: &[u8]) -> Self {
        Self { chunks: chunks_of(unit), next: 0, rest: Bytes::new() }
    }

    pub fn text() -> Self {
        Self::of(TEXT.as_bytes())
    }

    fn next(&mut self) -> &Bytes {
        self.next = (self.next + 1) % self.chunks.len();
        &self.chunks[(self.next + self.chunks.len() - 1) % self.chunks.len()]
    }
}

impl Read for Repeat {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.next().clone();
        }
        let chunk = self.rest.split_to(self.rest.len().min(buf.len()));
        buf[..chunk.len()].copy_from_slice(&chunk);
        Ok(chunk.len())
    }
}

impl tokio::io::AsyncRead for Repeat {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.read(buf.initialize_unfilled())?;
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl futures::io::AsyncRead for Repeat {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.read(buf))
    }
}

impl Stream for Repeat {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(Some(Ok(self.next().clone())))
    }
}

impl Body for Repeat {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(self.next().clone()))))
    }
}

/// Polls for the next item of a stream. Polls again if the stream has exhausted its budget.
pub fn next<S: Stream>(stream: &mut Pin<&mut S>) -> S::Item {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(item) = stream.as_mut().poll_next(&mut cx) {
            return item.expect("the stream has no end");
        }
    }
}
