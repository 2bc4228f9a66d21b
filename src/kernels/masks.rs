//! Classes of the bytes of a word, as bits.

/// The bytes of a word of 8 bytes that belong to each class. Bit `i` is byte `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteMasks {
    pub(crate) lf: u64,
    pub(crate) cr: u64,
    /// Continuation bytes, `80` to `BF`.
    pub(crate) continuations: u64,
    /// Bytes from `F0`: in text, the lead bytes of sequences of 4 bytes.
    pub(crate) leads_of_four: u64,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;
const LOW: u64 = !HIGH;

/// Returns the classes of 8 bytes. They are computed in a word and not in a vector, because this is fast in builds without
/// optimizations, too.
#[inline]
pub(crate) fn of_word(bytes: [u8; 8]) -> ByteMasks {
    let word = u64::from_le_bytes(bytes);
    let high = word & HIGH;
    let mut masks =
        ByteMasks { lf: gather(equal(word, b'\n')), cr: gather(equal(word, b'\r')), ..ByteMasks::default() };
    if high != 0 {
        // A shift by up to 3 bits moves the bits 4 to 6 of each byte to its bit 7.
        masks.continuations = gather(high & !(word << 1));
        masks.leads_of_four = gather(high & word << 1 & word << 2 & word << 3);
    }
    masks
}

/// Sets bit 7 of each byte that is equal to `byte`, and no other bit.
#[inline]
const fn equal(word: u64, byte: u8) -> u64 {
    let differences = word ^ (byte as u64 * ONES);
    // The sum sets bit 7 if one of the lower bits is set. It does not carry into the next byte.
    !(((differences & LOW) + LOW) | differences | LOW)
}

/// Moves bit 7 of byte `i` to bit `i`. All other bits are 0.
#[inline]
const fn gather(bits: u64) -> u64 {
    (bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_class_at_each_position() {
        for other in [0, b'\t', b'\n', b'\r', 0x7F, 0x80, 0xC3, 0xFF] {
            for position in 0..8 {
                for byte in 0..=u8::MAX {
                    let mut bytes = [other; 8];
                    bytes[position] = byte;
                    let bits = |is_in: fn(u8) -> bool| {
                        bytes.iter().rev().fold(0, |bits, &byte| bits << 1 | u64::from(is_in(byte)))
                    };
                    let expected = ByteMasks {
                        lf: bits(|byte| byte == b'\n'),
                        cr: bits(|byte| byte == b'\r'),
                        continuations: bits(|byte| byte & 0xC0 == 0x80),
                        leads_of_four: bits(|byte| byte >= 0xF0),
                    };
                    assert_eq!(of_word(bytes), expected, "{bytes:02X?}");
                }
            }
        }
    }
}
