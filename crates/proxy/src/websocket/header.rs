//! The header of a frame (RFC 6455 §5.2).

use alloc::vec::Vec;

use super::error::FrameErrorKind;

/// The peer that sends the frames. A client masks its frames, a server does not (RFC 6455 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameSender {
    /// Every frame has a mask.
    Client,
    /// No frame has a mask.
    Server,
}

/// What a frame contains. The other opcodes are reserved, and a frame that has one is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// More data of the message.
    Continuation = 0,
    /// The start of a text message.
    Text = 1,
    /// The start of a binary message.
    Binary = 2,
    /// The end of the connection, with an optional code and reason.
    Close = 8,
    /// A request for a pong with the same payload.
    Ping = 9,
    /// The reply to a ping.
    Pong = 10,
}

impl Opcode {
    const fn new(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    /// Whether a frame is a control frame: close, ping or pong. It may come between the frames of a message.
    pub const fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// The header of a frame, to write one.
///
/// ```
/// use utf8_codec_proxy::websocket::{FrameHeader, Opcode};
///
/// let mut frame = Vec::new();
/// FrameHeader::new(Opcode::Text, 5).write_to(&mut frame);
/// frame.extend_from_slice("naïv".as_bytes());
/// assert_eq!(frame, b"\x81\x05na\xC3\xAFv");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameHeader {
    /// Whether the frame is the last one of its message (FIN).
    pub is_final: bool,
    /// Whether the message is compressed (RSV1, RFC 7692 §6).
    pub is_compressed: bool,
    /// What the frame contains.
    pub opcode: Opcode,
    /// The key that masks the payload.
    pub mask: Option<[u8; 4]>,
    /// The length of the payload in bytes, at most 2^63 - 1.
    pub len: u64,
}

/// The maximum length of the payload of a control frame (RFC 6455 §5.5).
pub(super) const MAX_CONTROL: usize = 125;
/// The maximum length of a header.
pub(super) const MAX_HEADER: usize = 14;

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV_2_3: u8 = 0x30;
const MASKED: u8 = 0x80;

/// The state and the settings that decide whether a header is valid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) sender: FrameSender,
    pub(super) is_in_message: bool,
    pub(super) passes_compressed: bool,
}

impl FrameHeader {
    /// Creates the header of a frame that is the whole message, without a mask.
    pub const fn new(opcode: Opcode, len: u64) -> Self {
        Self { is_final: true, is_compressed: false, opcode, mask: None, len }
    }

    /// Appends the header: 2 to 14 bytes, the length in its shortest form. The payload comes after it, masked if there
    /// is a mask.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let (bytes, len) = self.bytes();
        out.extend_from_slice(&bytes[..len]);
    }

    /// Returns the bytes of the header, and their number.
    pub(super) fn bytes(&self) -> ([u8; MAX_HEADER], usize) {
        let mut bytes = [0; MAX_HEADER];
        bytes[0] = self.opcode as u8;
        if self.is_final {
            bytes[0] |= FIN;
        }
        if self.is_compressed {
            bytes[0] |= RSV1;
        }
        let mut end = 2;
        bytes[1] = match self.len {
            len @ 0..=125 => len as u8,
            len @ 126..=0xFFFF => {
                bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
                end = 4;
                126
            }
            len => {
                bytes[2..10].copy_from_slice(&len.to_be_bytes());
                end = 10;
                127
            }
        };
        if let Some(mask) = self.mask {
            bytes[1] |= MASKED;
            bytes[end..end + 4].copy_from_slice(&mask);
            end += 4;
        }
        (bytes, end)
    }

    /// Reads a header. Returns it with its length, or `None` if there are too few bytes. An error has the position of the
    /// byte that cannot be part of a header: every prefix of the bytes before it is a prefix of one.
    #[inline(always)]
    pub(super) fn read(
        bytes: &[u8],
        context: Context,
    ) -> Result<Option<(Self, usize)>, (usize, FrameErrorKind)> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        let Some(opcode) = Opcode::new(first & 0xF) else {
            return Err((0, FrameErrorKind::ReservedOpcode));
        };
        let is_final = first & FIN != 0;
        let is_compressed = first & RSV1 != 0;
        let starts_message = matches!(opcode, Opcode::Text | Opcode::Binary);
        // Only the first frame of a message says that it is compressed (RFC 7692 §6.1).
        if first & RSV_2_3 != 0 || (is_compressed && !(starts_message && context.passes_compressed)) {
            return Err((0, FrameErrorKind::ReservedBit));
        }
        if opcode.is_control() && !is_final {
            return Err((0, FrameErrorKind::FragmentedControl));
        }
        if starts_message && context.is_in_message {
            return Err((0, FrameErrorKind::UnfinishedMessage));
        }
        if opcode == Opcode::Continuation && !context.is_in_message {
            return Err((0, FrameErrorKind::UnexpectedContinuation));
        }
        let Some(&second) = bytes.get(1) else { return Ok(None) };
        match context.sender {
            FrameSender::Client if second & MASKED == 0 => return Err((1, FrameErrorKind::MissingMask)),
            FrameSender::Server if second & MASKED != 0 => return Err((1, FrameErrorKind::UnexpectedMask)),
            _ => {}
        }
        let short = second & !MASKED;
        if opcode.is_control() && usize::from(short) > MAX_CONTROL {
            return Err((1, FrameErrorKind::LongControl));
        }
        if opcode == Opcode::Close && short == 1 {
            return Err((1, FrameErrorKind::CloseWithoutCode));
        }
        let (len, end) = match short {
            126 => {
                let Some(length) = bytes.get(2..4) else { return Ok(None) };
                let length = u64::from(u16::from_be_bytes([length[0], length[1]]));
                if length < 126 {
                    return Err((3, FrameErrorKind::Length));
                }
                (length, 4)
            }
            127 => {
                match bytes.get(2) {
                    Some(first) if *first > 0x7F => return Err((2, FrameErrorKind::Length)),
                    _ => {}
                }
                // The length is not the shortest form if its first 6 bytes are 0.
                if bytes.get(2..8).is_some_and(|high| high == [0; 6]) {
                    return Err((7, FrameErrorKind::Length));
                }
                let Some(length) = bytes.get(2..10).and_then(<[u8]>::first_chunk) else { return Ok(None) };
                (u64::from_be_bytes(*length), 10)
            }
            short => (u64::from(short), 2),
        };
        let header = Self { is_final, is_compressed, opcode, mask: None, len };
        match context.sender {
            FrameSender::Server => Ok(Some((header, end))),
            FrameSender::Client => Ok(bytes
                .get(end..)
                .and_then(<[u8]>::first_chunk)
                .map(|&key| (Self { mask: Some(key), ..header }, end + 4))),
        }
    }
}
