//! Byte order marks (Unicode §23.8), called "signatures" in ISO/IEC 10646-1 Annex F.

use crate::encoding::Encoding;

/// The result of a search for a BOM at the start of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// Not decided yet: the bytes so far may be the start of a BOM.
    Undecided,
    /// The BOM of this encoding. It is still part of the stream, as U+FEFF at the start.
    Found(Encoding),
    /// There is no BOM.
    Absent,
}

const WITH_BOM: [Encoding; 5] =
    [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be];
/// The length of the longest BOM, of UTF-32LE, and of the code unit after it, which distinguishes it from the BOM of UTF-16LE
/// and U+0000.
const LONGEST: usize = 8;

/// Searches for a BOM at the start of a stream. `last` means that the stream ends after `bytes`.
///
/// `FF FE 00 00` is the BOM of UTF-32LE if the stream ends there or if a code unit of UTF-32 follows. Otherwise it is the BOM
/// of UTF-16LE and U+0000.
pub(crate) fn sniff(bytes: &[u8], last: bool) -> Sniff {
    // Most streams start with a byte that cannot start a BOM.
    if let [0x01..=0xEE | 0xF0..=0xFD, ..] = *bytes {
        return Sniff::Absent;
    }
    let mut found = None;
    for encoding in WITH_BOM {
        let bom = encoding.bom().unwrap_or_default();
        if bytes.starts_with(bom) {
            // No `break`: a BOM of four bytes is later in the list and has precedence.
            found = Some(encoding);
        } else if !last && bom.starts_with(bytes) {
            return Sniff::Undecided;
        }
    }
    if found == Some(Encoding::Utf32Le) {
        match bytes[4..] {
            [a, b, c, d, ..] if char::from_u32(u32::from_le_bytes([a, b, c, d])).is_none() => {
                found = Some(Encoding::Utf16Le);
            }
            [_, _, _, _, ..] => {}
            [] if last => {}
            // No later byte can make these bytes a code unit of UTF-32.
            [_, _, c, ..] if c > 0x10 => found = Some(Encoding::Utf16Le),
            _ if last => found = Some(Encoding::Utf16Le),
            _ => return Sniff::Undecided,
        }
    }
    found.map_or(Sniff::Absent, Sniff::Found)
}

/// Searches for a BOM at the start of a stream in chunks of any size. The bytes are not consumed.
///
/// `FF FE 00 00` is the BOM of UTF-32LE if the stream ends there or if a code unit of UTF-32 follows. Otherwise it is the BOM
/// of UTF-16LE and U+0000, as it always is in the WHATWG Encoding Standard, which has no UTF-32.
///
/// [`Transcoder::with_sniffing`](crate::transcode::Transcoder::with_sniffing) does this during a conversion.
///
/// ```
/// use utf8_codec_encodings::detect::{BomSniffer, Sniff};
/// use utf8_codec_encodings::Encoding;
///
/// let mut sniffer = BomSniffer::new();
/// assert_eq!(sniffer.push(b"\xFF"), Sniff::Undecided);
/// assert_eq!(sniffer.push(b"\xFE"), Sniff::Undecided); // UTF-16LE, or UTF-32LE
/// assert_eq!(sniffer.push(b"a\0"), Sniff::Found(Encoding::Utf16Le));
/// assert_eq!(BomSniffer::new().push(b"\xFFa"), Sniff::Absent);
/// ```
#[derive(Clone, Debug, Default)]
pub struct BomSniffer {
    bytes: [u8; LONGEST],
    len: u8,
    ended: bool,
}

impl BomSniffer {
    /// Creates a sniffer at the start of a stream.
    pub const fn new() -> Self {
        Self { bytes: [0; LONGEST], len: 0, ended: false }
    }

    /// Examines the next chunk and returns the result so far. Once the result is decided, later chunks do not change
    /// it.
    pub fn push(&mut self, chunk: &[u8]) -> Sniff {
        for &byte in chunk {
            if self.sniff() != Sniff::Undecided {
                break;
            }
            self.bytes[usize::from(self.len)] = byte;
            self.len += 1;
        }
        self.sniff()
    }

    /// Ends the stream and returns the result, which is never [`Sniff::Undecided`].
    pub fn finish(&mut self) -> Sniff {
        self.ended = true;
        self.sniff()
    }

    /// Returns the bytes that were examined until the result was decided, at most 8.
    pub fn examined(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Returns the result so far.
    pub fn sniff(&self) -> Sniff {
        sniff(self.examined(), self.ended)
    }
}
