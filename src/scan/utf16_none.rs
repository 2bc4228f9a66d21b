//! Machines that have no vectors for UTF-16: what is left for the portable loops is everything.

use super::super::kernel::Kernel;

/// # Safety
///
/// Nothing is asked; where there are vectors, it is.
pub(in crate::scan) unsafe fn encode<const BIG_ENDIAN: bool>(
    _: Kernel,
    _: &str,
    _: &mut [u8],
) -> (usize, usize) {
    (0, 0)
}

pub(in crate::scan) const fn decode<const BIG_ENDIAN: bool>(
    _: Kernel,
    _: &[u8],
    _: &mut [u8],
) -> (usize, usize) {
    (0, 0)
}
