//! What bytes are: by their BOM, by a designation, by themselves.

mod bom;
mod designation;

#[cfg(feature = "alloc")]
mod fallback;

pub(crate) use bom::sniff;
pub use bom::{BomSniffer, Sniff};
pub use designation::{Designation, DesignationMatch, DesignationMatches, DesignationRecogniser, Padding};
#[cfg(feature = "alloc")]
pub use fallback::{FallbackDecoder, Legacy, Scope, decode_or_legacy};

use crate::decoder::{Piece, Utf8Decoder};
use crate::encoding::Encoding;
use crate::error::Utf8Error;

/// What a stream is, as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detection {
    /// Nothing above `7F`: ASCII, and UTF-8 as well as any encoding that extends ASCII.
    Ascii,
    /// Well-formed UTF-8 with so many sequences of more than one byte. An unfinished one at the end is not counted.
    Utf8 {
        /// Multi-byte sequences seen.
        sequences: u64,
    },
    /// The BOM `EF BB BF`, and well-formed UTF-8 after it.
    Utf8WithBom {
        /// Multi-byte sequences seen, without the BOM.
        sequences: u64,
    },
    /// The BOM of UTF-16, in this byte order. What follows it was not looked at.
    Utf16(Encoding),
    /// The BOM of UTF-32, in this byte order. What follows it was not looked at.
    Utf32(Encoding),
    /// Not UTF-8, and without a BOM that says what else.
    NotUtf8 {
        /// The first ill-formed sequence.
        first: Utf8Error,
    },
}

impl Detection {
    /// An upper bound for the chance that text in another encoding looks like this by accident; 1 says that nothing is
    /// known. Small for UTF-8 with a few sequences already: three bring it below one in ten thousand.
    ///
    /// The reasoning of RFC 2279 §1 ("the probability that a string of characters in any other encoding appears as
    /// valid UTF-8 is low, diminishing with increasing string length") in numbers: of the 49,152 pairs of random
    /// bytes that are not both ASCII, 1,920 are a sequence of UTF-8, 3.9 %; for three bytes it is 0.42 %, for four
    /// 0.026 %. So n sequences have a chance of (5/128)^n at most. Real legacy text does worse than random bytes:
    /// leads are accented letters in Latin-1 and windows-1252, continuations are punctuation and symbols.
    pub fn coincidence(&self) -> f64 {
        match *self {
            Self::Ascii => 1.0,
            Self::Utf8 { sequences } => power(5.0 / 128.0, sequences),
            // The BOM is three bytes of its own, "ï»¿" in Latin-1.
            Self::Utf8WithBom { sequences } => power(5.0 / 128.0, sequences.saturating_add(1)),
            // Two bytes, resp. four, of 256 each.
            Self::Utf16(_) => 1.0 / 65_536.0,
            Self::Utf32(_) => 1.0 / 4_294_967_296.0,
            Self::NotUtf8 { .. } => 0.0,
        }
    }

    /// The encoding to read the stream in; `None` if it is not known ([`NotUtf8`](Self::NotUtf8)). ASCII is UTF-8.
    pub const fn encoding(&self) -> Option<Encoding> {
        match *self {
            Self::Ascii | Self::Utf8 { .. } | Self::Utf8WithBom { .. } => Some(Encoding::Utf8),
            Self::Utf16(encoding) | Self::Utf32(encoding) => Some(encoding),
            Self::NotUtf8 { .. } => None,
        }
    }
}

fn power(base: f64, exponent: u64) -> f64 {
    let mut result = 1.0;
    for _ in 0..exponent {
        result *= base;
        if result == 0.0 {
            break;
        }
    }
    result
}

/// Says at any time what a stream is: fed in chunks of any size, in constant memory.
///
/// ```
/// use utf8_codec::detect::{Detection, Detector};
///
/// let mut detector = Detector::new();
/// assert_eq!(detector.feed(b"plain"), Detection::Ascii);
/// assert_eq!(detector.feed(b" caf\xC3"), Detection::Ascii);
/// assert_eq!(detector.feed(b"\xA9"), Detection::Utf8 { sequences: 1 });
/// assert!(detector.detection().coincidence() < 0.04);
/// let Detection::NotUtf8 { first } = detector.feed(b" caf\xE9!") else { panic!() };
/// assert_eq!(first.offset, 15);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Detector {
    sniffer: BomSniffer,
    decoder: Utf8Decoder,
    sequences: u64,
    settled: Option<Detection>,
}

impl Default for Detector {
    fn default() -> Self {
        Self::new()
    }
}

impl Detector {
    /// A detector at the start of a stream.
    pub const fn new() -> Self {
        Self { sniffer: BomSniffer::new(), decoder: Utf8Decoder::new(), sequences: 0, settled: None }
    }

    /// Looks at the next chunk: what the stream is by now.
    ///
    /// `FF` and `FE` at the start are not told as [`NotUtf8`](Detection::NotUtf8) while they may become a BOM.
    pub fn feed(&mut self, chunk: &[u8]) -> Detection {
        let sniff = self.sniffer.feed(chunk);
        self.settle(sniff);
        if self.settled.is_none() {
            self.count(chunk);
        }
        self.detection()
    }

    /// The end of the stream: what it was. A sequence that it cut short is ill-formed.
    pub fn finish(&mut self) -> Detection {
        let sniff = self.sniffer.finish();
        self.settle(sniff);
        if let (Err(first), None) = (self.decoder.finish(), self.settled) {
            self.settled = Some(Detection::NotUtf8 { first });
        }
        self.detection()
    }

    /// What the stream is, as far as it was fed.
    pub fn detection(&self) -> Detection {
        match (self.settled, self.sniffer.sniff()) {
            (Some(Detection::NotUtf8 { .. }), Sniff::Undecided) | (None, Sniff::Undecided) => {
                Detection::Ascii
            }
            (Some(settled), _) => settled,
            (None, Sniff::Found(Encoding::Utf8)) => {
                Detection::Utf8WithBom { sequences: self.sequences.saturating_sub(1) }
            }
            (None, _) if self.sequences == 0 => Detection::Ascii,
            (None, _) => Detection::Utf8 { sequences: self.sequences },
        }
    }

    /// Bytes looked at as UTF-8.
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// A BOM outweighs what the bytes were taken for before it was whole.
    fn settle(&mut self, sniff: Sniff) {
        match sniff {
            Sniff::Found(encoding @ (Encoding::Utf16Le | Encoding::Utf16Be)) => {
                self.settled = Some(Detection::Utf16(encoding));
            }
            Sniff::Found(encoding @ (Encoding::Utf32Le | Encoding::Utf32Be)) => {
                self.settled = Some(Detection::Utf32(encoding));
            }
            _ => {}
        }
    }

    fn count(&mut self, chunk: &[u8]) {
        for piece in self.decoder.feed(chunk) {
            match piece {
                Piece::Text(text) => {
                    let ascii = text.bytes().filter(u8::is_ascii).count();
                    self.sequences += (text.chars().count() - ascii) as u64;
                }
                Piece::Seam(_) => self.sequences += 1,
                Piece::IllFormed(first) => {
                    self.settled = Some(Detection::NotUtf8 { first });
                    return;
                }
            }
        }
    }
}
