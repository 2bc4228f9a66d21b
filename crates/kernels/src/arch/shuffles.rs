//! Tables for conversions with vectors of 16 bytes, or of 32 bytes whose halves are shuffled separately: AVX2 and NEON.
//! AVX2 and NEON have no instruction that compresses a vector, so tables of shuffles compress a part of a vector at a time.
//! In a shuffle an index of 80 selects 0.

/// A shuffle of 16 bytes for each mask of eight bits.
pub(super) type Shuffles = [[u8; 16]; 256];

/// Keeps those of 8 code units whose bit is set.
pub(super) static UNITS: Shuffles = shuffles(2, 0, 2);
/// Keeps the first byte of 8 pairs, and the second byte if the bit is set.
pub(super) static ONE_OR_TWO: Shuffles = shuffles(2, 1, 1);
/// Keeps the first byte of 4 groups of 4 bytes, the second byte if the bit is set, and the third byte if the bit 4
/// higher is also set.
pub(super) static ONE_TO_THREE: Shuffles = shuffles(4, 1, 1);

/// The bytes of 4 groups of 4 bytes: ASCII, the last byte of other characters, the first byte of 3 bytes, the first byte
/// of 2 or the second of 3. The bits are those of [`ONE_TO_THREE`].
pub(super) static IN_BMP: Shuffles = {
    let mut shuffles = [[0x80; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let mut at = 0;
        let mut i = 0;
        while i < 4 {
            let order: &[u8] = match (mask >> i & 1, mask >> (i + 4) & 1) {
                (0, _) => &[0],
                (_, 0) => &[3, 1],
                _ => &[2, 3, 1],
            };
            let mut byte = 0;
            while byte < order.len() {
                shuffles[mask][at] = 4 * i as u8 + order[byte];
                byte += 1;
                at += 1;
            }
            i += 1;
        }
        mask += 1;
    }
    shuffles
};

/// Returns shuffles of lanes of `lane` bytes. They keep the first `least` bytes of each lane, and `more` bytes for each
/// of its bits that is set.
const fn shuffles(lane: usize, least: usize, more: usize) -> Shuffles {
    let lanes = 16 / lane;
    let mut shuffles = [[0x80; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let mut at = 0;
        let mut i = 0;
        while i < lanes {
            let bits = (mask >> i & 1) + (mask >> (i + lanes) & 1);
            let mut byte = 0;
            while byte < least + more * bits {
                shuffles[mask][at] = (i * lane + byte) as u8;
                byte += 1;
                at += 1;
            }
            i += 1;
        }
        mask += 1;
    }
    shuffles
}
