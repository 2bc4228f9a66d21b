//! Machines that have the portable kernel only.

#[cfg(feature = "transcode")]
#[path = "utf16_none.rs"]
pub(super) mod utf16;

use super::kernel::{Implementation, PORTABLE};

pub(super) static KERNELS: [&Implementation; 0] = [];

pub(super) const KNOWN: Option<&Implementation> = Some(&PORTABLE);
