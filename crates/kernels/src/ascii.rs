//! Copies ASCII, or text of the BMP, up to the first other byte.

use super::dispatch::Kernel;

/// The minimum number of bytes for which the vector code is called.
const WORTH_VECTORS: usize = 256;

/// A copy of fewer bytes is followed by a pause.
const LONG: usize = 4096;
/// The number of calls without a copy after a short one.
const PAUSE: u8 = 8;

/// Copies ASCII while the input has much of it. Other input is left to the caller, which calls again for each block.
#[derive(Clone, Copy, Debug)]
pub struct AsciiCopy {
    /// The number of calls left without a copy.
    wait: u8,
}

impl AsciiCopy {
    /// The state before the first byte.
    pub const NEW: Self = Self { wait: 0 };

    /// Copies the ASCII at the start of the input, at most up to the end of the output. `00` is copied only if `NUL`.
    /// Returns the number of bytes copied, which may be less than possible, and is 0 if the kernel has no vector code
    /// for it.
    #[inline]
    pub fn run<const NUL: bool>(&mut self, input: &[u8], output: &mut [u8]) -> usize {
        if self.wait > 0 {
            self.wait -= 1;
            return 0;
        }
        if input.len().min(output.len()) < WORTH_VECTORS {
            return 0;
        }
        let copied = Kernel::in_use().copy_below(usize::from(!NUL), input, output);
        if copied < LONG {
            self.wait = PAUSE;
        }
        copied
    }
}

/// Copies text up to the first character above U+FFFF or, unless `NUL`, up to the first U+0000; or to a byte before it,
/// which may be inside a character. Returns the number of bytes copied, which is 0 if the kernel has no vector code for it.
pub fn copy_bmp<const NUL: bool>(text: &str, output: &mut [u8]) -> usize {
    Kernel::in_use().copy_below(2 + usize::from(!NUL), text.as_bytes(), output)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: u8 = 0xEE;

    fn has_code(kernel: &Kernel) -> bool {
        matches!(kernel.name(), "avx512" | "avx2" | "neon")
    }

    /// Fewer bytes than this before the first other byte may be left.
    fn group(kernel: Kernel) -> usize {
        if kernel.name() == "avx512" { 256 } else { 128 }
    }

    /// Checks the copy of `input[start..]` to an output of `room` bytes that starts `skew` bytes after an aligned
    /// address. `others` is the position of the first byte that is not copied.
    fn check<const BMP: bool, const NUL: bool>(
        kernel: Kernel,
        input: &[u8],
        room: usize,
        skew: usize,
        other: usize,
    ) {
        let mut out = vec![GUARD; 128 + room + 64];
        let start = out.as_ptr().align_offset(64) % 64 + skew % 64;
        let copied =
            kernel.copy_below(2 * usize::from(BMP) + usize::from(!NUL), input, &mut out[start..start + room]);
        let context = format!("{kernel:?} {BMP} {NUL} {} {room} {skew} {other}: {copied}", input.len());
        let end = other.min(room).min(input.len());
        assert!(copied <= end, "{context}");
        assert_eq!(out[start..start + copied], input[..copied], "{context}");
        assert!(out[..start].iter().all(|&byte| byte == GUARD), "{context}");
        assert!(out[start + copied..].iter().all(|&byte| byte == GUARD), "{context}");
        // The first group and those after it, from an aligned address on.
        assert!(end < group(kernel) || copied + group(kernel) > end, "{context}");
    }

    #[test]
    fn bytes_are_copied_up_to_the_group_of_the_first_other_byte() {
        let text: Vec<u8> = (0..700).map(|i| (i % 127 + 1) as u8).collect();
        for kernel in Kernel::available().filter(has_code) {
            for at in 0..text.len() {
                let mut input = text.clone();
                for other in [0x80, 0xC3, 0xEF, 0xF0, 0xFF, 0] {
                    input[at] = other;
                    let end = |stops: bool| if stops { at } else { usize::MAX };
                    let len = input.len();
                    let skew = at * 7;
                    check::<false, false>(kernel, &input, len, skew, end(other == 0 || other >= 0x80));
                    check::<false, true>(kernel, &input, len, skew, end(other >= 0x80));
                    check::<true, false>(kernel, &input, len, skew, end(other == 0 || other >= 0xF0));
                    check::<true, true>(kernel, &input, len, skew, end(other >= 0xF0));
                }
            }
        }
    }

    #[test]
    fn every_byte_below_the_limit_is_copied() {
        for kernel in Kernel::available().filter(has_code) {
            for byte in 0..=u8::MAX {
                let input = [byte; 600];
                let all = |is_copied: bool| if is_copied { usize::MAX } else { 0 };
                check::<false, true>(kernel, &input, 600, byte.into(), all(byte.is_ascii()));
                check::<false, false>(kernel, &input, 600, byte.into(), all(byte.is_ascii() && byte != 0));
                check::<true, true>(kernel, &input, 600, byte.into(), all(byte < 0xF0));
                check::<true, false>(kernel, &input, 600, byte.into(), all(byte < 0xF0 && byte != 0));
            }
        }
    }

    #[test]
    fn no_byte_after_either_slice_is_touched() {
        for kernel in Kernel::available() {
            for len in 0..700 {
                for (room, skew) in
                    [(len, 0), (len, 1), (len / 2, 31), (len + 100, 16), (600, len), (len, 63), (0, 5)]
                {
                    check_len(kernel, len, room, skew);
                }
            }
        }
    }

    fn check_len(kernel: Kernel, len: usize, room: usize, skew: usize) {
        let input = vec![b'a'; len + 64];
        if has_code(&kernel) {
            check::<false, true>(kernel, &input[..len], room, skew, usize::MAX);
            check::<false, false>(kernel, &input[64..], room, skew, usize::MAX);
            check::<true, true>(kernel, &input[64..], room, skew, usize::MAX);
            check::<true, false>(kernel, &input[..len], room, skew, usize::MAX);
        } else {
            assert_eq!(kernel.copy_below(0, &input, &mut vec![0; room]), 0);
        }
    }
}
