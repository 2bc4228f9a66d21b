//! ISO-2022-KR (RFC 1557): ASCII, and the characters of KS X 1001 between SO and SI, in pairs of bytes without the
//! highest bit.

use encoding_rs::{DecoderResult, EUC_KR};
use utf8_codec::{ErrorKind, from_utf8};

use super::tables::DoubleByte;
use crate::encoding::Encoding;
use crate::transcode::item::Item;

/// The state between two sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Iso2022Kr {
    is_designated: bool,
    is_shifted: bool,
}

/// Designates KS X 1001. It must come before the first SO. Python and libiconv accept it anywhere and repeatedly, as here.
const DESIGNATOR: [u8; 4] = *b"\x1B$)C";

const ESC: u8 = 0x1B;
const SO: u8 = 0x0E;
const SI: u8 = 0x0F;

impl Iso2022Kr {
    pub(super) const ASCII: Self = Self { is_designated: false, is_shifted: false };

    pub(super) fn read(self, bytes: &[u8]) -> Item {
        match *bytes {
            _ if bytes.starts_with(&DESIGNATOR) => Item::Escape { len: DESIGNATOR.len() },
            _ if DESIGNATOR.starts_with(bytes) => Item::Unfinished,
            [SO, ..] if self.is_designated => Item::Escape { len: 1 },
            [SI, ..] => Item::Escape { len: 1 },
            [ESC | SO | 0x80..=0xFF, ..] => Item::IllFormed { kind: ErrorKind::InvalidLead, len: 1 },
            [0x21..=0x7E] if self.is_shifted => Item::Unfinished,
            [lead @ 0x21..=0x7E, trail @ 0x21..=0x7E, ..] if self.is_shifted => {
                match character([lead | 0x80, trail | 0x80]) {
                    Some(character) => Item::CodePoint { value: character.into(), len: 2 },
                    None => Item::IllFormed { kind: ErrorKind::Unassigned, len: 2 },
                }
            }
            [0x21..=0x7E, ..] if self.is_shifted => {
                Item::IllFormed { kind: ErrorKind::MissingContinuation, len: 1 }
            }
            // Controls, the space and DEL are the same in both sets (ISO/IEC 2022).
            _ => Item::CodePoint { value: bytes[0].into(), len: 1 },
        }
    }

    /// Updates the state after `bytes`: an error, or whole sequences. A line starts in ASCII.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        // In well-formed text every ESC starts a designator.
        self.is_designated |=
            bytes.len() >= DESIGNATOR.len() && kernels::first_position(bytes, ESC).is_some();
        if let Some(at) = bytes.iter().rposition(|byte| matches!(byte, &SO | &SI | b'\n')) {
            self.is_shifted = bytes[at] == SO && self.is_designated;
        }
    }

    /// Returns the number of bytes before the first shift or escape. They are text if all of them are ASCII.
    #[inline]
    pub(super) fn ascii(self, bytes: &[u8]) -> usize {
        if self.is_shifted {
            return 0;
        }
        bytes.iter().position(|byte| matches!(byte, &SO | &SI | &ESC)).unwrap_or(bytes.len())
    }

    /// Decodes pairs at the start of `src`. Returns the number of bytes read and the number of bytes written.
    #[inline]
    pub(super) fn decode_pairs(self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        let table = if self.is_shifted { DoubleByte::of(Encoding::EucKr) } else { None };
        let Some(table) = table else { return (0, 0) };
        let mut read = 0;
        let mut written = 0;
        while let Some(&[lead @ 0x21..=0x7E, trail @ 0x21..=0x7E]) = src.get(read..read + 2)
            && let Some((unit, [])) = table.sequence(&[lead | 0x80, trail | 0x80])
            && let Some(character) = char::from_u32(unit.into())
            && let Some(room) = dst.get_mut(written..written + 3)
        {
            written += character.encode_utf8(room).len();
            read += 2;
        }
        (read, written)
    }
}

/// Returns the character of a pair in EUC-KR.
fn character(pair: [u8; 2]) -> Option<char> {
    let mut text = [0; 4];
    match EUC_KR.new_decoder_without_bom_handling().decode_to_utf8_without_replacement(&pair, &mut text, true)
    {
        (DecoderResult::InputEmpty, _, written) => from_utf8(&text[..written]).ok()?.chars().next(),
        _ => None,
    }
}

/// Whether the character represents itself in ASCII.
pub(super) const fn is_direct(character: char) -> bool {
    character.is_ascii() && !matches!(character, '\x0E' | '\x0F' | '\x1B')
}
