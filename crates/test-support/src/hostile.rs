//! Test doubles that use everything that the traits allow: they are pending first, split the data at any position, fail
//! in between, and panic if they are polled after the end. With the traits of std a pending operation alternately fails
//! with `Interrupted` and `WouldBlock`.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::io;

use futures::Stream;

/// The result of the next operation of a double.
#[derive(Clone, Debug)]
pub enum Step {
    Chunk(Vec<u8>),
    Fail(io::ErrorKind),
}

/// Converts chunks to steps.
pub fn steps(chunks: &[&[u8]]) -> VecDeque<Step> {
    chunks.iter().map(|chunk| Step::Chunk(chunk.to_vec())).collect()
}

/// Returns `Pending` from every other poll, after it has woken the task.
#[derive(Debug, Default)]
pub struct PendingFirst {
    pending: bool,
    failures: usize,
}

impl PendingFirst {
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.pending = !self.pending;
        if self.pending {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Returns the error of a blocking operation that is not ready, or `None` if it is ready.
    pub fn fail(&mut self) -> Option<io::Error> {
        let kinds = [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock];
        self.poll(&Context::from_waker(Waker::noop())).is_pending().then(|| {
            self.failures += 1;
            kinds[self.failures % 2].into()
        })
    }
}

/// A stream of chunks that is pending before each of them and must not be polled after its end.
#[derive(Debug)]
pub struct HostileStream {
    steps: VecDeque<Step>,
    pending_first: PendingFirst,
    ended: bool,
}

impl HostileStream {
    pub fn new(steps: impl Into<VecDeque<Step>>) -> Self {
        Self { steps: steps.into(), pending_first: PendingFirst::default(), ended: false }
    }
}

impl Stream for HostileStream {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        assert!(!self.ended, "polled after the end");
        core::task::ready!(self.pending_first.poll(cx));
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

/// A reader that is pending before every operation, returns one step at a time, and must not be polled after its end.
///
/// It implements the traits of std, tokio and futures-io.
#[derive(Debug)]
pub struct HostileReader {
    steps: VecDeque<Step>,
    pending_first: PendingFirst,
    buffer: Vec<u8>,
    from: usize,
    ended: bool,
    /// The maximum number of bytes that one read returns.
    at_most: usize,
}

impl HostileReader {
    pub fn new(steps: impl Into<VecDeque<Step>>) -> Self {
        Self {
            steps: steps.into(),
            pending_first: PendingFirst::default(),
            buffer: Vec::new(),
            from: 0,
            ended: false,
            at_most: usize::MAX,
        }
    }

    /// Sets the maximum number of bytes that one read returns.
    pub fn at_most(self, at_most: usize) -> Self {
        Self { at_most, ..self }
    }

    fn fill(&mut self, cx: &Context<'_>) -> Poll<io::Result<&[u8]>> {
        assert!(!self.ended, "polled after the end");
        core::task::ready!(self.pending_first.poll(cx));
        Poll::Ready(self.buffered())
    }

    fn fill_blocking(&mut self) -> io::Result<&[u8]> {
        assert!(!self.ended, "read after the end");
        match self.pending_first.fail() {
            Some(error) => Err(error),
            None => self.buffered(),
        }
    }

    fn buffered(&mut self) -> io::Result<&[u8]> {
        while self.from == self.buffer.len() {
            match self.steps.pop_front() {
                Some(Step::Chunk(chunk)) => (self.buffer, self.from) = (chunk, 0),
                Some(Step::Fail(kind)) => return Err(kind.into()),
                None => {
                    self.ended = true;
                    break;
                }
            }
        }
        let rest = &self.buffer[self.from..];
        Ok(&rest[..rest.len().min(self.at_most)])
    }

    fn take(&mut self, bytes: usize) {
        assert!(bytes <= self.buffer.len() - self.from, "more was consumed than is buffered");
        self.from += bytes;
    }

    fn read(&mut self, cx: &Context<'_>, room: usize, put: impl FnOnce(&[u8])) -> Poll<io::Result<usize>> {
        let bytes = core::task::ready!(self.fill(cx))?;
        let read = bytes.len().min(room);
        put(&bytes[..read]);
        self.take(read);
        Poll::Ready(Ok(read))
    }
}

impl io::Read for HostileReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_blocking()?;
        let read = bytes.len().min(buf.len());
        buf[..read].copy_from_slice(&bytes[..read]);
        self.take(read);
        Ok(read)
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

impl futures::io::AsyncRead for HostileReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        self.read(cx, buf.len(), |bytes| buf[..bytes.len()].copy_from_slice(bytes))
    }
}

/// A writer that is pending before every operation, accepts few bytes at once, and must not be polled after its end.
///
/// It implements the traits of std, tokio and futures-io.
#[derive(Debug)]
pub struct HostileWriter {
    pending_first: PendingFirst,
    at_most: usize,
    /// The index of the operation that fails once.
    fails_at: Option<usize>,
    operations: usize,
    pub written: Vec<u8>,
    /// The number of bytes that each write accepted.
    pub writes: Vec<usize>,
    pub flushes: usize,
    pub closed: bool,
}

impl HostileWriter {
    /// Sets the maximum number of bytes that one write accepts.
    pub fn new(at_most: usize) -> Self {
        Self {
            pending_first: PendingFirst::default(),
            at_most,
            fails_at: None,
            operations: 0,
            written: Vec::new(),
            writes: Vec::new(),
            flushes: 0,
            closed: false,
        }
    }

    /// Makes the operation with this index fail, once.
    pub fn fails_at(self, operation: usize) -> Self {
        Self { fails_at: Some(operation), ..self }
    }

    fn operate(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        assert!(!self.closed, "polled after the end");
        core::task::ready!(self.pending_first.poll(cx));
        Poll::Ready(self.count())
    }

    fn operate_blocking(&mut self) -> io::Result<()> {
        match self.pending_first.fail() {
            Some(error) => Err(error),
            None => self.count(),
        }
    }

    fn count(&mut self) -> io::Result<()> {
        let operation = self.operations;
        self.operations += 1;
        if self.fails_at == Some(operation) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    fn write(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        core::task::ready!(self.operate(cx))?;
        Poll::Ready(Ok(self.accept(bytes)))
    }

    fn accept(&mut self, bytes: &[u8]) -> usize {
        assert!(!bytes.is_empty(), "an empty write");
        let taken = bytes.len().min(self.at_most);
        self.written.extend_from_slice(&bytes[..taken]);
        self.writes.push(taken);
        taken
    }

    fn flush(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.operate(cx).map_ok(|()| self.flushes += 1)
    }

    fn close(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.operate(cx).map_ok(|()| self.closed = true)
    }
}

impl io::Write for HostileWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.operate_blocking()?;
        Ok(self.accept(buf))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.operate_blocking()?;
        self.flushes += 1;
        Ok(())
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

/// Whether a call can be repeated after the error.
pub fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Repeats a call for as long as its errors are temporary.
pub fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if is_temporary(&error) => {}
            result => return result,
        }
    }
}
