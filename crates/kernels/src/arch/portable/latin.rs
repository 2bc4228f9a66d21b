//! ISO 8859-1 and windows-1252 on every target: to UTF-8, with ASCII in blocks and a table for other bytes, and from
//! UTF-16. The bytes of the characters of windows-1252.

use crate::as_chunks::as_chunks;
use crate::windows_1252::windows_1252;

/// The number of bytes that are tested for ASCII at once.
const BLOCK: usize = 16;

/// For each byte, its UTF-8 sequence. The fourth byte of an entry is the length of the sequence.
type Sequences = [[u8; 4]; 256];

static LATIN_1: Sequences = sequences(false);
static WINDOWS_1252: Sequences = sequences(true);

const fn sequences(windows: bool) -> Sequences {
    let mut sequences = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        let value = if windows { windows_1252(byte as u8) as u32 } else { byte as u32 };
        sequences[byte] = match value {
            0..0x80 => [value as u8, 0, 0, 1],
            0x80..0x800 => [0xC0 | (value >> 6) as u8, cont(value), 0, 2],
            _ => [0xE0 | (value >> 12) as u8, cont(value >> 6), cont(value), 3],
        };
        byte += 1;
    }
    sequences
}

/// Returns the continuation byte with the low 6 bits of `bits`.
const fn cont(bits: u32) -> u8 {
    0x80 | (bits & 0x3F) as u8
}

/// The sequences of the bytes `80..=9F` of windows-1252 as words, without their lengths.
#[cfg(utf8_codec_avx512)]
pub(crate) static WINDOWS_1252_C1: [u32; 32] = {
    let mut words = [0; 32];
    let mut i = 0;
    while i < 32 {
        let [a, b, c, _] = WINDOWS_1252[0x80 + i];
        words[i] = u32::from_le_bytes([a, b, c, 0]);
        i += 1;
    }
    words
};

/// Reads single bytes and writes UTF-8 while there is input and output space. Returns the number of bytes read and the
/// number of bytes written.
pub(crate) fn decode_portable<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let table = if WINDOWS { &WINDOWS_1252 } else { &LATIN_1 };
    let mut read = 0;
    let mut written = 0;
    while let Some(block) = input.get(read..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        let room = output.get_mut(written..).and_then(|room| room.first_chunk_mut::<{ 4 * BLOCK }>());
        let Some(room) = room else { break };
        if block.is_ascii() {
            room[..BLOCK].copy_from_slice(block);
            written += BLOCK;
        } else {
            let mut len = 0;
            for &byte in block {
                let sequence = table[usize::from(byte)];
                // All 4 bytes of an entry are written, although a sequence has at most 3. This avoids branches that
                // would be mispredicted.
                if let Some(room) = room.get_mut(len..len + 4) {
                    room.copy_from_slice(&sequence);
                }
                len += usize::from(sequence[3]);
            }
            written += len;
        }
        read += BLOCK;
    }
    while let Some(&byte) = input.get(read) {
        let sequence = &table[usize::from(byte)];
        let sequence = &sequence[..usize::from(sequence[3])];
        let Some(room) = output.get_mut(written..written + sequence.len()) else { break };
        room.copy_from_slice(sequence);
        read += 1;
        written += sequence.len();
    }
    (read, written)
}

/// The characters of windows-1252 above U+00FF are in the range that starts at `LETTERS`, in the range that starts at
/// `PUNCTUATION`, or in [`SINGLES`].
const LETTERS: u32 = 0x150;
const PUNCTUATION: u32 = 0x2010;
/// The windows-1252 bytes of U+0150 to U+019F; 0 for a character without one.
static LETTER_BYTES: [u8; 0x50] = bytes_from(LETTERS);
/// The windows-1252 bytes of U+2010 to U+203F; 0 for a character without one.
static PUNCTUATION_BYTES: [u8; 0x30] = bytes_from(PUNCTUATION);
const SINGLES: [(u32, u8); 4] = [(0x20AC, 0x80), (0x2122, 0x99), (0x2C6, 0x88), (0x2DC, 0x98)];

const fn bytes_from<const N: usize>(first: u32) -> [u8; N] {
    let mut bytes = [0; N];
    let mut byte = 0x80;
    while byte < 0xA0 {
        let index = (windows_1252(byte) as u32).wrapping_sub(first) as usize;
        if index < N {
            bytes[index] = byte;
        }
        byte += 1;
    }
    bytes
}

/// Returns the windows-1252 byte of a character above U+007F.
pub(super) fn windows_1252_byte(value: u32) -> Option<u8> {
    // The bytes 81, 8D, 8F, 90 and 9D are the C1 characters with the same number. The other bytes from 80 to 9F are
    // characters above U+00FF.
    if matches!(value, 0xA0..=0xFF | 0x81 | 0x8D | 0x8F | 0x90 | 0x9D) {
        return Some(value as u8);
    }
    for (table, first) in [(&PUNCTUATION_BYTES[..], PUNCTUATION), (&LETTER_BYTES, LETTERS)] {
        if let Some(&byte) = table.get(value.wrapping_sub(first) as usize) {
            return (byte != 0).then_some(byte);
        }
    }
    SINGLES.iter().find(|&&(single, _)| single == value).map(|&(_, byte)| byte)
}
/// The UTF-16 code unit of each byte of windows-1252.
#[cfg(utf8_codec_vectors = "x86_64")]
pub(crate) static WINDOWS_1252_UNITS: [u16; 256] = {
    let mut units = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        units[byte] = windows_1252(byte as u8) as u16;
        byte += 1;
    }
    units
};

/// The number of code units that are tested at once. The loop has no branch for a single one, so that the compiler uses
/// vectors.
const UNITS: usize = 64;

/// Reads little-endian UTF-16 and writes single bytes while there is input and output space. Stops at a character that the
/// encoding does not have, and at ill-formed input. Returns the number of bytes read and the number of bytes written. Output
/// after them may be overwritten.
pub(crate) fn narrow<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let (input, _) = as_chunks::<2>(input);
    let mut done = 0;
    while let Some(block) = input[done..].first_chunk::<UNITS>() {
        let Some(room) = output[done..].first_chunk_mut::<UNITS>() else { break };
        let mut any = false;
        for (bytes, room) in block.iter().zip(room) {
            let unit = u16::from_le_bytes(*bytes);
            // In windows-1252 the bytes `80..=9F` are other characters.
            any |= (unit > 0xFF) | (WINDOWS & (unit ^ 0x80 < 0x20));
            *room = unit as u8;
        }
        if !any {
            done += UNITS;
            continue;
        }
        // Converts one character by itself. Those before it are written.
        done += block.iter().position(|bytes| !is_same_byte(u16::from_le_bytes(*bytes))).unwrap_or(0);
        match byte_of::<WINDOWS>(u16::from_le_bytes(input[done])) {
            Some(byte) => output[done] = byte,
            None => return (done * 2, done),
        }
        done += 1;
    }
    for (bytes, room) in input[done..].iter().zip(&mut output[done..]) {
        let Some(byte) = byte_of::<WINDOWS>(u16::from_le_bytes(*bytes)) else { break };
        *room = byte;
        done += 1;
    }
    (done * 2, done)
}

/// Whether the byte of the character has the same number in both encodings.
fn is_same_byte(unit: u16) -> bool {
    matches!(unit, 0..0x80 | 0xA0..=0xFF)
}

/// Returns the byte of a character, or `None` if the encoding does not have it.
fn byte_of<const WINDOWS: bool>(unit: u16) -> Option<u8> {
    match unit {
        0..0x80 => Some(unit as u8),
        _ if WINDOWS => windows_1252_byte(unit.into()),
        _ => u8::try_from(unit).ok(),
    }
}
