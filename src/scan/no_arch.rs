//! Machines that have the portable kernel only.

use super::kernel::{Implementation, PORTABLE};

pub(super) static KERNELS: [&Implementation; 0] = [];

pub(super) const KNOWN: Option<&Implementation> = Some(&PORTABLE);
