//! UTF-7 (RFC 2152): ASCII, and shifts that contain UTF-16 in base64.

use utf8_codec::ErrorKind;

use crate::transcode::item::Item;

/// The state between two sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Utf7 {
    is_shifted: bool,
    /// The number of bits of the last base64 character that belong to the next code unit: 0, 2 or 4.
    bits: u8,
    /// The value of these bits.
    left: u8,
}

/// The first code unit of a slice that starts in a shift. Lengths are numbers of base64 characters.
enum Unit {
    Whole {
        unit: u16,
        len: usize,
        after: Utf7,
    },
    /// The shift ends inside the code unit, or the bits that remain after it are not zero. They would start another one.
    Interrupted {
        len: usize,
    },
    Unfinished,
}

impl Utf7 {
    pub(super) const ASCII: Self = Self { is_shifted: false, bits: 0, left: 0 };
    const SHIFTED: Self = Self { is_shifted: true, ..Self::ASCII };

    pub(super) fn read(self, bytes: &[u8]) -> Item {
        match *bytes {
            [first, ..] if self.is_shifted && sextet(first).is_some() => self.read_shifted(bytes),
            [b'-', ..] if self.is_shifted => Item::Escape { len: 1 },
            [b'+'] => Item::Unfinished,
            [b'+', b'-', ..] => Item::CodePoint { value: '+'.into(), len: 2 },
            [b'+', next, ..] if sextet(next).is_none() => {
                Item::IllFormed { kind: ErrorKind::MissingContinuation, len: 1 }
            }
            [b'+', ..] => Item::Escape { len: 1 },
            [0x80..=0xFF, ..] => Item::IllFormed { kind: ErrorKind::InvalidLead, len: 1 },
            // RFC 2152 has no `\`, no `~` and few controls. They are accepted, as in Python and mail readers.
            _ => Item::CodePoint { value: bytes[0].into(), len: 1 },
        }
    }

    /// Reads one code unit, or two that are a pair. The second one may be in the next shift: the code units of a text are not
    /// tied to its shifts.
    fn read_shifted(self, bytes: &[u8]) -> Item {
        let (high, len, after) = match self.unit(bytes) {
            Unit::Whole { unit, len, after } => (u32::from(unit), len, after),
            Unit::Interrupted { len } => {
                return Item::IllFormed { kind: ErrorKind::MissingContinuation, len };
            }
            Unit::Unfinished => return Item::Unfinished,
        };
        let unpaired = Item::IllFormed { kind: ErrorKind::UnpairedSurrogate, len };
        match high {
            0xD800..=0xDBFF => {}
            0xDC00..=0xDFFF => return unpaired,
            value => return Item::CodePoint { value, len },
        }
        let (at, state) = match bytes[len..] {
            [] | [b'-'] | [b'-', b'+'] => return Item::Unfinished,
            [b'-', b'+', ..] => (len + 2, Self::SHIFTED),
            _ => (len, after),
        };
        match state.unit(&bytes[at..]) {
            Unit::Whole { unit: low @ 0xDC00..=0xDFFF, len, .. } => Item::CodePoint {
                value: 0x1_0000 + ((high & 0x3FF) << 10 | u32::from(low) & 0x3FF),
                len: at + len,
            },
            Unit::Unfinished => Item::Unfinished,
            Unit::Whole { .. } | Unit::Interrupted { .. } => unpaired,
        }
    }

    #[inline]
    fn unit(self, bytes: &[u8]) -> Unit {
        let mut value = u32::from(self.left);
        let mut bits = self.bits;
        let mut len = 0;
        while bits < 16 {
            let Some(&byte) = bytes.get(len) else { return Unit::Unfinished };
            let Some(more) = sextet(byte) else { return Unit::Interrupted { len } };
            value = value << 6 | u32::from(more);
            bits += 6;
            len += 1;
        }
        bits -= 16;
        let left = value as u8 & ((1 << bits) - 1);
        if left != 0 {
            match bytes.get(len) {
                None => return Unit::Unfinished,
                Some(&next) if sextet(next).is_none() => return Unit::Interrupted { len },
                Some(_) => {}
            }
        }
        Unit::Whole { unit: (value >> bits) as u16, len, after: Self { is_shifted: true, bits, left } }
    }

    /// Decodes code units at the start of `src` that are not surrogates, and moves past them.
    #[inline]
    pub(super) fn decode_shift(&mut self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        let mut read = 0;
        let mut written = 0;
        while self.is_shifted
            && let Unit::Whole { unit, len, after } = self.unit(&src[read..])
            && let Some(character) = char::from_u32(unit.into())
            && let Some(room) = dst.get_mut(written..written + 3)
        {
            written += character.encode_utf8(room).len();
            read += len;
            *self = after;
        }
        (read, written)
    }

    /// Updates the state after `bytes`: an error, or whole sequences.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        // Every byte that is not base64 ends a shift.
        let direct = bytes.iter().rposition(|&byte| sextet(byte).is_none());
        if direct.is_some() {
            *self = Self::ASCII;
        }
        let mut last = None;
        for &byte in &bytes[direct.map_or(0, |at| at + 1)..] {
            if self.is_shifted {
                self.bits = (self.bits + 6) % 16;
                last = sextet(byte);
            } else {
                self.is_shifted = byte == b'+';
            }
        }
        match last {
            // An error: the end of the shift interrupts a code unit.
            _ if self.bits >= 6 => *self = Self::SHIFTED,
            Some(last) => self.left = last & ((1 << self.bits) - 1),
            None => {}
        }
    }

    /// Returns the number of bytes before the first shift. They are text if all of them are ASCII.
    #[inline]
    pub(super) fn ascii(self, bytes: &[u8]) -> usize {
        if self.is_shifted {
            return 0;
        }
        kernels::first_position(bytes, b'+').unwrap_or(bytes.len())
    }
}

/// Returns the value of a character of the base64 alphabet.
#[inline]
const fn sextet(byte: u8) -> Option<u8> {
    match SEXTETS[byte as usize] {
        NONE => None,
        value => Some(value),
    }
}

const NONE: u8 = 0xFF;

static SEXTETS: [u8; 256] = {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sextets = [NONE; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        sextets[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    sextets
};

/// Whether RFC 2152 allows the character to represent itself: the sets D and O, and rule 3.
pub(super) const fn is_direct(character: char) -> bool {
    matches!(character, ' '..='}' | '\t' | '\r' | '\n') && !matches!(character, '+' | '\\')
}
