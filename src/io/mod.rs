//! Readers and writers of text, for the traits of std, tokio and futures-io.
//!
//! For programs that read text from a socket, a pipe or a file with `lines()`, `read_to_string()` or `copy()`, or that
//! must not write ill-formed text. [`Utf8Reader`] validates or repairs the bytes that it reads. [`Utf8Writer`]
//! validates or repairs the bytes that it writes. Both use the policies of a [`TextDecoder`](crate::TextDecoder). Text
//! in another encoding is converted by `TranscodeReader` and `TranscodeWriter` of `utf8-codec-encodings`. Errors are
//! `io::Error`s. [`Utf8Error::find`](crate::Utf8Error::find) returns the [`Utf8Error`](crate::Utf8Error) inside, with
//! its absolute offset.
//!
//! With the traits of std, in a thread without an async runtime:
//!
//! ```
//! use std::io::Write;
//! use utf8_codec::io::{Utf8Reader, Utf8Writer};
//! use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Error};
//!
//! // A `BufReader` is not needed, because the reader has a buffer.
//! let pipe = &b"one\ntw\xFF\n"[..];
//! let mut lines = Utf8Reader::new(pipe).into_bounded_lines(64 * 1024);
//! assert_eq!(lines.next().transpose()?.as_deref(), Some("one"));
//! let error = lines.next().unwrap().unwrap_err();
//! assert_eq!(Utf8Error::find(&error).map(|error| error.offset), Some(6));
//! assert_eq!(lines.partial(), "tw");
//!
//! let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
//! let mut out = Utf8Writer::with_decoder(Vec::new(), replace);
//! out.write_all(b"tw\xFF")?;
//! out.finish()?;
//! assert_eq!(out.into_inner(), "tw\u{FFFD}".as_bytes());
//! # std::io::Result::Ok(())
//! ```
//!
//! With the traits of tokio:
//!
//! ```
//! # #[cfg(feature = "tokio-io")]
//! # tokio_test::block_on(async {
//! use tokio::io::AsyncBufReadExt;
//! use utf8_codec::io::Utf8Reader;
//!
//! let socket = tokio_test::io::Builder::new().read(b"gr\xC3").read(b"\xBCn\nblau").build();
//! let mut lines = Utf8Reader::new(socket).lines();
//! assert_eq!(lines.next_line().await?.as_deref(), Some("grün"));
//! assert_eq!(lines.next_line().await?.as_deref(), Some("blau"));
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```
//!
//! The same reader and writer are used for all families of traits, so a program that moves from threads to tasks
//! changes only the traits that it imports. A type implements those traits that its inner reader or writer implements.
//! A slice and a `Cursor` implement the traits of more than one family. Import those of one family, so that calls are
//! not ambiguous.
//!
//! # Errors
//!
//! Ill-formed text is an `io::Error` of the kind `InvalidData`. The text before it is returned first. An error of the
//! inner reader or writer is returned unchanged.
//!
//! # Limits
//!
//! A reader holds 8 KiB, a writer a character. After the first error that is repaired, a reader holds 2 KiB more and a
//! writer 5 KiB more. `lines()` has no limit; [`Utf8Reader::into_bounded_lines`], for blocking readers, and `Utf8LinesCodec`
//! in the module `codec`, for async ones, have one.
//!
//! # Cost
//!
//! [`Utf8Reader`] copies the input once, into its buffer, as `BufReader` does. [`Utf8Writer`] copies only repaired text.
//!
//! # Cancel safety
//!
//! All state is in the reader or writer. A call that returned `Interrupted` or `WouldBlock` can be repeated.
//!
//! # Feature
//!
//! `std` (default) for the traits of std, without any dependency; `tokio-io` for tokio; `futures-io` for futures-io.

// `reader` and `writer` contain the state and the logic; `blocking`, `tokio` and `futures` implement the
// traits.
pub(crate) mod blocking;
#[cfg(feature = "futures-io")]
pub(crate) mod futures;
mod lines;
#[cfg(any(feature = "futures-io", feature = "tokio-io"))]
pub(crate) mod pinned;
pub(crate) mod reader;
#[cfg(feature = "tokio-io")]
pub(crate) mod tokio;
pub(crate) mod writer;

#[cfg(any(feature = "futures-io", feature = "tokio-io"))]
use pin_project_lite::pin_project;

/// Defines the struct, without projections. Builds with only the traits of std use it, so they do not depend on
/// `pin-project-lite`.
#[cfg(not(any(feature = "futures-io", feature = "tokio-io")))]
macro_rules! pin_project {
    ($(#[$meta:meta])* pub struct $name:ident<$type:ident> { #[pin] $($fields:tt)* }) => {
        $(#[$meta])*
        pub struct $name<$type> { $($fields)* }
    };
}
#[cfg(not(any(feature = "futures-io", feature = "tokio-io")))]
use pin_project;

pub use lines::{BoundedLines, LineTooLong};
pub use reader::Utf8Reader;
pub use writer::Utf8Writer;

use crate::policy::ShortStr;

/// Short text that is not in the caller's buffer, and the number of its bytes that were consumed.
#[derive(Clone, Copy, Debug)]
struct Short {
    text: ShortStr,
    taken: usize,
}

impl Short {
    const EMPTY: Self = Self { text: ShortStr::EMPTY, taken: 0 };

    #[inline]
    const fn new(text: ShortStr) -> Self {
        Self { text, taken: 0 }
    }

    #[inline]
    fn left(&self) -> &[u8] {
        &self.text.as_str().as_bytes()[self.taken..]
    }

    #[inline]
    fn take(&mut self, bytes: usize) {
        self.taken += bytes.min(self.left().len());
    }
}
