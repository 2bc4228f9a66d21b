//! One direction of a relay: read, filter, write, and only then read again.

use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::error::Utf8Error;
use crate::proxy::filter::{Filter, Verdict};
use crate::proxy::outcome::{Direction, End, Flow};

/// How much one direction reads at a time; its one buffer.
const BUFFER: usize = 16 * 1024;

/// ```text
///        +----------------------------------+
///        v                                  |
/// ---> Read ---> Write ---> Flush ----------+
///        |         |          |  end, refused
///  error |         | error    +-------------> Shutdown ---> Done
///        |         |                           ^   | refused   ^ end
///        |         +--------> Discard <--------|---+           |
///        |                       +-------------|---------------+
///        +-------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Read,
    Write,
    Flush,
    /// Nothing more will be written: the half-close is handed on.
    Shutdown,
    /// What still arrives is read and dropped: closing a socket with unread bytes resets it, and a reset takes away
    /// what its peer has not yet read of the other direction.
    Discard,
    Done,
}

/// One direction. It holds one buffer, and reads only when all of it is written: whoever does not read is not read
/// from either.
#[derive(Debug)]
pub(super) struct Pump {
    direction: Direction,
    filter: Option<Filter>,
    buffer: BytesMut,
    /// What of the buffer is to be written.
    text: Bytes,
    state: State,
    ended: bool,
    flow: Flow,
    /// Why it stopped before its end.
    stop: Option<End>,
}

impl Pump {
    /// Without a filter the bytes pass untouched.
    pub(super) fn new(direction: Direction, filter: Option<Filter>) -> Self {
        Self {
            direction,
            filter,
            buffer: BytesMut::new(),
            text: Bytes::new(),
            state: State::Read,
            ended: false,
            flow: Flow::default(),
            stop: None,
        }
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    pub(super) fn flow(&self) -> Flow {
        self.flow
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether it stopped before its end and has delivered what was good.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some() && matches!(self.state, State::Discard | State::Done)
    }

    /// Why it stopped before its end.
    pub(super) fn into_stop(self) -> Option<End> {
        self.stop
    }

    /// Goes as far as the two sides let it.
    pub(super) fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
        report: &mut impl FnMut(Direction, Utf8Error),
    ) -> Poll<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        loop {
            self.state = match self.state {
                State::Read => ready!(self.poll_read(cx, from, report)),
                State::Write => ready!(self.poll_write(cx, to)),
                State::Flush => ready!(self.poll_flush(cx, to)),
                State::Shutdown => ready!(self.poll_shutdown(cx, to)),
                State::Discard => ready!(self.poll_discard(cx, from)),
                State::Done => return Poll::Ready(()),
            };
        }
    }

    fn poll_read<R: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        report: &mut impl FnMut(Direction, Utf8Error),
    ) -> Poll<State> {
        // The text that was split off has been dropped: this takes the same memory again.
        self.buffer.reserve(BUFFER);
        match ready!(pin!(from.read_buf(&mut self.buffer)).poll(cx)) {
            Ok(read) => {
                self.flow.read += read as u64;
                self.ended = read == 0;
                self.take_chunk(report);
                Poll::Ready(State::Write)
            }
            Err(error) => {
                // A stream that breaks off inside a character is told like one that ends there. Its repair is not
                // delivered: the other side must not take this for an end in order.
                self.ended = true;
                self.take_chunk(report);
                self.text = Bytes::new();
                self.stop = Some(End::Failed(self.direction, error));
                Poll::Ready(State::Shutdown)
            }
        }
    }

    /// Filters what was read.
    fn take_chunk(&mut self, report: &mut impl FnMut(Direction, Utf8Error)) {
        let mut body = Some(self.buffer.split().freeze());
        if let Some(filter) = &mut self.filter {
            let ill_formed = &mut self.flow.ill_formed;
            let verdict = filter.filter_with(&mut body, self.ended, |error| {
                *ill_formed += 1;
                report(self.direction, error);
            });
            if let Verdict::Reject(error) = verdict {
                self.stop = Some(End::IllFormed(self.direction, error));
            }
        }
        self.text = body.unwrap_or_default();
    }

    fn poll_write<W: AsyncWrite + Unpin>(&mut self, cx: &mut Context<'_>, to: &mut W) -> Poll<State> {
        while !self.text.is_empty() {
            match ready!(Pin::new(&mut *to).poll_write(cx, &self.text)) {
                Ok(0) => return Poll::Ready(self.fail(io::ErrorKind::WriteZero.into(), State::Discard)),
                Ok(written) => {
                    self.flow.written += written as u64;
                    self.text.advance(written);
                }
                Err(error) => return Poll::Ready(self.fail(error, State::Discard)),
            }
        }
        self.text = Bytes::new();
        Poll::Ready(State::Flush)
    }

    fn poll_flush<W: AsyncWrite + Unpin>(&mut self, cx: &mut Context<'_>, to: &mut W) -> Poll<State> {
        Poll::Ready(match ready!(Pin::new(to).poll_flush(cx)) {
            Err(error) => self.fail(error, State::Discard),
            Ok(()) if self.ended || self.stop.is_some() => State::Shutdown,
            Ok(()) => State::Read,
        })
    }

    fn poll_shutdown<W: AsyncWrite + Unpin>(&mut self, cx: &mut Context<'_>, to: &mut W) -> Poll<State> {
        let next = if self.ended { State::Done } else { State::Discard };
        Poll::Ready(match ready!(Pin::new(to).poll_shutdown(cx)) {
            // It is closed already.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => next,
            Err(error) => self.fail(error, next),
            Ok(()) => next,
        })
    }

    fn poll_discard<R: AsyncRead + Unpin>(&mut self, cx: &mut Context<'_>, from: &mut R) -> Poll<State> {
        self.buffer.clear();
        self.buffer.reserve(BUFFER);
        match ready!(pin!(from.read_buf(&mut self.buffer)).poll(cx)) {
            Ok(0) | Err(_) => Poll::Ready(State::Done),
            Ok(_) => Poll::Ready(State::Discard),
        }
    }

    /// The first reason counts.
    fn fail(&mut self, error: io::Error, next: State) -> State {
        self.text = Bytes::new();
        self.stop.get_or_insert(End::Failed(self.direction, error));
        next
    }
}
