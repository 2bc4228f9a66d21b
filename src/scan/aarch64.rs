//! The kernel for 64-bit ARM.

#[cfg(feature = "transcode")]
#[path = "utf16_none.rs"]
pub(super) mod utf16;

#[cfg(feature = "codec")]
pub(super) use super::places::plainly as places;

use super::kernel::Implementation;
use super::neon;

/// The best first.
pub(super) static KERNELS: [&Implementation; 1] = [&NEON];

/// NEON is part of the architecture.
pub(super) const KNOWN: Option<&Implementation> = Some(&NEON);

static NEON: Implementation =
    Implementation { name: "neon", is_supported: || true, take: neon::take, is_text: neon::is_text };

/// The lanes of each kind of vector that this machine has.
#[cfg(test)]
pub(super) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    // SAFETY: NEON is part of the architecture.
    unsafe { neon::check_lanes(pairs()) }
}
