//! Decoding and encoding with the tables of `encoding_rs`.

use core::str;

use encoding_rs::{Decoder, DecoderResult, Encoder, EncoderResult};
use utf8_codec::ErrorKind;

use super::shifted::{self, Shifted};
use super::tables::{DoubleByte, SingleByte};
use crate::encoding::Encoding;
use crate::transcode::item::{EncodedSequence, Item};

/// A legacy encoding of the input, and its state between two sequences.
#[derive(Clone, Copy, Debug)]
pub(in crate::transcode) struct LegacySource {
    encoding: Encoding,
    state: Iso2022Jp,
    /// Whether the last sequence was an escape sequence. Another one is then an error.
    is_after_escape: bool,
    shifted: Option<Shifted>,
}

/// A legacy encoding of the output, and its state between two sequences.
#[derive(Clone, Copy, Debug)]
pub(in crate::transcode) struct LegacyTarget {
    encoding: Encoding,
    state: Iso2022Jp,
}

/// The character set that an escape sequence of ISO-2022-JP selects. It is `Ascii` in every other encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Iso2022Jp {
    Ascii,
    Roman,
    Katakana,
    Jis0208,
}

const ESCAPE: u8 = 0x1B;

/// The escape sequence that selects ASCII.
const TO_ASCII: [u8; 3] = *b"\x1B(B";

/// The size of a block of UTF-8 that is validated, and then encoded.
const BLOCK: usize = 4 * 1024;

/// More than the output for one sequence, and for the input that restores a state.
const SCRATCH: usize = 16;

impl Iso2022Jp {
    /// Returns the state that an escape sequence at the start of `bytes` selects.
    const fn selected_by(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [ESCAPE, b'(', b'B', ..] => Some(Self::Ascii),
            [ESCAPE, b'(', b'J', ..] => Some(Self::Roman),
            [ESCAPE, b'(', b'I', ..] => Some(Self::Katakana),
            [ESCAPE, b'$', b'@' | b'B', ..] => Some(Self::Jis0208),
            _ => None,
        }
    }

    /// Returns the position after the last escape sequence of well-formed text, and the state that it selects.
    fn last_in(text: &[u8]) -> Option<(usize, Self)> {
        let at = text.iter().rposition(|&byte| byte == ESCAPE)?;
        Some((at + 3, Self::selected_by(&text[at..])?))
    }

    /// Returns the escape sequence that selects the state, and a character of its set.
    const fn sample(self) -> (&'static [u8], &'static [u8], &'static str) {
        match self {
            Self::Ascii => (&TO_ASCII, b"a", "a"),
            Self::Roman => (b"\x1B(J", b"a", "\u{A5}"),
            Self::Katakana => (b"\x1B(I", b"!", ""),
            Self::Jis0208 => (b"\x1B$B", b"!!", "\u{3000}"),
        }
    }
}

impl LegacySource {
    pub(in crate::transcode) const fn new(encoding: Encoding) -> Self {
        Self { encoding, state: Iso2022Jp::Ascii, is_after_escape: false, shifted: Shifted::of(encoding) }
    }

    /// Returns a decoder in the current state.
    #[inline]
    fn decoder(&self) -> Decoder {
        let mut decoder = self.encoding.tables().new_decoder_without_bom_handling();
        if self.state != Iso2022Jp::Ascii || self.is_after_escape {
            let (escape, character, _) = self.state.sample();
            for input in [escape, if self.is_after_escape { b"" } else { character }] {
                let _ = decoder.decode_to_utf8_without_replacement(input, &mut [0; SCRATCH], false);
            }
        }
        decoder
    }

    /// Decodes the first item of `bytes`. The slice must not be empty.
    // Inlined, it would make the code for the other encodings save registers for each code point.
    #[inline(never)]
    pub(in crate::transcode) fn read(&self, bytes: &[u8]) -> Item {
        if let Some(shifted) = self.shifted {
            return shifted.read(bytes);
        }
        if self.encoding == Encoding::Iso2022Jp && bytes[0] == ESCAPE {
            return self.read_escape(bytes);
        }
        if let Some(table) = SingleByte::of(self.encoding) {
            return match table.unit(bytes[0]) {
                Some(unit) => Item::CodePoint { value: unit.into(), len: 1 },
                None => Item::IllFormed { kind: ErrorKind::Unassigned, len: 1 },
            };
        }
        if let Some((unit, after)) = DoubleByte::of(self.encoding).and_then(|table| table.sequence(bytes)) {
            return Item::CodePoint { value: unit.into(), len: bytes.len() - after.len() };
        }
        let mut decoder = self.decoder();
        let mut text = [0; SCRATCH];
        // One byte at a time, so that the result does not depend on the bytes after the first item.
        for (index, byte) in bytes.chunks_exact(1).enumerate() {
            let (result, _, written) = decoder.decode_to_utf8_without_replacement(byte, &mut text, false);
            match result {
                DecoderResult::Malformed(len, _) => {
                    let kind = match len {
                        1 if self.encoding.tables().is_single_byte() => ErrorKind::Unassigned,
                        _ if usize::from(len) <= index => ErrorKind::MissingContinuation,
                        1 => ErrorKind::InvalidLead,
                        _ => ErrorKind::Unassigned,
                    };
                    return Item::IllFormed { kind, len: len.into() };
                }
                _ if written > 0 => return Item::of_text(&text[..written], index + 1),
                _ => {}
            }
        }
        Item::Unfinished
    }

    /// Decodes the escape sequence at the start of `bytes`. Two in a row are an error, because the first one selects a set
    /// of which nothing is used.
    fn read_escape(&self, bytes: &[u8]) -> Item {
        match bytes {
            [_] | [_, b'(' | b'$'] => Item::Unfinished,
            _ if Iso2022Jp::selected_by(bytes).is_none() => {
                Item::IllFormed { kind: ErrorKind::InvalidLead, len: 1 }
            }
            _ if self.is_after_escape => Item::IllFormed { kind: ErrorKind::Unassigned, len: 3 },
            _ => Item::Escape { len: 3 },
        }
    }

    /// Decodes `bytes` at the end of the stream. [`read`](Self::read) must have returned [`Item::Unfinished`] for them.
    pub(in crate::transcode) fn read_last(&self, bytes: &[u8]) -> Item {
        // The bytes after the ESC of an unfinished escape sequence are text.
        let len = if bytes[0] == ESCAPE { 1 } else { bytes.len() };
        Item::IllFormed { kind: ErrorKind::Truncated, len }
    }

    /// Decodes well-formed text to UTF-8, at most up to the end of `src` or `dst`. Returns the number of bytes read and
    /// the number of bytes written.
    pub(in crate::transcode) fn decode(&self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        if let Some(shifted) = self.shifted {
            return shifted.decode(src, dst);
        }
        if let Some(table) = SingleByte::of(self.encoding) {
            return table.decode(src, dst);
        }
        if let Some(table) = DoubleByte::of(self.encoding) {
            let done = table.decode(src, dst);
            if done.0 > 0 {
                return done;
            }
        }
        let mut decoder = self.decoder();
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(src, dst, false);
        let unfinished = match result {
            DecoderResult::Malformed(len, after) => len + after,
            // The end shows the number of bytes of an unfinished sequence.
            _ => match decoder.decode_to_utf8_without_replacement(&[], &mut [0; SCRATCH], true).0 {
                DecoderResult::Malformed(len, after) => len + after,
                _ => 0,
            },
        };
        // More is subtracted than was read if the state before `src` is part of the error.
        (read.saturating_sub(unfinished.into()), written)
    }

    /// Returns to the state at the start of a stream.
    pub(in crate::transcode) const fn restart(&mut self) {
        *self = Self::new(self.encoding);
    }

    /// Updates the state after `bytes`: an error, or whole sequences.
    #[inline]
    pub(in crate::transcode) fn advance(&mut self, bytes: &[u8]) {
        if let Some(shifted) = &mut self.shifted {
            return shifted.advance(bytes);
        }
        if self.encoding != Encoding::Iso2022Jp || bytes.is_empty() {
            return;
        }
        let last = Iso2022Jp::last_in(bytes);
        self.is_after_escape = last.is_some_and(|(end, _)| end == bytes.len());
        self.state = last.map_or(self.state, |(_, state)| state);
    }
}

impl Item {
    /// Creates the item for a sequence of `len` bytes that was decoded to `text`.
    fn of_text(text: &[u8], len: usize) -> Self {
        let mut characters = str::from_utf8(text).unwrap_or_default().chars().map(u32::from);
        match (characters.next(), characters.next()) {
            (Some(first), Some(second)) => Self::CodePoints { first, second, len },
            (Some(value), None) => Self::CodePoint { value, len },
            (None, _) => Self::IllFormed { kind: ErrorKind::Unassigned, len },
        }
    }
}

impl LegacyTarget {
    pub(in crate::transcode) const fn of(encoding: Encoding) -> Option<Self> {
        if encoding.is_legacy() || encoding.is_decoded_only() {
            Some(Self { encoding, state: Iso2022Jp::Ascii })
        } else {
            None
        }
    }

    /// Returns an encoder in the current state.
    #[inline]
    fn encoder(&self) -> Encoder {
        let mut encoder = self.encoding.tables().new_encoder();
        if self.state != Iso2022Jp::Ascii {
            let (.., character) = self.state.sample();
            let _ = encoder.encode_from_utf8_without_replacement(character, &mut [0; SCRATCH], false);
        }
        encoder
    }

    /// Encodes a character. Returns `None` if the encoding does not have it.
    // Not inlined, for the same reason as `LegacySource::read`.
    #[inline(never)]
    pub(in crate::transcode) fn encode(&self, character: char) -> Option<EncodedSequence> {
        if self.encoding.is_decoded_only() {
            return shifted::encode(self.encoding, character);
        }
        if let Some(table) = SingleByte::of(self.encoding) {
            let byte = u16::try_from(u32::from(character)).ok().and_then(|unit| table.byte(unit))?;
            return Some(EncodedSequence::of([byte]));
        }
        let mut bytes = [0; SCRATCH];
        let mut text = [0; 4];
        let text = character.encode_utf8(&mut text);
        match self.encoder().encode_from_utf8_without_replacement(text, &mut bytes, false) {
            (EncoderResult::InputEmpty, _, written) => Some(EncodedSequence::of_slice(&bytes[..written])),
            _ => None,
        }
    }

    /// Encodes UTF-8, at most up to the end of either slice, an error, or the first character that the encoding does not
    /// have. Returns the number of bytes read and the number of bytes written.
    pub(in crate::transcode) fn encode_utf_8(&self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        if self.encoding.is_decoded_only() {
            return (0, 0);
        }
        if let Some(table) = SingleByte::of(self.encoding) {
            return table.encode(src, dst);
        }
        let src = &src[..src.len().min(dst.len()).min(BLOCK)];
        let (text, _) = kernels::prefix(kernels::AtBoundary::START, src);
        let (result, read, mut written) =
            self.encoder().encode_from_utf8_without_replacement(text, dst, false);
        // An escape sequence at the end selects a set for a character that is not written. Where the input and the output
        // are split determines whether there is one.
        if let (Encoding::Iso2022Jp, [.., ESCAPE, _, _]) = (self.encoding, &dst[..written]) {
            written -= TO_ASCII.len();
        }
        let unmappable = match result {
            EncoderResult::Unmappable(_) => text[..read].chars().next_back().map_or(0, char::len_utf8),
            _ => 0,
        };
        (read - unmappable, written)
    }

    /// Updates the state after `bytes` of output.
    #[inline]
    pub(in crate::transcode) fn advance(&mut self, bytes: &[u8]) {
        if self.encoding == Encoding::Iso2022Jp
            && let Some((_, state)) = Iso2022Jp::last_in(bytes)
        {
            self.state = state;
        }
    }

    /// Returns the bytes that end the output.
    pub(in crate::transcode) fn end(&self) -> &'static [u8] {
        if self.state == Iso2022Jp::Ascii { &[] } else { &TO_ASCII }
    }
}
