//! From any encoding to any other, in chunks of any size.

#[cfg(feature = "alloc")]
mod growing;

mod bulk;
mod source;
mod switches;
mod target;

pub use crate::encoding::{Encoding, UnknownEncoding};
#[cfg(feature = "alloc")]
pub use growing::Output;
pub use switches::Switches;

use crate::detect::{Sniff, sniff};
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::{BomPolicy, ErrorPolicy, ShortStr};
use crate::subset::Subset;
use crate::text::Counters;
use source::{Item, MAX_SEQUENCE, MAX_UNFINISHED, Source};
use target::Target;

/// Reads one [`Encoding`] and writes another, through code points, in chunks of any size on both sides.
///
/// The same bytes give the same bytes, the same errors and the same offsets, however input and output are cut: a
/// sequence, a code unit or a surrogate pair may straddle chunks at every byte. It holds at most seven bytes of
/// input, allocates nothing itself, and never panics.
///
/// Input that is ill-formed goes through the [`ErrorPolicy`], and so does a code point that the target cannot hold
/// ([`ErrorKind::Unmappable`]) and one outside an adopted [`Subset`]: each is repaired from its bytes of *input*.
/// What the repair itself cannot write in the target, such as U+FFFD in Latin-1, is written as `?`.
///
/// An error names both encodings where it is displayed, and [`Utf8Error::encoding`] returns the one that was read.
///
/// The BOM is U+FEFF at the start, in whatever encoding; [`BomPolicy`] says what becomes of it. None is ever added.
///
/// ```
/// use utf8_codec::ErrorPolicy;
/// use utf8_codec::transcode::{Encoding, Transcoder};
///
/// let mut transcoder = Transcoder::new(Encoding::Cesu8, Encoding::Utf16Be);
/// let mut out = Vec::new();
/// // A surrogate pair in six bytes, cut in the middle of its second half.
/// transcoder.feed(b"a\xED\xA0\xBD\xED", &mut out)?;
/// transcoder.feed(b"\xB2\xA9", &mut out)?;
/// transcoder.finish(&mut out)?;
/// assert_eq!(out, b"\0a\xD8\x3D\xDC\xA9");
///
/// let mut transcoder = Transcoder::new(Encoding::Windows1252, Encoding::Utf8);
/// let mut text = String::new();
/// transcoder.feed(b"\x80 5", &mut text)?;
/// transcoder.finish(&mut text)?;
/// assert_eq!(text, "€ 5");
///
/// let mut transcoder = Transcoder::new(Encoding::Utf16Le, Encoding::Latin1);
/// let error = transcoder.feed(b"a\0\0\xDCb\0", &mut out).unwrap_err();
/// assert_eq!(error.to_string(), "ill-formed UTF-16LE at byte 2 (UnpairedSurrogate, 2 bytes)");
/// let error = transcoder.feed(b"\xAC\x20", &mut out).unwrap_err();
/// let message = "character not in ISO 8859-1 at byte 4 (Unmappable, 2 bytes of UTF-16LE)";
/// assert_eq!(error.to_string(), message);
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Transcoder {
    source: Source,
    target: Target,
    switches: Switches,
    on_error: ErrorPolicy,
    bom: BomPolicy,
    subset: Option<Subset>,
    counters: Counters,
    /// Bytes of input taken, the held ones included.
    offset: u64,
    held: Held,
    /// The repair that there was no room for, and how much of it was written.
    owed: ShortStr,
    paid: u8,
    sniffing: bool,
    /// Whether the bom policy has judged the start.
    begun: bool,
}

/// How far a bounded call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says how much of the input was taken"]
pub struct Progress {
    /// Why it stopped.
    pub status: Status,
    /// Bytes of the chunk that were taken. The rest is for the next call.
    pub read: usize,
    /// Bytes of the output buffer that were written.
    pub written: usize,
}

/// Why a bounded call stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The chunk was taken whole. For [`Transcoder::finish_into`]: it is finished.
    InputEmpty,
    /// There is no room for the next code point. Call again with more room and the rest of the chunk.
    OutputFull,
    /// An error that the policy does not repair. The transcoder stands after it; call again with the rest of the
    /// chunk to go on.
    IllFormed(Utf8Error),
}

impl Transcoder {
    /// Room that an output buffer needs so that every call makes progress: the longest code point of any encoding.
    pub const MIN_OUTPUT: usize = 6;

    /// A strict transcoder that keeps the BOM.
    pub const fn new(from: Encoding, to: Encoding) -> Self {
        Self {
            source: Source::new(from, to, Switches::STRICT),
            target: Target::new(to, Switches::STRICT),
            switches: Switches::STRICT,
            on_error: ErrorPolicy::Strict,
            bom: BomPolicy::Keep,
            subset: None,
            counters: Counters::NONE,
            offset: 0,
            held: Held { bytes: [0; MAX_UNFINISHED], len: 0 },
            owed: ShortStr::EMPTY,
            paid: 0,
            sniffing: false,
            begun: false,
        }
    }

    /// Sets what becomes of ill-formed input, and of code points that the target cannot hold.
    #[must_use]
    pub const fn on_error(self, on_error: ErrorPolicy) -> Self {
        Self { on_error, ..self }
    }

    /// Sets what becomes of the BOM.
    #[must_use]
    pub const fn bom(self, bom: BomPolicy) -> Self {
        Self { bom, ..self }
    }

    /// Decides what the texts of both encodings leave open.
    #[must_use]
    pub const fn switches(self, switches: Switches) -> Self {
        let (from, to) = (self.source.encoding(), self.target.encoding());
        Self { source: Source::new(from, to, switches), target: Target::new(to, switches), switches, ..self }
    }

    /// Adopts a subset: a code point outside it goes through the [`ErrorPolicy`].
    #[must_use]
    pub const fn subset(self, subset: Subset) -> Self {
        Self { subset: Some(subset), ..self }
    }

    /// Looks for the BOM of UTF-8, UTF-16 or UTF-32 first: the encoding that it names is read in the place of
    /// `from`. The look-ahead ends at the first byte that no BOM has in its place, at the latest at the
    /// fourth, so that an error no BOM can explain is told at once; offsets are as if there were none.
    #[must_use]
    pub const fn sniff(self) -> Self {
        Self { sniffing: true, ..self }
    }

    /// The encoding that is read: after [`sniff`](Self::sniff), the one that the BOM named.
    pub const fn from(&self) -> Encoding {
        self.source.encoding()
    }

    /// The encoding that is written.
    pub const fn to(&self) -> Encoding {
        self.target.encoding()
    }

    /// Bytes of input taken so far, those of an unfinished sequence included.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes of an unfinished sequence, `0..=7` of them, that wait for the next chunk.
    pub fn pending(&self) -> &[u8] {
        self.held.as_slice()
    }

    /// Errors met so far, by kind, whatever became of them.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes as much of `chunk` as `dst` has room for. No byte is lost, and none is written twice.
    ///
    /// Only whole code points are written. Nothing is where `dst` is too short for the next one; with room for
    /// [`MIN_OUTPUT`](Self::MIN_OUTPUT) bytes every call makes progress.
    ///
    /// ```
    /// use utf8_codec::transcode::{Encoding, Status, Transcoder};
    ///
    /// let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf16Le);
    /// let mut room = [0; 6];
    /// let progress = transcoder.feed_into("añb€".as_bytes(), &mut room);
    /// assert_eq!((progress.status, progress.read, progress.written), (Status::OutputFull, 4, 6));
    /// ```
    #[inline]
    pub fn feed_into(&mut self, chunk: &[u8], dst: &mut [u8]) -> Progress {
        let mut room = Room { dst, written: 0 };
        let mut rest = chunk;
        let status = self.run(&mut rest, &mut room, false);
        Progress { status, read: chunk.len() - rest.len(), written: room.written }
    }

    /// Ends the stream, as far as `dst` has room: [`Status::InputEmpty`] when it is done, else call again. Then the
    /// transcoder can be fed again: its [`offset`](Self::offset) goes on counting, and a BOM is only looked for
    /// at offset 0.
    pub fn finish_into(&mut self, dst: &mut [u8]) -> Progress {
        let mut room = Room { dst, written: 0 };
        let mut status = self.run(&mut &[][..], &mut room, true);
        if status == Status::InputEmpty && !self.begun && self.bom == BomPolicy::Require && self.offset == 0 {
            self.begun = true;
            let error = self.error(ErrorKind::MissingBom, 0);
            self.count(error);
            status = Status::IllFormed(error);
        }
        Progress { status, read: 0, written: room.written }
    }

    /// Gives back the bytes of an unfinished sequence, as if they had not been fed: the caller has them still.
    #[cfg(feature = "codec")]
    pub(crate) fn give_back(&mut self) {
        self.offset -= u64::from(self.held.len);
        self.held.len = 0;
    }

    fn run(&mut self, rest: &mut &[u8], room: &mut Room<'_>, last: bool) -> Status {
        loop {
            if !self.pay(room) {
                return Status::OutputFull;
            }
            let mut seam = [0; MAX_UNFINISHED + MAX_SEQUENCE];
            let bytes = if self.held.is_empty() && !self.sniffing {
                self.run_plain(rest, room);
                *rest
            } else {
                self.held.with(rest, &mut seam)
            };
            if bytes.is_empty() {
                return Status::InputEmpty;
            }
            if self.sniffing {
                match sniff(bytes, last) {
                    Sniff::Undecided => return self.hold(bytes, rest),
                    Sniff::Found(encoding) => {
                        self.source = Source::new(encoding, self.target.encoding(), self.switches)
                    }
                    Sniff::Absent => {}
                }
                self.sniffing = false;
            }
            let item = match self.source.read(bytes) {
                Item::Unfinished if last => self.source.read_last(bytes),
                item => item,
            };
            match self.take(item, bytes, room) {
                Taken::Unfinished => return self.hold(bytes, rest),
                Taken::Full => return Status::OutputFull,
                Taken::Bytes(len) => self.advance(len, rest),
                Taken::Refused { error, len } => {
                    self.advance(len, rest);
                    return Status::IllFormed(error);
                }
            }
        }
    }

    /// Takes what needs no judgement, in bulk.
    #[inline]
    fn run_plain(&mut self, rest: &mut &[u8], room: &mut Room<'_>) {
        if self.subset.is_some() || (!self.begun && self.bom != BomPolicy::Keep) {
            return;
        }
        let (read, written) = bulk::copy(&self.source, &self.target, rest, room.left());
        room.written += written;
        self.offset += read as u64;
        *rest = &rest[read..];
        self.begun |= read > 0;
    }

    /// Holds `bytes`, the held ones and all that is left of the chunk.
    fn hold(&mut self, bytes: &[u8], rest: &mut &[u8]) -> Status {
        self.offset += rest.len() as u64;
        *rest = &[];
        self.held.set(bytes);
        Status::InputEmpty
    }

    /// Goes past `len` bytes, the held ones first.
    fn advance(&mut self, len: usize, rest: &mut &[u8]) {
        let taken = len - self.held.drop_first(len);
        *rest = &rest[taken..];
        self.offset += taken as u64;
    }

    /// What becomes of an item, which `bytes` start with.
    fn take(&mut self, item: Item, bytes: &[u8], room: &mut Room<'_>) -> Taken {
        let (value, len) = match item {
            Item::Unfinished => return Taken::Unfinished,
            Item::CodePoint { value, len } => (value, len),
            Item::IllFormed { kind, len } => {
                let must_start = !self.begun && self.bom == BomPolicy::Require;
                self.begun = true;
                if must_start {
                    let error = self.error(ErrorKind::MissingBom, len);
                    return self.refused(error, len);
                }
                return self.judge(kind, &bytes[..len], room);
            }
        };
        if !self.begun {
            self.begun = true;
            match (self.bom, value) {
                (BomPolicy::Strip | BomPolicy::Require, BOM) => return Taken::Bytes(len),
                (BomPolicy::Reject, BOM) => {
                    let error = self.error(ErrorKind::UnexpectedBom, len);
                    return self.refused(error, len);
                }
                (BomPolicy::Require, _) => {
                    let error = self.error(ErrorKind::MissingBom, 0);
                    return self.refused(error, 0);
                }
                _ => {}
            }
        }
        if self.subset.is_some_and(|subset| !subset.contains(value)) {
            return self.judge(ErrorKind::OutsideSubset, &bytes[..len], room);
        }
        match self.target.encode(value) {
            None => self.judge(ErrorKind::Unmappable, &bytes[..len], room),
            Some(sequence) if room.push(sequence.as_slice()) => Taken::Bytes(len),
            Some(_) => Taken::Full,
        }
    }

    /// Applies the error policy to the bytes of input that come next.
    fn judge(&mut self, kind: ErrorKind, bytes: &[u8], room: &mut Room<'_>) -> Taken {
        let error = self.error(kind, bytes.len());
        match self.on_error.repair(bytes) {
            None => self.refused(error, bytes.len()),
            Some(repair) => {
                self.count(error);
                self.owed = repair;
                self.paid = 0;
                self.pay(room);
                Taken::Bytes(bytes.len())
            }
        }
    }

    /// Writes what is owed: whether there was room for all of it.
    #[inline]
    fn pay(&mut self, room: &mut Room<'_>) -> bool {
        self.owed.is_empty() || self.pay_owed(room)
    }

    #[cold]
    fn pay_owed(&mut self, room: &mut Room<'_>) -> bool {
        let owed = self.owed;
        for character in owed[usize::from(self.paid)..].chars() {
            let sequence = self.target.encode(character.into()).or_else(|| self.target.encode('?'.into()));
            if !room.push(sequence.unwrap_or_default().as_slice()) {
                return false;
            }
            self.paid += character.len_utf8() as u8;
        }
        self.owed = ShortStr::EMPTY;
        self.paid = 0;
        true
    }

    fn refused(&mut self, error: Utf8Error, len: usize) -> Taken {
        self.count(error);
        Taken::Refused { error, len }
    }

    /// An error at the bytes of input that come next.
    fn error(&self, kind: ErrorKind, len: usize) -> Utf8Error {
        let offset = self.offset - u64::from(self.held.len);
        Utf8Error::new(offset, kind, len as u8).between(self.from(), self.to())
    }

    fn count(&mut self, error: Utf8Error) {
        debug!(offset = error.offset, kind = error.kind.as_str(), len = error.len, "ill-formed");
        self.counters.count(error.kind);
    }
}

const BOM: u32 = 0xFEFF;

/// What became of an item.
#[derive(Debug)]
enum Taken {
    Bytes(usize),
    Refused { error: Utf8Error, len: usize },
    Full,
    Unfinished,
}

/// An output buffer that is filled from its start.
#[derive(Debug)]
struct Room<'d> {
    dst: &'d mut [u8],
    written: usize,
}

impl Room<'_> {
    fn left(&mut self) -> &mut [u8] {
        &mut self.dst[self.written..]
    }

    /// All of it, or nothing.
    #[inline]
    fn push(&mut self, bytes: &[u8]) -> bool {
        let Some(place) = self.left().get_mut(..bytes.len()) else { return false };
        place.copy_from_slice(bytes);
        self.written += bytes.len();
        true
    }
}

/// The unfinished sequence at the end of the input so far.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: [u8; MAX_UNFINISHED],
    len: u8,
}

impl Held {
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn set(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= MAX_UNFINISHED);
        self.len = 0;
        for (place, &byte) in self.bytes.iter_mut().zip(bytes) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Drops up to `len` bytes from the front: how many there were to drop.
    fn drop_first(&mut self, len: usize) -> usize {
        let dropped = len.min(usize::from(self.len));
        self.bytes.copy_within(dropped.., 0);
        self.len -= dropped as u8;
        dropped
    }

    /// The held bytes with the first ones of a chunk after them: all of them, or as many as any sequence needs.
    fn with<'s>(&self, chunk: &[u8], seam: &'s mut [u8; MAX_UNFINISHED + MAX_SEQUENCE]) -> &'s [u8] {
        let held = usize::from(self.len);
        let more = chunk.len().min(MAX_SEQUENCE);
        seam[..held].copy_from_slice(self.as_slice());
        seam[held..held + more].copy_from_slice(&chunk[..more]);
        &seam[..held + more]
    }
}
