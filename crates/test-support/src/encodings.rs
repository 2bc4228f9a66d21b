//! A naive decoder and encoder for every encoding. It processes the whole input at once and shares no code with the
//! crate.

use utf8_codec::ErrorKind;
use utf8_codec_encodings::{Encoding, Switches, TranscodeError, Transcoder};

use super::rows::{self, ASCII_OF_JAVA, Found, NUL_OF_JAVA, Row, SURROGATES, UCS_4_ABOVE_MAX, UTF_8};
pub use super::shifts::Decoded;
use super::shifts::{decode_iso_2022_kr, decode_utf_7};

/// The encodings that this file defines in both directions.
pub const OWN: &[Encoding] = Encoding::ALL.split_at(12).0;

/// The encodings that are only decoded.
pub const SHIFTED: [Encoding; 2] = [Encoding::Utf7, Encoding::Iso2022Kr];

/// The code pages.
pub const PAGES: &[Encoding] = Encoding::ALL.split_at(PAGES_END).0.split_at(PAGES_START).1;
const PAGES_START: usize = OWN.len() + 1;
const PAGES_END: usize = PAGES_START + 8;

/// The encodings of `encoding_rs`: all after those, except ISO-2022-KR, which is the last one.
pub const LEGACY: &[Encoding] = Encoding::ALL.split_at(Encoding::ALL.len() - 1).0.split_at(PAGES_END).1;

/// The switches of the naive decoder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open {
    pub surrogates: bool,
    pub lenient_java: bool,
    pub reject_pairs: bool,
    pub reject_fffe_ffff: bool,
}

impl Open {
    pub fn switches(self) -> Switches {
        let mut switches = Switches::STRICT;
        if self.surrogates {
            switches = switches.with_surrogates(true);
        }
        if self.lenient_java {
            switches = switches.with_lenient_java(true);
        }
        if self.reject_pairs {
            switches = switches.with_reject_pairs(true);
        }
        if self.reject_fffe_ffff {
            switches = switches.with_reject_fffe_ffff(true);
        }
        switches
    }
}

/// Returns the rows of an encoding that resembles UTF-8, or nothing. Each surrogate is a sequence, and [`decode`] joins
/// the pairs.
pub fn rows(encoding: Encoding, open: Open) -> Vec<Row> {
    let bmp = &UTF_8[..6];
    match encoding {
        Encoding::Utf8 | Encoding::Utf8b => UTF_8.to_vec(),
        Encoding::Utf8Ucs4 if open.surrogates => [&UTF_8[..], &UCS_4_ABOVE_MAX, &[SURROGATES]].concat(),
        Encoding::Utf8Ucs4 => [&UTF_8[..], &UCS_4_ABOVE_MAX].concat(),
        Encoding::Cesu8 => [bmp, &[SURROGATES]].concat(),
        Encoding::ModifiedUtf8 if open.lenient_java => [&UTF_8[..], &[SURROGATES, NUL_OF_JAVA]].concat(),
        Encoding::ModifiedUtf8 => [&[ASCII_OF_JAVA, NUL_OF_JAVA], &bmp[1..], &[SURROGATES]].concat(),
        Encoding::Wtf8 => [&UTF_8[..], &[SURROGATES]].concat(),
        _ => Vec::new(),
    }
}

/// Returns the length of the sequence at the start of `input` in an encoding that resembles UTF-8, and its value or its
/// error.
fn sequence(rows: &[Row], reject_fffe_ffff: bool, input: &[u8]) -> (usize, Result<u32, ErrorKind>) {
    let (len, found) = rows::next(rows, input);
    let found = match found {
        Found::CodePoint(0xFFFE | 0xFFFF) if reject_fffe_ffff => Err(ErrorKind::Noncharacter),
        Found::CodePoint(value) => Ok(value),
        Found::IllFormed(kind) => Err(kind),
        Found::Incomplete => Err(ErrorKind::Truncated),
    };
    (len, found)
}

/// Returns every code point of `input` and every error. `joins` is whether the target has no surrogate pairs.
pub fn decode(encoding: Encoding, open: Open, joins: bool, input: &[u8]) -> Vec<Decoded> {
    use ErrorKind::*;
    match encoding {
        Encoding::Utf7 => return decode_utf_7(input),
        Encoding::Iso2022Kr => return decode_iso_2022_kr(input),
        _ => {}
    }
    let rows = rows(encoding, open);
    let mut found: Vec<Decoded> = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let rest = &input[at..];
        let big = matches!(encoding, Encoding::Utf16Be | Encoding::Utf32Be);
        let (len, what) = match encoding {
            Encoding::Latin1 => (1, Ok(u32::from(rest[0]))),
            Encoding::Windows1252 => (1, Ok(windows_1252(rest[0]))),
            Encoding::Utf16Le | Encoding::Utf16Be => match rest {
                &[a, b, ..] => {
                    (2, Ok(u32::from(a) << if big { 8 } else { 0 } | u32::from(b) << if big { 0 } else { 8 }))
                }
                _ => (1, Err(Truncated)),
            },
            Encoding::Utf32Le | Encoding::Utf32Be => match rest {
                &[a, b, c, d, ..] => {
                    let value = if big { [a, b, c, d] } else { [d, c, b, a] };
                    match u32::from_be_bytes(value) {
                        0x8000_0000.. => (4, Err(AboveMax)),
                        0xD800..=0xDFFF if !open.surrogates => (4, Err(Surrogate)),
                        value => (4, Ok(value)),
                    }
                }
                _ => (rest.len(), Err(Truncated)),
            },
            Encoding::Utf8b => match sequence(&rows, false, rest) {
                (_, Err(_)) => (1, Ok(0xDC00 + u32::from(rest[0]))),
                good => good,
            },
            _ => sequence(&rows, encoding == Encoding::Utf8Ucs4 && open.reject_fffe_ffff, rest),
        };
        found.push((at as u64, len as u8, what));
        at += len;
    }
    join(encoding, open, joins, input, found)
}

/// Joins surrogate pairs, and applies the switches to unpaired surrogates.
fn join(encoding: Encoding, open: Open, joins: bool, input: &[u8], found: Vec<Decoded>) -> Vec<Decoded> {
    let units =
        matches!(encoding, Encoding::Cesu8 | Encoding::ModifiedUtf8 | Encoding::Utf16Le | Encoding::Utf16Be);
    let pairs = units || encoding == Encoding::Wtf8 || joins;
    let lone = open.surrogates || encoding == Encoding::Wtf8 || encoding == Encoding::Utf8b;
    let mut out = Vec::new();
    let mut i = 0;
    while i < found.len() {
        let (at, len, what) = found[i];
        i += 1;
        let (Ok(high @ 0xD800..=0xDFFF), true) = (what, pairs) else {
            out.push((at, len, what));
            continue;
        };
        match found.get(i) {
            Some(&(_, low_len, Ok(low @ 0xDC00..=0xDFFF))) if high < 0xDC00 => {
                i += 1;
                let value = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                let rejected = encoding == Encoding::Wtf8 && open.reject_pairs;
                out.push((at, len + low_len, if rejected { Err(ErrorKind::Surrogate) } else { Ok(value) }));
                continue;
            }
            _ => {}
        }
        if lone {
            out.push((at, len, what));
            continue;
        }
        // The end of the stream may truncate the pair.
        let after = &input[(at + u64::from(len)) as usize..];
        let cut_off = high < 0xDC00
            && matches!(
                (encoding, after),
                (_, [])
                    | (Encoding::Utf16Le | Encoding::Utf16Be, [_])
                    | (Encoding::Cesu8 | Encoding::ModifiedUtf8, [0xED] | [0xED, 0xB0..=0xBF])
            );
        if cut_off {
            out.push((at, len + after.len() as u8, Err(ErrorKind::Truncated)));
            break;
        }
        out.push((at, len, Err(ErrorKind::UnpairedSurrogate)));
    }
    out
}

/// Returns the bytes of the characters that the encoding has.
pub fn encoded(encoding: Encoding, text: &str) -> Vec<u8> {
    text.chars().filter_map(|it| encode(encoding, Open::default(), it.into())).flatten().collect()
}

/// Returns the bytes of a code point, or `None` if the encoding cannot represent it.
pub fn encode(encoding: Encoding, open: Open, value: u32) -> Option<Vec<u8>> {
    let surrogate = (0xD800..0xE000).contains(&value);
    let generalized = |value: u32| -> Vec<u8> {
        let tail = |shift: u32| 0x80 | (value >> shift & 0x3F) as u8;
        match value {
            0..0x80 => vec![value as u8],
            0x80..0x800 => vec![0xC0 | (value >> 6) as u8, tail(0)],
            0x800..0x1_0000 => vec![0xE0 | (value >> 12) as u8, tail(6), tail(0)],
            0x1_0000..0x20_0000 => vec![0xF0 | (value >> 18) as u8, tail(12), tail(6), tail(0)],
            0x20_0000..0x400_0000 => vec![0xF8 | (value >> 24) as u8, tail(18), tail(12), tail(6), tail(0)],
            _ => vec![0xFC | (value >> 30) as u8, tail(24), tail(18), tail(12), tail(6), tail(0)],
        }
    };
    let units = || -> Vec<u32> {
        match value {
            0x1_0000.. => vec![0xD800 + ((value - 0x1_0000) >> 10), 0xDC00 + ((value - 0x1_0000) & 0x3FF)],
            _ => vec![value],
        }
    };
    let holds = match encoding {
        Encoding::Utf8 => !surrogate && value <= 0x10_FFFF,
        Encoding::Utf8b => (!surrogate || (0xDC80..=0xDCFF).contains(&value)) && value <= 0x10_FFFF,
        Encoding::Wtf8 => value <= 0x10_FFFF,
        Encoding::Cesu8 | Encoding::ModifiedUtf8 | Encoding::Utf16Le | Encoding::Utf16Be => {
            (open.surrogates || !surrogate) && value <= 0x10_FFFF
        }
        Encoding::Utf8Ucs4 => {
            (open.surrogates || !surrogate) && !(open.reject_fffe_ffff && matches!(value, 0xFFFE | 0xFFFF))
        }
        Encoding::Utf32Le | Encoding::Utf32Be => open.surrogates || !surrogate,
        Encoding::Latin1 => value < 0x100,
        Encoding::Windows1252 => {
            return match value {
                0..0x80 | 0xA0..0x100 => Some(vec![value as u8]),
                _ => (0x80..0xA0).find(|&byte| windows_1252(byte) == value).map(|byte| vec![byte]),
            };
        }
        // They are only decoded.
        Encoding::Utf7 if value == u32::from('+') => return Some(b"+-".to_vec()),
        Encoding::Utf7 => (b' '..=b'}').chain(*b"\t\r\n").any(|it| value == u32::from(it) && it != b'\\'),
        Encoding::Iso2022Kr => value < 0x80 && ![0x0E, 0x0F, 0x1B].contains(&value),
        other => panic!("{other} is new"),
    };
    holds.then(|| match encoding {
        Encoding::Utf8b if surrogate => vec![value as u8],
        Encoding::ModifiedUtf8 if value == 0 => vec![0xC0, 0x80],
        Encoding::Cesu8 | Encoding::ModifiedUtf8 => units().into_iter().flat_map(generalized_unit).collect(),
        Encoding::Utf16Le => units().into_iter().flat_map(|unit| (unit as u16).to_le_bytes()).collect(),
        Encoding::Utf16Be => units().into_iter().flat_map(|unit| (unit as u16).to_be_bytes()).collect(),
        Encoding::Utf32Le => value.to_le_bytes().to_vec(),
        Encoding::Utf32Be => value.to_be_bytes().to_vec(),
        Encoding::Latin1 | Encoding::Utf7 | Encoding::Iso2022Kr => vec![value as u8],
        _ => generalized(value),
    })
}

/// Encodes a UTF-16 code unit in 1 to 3 bytes.
fn generalized_unit(unit: u32) -> Vec<u8> {
    match unit {
        0..0x80 => vec![unit as u8],
        0x80..0x800 => vec![0xC0 | (unit >> 6) as u8, 0x80 | (unit & 0x3F) as u8],
        _ => vec![0xE0 | (unit >> 12) as u8, 0x80 | (unit >> 6 & 0x3F) as u8, 0x80 | (unit & 0x3F) as u8],
    }
}

/// Returns the code point of a byte, from the index of the WHATWG Encoding Standard.
pub fn windows_1252(byte: u8) -> u32 {
    const HIGH: [u32; 32] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152,
        0x8D, 0x17D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122,
        0x161, 0x203A, 0x153, 0x9D, 0x17E, 0x178,
    ];
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => byte.into(),
    }
}

pub type Errors = Vec<(u64, ErrorKind, u8)>;

pub fn facts(error: TranscodeError) -> (u64, ErrorKind, u8) {
    (error.offset, error.kind, error.len)
}

/// Returns the output and the errors of a strict transcoder that continues after each error.
pub fn by_feed(mut transcoder: Transcoder, chunks: &[&[u8]]) -> (Vec<u8>, Errors) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            let before = transcoder.offset();
            match transcoder.feed_into(rest, &mut out) {
                Ok(()) => break,
                Err(error) => errors.push(facts(error)),
            }
            rest = &rest[(transcoder.offset() - before) as usize..];
        }
    }
    while let Err(error) = transcoder.finish_into(&mut out) {
        errors.push(facts(error));
    }
    assert_eq!(transcoder.counters().total(), errors.len() as u64);
    assert_eq!(transcoder.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    assert!(transcoder.pending().is_empty());
    (out, errors)
}
