//! Validation of the masked payload of a WebSocket frame.

use super::dispatch::Kernel;

/// Returns the end of a part of a masked payload that is validated without a copy. The part starts at `from` and has a multiple
/// of 4 bytes. It is well-formed after the bytes before it, and may end inside a character. The key is that of its first byte.
///
/// The part may be shorter than possible. It is empty if the kernel has no vector code for it.
#[inline]
pub fn masked_text_end(bytes: &[u8], from: usize, key: [u8; 4]) -> usize {
    Kernel::in_use().masked_text_end(bytes, from, key)
}
