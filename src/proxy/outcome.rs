//! What a relay reports: while it runs, and at its end.

use core::fmt;
use std::io;

use crate::error::Utf8Error;
use crate::proxy::edit::RejectedLine;

/// A direction of a relayed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the upstream server.
    Requests,
    /// From the upstream server to the client.
    Responses,
}

impl Direction {
    /// `requests` or `responses`, for logs and command lines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Responses => "responses",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Receives what happens on a relayed connection, while it happens. Every method has a default that does nothing.
///
/// A closure `FnMut(Direction, Utf8Error)` is an observer of ill-formed sequences. The methods are called between
/// system calls and must not block.
pub trait Observer {
    /// So many bytes were read. What is read and dropped after a rejection is not reported.
    fn read(&mut self, _: Direction, _bytes: usize) {}

    /// So many bytes were written.
    fn written(&mut self, _: Direction, _bytes: usize) {}

    /// The number of bytes that wait for the rest of their character or line has changed to this. There is no such call
    /// when the connection ends.
    fn held(&mut self, _: Direction, _bytes: usize) {}

    /// An ill-formed sequence, repaired or not; its offset counts the bytes of its own direction.
    fn ill_formed(&mut self, _: Direction, _: Utf8Error) {}

    /// The stream is rejected; under [`report_only`](crate::proxy::Relay::report_only), it would have been.
    fn rejected(&mut self, _: Direction) {}

    /// A line does not pass; under [`report_only`](crate::proxy::Relay::report_only), it would not have passed. What
    /// is returned is sent to the peer that sent the line, between two lines of the other direction.
    fn rejected_line(&mut self, _: Direction, _: RejectedLine) -> Option<Vec<u8>> {
        None
    }
}

impl<F: FnMut(Direction, Utf8Error)> Observer for F {
    fn ill_formed(&mut self, direction: Direction, error: Utf8Error) {
        self(direction, error);
    }
}

/// What one direction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// Bytes read; what is read and dropped after a rejection is not counted.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Ill-formed sequences, repaired or not.
    pub ill_formed: u64,
    /// Lines that did not pass.
    pub rejected_lines: u64,
}

/// What became of a relayed connection.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What went from the client to the upstream server.
    pub requests: Flow,
    /// What went from the upstream server to the client.
    pub responses: Flow,
    /// Why it ended.
    pub end: End,
    /// The connection did not end in order: reset both sockets (`SO_LINGER` with a time of zero, then drop), so that
    /// neither peer takes what it has read for all there was.
    pub reset: bool,
}

/// Why a relayed connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum End {
    /// Both directions came to their end.
    Closed,
    /// A direction was rejected.
    IllFormed(Direction, Utf8Error),
    /// A direction was rejected for a line that is ill-formed or too long.
    RejectedLine(Direction, RejectedLine),
    /// A direction could not be read or written, as when a peer resets the connection.
    Failed(Direction, io::Error),
    /// No byte was read or written in either direction for the [`idle_timeout`](crate::proxy::Relay::idle_timeout).
    Idle,
    /// Fewer bytes moved than [`min_rate`](crate::proxy::Relay::min_rate) asks for.
    TooSlow,
    /// It lasted longer than [`max_duration`](crate::proxy::Relay::max_duration).
    TooLong,
    /// It was ended by [`run_until`](crate::proxy::Relay::run_until).
    Cancelled,
}
