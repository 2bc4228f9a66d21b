//! Finds every position of a byte of a class, in bulk.

pub(crate) use super::class::Class;
use super::dispatch::Kernel;
use super::functions::{ASCII_GROUP, CAPACITY};
pub(crate) use super::prefixes::Prefixes;

/// Calls `visit` with the position of each byte of the class, in order, until it returns `false`. Returns whether
/// `visit` never returned `false`.
#[cfg(feature = "transcode")]
#[inline(always)]
pub(crate) fn each(bytes: &[u8], class: &Class, visit: impl FnMut(usize) -> bool) -> bool {
    each_by(Kernel::in_use(), bytes, class, visit)
}

#[inline(always)]
fn each_by(kernel: Kernel, bytes: &[u8], class: &Class, mut visit: impl FnMut(usize) -> bool) -> bool {
    let mut positions = [0; CAPACITY];
    let mut start = 0;
    while let Some(rest) = bytes.get(start..)
        && !rest.is_empty()
    {
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

/// Calls `visit` with the position of each character of the set, in order, until it returns `false`. The class has the
/// first bytes of the same characters, and maybe of others.
#[inline(always)]
pub(crate) fn each_character(text: &str, class: &Class, set: &Prefixes, visit: impl FnMut(usize) -> bool) {
    each_character_by(Kernel::in_use(), text, class, set, visit);
}

#[inline(always)]
pub(super) fn each_character_by(
    kernel: Kernel,
    text: &str,
    class: &Class,
    set: &Prefixes,
    mut visit: impl FnMut(usize) -> bool,
) {
    let bytes = text.as_bytes();
    each_by(kernel, bytes, class, |at| !set.begins(bytes.get(at..).unwrap_or_default()) || visit(at));
}

/// The minimum length for which [`ascii_without`] pays.
pub(crate) const LONG: usize = 4 * ASCII_GROUP;

/// Returns the length of the ASCII at the start of the bytes that has no byte of the class. It may be less than possible,
/// and is 0 if the kernel has no vector code for it.
pub(super) fn ascii_without(bytes: &[u8], class: &Class) -> usize {
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
                let one = Class::EMPTY.with(byte, byte);
                let lower = if byte > 0 { Class::EMPTY.with(0, byte - 1) } else { Class::EMPTY };
                let higher = if byte < 0x7F { Class::EMPTY.with(byte + 1, 0x7F) } else { Class::EMPTY };
                let others = lower.or(higher);
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
        let is_found = |&at: &usize| match bytes[at] {
            byte @ 0..=0x7F => class.has(byte),
            0x80..=0xBF => false,
            byte => class.has(byte) && bytes.get(at + 1).is_none_or(|&next| class.has_second(byte, next)),
        };
        (0..bytes.len()).filter(is_found).collect()
    }

    #[test]
    fn every_byte_of_a_class_is_found_at_every_position() {
        for kernel in Kernel::available() {
            for byte in 0..=u8::MAX {
                let one = Class::EMPTY.with(byte, byte).with_all_seconds();
                let others = Class::EMPTY.with(0, 0x7F).with(0xC0, 0xFF).with_all_seconds();
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
    fn every_pair_is_found_if_both_bytes_are_in_the_class() {
        let class = Class::EMPTY.with(0xC2, 0xC2).with(0xE2, 0xE3).with(0xFF, 0xFF).with(0, 9);
        let class = class
            .with_seconds(0xC2, 0x80, 0x81)
            .with_seconds(0xE2, 0x81, 0x82)
            .with_seconds(0xE2, 0xBF, 0xBF);
        for kernel in Kernel::available() {
            // The second bytes matter after the lead bytes of the class. Of the others some are tested.
            for first in (0..=u8::MAX)
                .filter(|byte| matches!(byte, 0xC0..=0xC4 | 0xE0..=0xE4 | 0xFE..) || byte % 16 == 9)
            {
                for second in 0..=u8::MAX {
                    // Longer than a group of blocks, because some kernels test a group at once.
                    let mut bytes = [b'a'; 300];
                    let at = usize::from(first.wrapping_add(second));
                    (bytes[at], bytes[at + 1]) = (first, second);
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
        let mut next = || rng.next() as usize;
        let class = Class::EMPTY.with(0, 0x1F).with(0x7F, 0x7F).with(0xC2, 0xC2).with(0xE2, 0xE2);
        let class = class.with_seconds(0xC2, 0x80, 0x9F).with_seconds(0xE2, 0x9F, 0x9F);
        for one_in in [1, 2, 9, 100, 1000] {
            for len in [0, 1, 2, 5, 64, 100, 300, 1000, 5000, 9000] {
                let some = [0x00, 0x0A, 0x1F, 0x20, 0x7F, 0x80, 0x9F, 0xA0, 0xC2, 0xE2, 0xFF];
                let bytes: Vec<u8> = (0..len)
                    .map(|_| if next() % one_in == 0 { some[next() % some.len()] } else { b'a' })
                    .collect();
                for kernel in Kernel::available() {
                    assert_eq!(all_by(kernel, &bytes, &class), expected(&bytes, &class), "{kernel:?}");
                }
            }
        }
    }
}
