//! Counts bytes in bulk: lines, characters, UTF-16 code units.

use super::arch::count::{BLOCKS, LANES, count_if, sum};
use super::dispatch::Kernel;

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

/// Returns the number of sequences of 2 bytes or more in well-formed text: the number of their lead bytes.
#[cfg(feature = "transcode")]
pub(crate) fn sequences(text: &str) -> usize {
    if text.is_ascii() {
        return 0;
    }
    count_if(text.as_bytes(), |byte| byte >= 0xC0)
}

/// Returns the number of characters of well-formed text: the number of bytes that are not continuation bytes.
pub(crate) fn characters(text: &str) -> usize {
    count_if(text.as_bytes(), |byte| byte as i8 >= -0x40)
}

/// Returns the number of characters of well-formed text that are a surrogate pair in UTF-16: the number of lead bytes
/// of 4-byte sequences.
pub(crate) fn supplementary(text: &str) -> usize {
    count_if(text.as_bytes(), |byte| byte >= 0xF0)
}

#[cfg(test)]
mod tests {
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
}
