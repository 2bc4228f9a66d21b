//! A reader and a writer of text in another encoding.

use core::task::{Poll, ready};
use std::io::{self, BufRead};

use pin_project_lite::pin_project;
use utf8_codec::internal::io as parts;
use utf8_codec::internal::io::{Input, ReadState};
use utf8_codec::io::BoundedLines;

use crate::error::TranscodeError;
use crate::{Encoding, TranscodeStatus, Transcoder};

pin_project! {
    /// A reader that converts the bytes of another reader from one encoding to another.
    ///
    /// It implements the traits that the inner reader implements: `Read` and `BufRead` of std, `AsyncRead` and
    /// `AsyncBufRead` of tokio (feature `tokio-io`) or of futures-io (feature `futures-io`). `lines()`,
    /// `read_to_string()` and `copy()` work as on any reader. It has a buffer, so neither it nor the inner reader needs
    /// a `BufReader`. `AsyncWrite` is passed through to the inner stream unchanged.
    ///
    /// ```
    /// use std::io::BufRead;
    /// use utf8_codec_encodings::io::TranscodeReader;
    /// use utf8_codec_encodings::Encoding;
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
    /// Same as for [`Utf8Reader`](utf8_codec::io::Utf8Reader#errors), with the policies of the transcoder. Offsets
    /// count from the start of the input.
    ///
    /// # Limits
    ///
    /// The reader uses 16 KiB of memory. The other limits, and the cancel safety, are the same as for
    /// [`Utf8Reader`](utf8_codec::io::Utf8Reader#limits).
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
        &self.text.transcoder
    }

    utf8_codec::io_accessors!(
        R,
        "inner reader",
        "Bytes that are read from it directly are missing from the text.",
        "Bytes that were read from it but not returned are lost: see [`into_parts`](Self::into_parts)."
    );

    /// Returns the inner reader, the transcoder, the text that was not returned, and the bytes that were read and not
    /// converted. The transcoder holds none of these bytes: it continues at the first of them.
    pub fn into_parts(self) -> (R, Transcoder, Vec<u8>, Vec<u8>) {
        let Converting { mut transcoder, input, output, .. } = self.text;
        let rest = [transcoder.pending(), input.as_slice()].concat();
        transcoder.give_back();
        (self.inner, transcoder, output.as_slice().to_vec(), rest)
    }

    /// Converts this reader into an iterator over the lines of its text, which must be UTF-8. `max` is the maximum number
    /// of bytes of a line as UTF-8, without its LF or CRLF.
    pub const fn into_bounded_lines(self, max: usize) -> BoundedLines<Self>
    where
        Self: BufRead,
    {
        BoundedLines::new(self, max)
    }
}

/// The state of a reader: the input that is not transcoded yet, and the output that is not returned yet.
#[derive(Debug)]
pub(super) struct Converting {
    transcoder: Transcoder,
    input: Input,
    output: Input,
    /// Whether the transcoder has a part of a replacement that did not fit in the output.
    is_full: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The input has ended. The transcoder is not finished yet.
    Ended,
    /// The error is returned after the output before it.
    Failed(TranscodeError),
    Done,
}

impl Converting {
    const fn new(transcoder: Transcoder) -> Self {
        Self { transcoder, input: Input::NEW, output: Input::NEW, is_full: false, state: State::Open }
    }
}

impl ReadState for Converting {
    fn input(&mut self) -> &mut Input {
        &mut self.input
    }

    fn is_ready(&mut self) -> io::Result<bool> {
        while self.output.as_slice().is_empty() {
            let progress = match self.state {
                State::Open if self.input.as_slice().is_empty() && !self.is_full => return Ok(false),
                State::Open => self.transcoder.feed_into_slice(self.input.as_slice(), self.output.space()),
                State::Ended => self.transcoder.finish_into_slice(self.output.space()),
                State::Failed(error) => {
                    self.state = State::Done;
                    return Err(error.into());
                }
                State::Done => break,
            };
            self.input.from += progress.read;
            self.output.to += progress.written;
            self.is_full = progress.status == TranscodeStatus::OutputFull;
            match progress.status {
                TranscodeStatus::InputEmpty if self.state == State::Ended => self.state = State::Done,
                TranscodeStatus::InputEmpty | TranscodeStatus::OutputFull => {}
                TranscodeStatus::IllFormed(error) => self.state = State::Failed(error),
            }
        }
        Ok(true)
    }

    fn text(&self) -> &[u8] {
        self.output.as_slice()
    }

    fn consume(&mut self, bytes: usize) {
        self.output.take(bytes);
    }

    fn end(&mut self) {
        self.state = State::Ended;
    }
}

pin_project! {
    /// A writer that converts bytes from one encoding to another before it forwards them to another writer.
    ///
    /// It implements the traits that the inner writer implements: `Write` of std, `AsyncWrite` of tokio (feature
    /// `tokio-io`) or of futures-io (feature `futures-io`). The input may be split at every byte.
    ///
    /// ```
    /// use std::io::Write;
    /// use utf8_codec_encodings::io::TranscodeWriter;
    /// use utf8_codec_encodings::Encoding;
    ///
    /// let mut out = TranscodeWriter::new(Vec::new(), Encoding::Utf16Le);
    /// write!(out, "grün")?;
    /// out.finish()?;
    /// assert_eq!(out.into_inner(), b"g\0r\0\xFC\0n\0");
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Flush and the end of the text
    ///
    /// Output that the inner writer does not accept at once is kept, at most 8 KiB. The next call writes it; `flush` writes
    /// all of it. An unfinished sequence stays in the transcoder, and so does the state of ISO-2022-JP. Only
    /// [`finish`](Self::finish), or `shutdown` of the async traits (`close` in futures-io), ends the text.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) for the first sequence that the policies of the
    /// transcoder do not repair, after all text before it was forwarded.
    /// [`TranscodeError::find`](crate::TranscodeError::find) returns the [`TranscodeError`](crate::TranscodeError)
    /// inside, with its offset in the input. Every later write returns the same error. An error at the end of the text
    /// is returned once, by `finish` or `shutdown`, and so is the error of a write that was dropped.
    ///
    /// Errors of the inner writer are returned unchanged, some by the call after the one that caused them. Writing can
    /// continue after them.
    ///
    /// # Cancel safety
    ///
    /// All state is in the writer. If an async `write()` is dropped before it returns, none of its bytes were accepted,
    /// unless one of them made a sequence ill-formed that no policy repairs: the text before it is then forwarded, and the
    /// error is returned by the next call.
    #[derive(Debug)]
    pub struct TranscodeWriter<W> {
        #[pin]
        pub(super) inner: W,
        pub(super) text: ConvertingOutput,
    }
}

impl<W> TranscodeWriter<W> {
    /// Creates a strict writer to `inner`, which is in `encoding`. Its input is UTF-8, and the BOM is kept.
    pub const fn new(inner: W, encoding: Encoding) -> Self {
        Self::with_transcoder(inner, Transcoder::new(Encoding::Utf8, encoding))
    }

    /// Creates a writer to `inner` with the encodings and the policies of `transcoder`.
    pub const fn with_transcoder(inner: W, transcoder: Transcoder) -> Self {
        Self { inner, text: ConvertingOutput::new(transcoder) }
    }

    /// Returns the transcoder, with its counters and its offset.
    pub const fn transcoder(&self) -> &Transcoder {
        &self.text.transcoder
    }

    utf8_codec::io_accessors!(
        W,
        "inner writer",
        "Bytes that are written to it directly may be inserted before text that was written earlier.",
        "Bytes that were not forwarded yet are lost."
    );
}

/// The state of a writer: the output that the inner writer has not accepted yet.
#[derive(Debug)]
pub(super) struct ConvertingOutput {
    transcoder: Transcoder,
    output: Input,
    state: parts::State<TranscodeError>,
    /// An error of the inner writer that the call that caused it could not return, because it had accepted bytes.
    late: Option<io::Error>,
}

impl ConvertingOutput {
    const fn new(transcoder: Transcoder) -> Self {
        Self { transcoder, output: Input::NEW, state: parts::State::Open, late: None }
    }

    /// Accepts bytes from the caller and writes output with `inner`. Returns the number of bytes accepted.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        // Output is written first, even if an error is returned next.
        ready!(self.drain(&mut inner))?;
        self.state.check_open()?;
        let progress = self.transcoder.feed_into_slice(bytes, self.output.space());
        self.output.to += progress.written;
        if let TranscodeStatus::IllFormed(error) = progress.status {
            self.state = parts::State::Failing(error);
            ready!(self.drain(&mut inner))?;
            self.state = parts::State::Failed(error);
            return Poll::Ready(Err(error.into()));
        }
        // The bytes are accepted. If the output is not, the next call tries again.
        if let Poll::Ready(Err(error)) = self.drain(&mut inner)
            && !matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
        {
            self.late = Some(error);
        }
        Poll::Ready(Ok(progress.read))
    }

    /// Writes the output with `inner`, or returns the error of an earlier call.
    pub(super) fn drain(
        &mut self,
        inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        if let Some(error) = self.late.take() {
            return Poll::Ready(Err(error));
        }
        parts::drain(&mut self.output, Input::as_slice, Input::take, inner)
    }

    /// Ends the text. The caller has called [`drain`](Self::drain) before, and calls it again if the result is `true`.
    /// Returns whether the inner writer must still be shut down.
    pub(super) fn end(&mut self) -> bool {
        let Self { transcoder, output, state, .. } = self;
        state.end(|| {
            let mut first = None;
            loop {
                // There is room for the output of an unfinished sequence.
                let progress = transcoder.finish_into_slice(output.space());
                output.to += progress.written;
                match progress.status {
                    TranscodeStatus::IllFormed(error) => first = first.or(Some(error)),
                    TranscodeStatus::InputEmpty | TranscodeStatus::OutputFull => return first,
                }
            }
        })
    }

    /// [`State::closed`](parts::State::closed).
    pub(super) fn closed(&mut self) -> io::Result<()> {
        self.state.closed()
    }
}

utf8_codec::impl_read!(TranscodeReader);
utf8_codec::impl_write!(TranscodeWriter);

#[cfg(feature = "tokio-io")]
mod tokio {
    use tokio::io as tokio_io;
    use utf8_codec::internal::io::ReadState;

    use super::{TranscodeReader, TranscodeWriter};

    utf8_codec::impl_tokio_traits!(tokio_io, TranscodeReader, TranscodeWriter);
}

#[cfg(feature = "futures-io")]
utf8_codec::impl_futures_traits!(futures_io, TranscodeReader, TranscodeWriter);
