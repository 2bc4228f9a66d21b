//! Detection of UTF-16 without a BOM.

use kernels::count;

use crate::encoding::Encoding;

/// The number of bytes at the start of a stream that are examined as UTF-16.
pub(super) const PREFIX: u64 = 4 * 1024;

/// The minimum number of characters that are evidence for UTF-16.
const MIN_EVIDENCE: u32 = 3;

/// Statistics of the first bytes of a stream as UTF-16 in both byte orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    little: Units,
    big: Units,
    taken: u64,
    /// The first byte of an unfinished code unit.
    half: Option<u8>,
}

/// Statistics of the code units in one byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Units {
    count: u32,
    /// Characters with a byte that text in other encodings does not contain. TAB, LF, FF, CR and U+0020..=U+007E have a
    /// NUL; the punctuation characters U+3001, U+3002 and U+FF0C have 01, 02 and 0C.
    evidence: u32,
    /// Code units that are two printable ASCII characters if they are read as bytes. Kana and their punctuation are not
    /// counted, because their upper byte is always the character `0`.
    printable_pairs: u32,
    /// Code units below U+2000. Their upper byte is an ASCII control character.
    below_2000: u32,
    /// Control characters, and characters in rarely used blocks.
    unusual: u32,
    /// Whether there is U+0000, a noncharacter or an unpaired surrogate. Text contains none of these.
    impossible: bool,
    /// Whether the last unit was a high surrogate.
    high_surrogate: bool,
}

/// The evidence for UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Utf16Evidence {
    pub(super) encoding: Encoding,
    pub(super) units: u32,
    pub(super) evidence: u32,
}

impl Prefix {
    pub(super) const EMPTY: Self = Self { little: Units::NONE, big: Units::NONE, taken: 0, half: None };

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        let left = usize::try_from(PREFIX - self.taken).unwrap_or(usize::MAX);
        let chunk = &chunk[..chunk.len().min(left)];
        self.taken += chunk.len() as u64;
        if self.is_full() && self.is_short_of_evidence(chunk) {
            // UTF-16 is excluded, so the units need not be counted.
            self.little.impossible = true;
            self.big.impossible = true;
            return;
        }
        let mut rest = chunk;
        if let (Some(first), Some((&second, after))) = (self.half, chunk.split_first()) {
            self.half = None;
            self.take([first, second]);
            rest = after;
        }
        let (units, half) = rest.as_chunks::<2>();
        for &unit in units {
            self.take(unit);
        }
        if let [half] = *half {
            self.half = Some(half);
        }
    }

    /// Whether there is too little evidence for UTF-16 after `chunk`, the last one of the prefix. Every byte that may
    /// be part of evidence is counted as evidence, so the result `true` is always correct.
    fn is_short_of_evidence(&self, chunk: &[u8]) -> bool {
        // Each code unit that `Units::evidence` counts contains 00, 01 or 02, or is U+FF0C and contains FF. The range
        // wraps: FF, 00, 01, 02.
        let max = count::range(chunk, 0xFF, 0x02) + usize::from(self.half.is_some());
        let before = self.little.evidence.max(self.big.evidence);
        max < MIN_EVIDENCE.saturating_sub(before) as usize
    }

    #[inline(always)]
    fn take(&mut self, unit: [u8; 2]) {
        self.little.take_quickly(u16::from_le_bytes(unit));
        self.big.take_quickly(u16::from_be_bytes(unit));
    }

    /// Whether the prefix is complete. Later bytes are not examined.
    pub(super) const fn is_full(&self) -> bool {
        self.taken == PREFIX
    }

    /// Returns the evidence if the bytes look like UTF-16. `is_utf_8` is whether they are also well-formed UTF-8.
    pub(super) fn evidence(&self, is_utf_8: bool) -> Option<Utf16Evidence> {
        let little = &self.little;
        let big = &self.big;
        let (encoding, units) = match (little.are_text(is_utf_8), big.are_text(is_utf_8)) {
            (true, true) if little.evidence == big.evidence => return None,
            (true, true) if little.evidence > big.evidence => (Encoding::Utf16Le, little),
            (true, false) => (Encoding::Utf16Le, little),
            (_, true) => (Encoding::Utf16Be, big),
            (false, false) => return None,
        };
        Some(Utf16Evidence { encoding, units: units.count, evidence: units.evidence })
    }
}

impl Units {
    const NONE: Self = Self {
        count: 0,
        evidence: 0,
        printable_pairs: 0,
        below_2000: 0,
        unusual: 0,
        impossible: false,
        high_surrogate: false,
    };

    /// Whether the conditions in the documentation of `Detection::LooksLikeUtf16` are met.
    const fn are_text(&self, is_utf_8: bool) -> bool {
        !self.impossible
            && self.evidence >= MIN_EVIDENCE
            && self.unusual * 16 <= self.count
            && self.printable_pairs * 2 <= self.count
            && (!is_utf_8 || self.below_2000 * 4 >= self.count * 3)
    }

    /// Same as [`take`](Self::take), but uses a table if the properties of the unit depend only on its upper byte.
    #[inline(always)]
    fn take_quickly(&mut self, unit: u16) {
        let [upper, lower] = unit.to_be_bytes();
        let properties = UPPER[usize::from(upper)];
        if self.high_surrogate | (properties & DECIDED == 0) {
            return self.take(unit);
        }
        self.count += 1;
        self.unusual += u32::from(properties & UNUSUAL);
        self.below_2000 += u32::from(upper < 0x20);
        let is_printable = (properties & PRINTABLE != 0) & matches!(lower, 0x20..=0x7E);
        self.printable_pairs += u32::from(is_printable);
    }

    fn take(&mut self, unit: u16) {
        let after_high = core::mem::take(&mut self.high_surrogate);
        self.count += 1;
        self.impossible |= after_high != matches!(unit, 0xDC00..=0xDFFF);
        match unit {
            0x0000 | 0xFDD0..=0xFDEF | 0xFFFE..=0xFFFF => self.impossible = true,
            0xD800..=0xDBFF => self.high_surrogate = true,
            0x0009 | 0x000A | 0x000C | 0x000D | 0x0020..=0x007E | 0x3001 | 0x3002 | 0xFF0C => {
                self.evidence += 1
            }
            _ if is_unusual(unit) => self.unusual += 1,
            _ => {}
        }
        let is_printable = unit.to_be_bytes().iter().all(|byte| matches!(byte, 0x20..=0x7E));
        self.printable_pairs += u32::from(is_printable && unit >> 8 != 0x30);
        self.below_2000 += u32::from(unit < 0x2000);
    }
}

/// The properties that all units with the same upper byte share. Without `DECIDED` they also depend on the lower byte.
static UPPER: [u8; 256] = {
    let mut table = [0; 256];
    let mut upper = 0;
    while upper < 256 {
        let first = (upper as u16) << 8;
        // For these upper bytes the properties also depend on the lower byte: controls, rare blocks, kana, surrogates,
        // noncharacters.
        if !matches!(upper, 0x00 | 0x17 | 0x30 | 0xD8..=0xDF | 0xFD | 0xFF) {
            table[upper] = DECIDED;
            if is_unusual(first) {
                table[upper] |= UNUSUAL;
            }
            if matches!(upper, 0x20..=0x7E) {
                table[upper] |= PRINTABLE;
            }
        }
        upper += 1;
    }
    table
};

const UNUSUAL: u8 = 1;
const PRINTABLE: u8 = 2;
const DECIDED: u8 = 4;

const fn is_unusual(unit: u16) -> bool {
    match unit {
        0x0000..=0x001F | 0x007F..=0x009F => true,
        // Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic; the scripts of South and South-East Asia; Georgian,
        // Ethiopic, Khmer; more Latin and Greek; punctuation and symbols.
        0x00A0..=0x06FF | 0x0900..=0x0EFF | 0x1000..=0x13FF | 0x1780..=0x17FF | 0x1E00..=0x27FF => false,
        // Kana and CJK punctuation, CJK, Hangul, surrogates, presentation and full-width characters.
        0x3000..=0x31FF | 0x4E00..=0x9FFF | 0xAC00..=0xDFFF | 0xFE00..=0xFFFF => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_the_definition_for_every_unit() {
        for unit in 0..=u16::MAX {
            for after_high in [false, true] {
                let start = Units { high_surrogate: after_high, ..Units::NONE };
                let mut quick = start;
                let mut slow = start;
                quick.take_quickly(unit);
                slow.take(unit);
                assert_eq!(quick, slow, "{unit:04X}");
            }
        }
    }
}
