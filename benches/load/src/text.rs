//! Random text, random partitions, and hashes of streams.

#[path = "../../../crates/kernels/src/rng.rs"]
mod rng;

pub use rng::Rng;
use xxhash_rust::xxh3::Xxh3;

/// A text in many scripts, of which streams are parts.
#[derive(Debug)]
pub struct Text(String);

const WORDS: [&str; 12] = [
    "connection ",
    "the same bytes ",
    "Übergröße ",
    "déjà vu ",
    "переход ",
    "日本語の",
    "한국어 ",
    "עברית ",
    "ภาษา ",
    "\u{1F600}\u{1F4A9} ",
    "0123456789 ",
    "line\n",
];

impl Text {
    pub const LEN: usize = 4 << 20;

    pub fn new() -> Self {
        let mut rng = Rng::new(1);
        let mut text = String::with_capacity(Self::LEN + 64);
        while text.len() < Self::LEN {
            // Half of the words are ASCII.
            let word = if rng.below(2) == 0 { rng.below(2) } else { rng.below(WORDS.len()) };
            text.push_str(WORDS[word]);
        }
        Self(text)
    }

    /// Returns the whole text.
    pub fn all(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Returns well-formed text of about `len` bytes, at most half of the whole text.
    pub fn piece(&self, rng: &mut Rng, len: usize) -> &str {
        let start = self.0.ceil_char_boundary(rng.below(Self::LEN / 2));
        &self.0[start..self.0.floor_char_boundary(start + len)]
    }

    /// Same as [`piece`](Self::piece), but with about one ill-formed sequence in each KiB, and at least one.
    pub fn piece_with_errors(&self, rng: &mut Rng, len: usize) -> Vec<u8> {
        const ILL_FORMED: [&[u8]; 5] = [b"\xFF", b"\xC3", b"\xED\xA0\x80", b"\xF0\x9F\x92", b"\xC0\xAF"];
        let mut bytes = self.piece(rng, len).as_bytes().to_vec();
        for _ in 0..1 + len / 1024 {
            let at = rng.below(bytes.len() + 1);
            let sequence = ILL_FORMED[rng.below(ILL_FORMED.len())];
            bytes.splice(at..at, sequence.iter().copied());
        }
        bytes
    }
}

/// The length and the hash of the bytes of a stream.
#[derive(Clone, Default)]
pub struct Digest {
    len: u64,
    hash: Xxh3,
}

impl Digest {
    pub fn of(bytes: &[u8]) -> (u64, u64) {
        let mut digest = Self::default();
        digest.update(bytes);
        digest.value()
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        self.hash.update(bytes);
    }

    pub fn value(&self) -> (u64, u64) {
        (self.len, self.hash.digest())
    }
}
