//! Codec for the log files of containers.

use core::fmt;
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;
use tokio_util::codec::Decoder;

use super::error::FramingError;
use crate::error::ByteCount;

/// A codec for the logs that a container runtime writes for Kubernetes (`/var/log/pods`): the [CRI log
/// format](https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md), read only.
///
/// A record is a line of `TIME STREAM TAG TEXT`. containerd and CRI-O cut a line of the container after 16 KiB, at any
/// byte: the tag is `F` for the last part and `P` for the others. The codec joins the parts as bytes, so a character that
/// was cut is whole again. The parts of stdout and stderr alternate in a file, and are joined separately. The text is
/// not validated: see the recipe [Container
/// logs](https://github.com/utf8-codec/utf8-codec/blob/main/docs/recipes.md#container-logs).
/// [`Utf8FramesCodec`](crate::codec::Utf8FramesCodec) over this codec returns the text alone.
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::Decoder;
/// use utf8_codec::codec::framing::{CriCodec, CriStream};
///
/// let mut codec = CriCodec::new();
/// let mut log = BytesMut::from(
///     &b"2026-11-28T20:00:00.1Z stdout P gr\xC3\n\
///        2026-11-28T20:00:00.2Z stderr F warning\n\
///        2026-11-28T20:00:00.3Z stdout F \xBCn\n"[..],
/// );
/// let warning = codec.decode(&mut log)?.unwrap()?;
/// assert_eq!((warning.stream(), warning.text()), (CriStream::Stderr, &b"warning"[..]));
/// let line = codec.decode(&mut log)?.unwrap()?;
/// assert_eq!((line.time(), line.text()), ("2026-11-28T20:00:00.1Z", "grün".as_bytes()));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`FramingError::InvalidRecord`] for a line that is not a record. It is skipped.
/// - [`FramingError::FrameTooLong`] for a line of the container that is longer than the limit. It is reported once,
///   even if its end has not arrived, and skipped up to the end of its last part.
///
/// The codec continues after both. At the end of the file, lines without their last part are returned as they are,
/// stdout first: [`is_whole`](CriLine::is_whole) is `false`. Log rotation also ends a file between two parts. Chain the
/// files to join them.
#[derive(Clone, Debug)]
pub struct CriCodec {
    max_length: usize,
    /// The absolute offset of the front of the buffer.
    offset: u64,
    /// The number of bytes at the front of the buffer that contain no LF.
    searched: usize,
    state: State,
    stdout: Parts,
    stderr: Parts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of a record.
    Record,
    /// In the rest of a record that is discarded.
    Discard,
}

/// The parts of a line so far.
#[derive(Clone, Debug)]
enum Parts {
    None,
    Joined(Joined),
    /// The line was reported as too long. Its other parts are discarded.
    TooLong,
}

#[derive(Clone, Debug)]
struct Joined {
    /// As in [`CriLine`].
    record: BytesMut,
    header: Header,
    offset: u64,
}

/// A line that a container wrote.
///
/// `Debug` shows the length of the text, not the text.
#[derive(Clone, PartialEq, Eq)]
pub struct CriLine {
    /// The fields of the first record before the text, and the text of all parts.
    record: Bytes,
    header: Header,
    offset: u64,
    is_whole: bool,
}

/// The stream of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CriStream {
    /// `stdout`.
    Stdout,
    /// `stderr`.
    Stderr,
}

/// The fields of a record before its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    /// The length of the time in bytes.
    time: u8,
    /// The offset of the text.
    text: u8,
    stream: CriStream,
    is_last: bool,
}

/// The limit of the fields before the text in bytes. A time has 35 bytes.
const MAX_HEADER: usize = 128;

default_is_new!(CriCodec);

impl CriCodec {
    /// The default limit of a line: 1 MiB.
    pub const DEFAULT_MAX_LENGTH: usize = 1024 * 1024;

    /// Creates a codec with the default limit.
    #[inline]
    pub const fn new() -> Self {
        Self {
            max_length: Self::DEFAULT_MAX_LENGTH,
            offset: 0,
            searched: 0,
            state: State::Record,
            stdout: Parts::None,
            stderr: Parts::None,
        }
    }

    /// Sets the limit of the text of a line, all parts together, in bytes. One such text is held for each stream.
    #[must_use]
    #[inline]
    pub fn with_max_length(self, bytes: usize) -> Self {
        Self { max_length: bytes, ..self }
    }

    /// Returns the absolute offset, in bytes, up to which the file was read or discarded.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    #[inline]
    fn parts(&mut self, stream: CriStream) -> &mut Parts {
        match stream {
            CriStream::Stdout => &mut self.stdout,
            CriStream::Stderr => &mut self.stderr,
        }
    }

    /// Removes a record from the front of `src`, or the part of it that has arrived. It has `length` bytes and
    /// `terminator` bytes after them.
    #[inline]
    fn take(&mut self, src: &mut BytesMut, length: usize, terminator: usize) -> BytesMut {
        let mut record = src.split_to(length + terminator);
        record.truncate(length);
        self.offset = self.offset.wrapping_add((length + terminator) as u64);
        self.searched = 0;
        record
    }

    #[inline]
    fn next(&mut self, src: &mut BytesMut) -> Result<Option<CriLine>, FramingError> {
        loop {
            let found = src.get(self.searched..).and_then(|rest| memchr(b'\n', rest));
            let length = found.map_or(src.len(), |at| self.searched + at);
            let terminator = usize::from(found.is_some());
            if self.state == State::Discard {
                drop(self.take(src, length, terminator));
                if found.is_none() {
                    return Ok(None);
                }
                self.state = State::Record;
                continue;
            }
            let header = match Header::parse(&src[..length]) {
                Parsed::Header(header) => header,
                Parsed::Unfinished if found.is_none() => {
                    self.searched = length;
                    return Ok(None);
                }
                Parsed::Unfinished | Parsed::Invalid => return Err(self.invalid(src, length, terminator)),
            };
            let max_length = self.max_length;
            let text = length - usize::from(header.text);
            let offset = self.offset;
            let parts = self.parts(header.stream);
            let joined = match parts {
                Parts::None => 0,
                Parts::Joined(line) => line.record.len() - usize::from(line.header.text),
                Parts::TooLong => {
                    if header.is_last {
                        *parts = Parts::None;
                    }
                    self.state = State::Discard;
                    continue;
                }
            };
            if text > max_length.saturating_sub(joined) {
                let start = if let Parts::Joined(line) = parts { line.offset } else { offset };
                *parts = if header.is_last { Parts::None } else { Parts::TooLong };
                self.state = State::Discard;
                debug!(offset = start, limit = max_length, "frame too long");
                return Err(FramingError::FrameTooLong { offset: start, limit: max_length });
            }
            if found.is_none() {
                self.searched = length;
                return Ok(None);
            }
            let record = self.take(src, length, 1);
            if let Some(line) = self.join(record, header, offset) {
                return Ok(Some(line));
            }
        }
    }

    /// Returns the line if the record is its last part.
    #[inline]
    fn join(&mut self, record: BytesMut, header: Header, offset: u64) -> Option<CriLine> {
        let max_length = self.max_length;
        let parts = self.parts(header.stream);
        if let Parts::Joined(line) = parts {
            line.record.extend_from_slice(&record[header.text.into()..]);
            return if header.is_last { parts.take(true) } else { None };
        }
        if header.is_last {
            return Some(CriLine { record: record.freeze(), header, offset, is_whole: true });
        }
        // Copied, so that the parts do not keep the read buffer alive. The copy has room for more parts.
        let most = max_length.saturating_add(header.text.into());
        let mut joined = BytesMut::with_capacity(record.len().saturating_mul(4).min(most));
        joined.extend_from_slice(&record);
        *parts = Parts::Joined(Joined { record: joined, header, offset });
        None
    }

    #[cold]
    fn invalid(&mut self, src: &mut BytesMut, length: usize, terminator: usize) -> FramingError {
        let offset = self.offset;
        drop(self.take(src, length, terminator));
        if terminator == 0 {
            self.state = State::Discard;
        }
        FramingError::InvalidRecord { offset }
    }

    /// Returns the parts of a line at the end of the file.
    fn rest(&mut self) -> Option<CriLine> {
        self.stdout.take(false).or_else(|| self.stderr.take(false))
    }
}

impl Decoder for CriCodec {
    type Item = Result<CriLine, FramingError>;
    type Error = io::Error;

    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        Ok(self.next(src).transpose())
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let decoded = self.next(src);
        if self.state == State::Discard && memchr(b'\n', src).is_none() {
            // The record that is being discarded ends with the file.
            drop(self.take(src, src.len(), 0));
            self.state = State::Record;
        }
        if let Some(item) = decoded.transpose() {
            return Ok(Some(item));
        }
        if !src.is_empty() {
            // The runtime has not written all of the record.
            let length = src.len();
            let offset = self.offset;
            let Parsed::Header(header) = Header::parse(src) else {
                drop(self.take(src, length, 0));
                return Ok(Some(Err(FramingError::InvalidRecord { offset })));
            };
            let record = self.take(src, length, 0);
            let joined = self.join(record, Header { is_last: false, ..header }, offset);
            debug_assert!(joined.is_none(), "it is not the last part");
        }
        Ok(self.rest().map(Ok))
    }
}

/// The fields at the start of a record, or of the part of it that has arrived.
enum Parsed {
    Header(Header),
    Invalid,
    Unfinished,
}

impl Header {
    #[inline]
    fn parse(record: &[u8]) -> Parsed {
        let start = &record[..record.len().min(MAX_HEADER)];
        let no_end = if start.len() < MAX_HEADER { Parsed::Unfinished } else { Parsed::Invalid };
        let Some(time) = memchr(b' ', start) else { return no_end };
        let stream = match start[time + 1..] {
            [b's', b't', b'd', b'o', b'u', b't', b' ', ..] => CriStream::Stdout,
            [b's', b't', b'd', b'e', b'r', b'r', b' ', ..] => CriStream::Stderr,
            ref rest if b"stdout ".starts_with(rest) || b"stderr ".starts_with(rest) => return no_end,
            _ => return Parsed::Invalid,
        };
        // More tags may follow after a colon. None is defined.
        let tags = time + 8;
        let is_last = match start[tags..] {
            [b'F', b' ' | b':', ..] => true,
            [b'P', b' ' | b':', ..] => false,
            [] | [b'F' | b'P'] => return no_end,
            _ => return Parsed::Invalid,
        };
        let Some(tags_end) = start[tags..].iter().position(|&byte| byte == b' ') else { return no_end };
        if time == 0 || !start[..time].is_ascii() {
            return Parsed::Invalid;
        }
        Parsed::Header(Self { time: time as u8, text: (tags + tags_end + 1) as u8, stream, is_last })
    }
}

impl CriLine {
    /// Returns the time of the first part, as it was written.
    #[inline]
    pub fn time(&self) -> &str {
        // The time is ASCII, so this does not fail.
        core::str::from_utf8(&self.record[..self.header.time.into()]).unwrap_or_default()
    }

    /// Returns the stream.
    #[inline]
    pub const fn stream(&self) -> CriStream {
        self.header.stream
    }

    /// Returns the text without its terminator.
    #[inline]
    pub fn text(&self) -> &[u8] {
        &self.record[self.header.text.into()..]
    }

    /// Returns the offset in the file of the first record of the line.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the last part of the line was read. If not, the text may end inside a character.
    #[inline]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }
}

impl Parts {
    /// Ends the line. Returns the parts of it.
    fn take(&mut self, is_whole: bool) -> Option<CriLine> {
        match core::mem::replace(self, Self::None) {
            Self::Joined(Joined { record, header, offset }) => {
                Some(CriLine { record: record.freeze(), header, offset, is_whole })
            }
            Self::None | Self::TooLong => None,
        }
    }
}

/// Returns the text.
impl From<CriLine> for Bytes {
    #[inline]
    fn from(line: CriLine) -> Self {
        let mut text = line.record;
        text.advance(line.header.text.into());
        text
    }
}

impl fmt::Debug for CriLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CriLine")
            .field("time", &self.time())
            .field("stream", &self.header.stream)
            .field("text", &format_args!("{}", ByteCount(self.text().len())))
            .field("offset", &self.offset)
            .field("is_whole", &self.is_whole)
            .finish()
    }
}

impl fmt::Display for CriStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}
