//! The transcoder and its settings.

use super::carry::Room;
use super::run::{Conversion, Status};
use super::source::Source;
use super::switches::Switches;
use super::target::Target;
use crate::encoding::Encoding;
use crate::policy::{BomPolicy, Counters, ErrorPolicy};
use crate::subset::Subset;

/// Reads one [`Encoding`] and writes another, through code points, in chunks of any size on both sides.
///
/// The same bytes give the same bytes, the same errors and the same offsets, however input and output are cut: a
/// sequence, a code unit or a surrogate pair may straddle chunks at every byte. It keeps at most 7 bytes of
/// input, allocates nothing itself, and never panics.
///
/// Input that is ill-formed goes through the [`ErrorPolicy`], and so does a code point that the target cannot hold
/// ([`Unmappable`](crate::ErrorKind::Unmappable)) and one outside an adopted [`Subset`]: each is repaired from its bytes of *input*.
/// A character of the repair that the target does not have, such as U+FFFD in Latin-1, is written as `?`.
///
/// An error names both encodings where it is displayed, and [`Utf8Error::encoding`](crate::Utf8Error::encoding) returns the one that was read.
///
/// The BOM is U+FEFF at the start, in whatever encoding; [`BomPolicy`] sets what becomes of it. None is ever written.
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
    pub(super) conversion: Conversion,
}

// Copied by every call of `feed`.
const _: () = assert!(size_of::<Transcoder>() <= 256);

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

impl Transcoder {
    /// Room that an output buffer needs so that every call makes progress: the longest code point of any encoding.
    pub const MIN_OUTPUT: usize = 6;

    /// A strict transcoder that keeps the BOM.
    pub const fn new(from: Encoding, to: Encoding) -> Self {
        let source = Source::new(from, to, Switches::STRICT);
        Self { conversion: Conversion::new(source, Target::new(to, Switches::STRICT)) }
    }

    /// Sets what becomes of ill-formed input, and of code points that the target cannot hold.
    #[must_use]
    pub const fn on_error(mut self, on_error: ErrorPolicy) -> Self {
        self.conversion.policies.on_error = on_error;
        self
    }

    /// Sets what becomes of the BOM.
    #[must_use]
    pub const fn bom(mut self, bom: BomPolicy) -> Self {
        self.conversion.policies.bom = bom;
        self
    }

    /// Decides what the specifications of both encodings leave open.
    #[must_use]
    pub const fn switches(mut self, switches: Switches) -> Self {
        let (from, to) = (self.from(), self.to());
        self.conversion.source = Source::new(from, to, switches);
        self.conversion.target = Target::new(to, switches);
        self.conversion.switches = switches;
        self
    }

    /// Adopts a subset: a code point outside it goes through the [`ErrorPolicy`].
    #[must_use]
    pub const fn subset(mut self, subset: Subset) -> Self {
        self.conversion.policies.subset = Some(subset);
        self
    }

    /// Looks for the BOM of UTF-8, UTF-16 or UTF-32 first: the encoding that it names is read instead of `from`.
    ///
    /// At most 4 bytes are awaited, and none after the first byte that no BOM has at that position. So an error that no
    /// BOM explains is reported by the call that brings it. Offsets are those without this setting.
    #[must_use]
    pub const fn sniff(mut self) -> Self {
        self.conversion.sniffing = true;
        self
    }

    /// The encoding that is read: after [`sniff`](Self::sniff), the one that the BOM named.
    pub const fn from(&self) -> Encoding {
        self.conversion.source.encoding()
    }

    /// The encoding that is written.
    pub const fn to(&self) -> Encoding {
        self.conversion.target.encoding()
    }

    /// Bytes of input taken so far, those of an unfinished sequence included.
    pub const fn offset(&self) -> u64 {
        self.conversion.offset
    }

    /// The bytes of an unfinished sequence, `0..=7` of them, that wait for the next chunk.
    pub fn pending(&self) -> &[u8] {
        self.conversion.carry.as_slice()
    }

    /// Errors met so far, by kind, repaired ones included.
    pub const fn counters(&self) -> Counters {
        self.conversion.policies.counters()
    }

    /// Takes as much of `chunk` as `dst` has room for. No byte is lost, and none is written twice.
    ///
    /// Only whole code points are written: none if `dst` is too short for the next one. With room for
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
        let mut room = Room::new(dst);
        let mut rest = chunk;
        let status = self.conversion.run(&mut rest, &mut room, false);
        Progress { status, read: chunk.len() - rest.len(), written: room.written() }
    }

    /// Ends the stream, as far as `dst` has room: [`Status::InputEmpty`] when it is done, else call again. Then the
    /// transcoder can be fed again: its [`offset`](Self::offset) goes on counting, and a BOM is only looked for
    /// at offset 0.
    pub fn finish_into(&mut self, dst: &mut [u8]) -> Progress {
        let mut room = Room::new(dst);
        let mut status = self.conversion.run(&mut &[][..], &mut room, true);
        if status == Status::InputEmpty
            && let Some(error) = self.conversion.missing_bom()
        {
            status = Status::IllFormed(error);
        }
        Progress { status, read: 0, written: room.written() }
    }

    /// Gives back the bytes of an unfinished sequence, as if they had not been fed: the caller has them still.
    #[cfg(feature = "codec")]
    pub(crate) fn give_back(&mut self) {
        let carry = &mut self.conversion.carry;
        self.conversion.offset = self.conversion.offset.wrapping_sub(u64::from(carry.len()));
        carry.set(&[]);
    }
}
