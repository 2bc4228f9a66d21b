//! The adopted subset: the characters that a receiver accepts.

use core::fmt;
use core::ops::RangeInclusive;

use kernels::class_search::{self, Class};

/// The code points that a receiver accepts: the *adopted subset* of ISO/IEC 10646-1 §2.3c.
///
/// Annex R.7 of that standard requires that a malformed sequence is interpreted "in the same way that \[a receiving
/// device] interprets a character that is outside the adopted subset". The [`ErrorPolicy`](crate::ErrorPolicy)
/// therefore applies to both. The error for a character outside the subset has the kind
/// [`ErrorKind::OutsideSubset`](crate::ErrorKind::OutsideSubset), the absolute offset of the character, and its length
/// in bytes.
///
/// A subset consists of `'static` ranges, so it is `Copy` and does not allocate. [`new`](Self::new) computes the first
/// bytes (two, or three for some) of the characters that may be outside. This takes time, so a subset should be a
/// `const` or a `static`. The vector code searches text for these bytes, and only the characters found are compared
/// with the ranges.
///
/// ```
/// use utf8_codec::{ErrorPolicy, Subset, TextDecoder};
///
/// const NO_SURPRISES: Subset = Subset::all_of(&[Subset::NO_CONTROLS, Subset::NO_BIDI_CONTROLS]);
/// static CYRILLIC: Subset = Subset::new(&[0x20..=0x7E, 0x400..=0x4FF]);
///
/// assert!(CYRILLIC.contains('ж') && !CYRILLIC.contains('é'));
/// let mut decoder = TextDecoder::new().with_subset(&NO_SURPRISES).with_error_policy(ErrorPolicy::Replace);
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
pub struct Subset {
    rule: Rule,
    /// The first bytes of all characters that are outside the subset. Some characters with these bytes may be inside.
    doubtful: Class,
}

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

    /// The Basic Multilingual Plane: the characters of UCS-2.
    pub const BMP: Self = Self::new(&[0..=0xFFFF]);

    /// All characters except U+0000, which terminates a C string.
    pub const NO_NUL: Self = Self::new(&[1..=LAST]);

    /// All characters except control characters (general category Cc: C0, DELETE and C1), which terminals interpret.
    /// TAB, LF and CR are in the subset.
    pub const NO_CONTROLS: Self = Self::new(&[0x20..=0x7E, 0xA0..=LAST, 0x9..=0xA, 0xD..=0xD]);

    /// All characters except those with the property `Bidi_Control`, which can make text look like other text
    /// (CVE-2021-42574, "Trojan Source").
    pub const NO_BIDI_CONTROLS: Self = Self::new(&[
        0..=0x61B,
        0x61D..=0x200D,
        0x2010..=0x2029,
        0x202F..=0x2065,
        0x206A..=LAST, //
    ]);

    /// All characters except the 66 noncharacters (Unicode D14): U+FDD0..U+FDEF and the last two code points of each of
    /// the seventeen planes.
    #[rustfmt::skip]
    pub const NO_NONCHARACTERS: Self = Self::new(&[
        0..=0xFDCF, 0xFDF0..=0xFFFD, 0x1_0000..=0x1_FFFD, 0x2_0000..=0x2_FFFD,
        0x3_0000..=0x3_FFFD, 0x4_0000..=0x4_FFFD, 0x5_0000..=0x5_FFFD, 0x6_0000..=0x6_FFFD,
        0x7_0000..=0x7_FFFD, 0x8_0000..=0x8_FFFD, 0x9_0000..=0x9_FFFD, 0xA_0000..=0xA_FFFD,
        0xB_0000..=0xB_FFFD, 0xC_0000..=0xC_FFFD, 0xD_0000..=0xD_FFFD, 0xE_0000..=0xE_FFFD,
        0xF_0000..=0xF_FFFD, 0x10_0000..=0x10_FFFD, 0x11_0000..=LAST,
    ]);

    /// The "XML Characters" of RFC 9839, section 4.2, which are the production `Char` of XML 1.0: no control characters
    /// below U+0020 except TAB, LF and CR, and neither U+FFFE nor U+FFFF.
    pub const XML_CHARACTERS: Self =
        Self::new(&[0x20..=0xD7FF, 0x9..=0xA, 0xD..=0xD, 0xE000..=0xFFFD, 0x1_0000..=0x10_FFFF]);

    /// The "Unicode Assignables" of RFC 9839, section 4.3: no control characters except TAB, LF and CR, and no
    /// noncharacters.
    pub const UNICODE_ASSIGNABLES: Self = Self::all_of(&[
        Self::new(&[0x20..=0x7E, 0xA0..=0xD7FF, 0x9..=0xA, 0xD..=0xD, 0xE000..=0x10_FFFF]),
        Self::NO_NONCHARACTERS,
    ]);

    /// The strings that MQTT 5.0, section 1.5.4, requires: without U+0000 (MQTT-1.5.4-2).
    pub const MQTT_5: Self = Self::new(&[0x1..=0xD7FF, 0xE000..=0x10_FFFF]);

    /// The strings that MQTT 5.0, section 1.5.4, recommends: also without the control characters U+0001 to U+001F and
    /// U+007F to U+009F, and without noncharacters. A receiver may close the connection if it receives one of these
    /// characters.
    pub const MQTT_5_RECOMMENDED: Self =
        Self::all_of(&[Self::new(&[0x20..=0x7E, 0xA0..=0xD7FF, 0xE000..=0x10_FFFF]), Self::NO_NONCHARACTERS]);

    /// The strings of I-JSON (RFC 7493, section 2.1), which have no noncharacters.
    pub const I_JSON: Self =
        Self::all_of(&[Self::new(&[0x0..=0xD7FF, 0xE000..=0x10_FFFF]), Self::NO_NONCHARACTERS]);

    /// JSON texts (RFC 8259, sections 2 and 7). Control characters below U+0020 are escaped. TAB, LF and CR are white
    /// space between tokens; a parser must reject them inside strings.
    pub const JSON_TEXT: Self = Self::new(&[0x20..=0xD7FF, 0x9..=0xA, 0xD..=0xD, 0xE000..=0x10_FFFF]);

    /// The printable characters of YAML 1.2.2, section 5.1 (`c-printable`).
    pub const YAML_PRINTABLE: Self = Self::new(&[
        0x20..=0x7E,
        0xA0..=0xD7FF,
        0x9..=0xA,
        0xD..=0xD,
        0x85..=0x85,
        0xE000..=0xFFFD,
        0x1_0000..=0x10_FFFF,
    ]);

    /// Creates a subset of the code points of these ranges. They are searched in order: put the most frequent range
    /// first.
    #[inline]
    pub const fn new(ranges: &'static [RangeInclusive<u32>]) -> Self {
        Self { rule: Rule::AnyOf(ranges), doubtful: doubtful(ranges) }
    }

    /// Creates a subset of the code points that are in all of these subsets.
    #[inline]
    pub const fn all_of(subsets: &'static [Self]) -> Self {
        let mut doubtful = Class::EMPTY;
        let mut i = 0;
        while i < subsets.len() {
            doubtful = doubtful.or(&subsets[i].doubtful);
            i += 1;
        }
        Self { rule: Rule::AllOf(subsets), doubtful }
    }

    /// Whether a code point is in the subset. The code point may be a surrogate or a 31-bit value (RFC 2279).
    pub fn contains(&self, code_point: impl Into<u32>) -> bool {
        self.holds(code_point.into())
    }

    #[inline]
    fn holds(&self, code_point: u32) -> bool {
        match self.rule {
            Rule::AnyOf(ranges) => ranges.iter().any(|range| range.contains(&code_point)),
            Rule::AllOf(subsets) => subsets.iter().all(|subset| subset.holds(code_point)),
        }
    }

    /// Whether `character`, the first character of `text`, is outside the subset.
    #[inline]
    fn rejects(&self, character: char, text: &str) -> bool {
        match self.rule {
            Rule::AnyOf(_) => !self.contains(character),
            // Skips the subsets that certainly contain the character.
            Rule::AllOf(subsets) => {
                subsets.iter().any(|subset| subset.is_doubtful(text) && subset.rejects(character, text))
            }
        }
    }

    /// Whether the first character of `text` may be outside the subset.
    #[inline]
    fn is_doubtful(&self, text: &str) -> bool {
        self.doubtful.begins(text.as_bytes())
    }

    /// Calls `found` with the position of each character of `text` outside the subset, and the character, in order.
    ///
    /// ```
    /// use utf8_codec::Subset;
    ///
    /// let mut found = Vec::new();
    /// Subset::NO_BIDI_CONTROLS.for_each_outside("a\u{202E}b\u{E9}\u{2066}", |at, character| found.push((at, character)));
    /// assert_eq!(found, [(1, '\u{202E}'), (7, '\u{2066}')]);
    /// ```
    #[inline]
    pub fn for_each_outside(&self, text: &str, mut found: impl FnMut(usize, char)) {
        class_search::each(text.as_bytes(), &self.doubtful, |at| {
            let rest = text.get(at..).unwrap_or_default();
            if let Some(character) = rest.chars().next().filter(|&it| self.rejects(it, rest)) {
                found(at, character);
            }
            true
        });
    }

    /// Whether the character with this value and this sequence is outside the subset.
    #[inline]
    pub(crate) fn excludes(&self, value: u32, sequence: &[u8]) -> bool {
        self.doubtful.begins(sequence) && !self.holds(value)
    }

    /// Whether every ASCII character is in the subset.
    #[inline]
    pub(crate) const fn has_ascii(&self) -> bool {
        !self.doubtful.has_ascii()
    }

    /// Returns the position of the first character of `text` outside the subset, and the character.
    #[doc(hidden)]
    #[inline]
    pub fn first_outside(&self, text: &str) -> Option<(usize, char)> {
        // A seam is compared at once.
        if text.len() <= 4 {
            return text
                .char_indices()
                .find(|&(at, it)| self.rejects(it, text.get(at..).unwrap_or_default()));
        }
        // So is the first character, because one that is outside often follows another one.
        if let Some(first) =
            text.chars().next().filter(|&first| self.is_doubtful(text) && self.rejects(first, text))
        {
            return Some((0, first));
        }
        let mut outside = None;
        class_search::each(text.as_bytes(), &self.doubtful, |at| {
            let rest = text.get(at..).unwrap_or_default();
            outside = rest.chars().next().filter(|&it| self.rejects(it, rest)).map(|it| (at, it));
            outside.is_none()
        });
        outside
    }

    /// Whether a character of `text` is outside the subset. The first `inside` bytes are known to be in it.
    #[inline]
    pub(crate) fn has_outside_after(&self, inside: usize, text: &str) -> bool {
        self.first_outside(text.get(inside..).unwrap_or_default()).is_some()
    }

    /// Returns the first bytes of the characters that may be outside the subset.
    #[inline]
    pub(crate) const fn doubtful(&self) -> &Class {
        &self.doubtful
    }
}

/// For more ranges than this the second bytes are not computed, because the compiler limits the evaluation time of
/// constants.
const MANY_RANGES: usize = 64;

/// For more ranges than this, or for more than [`MANY_PAIRS`] pairs of lead and second byte, the third bytes are not
/// computed.
const MANY_RANGES_OF_THIRDS: usize = 24;

/// The maximum number of pairs of lead and second byte for which third bytes are computed.
const MANY_PAIRS: u32 = 24;

/// Returns the first bytes of all characters that may be outside the ranges.
#[inline]
const fn doubtful(ranges: &[RangeInclusive<u32>]) -> Class {
    let mut class = Class::EMPTY;
    let mut byte = 0;
    while byte < 0x80 {
        if !has_all(ranges, byte as u32, byte as u32) {
            class = class.with_ascii(byte, byte);
        }
        byte += 1;
    }
    let mut pairs = 0;
    let mut lead = 0xC2_u8;
    while lead <= 0xF4 {
        // The number of bits in the bytes after the lead byte, and the minimum and maximum value of sequences of this
        // length.
        let (bits, min, max) = match lead {
            0xC2..=0xDF => (6, 0x80, 0x7FF),
            0xE0..=0xEF => (12, 0x800, 0xFFFF),
            _ => (18, 0x1_0000, 0x10_FFFF),
        };
        let leads = 1 << (lead & 63);
        // A bit for each second byte: whether text has no character with it.
        let impossible: u64 = match lead {
            0xE0 => 0xFFFF_FFFF,
            0xED => 0xFFFF_FFFF << 32,
            0xF0 => 0xFFFF,
            0xF4 => !0xFFFF,
            _ => 0,
        };
        let first = ((lead & (0x7F >> (bits / 6 + 1))) as u32) << bits;
        lead += 1;
        // Compilers evaluate this function for each constant, so it skips what it can.
        let near_lead = near(ranges, first, first + (1 << bits) - 1);
        if has_values(near_lead, first, first + (1 << bits) - 1, min, max) {
            continue;
        }
        if near_lead.is_empty() {
            if bits > 6 && ranges.len() <= MANY_RANGES_OF_THIRDS {
                pairs += (!impossible).count_ones();
            }
            class = class.with_sequences([leads, u64::MAX, u64::MAX]);
            continue;
        }
        // A bit for each second byte: whether all characters with it are doubtful, and whether those that also have a
        // third byte in `thirds` are.
        let mut all = 0_u64;
        let mut some = 0;
        let mut thirds = 0;
        let mut second = 0;
        while second < 64 {
            let first = first + ((second as u32) << (bits - 6));
            let last = first + (1 << (bits - 6)) - 1;
            let bit = 1 << second;
            second += 1;
            if ranges.len() <= MANY_RANGES && has_values(near_lead, first, last, min, max) {
                continue;
            }
            let mut thirds_of_second = u64::MAX;
            if bits > 6 && pairs < MANY_PAIRS && ranges.len() <= MANY_RANGES_OF_THIRDS {
                thirds_of_second = doubtful_thirds(near(near_lead, first, last), first, bits - 12, min, max);
                pairs += 1;
            }
            if thirds_of_second == u64::MAX {
                all |= bit;
            } else {
                if thirds_of_second != thirds && some != 0 {
                    class = class.with_sequences([leads, some, thirds]);
                    some = 0;
                }
                some |= bit;
                thirds = thirds_of_second;
            }
        }
        if some != 0 {
            class = class.with_sequences([leads, some, thirds]);
        }
        if all != 0 {
            let all = if all | impossible == u64::MAX { u64::MAX } else { all };
            class = class.with_sequences([leads, all, u64::MAX]);
        }
    }
    class
}

/// Returns a bit for each of the 64 third bytes, set if a character is outside the ranges. `first` is the value of the
/// first character, and each third byte has `1 << bits` characters.
#[inline]
const fn doubtful_thirds(ranges: &[RangeInclusive<u32>], first: u32, bits: u32, min: u32, max: u32) -> u64 {
    let mut thirds = 0;
    let mut third = 0;
    while third < 64 {
        let first = first + (third << bits);
        if !has_values(ranges, first, first + (1 << bits) - 1, min, max) {
            thirds |= 1 << third;
        }
        third += 1;
    }
    thirds
}

/// Whether the values from `first` to `last` are in the ranges. Values that text cannot have are ignored: those outside
/// `min..=max`, and surrogates.
#[inline]
const fn has_values(ranges: &[RangeInclusive<u32>], first: u32, last: u32, min: u32, max: u32) -> bool {
    let first = if first < min { min } else { first };
    let last = if last > max { max } else { last };
    if first > last || first >= 0xD800 && last <= 0xDFFF {
        return true;
    }
    // Only the lead byte ED has surrogates. Its other values are below them.
    let last = if first < 0xD800 && last >= 0xD800 && last <= 0xDFFF { 0xD7FF } else { last };
    has_all(ranges, first, last)
}

/// Returns the ranges without those at the start and at the end that have no value of `first..=last`.
#[inline]
const fn near(mut ranges: &[RangeInclusive<u32>], first: u32, last: u32) -> &[RangeInclusive<u32>] {
    while let Some((range, rest)) = ranges.split_first() {
        if *range.start() <= last && first <= *range.end() {
            break;
        }
        ranges = rest;
    }
    while let Some((range, rest)) = ranges.split_last() {
        if *range.start() <= last && first <= *range.end() {
            break;
        }
        ranges = rest;
    }
    ranges
}

/// Whether every value of `first..=last` is in one of the ranges.
#[inline]
const fn has_all(ranges: &[RangeInclusive<u32>], first: u32, last: u32) -> bool {
    // All values before `next` are in a range.
    let mut next = first;
    loop {
        let mut i = 0;
        let before = next;
        while i < ranges.len() {
            if *ranges[i].start() <= next {
                let end = *ranges[i].end();
                if end >= last {
                    return true;
                }
                if end >= next {
                    next = end + 1;
                }
            }
            i += 1;
        }
        if next == before {
            return false;
        }
    }
}

impl fmt::Debug for Subset {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Rule::AnyOf(ranges) => write!(f, "Subset({ranges:X?})"),
            Rule::AllOf(subsets) => write!(f, "Subset(all of {subsets:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges that adjoin, overlap and are not in order.
    static TOGETHER: Subset = Subset::new(&[
        0x1_F411..=0x10_FFFF,
        0..=0x7F,
        0x100..=0x1_F410,
        0xA5..=0xFF,
        0x90..=0xB0,
        0x80..=0x8E,
    ]);

    #[test]
    fn only_characters_with_the_first_three_bytes_of_one_outside_are_doubtful() {
        for subset in [
            Subset::ASCII,
            Subset::LATIN_1,
            Subset::BMP,
            Subset::NO_NUL,
            Subset::NO_CONTROLS,
            Subset::NO_BIDI_CONTROLS,
            Subset::NO_NONCHARACTERS,
            Subset::MQTT_5,
            Subset::JSON_TEXT,
            Subset::YAML_PRINTABLE,
            TOGETHER,
        ] {
            let is_tested = |character: &char| *character <= '\u{FFFF}' || *character as u32 & 0x3F == 0;
            for character in ('\0'..=char::MAX).filter(is_tested) {
                let first = u32::from(character);
                let last = if first > 0xFFFF { first | 0x3F } else { first };
                let expected = (first..=last).any(|code_point| !subset.contains(code_point));
                let is_doubtful = subset.is_doubtful(character.encode_utf8(&mut [0; 4]));
                assert_eq!(is_doubtful, expected, "{character:?} {subset:?}");
            }
        }
    }
}
