//! Removes the mask of WebSocket frames.

use super::dispatch::Kernel;

/// Copies the input to the output, which has the same length, and combines each group of 4 bytes with the key (XOR).
/// Returns whether the output is ASCII.
#[inline]
pub(crate) fn unmask(input: &[u8], output: &mut [u8], key: [u8; 4]) -> bool {
    Kernel::in_use().unmask(input, output, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_unmasked_and_every_other_byte_is_seen() {
        let key = [0x37, 0xFA, 0x21, 0x3D];
        for kernel in Kernel::available() {
            for len in 0..=400_usize {
                let text: Vec<u8> = (0..len).map(|i| (i * 7 % 128) as u8).collect();
                for other in [None, Some(0), Some(len / 2), len.checked_sub(1)] {
                    let mut text = text.clone();
                    let other = other.and_then(|at| text.get_mut(at)).map(|byte| *byte |= 0x80);
                    let masked: Vec<u8> =
                        text.iter().zip(key.into_iter().cycle()).map(|(a, b)| a ^ b).collect();
                    let mut output = vec![0; len];
                    assert_eq!(kernel.unmask(&masked, &mut output, key), other.is_none(), "{kernel:?} {len}");
                    assert_eq!(output, text, "{kernel:?} {len}");
                }
            }
        }
    }
}
