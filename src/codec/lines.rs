//! Text in lines.

use bytes::{Buf, BufMut, BytesMut};
use bytestring::ByteString;
use memchr::{memchr, memchr2, memrchr, memrchr2};
use tokio_util::codec::{Decoder, Encoder};

use super::batches::Utf8LineBatchesCodec;
use super::error::CodecError;
use super::{checked, decode_frame, is_good};
use crate::policy::Ascii;
use crate::text::{Counters, TextDecoder};

/// What ends a line. No Unicode separator (U+0085, U+2028, U+2029) ever does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LineEnding {
    /// LF, with a CR before it taken as part of it: what `str::lines` and tokio's `LinesCodec` do. Written as LF.
    #[default]
    LfOrCrLf,
    /// LF and nothing else. A CR before it belongs to the line.
    Lf,
    /// CRLF and nothing else, as in SMTP. A CR or an LF alone belongs to the line.
    CrLf,
    /// LF, CRLF or CR, as in server-sent events. A CR ends its line at once; an LF that follows it, in this read or
    /// in a later one, is part of it. Written as LF.
    Any,
    /// This byte and no other: texts between NULs, JSON texts between record separators (RFC 7464). It is ASCII, so
    /// it is never inside a character.
    Ascii(Ascii),
}

/// The longest terminator.
pub(super) const MAX_TERMINATOR: usize = 2;

impl LineEnding {
    /// The first terminator in `src`, whose first `searched` bytes hold the start of none: where it starts, and its
    /// length.
    #[inline]
    pub(super) fn find(self, src: &[u8], searched: usize) -> Option<(usize, usize)> {
        let mut from = searched;
        loop {
            let rest = src.get(from..)?;
            let at = from
                + match self {
                    Self::Any => memchr2(b'\n', b'\r', rest),
                    _ => memchr(self.last_byte(), rest),
                }?;
            let after_cr = at > 0 && src[at - 1] == b'\r';
            match self {
                Self::LfOrCrLf | Self::CrLf if after_cr => return Some((at - 1, 2)),
                Self::CrLf => from = at + 1,
                Self::Any if src[at] == b'\r' && src.get(at + 1) == Some(&b'\n') => return Some((at, 2)),
                _ => return Some((at, 1)),
            }
        }
    }

    /// The end of the last terminator in `src`.
    pub(super) fn find_last(self, src: &[u8]) -> Option<usize> {
        let at = match self {
            Self::Any => memrchr2(b'\n', b'\r', src),
            _ => memrchr(self.last_byte(), src),
        }?;
        if self != Self::CrLf || src[..at].ends_with(b"\r") {
            return Some(at + 1);
        }
        // Byte by byte: a peer can send nothing but LFs, and a call of `memrchr` for each would take longer.
        src[..at].windows(2).rposition(|pair| pair == b"\r\n").map(|at| at + 2)
    }

    /// What every terminator ends with, but for a CR under [`LineEnding::Any`].
    pub(super) const fn last_byte(self) -> u8 {
        match self {
            Self::Ascii(byte) => byte.get(),
            _ => b'\n',
        }
    }

    /// Bytes at the end of `src`, in which there is no terminator, that may be the start of one.
    fn may_start(self, src: &[u8]) -> usize {
        match self {
            Self::LfOrCrLf | Self::CrLf => usize::from(src.ends_with(b"\r")),
            Self::Lf | Self::Any | Self::Ascii(_) => 0,
        }
    }

    /// Where in `line` a peer would read a terminator, the one that will be written after it taken into account.
    #[inline]
    fn embedded(self, line: &[u8]) -> Option<usize> {
        match self {
            Self::Lf | Self::Ascii(_) => find(self.last_byte(), line),
            Self::LfOrCrLf => find(b'\n', line).or_else(|| line.ends_with(b"\r").then(|| line.len() - 1)),
            // A bare CR or LF is legal in the frame, but peers disagree on what it means (SMTP smuggling).
            Self::CrLf | Self::Any => memchr2(b'\n', b'\r', line),
        }
    }

    #[inline]
    fn write(self, dst: &mut BytesMut) {
        if self == Self::CrLf {
            dst.put_u8(b'\r');
        }
        dst.put_u8(self.last_byte());
    }
}

/// `memchr` for a line to be written: most are short and hold none, and to see that takes less than the call. Blocks
/// that overlap, as many for every length: nobody could foresee where to stop.
#[inline]
fn find(byte: u8, line: &[u8]) -> Option<usize> {
    const BLOCK: usize = 16;
    const BLOCKS: usize = 8;
    let is_there = |at: usize| {
        let block = line.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>());
        block.is_none_or(|block| block.iter().fold(false, |any, &o| any | (o == byte)))
    };
    if (BLOCK..=BLOCKS * BLOCK).contains(&line.len()) {
        let last = line.len() - BLOCK;
        if !(0..BLOCKS).fold(false, |any, i| any | is_there(last.min(i * BLOCK))) {
            return None;
        }
    }
    memchr(byte, line)
}

/// A codec for lines of text. An item is one line without its terminator, cut out of the read buffer without a copy
/// unless something in it was repaired, a BOM was looked for in it, or a [subset](TextDecoder::subset) is adopted.
///
/// # Limits
///
/// A line may have [`DEFAULT_MAX_LENGTH`](Self::DEFAULT_MAX_LENGTH) bytes unless [`max_length`](Self::max_length)
/// says otherwise. **Without a limit a peer that never sends a terminator makes the read buffer grow until memory is
/// gone**, one connection at a time or a thousand at once. The limit counts the line, not its terminator. A line
/// that is too long is told once, as soon as that is known, and discarded in constant memory up to its terminator;
/// the lines after it are read as if nothing had been.
///
/// # Errors
///
/// One for each line that the policy does not repair, when its terminator has come: its first ill-formed sequence,
/// with the whole line in `rejected`. The codec then stands after the line. `FramedRead` ends at an `Err`: wrap the
/// codec in [`ErrorsAsItems`](crate::codec::ErrorsAsItems). The last line of a stream needs no terminator; one that ends
/// inside a sequence is [`Truncated`](crate::ErrorKind::Truncated).
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::{Decoder, Encoder};
/// use utf8_codec::codec::Utf8LinesCodec;
///
/// let mut codec = Utf8LinesCodec::new();
/// let mut buffer = BytesMut::from("gr\u{FC}n\r\nro");
/// assert_eq!(codec.decode(&mut buffer)?.as_deref(), Some("grün"));
/// assert_eq!(codec.decode(&mut buffer)?, None);
///
/// codec.encode("blau", &mut buffer)?;
/// assert_eq!(&buffer[..], b"roblau\n");
/// assert!(codec.encode("two\nlines", &mut buffer).is_err());
/// # Ok::<(), utf8_codec::codec::CodecError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8LinesCodec {
    pub(super) text: TextDecoder,
    pub(super) ending: LineEnding,
    pub(super) max_length: MaxLength,
    /// Bytes at the front of the buffer in which no terminator starts. A wrong number (a caller changed the buffer)
    /// costs a late line, never a line that is not text.
    pub(super) searched: usize,
    state: State,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MaxLength(pub(super) usize);

impl Default for MaxLength {
    fn default() -> Self {
        Self(Utf8LinesCodec::DEFAULT_MAX_LENGTH)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Line,
    /// After a CR under [`LineEnding::Any`]: an LF here is the rest of its terminator.
    AfterCr,
    /// In a line that was told to be too long.
    Discard,
}

impl Utf8LinesCodec {
    /// 64 KiB.
    pub const DEFAULT_MAX_LENGTH: usize = 64 * 1024;

    /// A strict codec with the default limit that keeps the BOM.
    pub fn new() -> Self {
        Self::default()
    }

    /// A codec with the policies of `text`.
    pub fn with_decoder(text: TextDecoder) -> Self {
        Self { text, ..Self::default() }
    }

    /// Sets how many bytes a line may have. `usize::MAX` is no limit: read the attack above first.
    #[must_use]
    pub fn max_length(self, bytes: usize) -> Self {
        Self { max_length: MaxLength(bytes), ..self }
    }

    /// Sets what ends a line.
    #[must_use]
    pub fn ending(self, ending: LineEnding) -> Self {
        Self { ending, ..self }
    }

    /// Gives all complete lines that the buffer holds as one item, from here on: [`Utf8LineBatchesCodec`].
    pub const fn batches(self) -> Utf8LineBatchesCodec {
        Utf8LineBatchesCodec::new(self)
    }

    /// Absolute position in the stream, in bytes, of the end of what was given out, reported or discarded.
    pub const fn offset(&self) -> u64 {
        self.text.offset()
    }

    /// Ill-formed sequences met so far; in a line that is refused, only the first one.
    pub const fn counters(&self) -> Counters {
        self.text.counters()
    }

    /// Leaves out bytes that are no part of any line.
    fn discard(&mut self, src: &mut BytesMut, bytes: usize) {
        src.advance(bytes);
        self.text.seek(self.text.offset().wrapping_add(bytes as u64));
        self.searched = 0;
    }

    /// The line at the front of `src`, once it is known where it ends. There is one: what [`Decoder::decode`] gives is
    /// written where it wants it, since to move it costs as much as to validate the line.
    #[inline]
    pub(super) fn take(
        &mut self,
        src: &mut BytesMut,
        length: usize,
        terminator: usize,
    ) -> Result<Option<ByteString>, CodecError> {
        trace!(offset = self.offset(), length, terminator, "decoding line");
        self.lines_end(&src[..length + terminator]);
        if length <= self.max_length.0 && is_good(&mut self.text, &src[..length + terminator]) {
            // One count of references, not two.
            let line = src.split_to(length);
            src.advance(terminator);
            return Ok(Some(checked(line.freeze())));
        }
        self.judge(src, length, terminator).map(Some)
    }

    /// A line that is too long, or in which a policy has a say.
    #[cold]
    fn judge(
        &mut self,
        src: &mut BytesMut,
        length: usize,
        terminator: usize,
    ) -> Result<ByteString, CodecError> {
        if length > self.max_length.0 {
            let error = self.too_long();
            self.discard(src, length + terminator);
            return Err(error);
        }
        decode_frame(&mut self.text, src.split_to(length + terminator).freeze(), terminator)
            .map_err(|(error, rejected)| CodecError::IllFormed { error, rejected })
    }

    /// The bytes, which are about to be taken, end with a line.
    #[inline]
    pub(super) fn lines_end(&mut self, bytes: &[u8]) {
        self.searched = 0;
        let after_cr = self.ending == LineEnding::Any && bytes.ends_with(b"\r");
        self.state = if after_cr { State::AfterCr } else { State::Line };
    }

    /// Leaves out what is left of an earlier line; whether `src` starts with a line then.
    #[inline]
    pub(super) fn start_line(&mut self, src: &mut BytesMut) -> bool {
        self.state == State::Line || self.go_on(src)
    }

    #[cold]
    fn go_on(&mut self, src: &mut BytesMut) -> bool {
        if self.state == State::AfterCr && !src.is_empty() {
            self.state = State::Line;
            if src.starts_with(b"\n") {
                self.discard(src, 1);
            }
        }
        if self.state == State::Discard {
            let Some((length, terminator)) = self.ending.find(src, self.searched) else {
                let kept = self.ending.may_start(src);
                self.discard(src, src.len() - kept);
                return false;
            };
            self.lines_end(&src[..length + terminator]);
            self.discard(src, length + terminator);
        }
        true
    }

    /// There is no terminator in `src`.
    pub(super) fn await_terminator(&mut self, src: &mut BytesMut) -> Result<(), CodecError> {
        let length = src.len() - self.ending.may_start(src);
        if length > self.max_length.0 {
            let error = self.too_long();
            self.discard(src, length);
            self.state = State::Discard;
            return Err(error);
        }
        self.searched = length;
        Ok(())
    }

    fn too_long(&self) -> CodecError {
        let (offset, limit) = (self.text.offset(), self.max_length.0);
        debug!(offset, limit, "line too long");
        CodecError::LineTooLong { offset, limit }
    }
}

impl Decoder for Utf8LinesCodec {
    type Item = ByteString;
    type Error = CodecError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, CodecError> {
        if !self.start_line(src) {
            return Ok(None);
        }
        match self.ending.find(src, self.searched) {
            Some((length, terminator)) => self.take(src, length, terminator),
            None => self.await_terminator(src).map(|()| None),
        }
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, CodecError> {
        if let Some(line) = self.decode(src)? {
            return Ok(Some(line));
        }
        if self.state == State::Discard {
            self.discard(src, src.len());
            self.state = State::Line;
        }
        if src.is_empty() {
            return match self.text.finish().map(|end| end.text().map(drop)) {
                Some(Err(error)) => Err(CodecError::IllFormed { error, rejected: src.split().freeze() }),
                _ => Ok(None),
            };
        }
        // After a line that ends the stream a lone CR is what is left of its CRLF.
        let terminator = if self.ending == LineEnding::LfOrCrLf { self.ending.may_start(src) } else { 0 };
        self.take(src, src.len() - terminator, terminator)
    }
}

impl<T: AsRef<str>> Encoder<T> for Utf8LinesCodec {
    type Error = CodecError;

    /// Writes a line and its terminator.
    ///
    /// # Errors
    ///
    /// [`CodecError::EmbeddedTerminator`] if a peer would read more than one line; then nothing is written.
    fn encode(&mut self, line: T, dst: &mut BytesMut) -> Result<(), CodecError> {
        let line = line.as_ref().as_bytes();
        if let Some(at) = self.ending.embedded(line) {
            return Err(CodecError::EmbeddedTerminator { at });
        }
        dst.reserve(line.len() + MAX_TERMINATOR);
        dst.extend_from_slice(line);
        self.ending.write(dst);
        Ok(())
    }
}
