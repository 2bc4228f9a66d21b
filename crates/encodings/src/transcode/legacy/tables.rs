//! Decoding and encoding with tables of UTF-16 code units. Vector code converts between UTF-16 and UTF-8.
//!
//! The tables are made at first use, from those of `encoding_rs` and of [`pages`]. They contain the sequences of 1 or 2
//! bytes that are decoded to one code unit. Everything else is left to the caller: errors, sequences of 3 and 4 bytes,
//! and sequences that are decoded to two code units.

use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::sync::OnceLock;

use encoding_rs::DecoderResult;
use kernels::ascii::AsciiCopy;
use kernels::conversions::{Form, convert, len_in_utf_8};

use crate::encoding::{Encoding, pages};

/// The number of code units that are converted at once. The buffer is cleared for each call.
const PIECE: usize = 256;

/// The number of bytes of the first piece. If one of them is not in the table, the work on the others is useless.
const FIRST_PIECE: usize = 32;

/// The entry for bytes that the table cannot decode: an unpaired surrogate, at which the vector code stops.
const NONE: u16 = 0xDC00;

/// A code unit, little-endian.
type Unit = [u8; 2];

/// A part of the input that was converted to code units.
struct Units {
    bytes: usize,
    count: usize,
}

/// Decodes to UTF-8, up to a sequence that is not in the table or to the end of a slice. Returns the number of bytes
/// read and the number of bytes written. `to_units` decodes from the start of a slice, and `len` returns the length of
/// the first sequences of one.
fn decode(
    src: &[u8],
    dst: &mut [u8],
    has_ascii: bool,
    to_units: impl Fn(&[u8], &mut [Unit; PIECE]) -> Units,
    len: impl Fn(&[u8], usize) -> usize,
) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    let mut ascii = AsciiCopy::NEW;
    let mut units = [[0; 2]; PIECE];
    let mut piece = FIRST_PIECE;
    loop {
        if has_ascii {
            let same = ascii.run::<true>(&src[read..], &mut dst[written..]);
            read += same;
            written += same;
        }
        let Units { bytes, count } = to_units(&src[read..src.len().min(read + piece)], &mut units);
        let input = units[..count].as_flattened();
        let (taken, made) =
            convert(Form::Utf16Le, Form::Utf8, input, &mut dst[written..]).unwrap_or_default();
        written += made;
        if taken < input.len() {
            return (read + len(&src[read..], taken / 2), written);
        }
        read += bytes;
        if count == 0 || read == src.len() {
            return (read, written);
        }
        piece = 2 * PIECE;
    }
}

/// The table of a single-byte encoding.
#[derive(Debug)]
pub(crate) struct SingleByte {
    units: [u16; 256],
    /// The index in `bytes` of each block of [`BLOCK`] code units.
    blocks: [u8; 0x1_0000 / BLOCK],
    /// The byte of each code unit of a block, 0 if there is none. The first block is empty.
    bytes: [[u8; BLOCK]; BLOCKS],
    has_ascii: bool,
}

const BLOCK: usize = 64;
/// More than the number of blocks that the characters of any of these encodings are in.
const BLOCKS: usize = 32;

/// The first single-byte encoding. They are declared one after the other.
const FIRST: usize = Encoding::Ibm437 as usize;
const SINGLE_BYTES: usize = Encoding::XUserDefined as usize + 1 - FIRST;

impl SingleByte {
    /// Returns the table, or `None` if the encoding has sequences of several bytes.
    #[inline]
    pub(super) fn of(encoding: Encoding) -> Option<&'static Self> {
        static TABLES: [OnceLock<SingleByte>; SINGLE_BYTES] = [const { OnceLock::new() }; SINGLE_BYTES];
        let table = TABLES.get((encoding as usize).wrapping_sub(FIRST))?;
        Some(table.get_or_init(|| Self::new(encoding)))
    }

    #[cold]
    fn new(encoding: Encoding) -> Self {
        let mut table = Self {
            units: [NONE; 256],
            blocks: [0; 0x1_0000 / BLOCK],
            bytes: [[0; BLOCK]; BLOCKS],
            has_ascii: true,
        };
        let mut blocks = 0;
        for byte in 0..=255 {
            let unit = match pages::character(encoding, byte) {
                Some(character) => character as u16,
                None => unit_of(encoding, &[byte]),
            };
            table.has_ascii &= byte >= 0x80 || unit == u16::from(byte);
            if unit != NONE {
                table.units[usize::from(byte)] = unit;
                let block = &mut table.blocks[usize::from(unit) / BLOCK];
                if *block == 0 {
                    blocks += 1;
                    *block = blocks;
                }
                table.bytes[usize::from(*block)][usize::from(unit) % BLOCK] = byte;
            }
        }
        table
    }

    /// Returns the table of an encoding in which ASCII has other bytes: EBCDIC.
    #[cfg(feature = "codec")]
    pub(crate) fn without_ascii(encoding: Encoding) -> Option<&'static Self> {
        Self::of(encoding).filter(|table| !table.has_ascii)
    }

    /// Returns the code unit of a byte.
    #[inline]
    pub(crate) fn unit(&self, byte: u8) -> Option<u16> {
        Some(self.units[usize::from(byte)]).filter(|&unit| unit != NONE)
    }

    /// Returns the byte of a code unit.
    #[inline]
    pub(crate) fn byte(&self, unit: u16) -> Option<u8> {
        let block = usize::from(self.blocks[usize::from(unit) / BLOCK]) % BLOCKS;
        let byte = self.bytes[block][usize::from(unit) % BLOCK];
        (byte != 0 || unit == 0).then_some(byte)
    }

    /// [`decode`] with this table.
    pub(super) fn decode(&self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        decode(src, dst, self.has_ascii, |src, units| self.to_units(src, units), |_, count| count)
    }

    #[inline(always)]
    fn to_units(&self, src: &[u8], units: &mut [Unit; PIECE]) -> Units {
        for (unit, &byte) in units.iter_mut().zip(src) {
            *unit = self.units[usize::from(byte)].to_le_bytes();
        }
        let count = src.len().min(PIECE);
        Units { bytes: count, count }
    }

    /// Encodes UTF-8, up to an error or a character that the encoding does not have, or to the end of a slice. Returns the
    /// number of bytes read and the number of bytes written.
    pub(super) fn encode(&self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        let mut read = 0;
        let mut written = 0;
        let mut ascii = AsciiCopy::NEW;
        let mut units = [[0; 2]; PIECE];
        let mut piece = FIRST_PIECE;
        loop {
            if self.has_ascii {
                let same = ascii.run::<true>(&src[read..], &mut dst[written..]);
                read += same;
                written += same;
            }
            let rest = &src[read..src.len().min(read + piece)];
            let (taken, made) =
                convert(Form::Utf8, Form::Utf16Le, rest, units.as_flattened_mut()).unwrap_or_default();
            let units = &units[..made / 2];
            let room = &mut dst[written..];
            let mut count = 0;
            for (unit, out) in units.iter().zip(room) {
                let Some(byte) = self.byte(u16::from_le_bytes(*unit)) else { break };
                *out = byte;
                count += 1;
            }
            written += count;
            if count < units.len() {
                return (read + len_in_utf_8(&units[..count]), written);
            }
            read += taken;
            if taken + 3 < rest.len() || taken == 0 || read == src.len() {
                return (read, written);
            }
            piece = PIECE;
        }
    }
}

/// Returns the code unit that a whole sequence is decoded to.
fn unit_of(encoding: Encoding, bytes: &[u8]) -> u16 {
    let mut decoder = encoding.tables().new_decoder_without_bom_handling();
    let mut units = [0; 4];
    match decoder.decode_to_utf16_without_replacement(bytes, &mut units, true) {
        (DecoderResult::InputEmpty, _, 1) => units[0],
        _ => NONE,
    }
}

/// The table of an encoding whose sequences have 1 or 2 bytes. Rare ones may have more.
#[derive(Debug)]
pub(super) struct DoubleByte {
    encoding: Encoding,
    /// The code unit of each pair of bytes without its highest bit, [`NONE`], or 0 if it was not looked up yet.
    units: [AtomicU16; 0x8000],
    /// The code unit of each byte from `80`, 0 as above.
    singles: [AtomicU16; 0x80],
}

impl DoubleByte {
    /// Returns the table, or `None` for single-byte encodings and ISO-2022-JP.
    #[inline]
    pub(super) fn of(encoding: Encoding) -> Option<&'static Self> {
        macro_rules! table {
            ($encoding:ident) => {{
                static TABLE: DoubleByte = DoubleByte {
                    encoding: Encoding::$encoding,
                    units: [const { AtomicU16::new(0) }; 0x8000],
                    singles: [const { AtomicU16::new(0) }; 0x80],
                };
                &TABLE
            }};
        }
        Some(match encoding {
            // Both are decoded as GB 18030.
            Encoding::Gbk | Encoding::Gb18030 => table!(Gbk),
            Encoding::Big5 => table!(Big5),
            Encoding::EucJp => table!(EucJp),
            Encoding::EucKr => table!(EucKr),
            Encoding::ShiftJis => table!(ShiftJis),
            _ => return None,
        })
    }

    /// [`decode`] with this table.
    pub(super) fn decode(&self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        decode(src, dst, true, |src, units| self.to_units(src, units), |src, count| self.len_of(src, count))
    }

    #[inline(always)]
    fn to_units(&self, src: &[u8], units: &mut [Unit; PIECE]) -> Units {
        let mut rest = src;
        let mut count = 0;
        for unit in units {
            let Some((found, after)) = self.sequence(rest) else { break };
            *unit = found.to_le_bytes();
            rest = after;
            count += 1;
        }
        Units { bytes: src.len() - rest.len(), count }
    }

    /// Returns the number of bytes of the first `count` sequences.
    fn len_of(&self, src: &[u8], count: usize) -> usize {
        let mut rest = src;
        for _ in 0..count {
            let Some((_, after)) = self.sequence(rest) else { break };
            rest = after;
        }
        src.len() - rest.len()
    }

    /// Returns the code unit of the first sequence, and the bytes after it.
    #[inline(always)]
    pub(super) fn sequence<'s>(&self, bytes: &'s [u8]) -> Option<(u16, &'s [u8])> {
        let (&lead, after) = bytes.split_first()?;
        if lead < 0x80 {
            return Some((lead.into(), after));
        }
        if let Some((&trail, after)) = after.split_first() {
            let unit = self.units[usize::from(lead & 0x7F) << 8 | usize::from(trail)].load(Relaxed);
            if !matches!(unit, 0 | NONE) {
                return Some((unit, after));
            }
        }
        self.other(bytes)
    }

    /// [`sequence`](Self::sequence) for single bytes from `80`, and for pairs that were not looked up yet.
    #[cold]
    fn other<'s>(&self, bytes: &'s [u8]) -> Option<(u16, &'s [u8])> {
        let index = usize::from(bytes[0] & 0x7F);
        let single = self.looked_up(&self.singles[index], &bytes[..1]);
        if single != NONE {
            return Some((single, &bytes[1..]));
        }
        let (pair, after) = bytes.split_at_checked(2)?;
        let unit = self.looked_up(&self.units[index << 8 | usize::from(pair[1])], pair);
        (unit != NONE).then_some((unit, after))
    }

    fn looked_up(&self, entry: &AtomicU16, bytes: &[u8]) -> u16 {
        let known = entry.load(Relaxed);
        if known != 0 {
            return known;
        }
        let unit = unit_of(self.encoding, bytes);
        entry.store(unit, Relaxed);
        unit
    }
}
