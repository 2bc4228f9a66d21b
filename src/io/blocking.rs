//! The traits of std.

use core::task::Poll;
use std::io::{self, BufRead, ErrorKind, Read};

use super::lines::BoundedLines;
use super::reader::{ReadState, Utf8Reader};
use super::writer::Utf8Writer;

/// Reads from `inner` into the buffer of `text`.
#[inline]
pub fn fill_blocking(text: &mut impl ReadState, inner: &mut impl Read) -> io::Result<()> {
    let bytes = inner.read(text.space())?;
    text.filled(bytes)
}

/// Implements `Read` and `BufRead` for a reader.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_read {
    ($reader:ident) => {
        impl<R: std::io::Read> std::io::Read for $reader<R> {
            fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
                let mut read = 0;
                while !buf.is_empty()
                    && !$crate::internal::io::ReadState::read(&mut self.text, buf.len(), |text| {
                        read = text.len();
                        buf[..read].copy_from_slice(text);
                    })?
                {
                    $crate::internal::io::fill_blocking(&mut self.text, &mut self.inner)?;
                }
                Ok(read)
            }
        }

        impl<R: std::io::Read> std::io::BufRead for $reader<R> {
            fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
                while !$crate::internal::io::ReadState::is_ready(&mut self.text)? {
                    $crate::internal::io::fill_blocking(&mut self.text, &mut self.inner)?;
                }
                Ok($crate::internal::io::ReadState::text(&self.text))
            }

            fn consume(&mut self, bytes: usize) {
                $crate::internal::io::ReadState::consume(&mut self.text, bytes);
            }
        }
    };
}

impl_read!(Utf8Reader);

impl<R: Read> Utf8Reader<R> {
    /// Reads and returns the next text. It does not wait for more text than one read of the inner reader returns. The
    /// text is never empty and consists of whole characters. It is copied only near an error. Returns `None` at the end.
    ///
    /// ```
    /// use std::io::{self, Read};
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    /// use utf8_codec::io::Utf8Reader;
    ///
    /// fn show(terminal: impl Read) -> io::Result<()> {
    ///     let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    ///     let mut reader = Utf8Reader::with_decoder(terminal, replace);
    ///     while let Some(text) = reader.read_str_chunk()? {
    ///         print!("{text}");
    ///     }
    ///     Ok(())
    /// }
    /// # show(&b"na\xC3\xAFve"[..]).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of the [reader](Self#errors). A read that was interrupted is repeated. Returns `InvalidInput`
    /// if a `read` or a `consume` consumed only a part of a character. The next `read` returns the rest of that
    /// character.
    pub fn read_str_chunk(&mut self) -> io::Result<Option<&str>> {
        while !self.text.is_ready()? {
            uninterrupted(|| fill_blocking(&mut self.text, &mut self.inner))?;
        }
        self.text.take_str()
    }
}

impl<R> Utf8Reader<R> {
    /// Returns the lines of the text. A line longer than `max` bytes is an error. The limit applies to the text after a
    /// policy was applied to it. As with [`BufRead::lines`], a line ends with LF or CRLF, and the terminator is not returned.
    /// The last line needs no terminator, and a CR at the end of the input belongs to it.
    ///
    /// ```
    /// use utf8_codec::io::Utf8Reader;
    ///
    /// let mut lines = Utf8Reader::new(&b"one\r\nmuch too long\nthree"[..]).into_bounded_lines(5);
    /// assert_eq!(lines.next().transpose()?.as_deref(), Some("one"));
    /// let error = lines.next().unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "line 2 is longer than 5 bytes");
    /// assert_eq!(lines.next().transpose()?.as_deref(), Some("three"));
    /// assert!(lines.next().is_none());
    /// # std::io::Result::Ok(())
    /// ```
    pub const fn into_bounded_lines(self, max: usize) -> BoundedLines<Self>
    where
        Self: BufRead,
    {
        BoundedLines::new(self, max)
    }
}

/// Repeats a call while it returns `Interrupted`.
pub fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Returns the result of a poll of a blocking writer, which is never pending.
pub fn ready<T>(poll: Poll<io::Result<T>>) -> io::Result<T> {
    match poll {
        Poll::Ready(result) => result,
        Poll::Pending => Err(ErrorKind::WouldBlock.into()),
    }
}

/// Implements `Write` and `finish` for a writer.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_write {
    ($writer:ident) => {
        impl<W: std::io::Write> std::io::Write for $writer<W> {
            fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
                $crate::internal::io::ready(
                    self.text.write(buf, |bytes| core::task::Poll::Ready(self.inner.write(bytes))),
                )
            }

            fn flush(&mut self) -> std::io::Result<()> {
                self.drain()?;
                self.inner.flush()
            }
        }

        impl<W: std::io::Write> $writer<W> {
            /// Ends the text and flushes the inner writer. Every later write is an error of kind `BrokenPipe`.
            ///
            /// # Errors
            ///
            /// Returns `Truncated` if the text ends inside a character and the policy does not
            /// repair it. This error is returned once, after the inner writer was flushed. Errors of the inner writer are
            /// returned unchanged, and the call can be repeated after them.
            pub fn finish(&mut self) -> std::io::Result<()> {
                self.drain()?;
                if self.text.end() {
                    self.drain()?;
                    self.inner.flush()?;
                }
                self.text.closed()
            }

            /// Writes what the inner writer has not accepted yet.
            fn drain(&mut self) -> std::io::Result<()> {
                $crate::internal::io::ready(self.text.drain(|bytes| {
                    core::task::Poll::Ready($crate::internal::io::uninterrupted(|| self.inner.write(bytes)))
                }))
            }
        }
    };
}

impl_write!(Utf8Writer);
