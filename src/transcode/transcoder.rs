//! The public interface of the transcoder.

use super::carry::Room;
use super::run::{Conversion, Status};
use super::source::Source;
use super::switches::Switches;
use super::target::Target;
use crate::encoding::Encoding;
use crate::policy::{BomPolicy, Counters, ErrorPolicy};
use crate::subset::Subset;

/// Converts from one [`Encoding`] to another, in chunks of any size on both sides.
///
/// Output, errors and offsets do not depend on how input and output are cut: a sequence, a code unit or a surrogate
/// pair may be cut at every byte. At most 7 bytes of input are kept. Nothing is allocated, and no call panics.
///
/// The [`ErrorPolicy`] applies to ill-formed input, to code points that the target encoding does not have
/// ([`Unmappable`](crate::ErrorKind::Unmappable)), and to code points outside an adopted [`Subset`]. A repair depends
/// on the bytes of the *input*. A character of the repair that the target encoding does not have, such as U+FFFD in
/// Latin-1, is written as `?`.
///
/// The message of an error names the encodings, and [`Utf8Error::encoding`](crate::Utf8Error::encoding) returns the
/// source encoding.
///
/// A BOM is U+FEFF at the start of the input, in any encoding; [`BomPolicy`] applies to it. The transcoder never adds
/// one.
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

// Derived `Copy`: every call of `feed` works on a copy.
const _: () = assert!(size_of::<Transcoder>() <= 304);

/// The progress of a bounded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says how much of the input was taken"]
pub struct Progress {
    /// Why the call stopped.
    pub status: Status,
    /// How many bytes of the chunk were consumed. Pass the rest to the next call.
    pub read: usize,
    /// How many bytes were written to the output buffer.
    pub written: usize,
}

impl Transcoder {
    /// The buffer size that guarantees progress in every call: the length of the longest code point in any encoding.
    pub const MIN_OUTPUT: usize = 6;

    /// A strict transcoder that keeps the BOM.
    pub const fn new(from: Encoding, to: Encoding) -> Self {
        let source = Source::new(from, to, Switches::STRICT);
        Self { conversion: Conversion::new(source, Target::new(to, Switches::STRICT)) }
    }

    /// Sets the policy for ill-formed input and for code points that the target encoding does not have.
    #[must_use]
    pub const fn on_error(mut self, on_error: ErrorPolicy) -> Self {
        self.conversion.policies.on_error = on_error;
        self
    }

    /// Sets the policy for a BOM.
    #[must_use]
    pub const fn bom(mut self, bom: BomPolicy) -> Self {
        self.conversion.policies.bom = bom;
        self
    }

    /// Sets options for what the specifications of both encodings leave open.
    #[must_use]
    pub const fn switches(mut self, switches: Switches) -> Self {
        let (from, to) = (self.from(), self.to());
        self.conversion.source = Source::new(from, to, switches);
        self.conversion.target = Target::new(to, switches);
        self.conversion.switches = switches;
        self
    }

    /// Adopts a subset: the [`ErrorPolicy`] applies to code points outside it.
    #[must_use]
    pub const fn subset(mut self, subset: Subset) -> Self {
        self.conversion.policies.subset = Some(subset);
        self
    }

    /// Looks for a BOM of UTF-8, UTF-16 or UTF-32 first. If there is one, the encoding that it names replaces `from`.
    ///
    /// At most 4 bytes are kept for this, and none after the first byte that cannot be part of a BOM, so errors are not
    /// reported later than without this setting. Offsets do not change.
    #[must_use]
    pub const fn sniff(mut self) -> Self {
        self.conversion.sniffing = true;
        self
    }

    /// The source encoding. After [`sniff`](Self::sniff) it is the one that the BOM named.
    pub const fn from(&self) -> Encoding {
        self.conversion.source.encoding()
    }

    /// The target encoding.
    pub const fn to(&self) -> Encoding {
        self.conversion.target.encoding()
    }

    /// How many bytes of input were consumed, including those of an unfinished sequence.
    pub const fn offset(&self) -> u64 {
        self.conversion.offset
    }

    /// The bytes of an unfinished sequence, `0..=7` of them, which the next chunk may complete.
    pub fn pending(&self) -> &[u8] {
        self.conversion.carry.as_slice()
    }

    /// Errors so far, by kind, including repaired ones.
    pub const fn counters(&self) -> Counters {
        self.conversion.policies.counters()
    }

    /// Converts as much of `chunk` as fits into `dst`. No byte is lost or written twice.
    ///
    /// Only whole code points are written: none if the next one does not fit. With at least
    /// [`MIN_OUTPUT`](Self::MIN_OUTPUT) bytes of room every call makes progress.
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

    /// Ends the stream, as far as the rest fits into `dst`: [`Status::InputEmpty`] when it is done, otherwise call
    /// again. The transcoder can then be fed again: [`offset`](Self::offset) continues, and a BOM is only looked for at
    /// offset 0.
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

    /// Discards the bytes of an unfinished sequence, as if they had not been fed. The caller still has them.
    #[cfg(feature = "codec")]
    pub(crate) fn give_back(&mut self) {
        let carry = &mut self.conversion.carry;
        self.conversion.offset = self.conversion.offset.wrapping_sub(u64::from(carry.len()));
        carry.set(&[]);
    }
}
