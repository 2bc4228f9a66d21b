//! Random numbers, and random text, for the tests of the library, of the program and of the benchmarks.

// Each of them uses a part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]

/// A seeded generator (splitmix64), so that failures are reproducible.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns bytes that are mostly UTF-8: whole characters of every length, their prefixes, and stray bytes of every
    /// class.
    pub fn dirty_text(&mut self, len: usize) -> Vec<u8> {
        #[rustfmt::skip]
        const PARTS: &[&[u8]] = &[
            b"a", b"\n", b"hello", b"\xC3\xA9", b"\xE2\x82\xAC", b"\xEF\xBB\xBF", b"\xF0\x9F\x92\xA9",
            b"\xF4\x8F\xBF\xBF", b"\xED\x9F\xBF", b"\xE2\x82", b"\xF0\x9F\x92", b"\xC3", b"\x80", b"\xBF",
            b"\xC0\xAF", b"\xE0\x80", b"\xED\xA0\x80", b"\xF0\x8F", b"\xF4\x90", b"\xF5", b"\xFE", b"\xFF",
        ];
        let mut out = Vec::new();
        while out.len() < len {
            let part = PARTS[self.below(PARTS.len())];
            // Most parts are well-formed.
            if core::str::from_utf8(part).is_ok() || self.below(3) == 0 {
                out.extend_from_slice(part);
            }
        }
        out.truncate(len);
        out
    }
}
