//! Removes the mask of WebSocket frames.

/// The number of bytes of an iteration.
pub(in crate::kernels) const BLOCK: usize = 128;

/// Implements [`unmask`](crate::kernels::functions::Functions). The compiler vectorizes the loop for each kernel.
#[inline(always)]
pub(in crate::kernels) fn unmask(input: &[u8], output: &mut [u8], key: [u8; 4]) -> bool {
    let mut keys = [0; BLOCK];
    for (byte, key) in keys.iter_mut().zip(key.into_iter().cycle()) {
        *byte = key;
    }
    let mut all = [0; BLOCK];
    let (blocks, rest) = input.as_chunks::<BLOCK>();
    let (outputs, last) = output.as_chunks_mut::<BLOCK>();
    for (block, output) in blocks.iter().zip(outputs) {
        for (((byte, key), output), all) in block.iter().zip(&keys).zip(output).zip(&mut all) {
            *output = byte ^ key;
            *all |= *output;
        }
    }
    let mut others = 0;
    for ((byte, key), output) in rest.iter().zip(&keys).zip(last) {
        *output = byte ^ key;
        others |= *output;
    }
    all.iter().fold(others, |others, all| others | all).is_ascii()
}
