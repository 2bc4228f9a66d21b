//! The formats that contain deflate, with `flate2`.

use alloc::boxed::Box;
use core::fmt;

use flate2::{Decompress, FlushDecompress, Status};

use super::{Inflate, InflateError, Inflated};

/// An inflater of gzip, of zlib's format, or of the messages of `permessage-deflate`.
pub struct Deflate {
    format: Format,
    keeps_window: bool,
    /// `None` before the first input.
    stream: Option<Decompress>,
    at: At,
    /// Whether the message has input.
    is_fed: bool,
    /// The error that the next call returns, because the last one returned the text before it.
    error: Option<InflateError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Gzip,
    Zlib,
    Raw,
}

/// The position in the stream of blocks that `Decompress` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Inside,
    End,
}

/// What the sender removes from the end of a message (RFC 7692 §7.2.1): the lengths of an empty block.
const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];
/// An empty block that is the last one.
const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xFF, 0xFF];

const WINDOW_BITS: u8 = 15;

impl Deflate {
    const fn new(format: Format, keeps_window: bool) -> Self {
        Self { format, keeps_window, stream: None, at: At::Start, is_fed: false, error: None }
    }

    /// Creates an inflater whose messages are in gzip (RFC 1952), each with one or more members.
    pub const fn gzip() -> Self {
        Self::new(Format::Gzip, false)
    }

    /// Creates an inflater whose messages are in zlib's format (RFC 1950), which HTTP and gRPC call `deflate`.
    pub const fn zlib() -> Self {
        Self::new(Format::Zlib, false)
    }

    /// Creates an inflater for one direction of a WebSocket connection with `permessage-deflate` (RFC 7692). The window has
    /// 32 KiB, which is enough for every `max_window_bits`.
    ///
    /// The bytes that the sender removed from the end of a message are added again, and it is an error if they produce
    /// text. A block that is cut off before its data continues in the next message.
    pub const fn permessage() -> Self {
        Self::new(Format::Raw, true)
    }

    /// Sets whether a message may refer to the text of earlier messages. Only [`permessage`](Self::permessage) has this
    /// setting, and its default is `true`. Set `false` if `no_context_takeover` was negotiated for the sender.
    #[must_use]
    pub fn with_context_takeover(mut self, is_kept: bool) -> Self {
        self.keeps_window = is_kept && self.format == Format::Raw;
        self
    }

    /// Returns the stream of blocks, and starts one if none has started. The memory of the last one is reused.
    fn start(&mut self) -> &mut Decompress {
        if self.at != At::Inside {
            if let Some(stream) = &mut self.stream {
                stream.reset(self.format != Format::Raw);
            }
            self.at = At::Inside;
        }
        self.stream.get_or_insert_with(|| match self.format {
            Format::Gzip => Decompress::new_gzip(WINDOW_BITS),
            Format::Zlib => Decompress::new(true),
            Format::Raw => Decompress::new(false),
        })
    }

    /// Reads and writes until the stream of blocks, the input or the space in the output ends.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> (Inflated, Result<(), InflateError>) {
        if self.at == At::End && self.format == Format::Zlib {
            return (Inflated::default(), Err(InflateError::Corrupt));
        }
        let stream = self.start();
        let (read, written) = (stream.total_in(), stream.total_out());
        let result = stream.decompress(input, output, FlushDecompress::None);
        let inflated = Inflated {
            read: (stream.total_in() - read) as usize,
            written: (stream.total_out() - written) as usize,
        };
        match result {
            Ok(Status::StreamEnd) => {
                self.at = At::End;
                (inflated, Ok(()))
            }
            Ok(Status::Ok | Status::BufError) => (inflated, Ok(())),
            Err(_) => (inflated, Err(InflateError::Corrupt)),
        }
    }

    /// Ends a message of `permessage-deflate`.
    fn finish_message(&mut self) -> Result<(), InflateError> {
        if self.at != At::Inside || !self.is_fed {
            return Err(InflateError::Truncated);
        }
        self.end_with(&TAIL)?;
        // If the window is kept, it cannot be tested whether the last block is complete: another block would change the
        // state.
        if !self.keeps_window && self.at != At::End {
            self.end_with(&LAST_BLOCK)?;
            if self.at != At::End {
                return Err(InflateError::Truncated);
            }
        }
        Ok(())
    }

    /// Reads the end of a message, which has no text.
    fn end_with(&mut self, end: &[u8]) -> Result<(), InflateError> {
        let expected = Inflated { read: end.len(), written: 0 };
        match self.step(end, &mut [0]) {
            (inflated, Ok(())) if inflated == expected => Ok(()),
            _ => Err(InflateError::Truncated),
        }
    }
}

impl Inflate for Deflate {
    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<Inflated, InflateError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.is_fed |= !input.is_empty();
        let Inflated { mut read, mut written } = Inflated::default();
        loop {
            if self.at != At::Inside && read == input.len() {
                return Ok(Inflated { read, written });
            }
            let (inflated, result) = self.step(&input[read..], &mut output[written..]);
            read += inflated.read;
            written += inflated.written;
            if let Err(error) = result {
                self.error = Some(error);
                if written == 0 {
                    return Err(error);
                }
                // At least one byte is left unread, so that the caller calls again, for the error, before it has other
                // input.
                return Ok(Inflated { read: read.min(input.len().saturating_sub(1)), written });
            }
            if self.at != At::End || written == output.len() {
                return Ok(Inflated { read, written });
            }
        }
    }

    fn finish(&mut self) -> Result<(), InflateError> {
        let result = match (self.error, self.format) {
            (Some(error), _) => Err(error),
            (None, Format::Raw) => self.finish_message(),
            (None, Format::Gzip | Format::Zlib) if self.at == At::End => Ok(()),
            (None, Format::Gzip | Format::Zlib) => Err(InflateError::Truncated),
        };
        self.error = result.err();
        self.is_fed = false;
        if !self.keeps_window {
            self.at = At::Start;
        }
        result
    }

    fn fresh(&self) -> Box<dyn Inflate> {
        Box::new(Self::new(self.format, self.keeps_window))
    }
}

impl fmt::Debug for Deflate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deflate")
            .field("format", &self.format)
            .field("keeps_window", &self.keeps_window)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}
