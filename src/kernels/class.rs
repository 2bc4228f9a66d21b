//! Classes of characters, as the data that the kernels search with.

/// A set of ASCII bytes and lead bytes. A lead byte matches only together with a second byte that the class contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    /// A bit for each byte. The third word, for `80..=BF`, is used for the second bytes of 2-byte sequences.
    words: [u64; 4],
    /// The second bytes of sequences of 3 and 4 bytes.
    seconds_of_long: u64,
}

impl Class {
    pub(crate) const EMPTY: Self = Self { words: [0; 4], seconds_of_long: 0 };

    /// Adds the ASCII and lead bytes of a range; other bytes are ignored.
    pub(crate) const fn with(mut self, first: u8, last: u8) -> Self {
        let mut byte = first as usize;
        while byte <= last as usize {
            if byte >> 6 != 2 {
                self.words[byte >> 6] |= 1 << (byte & 63);
            }
            byte += 1;
        }
        self
    }

    /// Adds a range of continuation bytes as second bytes of sequences with the same length as those of `lead`.
    pub(crate) const fn with_seconds(mut self, lead: u8, first: u8, last: u8) -> Self {
        let mut byte = first as usize;
        while byte <= last as usize {
            let seconds = if lead < 0xE0 { &mut self.words[2] } else { &mut self.seconds_of_long };
            *seconds |= 1 << (byte & 63);
            byte += 1;
        }
        self
    }

    /// Adds every continuation byte as a second byte, for all lead bytes from C0.
    #[cfg(feature = "transcode")]
    pub(crate) const fn with_all_seconds(self) -> Self {
        self.with_seconds(0xC0, 0x80, 0xBF).with_seconds(0xE0, 0x80, 0xBF)
    }

    /// Returns the union of both classes.
    pub(crate) const fn or(self, other: Self) -> Self {
        let [a, b, c, d] = self.words;
        let [e, f, g, h] = other.words;
        Self {
            words: [a | e, b | f, c | g, d | h],
            seconds_of_long: self.seconds_of_long | other.seconds_of_long,
        }
    }

    /// Whether an ASCII byte or a lead byte is in the class.
    #[inline]
    pub(super) const fn has(&self, byte: u8) -> bool {
        byte >> 6 != 2 && self.words[(byte >> 6) as usize] >> (byte & 63) & 1 != 0
    }

    /// Whether a byte is a second byte that the class allows after this lead byte.
    #[inline]
    pub(super) const fn has_second(&self, lead: u8, byte: u8) -> bool {
        let seconds = if lead < 0xE0 { self.words[2] } else { self.seconds_of_long };
        byte >> 6 == 2 && seconds >> (byte & 63) & 1 != 0
    }

    /// Returns the byte of a class that consists of a single ASCII byte.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    #[inline]
    pub(super) const fn only_ascii(&self) -> Option<u8> {
        match self.words {
            [word, 0, _, 0] if word.is_power_of_two() => Some(word.trailing_zeros() as u8),
            [0, word, _, 0] if word.is_power_of_two() => Some(0x40 | word.trailing_zeros() as u8),
            _ => None,
        }
    }

    /// Five words of 64 bits: for the bytes `00..=3F`, the bytes `40..=7F`, the second bytes of 2-byte sequences, the
    /// lead bytes, and the second bytes of longer sequences.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    pub(super) const fn words(&self) -> [u64; 5] {
        let [a, b, c, d] = self.words;
        [a, b, c, d, self.seconds_of_long]
    }
}
