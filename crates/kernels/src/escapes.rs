//! Finds the prefix of a text in which every JSON escape encodes a character.

use super::dispatch::Kernel;

/// Returns the length of a prefix of a text in which every escape encodes a character: each surrogate is part of a
/// pair. The prefix ends between escapes, and the text starts between escapes.
///
/// It may be shorter than possible, and is empty if the kernel has no vector code for it.
#[inline]
pub fn escapes_len(text: &[u8]) -> usize {
    Kernel::in_use().escapes_len(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Returns the ends of all parts of a text before the first `\u` that does not encode a character.
    fn ends(text: &[u8]) -> Vec<usize> {
        let unit = |at: usize| {
            let digits = text.get(at..)?.strip_prefix(b"\\u")?.get(..4)?;
            u32::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
        };
        let mut at = 0;
        let mut ends = vec![0];
        while at < text.len() {
            at += match (text[at], text.get(at + 1), unit(at), unit(at + 6)) {
                (b'\\', Some(b'u'), Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
                (b'\\', Some(b'u'), None | Some(0xD800..=0xDFFF), _) | (b'\\', None, ..) => break,
                (b'\\', Some(b'u'), Some(_), _) => 6,
                (b'\\', Some(_), ..) => 2,
                _ => 1,
            };
            ends.push(at);
        }
        ends
    }

    #[test]
    fn escapes_of_characters_are_passed_up_to_the_last_block() {
        let good = [
            r"\u00e9",
            r"\uD83D\uDE00",
            r"\\",
            r"\n",
            r"\u0444",
            r"\uDbFf\uDfFf",
            r"\ud7ff",
            r"\uE000",
            "u0D",
        ];
        let bad = [
            r"\uD83D",
            r"\uDE00",
            r"\u12",
            r"\u",
            r"\uD83D\uD83D\uDE00",
            r"\uDCBA\uDCBA",
            r"\uD83D\\uDE00",
            r"\u00G0",
        ];
        let mut rng = Rng::new(49);
        for round in 0..if cfg!(miri) { 20 } else { 20_000 } {
            let mut text = String::new();
            while text.len() < 400 {
                match rng.below(if round % 2 == 0 { 40 } else { 12 }) {
                    0 if round % 3 > 0 => text.push_str(rng.pick(&bad)),
                    1..9 => text.push_str(rng.pick(&good)),
                    other => text.push_str(&"aD8".repeat(other + 1)[..other * 2 + round % 2]),
                }
            }
            let ends = ends(text.as_bytes());
            let last = ends[ends.len() - 1];
            for kernel in Kernel::available().filter(|kernel| kernel.name().starts_with("avx")) {
                let len = kernel.escapes_len(text.as_bytes());
                assert!(ends.contains(&len), "{kernel:?}: {len} of {text}");
                assert!(last - len < 64 + 12, "{kernel:?}: {len}, not about {last}, of {text}");
            }
        }
    }
}
