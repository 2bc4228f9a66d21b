//! Validation of short texts, for which a kernel call would cost more than the validation. The code uses no vectors and
//! is inlined into the caller.

/// Bit 7 of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The maximum length for [`is_ascii`].
pub(crate) const SHORT: usize = 32;

/// Whether at most [`SHORT`] bytes are ASCII. There is no branch on the length within 4 to 16 bytes, or within 17 to 32
/// bytes, because it would be mispredicted for texts of different lengths.
#[inline(always)]
pub(crate) fn is_ascii(bytes: &[u8]) -> bool {
    let len = bytes.len();
    debug_assert!(len <= SHORT);
    if len > 16 {
        // SAFETY: no word ends after the end of the bytes. Together they cover up to 32 bytes.
        let any =
            [0, 8, len - 16, len - 8].into_iter().fold(0, |any, at| any | unsafe { long_at(bytes, at) });
        return any & HIGH == 0;
    }
    if len >= 4 {
        // `inner` is 0, 4 or 8. The four words may overlap and cover all bytes.
        let inner = len >> 3 << 2;
        let words = [0, inner, len - 4 - inner, len - 4];
        // SAFETY: `inner <= len - 4`, so no word ends after the end of the bytes.
        let any = words.into_iter().fold(0, |any, at| any | unsafe { word_at(bytes, at) });
        return any & HIGH as u32 == 0;
    }
    // The first, the middle and the last of 1 to 3 bytes.
    len == 0 || (bytes[0] | bytes[len / 2] | bytes[len - 1]).is_ascii()
}

/// The maximum length of a chunk for [`is_ascii_chunk`].
pub(crate) const SHORT_CHUNK: usize = 64;

/// [`is_ascii`] for at most [`SHORT_CHUNK`] bytes.
#[inline(always)]
pub(crate) fn is_ascii_chunk(bytes: &[u8]) -> bool {
    let len = bytes.len();
    debug_assert!(len <= SHORT_CHUNK);
    if len <= SHORT {
        return is_ascii(bytes);
    }
    let words = [0, 8, 16, 24, len - 32, len - 24, len - 16, len - 8];
    // SAFETY: there are at least 32 bytes, so no word ends after their end.
    let any = words.into_iter().fold(0, |any, at| any | unsafe { long_at(bytes, at) });
    any & HIGH == 0
}

/// # Safety
///
/// `at + 8 <= bytes.len()`.
#[inline(always)]
unsafe fn long_at(bytes: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= bytes.len());
    // SAFETY: the caller guarantees the range; the read needs no alignment.
    u64::from_le(unsafe { bytes.as_ptr().add(at).cast::<u64>().read_unaligned() })
}

/// # Safety
///
/// `at + 4 <= bytes.len()`.
#[inline(always)]
unsafe fn word_at(bytes: &[u8], at: usize) -> u32 {
    debug_assert!(at + 4 <= bytes.len());
    // SAFETY: the caller guarantees the range; the read needs no alignment.
    u32::from_le(unsafe { bytes.as_ptr().add(at).cast::<u32>().read_unaligned() })
}

/// 1 to 3 bytes as a word, followed by zeros. The first byte is the least significant.
#[derive(Clone, Copy)]
pub(crate) struct Few(u32);

impl Few {
    /// Returns `None` for any other number of bytes.
    #[inline(always)]
    pub(crate) const fn new(bytes: &[u8]) -> Option<Self> {
        Some(Self(match *bytes {
            [a] => a as u32,
            [a, b] => u32::from_le_bytes([a, b, 0, 0]),
            [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
            _ => return None,
        }))
    }

    #[inline]
    pub(crate) const fn word(self) -> u32 {
        self.0
    }

    /// Whether the bytes are well-formed and the last sequence is complete. The characters are tested one by one in a
    /// register. A step depends on the previous one only by a shift.
    #[inline(always)]
    pub(crate) const fn is_text(self) -> bool {
        let Self(mut word) = self;
        loop {
            if word & 0x80 == 0 {
                if word & HIGH as u32 == 0 {
                    return true;
                }
                word >>= 8;
                continue;
            }
            // An unfinished sequence is followed by zeros, which are not continuation bytes.
            if word & 0xC0E0 == 0x80C0 {
                // C0 and C1 would encode ASCII.
                if word & 0x1E == 0 {
                    return false;
                }
                word >>= 16;
            } else if word & 0xC0_C0F0 == 0x80_80E0 {
                // Bits 11 to 15 of the code point. They are 0 for an overlong sequence and 1B for a surrogate.
                let high = (word & 0x0F) << 1 | word >> 13 & 1;
                return high != 0 && high != 0x1B;
            } else {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_at_every_length() {
        for len in 0..=SHORT_CHUNK {
            let mut bytes = [0x7F; SHORT_CHUNK];
            check_ascii(&bytes[..len], true);
            for at in 0..len {
                bytes[at] = 0x80;
                check_ascii(&bytes[..len], false);
                bytes[at] = 0;
            }
        }
    }

    fn check_ascii(bytes: &[u8], expected: bool) {
        assert_eq!(is_ascii_chunk(bytes), expected, "{bytes:02X?}");
        if bytes.len() <= SHORT {
            assert_eq!(is_ascii(bytes), expected, "{bytes:02X?}");
        }
    }

    fn check(bytes: &[u8]) {
        let is_text = Few::new(bytes).map(Few::is_text);
        assert_eq!(is_text, Some(core::str::from_utf8(bytes).is_ok()), "{bytes:02X?}");
    }

    #[test]
    fn all_texts_of_3_bytes_and_less() {
        for bytes in 0_u32..1 << 24 {
            let [a, b, c, _] = bytes.to_le_bytes();
            // Without optimizations only every lead byte and the limits of continuation bytes are tested.
            if cfg!(debug_assertions) && !matches!(b, 0x00 | 0x41 | 0x7F..=0xC2 | 0xE0) {
                continue;
            }
            if c == 0 {
                check(&[a, b]);
                if b == 0 {
                    check(&[a]);
                }
            }
            check(&[a, b, c]);
        }
    }

    #[test]
    fn other_numbers_of_bytes_are_rejected() {
        assert!(Few::new(b"abcd").is_none());
        assert!(Few::new(&[]).is_none());
    }
}
