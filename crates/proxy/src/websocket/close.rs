//! Close frames (RFC 6455 §5.5.1).

use alloc::vec::Vec;
use core::fmt::{self, Write};

use utf8_codec::boundary::truncate;
use utf8_codec::from_utf8;
use utf8_codec::validator::Mask;

use super::error::FrameError;
use super::header::{FrameHeader, MAX_CONTROL, Opcode};

/// A close frame: a code and a reason. Stored inline.
///
/// ```
/// use utf8_codec_proxy::websocket::CloseFrame;
///
/// let mut to_client = Vec::new();
/// CloseFrame::new(1001, "bye").write_to(None, &mut to_client);
/// assert_eq!(to_client, b"\x88\x05\x03\xE9bye");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CloseFrame {
    code: u16,
    reason: [u8; MAX_REASON],
    len: u8,
}

const MAX_REASON: usize = MAX_CONTROL - 2;

impl CloseFrame {
    /// Creates a close frame. A reason of more than 123 bytes is truncated between characters.
    pub fn new(code: u16, reason: &str) -> Self {
        Self::from_display(code, &reason)
    }

    fn from_display(code: u16, reason: &dyn fmt::Display) -> Self {
        let mut frame = Self { code, reason: [0; MAX_REASON], len: 0 };
        let _ = write!(frame, "{reason}");
        frame
    }

    /// Returns the code.
    pub const fn code(&self) -> u16 {
        self.code
    }

    /// Returns the reason, possibly empty.
    pub fn reason(&self) -> &str {
        from_utf8(&self.reason[..usize::from(self.len)]).unwrap_or_default()
    }

    /// Appends the frame, masked with `key` for a server, or without a mask for a client.
    pub fn write_to(&self, key: Option<[u8; 4]>, out: &mut Vec<u8>) {
        let len = 2 + u64::from(self.len);
        FrameHeader { mask: key, ..FrameHeader::new(Opcode::Close, len) }.write_to(out);
        let start = out.len();
        out.extend_from_slice(&self.code.to_be_bytes());
        out.extend_from_slice(&self.reason[..usize::from(self.len)]);
        if let Some(key) = key {
            Mask::new(key).apply(&mut out[start..]);
        }
    }
}

impl FrameError {
    /// Returns the close frame with this code, and the error as its reason.
    pub fn close_frame(&self) -> CloseFrame {
        CloseFrame::from_display(self.close_code(), self)
    }
}

/// Appends to the reason. What does not fit is lost, from the first character on.
impl Write for CloseFrame {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.len);
        let fitting = truncate(text, MAX_REASON - start);
        self.reason[start..start + fitting.len()].copy_from_slice(fitting.as_bytes());
        self.len += fitting.len() as u8;
        if fitting.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Shows the length of the reason, not its text.
impl fmt::Debug for CloseFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloseFrame").field("code", &self.code).field("reason_len", &self.len).finish()
    }
}

/// Whether a peer may send this code: a code of RFC 6455 §7.4.1 or of IANA's registry that is not reserved for programs
/// to report, or a code of a library or application, 3000 to 4999.
pub(super) const fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Whether a code that may be sent has this first byte.
pub(super) const fn may_start(first: u8) -> bool {
    matches!(first, 0x03 | 0x0B..=0x13)
}
