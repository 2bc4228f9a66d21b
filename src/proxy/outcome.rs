//! What a relay tells.

use core::fmt;
use std::io;

use crate::error::Utf8Error;

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

/// What one direction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// Bytes read; what is read and dropped after a refusal is not counted.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Ill-formed sequences met, repaired or not.
    pub ill_formed: u64,
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
}

/// Why a relayed connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum End {
    /// Both directions came to their end.
    Closed,
    /// A direction was refused.
    IllFormed(Direction, Utf8Error),
    /// A direction could not be read or written, as when a peer resets the connection.
    Failed(Direction, io::Error),
    /// No byte was read or written in either direction for the [`idle_timeout`](crate::proxy::Relay::idle_timeout).
    Idle,
    /// It was cut by [`run_until`](crate::proxy::Relay::run_until).
    Cancelled,
}
