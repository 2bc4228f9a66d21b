//! Surrogate pairs of 6 bytes with NEON.

mod join;
mod split;

use core::arch::aarch64::*;

pub(in crate::kernels) use join::join;
pub(in crate::kernels) use split::split;

/// Returns FF for each byte from F0 on: in text, the first bytes of the sequences of 4 bytes.
#[target_feature(enable = "neon")]
#[inline]
fn at_least_f0(x: uint8x16_t) -> uint8x16_t {
    vcgeq_u8(x, vdupq_n_u8(0xF0))
}
