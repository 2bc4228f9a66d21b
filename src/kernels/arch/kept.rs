//! The table with which AVX2 and NEON, which have no instruction that compresses a vector, compress 8 bytes at a time.

/// For each mask of 8 bits, the indexes of the bits that are set, in order. The other entries are 0.
pub(super) static KEPT: [[u8; 8]; 256] = {
    let mut kept = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut count, mut i) = (0, 0);
        while i < 8 {
            if mask >> i & 1 != 0 {
                kept[mask][count] = i as u8;
                count += 1;
            }
            i += 1;
        }
        mask += 1;
    }
    kept
};
