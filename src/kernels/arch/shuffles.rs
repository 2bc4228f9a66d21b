//! Tables for conversions with vectors of 16 bytes, or of 32 bytes whose halves are shuffled separately: AVX2 and NEON.
//! AVX2 and NEON have no instruction that compresses a vector, so tables of shuffles compress a part of a vector at a time.
//! In a shuffle an index of 80 selects 0.

use super::portable::latin::{PUNCTUATION_BYTES, WINDOWS_1252_C1};

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
        let (mut at, mut i) = (0, 0);
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
        let (mut at, mut i) = (0, 0);
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

/// Keeps the bytes of 4 sequences of 1 to 4 bytes. Each is in a lane of 4 bytes, with the last byte of the sequence
/// first. The lengths minus 1 have 2 bits each. The low half of the index has the low bits of the lengths, and the high
/// half has the high bits.
pub(super) static ONE_TO_FOUR: Shuffles = {
    let mut shuffles = [[0x80; 16]; 256];
    let mut index = 0;
    while index < 256 {
        let (mut at, mut lane) = (0, 0);
        while lane < 4 {
            let mut byte = 1 + length_minus_1(index, lane);
            while byte > 0 {
                byte -= 1;
                shuffles[index][at] = (4 * lane + byte) as u8;
                at += 1;
            }
            lane += 1;
        }
        index += 1;
    }
    shuffles
};

/// The number of bytes that each shuffle of [`ONE_TO_FOUR`] keeps.
pub(super) static LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut lane = 0;
        while lane < 4 {
            lengths[index] += 1 + length_minus_1(index, lane) as u8;
            lane += 1;
        }
        index += 1;
    }
    lengths
};

const fn length_minus_1(index: usize, lane: usize) -> usize {
    (index >> lane & 1) + 2 * (index >> (4 + lane) & 1)
}

/// Keeps the first two bytes of 4 lanes of 4 bytes, and the other two if the bit is set. The second table swaps the
/// bytes of each pair.
pub(super) static ONE_OR_TWO_UNITS: [[[u8; 16]; 16]; 2] = {
    let mut shuffles = [[[0x80; 16]; 16]; 2];
    let mut mask = 0;
    while mask < 16 {
        let (mut at, mut lane) = (0, 0);
        while lane < 4 {
            let units = 1 + (mask >> lane & 1);
            let mut unit = 0;
            while unit < units {
                let first = (4 * lane + 2 * unit) as u8;
                shuffles[0][mask][at] = first;
                shuffles[0][mask][at + 1] = first + 1;
                shuffles[1][mask][at] = first + 1;
                shuffles[1][mask][at + 1] = first;
                at += 2;
                unit += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    shuffles
};

/// For each mask of eight bits, a shuffle that drops those of 8 bytes whose bit is set.
pub(super) static KEPT: [[u8; 8]; 256] = {
    let mut shuffles = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut at, mut i) = (0, 0);
        while i < 8 {
            if mask >> i & 1 == 0 {
                shuffles[mask][at] = i as u8;
                at += 1;
            }
            i += 1;
        }
        mask += 1;
    }
    shuffles
};

/// What is added to a byte: after a byte below C0 (index 0), after C0 to C3 (1 to 4), and after C4 to FF (5). After C0, C1
/// and C4 to FF this sets bit 7 of a mark.
pub(super) static SECOND_OF_TWO: [u8; 16] = [0, 0x80, 0x80, 0, 0x40, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The three bytes of the UTF-8 of `80..=9F` in windows-1252, each in two tables of 16; 0 for no third byte.
pub(super) static C1: [[[u8; 16]; 2]; 3] = {
    let mut tables = [[[0; 16]; 2]; 3];
    let mut i = 0;
    while i < 32 {
        let sequence = WINDOWS_1252_C1[i].to_le_bytes();
        let mut byte = 0;
        while byte < 3 {
            tables[byte][i / 16][i % 16] = sequence[byte];
            byte += 1;
        }
        i += 1;
    }
    tables
};

/// The windows-1252 bytes of the characters of 3 bytes with the second byte 80: a table for each high half of the third
/// byte from 9 to B.
pub(super) static PUNCTUATION: [[u8; 16]; 3] = {
    let mut tables = [[0; 16]; 3];
    let mut i = 0;
    while i < 48 {
        tables[i / 16][i % 16] = PUNCTUATION_BYTES[i];
        i += 1;
    }
    tables
};
