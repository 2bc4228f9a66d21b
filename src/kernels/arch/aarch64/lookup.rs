//! A table of the bytes below 80.

use core::arch::aarch64::*;

/// The two halves of a table.
#[derive(Clone, Copy)]
pub(super) struct Lookup {
    low: uint8x16x4_t,
    high: uint8x16x4_t,
}

impl Lookup {
    #[target_feature(enable = "neon")]
    #[inline]
    pub(super) fn new(table: &'static [[u8; 16]; 8]) -> Self {
        // SAFETY: each row of the table has 16 bytes.
        let [a, b, c, d, e, f, g, h] = table.each_ref().map(|row| unsafe { vld1q_u8(row.as_ptr()) });
        Self { low: uint8x16x4_t(a, b, c, d), high: uint8x16x4_t(e, f, g, h) }
    }

    /// Returns the entry of each byte, and 0 for those that are not below 80.
    #[target_feature(enable = "neon")]
    #[inline]
    pub(super) fn of(self, block: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        // An index above 63 selects 0 in the first lookup, and nothing in the second one.
        block.map(|x| vqtbx4q_u8(vqtbl4q_u8(self.low, x), self.high, veorq_u8(x, vdupq_n_u8(0x40))))
    }
}
