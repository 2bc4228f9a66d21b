//! Whether the CPU and the operating system support the features of a kernel. The detection of the standard
//! library would be larger, and needs `std`.
//! Intel's Software Developer's Manual, volume 1, sections 14.3 and 15.2.

use core::arch::x86_64::_xgetbv;

// Bits of `ecx` of leaf 1.
const POPCNT: u32 = 1 << 23;
const OSXSAVE: u32 = 1 << 27;
// Bits of `ebx` of leaf 7.
const BMI1: u32 = 1 << 3;
const AVX2: u32 = 1 << 5;
const BMI2: u32 = 1 << 8;
const AVX512F: u32 = 1 << 16;
const AVX512BW: u32 = 1 << 30;
const AVX512VL: u32 = 1 << 31;
// Bits of `ecx` of leaf 7.
const AVX512VBMI: u32 = 1 << 1;
const AVX512VBMI2: u32 = 1 << 6;
// The registers that the operating system saves: the bits of XCR0 for `xmm` and `ymm`, and those for masks and `zmm`.
const YMM: u64 = 0b110;
const ZMM: u64 = YMM | 0b1110_0000;

/// Returns whether AVX2, BMI1 and POPCNT can be used.
pub(super) fn has_avx2() -> bool {
    supports(YMM, BMI1 | AVX2, 0)
}

/// Returns whether AVX-512 with the extensions BW, VL, VBMI and VBMI2 can be used, and what `has_avx2` returns, and BMI2.
pub(super) fn has_avx512() -> bool {
    supports(ZMM, BMI1 | AVX2 | BMI2 | AVX512F | AVX512BW | AVX512VL, AVX512VBMI | AVX512VBMI2)
}

fn supports(registers: u64, leaf_7_ebx: u32, leaf_7_ecx: u32) -> bool {
    let [maximum, _, _] = cpuid(0);
    if maximum < 7 {
        return false;
    }
    let [_, _, ecx] = cpuid(1);
    if ecx & (POPCNT | OSXSAVE) != POPCNT | OSXSAVE {
        return false;
    }
    let [_, ebx, ecx] = cpuid(7);
    // SAFETY: OSXSAVE says that the operating system has enabled the instruction.
    let saved = unsafe { xcr0() };
    saved & registers == registers && ebx & leaf_7_ebx == leaf_7_ebx && ecx & leaf_7_ecx == leaf_7_ecx
}

/// Returns `eax`, `ebx` and `ecx` of a leaf, or zeros where the instruction does not exist: in SGX enclaves and under Miri.
fn cpuid(leaf: u32) -> [u32; 3] {
    if cfg!(any(target_env = "sgx", miri)) {
        return [0; 3];
    }
    #[allow(unused_unsafe, reason = "the function is safe in newer versions of Rust")]
    // SAFETY: every x86-64 CPU has the instruction.
    let result = unsafe { core::arch::x86_64::__cpuid_count(leaf, 0) };
    [result.eax, result.ebx, result.ecx]
}

/// Reads XCR0. The caller guarantees that the operating system has enabled the instruction.
#[target_feature(enable = "xsave")]
fn xcr0() -> u64 {
    // SAFETY: register 0 exists if the instruction does.
    unsafe { _xgetbv(0) }
}
