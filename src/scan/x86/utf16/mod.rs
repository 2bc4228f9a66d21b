//! Between UTF-8 and UTF-16, for the kernels of x86-64.

mod avx2;
mod avx512;

use super::super::kernel::Kernel;
use super::{AVX2, AVX512};

/// Writes text as UTF-16, as far as the kernel has vectors for it: bytes read and bytes written.
///
/// # Safety
///
/// `dst` has two bytes for each byte of `text`.
pub(in crate::scan) unsafe fn encode<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    text: &str,
    dst: &mut [u8],
) -> (usize, usize) {
    let kernel = kernel.name();
    if kernel == AVX512.name {
        // SAFETY: a kernel that the machine has not is no `Kernel`; there is room.
        let written = unsafe { avx512::encode::<BIG_ENDIAN>(text.as_bytes(), dst) };
        (text.len(), written)
    } else if kernel == AVX2.name {
        // SAFETY: as above.
        unsafe { avx2::encode::<BIG_ENDIAN>(text, dst) }
    } else {
        (0, 0)
    }
}

/// Reads UTF-16 and writes UTF-8 while both last, as far as the kernel has vectors for it: bytes read and
/// bytes written.
pub(in crate::scan) fn decode<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    src: &[u8],
    dst: &mut [u8],
) -> (usize, usize) {
    let kernel = kernel.name();
    if kernel == AVX512.name {
        // SAFETY: a kernel that the machine has not is no `Kernel`.
        unsafe { avx512::decode::<BIG_ENDIAN>(src, dst) }
    } else if kernel == AVX2.name {
        // SAFETY: as above.
        unsafe { avx2::decode::<BIG_ENDIAN>(src, dst) }
    } else {
        (0, 0)
    }
}
