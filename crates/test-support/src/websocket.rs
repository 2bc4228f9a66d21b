//! A naive model of RFC 6455: it reads a whole stream of frames at once. Also random conversations.

use utf8_codec::{ErrorKind, Utf8Error};
use utf8_codec_proxy::websocket::{FrameError, FrameErrorKind, FrameSender};

use super::{Rng, oracle};

pub const SENDERS: [FrameSender; 2] = [FrameSender::Client, FrameSender::Server];

/// An error: the offset on the wire, the offset in the message, the kind.
pub type Error = (u64, u64, FrameErrorKind);

pub fn facts(error: FrameError) -> Error {
    (error.offset, error.message_offset, error.kind)
}

/// A message or control frame, by the first byte of its header without FIN. The mask is removed.
pub type Item = (u8, Vec<u8>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    pub items: Vec<Item>,
    /// The message that the stream ends in: what is known to be well-formed.
    pub unfinished: Option<Item>,
    pub error: Option<Error>,
    pub is_closed: bool,
    /// The errors that were repaired, by their offset on the wire.
    pub repaired: Vec<(u64, ErrorKind, u8)>,
    /// The number of bytes that are complete frames.
    pub frames: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub sender: FrameSender,
    pub max_frame: u64,
    pub max_message: u64,
    pub compressed: bool,
    pub substitute: Option<u8>,
}

impl Rules {
    pub fn new(sender: FrameSender) -> Self {
        Self { sender, max_frame: 16 << 20, max_message: 64 << 20, compressed: false, substitute: None }
    }
}

/// The bytes of a message, each with its offset on the wire.
#[derive(Debug, Default)]
struct Message {
    first: u8,
    bytes: Vec<u8>,
    wire: Vec<u64>,
}

struct Header {
    first: u8,
    len: u64,
    key: [u8; 4],
    size: usize,
}

/// Returns the header at the start of the bytes, if they contain all of it. An error has the position of the first byte
/// after which no header is possible.
fn header(bytes: &[u8], rules: Rules, is_in_message: bool) -> Result<Option<Header>, (u64, FrameErrorKind)> {
    use FrameErrorKind::*;
    let [first, rest @ ..] = bytes else { return Ok(None) };
    let opcode = first & 15;
    let rsv = (first >> 4) & 7;
    let starts = opcode == 1 || opcode == 2;
    let of_first = [
        (matches!(opcode, 3..=7 | 11..=15), ReservedOpcode),
        (rsv & 3 != 0 || (rsv == 4 && !(rules.compressed && starts)), ReservedBit),
        (opcode >= 8 && first >> 7 == 0, FragmentedControl),
        (starts && is_in_message, UnfinishedMessage),
        (opcode == 0 && !is_in_message, UnexpectedContinuation),
    ];
    if let Some((_, kind)) = of_first.into_iter().find(|(applies, _)| *applies) {
        return Err((0, kind));
    }
    let [second, rest @ ..] = rest else { return Ok(None) };
    let (is_masked, short) = (second >> 7 == 1, second & 127);
    let of_second = [
        (rules.sender == FrameSender::Client && !is_masked, MissingMask),
        (rules.sender == FrameSender::Server && is_masked, UnexpectedMask),
        (opcode >= 8 && short > 125, LongControl),
        (opcode == 8 && short == 1, CloseWithoutCode),
    ];
    if let Some((_, kind)) = of_second.into_iter().find(|(applies, _)| *applies) {
        return Err((1, kind));
    }
    let (size, least, most) = match short {
        126 => (2, 126, 0xFFFF),
        127 => (8, 0x1_0000, i64::MAX as u64),
        _ => (0, 0, 125),
    };
    let filled = |known: usize, with: u8| {
        let bytes = rest[..known].iter().copied().chain(core::iter::repeat(with)).take(size);
        bytes.fold(0_u64, |number, byte| (number << 8) | u64::from(byte))
    };
    for known in 1..=size.min(rest.len()) {
        if filled(known, 0xFF) < least || filled(known, 0) > most {
            return Err((1 + known as u64, Length));
        }
    }
    let key_size = if is_masked { 4 } else { 0 };
    if rest.len() < size + key_size {
        return Ok(None);
    }
    let len = if size == 0 { u64::from(short) } else { filled(size, 0) };
    let mut key = [0; 4];
    key[..key_size].copy_from_slice(&rest[size..size + key_size]);
    Ok(Some(Header { first: *first, len, key, size: 2 + size + key_size }))
}

/// Reads a whole stream.
pub fn read(bytes: &[u8], rules: Rules) -> Read {
    let mut read = Read::default();
    let mut message: Option<Message> = None;
    let mut at = 0;
    while at < bytes.len() {
        let in_message = message.as_ref().map_or(0, |message| message.bytes.len() as u64);
        let header = match header(&bytes[at..], rules, message.is_some()) {
            Ok(Some(header)) => header,
            Ok(None) => break,
            Err((position, kind)) => {
                read.error = Some((at as u64 + position, in_message, kind));
                break;
            }
        };
        let (is_final, is_control) = (header.first >= 0x80, header.first & 8 != 0);
        let limit = if is_control {
            None
        } else if header.len > rules.max_frame {
            Some(FrameErrorKind::FrameTooLong(rules.max_frame))
        } else if in_message + header.len > rules.max_message {
            Some(FrameErrorKind::MessageTooLong(rules.max_message))
        } else {
            None
        };
        if let Some(kind) = limit {
            read.error = Some((at as u64 + 1, in_message, kind));
            break;
        }
        let start = at + header.size;
        let end = bytes.len().min(start.saturating_add(usize::try_from(header.len).unwrap_or(usize::MAX)));
        let is_whole = (end - start) as u64 == header.len;
        let payload: Vec<u8> = (start..end).map(|i| bytes[i] ^ header.key[(i - start) % 4]).collect();
        if is_control {
            let is_sent = |code: u16| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
            let is_prefix = |first| (0..=0xFF).any(|second| is_sent(u16::from_be_bytes([first, second])));
            if header.first == 0x88 && payload.first().is_some_and(|&first| !is_prefix(first)) {
                read.error = Some((start as u64, in_message, FrameErrorKind::CloseCode(None)));
                break;
            }
            if header.first == 0x88 && payload.len() >= 2 {
                let code = u16::from_be_bytes([payload[0], payload[1]]);
                if !is_sent(code) {
                    read.error = Some((start as u64, in_message, FrameErrorKind::CloseCode(Some(code))));
                    break;
                }
                if let Some(error) = first_error(&payload[2..], is_whole) {
                    let wire = start as u64 + 2 + error.offset;
                    read.error = Some((wire, in_message, FrameErrorKind::Reason(error)));
                    break;
                }
            }
            if !is_whole {
                break;
            }
            read.items.push((header.first & 0x7F, payload));
            at = end;
            read.frames = end;
            if header.first == 0x88 {
                read.is_closed = true;
                break;
            }
            continue;
        }
        let part =
            message.get_or_insert_with(|| Message { first: header.first & 0x7F, ..Message::default() });
        part.bytes.extend_from_slice(&payload);
        part.wire.extend((start..end).map(|i| i as u64));
        let ends = is_whole && is_final;
        if part.first == 1 {
            match rules.substitute {
                None => {
                    if let Some(error) = first_error(&part.bytes, ends) {
                        let wire = part.wire[error.offset as usize];
                        read.error = Some((wire, error.offset, FrameErrorKind::Text(error)));
                        part.bytes.truncate(error.offset as usize);
                        break;
                    }
                }
                Some(_) if !ends => {}
                Some(byte) => {
                    let wire = part.wire.clone();
                    substitute(&mut part.bytes, &wire, byte, true, &mut read.repaired);
                }
            }
        }
        if ends {
            let Message { first, bytes, .. } = message.take().unwrap();
            read.items.push((first, bytes));
        }
        at = end;
        if is_whole {
            read.frames = end;
        } else {
            break;
        }
    }
    if let Some(Message { first, mut bytes, wire }) = message {
        if first == 1 {
            if let Some(byte) = rules.substitute {
                substitute(&mut bytes, &wire, byte, false, &mut read.repaired);
            }
            if let Some((offset, ErrorKind::Truncated, _)) = oracle::decode(&bytes).1.last() {
                bytes.truncate(*offset as usize);
            }
        }
        read.unfinished = Some((first, bytes));
    }
    read
}

fn first_error(text: &[u8], is_whole: bool) -> Option<Utf8Error> {
    let (offset, kind, len) = *oracle::decode(text).1.first()?;
    (is_whole || kind != ErrorKind::Truncated).then(|| Utf8Error::new(offset, kind, len))
}

fn substitute(
    text: &mut [u8],
    wire: &[u64],
    byte: u8,
    is_whole: bool,
    repaired: &mut Vec<(u64, ErrorKind, u8)>,
) {
    for (offset, kind, len) in oracle::decode(text).1 {
        if is_whole || kind != ErrorKind::Truncated {
            text[offset as usize..][..usize::from(len)].fill(byte);
            repaired.push((wire[offset as usize], kind, len));
        }
    }
}

/// Returns a frame with the first byte of its header, and the length in its shortest form.
pub fn frame(first: u8, payload: &[u8], key: Option<[u8; 4]>) -> Vec<u8> {
    let masked = if key.is_some() { 0x80 } else { 0 };
    let mut frame = vec![first];
    match payload.len() {
        len @ 0..=125 => frame.push(masked | len as u8),
        len @ 126..=0xFFFF => {
            frame.push(masked | 126);
            frame.extend_from_slice(&(len as u16).to_be_bytes());
        }
        len => {
            frame.push(masked | 127);
            frame.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    frame.extend(key.into_iter().flatten());
    let key = key.unwrap_or_default();
    frame.extend(payload.iter().enumerate().map(|(i, byte)| byte ^ key[i % 4]));
    frame
}

/// Returns frames that are mostly well-formed: messages in fragments with control frames between them. `len` is the length
/// of the longest message.
pub fn conversation(rng: &mut Rng, sender: FrameSender, frames: usize, len: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut is_in_message = false;
    for _ in 0..frames {
        let mut payload = rng.dirty_text(0);
        let mut first = match rng.below(8) {
            0 => 0x89,
            1 => 0x8A,
            2 if rng.below(4) == 0 => 0x88,
            _ if is_in_message => rng.pick(&[0x00, 0x00, 0x80]),
            _ => rng.pick(&[0x01, 0x01, 0x81, 0x81, 0x02, 0x82]),
        };
        if first & 8 == 0 {
            is_in_message = first < 0x80;
            payload = rng.dirty_text(rng.clone().below(len + 1));
            if rng.below(4) > 0 {
                payload = String::from_utf8_lossy(&payload).into_owned().into_bytes();
            }
            if rng.below(3) == 0 && is_in_message {
                payload.truncate(rng.below(payload.len() + 1));
            }
        } else if first == 0x88 {
            let code: u16 = rng.pick(&[1000, 1001, 1005, 3000, 4999]);
            payload = code.to_be_bytes().to_vec();
            payload.extend(rng.dirty_text(5));
        } else if rng.below(2) == 0 {
            payload = rng.dirty_text(7);
        }
        if rng.below(40) == 0 {
            first ^= 1 << rng.below(8);
        }
        let is_masked = (sender == FrameSender::Client) != (rng.below(60) == 0);
        stream.extend(frame(first, &payload, is_masked.then(|| (rng.next() as u32).to_le_bytes())));
    }
    if rng.below(3) == 0 {
        stream.truncate(rng.below(stream.len() + 1));
    }
    stream
}
