//! Counts bytes in bulk: lines, characters, UTF-16 code units.

use super::arch::count::{BLOCKS, LANES, sum};
use super::as_chunks::as_chunks;
use super::dispatch::Kernel;
use super::functions::Range;

/// Returns the number of occurrences of a byte.
pub fn byte(bytes: &[u8], wanted: u8) -> usize {
    let kernel = Kernel::in_use();
    in_parts(bytes, |part| kernel.count(part, wanted))
}

/// The alignment of the longest vectors, and the length of a cache line.
const ALIGNMENT: usize = 64;

/// The number of bytes that a kernel tests for ASCII at once, at most.
#[cfg(feature = "transcode")]
const LONGEST_GROUP: usize = 512;

/// Bytes of at least this length are split where they are aligned. Vectors that cross cache lines are read at half the
/// speed.
const LONG: usize = 1024;

/// Splits long bytes at the first aligned address.
#[inline]
fn split_aligned(bytes: &[u8]) -> (&[u8], &[u8]) {
    let before = if bytes.len() < LONG { 0 } else { bytes.as_ptr().align_offset(ALIGNMENT) };
    bytes.split_at(before.min(bytes.len()))
}

fn count_range(bytes: &[u8], range: Range) -> usize {
    let kernel = Kernel::in_use();
    in_parts(bytes, |part| kernel.count_range(part, range))
}

/// Returns the sum of `count` for the bytes before the first aligned address and for the rest.
#[inline]
fn in_parts(bytes: &[u8], count: impl Fn(&[u8]) -> usize) -> usize {
    match split_aligned(bytes) {
        ([], all) => count(all),
        (before, aligned) => count(before) + count(aligned),
    }
}

/// Returns how often `first` is directly followed by `second`.
pub fn pair(bytes: &[u8], first: u8, second: u8) -> usize {
    let Some((_, after)) = bytes.split_first() else { return 0 };
    let before = &bytes[..after.len()];
    let (before, rest_before) = as_chunks::<LANES>(before);
    let (after, rest_after) = as_chunks::<LANES>(after);
    let mut total = 0;
    for (before, after) in before.chunks(BLOCKS).zip(after.chunks(BLOCKS)) {
        let mut lanes = [0_u8; LANES];
        for (before, after) in before.iter().zip(after) {
            for i in 0..LANES {
                lanes[i] = lanes[i].wrapping_add(u8::from((before[i] == first) & (after[i] == second)));
            }
        }
        total += sum(&lanes);
    }
    for (&before, &after) in rest_before.iter().zip(rest_after) {
        total += usize::from((before == first) & (after == second));
    }
    total
}

/// Returns the number of bytes from `first` to `last`. The range wraps if `last` is less than `first`.
#[cfg(feature = "transcode")]
pub fn range(bytes: &[u8], first: u8, last: u8) -> usize {
    count_range(bytes, Range::new(first, last))
}

/// Returns the length of the ASCII at the start of the bytes, and the number of occurrences of `wanted` in it.
pub fn ascii(bytes: &[u8], wanted: u8) -> (usize, usize) {
    ascii_by(Kernel::in_use(), bytes, wanted)
}

fn ascii_by(kernel: Kernel, bytes: &[u8], wanted: u8) -> (usize, usize) {
    let (before, aligned) = match split_aligned(bytes) {
        (before, _) if !before.is_ascii() => (&[][..], bytes),
        parts => parts,
    };
    let (len, total) = kernel.count_ascii(aligned, wanted);
    // The rest starts with an incomplete group, or with a group that contains a byte that is not ASCII.
    let rest = &aligned[len..];
    let more = rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
    let before_total = kernel.count(before, wanted);
    let more_total = kernel.count(&rest[..more], wanted);
    (before.len() + len + more, before_total + total + more_total)
}

/// Returns a length up to which the bytes are ASCII. The ASCII after it is shorter than a group of 512 bytes.
#[cfg(feature = "transcode")]
pub fn ascii_len(bytes: &[u8]) -> usize {
    ascii_len_by(Kernel::in_use(), bytes)
}

#[cfg(feature = "transcode")]
fn ascii_len_by(kernel: Kernel, bytes: &[u8]) -> usize {
    let (before, aligned) = split_aligned(bytes);
    if !before.is_ascii() {
        return 0;
    }
    let len = before.len() + kernel.ascii_len(aligned);
    // The rest is shorter than a group, or starts with a group that contains a byte that is not ASCII.
    let rest = &bytes[len..];
    if rest.len() < LONGEST_GROUP && rest.is_ascii() { bytes.len() } else { len }
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
pub fn sequences(text: &str) -> usize {
    count_range(text.as_bytes(), LEADS)
}

/// Returns the number of characters of well-formed text.
pub fn characters(text: &str) -> usize {
    count_range(text.as_bytes(), STARTS)
}

/// Returns the number of characters of well-formed text that are a surrogate pair in UTF-16.
pub fn supplementary(text: &str) -> usize {
    count_range(text.as_bytes(), LEADS_OF_FOUR)
}

#[cfg(test)]
mod tests {
    use super::super::functions::ASCII_GROUP;
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn counts_are_those_of_a_plain_loop() {
        let mut rng = Rng::new(1);
        let mut next = move || rng.next() as usize;
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
            for alphabet in
                [&['a'][..], &['é', 'a'], &['\u{10000}'], &['€', '\u{10FFFF}', '\u{7FF}', '\u{7F}']]
            {
                let text: String = (0..len).map(|_| alphabet[next() % alphabet.len()]).collect();
                assert_eq!(characters(&text), text.chars().count());
                assert_eq!(characters(&text) + supplementary(&text), text.encode_utf16().count());
                #[cfg(feature = "transcode")]
                assert_eq!(sequences(&text), text.chars().filter(|char| !char.is_ascii()).count());
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
            for len in 0..=3 * LONGEST_GROUP {
                let mut other = vec![b'a'; 4 * LONGEST_GROUP];
                other[len] = 0x80;
                let ascii = kernel.ascii_len(&other);
                assert!(ascii <= len && len - ascii < LONGEST_GROUP, "{kernel:?}: {len}");
                let ascii = kernel.ascii_len(&other[..len]);
                assert!(ascii <= len && len - ascii < LONGEST_GROUP, "{kernel:?}: {len}");
            }
            // More bytes than the lanes can count.
            let mut long = vec![b'\n'; 3 * LANES * BLOCKS];
            assert_eq!(ascii_by(kernel, &long, b'\n'), (long.len(), long.len()), "{kernel:?}");
            let at = 2 * LANES * BLOCKS + 1;
            long[at] = 0x80;
            assert_eq!(ascii_by(kernel, &long, b'\n'), (at, at), "{kernel:?}");
        }
    }

    /// The counts are the same for each address at which the bytes start, and for each position of a byte that is not
    /// ASCII.
    #[test]
    fn long_bytes_are_counted_at_every_alignment() {
        let most = LONG + 3 * ASCII_GROUP;
        let text: Vec<u8> = (0..most + ALIGNMENT).map(|i| if i % 5 == 3 { b'\n' } else { b'a' }).collect();
        for start in 0..ALIGNMENT {
            let bytes = &text[start..];
            let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(byte(bytes, b'\n'), lines);
            assert_eq!(characters(core::str::from_utf8(bytes).expect("ASCII")), bytes.len());
            for kernel in Kernel::available() {
                assert_eq!(ascii_by(kernel, bytes, b'\n'), (bytes.len(), lines), "{kernel:?}: {start}");
                #[cfg(feature = "transcode")]
                assert_eq!(ascii_len_by(kernel, bytes), bytes.len(), "{kernel:?}: {start}");
            }
        }
        for start in [0, 1, 33, ALIGNMENT - 1] {
            for at in 0..most {
                let mut other = text.clone();
                other[start + at] = 0x80;
                let other = &other[start..];
                let lines = other[..at].iter().filter(|&&byte| byte == b'\n').count();
                for kernel in Kernel::available() {
                    assert_eq!(ascii_by(kernel, other, b'\n'), (at, lines), "{kernel:?}: {start}, {at}");
                    #[cfg(feature = "transcode")]
                    {
                        let len = ascii_len_by(kernel, other);
                        assert!(len <= at, "{kernel:?}: {start}, {at}");
                        assert!(at - len < LONGEST_GROUP, "{kernel:?}: {start}, {at}");
                    }
                }
            }
        }
    }
}
