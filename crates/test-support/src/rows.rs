//! The encodings that resemble UTF-8 as tables of the standards: for each range of code points the range of each byte. A
//! decoder by definition reads them: it shares no code with the crate, nor with the naive oracle.

use utf8_codec::ErrorKind;

use super::Rng;

/// The code points of a row are numbered in the order of its sequences.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub code_points: (u32, u32),
    pub bytes: &'static [(u8, u8)],
}

const fn row(first: u32, last: u32, bytes: &'static [(u8, u8)]) -> Row {
    Row { code_points: (first, last), bytes }
}

const TAIL: (u8, u8) = (0x80, 0xBF);

/// RFC 3629 section 4, and the Unicode Standard, table 3-7.
#[rustfmt::skip]
pub const UTF_8: [Row; 9] = [
    row(0x0000, 0x007F, &[(0x00, 0x7F)]),
    row(0x0080, 0x07FF, &[(0xC2, 0xDF), TAIL]),
    row(0x0800, 0x0FFF, &[(0xE0, 0xE0), (0xA0, 0xBF), TAIL]),
    row(0x1000, 0xCFFF, &[(0xE1, 0xEC), TAIL, TAIL]),
    row(0xD000, 0xD7FF, &[(0xED, 0xED), (0x80, 0x9F), TAIL]),
    row(0xE000, 0xFFFF, &[(0xEE, 0xEF), TAIL, TAIL]),
    row(0x01_0000, 0x03_FFFF, &[(0xF0, 0xF0), (0x90, 0xBF), TAIL, TAIL]),
    row(0x04_0000, 0x0F_FFFF, &[(0xF1, 0xF3), TAIL, TAIL, TAIL]),
    row(0x10_0000, 0x10_FFFF, &[(0xF4, 0xF4), (0x80, 0x8F), TAIL, TAIL]),
];

/// The code points of UCS-4 above 10FFFF, in the shortest form: RFC 2279 section 2, and ISO/IEC 10646-1 Annex R, table 4.
#[rustfmt::skip]
pub const UCS_4_ABOVE_MAX: [Row; 6] = [
    row(0x0011_0000, 0x0013_FFFF, &[(0xF4, 0xF4), (0x90, 0xBF), TAIL, TAIL]),
    row(0x0014_0000, 0x001F_FFFF, &[(0xF5, 0xF7), TAIL, TAIL, TAIL]),
    row(0x0020_0000, 0x00FF_FFFF, &[(0xF8, 0xF8), (0x88, 0xBF), TAIL, TAIL, TAIL]),
    row(0x0100_0000, 0x03FF_FFFF, &[(0xF9, 0xFB), TAIL, TAIL, TAIL, TAIL]),
    row(0x0400_0000, 0x3FFF_FFFF, &[(0xFC, 0xFC), (0x84, 0xBF), TAIL, TAIL, TAIL, TAIL]),
    row(0x4000_0000, 0x7FFF_FFFF, &[(0xFD, 0xFD), TAIL, TAIL, TAIL, TAIL, TAIL]),
];

/// A surrogate as a sequence: CESU-8 (UTR #26), generalized UTF-8 (WTF-8 section 3.2), Annex R, table 4.
pub const SURROGATES: Row = row(0xD800, 0xDFFF, &[(0xED, 0xED), (0xA0, 0xBF), TAIL]);

/// U+0000 in the `writeUTF` of `java.io.DataOutput`.
pub const NUL_OF_JAVA: Row = row(0, 0, &[(0xC0, 0xC0), (0x80, 0x80)]);

/// The other characters of ASCII in the `writeUTF` of `java.io.DataOutput`.
pub const ASCII_OF_JAVA: Row = row(0x01, 0x7F, &[(0x01, 0x7F)]);

impl Row {
    /// Whether the bytes are the start of a sequence of the row.
    fn starts_with(&self, prefix: &[u8]) -> bool {
        prefix.len() <= self.bytes.len()
            && prefix.iter().zip(self.bytes).all(|(byte, (low, high))| (low..=high).contains(&byte))
    }

    /// Returns the code point of a sequence of the row.
    pub fn value(&self, sequence: &[u8]) -> u32 {
        let index = sequence.iter().zip(self.bytes).fold(0, |index, (byte, (low, high))| {
            index * (u32::from(high - low) + 1) + u32::from(byte - low)
        });
        self.code_points.0 + index
    }

    /// Returns every start of `len` bytes in which each byte is the first or the last of its range.
    pub fn bounds(&self, len: usize) -> Vec<Vec<u8>> {
        let mut starts = vec![Vec::new()];
        for &(low, high) in &self.bytes[..len] {
            let ends = if low == high { vec![low] } else { vec![low, high] };
            starts = starts
                .iter()
                .flat_map(|start: &Vec<u8>| ends.iter().map(|end| [start, &[*end][..]].concat()))
                .collect();
        }
        starts
    }
}

/// What is at the start of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    CodePoint(u32),
    IllFormed(ErrorKind),
    /// All of it is the start of a sequence.
    Incomplete,
}

/// Returns the length of the sequence at the start of `input`, which is not empty, or of the maximal subpart: the Unicode
/// Standard, definition D93b.
pub fn next(rows: &[Row], input: &[u8]) -> (usize, Found) {
    for len in 1..=input.len() {
        let start = &input[..len];
        match rows.iter().find(|row| row.starts_with(start)) {
            Some(row) if row.bytes.len() == len => return (len, Found::CodePoint(row.value(start))),
            Some(_) => {}
            None => return ((len - 1).max(1), Found::IllFormed(kind(start))),
        }
    }
    (input.len(), Found::Incomplete)
}

/// Why the last of these bytes ends no start of a sequence, while the bytes before it are one.
fn kind(start: &[u8]) -> ErrorKind {
    match *start {
        [0x80..=0xBF] => ErrorKind::UnexpectedContinuation,
        [0xC0 | 0xC1] => ErrorKind::Overlong,
        [0xF5..=0xFD] => ErrorKind::AboveMax,
        [_] => ErrorKind::InvalidLead,
        [.., 0x00..=0x7F | 0xC0..=0xFF] => ErrorKind::MissingContinuation,
        [0xED, _] => ErrorKind::Surrogate,
        [0xF4, _] => ErrorKind::AboveMax,
        _ => ErrorKind::Overlong,
    }
}

/// An ill-formed maximal subpart: offset, kind, length.
pub type Error = (u64, ErrorKind, u8);

/// The code points and the errors of a part of a stream, and the number of bytes at its end that may start a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    pub code_points: Vec<u32>,
    pub errors: Vec<Error>,
    pub pending: usize,
}

impl Decoded {
    /// Returns the errors of a stream that ends after `len` bytes, which this is the result of.
    pub fn errors_of_stream(&self, len: usize) -> Vec<Error> {
        let pending = self.pending as u64;
        let truncated = (pending > 0).then_some((len as u64 - pending, ErrorKind::Truncated, pending as u8));
        self.errors.iter().copied().chain(truncated).collect()
    }
}

pub fn decode(rows: &[Row], input: &[u8]) -> Decoded {
    let (mut decoded, mut at) = (Decoded::default(), 0);
    while at < input.len() {
        let (len, found) = next(rows, &input[at..]);
        match found {
            Found::CodePoint(value) => decoded.code_points.push(value),
            Found::IllFormed(kind) => decoded.errors.push((at as u64, kind, len as u8)),
            Found::Incomplete => decoded.pending = len,
        }
        at += len;
    }
    decoded
}

/// Returns every sequence whose bytes are bounds of a row.
pub fn well_formed(rows: &[Row]) -> Vec<Vec<u8>> {
    rows.iter().flat_map(|row| row.bounds(row.bytes.len())).collect()
}

/// Returns the starts of every length of every sequence in [`well_formed`], without the whole sequence.
pub fn truncated(rows: &[Row]) -> Vec<Vec<u8>> {
    rows.iter().flat_map(|row| (1..row.bytes.len()).flat_map(|len| row.bounds(len))).collect()
}

/// Returns every byte that cannot follow, at the start of a sequence and after each of the starts in [`truncated`] whose
/// bytes from the third on are `80`: alone, and with the bytes that would complete the sequence.
pub fn wrong_bytes(rows: &[Row]) -> Vec<Vec<u8>> {
    let mut starts = truncated(rows);
    starts.retain(|start| start.iter().skip(2).all(|byte| *byte == 0x80));
    starts.push(Vec::new());
    starts.sort();
    starts.dedup();
    let mut inputs = Vec::new();
    for start in starts {
        for byte in 0..=u8::MAX {
            let input = [&start[..], &[byte]].concat();
            if !rows.iter().any(|row| row.starts_with(&input)) {
                inputs.push([&input[..], &[0x80; 6][..6 - input.len()]].concat());
                inputs.push(input);
            }
        }
    }
    inputs
}

/// Returns sequences of random rows with random bytes in their ranges. A quarter of them lack their last bytes, and random
/// bytes stand between them.
pub fn random(rows: &[Row], rng: &mut Rng) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..=rng.below(6) {
        let row = rows[rng.below(rows.len())];
        let len = if rng.below(4) == 0 { rng.below(row.bytes.len()) } else { row.bytes.len() };
        input.extend(
            row.bytes[..len].iter().map(|(low, high)| low + rng.below(usize::from(high - low) + 1) as u8),
        );
        input.extend((0..[0, 0, 0, 1, 2][rng.below(5)]).map(|_| rng.next() as u8));
    }
    input
}
