//! A reader of text.

use core::marker::PhantomData;
#[cfg(any(feature = "futures-io", feature = "io"))]
use pin_project_lite::pin_project;

use super::reading::Reading;
#[cfg(not(any(feature = "futures-io", feature = "io")))]
use super::unpinned::pin_project;
use crate::text::TextDecoder;

/// The mode of a [`Utf8Reader`] with a buffer of its own. The inner reader is a `Read` or an `AsyncRead`.
#[derive(Clone, Copy, Debug)]
pub struct OwnBuffer;

/// The mode of a [`Utf8Reader`] that returns text from the buffer of the inner reader, a `BufRead` or an
/// `AsyncBufRead`. [`Utf8Reader::with_inner_buffer`] selects it.
#[derive(Clone, Copy, Debug)]
pub struct InnerBuffer;

pin_project! {
    /// A reader that validates the bytes of another reader as UTF-8, or repairs them, before it returns them.
    ///
    /// It implements the traits that the inner reader implements: `Read` and `BufRead` of std, `AsyncRead` and
    /// `AsyncBufRead` of tokio (feature `io`) or of futures-io (feature `futures-io`). `lines()`, `read_to_string()` and
    /// `copy()` work as on any reader. [`read_str_chunk`](Self::read_str_chunk) and
    /// [`into_bounded_lines`](Self::into_bounded_lines) are for blocking readers.
    ///
    /// - By default it reads into a buffer of 8 KiB, as `BufReader` does. The inner reader needs no `BufReader`.
    /// - If the inner reader has a buffer (a file in memory, a locked `Stdin`, a `StreamReader`),
    ///   [`with_inner_buffer`](Self::with_inner_buffer) returns well-formed text from this buffer without a copy. Only
    ///   two things are copied: a character that is split when the buffer is refilled, and the replacement of an
    ///   ill-formed sequence.
    ///
    /// The text that one call returns is well-formed and ends between characters. The exception is a read into fewer
    /// than 4 bytes if the next character does not fit. That character is then returned in parts, because a read of 0
    /// bytes would mean the end.
    ///
    /// ```
    /// use std::io::BufRead;
    /// use utf8_codec::io::Utf8Reader;
    ///
    /// let file = &b"gr\xC3\xBCn\nbl\xFFu\n"[..];
    /// let mut lines = Utf8Reader::new(file).lines();
    /// assert_eq!(lines.next().transpose()?.as_deref(), Some("grün"));
    ///
    /// let error = lines.next().unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 8 (InvalidLead, 1 byte)");
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) for the first sequence that the policy of the decoder
    /// does not repair. By default that is the first ill-formed sequence, or the end of the stream inside a character.
    /// [`Utf8Error::find`](crate::Utf8Error::find) returns the [`Utf8Error`](crate::Utf8Error) inside. All text before
    /// the error is returned first. The error is returned once. Later reads return the end of the input, and the inner
    /// reader is not read again.
    ///
    /// Errors of the inner reader are returned unchanged, including `Interrupted` and `WouldBlock`. Reading can
    /// continue after them, even inside a character.
    ///
    /// # Limits
    ///
    /// The reader uses 8 KiB of memory, or 32 bytes with the buffer of the inner reader. `lines()` has no limit: a peer
    /// that never sends LF makes a line grow until memory is exhausted.
    /// [`into_bounded_lines`](Self::into_bounded_lines) and `Utf8LinesCodec` in the module `codec` have a limit. One
    /// async poll reads at most 64 KiB of input without text (under [`ErrorPolicy::Skip`](crate::ErrorPolicy::Skip)).
    /// It then wakes its task and returns `Pending`, so that other tasks can run.
    ///
    /// # Cancel safety
    ///
    /// All state is in the reader. With the async traits `lines().next_line()` is cancel safe. `read_line()` is not,
    /// for any reader, because its future holds a part of the line.
    #[derive(Debug)]
    pub struct Utf8Reader<R, B = OwnBuffer> {
        #[pin]
        pub(super) inner: R,
        pub(super) text: Reading,
        buffer: PhantomData<B>,
    }
}

impl<R> Utf8Reader<R> {
    /// Creates a strict reader of `inner` that keeps the BOM.
    pub const fn new(inner: R) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Creates a reader of `inner` with the policies of `decoder`.
    pub const fn with_decoder(inner: R, decoder: TextDecoder) -> Self {
        Self { inner, text: Reading::new(decoder), buffer: PhantomData }
    }

    /// Converts this reader into one that returns text from the buffer of the inner reader. Bytes that were already
    /// read are returned first.
    ///
    /// ```
    /// use std::io::BufRead;
    /// use utf8_codec::io::Utf8Reader;
    ///
    /// let file = "in memory".as_bytes();
    /// let mut reader = Utf8Reader::new(file).with_inner_buffer();
    /// assert_eq!(reader.fill_buf()?.as_ptr(), file.as_ptr());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn with_inner_buffer(self) -> Utf8Reader<R, InnerBuffer> {
        Utf8Reader { inner: self.inner, text: self.text, buffer: PhantomData }
    }
}

impl<R, B> Utf8Reader<R, B> {
    /// Returns the decoder, with its counters and its offset. The offset may be after the end of the text that was
    /// returned so far.
    pub const fn decoder(&self) -> &TextDecoder {
        self.text.decoder()
    }

    inner_accessors!(
        inner: R,
        "inner reader",
        "Bytes that are read from it directly are missing in the text.",
        "Bytes that were read from it but not returned are lost."
    );
}
