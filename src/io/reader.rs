//! A reader of text.

use core::pin::Pin;

use pin_project_lite::pin_project;

use super::reading::Reading;
use crate::text::TextDecoder;

pin_project! {
    /// A reader that gives the bytes of another reader once they are certainly text.
    ///
    /// It has the traits that the inner reader has: `AsyncRead`, and `AsyncBufRead` over an `AsyncBufRead`, those of
    /// tokio (feature `io`) or of futures-io (feature `futures-io`). `lines()`, `read_to_string()` and `copy()` work on
    /// top of it as on any reader.
    ///
    /// - As an `AsyncBufRead` it lends well-formed text right from the inner buffer, without a copy; only the
    ///   character that straddles two fillings of it, and what repairs an ill-formed sequence, are lent from here.
    /// - As an `AsyncRead` it reads through a buffer of 8 KiB, as `BufReader` does.
    ///
    /// What one call lends or reads is well-formed by itself and never ends inside a character, whatever the cuts
    /// before. There is one exception, which nobody can avoid: a read into fewer than four bytes may find no room for
    /// the next character. Then that character comes in parts, since a read of nothing would mean the end.
    ///
    /// ```
    /// use tokio::io::{AsyncBufReadExt, BufReader};
    /// use utf8_codec::io::Utf8Reader;
    ///
    /// # tokio_test::block_on(async {
    /// let socket = tokio_test::io::Builder::new().read(b"gr\xC3").read(b"\xBCn\nbl\xFFu\n").build();
    /// let mut lines = Utf8Reader::new(BufReader::new(socket)).lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("grün"));
    ///
    /// let error = lines.next_line().await.unwrap_err();
    /// assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 8 (InvalidLead, 1 byte)");
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) with the [`Utf8Error`](crate::Utf8Error) inside, to be found by
    /// `get_ref()` and `downcast_ref()`, for what the policy of the decoder does not repair, which by default is
    /// everything ill-formed, a stream that ends inside a character included. All the text before it comes first, it
    /// comes once, and then the reader is at its end: the inner reader is not read any more.
    ///
    /// Errors of the inner reader are handed on and disturb nothing: reading can go on after them, even inside a
    /// character.
    ///
    /// # Cancel safety
    ///
    /// All state is in the reader. What its callers keep in their futures is theirs: `read_line()` is not cancel safe
    /// on any reader, `lines().next_line()` is on this one.
    #[derive(Debug)]
    pub struct Utf8Reader<R> {
        #[pin]
        pub(super) inner: R,
        pub(super) text: Reading,
    }
}

impl<R> Utf8Reader<R> {
    /// Reads `inner` as text, strictly; a BOM is text.
    pub const fn new(inner: R) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Reads `inner` as text with the policies of `decoder`.
    pub const fn with_decoder(inner: R, decoder: TextDecoder) -> Self {
        Self { inner, text: Reading::new(decoder) }
    }

    /// The decoder: how far it is, which may be ahead of what was read, and what it met.
    pub const fn decoder(&self) -> &TextDecoder {
        self.text.decoder()
    }

    /// The inner reader.
    pub const fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The inner reader. What is read from it is missing in the text.
    pub const fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The inner reader, pinned. What is read from it is missing in the text.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// The inner reader, without what was read from it and not given out.
    pub fn into_inner(self) -> R {
        self.inner
    }
}
