//! The kernel for 64-bit ARM.

use super::kernel::Implementation;
use super::neon;

/// The best first.
pub(super) static KERNELS: [&Implementation; 1] = [&NEON];

/// NEON is part of the architecture.
pub(super) const KNOWN: Option<&Implementation> = Some(&NEON);

static NEON: Implementation = Implementation {
    name: "neon",
    is_supported: || true,
    first_flaw: neon::first_flaw,
    is_ascii: neon::is_ascii,
};
