//! Finds every position of a character of a class, in bulk.

pub use super::class::Class;
use super::dispatch::Kernel;
use super::functions::{ASCII_GROUP, CAPACITY};

/// Calls `visit` with the position of each character of the class, in order, until it returns `false`. Returns whether
/// `visit` never returned `false`. The bytes may be ill-formed: see [`Class::begins`].
#[inline(always)]
pub fn each(bytes: &[u8], class: &Class, visit: impl FnMut(usize) -> bool) -> bool {
    each_by(Kernel::in_use(), bytes, class, visit)
}

#[inline(always)]
pub(crate) fn each_by(
    kernel: Kernel,
    bytes: &[u8],
    class: &Class,
    mut visit: impl FnMut(usize) -> bool,
) -> bool {
    let mut positions = [0; CAPACITY];
    let mut start = 0;
    while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
        let found = kernel.find_class(rest, class, &mut positions);
        for &position in positions.iter().take(found.count) {
            if !visit(start + usize::from(position)) {
                return false;
            }
        }
        start += found.searched;
    }
    true
}

/// The minimum length for which a search for ASCII outside the class pays.
pub const LONG: usize = 4 * ASCII_GROUP;

/// Returns the length of the ASCII at the start of the bytes that has no byte of the class. It may be less than possible,
/// and is 0 if the kernel has no vector code for it.
pub(crate) fn ascii_without(bytes: &[u8], class: &Class) -> usize {
    if bytes.first_chunk::<64>().is_some_and(|start| start.is_ascii()) {
        Kernel::in_use().ascii_without(bytes, class)
    } else {
        0
    }
}

#[cfg(all(test, feature = "transcode"))]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn ascii_ends_before_the_group_of_the_first_other_byte_or_byte_of_the_class() {
        for kernel in Kernel::available().filter(|kernel| kernel.name().starts_with("avx")) {
            for byte in 0..=u8::MAX {
                let one = if byte < 0x80 { Class::EMPTY.with_ascii(byte, byte) } else { Class::EMPTY };
                let lower =
                    if byte > 0 { Class::EMPTY.with_ascii(0, (byte - 1).min(0x7F)) } else { Class::EMPTY };
                let higher = if byte < 0x7F { Class::EMPTY.with_ascii(byte + 1, 0x7F) } else { Class::EMPTY };
                let others = lower.or(&higher);
                // Another byte with the same low 6 bits, which is not in the class `one`.
                for filler in [byte ^ 0x40, b'a'] {
                    if byte == filler || !filler.is_ascii() {
                        continue;
                    }
                    for (len, at) in (usize::from(byte) % 11..3 * ASCII_GROUP)
                        .step_by(11)
                        .map(|at| (3 * ASCII_GROUP + 7, at))
                        .chain([(255, 9)])
                    {
                        let mut bytes = vec![filler; len];
                        assert_eq!(kernel.ascii_without(&bytes, &one), len / ASCII_GROUP * ASCII_GROUP);
                        bytes[at] = byte;
                        let expected = at.min(len / ASCII_GROUP * ASCII_GROUP) / ASCII_GROUP * ASCII_GROUP;
                        assert_eq!(
                            kernel.ascii_without(&bytes, &one),
                            expected,
                            "{kernel:?} {byte:02X} {at}"
                        );
                    }
                }
                if byte.is_ascii() {
                    // No byte of the class `others`.
                    let bytes = [byte; 2 * ASCII_GROUP];
                    assert_eq!(kernel.ascii_without(&bytes, &others), bytes.len(), "{kernel:?} {byte:02X}");
                }
            }
        }
    }

    fn all_by(kernel: Kernel, bytes: &[u8], class: &Class) -> Vec<usize> {
        let mut all = Vec::new();
        assert!(each_by(kernel, bytes, class, |at| {
            all.push(at);
            true
        }));
        all
    }

    /// Returns the expected positions, computed byte by byte.
    fn expected(bytes: &[u8], class: &Class) -> Vec<usize> {
        (0..bytes.len()).filter(|&at| class.begins(&bytes[at..])).collect()
    }

    #[test]
    fn every_byte_of_a_class_is_found() {
        for kernel in Kernel::available() {
            for byte in 0..=u8::MAX {
                let one = match byte {
                    0..=0x7F => Class::EMPTY.with_ascii(byte, byte),
                    0x80..=0xBF => Class::EMPTY,
                    _ => Class::EMPTY.with_leads(byte, byte),
                };
                let others = Class::EMPTY.with_ascii(0, 0x7F).with_leads(0xC0, 0xFF);
                for len in [1, 63, 64, 65, 255, 256, 257, 600] {
                    for filler in [b'a', 0xA5] {
                        let mut bytes = vec![filler; len];
                        assert_eq!(all_by(kernel, &bytes, &one), expected(&bytes, &one), "{kernel:?}");
                        let at = (usize::from(byte) * 7) % len;
                        bytes[at] = byte;
                        assert_eq!(
                            all_by(kernel, &bytes, &one),
                            expected(&bytes, &one),
                            "{kernel:?} {byte:02X}"
                        );
                        assert_eq!(all_by(kernel, &bytes, &others), expected(&bytes, &others), "{kernel:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_sequence_is_found_if_all_bytes_are_in_the_class() {
        // Bit n of the first set is the lead byte C0 + n; bit n of the others is the continuation byte 80 + n.
        let class = Class::EMPTY
            .with_ascii(0, 9)
            .with_sequences([1 << 2, 0b11, u64::MAX])
            .with_sequences([1 << 0x22 | 1 << 0x23, 0b110, 1 << 33])
            .with_sequences([1 << 0x3F, 1 << 63, u64::MAX]);
        for kernel in Kernel::available() {
            // Every second byte after the lead bytes of the class, and after a sample of the others.
            for first in (0..=u8::MAX)
                .filter(|byte| matches!(byte, 0xC0..=0xC4 | 0xE0..=0xE4 | 0xFE..) || byte % 16 == 9)
            {
                for second in 0..=u8::MAX {
                    // Longer than a group of blocks, because some kernels test a group at once.
                    let mut bytes = [b'a'; 300];
                    let at = usize::from(first.wrapping_add(second));
                    bytes[at] = first;
                    bytes[at + 1] = second;
                    bytes[at + 2] = 0x80 | second >> 2;
                    let expected = expected(&bytes, &class);
                    assert_eq!(
                        all_by(kernel, &bytes, &class),
                        expected,
                        "{kernel:?} {first:02X} {second:02X}"
                    );
                }
            }
        }
    }

    #[test]
    fn dense_and_sparse_bytes_are_found_in_order() {
        let mut rng = Rng::new(9);
        let class = Class::EMPTY
            .with_ascii(0, 0x1F)
            .with_ascii(0x7F, 0x7F)
            .with_sequences([1 << 2, 0xFFFF_FFFF, u64::MAX])
            .with_sequences([1 << 0x22, 1 << 31, 1 << 31]);
        for one_in in [1, 2, 9, 100, 1000] {
            for len in [0, 1, 2, 5, 64, 100, 300, 1000, 5000, 9000] {
                let some = [0x00, 0x0A, 0x1F, 0x20, 0x7F, 0x80, 0x9F, 0xA0, 0xC2, 0xE2, 0xFF];
                let bytes: Vec<u8> =
                    (0..len).map(|_| if rng.below(one_in) == 0 { rng.pick(&some) } else { b'a' }).collect();
                for kernel in Kernel::available() {
                    assert_eq!(all_by(kernel, &bytes, &class), expected(&bytes, &class), "{kernel:?}");
                }
            }
        }
    }
}
