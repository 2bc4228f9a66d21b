//! Doubles that do everything a peer may do: give nothing at first, cut anywhere, fail in between, and panic when they
//! are asked after they said that they were done.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::io;

use futures::Stream;

/// What a double does when it is next asked.
#[derive(Clone, Debug)]
pub enum Step {
    Chunk(Vec<u8>),
    Fail(io::ErrorKind),
}

/// The chunks as steps.
pub fn steps(chunks: &[&[u8]]) -> VecDeque<Step> {
    chunks.iter().map(|chunk| Step::Chunk(chunk.to_vec())).collect()
}

/// Asks for a later call and gives nothing, every other time.
#[derive(Debug, Default)]
pub struct Reluctance {
    asked: bool,
}

impl Reluctance {
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.asked = !self.asked;
        if self.asked {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// A source of chunks that is pending before every one of them, and that must not be asked after its end.
#[derive(Debug)]
pub struct HostileStream {
    steps: VecDeque<Step>,
    reluctance: Reluctance,
    ended: bool,
}

impl HostileStream {
    pub fn new(steps: impl Into<VecDeque<Step>>) -> Self {
        Self { steps: steps.into(), reluctance: Reluctance::default(), ended: false }
    }
}

impl Stream for HostileStream {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        assert!(!self.ended, "asked after the end");
        core::task::ready!(self.reluctance.poll(cx));
        Poll::Ready(match self.steps.pop_front() {
            Some(Step::Chunk(chunk)) => Some(Ok(chunk)),
            Some(Step::Fail(kind)) => Some(Err(kind.into())),
            None => {
                self.ended = true;
                None
            }
        })
    }
}

/// A reader that is pending before every operation, gives one step at a time, and must not be asked after its end.
///
/// It has the traits of tokio and of futures-io; as a buffered reader its buffer is the step.
#[derive(Debug)]
pub struct HostileReader {
    steps: VecDeque<Step>,
    reluctance: Reluctance,
    buffer: Vec<u8>,
    from: usize,
    ended: bool,
    /// Bytes that a read gives at most, whatever there is.
    at_most: usize,
}

impl HostileReader {
    pub fn new(steps: impl Into<VecDeque<Step>>) -> Self {
        Self {
            steps: steps.into(),
            reluctance: Reluctance::default(),
            buffer: Vec::new(),
            from: 0,
            ended: false,
            at_most: usize::MAX,
        }
    }

    /// Gives no more than so many bytes at once.
    pub fn at_most(self, at_most: usize) -> Self {
        Self { at_most, ..self }
    }

    fn fill(&mut self, cx: &Context<'_>) -> Poll<io::Result<&[u8]>> {
        assert!(!self.ended, "asked after the end");
        core::task::ready!(self.reluctance.poll(cx));
        while self.from == self.buffer.len() {
            match self.steps.pop_front() {
                Some(Step::Chunk(chunk)) => (self.buffer, self.from) = (chunk, 0),
                Some(Step::Fail(kind)) => return Poll::Ready(Err(kind.into())),
                None => {
                    self.ended = true;
                    break;
                }
            }
        }
        let rest = &self.buffer[self.from..];
        Poll::Ready(Ok(&rest[..rest.len().min(self.at_most)]))
    }

    fn take(&mut self, bytes: usize) {
        assert!(bytes <= self.buffer.len() - self.from, "more was consumed than there was");
        self.from += bytes;
    }

    fn read(&mut self, cx: &Context<'_>, room: usize, put: impl FnOnce(&[u8])) -> Poll<io::Result<usize>> {
        let bytes = core::task::ready!(self.fill(cx))?;
        let given = bytes.len().min(room);
        put(&bytes[..given]);
        self.take(given);
        Poll::Ready(Ok(given))
    }
}

impl tokio::io::AsyncRead for HostileReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.read(cx, buf.remaining(), |bytes| buf.put_slice(bytes)).map_ok(drop)
    }
}

impl tokio::io::AsyncBufRead for HostileReader {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_mut().fill(cx)
    }

    fn consume(mut self: Pin<&mut Self>, bytes: usize) {
        self.take(bytes);
    }
}

impl futures::io::AsyncRead for HostileReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        self.read(cx, buf.len(), |bytes| buf[..bytes.len()].copy_from_slice(bytes))
    }
}

impl futures::io::AsyncBufRead for HostileReader {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_mut().fill(cx)
    }

    fn consume(mut self: Pin<&mut Self>, bytes: usize) {
        self.take(bytes);
    }
}

/// A writer that is pending before every operation, takes few bytes at once, and must not be asked after its end.
///
/// It has the traits of tokio and of futures-io.
#[derive(Debug)]
pub struct HostileWriter {
    reluctance: Reluctance,
    at_most: usize,
    /// The operation, counted from 0, that fails, once.
    fails_at: Option<usize>,
    operations: usize,
    pub written: Vec<u8>,
    /// How many bytes each write took.
    pub writes: Vec<usize>,
    pub flushes: usize,
    pub closed: bool,
}

impl HostileWriter {
    /// Takes no more than so many bytes at once.
    pub fn new(at_most: usize) -> Self {
        Self {
            reluctance: Reluctance::default(),
            at_most,
            fails_at: None,
            operations: 0,
            written: Vec::new(),
            writes: Vec::new(),
            flushes: 0,
            closed: false,
        }
    }

    /// Fails once, at that operation.
    pub fn fails_at(self, operation: usize) -> Self {
        Self { fails_at: Some(operation), ..self }
    }

    fn operate(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        assert!(!self.closed, "asked after the end");
        core::task::ready!(self.reluctance.poll(cx));
        let operation = self.operations;
        self.operations += 1;
        Poll::Ready(if self.fails_at == Some(operation) {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(())
        })
    }

    fn write(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        core::task::ready!(self.operate(cx))?;
        assert!(!bytes.is_empty(), "nothing was offered");
        let taken = bytes.len().min(self.at_most);
        self.written.extend_from_slice(&bytes[..taken]);
        self.writes.push(taken);
        Poll::Ready(Ok(taken))
    }

    fn flush(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.operate(cx).map_ok(|()| self.flushes += 1)
    }

    fn close(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.operate(cx).map_ok(|()| self.closed = true)
    }
}

impl tokio::io::AsyncWrite for HostileWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close(cx)
    }
}

impl futures::io::AsyncWrite for HostileWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close(cx)
    }
}
