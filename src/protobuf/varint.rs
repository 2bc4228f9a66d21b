//! A varint in chunks.

/// A varint that is not complete yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Varint {
    value: u64,
    len: u8,
}

impl Varint {
    /// Reads a varint from the position. Returns `None` if it is not complete: all bytes were read, or 10 of them.
    #[inline(always)]
    pub(super) fn read(&mut self, bytes: &[u8], position: &mut usize) -> Option<u64> {
        match bytes.get(*position..) {
            Some(&[byte @ ..0x80, ..]) if self.len == 0 => {
                *position += 1;
                Some(u64::from(byte))
            }
            Some(&[low, high @ ..0x80, ..]) if self.len == 0 => {
                *position += 2;
                Some(u64::from(low & 0x7F) | u64::from(high) << 7)
            }
            _ => self.read_on(bytes, position),
        }
    }

    fn read_on(&mut self, bytes: &[u8], position: &mut usize) -> Option<u64> {
        for &byte in &bytes[*position..] {
            *position += 1;
            self.value |= u64::from(byte & 0x7F) << (7 * self.len);
            self.len += 1;
            if byte < 0x80 {
                return Some(core::mem::take(self).value);
            }
            if self.is_too_long() {
                return None;
            }
        }
        None
    }

    pub(super) const fn is_too_long(&self) -> bool {
        self.len == 10
    }

    /// Whether a byte was read and another one must follow.
    pub(super) const fn is_begun(&self) -> bool {
        self.len > 0
    }
}
