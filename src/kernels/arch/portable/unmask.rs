//! Removes the mask of WebSocket frames.

/// The number of words of an iteration.
const WORDS: usize = 32;
const BLOCK: usize = WORDS * size_of::<u64>();

/// Implements [`unmask`](crate::kernels::functions::Functions). The compiler vectorizes the loop.
#[inline(always)]
pub(in crate::kernels) fn unmask(input: &[u8], output: &mut [u8], key: [u8; 4]) -> bool {
    let [a, b, c, d] = key;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut all = [0; WORDS];
    let (blocks, rest) = input.as_chunks::<BLOCK>();
    let (outputs, last) = output.as_chunks_mut::<BLOCK>();
    for (block, output) in blocks.iter().zip(outputs) {
        let (words, outputs) = (block.as_chunks().0, output.as_chunks_mut().0);
        for ((word, output), all) in words.iter().zip(outputs).zip(&mut all) {
            let word = u64::from_ne_bytes(*word) ^ wide;
            *output = word.to_ne_bytes();
            *all |= word;
        }
    }
    let is_ascii = unmask_rest(rest, last, key);
    is_ascii && all.iter().fold(0, |others, all| others | all) & 0x8080_8080_8080_8080 == 0
}

/// Same as [`unmask`], for a few bytes.
#[inline(always)]
pub(in crate::kernels) fn unmask_rest(input: &[u8], output: &mut [u8], key: [u8; 4]) -> bool {
    let mut others = 0;
    for ((byte, key), output) in input.iter().zip(key.into_iter().cycle()).zip(output) {
        *output = byte ^ key;
        others |= *output;
    }
    others.is_ascii()
}
