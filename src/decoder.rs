//! The resumable machine. Facts only: no policy, no allocation, no I/O.

use core::iter::FusedIterator;

use crate::error::{ErrorKind, Utf8Error};
use crate::scan::{self, End, Fault, Last, Scan, Seam, Subpart};

/// A strict, resumable UTF-8 decoder (RFC 3629) that takes a stream in chunks of any size.
///
/// The same bytes give the same text, the same errors and the same offsets, however they are cut. It is `Copy`, at
/// most 16 bytes, allocates nothing and never panics: a copy is a snapshot, and assigning it back restores it.
///
/// A byte that makes the stream ill-formed is refused in the call that brings it, whatever may come later: `C0`,
/// `C1`, `F5..=FF`, `E0 80..=9F`, `ED A0..=BF`, `F0 80..=8F`, `F4 90..=BF`, and anything but a continuation inside
/// a sequence.
///
/// ```
/// use utf8_codec::{Piece, Utf8Decoder};
///
/// let mut decoder = Utf8Decoder::new();
/// let mut text = String::new();
/// for chunk in [&b"caf\xC3"[..], b"\xA9 \xFF!"] {
///     for piece in decoder.feed(chunk) {
///         match piece {
///             Piece::Text(good) => text.push_str(good),
///             Piece::Seam(character) => text.push(character),
///             Piece::IllFormed(error) => assert_eq!(error.offset, 6),
///         }
///     }
/// }
/// decoder.finish()?;
/// assert_eq!(text, "café !");
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Utf8Decoder {
    offset: u64,
    last: Last,
}

const _: () = assert!(size_of::<Utf8Decoder>() <= 16);

/// What a chunk holds, in the order of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'c> {
    /// Well-formed text, borrowed from the chunk; never empty.
    Text(&'c str),
    /// The character whose bytes straddled chunks.
    Seam(char),
    /// An ill-formed sequence. The decoder has gone past it.
    IllFormed(Utf8Error),
}

impl Utf8Decoder {
    /// A decoder at the start of a stream.
    pub const fn new() -> Self {
        Self::at(0)
    }

    /// A decoder between characters, `offset` bytes into a stream: what went before is not its business. After
    /// byte 2^64 - 1, which no stream reaches that was counted from 0, offsets start again at 0.
    pub const fn at(offset: u64) -> Self {
        Self { offset, last: Last::NONE }
    }

    /// Goes to a place between characters. What it learned about the stream for the sake of speed it keeps.
    #[cfg(any(feature = "codec", feature = "futures-io", feature = "io", feature = "proxy"))]
    #[inline]
    pub(crate) fn seek(&mut self, offset: u64) {
        *self = Self { offset, last: self.last.between() };
    }

    /// Takes the next chunk and lends its pieces.
    ///
    /// Nothing is taken before the iterator is asked. Whoever drops it early finds in [`offset`](Self::offset) how
    /// far the decoder got, and feeds the rest of the chunk again.
    #[inline]
    #[must_use = "the chunk is only taken as the pieces are"]
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8]) -> Pieces<'d, 'c> {
        Pieces { decoder: self, rest: chunk, fault: None, rejected: Subpart::NONE }
    }

    /// Takes the next chunk without lending its text: [`feed`](Self::feed) for callers who only want the verdict.
    ///
    /// # Errors
    ///
    /// The first ill-formed sequence. The decoder stands after it, the bytes after it are not taken, and the next
    /// call goes on there: `&chunk[(decoder.offset() - offset_before) as usize..]`.
    #[inline]
    pub fn validate(&mut self, chunk: &[u8]) -> Result<(), Utf8Error> {
        match scan::take(&mut self.last, chunk) {
            Ok(()) => {
                self.offset = self.offset.wrapping_add(chunk.len() as u64);
                Ok(())
            }
            Err(flaw) => self.refuse(chunk, flaw),
        }
    }

    #[cold]
    fn refuse(&mut self, chunk: &[u8], flaw: usize) -> Result<(), Utf8Error> {
        let (taken, fault) = scan::refuse(self.last, chunk, flaw);
        self.offset = self.offset.wrapping_add(taken as u64);
        self.last = Last::NONE;
        Err(self.error_ending_here(fault))
    }

    /// Ends the stream. The decoder is then as new, but for its [`offset`](Self::offset), which goes on counting:
    /// a stream that resumes after its end (a file that grows, a FIFO) can be fed to it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Truncated`] if the stream ended inside a sequence; exactly once, a second call finds nothing.
    pub fn finish(&mut self) -> Result<(), Utf8Error> {
        let last = core::mem::take(&mut self.last);
        if last.is_boundary() {
            return Ok(());
        }
        Err(self.error_ending_here(Fault { kind: ErrorKind::Truncated, bytes: Subpart::of(last.pending()) }))
    }

    /// Bytes taken so far, the [`pending`](Self::pending) ones included.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Where the text that is known to be good ends: [`offset`](Self::offset) without the pending bytes.
    #[inline]
    pub const fn valid_up_to(&self) -> u64 {
        self.offset.wrapping_sub(self.last.pending_len() as u64)
    }

    /// The bytes of an unfinished sequence, `0..=3` of them, that wait for the next chunk.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.last.pending()
    }

    /// The error for a fault whose last byte is the last one taken.
    fn error_ending_here(&self, Fault { kind, bytes }: Fault) -> Utf8Error {
        Utf8Error::new(self.offset.wrapping_sub(u64::from(bytes.len())), kind, bytes.len())
    }
}

/// The pieces of a chunk, by [`Utf8Decoder::feed`].
#[derive(Debug)]
pub struct Pieces<'d, 'c> {
    decoder: &'d mut Utf8Decoder,
    rest: &'c [u8],
    /// Found after the last text, not yet told.
    fault: Option<Fault>,
    rejected: Subpart,
}

impl<'c> Pieces<'_, 'c> {
    /// The bytes of the ill-formed sequence that was told last; empty before the first one.
    pub fn rejected(&self) -> &[u8] {
        self.rejected.as_slice()
    }

    pub(crate) fn decoder(&self) -> &Utf8Decoder {
        self.decoder
    }

    /// The bytes not yet taken.
    pub(crate) fn rest(&self) -> &'c [u8] {
        self.rest
    }

    /// Goes on from another place.
    pub(crate) fn restart(&mut self, decoder: Utf8Decoder, rest: &'c [u8]) {
        *self.decoder = decoder;
        self.rest = rest;
        self.fault = None;
    }

    /// Moves `taken` bytes from the chunk to the decoder.
    fn take(&mut self, taken: usize, last: Last) {
        self.rest = &self.rest[taken..];
        self.decoder.offset = self.decoder.offset.wrapping_add(taken as u64);
        self.decoder.last = last;
    }

    fn tell(&mut self, fault: Fault) -> Utf8Error {
        self.rejected = fault.bytes;
        self.decoder.error_ending_here(fault)
    }
}

impl<'c> Iterator for Pieces<'_, 'c> {
    type Item = Piece<'c>;

    fn next(&mut self) -> Option<Piece<'c>> {
        if let Some(fault) = self.fault.take() {
            self.take(usize::from(fault.bytes.len()), Last::NONE);
            return Some(Piece::IllFormed(self.tell(fault)));
        }
        if self.rest.is_empty() {
            return None;
        }
        let Some(start) = self.decoder.last.boundary() else {
            return match scan::finish_sequence(self.decoder.last, self.rest) {
                Seam::Whole { taken, character } => {
                    self.take(taken, Last::NONE);
                    Some(Piece::Seam(character))
                }
                Seam::Open(Scan { taken, end: End::Unfinished(last) }) => {
                    self.take(taken, last);
                    None
                }
                Seam::Open(Scan { taken, end: End::IllFormed(fault) }) => {
                    self.take(taken, Last::NONE);
                    Some(Piece::IllFormed(self.tell(fault)))
                }
            };
        };
        let (text, end) = scan::prefix(start, self.rest);
        match end {
            End::Unfinished(last) => self.take(text.len() + usize::from(last.pending_len()), last),
            End::IllFormed(fault) => {
                self.take(text.len(), Last::NONE);
                self.fault = Some(fault);
                if text.is_empty() {
                    return self.next();
                }
            }
        }
        (!text.is_empty()).then_some(Piece::Text(text))
    }
}

impl FusedIterator for Pieces<'_, '_> {}

/// Bytes that are all there are, as text: [`core::str::from_utf8`] with the kernels and the errors of this crate.
///
/// # Errors
///
/// The first ill-formed sequence, or [`ErrorKind::Truncated`] if the bytes end inside a sequence. Everything before
/// its offset is text.
///
/// ```
/// use utf8_codec::{ErrorKind, Utf8Error, from_utf8};
///
/// assert_eq!(from_utf8(b"caf\xC3\xA9"), Ok("café"));
/// assert_eq!(from_utf8(b"caf\xC3"), Err(Utf8Error::new(3, ErrorKind::Truncated, 1)));
/// ```
#[inline]
pub fn from_utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    scan::text(bytes).map_err(|flaw| first_error(bytes, flaw))
}

/// The first error in bytes that become ill-formed at the flaw, or end unfinished where it is their length.
#[cold]
fn first_error(bytes: &[u8], flaw: usize) -> Utf8Error {
    let (end, Fault { kind, bytes }) = if flaw < bytes.len() {
        scan::refuse(Last::NONE, bytes, flaw)
    } else {
        let last = Last::NONE.after(bytes);
        (flaw, Fault { kind: ErrorKind::Truncated, bytes: Subpart::of(last.pending()) })
    };
    Utf8Error::new((end - usize::from(bytes.len())) as u64, kind, bytes.len())
}
