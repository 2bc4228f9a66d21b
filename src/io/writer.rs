//! A writer that validates or repairs text.

#[cfg(any(feature = "futures-io", feature = "io"))]
use pin_project_lite::pin_project;

#[cfg(not(any(feature = "futures-io", feature = "io")))]
use super::unpinned::pin_project;
use super::writing::Writing;
use crate::text::TextDecoder;

pin_project! {
    /// A writer that validates bytes as UTF-8, or repairs them, before it forwards them to another writer.
    ///
    /// It implements the traits that the inner writer implements: `Write` of std, `AsyncWrite` of tokio (feature `io`)
    /// or of futures-io (feature `futures-io`). Every write to the inner writer consists of whole characters, however
    /// the input is split. There is one exception: if the inner writer accepts only a part of a character, the next
    /// write contains the rest of this character. Use this writer for consoles, for peers that decode every packet
    /// separately, and for sinks that must never contain ill-formed text.
    ///
    /// ```
    /// use std::io::Write;
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    /// use utf8_codec::io::Utf8Writer;
    ///
    /// let mut out = Utf8Writer::with_decoder(Vec::new(), TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    /// for part in [&b"gr\xC3"[..], b"\xBCn \xFF \xE2\x82"] {
    ///     out.write_all(part)?;
    /// }
    /// assert_eq!(out.get_ref(), "grün \u{FFFD} ".as_bytes());
    /// out.finish()?;
    /// assert_eq!(out.into_inner(), "grün \u{FFFD} \u{FFFD}".as_bytes());
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Flush and the end of the text
    ///
    /// `flush` forwards and flushes every whole character. The first bytes of an unfinished character, at most 3, stay
    /// in this writer until the rest of the character arrives; `decoder().pending()` returns them. Only
    /// [`finish`](Self::finish), or `shutdown` of the async traits (`close` in futures-io), ends the text. If the
    /// writer is dropped without one of these calls, truncated text is not reported.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) for the first sequence that the policy of the decoder
    /// does not repair. [`Utf8Error::find`](crate::Utf8Error::find) returns the [`Utf8Error`](crate::Utf8Error) inside.
    /// All text before that sequence has been forwarded, and every later write returns the same error. Text that ends
    /// inside a character is reported once: by `finish` after the inner writer has been flushed, or by `shutdown` after
    /// the inner writer has been shut down.
    ///
    /// Errors of the inner writer are returned unchanged, including `Interrupted` and `WouldBlock`. Writing can
    /// continue after them.
    ///
    /// # Cancel safety
    ///
    /// All state is in the writer. An async `write()` may be dropped at any await point. If the call is dropped before
    /// it returns, none of its bytes were accepted.
    #[derive(Debug)]
    pub struct Utf8Writer<W> {
        #[pin]
        pub(super) inner: W,
        pub(super) text: Writing,
    }
}

impl<W> Utf8Writer<W> {
    /// Creates a strict writer to `inner` that keeps the BOM.
    pub const fn new(inner: W) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Creates a writer to `inner` with the policies of `decoder`.
    pub const fn with_decoder(inner: W, decoder: TextDecoder) -> Self {
        Self { inner, text: Writing::new(decoder) }
    }

    /// Returns the decoder, with its offset and its counters.
    pub const fn decoder(&self) -> &TextDecoder {
        self.text.decoder()
    }

    inner_accessors!(
        inner: W,
        "inner writer",
        "Bytes that are written to it directly may be inserted inside a character.",
        "Bytes that were not forwarded yet are lost."
    );
}
