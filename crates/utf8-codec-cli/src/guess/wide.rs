//! Text in UTF-16 and UTF-32, which contains NUL and is not binary.

use utf8_codec_encodings::detect::{Detection, Detector};
use utf8_codec_encodings::{Encoding, TranscodeStatus, Transcoder};

/// The number of bytes that [`Detector`] examines as UTF-16.
const DETECTED: usize = 4096;

/// The encoding of wide text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    pub(crate) encoding: Encoding,
    pub(crate) has_bom: bool,
}

impl Wide {
    /// Returns the encoding if the start of a file is UTF-16 or UTF-32 with a BOM, or looks like UTF-16.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        let encoding = match *start {
            // `FF FE 00 00` is also the BOM of UTF-16LE and a NUL, which text does not contain.
            [0xFF, 0xFE, 0, 0, ..] => Encoding::Utf32Le,
            [0, 0, 0xFE, 0xFF, ..] => Encoding::Utf32Be,
            [0xFF, 0xFE, ..] => Encoding::Utf16Le,
            [0xFE, 0xFF, ..] => Encoding::Utf16Be,
            _ if has_evidence(&start[..start.len().min(DETECTED)]) => {
                let mut detector = Detector::new();
                detector.push(&start[..start.len().min(DETECTED)]);
                let Detection::LooksLikeUtf16 { encoding, .. } = detector.finish() else { return None };
                return Some(Self { encoding, has_bom: false });
            }
            _ => return None,
        };
        let mut trial = Trial::new(encoding);
        trial.feed(&start[..start.len() & !3]);
        // Few other files consist of units below 110000, so UTF-32 must have one after the BOM, and no other units.
        let is_32 = matches!(encoding, Encoding::Utf32Le | Encoding::Utf32Be);
        let is_exact = trial.is_well_formed() && (trial.characters > 1 || start.len() == 4);
        (trial.is_text() && (!is_32 || is_exact)).then_some(Self { encoding, has_bom: true })
    }
}

/// Whether the bytes contain one of those that every code unit contains which the detector counts as evidence.
fn has_evidence(bytes: &[u8]) -> bool {
    memchr::memchr3(0, 1, 2, bytes).is_some() || memchr::memchr(0xFF, bytes).is_some()
}

/// Decodes a file without keeping the text, in order to know whether a conversion succeeds.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    transcoder: Transcoder,
    characters: u64,
    errors: u64,
    has_nul: bool,
    /// `None` in UTF-32, in which such text is ill-formed.
    ascii: Option<AsciiPairs>,
}

impl Trial {
    pub(super) fn new(encoding: Encoding) -> Self {
        let transcoder = Transcoder::new(encoding, Encoding::Utf8);
        let ascii = match encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => Some(AsciiPairs::new(encoding == Encoding::Utf16Be)),
            _ => None,
        };
        Self { transcoder, characters: 0, errors: 0, has_nul: false, ascii }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.run(Some(bytes));
        if let Some(ascii) = &mut self.ascii {
            ascii.push(bytes);
        }
    }

    pub(super) fn finish(&mut self) {
        self.run(None);
    }

    fn run(&mut self, chunk: Option<&[u8]>) {
        let mut room = [0; 8 * 1024];
        let mut rest = chunk.unwrap_or_default();
        loop {
            let progress = match chunk {
                Some(_) => self.transcoder.feed_into_slice(rest, &mut room),
                None => self.transcoder.finish_into_slice(&mut room),
            };
            rest = &rest[progress.read..];
            let text = &room[..progress.written];
            self.characters += text.iter().filter(|&&byte| !(0x80..0xC0).contains(&byte)).count() as u64;
            self.has_nul |= text.contains(&0);
            match progress.status {
                TranscodeStatus::InputEmpty => return,
                TranscodeStatus::OutputFull => {}
                TranscodeStatus::IllFormed(_) => self.errors += 1,
            }
        }
    }

    /// Whether some or all of the content is rather ASCII.
    pub(super) fn has_ascii(&self) -> bool {
        self.ascii.as_ref().is_some_and(AsciiPairs::is_found)
    }

    /// Whether every byte was decoded.
    pub(super) fn is_well_formed(&self) -> bool {
        self.errors == 0
    }

    /// Whether the content is text, in which up to one character in 20 is ill-formed.
    pub(super) fn is_text(&self) -> bool {
        !self.has_nul && self.errors <= 1 + self.characters / 20
    }
}

/// Searches UTF-16 for text in ASCII, which a program appended that did not know the encoding, or which follows a wrong BOM.
/// Two bytes of it are a letter of Chinese, and decoding them succeeds.
#[derive(Clone, Debug)]
struct AsciiPairs {
    is_big_endian: bool,
    /// The first byte of an incomplete code unit.
    first: Option<u8>,
    /// The number of code units, such as a BOM, that are not two characters of ASCII.
    others: u64,
    /// The number of code units since the last one of these.
    run: u32,
    /// Their high bytes, as a set. In lines of one sign and in small scripts they are the same.
    high: u128,
    is_found: bool,
}

impl AsciiPairs {
    /// The length of a run that Chinese does not have. In 400,000 characters of it the longest one has 10.
    const LEAST: u32 = 16;
    const LEAST_HIGH: u32 = 4;
    /// The length of a whole file.
    const LEAST_WHOLE: u32 = 4;

    const fn new(is_big_endian: bool) -> Self {
        Self { is_big_endian, first: None, others: 0, run: 0, high: 0, is_found: false }
    }

    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match self.first.take() {
                None => self.first = Some(byte),
                Some(first) if self.is_big_endian => self.unit(first, byte),
                Some(first) => self.unit(byte, first),
            }
        }
    }

    fn unit(&mut self, high: u8, low: u8) {
        if !is_text(high) || !is_text(low) {
            (self.others, self.run, self.high) = (self.others + 1, 0, 0);
            return;
        }
        // Letters of Indic scripts and kana have these high bytes.
        if !matches!(high, b'\t' | b'\n' | b'\r' | 0x30..=0x33) {
            self.run = self.run.saturating_add(1);
            self.high |= 1 << high;
        }
        self.is_found |= self.run >= Self::LEAST && self.high.count_ones() >= Self::LEAST_HIGH;
    }

    fn is_found(&self) -> bool {
        self.is_found || self.others <= 1 && self.run >= Self::LEAST_WHOLE
    }
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_text_is_recognized() {
        let wide = |encoding, has_bom| Some(Wide { encoding, has_bom });
        for (start, expected) in [
            (&b"\xFF\xFEh\0i\0"[..], wide(Encoding::Utf16Le, true)),
            (b"\xFE\xFF\0h", wide(Encoding::Utf16Be, true)),
            (b"\xFF\xFE\0\0h\0\0\0", wide(Encoding::Utf32Le, true)),
            (b"\0\0\xFE\xFF\0\0\0h", wide(Encoding::Utf32Be, true)),
            (b"\0h\0i\0 \0\xE9\0\xE8\0a", wide(Encoding::Utf16Be, false)),
            // A lone surrogate, and a file that ends inside a character.
            (b"\xFF\xFEh\0\0\xD8i\0", wide(Encoding::Utf16Le, true)),
            (b"\xFF\xFEh\0i", wide(Encoding::Utf16Le, true)),
            (b"\xFF\xFE\0\0\x30\0", None),
            (b"\xFF\xFE\0\0\x30\0\x30\0\x30\0", None),
            (b"\xFF\xFEa\0\0\0b\0", None),
            (b"h\0\xE9\0", None),
            (b"plain text, and a NUL\0", None),
            (b"caf\xE9", None),
        ] {
            assert_eq!(Wide::of(start), expected, "{}", start.escape_ascii());
        }
    }
}
