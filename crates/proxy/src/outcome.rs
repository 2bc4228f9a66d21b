//! The events and the outcome of a relay.

use core::fmt;
use std::io;

use utf8_codec::Utf8Error;

use crate::edit::RejectedLine;

/// A direction of a relayed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelayDirection {
    /// From the client to the upstream server.
    Requests,
    /// From the upstream server to the client.
    Responses,
}

impl RelayDirection {
    /// Returns `requests` or `responses`, for logs and command lines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Responses => "responses",
        }
    }
}

impl fmt::Display for RelayDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Receives the events of a relayed connection. Every method has a default that does nothing.
///
/// A closure `FnMut(RelayDirection, Utf8Error)` is an observer of ill-formed sequences. The methods are called between
/// system calls and must not block.
pub trait RelayObserver {
    /// Called when bytes were read. Bytes that are dropped after a rejection are not reported.
    fn read(&mut self, _: RelayDirection, _bytes: usize) {}

    /// Called when bytes were written.
    fn written(&mut self, _: RelayDirection, _bytes: usize) {}

    /// Called when the number of bytes that wait for the rest of their character or line changes, with the new number.
    /// It is not called at the end of the connection.
    fn held(&mut self, _: RelayDirection, _bytes: usize) {}

    /// Called for each ill-formed sequence, repaired or not. Its offset counts the bytes of its direction.
    fn ill_formed(&mut self, _: RelayDirection, _: Utf8Error) {}

    /// Called when a stream is rejected, or would be without
    /// [`with_report_only`](crate::Relay::with_report_only). It is not called for a character that is truncated
    /// because the peer failed.
    fn rejected(&mut self, _: RelayDirection) {}

    /// Called when a line is rejected, or would be without [`with_report_only`](crate::Relay::with_report_only). The
    /// returned bytes are sent to the peer that sent the line, between two lines of the other direction.
    fn rejected_line(&mut self, _: RelayDirection, _: RejectedLine) -> Option<Vec<u8>> {
        None
    }
}

impl<F: FnMut(RelayDirection, Utf8Error)> RelayObserver for F {
    fn ill_formed(&mut self, direction: RelayDirection, error: Utf8Error) {
        self(direction, error);
    }
}

/// The counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayFlow {
    /// The number of bytes read, without those that were dropped after a rejection.
    pub read: u64,
    /// The number of bytes written.
    pub written: u64,
    /// The number of ill-formed sequences, repaired or not.
    pub ill_formed: u64,
    /// The number of rejected lines.
    pub rejected_lines: u64,
}

/// The outcome of a relayed connection.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "if `reset` is set, both sockets must be reset"]
pub struct RelayOutcome {
    /// The direction from the client to the upstream server.
    pub requests: RelayFlow,
    /// The direction from the upstream server to the client.
    pub responses: RelayFlow,
    /// Why the connection ended.
    pub end: RelayEnd,
    /// Whether the connection must be reset because it did not end cleanly. Reset both sockets (`SO_LINGER` with a time
    /// of zero, then drop), so that no peer assumes that the data is complete.
    pub reset: bool,
}

/// Why a relayed connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum RelayEnd {
    /// Both directions ended cleanly.
    Closed,
    /// A direction was rejected.
    IllFormed(RelayDirection, Utf8Error),
    /// A direction was rejected for a line that is ill-formed or too long.
    RejectedLine(RelayDirection, RejectedLine),
    /// Reading or writing a direction failed, for example because a peer reset the connection.
    Failed(RelayDirection, io::Error),
    /// No byte was read or written in either direction for the
    /// [`with_idle_timeout`](crate::Relay::with_idle_timeout).
    Idle,
    /// The connection was slower than [`with_min_rate`](crate::Relay::with_min_rate).
    TooSlow,
    /// The connection lasted longer than [`with_max_duration`](crate::Relay::with_max_duration).
    TooLong,
    /// The future that was passed to [`run_until`](crate::Relay::run_until) completed.
    Cancelled,
}
