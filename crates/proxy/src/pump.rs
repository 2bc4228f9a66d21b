//! One direction of a relay: read, filter, write, and read again only after everything is written.
//!
//! A read goes into a buffer from a pool, after some free bytes (`HEADROOM`). The filter passes ranges of the buffer and
//! inserts bytes, and [`Pending`] turns these into what is written: the buffer itself if nothing changed, the buffer with the
//! held bytes of the last read copied into the headroom, or a copy if more was inserted. The buffer returns to the pool when all
//! of it was written, so an idle connection has none, and a slow receiver stops the sender.
//!
//! A buffer is small until a read fills it, and then big, because a large receive window saves system calls. It is small again
//! after a short read, and while errors are dense: repairing 256 KiB of them would keep other connections waiting. For
//! the same reason [`Pump::poll_cycle`] returns its cost, in bytes and in errors, and the relay yields to the runtime when
//! the sum of both directions is large.
//!
//! Replies to rejected lines travel against the direction. The pump that rejects a line collects them, the other pump
//! writes them between two lines of its own text. If their receiver does not read, no more lines are read from it.

use core::ops::Range;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use utf8_codec::LineEnding;

use crate::buffer::{Buffer, HEADROOM, Size};
use crate::edit::Edit;
use crate::outcome::{RelayDirection, RelayEnd, RelayFlow, RelayObserver};
use crate::stage::{Pending, Stage, StageError, TEXT_PIECE, ends_line};

/// The cost of repairing an ill-formed sequence, in bytes of well-formed text.
const ERROR_COST: usize = 16;

/// The minimum cost of a read and a write, in bytes.
const MIN_COST: usize = 1024;

/// If this many bytes of replies to a peer are queued or being written, no more lines are read from that peer.
const MAX_REPLIES: usize = 64 * 1024;

/// ```text
///        +----------------------------------+
///        v                                  |
/// ---> Read ---> Write ---> Flush ----------+
///        |         |          |  end
///        |         |          +-------------> Shutdown ----> Done
///        |         | error    |  rejected        | close      ^ end
///        |         v          v                  v            |
///        |       Discard <----+---------------Discard --------+
///        | error                                              |
///        +----------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Read,
    Write,
    Flush,
    /// The sink is being shut down, which forwards the half-close. Nothing more is written.
    Shutdown,
    /// Further input is read and dropped until the peer ends its stream.
    Discard,
    Done,
}

/// The settings of a direction.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) stage: Stage,
    /// The terminator of the lines between which replies are written.
    pub(super) ending: LineEnding,
    /// Whether all bytes are forwarded unchanged and errors are only reported.
    pub(super) report_only: bool,
    /// Whether a rejected direction is shut down cleanly.
    pub(super) closes: bool,
}

/// One direction. It has one buffer while bytes are in flight, and none while it waits. It reads again only after all
/// bytes are written, so back-pressure from one peer reaches the other.
#[derive(Debug)]
pub(super) struct Pump {
    direction: RelayDirection,
    setup: Setup,
    size: Size,
    buffer: Option<Buffer>,
    /// The bytes of the buffer, without its headroom, that are not filtered yet. They wait for the replies to the lines
    /// before them.
    rest: Range<usize>,
    pending: Pending,
    state: State,
    ended: bool,
    /// Whether the source, the peer that is read from, failed.
    broken: bool,
    /// Whether a write to the source failed because the source reset the connection.
    source_is_reset: bool,
    /// Whether the sink, the peer that is written to, reset the connection.
    sink_is_reset: bool,
    flow: RelayFlow,
    /// The number of held bytes that was last reported to the observer.
    held: usize,
    stop: Option<RelayEnd>,
    /// Replies to send to the sink.
    queued_replies: Vec<u8>,
    /// The number of bytes of replies in `pending`.
    pending_replies: usize,
    /// Replies to send to the source.
    replies: Vec<u8>,
    /// Whether the last byte to write ends a line.
    between_lines: bool,
}

/// What the edits of a piece change.
struct Piece<'p, O> {
    direction: RelayDirection,
    report_only: bool,
    /// The bytes of the buffer before the piece.
    head: &'p mut [u8],
    slice: &'p [u8],
    pending: &'p mut Pending,
    flow: &'p mut RelayFlow,
    replies: &'p mut Vec<u8>,
    observer: &'p mut O,
}

impl<O: RelayObserver> Piece<'_, O> {
    /// Inlined, because text in another encoding has an error in every few bytes. An error that is passed in memory is read
    /// before its parts have arrived there.
    #[inline(always)]
    fn edit(&mut self, edit: Edit<'_>) {
        if let Edit::IllFormed(error) = edit {
            self.flow.ill_formed += 1;
            self.observer.ill_formed(self.direction, error);
        } else {
            self.change(edit);
        }
    }

    #[inline(never)]
    fn change(&mut self, edit: Edit<'_>) {
        match edit {
            Edit::Pass(_) | Edit::Insert(_) if self.report_only => {}
            Edit::Pass(range) => self.pending.pass(self.head, self.slice, range),
            Edit::Insert(bytes) => self.pending.insert(self.head, self.slice, bytes),
            Edit::LineRejected(line) => {
                self.flow.rejected_lines += 1;
                if let Some(reply) = self.observer.rejected_line(self.direction, line) {
                    if !self.report_only {
                        self.replies.extend_from_slice(&reply);
                    }
                }
            }
            // `edit` has counted it.
            Edit::IllFormed(_) => {}
        }
    }
}

impl Pump {
    pub(super) fn new(direction: RelayDirection, setup: Setup) -> Self {
        Self {
            direction,
            setup,
            size: Size::Small,
            buffer: None,
            rest: 0..0,
            pending: Pending::new(),
            state: State::Read,
            ended: false,
            broken: false,
            source_is_reset: false,
            sink_is_reset: false,
            flow: RelayFlow::default(),
            held: 0,
            stop: None,
            queued_replies: Vec::new(),
            pending_replies: 0,
            replies: Vec::new(),
            between_lines: true,
        }
    }

    pub(super) fn direction(&self) -> RelayDirection {
        self.direction
    }

    pub(super) fn flow(&self) -> RelayFlow {
        self.flow
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the direction stopped before its end and has written all well-formed bytes.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some() && matches!(self.state, State::Discard | State::Done)
    }

    /// Whether the direction has ended as intended: at its end or after a rejection, with all bytes written.
    pub(super) fn has_ended(&self) -> bool {
        (self.is_done() || self.has_stopped()) && !matches!(self.stop, Some(RelayEnd::Failed(..)))
    }

    /// Whether the source failed, so that the other direction cannot be delivered.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Records that a write of the other direction failed because of a reset. The operating system reports a reset only
    /// once, to a read or to a write. If a write has returned the error, a read returns the end of the stream.
    pub(super) fn notice_reset(&mut self, other: &Self) {
        self.source_is_reset |= other.sink_is_reset;
    }

    /// Returns why the direction stopped before its end.
    pub(super) fn into_stop(self) -> Option<RelayEnd> {
        self.stop
    }

    /// Moves the replies to rejected lines to the other direction, or drops them if that direction has ended. Returns
    /// whether there were any.
    pub(super) fn collect_replies(&mut self, other: &mut Self) -> bool {
        // The memory is not kept, because most connections never need it again.
        let mut replies = core::mem::take(&mut self.replies);
        if replies.is_empty() {
            return false;
        }
        if !other.ended && other.stop.is_none() {
            if other.queued_replies.is_empty() {
                other.queued_replies = replies;
            } else {
                other.queued_replies.append(&mut replies);
            }
        }
        true
    }

    /// Whether many replies can still be written. No more lines from their receiver are read until then.
    pub(super) fn has_many_replies(&self) -> bool {
        !self.ended && self.stop.is_none() && self.queued_replies.len() + self.pending_replies >= MAX_REPLIES
    }

    /// Runs the state machine up to the next read. Returns the cost in bytes. Without `may_read` it does not read, and
    /// registers no waker for a read.
    pub(super) fn poll_cycle<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
        observer: &mut impl RelayObserver,
        may_read: bool,
    ) -> Poll<usize>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let before = self.flow;
        let mut discarded = 0;
        loop {
            self.state = match self.state {
                State::Read => ready!(self.poll_read(cx, from, observer, may_read)),
                State::Write => ready!(self.poll_write(cx, to, observer)),
                State::Flush => {
                    let next = ready!(self.poll_flush(cx, to));
                    if next == State::Read {
                        self.state = next;
                        break;
                    }
                    next
                }
                State::Shutdown => ready!(self.poll_shutdown(cx, to)),
                State::Discard => {
                    (self.state, discarded) = ready!(self.poll_discard(cx, from));
                    break;
                }
                State::Done => return Poll::Pending,
            };
        }
        let read = (self.flow.read - before.read) as usize;
        let ill_formed = (self.flow.ill_formed - before.ill_formed) as usize;
        let cost = read + ill_formed * ERROR_COST;
        Poll::Ready((cost + discarded).max(MIN_COST))
    }

    /// Reads into a buffer. The buffer returns to the pool if there is nothing to read.
    fn poll_into_buffer<R: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
    ) -> Poll<io::Result<usize>> {
        let mut buffer = self.buffer.take().unwrap_or_else(|| Buffer::take(self.size));
        let mut room = ReadBuf::new(&mut buffer[HEADROOM..]);
        let Poll::Ready(result) = Pin::new(from).poll_read(cx, &mut room) else {
            self.pending.release();
            return Poll::Pending;
        };
        let read = room.filled().len();
        self.buffer = Some(buffer);
        Poll::Ready(result.map(|()| read))
    }

    fn poll_read<R: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        observer: &mut impl RelayObserver,
        may_read: bool,
    ) -> Poll<State> {
        if !self.queued_replies.is_empty() {
            self.pending_replies = self.pending.insert_replies(
                &[],
                &mut self.queued_replies,
                self.setup.ending,
                self.between_lines,
            );
            if self.pending_replies > 0 {
                return Poll::Ready(State::Write);
            }
        }
        if !may_read {
            if self.rest.is_empty() {
                self.buffer = None;
            }
            self.pending.release();
            return Poll::Pending;
        }
        if !self.rest.is_empty() {
            if self.take_chunk(observer) {
                self.size = Size::Small;
            }
            return Poll::Ready(State::Write);
        }
        let read = match ready!(self.poll_into_buffer(cx, from)) {
            Ok(0) if self.source_is_reset => Err(io::ErrorKind::ConnectionReset.into()),
            read => read,
        };
        match read {
            Ok(read) => {
                self.flow.read += read as u64;
                observer.read(self.direction, read);
                self.ended = read == 0;
                self.rest = 0..read;
                let dense = self.take_chunk(observer);
                // If the size changes, the current buffer returns to its pool after the write.
                self.size = match self.size {
                    Size::Small if read == Size::Small.bytes() && !dense => Size::Big,
                    Size::Big if read < Size::Small.bytes() || dense => Size::Small,
                    size => size,
                };
                Poll::Ready(State::Write)
            }
            Err(error) => {
                // A character that is truncated by the failure is reported as if the stream had ended. Its replacement
                // is not delivered, because the other peer must not treat the failure as a normal end.
                self.ended = true;
                self.broken = true;
                self.take_chunk(observer);
                self.pending.clear();
                self.buffer = None;
                self.stop = Some(RelayEnd::Failed(self.direction, error));
                Poll::Ready(State::Done)
            }
        }
    }

    /// Filters the bytes that were read, up to a piece with replies, or until there are so many errors that other
    /// connections should not wait for the rest. Returns whether the errors cost more than the bytes.
    fn take_chunk(&mut self, observer: &mut impl RelayObserver) -> bool {
        let waiting = self.rest.len();
        let ill_formed = self.flow.ill_formed;
        let mut buffer = self.buffer.take();
        let bytes: &mut [u8] = buffer.as_deref_mut().unwrap_or_default();
        let cost = loop {
            let result = self.take_piece(bytes, observer);
            if let Err(error) = result {
                if !self.broken {
                    observer.rejected(self.direction);
                }
                if self.setup.report_only {
                    self.setup.stage = Stage::Untouched;
                } else {
                    self.rest = 0..0;
                    self.stop = Some(match error {
                        StageError::IllFormed(error) => RelayEnd::IllFormed(self.direction, error),
                        StageError::Line(line) => RelayEnd::RejectedLine(self.direction, line),
                    });
                }
            }
            let cost = (self.flow.ill_formed - ill_formed) as usize * ERROR_COST;
            if self.rest.is_empty() || !self.replies.is_empty() || cost >= TEXT_PIECE {
                break cost;
            }
        };
        let dense = cost > waiting - self.rest.len();
        let holds_nothing = self.setup.report_only || self.stop.is_some();
        let held = if holds_nothing { 0 } else { self.setup.stage.held() };
        if held != self.held {
            self.held = held;
            observer.held(self.direction, held);
        }
        let bytes: &[u8] = buffer.as_deref().unwrap_or_default();
        if !self.queued_replies.is_empty() {
            self.pending_replies = self.pending.insert_replies(
                bytes,
                &mut self.queued_replies,
                self.setup.ending,
                self.between_lines,
            );
        }
        let text = self.pending.bytes(bytes);
        if !text.is_empty() {
            self.between_lines = ends_line(self.setup.ending, text);
        }
        self.buffer = buffer;
        dense
    }

    /// Filters the next piece of the bytes that were read.
    fn take_piece(&mut self, bytes: &mut [u8], observer: &mut impl RelayObserver) -> Result<(), StageError> {
        let Self { direction, setup, pending, flow, replies, rest, .. } = self;
        let direction = *direction;
        let (head, slice) = bytes.split_at_mut((HEADROOM + rest.start).min(bytes.len()));
        let slice = &slice[..rest.len()];
        let slice = &slice[..setup.stage.piece_len(slice)];
        rest.start += slice.len();
        let report_only = setup.report_only;
        let mut piece = Piece { direction, report_only, head, slice, pending, flow, replies, observer };
        let result = setup.stage.take(slice, self.ended, |edit| piece.edit(edit));
        if report_only && !slice.is_empty() {
            piece.pending.pass(piece.head, slice, 0..slice.len());
        }
        result
    }

    fn poll_write<W: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut W,
        observer: &mut impl RelayObserver,
    ) -> Poll<State> {
        while !self.pending.is_empty() {
            let text = self.pending.bytes(self.buffer.as_deref().unwrap_or_default());
            match ready!(Pin::new(&mut *to).poll_write(cx, text)) {
                Ok(0) => return Poll::Ready(self.fail(io::ErrorKind::WriteZero.into(), State::Discard)),
                Ok(written) => {
                    self.flow.written += written as u64;
                    observer.written(self.direction, written);
                    self.pending.advance(written);
                }
                Err(error) => return Poll::Ready(self.fail(error, State::Discard)),
            }
        }
        self.pending.clear();
        self.pending_replies = 0;
        if self.rest.is_empty() && self.buffer.as_ref().map(Buffer::size) != Some(self.size) {
            self.buffer = None;
            self.pending.release();
        }
        Poll::Ready(State::Flush)
    }

    fn poll_flush<W: AsyncWrite + Unpin>(&mut self, cx: &mut Context<'_>, to: &mut W) -> Poll<State> {
        Poll::Ready(match ready!(Pin::new(to).poll_flush(cx)) {
            Err(error) => self.fail(error, State::Discard),
            Ok(()) if self.stop.is_some() && !self.setup.closes => {
                if self.ended {
                    State::Done
                } else {
                    State::Discard
                }
            }
            Ok(()) if self.ended || self.stop.is_some() => State::Shutdown,
            Ok(()) => State::Read,
        })
    }

    fn poll_shutdown<W: AsyncWrite + Unpin>(&mut self, cx: &mut Context<'_>, to: &mut W) -> Poll<State> {
        self.buffer = None;
        self.pending.release();
        let next = if self.ended { State::Done } else { State::Discard };
        Poll::Ready(match ready!(Pin::new(to).poll_shutdown(cx)) {
            // The peer has already closed the connection.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => next,
            Err(error) => self.fail(error, next),
            Ok(()) => next,
        })
    }

    /// Returns the next state, and the number of bytes that were read.
    fn poll_discard<R: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
    ) -> Poll<(State, usize)> {
        Poll::Ready(match ready!(self.poll_into_buffer(cx, from)) {
            Ok(0) => (State::Done, 0),
            Ok(read) => (State::Discard, read),
            Err(_) => {
                self.broken = true;
                (State::Done, 0)
            }
        })
    }

    /// Records why the direction stopped. Only the first reason is kept.
    fn fail(&mut self, error: io::Error, next: State) -> State {
        self.pending.clear();
        self.sink_is_reset |= error.kind() == io::ErrorKind::ConnectionReset;
        self.stop.get_or_insert(RelayEnd::Failed(self.direction, error));
        next
    }
}

#[cfg(test)]
mod tests;
