//! Which files are binary, for the walk, for hints and for `--fix`.
//!
//! A file is binary if its first 8,000 bytes
//!
//! - start with the signature of a binary format ([`SIGNATURES`]);
//! - contain a NUL, as in git, and are neither UTF-16 nor UTF-32;
//! - are not UTF-8, and one byte in 40 is a control character that text does not contain, with three different ones. In
//!   compressed and encrypted data one byte in 9 is.
//!
//! Bytes above 7F are not a sign: they are most of the bytes of text in many legacy encodings. After the first 8,000 bytes,
//! the bytes after each ill-formed sequence are examined in the same way, for text with data appended to it.

use utf8_codec::{ErrorKind, from_utf8};

/// The length of the start of a file that is examined.
pub(crate) const PREFIX: usize = 8000;

/// How formats without a NUL near their start begin. Each contains a byte that text does not contain, or is longer than a
/// word. Sources: the specifications of the formats, and the magic numbers of `file`.
const SIGNATURES: &[&[u8]] = &[
    b"\x89PNG\r\n\x1A\n",
    b"\xFF\xD8\xFF",
    b"GIF87a",
    b"GIF89a",
    b"%PDF-",
    b"\xC5\xD0\xD3\xC6", // EPS with a preview
    b"\x1F\x8B\x08",     // gzip
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x07\x08",
    b"BZh11AY&SY",
    b"\xFD7zXZ\0",
    b"7z\xBC\xAF\x27\x1C",
    b"\x28\xB5\x2F\xFD", // Zstandard
    b"\x04\x22\x4D\x18", // LZ4
    b"\x1F\x9D",         // compress
    b"Rar!\x1A\x07",
    b"\x7FELF",
    b"\xCA\xFE\xBA\xBE", // Java, Mach-O
    b"\xCE\xFA\xED\xFE", // Mach-O
    b"\xCF\xFA\xED\xFE",
    b"\xFE\xED\xFA\xCE",
    b"\xFE\xED\xFA\xCF",
    b"\xFE\xED\xFE\xED", // Java key store
    b"BC\xC0\xDE",       // LLVM
    b"\x1BLua",
    b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", // Microsoft Office before 2007
    b"OggS\0",
    b"fLaC\0",
    b"ID3\x02",
    b"ID3\x03",
    b"ID3\x04",
    b"\x1A\x45\xDF\xA3", // Matroska
    b"\x89HDF\r\n\x1A\n",
    b"bplist00",
    b"Salted__", // OpenSSL
    b"age-encryption.org/v1\n",
    b"!<arch>\n",
    b"SQLite format 3\0",
];

/// Whether a file that starts with these bytes is binary. `start` is the whole file, or at least [`PREFIX`] bytes.
/// UTF-16 and UTF-32 are excluded by the caller.
pub(super) fn is_binary(start: &[u8]) -> bool {
    let prefix = &start[..start.len().min(PREFIX)];
    if has_signature(prefix, start.len() < PREFIX) || memchr::memchr(0, prefix).is_some() {
        return true;
    }
    match from_utf8(prefix) {
        Ok(_) => false,
        // The end of the prefix may be inside a character.
        Err(error) if error.kind == ErrorKind::Truncated && start.len() >= PREFIX => false,
        Err(_) => {
            let mut controls = Controls::default();
            controls.look_at(prefix);
            controls.are_binary()
        }
    }
}

fn has_signature(prefix: &[u8], is_whole: bool) -> bool {
    SIGNATURES.iter().any(|signature| prefix.starts_with(signature))
        || (prefix.starts_with(b"BZh") && prefix.get(4..10) == Some(b"1AY&SY"))
        || (prefix.starts_with(b"RIFF") && prefix.get(7).is_some_and(|len| *len < 0x20))
        || is_zlib(prefix)
        || is_der(prefix, is_whole)
        || is_openpgp(prefix)
}

/// Whether the prefix is a zlib stream (RFC 1950) whose first block is possible (RFC 1951 section 3.2.3). The header `78
/// 5E` is also the text `x^`, and is not used by common programs.
fn is_zlib(prefix: &[u8]) -> bool {
    let [0x78, 0x01 | 0x9C | 0xDA, first, second, ..] = *prefix else { return false };
    let has_control = prefix.iter().take(64).any(|&byte| is_control(byte));
    let literals = first >> 3;
    let distances = second & 0x1F;
    match first >> 1 & 3 {
        // A stored block is not compressed, and contains its length twice.
        0 => prefix.get(3..7).is_some_and(|len| len[0] == !len[2] && len[1] == !len[3]),
        1 => has_control,
        2 => has_control && literals <= 29 && distances <= 29,
        _ => false,
    }
}

/// Whether the prefix is a SEQUENCE of DER (X.690 section 8.1) with the length of the file, and starts with a SEQUENCE, an
/// INTEGER or an OBJECT IDENTIFIER: certificates, keys, signatures.
fn is_der(prefix: &[u8], is_whole: bool) -> bool {
    let (header, len, rest) = match *prefix {
        [0x30, 0x81, len, rest, ..] => (3, usize::from(len), rest),
        [0x30, 0x82, high, low, rest, ..] => (4, usize::from(u16::from_be_bytes([high, low])), rest),
        _ => return false,
    };
    let has_length = if is_whole { header + len == prefix.len() } else { header + len >= PREFIX };
    has_length && matches!(rest, 0x02 | 0x06 | 0x30)
}

/// Whether the prefix is an OpenPGP packet (RFC 9580 section 4.2) of a kind with which messages, keys and signatures start.
/// After the length there is a version, a control character, except in literal and compressed data.
fn is_openpgp(prefix: &[u8]) -> bool {
    let Some(&header) = prefix.first().filter(|&&header| header >= 0x80) else { return false };
    let (tag, len_len) = match header & 0x40 {
        0 => (header >> 2 & 0xF, [1, 2, 4, 0][usize::from(header & 3)]),
        _ => (
            header & 0x3F,
            match prefix.get(1) {
                Some(192..=223) => 2,
                Some(255) => 5,
                _ => 1,
            },
        ),
    };
    let version = prefix.get(1 + len_len).copied();
    match tag {
        // Encrypted session keys, signatures, one-pass signatures, keys and encrypted data with a version.
        1 | 3 | 18 => matches!(version, Some(1..=6)),
        2 | 5 | 6 => matches!(version, Some(2..=6)) && prefix.get(2 + len_len).is_some(),
        4 => matches!(version, Some(3 | 6)) && matches!(prefix.get(2 + len_len), Some(0..=2 | 0x10)),
        // Compressed data, with the number of the algorithm.
        8 => matches!(version, Some(1..=3)),
        _ => false,
    }
}

/// Whether text in an encoding that extends ASCII does not contain this byte. ESC switches character sets and colors, BS
/// overprints, and SUB ends files of DOS.
pub(crate) fn is_control(byte: u8) -> bool {
    matches!(byte, 0x00..=0x07 | 0x0B | 0x0E..=0x19 | 0x1C..=0x1F | 0x7F)
}

/// Whether one of these bytes is a control character. Without branches, so that the compiler vectorizes it.
pub(super) fn has_control<const N: usize>(bytes: &[u8; N]) -> bool {
    let may_be = bytes.iter().fold(false, |any, &byte| {
        let is_white_space = (byte == b'\n') | (byte == b'\r') | (byte == b'\t');
        any | (byte < 0x20) & !is_white_space | (byte == 0x7F)
    });
    may_be && bytes.iter().any(|&byte| is_control(byte))
}

/// The control characters in some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Controls {
    bytes: u64,
    controls: u64,
    /// A bit for each control character below 20.
    kinds: u32,
}

impl Controls {
    pub(super) fn look_at(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        // Compared all at once, because most errors are in text without these.
        if let Ok(few) = <&[u8; 8]>::try_from(bytes)
            && !few.iter().fold(false, |any, &byte| any | (byte < 0x20) | (byte == 0x7F))
        {
            return;
        }
        for &byte in bytes.iter().filter(|&&byte| is_control(byte)) {
            self.controls += 1;
            self.kinds |= 1 << (byte & 0x1F);
        }
    }

    /// Records that this number of bytes are not control characters.
    pub(super) fn pass(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    pub(super) fn are_binary(&self) -> bool {
        self.kinds & 1 != 0 || (self.kinds.count_ones() >= 3 && self.controls * 40 >= self.bytes)
    }
}

/// Whether a whole file of text and ill-formed sequences is short random data, such as a key, in which three different
/// control characters may be missing. In random data half of the bytes are control characters or ill-formed, and a third
/// are control characters or bytes that are not letters in windows-1252, of many kinds.
pub(crate) fn is_noise(bytes: &[u8]) -> bool {
    /// A shorter file may be a single word, or a sample of letters.
    const MIN: usize = 8;
    /// A line of one sign may separate paragraphs.
    const KINDS: u32 = 4;

    let mut ill_formed = 0;
    let mut signs = 0;
    let mut kinds = 0_u64;
    for byte in bytes.utf8_chunks().flat_map(|chunk| chunk.invalid().iter().copied()) {
        ill_formed += 1;
        if byte < 0xC0 {
            signs += 1;
            kinds |= 1 << (byte & 0x3F);
        }
    }
    let controls = bytes.iter().filter(|&&byte| is_control(byte)).count();
    let odd = controls + ill_formed;
    let has_space = bytes.iter().any(u8::is_ascii_whitespace);
    bytes.len() >= MIN
        && ((!has_space && odd * 3 >= bytes.len())
            || (controls > 0 && odd * 5 >= bytes.len() * 2)
            || (kinds.count_ones() >= KINDS && (controls + signs) * 5 >= bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_formats_are_recognized_without_a_nul() {
        for (name, start) in [
            ("PNG", &b"\x89PNG\r\n\x1A\n"[..]),
            ("PDF", b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n"),
            ("gzip", b"\x1F\x8B\x08\x08abc"),
            ("zlib", b"x\x9CK\xCAK\xE1JRH\xCBON\xE4JL\xCDH\x04\xB23\xF2R\n"),
            ("DER", b"\x30\x82\x01\x0A\x02\x82\x01\x01\xC3"),
            ("OpenPGP key", b"\x99\x01\x0D\x04\x5C"),
            ("OpenPGP message", b"\x85\x01\x0C\x03\xA9\x3F\x11\x8B"),
            ("OpenPGP with a password", b"\x8C\x0D\x04\x09\x03\x02"),
            ("OpenPGP, new format", b"\xC1\xC0\x4C\x03\xA9\x3F"),
            ("noise", b"\x8A\x13\xF0\x07\x99a\x1E\xFFb\xC0\x02\x80"),
        ] {
            let mut start = start.to_vec();
            if name == "DER" {
                start.resize(4 + 0x10A, 0x80);
            }
            assert!(is_binary(&start), "{name}");
        }
    }

    #[test]
    fn text_is_not_binary() {
        for text in [
            &b""[..],
            b"plain\x1B[31m\x08\x1A",
            b"\x01\x02\x03 well-formed",
            b"caf\xE9",
            b"x^2 + caf\xE9",
            b"x\xDA\xE9\xE9",
            b"BM\xE9",
            // Cyrillic, GBK and Shift_JIS.
            b"\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0",
            b"\xD6\xD0\xCE\xC4\xD7\xA2\xCA\xCD",
            b"\x300\x82\xA0\x82\xA2",
            b"\x99\xD8\x8C\x8E\x90\xA5",
            // Fields that are separated by one control character.
            b"8=FIX.4.2\x019=10\x0135=D\x01caf\xE9\x01",
        ] {
            assert!(!is_binary(text), "{}", text.escape_ascii());
        }
    }
}
