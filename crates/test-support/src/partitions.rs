//! Partitions of an input into chunks.

use super::rng::Rng;

/// Calls `check` with every partition of `input` into non-empty chunks: 2^(n-1) of them.
pub fn every_partition(input: &[u8], mut check: impl FnMut(&[&[u8]])) {
    assert!(input.len() <= 12, "{} bytes have too many partitions: sample them", input.len());
    let mut chunks = Vec::new();
    for cuts in 0..1_u32 << input.len().saturating_sub(1) {
        chunks.clear();
        let mut start = 0;
        for end in 1..=input.len() {
            if end == input.len() || cuts & 1 << (end - 1) != 0 {
                chunks.push(&input[start..end]);
                start = end;
            }
        }
        check(&chunks);
    }
}

/// Calls `check` with partitions of a longer input: the whole input, byte by byte, two chunks split at every position
/// (of more than 1000 bytes, at every second or more), and `random` partitions that may have empty chunks.
pub fn some_partitions(input: &[u8], random: usize, mut check: impl FnMut(&[&[u8]])) {
    check(&[input]);
    check(&input.chunks(1).collect::<Vec<_>>());
    for cut in (0..=input.len()).step_by(1 + input.len() / 1000) {
        check(&[&input[..cut], &input[cut..]]);
    }
    let mut rng = Rng::new(input.len() as u64);
    for _ in 0..random {
        let mut chunks = Vec::new();
        let mut rest = input;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(rng.below(rest.len().min(9) + 1));
            chunks.push(chunk);
            rest = after;
        }
        check(&chunks);
    }
}
