//! A reader of text in another encoding.

use std::io::{self, BufRead, Read};

#[cfg(any(feature = "futures-io", feature = "io"))]
use pin_project_lite::pin_project;

use super::converting::Converting;
use super::lines::BoundedLines;
#[cfg(not(any(feature = "futures-io", feature = "io")))]
use super::unpinned::pin_project;
use crate::transcode::{Encoding, Transcoder};

pin_project! {
    /// A reader that converts the bytes of another reader from one encoding to another.
    ///
    /// It implements the traits that the inner reader implements: `Read` and `BufRead` of std, `AsyncRead` and
    /// `AsyncBufRead` of tokio (feature `io`) or of futures-io (feature `futures-io`). `lines()`, `read_to_string()` and
    /// `copy()` work as on any reader. It has a buffer, so neither it nor the inner reader needs a `BufReader`.
    ///
    /// ```
    /// use std::io::BufRead;
    /// use utf8_codec::io::TranscodeReader;
    /// use utf8_codec::transcode::Encoding;
    ///
    /// let file = &b"g\0r\0\xFC\0n\0\n\0\x3D\xD8"[..];
    /// let mut lines = TranscodeReader::new(file, Encoding::Utf16Le).lines();
    /// assert_eq!(lines.next().transpose()?.as_deref(), Some("grün"));
    ///
    /// let error = lines.next().unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "ill-formed UTF-16LE at byte 10 (Truncated, 2 bytes)");
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) for the first sequence that the policies of the transcoder
    /// do not repair, after all text before it. [`Utf8Error::find`](crate::Utf8Error::find) returns the
    /// [`Utf8Error`](crate::Utf8Error) inside, with its offset in the input. The error is returned once. Later reads return
    /// the end of the input, and the inner reader is not read again.
    ///
    /// Errors of the inner reader are returned unchanged, including `Interrupted` and `WouldBlock`. Reading can continue
    /// after them, even inside a character.
    ///
    /// # Limits
    ///
    /// The reader uses 16 KiB of memory. `lines()` has no limit: a peer that never sends LF makes a line grow until memory
    /// is exhausted. [`into_bounded_lines`](Self::into_bounded_lines) and `TranscodeLinesCodec` in the module `codec` have
    /// a limit. One async poll reads at most 64 KiB of input without text. It then wakes its task and returns `Pending`, so
    /// that other tasks can run.
    ///
    /// # Cancel safety
    ///
    /// All state is in the reader.
    #[derive(Debug)]
    pub struct TranscodeReader<R> {
        #[pin]
        pub(super) inner: R,
        pub(super) text: Converting,
    }
}

impl<R> TranscodeReader<R> {
    /// Creates a strict reader of `inner`, which is in `encoding`. Its output is UTF-8, and the BOM is kept.
    pub const fn new(inner: R, encoding: Encoding) -> Self {
        Self::with_transcoder(inner, Transcoder::new(encoding, Encoding::Utf8))
    }

    /// Creates a reader of `inner` with the encodings and the policies of `transcoder`.
    pub const fn with_transcoder(inner: R, transcoder: Transcoder) -> Self {
        Self { inner, text: Converting::new(transcoder) }
    }

    /// Returns the transcoder, with its counters and its offset. The offset may be after the end of the text that was
    /// returned so far.
    pub const fn transcoder(&self) -> &Transcoder {
        self.text.transcoder()
    }

    inner_accessors!(
        inner: R,
        "inner reader",
        "Bytes that are read from it directly are missing in the text.",
        "Bytes that were read from it but not returned are lost."
    );

    /// Converts this reader into an iterator over the lines of its text, which must be UTF-8. `max` is the maximum number
    /// of bytes of a line as UTF-8, without its LF or CRLF.
    pub const fn into_bounded_lines(self, max: usize) -> BoundedLines<Self>
    where
        Self: BufRead,
    {
        BoundedLines::new(self, max)
    }
}

impl<R: Read> Read for TranscodeReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        self.fill_buf()?;
        Ok(self.text.take(buf))
    }
}

impl<R: Read> BufRead for TranscodeReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while !self.text.is_ready()? {
            let bytes = self.inner.read(self.text.space())?;
            self.text.filled(bytes)?;
        }
        Ok(self.text.output())
    }

    fn consume(&mut self, bytes: usize) {
        self.text.consume(bytes);
    }
}
