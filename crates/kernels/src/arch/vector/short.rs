//! Loads the rest of a chunk, in parts of 16 bytes.

/// Table lookup indices. The 16 indices from `16 - n` on move the last `n` bytes of a vector to its start. An index of
/// `FF` selects 0.
#[rustfmt::skip]
pub(in crate::arch) static LAST_TO_FRONT: [u8; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
];

/// Returns the chunk, followed by zeros, as two words of 8 bytes. The first byte of a word is the least significant.
/// The chunk is read by two loads that may overlap.
///
/// # Safety
///
/// The chunk has 4 to 15 bytes.
#[cfg(any(utf8_codec_vectors = "aarch64", utf8_codec_vectors = "wasm32"))]
#[inline(always)]
pub(in crate::arch) unsafe fn words_of_short(chunk: &[u8]) -> [u64; 2] {
    let start = chunk.as_ptr();
    let len = chunk.len();
    if len >= 8 {
        // SAFETY: the chunk has at least 8 bytes.
        let [front, back] = [0, len - 8].map(|at| unsafe { start.add(at).cast::<[u8; 8]>().read() });
        [u64::from_le_bytes(front), u64::from_le_bytes(back).unbounded_shr(8 * (16 - len as u32))]
    } else {
        // SAFETY: the chunk has at least 4 bytes.
        let [front, back] = [0, len - 4].map(|at| unsafe { start.add(at).cast::<[u8; 4]>().read() });
        [u64::from(u32::from_le_bytes(front)) | u64::from(u32::from_le_bytes(back)) << (8 * (len - 4)), 0]
    }
}
