//! Text in compressed messages: a hook for an inflater, and limits on what it writes.
//!
//! For adapters of protocols that compress each message: WebSocket with `permessage-deflate`, gRPC with `grpc-encoding`.
//!
//! | item | use |
//! |---|---|
//! | [`Inflate`] | the hook: implement it to use the inflater that a program already has |
//! | [`Deflate`] | gzip, zlib, and the messages of RFC 7692, with `flate2` |
//! | [`Inflater`] | an inflater with limits on the length of the text and on its ratio to the input |
//!
//! ```
//! # #[cfg(feature = "inflate")] {
//! use utf8_codec::inflate::{Deflate, InflateError, Inflater};
//!
//! // The example of RFC 7692 §7.2.3.1.
//! let mut inflater = Inflater::new(Deflate::permessage());
//! let mut text = Vec::new();
//! for chunk in [&b"\xF2\x48\xCD"[..], b"\xC9\xC9\x07\x00"] {
//!     inflater.feed_with(chunk, |piece| {
//!         text.extend_from_slice(piece);
//!         Ok::<(), InflateError>(())
//!     })?;
//! }
//! inflater.finish()?;
//! assert_eq!(text, b"Hello");
//! # }
//! # Ok::<(), utf8_codec::inflate::InflateError>(())
//! ```
//!
//! # Limits
//!
//! A message has at most 64 MiB of text, and at most 1 MiB more than 200 times its input, unless other limits are set. The
//! text up to the limit is returned before the error. Neither the text nor the error depends on how the input is divided.
//!
//! # Cost
//!
//! An [`Inflater`] allocates 8 KiB with the first input, and [`Deflate`] about 48 KiB. This memory is reused for every
//! message.
//!
//! # Feature
//!
//! `alloc` for the hook, `inflate` for [`Deflate`].

use alloc::boxed::Box;
use core::fmt;

#[cfg(feature = "inflate")]
mod deflate;
mod inflater;

#[cfg(feature = "inflate")]
pub use deflate::Deflate;
pub use inflater::Inflater;

/// Inflates messages, one after another.
///
/// What it writes is a function of the bytes that it read, however they are divided into calls: after a call that leaves
/// space in the output, everything that these bytes determine has been written. An error is returned by a call that writes
/// nothing, and after it the value cannot be used.
pub trait Inflate: Send + Sync {
    /// Reads the next bytes of the message, and writes text. With input and space left it makes progress or returns an error.
    ///
    /// The input is empty in calls that only ask for the rest of the text: after one that filled the output, until one writes
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns [`InflateError::Corrupt`] at the first byte that cannot continue any message.
    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<Inflated, InflateError>;

    /// Ends the message, after all of its input was read and all of its text was returned. The next call starts another
    /// message, with the state that the format keeps between messages.
    ///
    /// # Errors
    ///
    /// Returns [`InflateError::Truncated`] if the message is not complete.
    fn finish(&mut self) -> Result<(), InflateError>;

    /// Returns another inflater with the same settings, at its start.
    fn fresh(&self) -> Box<dyn Inflate>;
}

/// What a call of [`Inflate::inflate`] read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inflated {
    /// The number of bytes that were read from the input.
    pub read: usize,
    /// The number of bytes that were written to the output.
    pub written: usize,
}

/// Why a message cannot be inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InflateError {
    /// The data is not in the format.
    Corrupt,
    /// The message ended before its data was complete.
    Truncated,
    /// The text has more bytes than this limit.
    TooLong(u64),
    /// The text is more than this many times as long as the input.
    Ratio(u64),
}

impl fmt::Display for InflateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt => f.write_str("corrupt compressed data"),
            Self::Truncated => f.write_str("truncated compressed data"),
            Self::TooLong(limit) => write!(f, "inflated to more than {limit} bytes"),
            Self::Ratio(limit) => write!(f, "inflated to more than {limit} times its length"),
        }
    }
}

impl core::error::Error for InflateError {}
