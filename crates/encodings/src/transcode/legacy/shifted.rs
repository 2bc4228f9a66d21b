//! The encodings that are only decoded, and have shifts: UTF-7 and ISO-2022-KR.

use super::iso_2022_kr::{self, Iso2022Kr};
use super::utf_7::{self, Utf7};
use crate::encoding::Encoding;
use crate::transcode::item::{EncodedSequence, Item};

/// The state of one of these encodings between two sequences.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shifted {
    Utf7(Utf7),
    Iso2022Kr(Iso2022Kr),
}

/// The number of bytes that are decoded at once, and of the first of these pieces. An error in a piece makes the work
/// on the rest of it useless.
const PIECE: usize = 512;
const FIRST_PIECE: usize = 32;

impl Shifted {
    pub(super) const fn of(encoding: Encoding) -> Option<Self> {
        match encoding {
            Encoding::Utf7 => Some(Self::Utf7(Utf7::ASCII)),
            Encoding::Iso2022Kr => Some(Self::Iso2022Kr(Iso2022Kr::ASCII)),
            _ => None,
        }
    }

    pub(super) fn read(self, bytes: &[u8]) -> Item {
        match self {
            Self::Utf7(state) => state.read(bytes),
            Self::Iso2022Kr(state) => state.read(bytes),
        }
    }

    pub(super) fn advance(&mut self, bytes: &[u8]) {
        match self {
            Self::Utf7(state) => state.advance(bytes),
            Self::Iso2022Kr(state) => state.advance(bytes),
        }
    }

    /// Decodes well-formed text to UTF-8, at most up to the end of `src` or `dst`. Returns the number of bytes read and the
    /// number of bytes written.
    pub(super) fn decode(mut self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        let mut read = 0;
        let mut written = 0;
        let mut piece = FIRST_PIECE;
        loop {
            let (taken, made) = self.decode_run(&src[read..src.len().min(read + piece)], &mut dst[written..]);
            piece = PIECE.min(2 * piece);
            read += taken;
            written += made;
            if read == src.len() {
                return (read, written);
            }
            let (len, sequence) = match self.read(&src[read..]) {
                Item::CodePoint { value, len } => (len, EncodedSequence::of_value(value)),
                Item::Escape { len } => (len, EncodedSequence::default()),
                _ => return (read, written),
            };
            let bytes = sequence.as_slice();
            let Some(room) = dst.get_mut(written..written + bytes.len()) else { return (read, written) };
            room.copy_from_slice(bytes);
            self.advance(&src[read..read + len]);
            read += len;
            written += bytes.len();
        }
    }

    /// Decodes text at the start of `src` without a shift.
    #[inline]
    fn decode_run(&mut self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        let ascii = match self {
            Self::Utf7(state) => state.ascii(src),
            Self::Iso2022Kr(state) => state.ascii(src),
        };
        if let (Some(ascii @ [_, ..]), Some(room)) = (src.get(..ascii), dst.get_mut(..ascii))
            && ascii.is_ascii()
        {
            room.copy_from_slice(ascii);
            return (ascii.len(), ascii.len());
        }
        match self {
            Self::Utf7(state) => state.decode_shift(src, dst),
            Self::Iso2022Kr(state) => state.decode_pairs(src, dst),
        }
    }
}

/// Encodes a character without a shift. Returns `None` for every other character.
pub(super) fn encode(encoding: Encoding, character: char) -> Option<EncodedSequence> {
    match encoding {
        Encoding::Utf7 if character == '+' => Some(EncodedSequence::of(*b"+-")),
        Encoding::Utf7 if utf_7::is_direct(character) => Some(EncodedSequence::of([character as u8])),
        Encoding::Iso2022Kr if iso_2022_kr::is_direct(character) => {
            Some(EncodedSequence::of([character as u8]))
        }
        _ => None,
    }
}
