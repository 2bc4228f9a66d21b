//! Access to a pinned inner reader or writer, for the async traits.

use core::pin::Pin;

use super::reader::Utf8Reader;
use super::writer::Utf8Writer;

impl<R, B> Utf8Reader<R, B> {
    /// Returns the inner reader, pinned. Bytes that are read from it directly are missing in the text.
    #[cfg_attr(docsrs, doc(cfg(any(feature = "futures-io", feature = "io"))))]
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }
}

impl<W> Utf8Writer<W> {
    /// Returns the inner writer, pinned. Bytes that are written to it directly may be inserted inside a character.
    #[cfg_attr(docsrs, doc(cfg(any(feature = "futures-io", feature = "io"))))]
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }
}
