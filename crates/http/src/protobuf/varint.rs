//! A varint in chunks.

use super::error::ProtobufErrorKind;

/// A varint that is not complete yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Varint {
    value: u64,
    len: u8,
}

/// The maximum length of a varint. In a varint of this length the last byte has only the highest bit of the value.
pub(super) const MAX_LEN: u8 = 10;

impl Varint {
    /// Reads a varint from the position. Returns `None` if it is not complete: all bytes were read.
    ///
    /// After each byte, `wrong` gets the bits so far, their number, and the position after the byte. An error is at the byte
    /// before the position.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        position: &mut usize,
        wrong: impl Fn(u64, u32, usize) -> Option<ProtobufErrorKind>,
    ) -> Result<Option<u64>, ProtobufErrorKind> {
        for &byte in bytes.get(*position..).unwrap_or_default() {
            *position += 1;
            self.value |= u64::from(byte & 0x7F) << (7 * self.len);
            self.len += 1;
            // As in prost and in Go. C++ ignores the bits above the 64th.
            if self.len == MAX_LEN && byte > 1 {
                return Err(ProtobufErrorKind::VarintTooLong);
            }
            if let Some(kind) = wrong(self.value, 7 * u32::from(self.len), *position) {
                return Err(kind);
            }
            if byte < 0x80 {
                return Ok(Some(core::mem::take(self).value));
            }
        }
        Ok(None)
    }

    /// Whether a byte was read and another one must follow.
    pub(super) const fn is_begun(&self) -> bool {
        self.len > 0
    }
}
