//! A writer of text.

use core::pin::Pin;

use pin_project_lite::pin_project;

use super::writing::Writing;
use crate::text::TextDecoder;

pin_project! {
    /// A writer that takes bytes and forwards them once they are certainly text.
    ///
    /// It has the trait that the inner writer has: the `AsyncWrite` of tokio (feature `io`) or of futures-io (feature
    /// `futures-io`). Every write that the inner writer sees is made of whole characters, however they were cut on the
    /// way here: right for consoles, for peers that decode every packet on its own, and for a sink that must never
    /// hold ill-formed text. An inner writer that takes only a part of what it was offered gets the rest next.
    ///
    /// ```
    /// use tokio::io::AsyncWriteExt;
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    /// use utf8_codec::io::Utf8Writer;
    ///
    /// # tokio_test::block_on(async {
    /// let mut out = Utf8Writer::with_decoder(Vec::new(), TextDecoder::new().on_error(ErrorPolicy::Replace));
    /// for part in [&b"gr\xC3"[..], b"\xBCn \xFF \xE2\x82"] {
    ///     out.write_all(part).await?;
    /// }
    /// assert_eq!(out.get_ref(), "grün \u{FFFD} ".as_bytes());
    /// out.shutdown().await?;
    /// assert_eq!(out.get_ref(), "grün \u{FFFD} \u{FFFD}".as_bytes());
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Flush and shutdown
    ///
    /// `flush` forwards and flushes every whole character. It cannot forward the beginning of one: at most three bytes
    /// stay here until the rest comes, and `decoder().pending()` shows them. Only `shutdown` (`close` in futures-io)
    /// says that no rest will come; who drops the writer without it does not learn of a text that was cut short.
    ///
    /// # Errors
    ///
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) with the [`Utf8Error`](crate::Utf8Error) inside, to be found by
    /// `get_ref()` and `downcast_ref()`, for what the policy of the decoder does not repair. All the text before it
    /// has been forwarded; every later write gives the same error. A text that ends inside a character is reported by
    /// `shutdown`, once, after the inner writer has been shut down.
    ///
    /// Errors of the inner writer are handed on and disturb nothing.
    ///
    /// # Cancel safety
    ///
    /// All state is in the writer: `write()` may be dropped at any await point, and if it was, nothing was taken.
    #[derive(Debug)]
    pub struct Utf8Writer<W> {
        #[pin]
        pub(super) inner: W,
        pub(super) text: Writing,
    }
}

impl<W> Utf8Writer<W> {
    /// Forwards text to `inner`, strictly; a BOM is text.
    pub const fn new(inner: W) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Forwards text to `inner` with the policies of `decoder`.
    pub const fn with_decoder(inner: W, decoder: TextDecoder) -> Self {
        Self { inner, text: Writing::new(decoder) }
    }

    /// The decoder: how far it is, and what it met.
    pub const fn decoder(&self) -> &TextDecoder {
        self.text.decoder()
    }

    /// The inner writer.
    pub const fn get_ref(&self) -> &W {
        &self.inner
    }

    /// The inner writer. What is written to it may land inside a character.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// The inner writer, pinned. What is written to it may land inside a character.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// The inner writer, without what was held back.
    pub fn into_inner(self) -> W {
        self.inner
    }
}
