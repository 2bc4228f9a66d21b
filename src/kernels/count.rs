//! Counts bytes in bulk: lines, characters, UTF-16 code units.

use super::arch::count::{BLOCKS, LANES, sum};
use super::dispatch::Kernel;
use super::functions::Range;

/// Returns the number of occurrences of a byte.
pub(crate) fn byte(bytes: &[u8], wanted: u8) -> usize {
    Kernel::in_use().count(bytes, wanted)
}

/// Returns how often `first` is directly followed by `second`.
pub(crate) fn pair(bytes: &[u8], first: u8, second: u8) -> usize {
    let Some((_, after)) = bytes.split_first() else { return 0 };
    let before = &bytes[..after.len()];
    let ((before, rest_before), (after, rest_after)) =
        (before.as_chunks::<LANES>(), after.as_chunks::<LANES>());
    let mut total = 0;
    for (before, after) in before.chunks(BLOCKS).zip(after.chunks(BLOCKS)) {
        let mut lanes = [0_u8; LANES];
        for (before, after) in before.iter().zip(after) {
            for ((lane, &before), &after) in lanes.iter_mut().zip(before).zip(after) {
                *lane = lane.wrapping_add(u8::from((before == first) & (after == second)));
            }
        }
        total += sum(&lanes);
    }
    let is_pair = |&(before, after): &(&u8, &u8)| (*before, *after) == (first, second);
    total + rest_before.iter().zip(rest_after).filter(is_pair).count()
}

/// Returns the number of bytes from `first` to `last`. The range wraps if `last` is less than `first`.
#[cfg(feature = "transcode")]
pub(crate) fn range(bytes: &[u8], first: u8, last: u8) -> usize {
    Kernel::in_use().count_range(bytes, Range::new(first, last))
}

/// Returns the length of the ASCII at the start of the bytes, and the number of occurrences of `wanted` in it.
pub(crate) fn ascii(bytes: &[u8], wanted: u8) -> (usize, usize) {
    ascii_by(Kernel::in_use(), bytes, wanted)
}

fn ascii_by(kernel: Kernel, bytes: &[u8], wanted: u8) -> (usize, usize) {
    let (len, total) = kernel.count_ascii(bytes, wanted);
    // The rest starts with an incomplete group, or with a group that contains a byte that is not ASCII.
    let rest = &bytes[len..];
    let more = rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
    (len + more, total + kernel.count(&rest[..more], wanted))
}

/// Returns the length of the ASCII at the start of the bytes, rounded down to groups of at most 512 bytes.
#[cfg(feature = "transcode")]
pub(crate) fn ascii_len(bytes: &[u8]) -> usize {
    Kernel::in_use().ascii_len(bytes)
}

/// The lead bytes of sequences of at least 2 bytes.
#[cfg(feature = "transcode")]
const LEADS: Range = Range::new(0xC0, 0xFF);

/// The bytes that are not continuation bytes.
const STARTS: Range = Range::new(0xC0, 0x7F);

/// The lead bytes of 4-byte sequences.
const LEADS_OF_FOUR: Range = Range::new(0xF0, 0xFF);

/// Returns the number of sequences of at least 2 bytes in well-formed text.
#[cfg(feature = "transcode")]
pub(crate) fn sequences(text: &str) -> usize {
    Kernel::in_use().count_range(text.as_bytes(), LEADS)
}

/// Returns the number of characters of well-formed text.
pub(crate) fn characters(text: &str) -> usize {
    Kernel::in_use().count_range(text.as_bytes(), STARTS)
}

/// Returns the number of characters of well-formed text that are a surrogate pair in UTF-16.
pub(crate) fn supplementary(text: &str) -> usize {
    Kernel::in_use().count_range(text.as_bytes(), LEADS_OF_FOUR)
}

#[cfg(test)]
mod tests {
    use super::super::functions::ASCII_GROUP;
    use super::*;

    #[test]
    fn counts_are_those_of_a_plain_loop() {
        let mut seed = 1_u32;
        let mut next = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize
        };
        // The last length is more than the 8-bit lanes can count.
        for len in (0..300).chain([LANES * (BLOCKS - 1), LANES * (BLOCKS + 1) + 3, LANES * 2 * BLOCKS + 1]) {
            for alphabet in [&b"\n"[..], b"\r\n", b"\r", b"a\n\rb"] {
                let bytes: Vec<u8> = (0..len).map(|_| alphabet[next() % alphabet.len()]).collect();
                let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
                for kernel in Kernel::available() {
                    assert_eq!(kernel.count(&bytes, b'\n'), lines, "{kernel:?}: {len}");
                }
                let pairs = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
                assert_eq!(pair(&bytes, b'\r', b'\n'), pairs, "{len}");
            }
            for alphabet in [&['a'][..], &['é', 'a'], &['\u{10000}'], &['€', '\u{10FFFF}', '\u{7FF}', 'z']]
            {
                let text: String = (0..len).map(|_| alphabet[next() % alphabet.len()]).collect();
                assert_eq!(characters(&text), text.chars().count());
                assert_eq!(characters(&text) + supplementary(&text), text.encode_utf16().count());
            }
        }
    }

    #[test]
    fn the_bytes_of_a_range_are_counted_by_every_kernel() {
        // More bytes than the 8-bit lanes can count.
        let all: Vec<u8> = (0..LANES * (BLOCKS + 1) + 7).map(|i| (i * 7 % 257) as u8).collect();
        for (first, last) in [(0xC0, 0x7F), (0xC0, 0xFF), (0xF0, 0xFF), (0, 0xFF), (5, 5), (0xFF, 0)] {
            let range = Range::new(first, last);
            let is_in_range = |&&byte: &&u8| match first <= last {
                true => (first..=last).contains(&byte),
                false => byte >= first || byte <= last,
            };
            for bytes in (0..130).map(|len| &all[..len]).chain([&all[..]]) {
                let expected = bytes.iter().filter(is_in_range).count();
                for kernel in Kernel::available() {
                    assert_eq!(kernel.count_range(bytes, range), expected, "{kernel:?}: {range:?}");
                }
            }
        }
    }

    /// Checks the length of the ASCII at the start and the number of LF in it, with each non-ASCII byte at each
    /// position.
    #[test]
    fn ascii_is_counted_up_to_its_end() {
        let most = 3 * ASCII_GROUP + 5;
        let text: Vec<u8> = (0..most).map(|i| if i % 5 == 3 { b'\n' } else { (i % 128) as u8 }).collect();
        for kernel in Kernel::available() {
            for len in 0..=most {
                let lines = |len: usize| text[..len].iter().filter(|&&byte| byte == b'\n').count();
                assert_eq!(ascii_by(kernel, &text[..len], b'\n'), (len, lines(len)), "{kernel:?}: {len}");
                if len < most {
                    let mut other = text.clone();
                    for byte in [0x80, 0xC3, 0xFF] {
                        other[len] = byte;
                        assert_eq!(ascii_by(kernel, &other, b'\n'), (len, lines(len)), "{kernel:?}: {len}");
                        assert_eq!(
                            ascii_by(kernel, &other[..=len], b'\n'),
                            (len, lines(len)),
                            "{kernel:?}: {len}"
                        );
                    }
                }
            }
            #[cfg(feature = "transcode")]
            for len in 0..=3 * 512 {
                let mut other = vec![b'a'; 4 * 512];
                other[len] = 0x80;
                let ascii = kernel.ascii_len(&other);
                assert!(ascii <= len && len - ascii < 512, "{kernel:?}: {len}");
                let ascii = kernel.ascii_len(&other[..len]);
                assert!(ascii <= len && len - ascii < 512, "{kernel:?}: {len}");
            }
            // More bytes than the lanes can count.
            let mut long = vec![b'\n'; 3 * LANES * BLOCKS];
            assert_eq!(ascii_by(kernel, &long, b'\n'), (long.len(), long.len()), "{kernel:?}");
            let at = 2 * LANES * BLOCKS + 1;
            long[at] = 0x80;
            assert_eq!(ascii_by(kernel, &long, b'\n'), (at, at), "{kernel:?}");
        }
    }
}
