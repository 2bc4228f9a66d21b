//! A reader of text in another encoding.

use std::io::{self, BufRead};

use super::lines::BoundedLines;
use super::pin_project;
use super::reader::{Input, ReadState};
use crate::error::Utf8Error;
use crate::transcode::{Encoding, Status, Transcoder};

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
    /// As for [`Utf8Reader`](super::Utf8Reader#errors), with the policies of the transcoder. The offset is that in the input.
    ///
    /// # Limits
    ///
    /// The reader uses 16 KiB of memory. The other limits, and the cancel safety, are those of
    /// [`Utf8Reader`](super::Utf8Reader#limits).
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
    Failed(Utf8Error),
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
            self.is_full = progress.status == Status::OutputFull;
            match progress.status {
                Status::InputEmpty if self.state == State::Ended => self.state = State::Done,
                Status::InputEmpty | Status::OutputFull => {}
                Status::IllFormed(error) => self.state = State::Failed(error),
            }
        }
        Ok(true)
    }

    fn text(&self) -> &[u8] {
        self.output.as_slice()
    }

    fn consume(&mut self, bytes: usize) {
        self.output.from += bytes.min(self.text().len());
    }

    fn end(&mut self) {
        self.state = State::Ended;
    }
}
