//! Code that the integration tests share: partitions of input, the naive oracle, the published suites.
#![allow(dead_code, missing_docs, unreachable_pub)]

#[cfg(feature = "http")]
pub mod bodies;
pub mod conformance;
#[cfg(feature = "transcode")]
pub mod encodings;
#[cfg(feature = "tower")]
pub mod example_server;
pub mod hostile;
#[cfg(feature = "transcode")]
pub mod languages;
#[cfg(feature = "tower")]
pub mod layers;
#[cfg(feature = "mime")]
pub mod messages;
pub mod oracle;
#[cfg(feature = "std")]
pub mod outcomes;
#[cfg(feature = "cli")]
pub mod program;
#[cfg(feature = "relay")]
pub mod relay;
#[cfg(all(feature = "cli", unix))]
pub mod server;
#[cfg(feature = "codec")]
pub mod sse;
#[cfg(feature = "mime")]
pub mod transfer;

use utf8_codec::{Ascii, ErrorPolicy};

/// Calls `check` with every partition of `input` into non-empty chunks: 2^(n-1) of them.
pub fn every_partition(input: &[u8], mut check: impl FnMut(&[&[u8]])) {
    assert!(input.len() <= 12, "{} bytes have too many partitions: sample them", input.len());
    let mut chunks = Vec::new();
    for cuts in 0..1_u32 << input.len().saturating_sub(1) {
        chunks.clear();
        let mut start = 0;
        for end in 1..=input.len() {
            if end == input.len() || cuts & 1 << (end - 1) != 0 {
                chunks.push(&input[start..end]);
                start = end;
            }
        }
        check(&chunks);
    }
}

/// Calls `check` with partitions of a longer input: the whole input, byte by byte, two chunks split at every position,
/// and `random` partitions that may have empty chunks.
pub fn some_partitions(input: &[u8], random: usize, mut check: impl FnMut(&[&[u8]])) {
    check(&[input]);
    check(&input.chunks(1).collect::<Vec<_>>());
    for cut in 0..=input.len() {
        check(&[&input[..cut], &input[cut..]]);
    }
    let mut rng = Rng::new(input.len() as u64);
    for _ in 0..random {
        let mut chunks = Vec::new();
        let mut rest = input;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(rng.below(rest.len().min(9) + 1));
            chunks.push(chunk);
            rest = after;
        }
        check(&chunks);
    }
}

/// Every error policy. Those with a parameter occur more than once.
pub fn policies() -> [ErrorPolicy; 8] {
    [
        ErrorPolicy::Strict,
        ErrorPolicy::Replace,
        ErrorPolicy::ReplaceWith('#'),
        ErrorPolicy::Substitute(Ascii::QUESTION_MARK),
        ErrorPolicy::Escape,
        ErrorPolicy::Latin1,
        ErrorPolicy::Windows1252,
        ErrorPolicy::Skip,
    ]
}

/// A seeded generator (splitmix64), so that failures are reproducible.
pub struct Rng(u64);

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

    /// Returns bytes that are mostly UTF-8: whole characters of every length, their prefixes, and stray bytes of every
    /// class.
    pub fn dirty_text(&mut self, len: usize) -> Vec<u8> {
        const PARTS: &[&[u8]] = &[
            b"a",
            b"\n",
            b"hello",
            b"\xC3\xA9",
            b"\xE2\x82\xAC",
            b"\xEF\xBB\xBF",
            b"\xF0\x9F\x92\xA9",
            b"\xF4\x8F\xBF\xBF",
            b"\xED\x9F\xBF",
            b"\xE2\x82",
            b"\xF0\x9F\x92",
            b"\xC3",
            b"\x80",
            b"\xBF",
            b"\xC0\xAF",
            b"\xE0\x80",
            b"\xED\xA0\x80",
            b"\xF0\x8F",
            b"\xF4\x90",
            b"\xF5",
            b"\xFE",
            b"\xFF",
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
