//! Machines that have the portable kernel only.

#[cfg(feature = "transcode")]
#[path = "utf16_none.rs"]
pub(super) mod utf16;

#[cfg(feature = "codec")]
pub(super) use super::places::plainly as places;

use super::kernel::{Implementation, PORTABLE};

pub(super) static KERNELS: [&Implementation; 0] = [];

pub(super) const KNOWN: Option<&Implementation> = Some(&PORTABLE);
