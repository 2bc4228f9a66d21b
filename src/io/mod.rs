//! Readers and writers of text, for the traits of tokio and of futures-io.
//!
//! For programs that read text from a socket, a pipe or a file with `lines()`, `read_to_string()` or `copy()`, or that
//! must not write ill-formed text to one. [`Utf8Reader`] validates or repairs the bytes that it reads, [`Utf8Writer`]
//! those that it writes, with the policies of a [`TextDecoder`](crate::TextDecoder). Errors are `io::Error`s.
//! [`Utf8Error::find`](crate::Utf8Error::find) returns the [`Utf8Error`](crate::Utf8Error) inside, with its absolute
//! offset.
//!
//! ```
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
//! use utf8_codec::io::{Utf8Reader, Utf8Writer};
//! use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Error};
//!
//! # tokio_test::block_on(async {
//! // Without a `BufReader`: the reader has a buffer.
//! let socket = &b"one\ntw\xFF\n"[..];
//! let mut lines = Utf8Reader::new(socket).lines();
//! assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
//! let error = lines.next_line().await.unwrap_err();
//! assert_eq!(Utf8Error::find(&error).map(|error| error.offset), Some(6));
//!
//! let replace = TextDecoder::new().on_error(ErrorPolicy::Replace);
//! let mut out = Utf8Writer::with_decoder(Vec::new(), replace);
//! out.write_all(b"tw\xFF").await?;
//! out.shutdown().await?;
//! assert_eq!(out.into_inner(), "tw\u{FFFD}".as_bytes());
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```
//!
//! - **Feature**: `io` for tokio, `futures-io` for futures-io. A type implements the traits that its inner reader or
//!   writer implements.
//! - **Limits**: a reader holds 8 KiB, a writer 32 bytes. `lines()` has no limit; `Utf8LinesCodec` in the module
//!   `codec` has one.
//! - **Cost**: one copy into the buffer of the reader, as with `BufReader`; none with
//!   [`Utf8Reader::use_inner_buffer`], nor in the writer.
//! - **Cancel safety**: all state is in the reader or writer.

// `reading` and `writing` hold the state and the logic; `tokio` and `futures` implement the traits.
#[cfg(feature = "futures-io")]
mod futures;
mod reader;
mod reading;
#[cfg(feature = "io")]
mod tokio;
mod writer;
mod writing;

pub use reader::{InnerBuffer, OwnBuffer, Utf8Reader};
pub use writer::Utf8Writer;

use crate::policy::ShortStr;

/// A short text that is not in the caller's buffer, and how many of its bytes were taken.
#[derive(Clone, Copy, Debug)]
struct Short {
    text: ShortStr,
    gone: usize,
}

impl Short {
    const EMPTY: Self = Self { text: ShortStr::EMPTY, gone: 0 };

    const fn new(text: ShortStr) -> Self {
        Self { text, gone: 0 }
    }

    fn left(&self) -> &[u8] {
        &self.text.as_str().as_bytes()[self.gone..]
    }

    fn take(&mut self, bytes: usize) {
        self.gone += bytes.min(self.left().len());
    }
}
