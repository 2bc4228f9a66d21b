//! The state of a reader that transcodes, for the traits of every runtime.

use std::io;

use super::reading::Input;
use crate::error::Utf8Error;
use crate::transcode::{Status, Transcoder};

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
    pub(super) const fn new(transcoder: Transcoder) -> Self {
        Self { transcoder, input: Input::NEW, output: Input::NEW, is_full: false, state: State::Open }
    }

    pub(super) const fn transcoder(&self) -> &Transcoder {
        &self.transcoder
    }

    /// Transcodes input until there is output. Returns whether there is, or whether the text has ended. If not, more input
    /// is needed.
    pub(super) fn is_ready(&mut self) -> io::Result<bool> {
        while self.output.as_slice().is_empty() {
            let progress = match self.state {
                State::Open if self.input.as_slice().is_empty() && !self.is_full => return Ok(false),
                State::Open => self.transcoder.feed_into_slice(self.input.as_slice(), self.output.space()),
                State::Ended => self.transcoder.finish_into_slice(self.output.space()),
                State::Failed(error) => {
                    self.state = State::Done;
                    return Err(error.into());
                }
                State::Done => return Ok(true),
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

    /// Returns the free space for input, never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// Counts bytes that were read into [`space`](Self::space). 0 means the end of the input.
    pub(super) fn filled(&mut self, bytes: usize) -> io::Result<()> {
        self.input.fill(bytes)?;
        if bytes == 0 {
            self.state = State::Ended;
        }
        Ok(())
    }

    pub(super) fn output(&self) -> &[u8] {
        self.output.as_slice()
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.output.from += bytes.min(self.output.as_slice().len());
    }

    /// Moves output into `buf`. Returns the number of bytes.
    pub(super) fn take(&mut self, buf: &mut [u8]) -> usize {
        let bytes = buf.len().min(self.output().len());
        buf[..bytes].copy_from_slice(&self.output()[..bytes]);
        self.consume(bytes);
        bytes
    }
}
