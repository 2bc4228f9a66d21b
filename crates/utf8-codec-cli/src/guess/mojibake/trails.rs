//! Sets of the bytes 80 to BF: the last bytes of sequences, by the characters that they are in windows-1252.

/// A set of the bytes 80 to BF.
pub(super) const fn set(bytes: &[u8]) -> u64 {
    let mut set = 0;
    let mut at = 0;
    while at < bytes.len() {
        set |= 1 << (bytes[at] & 0x3F);
        at += 1;
    }
    set
}

pub(super) fn has(set: u64, byte: u8) -> bool {
    set >> (byte & 0x3F) & 1 == 1
}

/// The bytes of quotation marks: ‘ ’ “ ” ‹ › « ».
pub(super) const QUOTES: u64 = set(&[0x91, 0x92, 0x93, 0x94, 0x8B, 0x9B, 0xAB, 0xBB]);

/// … – — and the no-break space.
pub(super) const DASHES: u64 = set(&[0x85, 0x96, 0x97, 0xA0]);

/// † ‡ • ™ © ª ® ° ± ² ³ ¹ º.
pub(super) const SIGNS: u64 =
    set(&[0x86, 0x87, 0x95, 0x99, 0xA9, 0xAA, 0xAE, 0xB0, 0xB1, 0xB2, 0xB3, 0xB9, 0xBA]);

/// Š š Ž ž.
pub(super) const LETTERS: u64 = set(&[0x8A, 0x9A, 0x8E, 0x9E]);

/// Characters of this set that a letter does not follow directly.
pub(super) const BEFORE_SPACE: u64 = (QUOTES & !set(&[0x92])) | SIGNS;
