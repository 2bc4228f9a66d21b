//! What a kernel consists of.

use core::fmt;
use core::num::NonZeroUsize;

use super::state::ScanState;

/// The functions of a kernel, whether this CPU has the instructions for them or not.
pub(super) struct Functions {
    pub(super) name: &'static str,
    /// Whether this CPU has the instructions.
    pub(super) is_supported: fn() -> bool,
    pub(super) validate: Validate,
    pub(super) is_text: IsText,
    pub(super) count: Count,
    /// `None` where the portable loop is all there is.
    #[cfg(feature = "mime")]
    pub(super) decode_base64: Option<DecodeBase64>,
    #[cfg(feature = "codec")]
    pub(super) find_all: FindAll,
    pub(super) find_class: FindClass,
    /// `None` where the portable loops are all there is.
    #[cfg(feature = "transcode")]
    pub(super) utf16: Option<Utf16>,
    /// `None` where the portable loops are all there is.
    #[cfg(feature = "transcode")]
    pub(super) conversions: Option<Conversions>,
}

/// The index of a byte in a chunk. It is stored plus one, so that `Result<(), Index>` takes one register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Index(NonZeroUsize);

impl Index {
    #[inline]
    pub(super) const fn new(index: usize) -> Self {
        Self(NonZeroUsize::MIN.saturating_add(index))
    }

    #[inline]
    pub(crate) const fn get(self) -> usize {
        self.0.get() - 1
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Validates the next chunk of a stream.
///
/// `Ok` moves the state past the chunk. `Err(index)` leaves the bytes in the state as they are, and means that
/// `chunk[index]` makes the stream ill-formed. If that is a byte which no well-formed text holds (`C0`, `C1`, `F5..=FF`)
/// the index may be that of the byte after it.
///
/// An ill-formed last byte is reported here, not when the next chunk comes.
///
/// # Safety
///
/// - [`Functions::is_supported`] returned true.
/// - The chunk has 4 bytes or more.
///
/// The chunk is the first argument, as in [`IsText`]. So the functions call each other without moves between registers.
pub(super) type Validate = unsafe fn(&[u8], &mut ScanState) -> Result<(), Index>;

/// Whether bytes are well-formed from the first to the last.
///
/// # Safety
///
/// As for [`Validate`].
pub(super) type IsText = unsafe fn(&[u8]) -> bool;

/// Counts how often a byte occurs.
///
/// # Safety
///
/// [`Functions::is_supported`] returned true.
pub(super) type Count = unsafe fn(bytes: &[u8], wanted: u8) -> usize;

/// Decodes groups of 4 base64 symbols to 3 bytes each, up to a group with another byte or somewhat before it, to the end of the
/// symbols or to the end of the output. Returns the number of groups. Output after them may be overwritten.
///
/// # Safety
///
/// [`Functions::is_supported`] returned true.
#[cfg(feature = "mime")]
pub(super) type DecodeBase64 = unsafe fn(symbols: &[u8], output: &mut [u8]) -> usize;

/// The number of bytes that are compared at once.
pub(super) const BLOCK: usize = 64;

/// Positions that are found in one call. A block is only looked at if there is room for all of its positions.
pub(super) const CAPACITY: usize = 3 * BLOCK;

/// Writes the positions of a byte in order, for the first [`Found::searched`] of the bytes.
///
/// # Safety
///
/// [`Functions::is_supported`] returned true.
#[cfg(feature = "codec")]
pub(super) type FindAll = unsafe fn(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found;

/// What a call of [`FindAll`] or [`FindClass`] did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Positions that were written: [`CAPACITY`] or fewer.
    pub(super) count: usize,
    /// The number of bytes that were searched; 0 only if there are none.
    pub(super) searched: usize,
}

/// A set of ASCII bytes and of lead bytes, with the second bytes that leads of the set must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    /// A bit for each byte. The third word, of bytes that begin nothing, has the second bytes after leads of 2.
    words: [u64; 4],
    /// The second bytes after leads of 3 and more.
    seconds_of_long: u64,
}

impl Class {
    pub(crate) const EMPTY: Self = Self { words: [0; 4], seconds_of_long: 0 };

    /// With the bytes of a range, which are ASCII or leads; other bytes are ignored.
    pub(crate) const fn with(mut self, first: u8, last: u8) -> Self {
        let mut byte = first as usize;
        while byte <= last as usize {
            if byte >> 6 != 2 {
                self.words[byte >> 6] |= 1 << (byte & 63);
            }
            byte += 1;
        }
        self
    }

    /// With the second bytes of a range, which are continuations, after leads of the length of `lead`.
    pub(crate) const fn with_seconds(mut self, lead: u8, first: u8, last: u8) -> Self {
        let mut byte = first as usize;
        while byte <= last as usize {
            let seconds = if lead < 0xE0 { &mut self.words[2] } else { &mut self.seconds_of_long };
            *seconds |= 1 << (byte & 63);
            byte += 1;
        }
        self
    }

    /// With all second bytes.
    #[cfg(feature = "transcode")]
    pub(crate) const fn with_all_seconds(self) -> Self {
        self.with_seconds(0xC0, 0x80, 0xBF).with_seconds(0xE0, 0x80, 0xBF)
    }

    /// The bytes of both.
    pub(crate) const fn or(self, other: Self) -> Self {
        let [a, b, c, d] = self.words;
        let [e, f, g, h] = other.words;
        Self {
            words: [a | e, b | f, c | g, d | h],
            seconds_of_long: self.seconds_of_long | other.seconds_of_long,
        }
    }

    /// Whether the first byte of `bytes` is found in them.
    #[inline]
    pub(crate) fn begins(&self, bytes: &[u8]) -> bool {
        match *bytes {
            [first @ 0x80..=0xFF, second, ..] => self.has(first) && self.has_second(first, second),
            [first, ..] => self.has(first),
            [] => false,
        }
    }

    /// Whether an ASCII byte or a lead is in the class.
    #[inline]
    pub(super) const fn has(&self, byte: u8) -> bool {
        byte >> 6 != 2 && self.words[(byte >> 6) as usize] >> (byte & 63) & 1 != 0
    }

    /// Whether a byte is one that may follow this lead of the class.
    #[inline]
    pub(super) const fn has_second(&self, lead: u8, byte: u8) -> bool {
        let seconds = if lead < 0xE0 { self.words[2] } else { self.seconds_of_long };
        byte >> 6 == 2 && seconds >> (byte & 63) & 1 != 0
    }

    /// 64 bits each: the bytes `00..=3F`, `40..=7F`, the second bytes after leads of 2, the leads, the other second bytes.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    pub(super) const fn words(&self) -> [u64; 5] {
        let [a, b, c, d] = self.words;
        [a, b, c, d, self.seconds_of_long]
    }

    /// For each value of the low 4 bits of a byte, a bit for each value of its high 4 bits: 0 to 7, and 8 to F.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    #[inline]
    pub(super) fn nibbles(&self) -> ([u8; 16], [u8; 16]) {
        let [a, b, _, d] = self.words;
        let (mut low, mut high) = ([0; 16], [0; 16]);
        // Written for the compiler's vectors: 16 lanes, a step for each value of the high 4 bits.
        for nibble in 0..4 {
            for (i, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
                let bit = |word: u64| (word >> (16 * nibble + i) & 1) as u8;
                *low |= bit(a) << nibble | bit(b) << (4 + nibble);
                *high |= bit(d) << (4 + nibble);
            }
        }
        (low, high)
    }
}

/// Writes the positions of the bytes of a class in order, for the first [`Found::searched`] of the bytes. A lead counts if the
/// byte after it is a second byte of the class, or if there is none.
///
/// # Safety
///
/// [`Functions::is_supported`] returned true.
pub(super) type FindClass = unsafe fn(bytes: &[u8], class: &Class, positions: &mut [u16; CAPACITY]) -> Found;

/// The conversions that a kernel has vectors for, each for little-endian and for big-endian code units.
#[cfg(feature = "transcode")]
pub(super) struct Utf16 {
    pub(super) encode: [Encode; 2],
    pub(super) decode: [Decode; 2],
}

/// Writes text as UTF-16, all of it or up to a character near its end. Returns the bytes read and the bytes written, which
/// are at most 2 for each byte read.
///
/// # Safety
///
/// - [`Functions::is_supported`] returned true.
/// - The output has 2 bytes for each byte of the text.
#[cfg(feature = "transcode")]
pub(super) type Encode = unsafe fn(text: &str, output: &mut [u8]) -> (usize, usize);

/// Reads UTF-16 and writes UTF-8 while there is plenty of both, up to an unpaired surrogate or somewhat before it.
/// Returns the bytes read and the bytes written.
///
/// # Safety
///
/// [`Functions::is_supported`] returned true.
#[cfg(feature = "transcode")]
pub(super) type Decode = unsafe fn(input: &[u8], output: &mut [u8]) -> (usize, usize);

/// More conversions that a kernel has vectors for.
#[cfg(feature = "transcode")]
pub(super) struct Conversions {
    /// UTF-8 from ISO 8859-1 and from windows-1252.
    pub(super) decode_latin: [Convert; 2],
    /// Bytes from UTF-8 for the characters that are the same in both encodings.
    pub(super) encode_latin: Convert,
    /// UTF-32 from UTF-8, as [`Encode`] but with 4 bytes of output for each byte of the text; little-endian and big-endian.
    pub(super) encode_utf32: [Encode; 2],
    /// UTF-8 from UTF-32, up to what is not a scalar value.
    pub(super) decode_utf32: [Convert; 2],
    /// UTF-32 from UTF-16, by the byte order of the input and then of the output.
    pub(super) utf32_from_utf16: [Convert; 4],
    /// UTF-16 from UTF-32, by the byte order of the input and then of the output.
    pub(super) utf32_to_utf16: [Convert; 4],
}

/// Reads input and writes output while there is plenty of both, up to something that it does not convert or somewhat before
/// it. Returns the bytes read and the bytes written. Output after them may be overwritten.
///
/// # Safety
///
/// [`Functions::is_supported`] returned true.
#[cfg(feature = "transcode")]
pub(super) type Convert = unsafe fn(input: &[u8], output: &mut [u8]) -> (usize, usize);
