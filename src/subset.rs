//! The adopted subset: which characters a receiver accepts.

use core::fmt;
use core::ops::RangeInclusive;

/// The code points that a receiver accepts: the *adopted subset* of ISO/IEC 10646-1 §2.3c.
///
/// Annex R.7 of that standard demands that a malformed sequence be interpreted "in the same way that \[a receiving
/// device] interprets a character that is outside the adopted subset". So the [`ErrorPolicy`](crate::ErrorPolicy)
/// applies to a character outside the subset as to an ill-formed sequence. The error has the kind
/// [`ErrorKind::OutsideSubset`](crate::ErrorKind::OutsideSubset), the absolute offset of the character, and its length
/// in bytes.
///
/// A subset consists of `'static` ranges, so it is `Copy` and does not allocate:
///
/// ```
/// use utf8_codec::{ErrorPolicy, Subset, TextDecoder};
///
/// const NO_SURPRISES: Subset = Subset::all_of(&[Subset::NO_CONTROLS, Subset::NO_BIDI_CONTROLS]);
/// static CYRILLIC: Subset = Subset::new(&[0x20..=0x7E, 0x400..=0x4FF]);
///
/// assert!(CYRILLIC.contains('ж') && !CYRILLIC.contains('é'));
/// let mut decoder = TextDecoder::new().subset(NO_SURPRISES).on_error(ErrorPolicy::Replace);
/// let mut text = String::new();
/// for chunk in [&b"a\x00b\xE2\x80"[..], b"\xAEc"] {
///     for piece in decoder.feed(chunk) {
///         text.push_str(piece.text()?);
///     }
/// }
/// assert_eq!(text, "a\u{FFFD}b\u{FFFD}c");
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subset(Rule);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    AnyOf(&'static [RangeInclusive<u32>]),
    AllOf(&'static [Subset]),
}

/// The highest value of any encoding (RFC 2279 §2).
const LAST: u32 = 0x7FFF_FFFF;

impl Subset {
    /// `00..=7F`.
    pub const ASCII: Self = Self::new(&[0..=0x7F]);

    /// ISO 8859-1: `00..=FF`.
    pub const LATIN_1: Self = Self::new(&[0..=0xFF]);

    /// The Basic Multilingual Plane: what fits in UCS-2.
    pub const BMP: Self = Self::new(&[0..=0xFFFF]);

    /// Everything but U+0000, which ends a string in C.
    pub const NO_NUL: Self = Self::new(&[1..=LAST]);

    /// Everything but the control characters (general category Cc: C0, DELETE and C1), which terminals interpret. TAB,
    /// LF and CR are in the subset.
    pub const NO_CONTROLS: Self = Self::new(&[0x20..=0x7E, 0xA0..=LAST, 0x9..=0xA, 0xD..=0xD]);

    /// Everything but the characters with the property `Bidi_Control`, which make text look like other text
    /// (CVE-2021-42574, "Trojan Source").
    pub const NO_BIDI_CONTROLS: Self = Self::new(&[
        0..=0x61B,
        0x61D..=0x200D,
        0x2010..=0x2029,
        0x202F..=0x2065,
        0x206A..=LAST, //
    ]);

    /// Everything but the 66 noncharacters (Unicode D14): U+FDD0..U+FDEF and the last two code points of each of the
    /// seventeen planes.
    pub const NO_NONCHARACTERS: Self = Self::new(&[
        0..=0xFDCF,
        0xFDF0..=0xFFFD,
        0x1_0000..=0x1_FFFD,
        0x2_0000..=0x2_FFFD,
        0x3_0000..=0x3_FFFD,
        0x4_0000..=0x4_FFFD,
        0x5_0000..=0x5_FFFD,
        0x6_0000..=0x6_FFFD,
        0x7_0000..=0x7_FFFD,
        0x8_0000..=0x8_FFFD,
        0x9_0000..=0x9_FFFD,
        0xA_0000..=0xA_FFFD,
        0xB_0000..=0xB_FFFD,
        0xC_0000..=0xC_FFFD,
        0xD_0000..=0xD_FFFD,
        0xE_0000..=0xE_FFFD,
        0xF_0000..=0xF_FFFD,
        0x10_0000..=0x10_FFFD,
        0x11_0000..=LAST,
    ]);

    /// The code points of any of these ranges. They are searched in order: put the most frequent range first.
    pub const fn new(ranges: &'static [RangeInclusive<u32>]) -> Self {
        Self(Rule::AnyOf(ranges))
    }

    /// The code points that are in all of these subsets.
    pub const fn all_of(subsets: &'static [Self]) -> Self {
        Self(Rule::AllOf(subsets))
    }

    /// Whether a code point is in the subset. It may be a surrogate, or a 31-bit value (RFC 2279).
    #[inline]
    pub fn contains(&self, code_point: impl Into<u32>) -> bool {
        self.holds(code_point.into())
    }

    fn holds(&self, code_point: u32) -> bool {
        match self.0 {
            Rule::AnyOf(ranges) => ranges.iter().any(|range| range.contains(&code_point)),
            Rule::AllOf(subsets) => subsets.iter().all(|subset| subset.holds(code_point)),
        }
    }

    /// The first character of `text` outside the subset, with its position.
    pub(crate) fn first_outside(&self, text: &str) -> Option<(usize, char)> {
        text.char_indices().find(|&(_, character)| !self.contains(character))
    }
}

impl fmt::Debug for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Rule::AnyOf(ranges) => write!(f, "Subset({ranges:X?})"),
            Rule::AllOf(subsets) => write!(f, "Subset(all of {subsets:?})"),
        }
    }
}
