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
    /// `None` where the portable loops are all there is.
    #[cfg(feature = "transcode")]
    pub(super) utf16: Option<Utf16>,
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

/// Bytes that are compared at once.
#[cfg(feature = "codec")]
pub(super) const BLOCK: usize = 64;

/// Positions that are found in one call. A block is only looked at if there is room for all of its positions.
#[cfg(feature = "codec")]
pub(super) const CAPACITY: usize = 3 * BLOCK;

/// Writes the positions of a byte in order, for the first [`Found::searched`] of the bytes.
///
/// # Safety
///
/// [`Functions::is_supported`] returned true.
#[cfg(feature = "codec")]
pub(super) type FindAll = unsafe fn(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found;

/// What a call of [`FindAll`] did.
#[cfg(feature = "codec")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Positions that were written: [`CAPACITY`] or fewer.
    pub(super) count: usize,
    /// Bytes that were looked at; 0 only if there are none.
    pub(super) searched: usize,
}

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
