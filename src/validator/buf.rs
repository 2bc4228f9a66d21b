//! Payloads in several segments.

use bytes::Buf;

use super::Utf8Validator;
use crate::error::Utf8Error;

impl Utf8Validator {
    /// Same as [`validate`](Self::validate), but for a payload in several segments. The segments are consumed: pass a
    /// clone to use them later. Cloning is cheap for `Bytes`.
    ///
    /// ```
    /// use bytes::Buf;
    /// use utf8_codec::validator::Utf8Validator;
    ///
    /// let payload = b"caf\xC3".chain(&b"\xA9"[..]);
    /// let mut text = Utf8Validator::new();
    /// text.validate_buf(payload)?;
    /// text.finish()?;
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`validate`](Self::validate).
    pub fn validate_buf(&mut self, mut payload: impl Buf) -> Result<(), Utf8Error> {
        self.verdict()?;
        while payload.has_remaining() {
            let segment = payload.chunk();
            if segment.is_empty() {
                // The buffer violates its contract. Without this test the loop would not end.
                break;
            }
            self.validate(segment)?;
            payload.advance(segment.len());
        }
        Ok(())
    }
}
