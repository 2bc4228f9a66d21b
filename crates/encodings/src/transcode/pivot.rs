//! Conversions between encodings without sequences, through UTF-16, a block at a time. The compiler vectorizes
//! the loops.
//!
//! Ill-formed input, characters that the target does not have, and characters above U+FFFF are left to the caller,
//! which converts them code point by code point.

use kernels::windows_1252::windows_1252;

use super::source::Source;
use super::target::{Target, encode_windows_1252};
use crate::encoding::Encoding;

/// The maximum number of code units in a block. Input, units and output fit in the L1 cache.
const MOST_UNITS: usize = 2048;

/// The number of code units of the first block. Each block may have twice as many as the one before. A small first
/// block limits the wasted work if one of its code points is left to the caller.
pub(super) const FIRST_UNITS: usize = 64;

/// The number of code units that are tested at once.
const STEP: usize = 32;

/// A conversion through UTF-16.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pivot {
    from: Side,
    to: Side,
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Latin1,
    Windows1252,
    Utf16 { big_endian: bool },
    Utf32 { big_endian: bool },
}

impl Side {
    const fn new(encoding: Encoding) -> Option<Self> {
        Some(match encoding {
            Encoding::Latin1 => Self::Latin1,
            Encoding::Windows1252 => Self::Windows1252,
            Encoding::Utf16Le => Self::Utf16 { big_endian: false },
            Encoding::Utf16Be => Self::Utf16 { big_endian: true },
            Encoding::Utf32Le => Self::Utf32 { big_endian: false },
            Encoding::Utf32Be => Self::Utf32 { big_endian: true },
            _ => return None,
        })
    }

    /// Returns the number of bytes in a code unit.
    const fn width(self) -> usize {
        match self {
            Self::Latin1 | Self::Windows1252 => 1,
            Self::Utf16 { .. } => 2,
            Self::Utf32 { .. } => 4,
        }
    }
}

impl Pivot {
    /// Creates a conversion. Returns `None` if one of the encodings is not a [`Side`].
    pub(super) fn new(source: &Source, target: &Target) -> Option<Self> {
        let from = Side::new(source.encoding())?;
        let to = Side::new(target.encoding())?;
        Some(Self { from, to })
    }

    /// Whether ASCII is the same in both encodings.
    pub(super) fn copies_ascii(self) -> bool {
        self.from.width() == 1 && self.to.width() == 1
    }

    /// Converts from the start of `src`, up to the end of a slice or to a code point that is left to the caller.
    /// Returns the number of bytes read and the number of bytes written.
    pub(super) fn convert(self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        let mut units = [0; 2 * MOST_UNITS];
        let mut read = 0;
        let mut written = 0;
        let mut block = FIRST_UNITS;
        loop {
            let src = &src[read..];
            let dst = &mut dst[written..];
            let count = block.min(src.len() / self.from.width()).min(dst.len() / self.to.width());
            let decoded = self.decode(&src[..count * self.from.width()], &mut units);
            let encoded = self.encode(&units[..2 * decoded], dst);
            read += encoded * self.from.width();
            written += encoded * self.to.width();
            if encoded < block {
                return (read, written);
            }
            block = (2 * block).min(MOST_UNITS);
        }
    }

    /// Decodes whole code points to little-endian UTF-16 code units. Returns the number of units.
    fn decode(self, src: &[u8], units: &mut [u8; 2 * MOST_UNITS]) -> usize {
        match self.from {
            Side::Latin1 => map(src, units, |_| true, |[byte]| [byte, 0]),
            Side::Windows1252 => {
                let mut count = 0;
                while count < src.len() {
                    // Most bytes are the same as in ISO 8859-1.
                    count += map(
                        &src[count..],
                        &mut units[2 * count..],
                        |[byte]| byte & 0xE0 != 0x80,
                        |[byte]| [byte, 0],
                    );
                    let end = src.len().min(count + STEP);
                    count += map(
                        &src[count..end],
                        &mut units[2 * count..],
                        |_| true,
                        |[byte]| (windows_1252(byte) as u16).to_le_bytes(),
                    );
                }
                count
            }
            Side::Utf16 { big_endian: false } => map(src, units, |_| true, |unit: [u8; 2]| unit),
            Side::Utf16 { big_endian: true } => map(src, units, |_| true, |[high, low]| [low, high]),
            Side::Utf32 { big_endian: false } => {
                map(src, units, |bytes| is_one_unit(u32::from_le_bytes(bytes)), |[a, b, ..]| [a, b])
            }
            Side::Utf32 { big_endian: true } => {
                map(src, units, |bytes| is_one_unit(u32::from_be_bytes(bytes)), |[.., b, a]| [a, b])
            }
        }
    }

    /// Encodes little-endian UTF-16 code units. Returns the number of units.
    fn encode(self, units: &[u8], dst: &mut [u8]) -> usize {
        match self.to {
            Side::Latin1 => map(units, dst, |[_, high]| high == 0, |[low, _]| [low]),
            Side::Windows1252 => {
                let mut count = 0;
                loop {
                    count += map(&units[2 * count..], &mut dst[count..], is_latin_1, |[low, _]| [low]);
                    let Some(&unit) = units[2 * count..].first_chunk() else { break };
                    let Some(byte) = encode_windows_1252(u16::from_le_bytes(unit).into()) else { break };
                    dst[count] = byte;
                    count += 1;
                }
                count
            }
            Side::Utf16 { big_endian: false } => map(units, dst, is_no_surrogate, |unit| unit),
            Side::Utf16 { big_endian: true } => map(units, dst, is_no_surrogate, |[low, high]| [high, low]),
            Side::Utf32 { big_endian: false } => {
                map(units, dst, is_no_surrogate, |[low, high]| [low, high, 0, 0])
            }
            Side::Utf32 { big_endian: true } => {
                map(units, dst, is_no_surrogate, |[low, high]| [0, 0, high, low])
            }
        }
    }
}

/// Whether a little-endian UTF-16 code unit is a character of ISO 8859-1 that windows-1252 has with the same byte.
fn is_latin_1([low, high]: [u8; 2]) -> bool {
    high == 0 && low & 0xE0 != 0x80
}

/// Whether a little-endian UTF-16 code unit is not a surrogate.
fn is_no_surrogate(unit: [u8; 2]) -> bool {
    is_one_unit(u16::from_le_bytes(unit).into())
}

/// Whether a value is a single UTF-16 code unit and not a surrogate.
const fn is_one_unit(value: u32) -> bool {
    value < 0x1_0000 && value & 0xF800 != 0xD800
}

/// Maps units of `S` bytes to units of `T` bytes, up to one that is not simple or to the end of a slice. Returns the
/// number of units.
#[inline(always)]
fn map<const S: usize, const T: usize>(
    src: &[u8],
    dst: &mut [u8],
    is_simple: impl Fn([u8; S]) -> bool,
    to: impl Fn([u8; S]) -> [u8; T],
) -> usize {
    let src = src.as_chunks().0;
    let dst = dst.as_chunks_mut().0;
    let mut count = 0;
    for (src, dst) in src.as_chunks::<STEP>().0.iter().zip(dst.as_chunks_mut::<STEP>().0) {
        // The test has no branch for each unit, so that the compiler can use vectors.
        if !src.iter().fold(true, |all, &unit| all & is_simple(unit)) {
            break;
        }
        for (&unit, dst) in src.iter().zip(dst) {
            *dst = to(unit);
        }
        count += STEP;
    }
    for (&unit, dst) in src[count..].iter().zip(&mut dst[count..]).take(STEP) {
        if !is_simple(unit) {
            break;
        }
        *dst = to(unit);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec::Vec;
    use std::{format, vec};

    use super::*;
    use crate::transcode::switches::Switches;
    use test_support::Rng;

    const ENDS: [Encoding; 6] = [
        Encoding::Latin1,
        Encoding::Windows1252,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
    ];

    fn target(encoding: Encoding) -> Target {
        Target::new(encoding, Switches::STRICT)
    }

    /// Encodes text up to the first character that the encoding does not have.
    fn encoded(text: &str, to: Encoding) -> Vec<u8> {
        let sequences = text.chars().map_while(|c| target(to).encode(c.into()));
        sequences.flat_map(|sequence| sequence.as_slice().to_vec()).collect()
    }

    /// The reference: converts code point by code point. Returns every position in the source and the target at
    /// which the conversion may stop.
    fn positions(source: &Source, target: &Target, src: &[u8]) -> Vec<(usize, usize, Vec<u8>)> {
        let mut read = 0;
        let mut out = Vec::new();
        let mut all = Vec::new();
        loop {
            all.push((read, out.len(), out.clone()));
            if read == src.len() {
                return all;
            }
            let super::super::item::Item::CodePoint { value, len } = source.read(&src[read..]) else {
                return all;
            };
            let Some(sequence) = target.encode(value) else { return all };
            out.extend_from_slice(sequence.as_slice());
            read += len;
        }
    }

    #[test]
    fn a_block_is_converted_like_single_code_points() {
        let parts = [
            "plain ASCII of some length, so that there are whole steps",
            "é",
            "ÿ\u{A0}",
            "\u{81}",
            "œ’",
            "Ж",
            "漢",
            "💩",
        ];
        let mut rng = Rng::new(5);
        let mut next = move || rng.next() as usize;
        for round in 0..60 {
            // In half of the rounds every character is in windows-1252.
            let kinds = if round % 2 == 0 { 5 } else { parts.len() };
            let mut text = String::new();
            while text.len() < 40 + 8 * round {
                text.push_str(parts[next() % kinds]);
            }
            for from in ENDS {
                for to in ENDS {
                    let mut src = encoded(&text, from);
                    if round % 3 == 0 && !src.is_empty() {
                        // Ill-formed in some encodings, or unfinished at the end.
                        let at = next() % src.len();
                        src[at] = [0xFF, 0xD8, 0x80][next() % 3];
                        src.truncate(src.len().saturating_sub(next() % 4));
                    }
                    let source = Source::new(from, to, Switches::STRICT);
                    let target = target(to);
                    let expected = positions(&source, &target, &src);
                    let Some(pivot) = Pivot::new(&source, &target) else { continue };
                    // Whether no code point is left to the caller.
                    let is_all = round % 2 == 0
                        && round % 3 != 0
                        && expected.last().is_some_and(|end| end.0 == src.len());
                    for room in [4 * text.len() + 8, text.len(), next() % text.len(), 0] {
                        let mut dst = vec![0; room];
                        let (read, written) = pivot.convert(&src, &mut dst);
                        let context = format!("{from:?} to {to:?}, room {room}, {src:02X?}");
                        let at = expected.iter().find(|at| (at.0, at.1) == (read, written));
                        let at = at.unwrap_or_else(|| panic!("{read} {written}: {context}"));
                        assert_eq!(dst[..written], at.2, "{context}");
                        assert!(!is_all || room <= text.len() || read == src.len(), "{read}: {context}");
                    }
                }
            }
        }
    }
}
