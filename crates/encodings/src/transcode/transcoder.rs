//! The public interface of the transcoder.

use utf8_codec::{BomPolicy, Counters, ErrorPolicy, Subset};

use super::carry::Room;
use super::run::{Conversion, Sniffing, Status};
use super::source::Source;
use super::switches::Switches;
use super::target::Target;
use super::unmappable::UnmappablePolicy;
use crate::encoding::Encoding;
#[cfg(feature = "codec")]
use crate::error::TranscodeError;

/// Converts from one [`Encoding`] to another, in chunks of any size on both sides.
///
/// The output, the errors and the offsets do not depend on how input and output are split. A sequence, a code unit or a
/// surrogate pair may be split at every byte. At most 8 bytes of input are kept. Nothing is allocated, and no call
/// panics.
///
/// The [`ErrorPolicy`] applies to ill-formed input, to code points that the target encoding does not have
/// ([`Unmappable`](utf8_codec::ErrorKind::Unmappable)), and to code points outside an adopted [`Subset`]. The replacement
/// text depends on the bytes of the *input*. If the target encoding does not have a character of this text, such as
/// U+FFFD in Latin-1, `?` is written.
///
/// The message of an error names the encoding of the input. The fields `source_encoding` and `target_encoding` of a
/// [`TranscodeError`](crate::TranscodeError) are the encodings of the conversion.
///
/// A BOM is U+FEFF at the start of the input, in any encoding. [`BomPolicy`] applies to it. The transcoder never adds
/// one.
///
/// ```
/// use utf8_codec::ErrorPolicy;
/// use utf8_codec_encodings::{Encoding, Transcoder};
///
/// let mut transcoder = Transcoder::new(Encoding::Cesu8, Encoding::Utf16Be);
/// let mut out = Vec::new();
/// // A surrogate pair in six bytes, split inside its second half.
/// transcoder.feed_into(b"a\xED\xA0\xBD\xED", &mut out)?;
/// transcoder.feed_into(b"\xB2\xA9", &mut out)?;
/// transcoder.finish_into(&mut out)?;
/// assert_eq!(out, b"\0a\xD8\x3D\xDC\xA9");
///
/// let mut transcoder = Transcoder::new(Encoding::Windows1252, Encoding::Utf8);
/// let mut text = String::new();
/// transcoder.feed_into(b"\x80 5", &mut text)?;
/// transcoder.finish_into(&mut text)?;
/// assert_eq!(text, "€ 5");
///
/// let mut transcoder = Transcoder::new(Encoding::Utf16Le, Encoding::Latin1);
/// let error = transcoder.feed_into(b"a\0\0\xDCb\0", &mut out).unwrap_err();
/// assert_eq!(error.to_string(), "ill-formed UTF-16LE at byte 2 (UnpairedSurrogate, 2 bytes)");
/// let error = transcoder.feed_into(b"\xAC\x20", &mut out).unwrap_err();
/// let message = "character not in ISO 8859-1 at byte 4 (Unmappable, 2 bytes of UTF-16LE)";
/// assert_eq!(error.to_string(), message);
/// # Ok::<(), utf8_codec_encodings::TranscodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transcoder {
    pub(super) conversion: Conversion,
}

// Every call of `feed_into` clones the transcoder.
const _: () = assert!(size_of::<Transcoder>() <= 248);

/// The progress of a bounded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the input may not have been consumed completely"]
#[non_exhaustive]
pub struct Progress {
    /// Why the call stopped.
    pub status: Status,
    /// The number of bytes of the chunk that were consumed. Pass the rest to the next call.
    pub read: usize,
    /// The number of bytes that were written to the output buffer.
    pub written: usize,
}

impl Transcoder {
    /// The output size with which every call makes progress: the length of the longest code point in any encoding.
    pub const MIN_OUTPUT: usize = 6;

    /// Creates a strict transcoder that keeps the BOM.
    pub const fn new(source: Encoding, target: Encoding) -> Self {
        let source = Source::new(source, target, Switches::STRICT);
        Self { conversion: Conversion::new(source, Target::new(target, Switches::STRICT)) }
    }

    /// Sets the policy for ill-formed input and for code points that the target encoding does not have.
    #[must_use]
    pub const fn with_error_policy(mut self, on_error: ErrorPolicy) -> Self {
        self.conversion.policies.on_error = on_error;
        self
    }

    /// Sets what is written for code points that the target encoding does not have.
    ///
    /// ```
    /// use utf8_codec_encodings::{Encoding, Transcoder, UnmappablePolicy};
    ///
    /// let transcoder = Transcoder::new(Encoding::Utf8, Encoding::Latin1);
    /// let mut transcoder = transcoder.with_unmappable_policy(UnmappablePolicy::Reference);
    /// let mut out = Vec::new();
    /// transcoder.feed_into("né 5 €".as_bytes(), &mut out)?;
    /// assert_eq!(out, b"n\xE9 5 &#8364;");
    /// # Ok::<(), utf8_codec_encodings::TranscodeError>(())
    /// ```
    #[must_use]
    pub const fn with_unmappable_policy(mut self, unmappable: UnmappablePolicy) -> Self {
        self.conversion.unmappable = unmappable;
        self
    }

    /// Sets the policy for a BOM.
    #[must_use]
    pub const fn with_bom_policy(mut self, bom: BomPolicy) -> Self {
        self.conversion.policies.bom = bom;
        self
    }

    /// Sets options for behavior that the encoding specifications leave open.
    #[must_use]
    pub const fn with_switches(mut self, switches: Switches) -> Self {
        let from = self.source();
        let to = self.target();
        self.conversion.source = Source::new(from, to, switches);
        self.conversion.target = Target::new(to, switches);
        self
    }

    /// Sets the adopted subset. The [`ErrorPolicy`] applies to code points outside it. Replacements are not compared with
    /// it, as in [`TextDecoder::with_subset`](utf8_codec::TextDecoder::with_subset).
    #[must_use]
    pub const fn with_subset(mut self, subset: &'static Subset) -> Self {
        self.conversion.policies.subset = Some(subset);
        self
    }

    /// Detects a BOM of UTF-8, UTF-16 or UTF-32 at the start. If there is one, its encoding replaces `source`, unless it
    /// is also the [BOM](Encoding::bom) of `source`: `EF BB BF` does not change CESU-8, WTF-8 and the other encodings that
    /// resemble UTF-8.
    ///
    /// The BOM is removed, as by `decode` of the WHATWG Encoding Standard: if the policy for the BOM is
    /// [`BomPolicy::Keep`], it becomes [`BomPolicy::Strip`]. Call [`with_bom_policy`](Self::with_bom_policy) after this
    /// method to keep the BOM.
    ///
    /// At most 7 bytes are buffered for this, and only while they may be the start of a BOM. An error in these bytes
    /// may be reported by a later call than without this setting, but with the same offset.
    #[must_use]
    pub const fn with_sniffing(mut self, sniff: bool) -> Self {
        self.conversion.sniffing = if sniff { Sniffing::All } else { Sniffing::Off };
        if sniff && matches!(self.conversion.policies.bom, BomPolicy::Keep) {
            self.conversion.policies.bom = BomPolicy::Strip;
        }
        self
    }

    /// Same as [`with_sniffing`](Self::with_sniffing), without UTF-32, which the Encoding Standard does not have. Removes the
    /// BOM.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_web_sniffing(mut self) -> Self {
        self.conversion.sniffing = Sniffing::Web;
        self.conversion.policies.bom = BomPolicy::Strip;
        self
    }

    /// Returns the source encoding. With [`with_sniffing`](Self::with_sniffing) it is the encoding of the BOM, once one
    /// was found.
    pub const fn source(&self) -> Encoding {
        self.conversion.source.encoding()
    }

    /// Returns the target encoding.
    pub const fn target(&self) -> Encoding {
        self.conversion.target.encoding()
    }

    /// Returns the number of bytes of input that were consumed, including those of an unfinished sequence.
    pub const fn offset(&self) -> u64 {
        self.conversion.offset
    }

    /// Returns the bytes of an unfinished sequence, at most 8. The next chunk may complete it.
    pub fn pending(&self) -> &[u8] {
        self.conversion.carry.as_slice()
    }

    /// Returns the number of errors so far by kind, including repaired ones.
    pub const fn counters(&self) -> Counters {
        self.conversion.policies.counters()
    }

    /// Converts as much of `chunk` as fits into `dst`. No byte is lost or written twice.
    ///
    /// Only whole code points are written. If the output has at least [`MIN_OUTPUT`](Self::MIN_OUTPUT) bytes, every
    /// call makes progress.
    ///
    /// ```
    /// use utf8_codec_encodings::{Encoding, TranscodeStatus, Transcoder};
    ///
    /// let mut transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf16Le);
    /// let mut room = [0; 6];
    /// let progress = transcoder.feed_into_slice("añb€".as_bytes(), &mut room);
    /// assert_eq!((progress.status, progress.read, progress.written), (TranscodeStatus::OutputFull, 4, 6));
    /// ```
    #[inline]
    pub fn feed_into_slice(&mut self, chunk: &[u8], dst: &mut [u8]) -> Progress {
        let mut room = Room::new(dst);
        let mut rest = chunk;
        let status = self.conversion.run(&mut rest, &mut room, false);
        Progress { status, read: chunk.len() - rest.len(), written: room.written() }
    }

    /// Ends the stream and writes the rest of the text into `dst`. The status is [`InputEmpty`](Status::InputEmpty)
    /// when all of the text is written; after any other status call again. The transcoder can be used again:
    /// [`offset`](Self::offset) is not reset, and the BOM policy is only applied at offset 0.
    pub fn finish_into_slice(&mut self, dst: &mut [u8]) -> Progress {
        let mut room = Room::new(dst);
        let mut status = self.conversion.run(&mut &[][..], &mut room, true);
        if status == Status::InputEmpty {
            self.conversion.is_after_high = false;
            self.conversion.source.restart();
            let end = self.conversion.target.end();
            if room.push(end) {
                self.conversion.target.advance(end);
            } else {
                status = Status::OutputFull;
            }
        }
        if status == Status::InputEmpty
            && let Some(error) = self.conversion.missing_bom()
        {
            status = Status::IllFormed(error);
        }
        Progress { status, read: 0, written: room.written() }
    }

    /// Searches for a BOM in the first bytes of a stream, if the transcoder does so and has not done it yet. Returns
    /// `false` if more bytes are needed.
    #[cfg(feature = "codec")]
    pub(crate) fn detect(&mut self, start: &[u8], last: bool) -> bool {
        start.is_empty() || self.conversion.sniffing == Sniffing::Off || self.conversion.detect(start, last)
    }

    /// Moves past bytes that are not text. Returns the error if a BOM is required before them. No sequence is
    /// unfinished, and [`detect`](Self::detect) has returned `true`.
    #[cfg(feature = "codec")]
    #[inline]
    pub(crate) fn pass(&mut self, bytes: usize) -> Result<(), TranscodeError> {
        if bytes == 0 {
            return Ok(());
        }
        let missing =
            if self.conversion.policies.is_at_start() { self.conversion.missing_bom() } else { None };
        self.conversion.policies.pass_start();
        // They are line terminators, so they are not escape sequences.
        self.conversion.source.advance(b"\n");
        self.conversion.offset = self.conversion.offset.wrapping_add(bytes as u64);
        match missing {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Continues the output of another transcoder with the same target. Everything else stays as it is in this transcoder.
    #[cfg(feature = "codec")]
    pub(crate) const fn after(mut self, before: &Self) -> Self {
        self.conversion.target = before.conversion.target;
        self
    }

    /// Discards the bytes of an unfinished sequence as if they had not been fed. The caller still has them.
    #[cfg(any(feature = "codec", feature = "std", feature = "stream"))]
    pub(crate) fn give_back(&mut self) {
        let carry = &mut self.conversion.carry;
        self.conversion.offset = self.conversion.offset.wrapping_sub(u64::from(carry.len()));
        carry.set(&[]);
    }
}
