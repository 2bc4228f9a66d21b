//! Frames of a blocking reader.

use std::io::{self, Read};

use bytes::BytesMut;
use tokio_util::codec::Decoder;

/// The frames of a file or another blocking reader, decoded by any codec. Each call reads until the next frame is complete.
///
/// An item of the codec may be a `Result` itself. The iterator continues after an error. It ends at the end of the
/// file. If the file grows, `next` can be called again.
///
/// ```
/// use utf8_codec::codec::framing::{BlockingFrames, CriCodec};
///
/// let log = b"2026-11-28T20:00:00Z stdout P gr\xC3\n2026-11-28T20:00:00Z stdout F \xBCn\n";
/// for line in BlockingFrames::new(&log[..], CriCodec::new()) {
///     assert_eq!(line??.text(), "grün".as_bytes());
/// }
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BlockingFrames<R, C> {
    reader: R,
    codec: C,
    buffer: BytesMut,
    is_at_end: bool,
}

/// The number of bytes that are read at once.
const READ: usize = 16 * 1024;

impl<R, C> BlockingFrames<R, C> {
    /// Creates an iterator over the frames of a reader. The reader needs no buffer of its own.
    pub fn new(reader: R, codec: C) -> Self {
        Self { reader, codec, buffer: BytesMut::new(), is_at_end: false }
    }

    inner_accessors!(codec: C, "codec", "");
}

impl<R: Read, C> BlockingFrames<R, C> {
    /// Returns whether the file has ended.
    fn fill(&mut self) -> io::Result<bool> {
        let length = self.buffer.len();
        self.buffer.resize(length + READ, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(length + read.as_ref().map_or(0, |&read| read));
        read.map(|read| read == 0)
    }
}

impl<R: Read, C: Decoder> Iterator for BlockingFrames<R, C> {
    type Item = Result<C::Item, C::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let decoded = match self.is_at_end {
                false => self.codec.decode(&mut self.buffer),
                true => self.codec.decode_eof(&mut self.buffer),
            };
            if let Some(frame) = decoded.transpose() {
                return Some(frame);
            }
            if self.is_at_end {
                self.is_at_end = false;
                return None;
            }
            match self.fill() {
                Ok(is_at_end) => self.is_at_end = is_at_end,
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}
