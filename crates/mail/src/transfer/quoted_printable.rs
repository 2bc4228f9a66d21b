//! The `quoted-printable` transfer encoding (RFC 2045 §6.7).
//!
//! ```text
//!          ┌── text ──┐        ┌── space ─┐                    ┌─ space ─┐
//!          v          │        v          │                    v         │
//!   ┌──> Text ────────┴─ pending space ───┴── CR ──> Cr        Soft ─────┴── CR ──> SoftCr
//!   │      │ =                            LF: no text           ^ space, CR            │ LF
//!   │      v                                                    │                      │
//!   │    Escape ────────────────────────────────────────────────┘                      │
//!   │      │ hex ──> EscapeHex ── hex ──> a byte ──┐       LF: a soft break          │
//!   └──────┴─────────────────────────────────────────┴─────────────────────────────────┘
//! ```
//!
//! White space at the end of a line is not text, because a transport may have added it (rule 3). White space is
//! therefore pending until the next byte shows whether the line ends. If the byte after a `=` starts neither an escape
//! nor a soft break, the `=` is text, and the byte is read again.

use alloc::vec::Vec;

use kernels::words;

use super::block::{Block, Stride};
use super::error::{TransferErrorKind, WireError};
use super::lines::LineMeter;

/// The maximum number of bytes of pending white space. More white space is text even at the end of a line, because
/// transports do not write longer lines.
const MAX_PENDING: usize = 998;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After a CR, which is part of a line break if an LF follows.
    Cr,
    Escape,
    /// After `=` and one digit: the digit and its value.
    EscapeHex(u8, u8),
    /// After `=` and white space, which is a soft break if the line ends.
    Soft,
    /// After `=`, possibly white space, and a CR.
    SoftCr,
}

#[derive(Clone, Debug)]
pub(super) struct QuotedPrintable {
    state: State,
    /// The offset of the `=` of the escape or of the soft break.
    escape: u64,
    /// White space that may end a line.
    pending: Vec<u8>,
    pending_at: u64,
    lines: LineMeter,
}

impl QuotedPrintable {
    pub(super) fn new() -> Self {
        Self {
            state: State::Text,
            escape: 0,
            pending: Vec::new(),
            pending_at: 0,
            lines: LineMeter::encoded(),
        }
    }

    pub(super) fn set_max_line(&mut self, max: usize) {
        self.lines.set_max(max);
    }

    /// Decodes until the block is full or there is an error.
    pub(super) fn decode(&mut self, rest: &[u8], at: u64, block: &mut Block) -> (usize, Option<WireError>) {
        let mut taken = 0;
        while taken < rest.len() && !block.is_full(MAX_PENDING + 8) {
            let offset = at + taken as u64;
            if self.state == State::Text && self.pending.is_empty() && !self.lines.is_over() {
                let bulk = self.bulk(&rest[taken..], offset, block);
                if bulk > 0 {
                    taken += bulk;
                    continue;
                }
            }
            let byte = rest[taken];
            if let Some(error) = self.before(byte, offset, block) {
                return (taken, Some(error));
            }
            if let Some(kind) = self.lines.check(byte) {
                return (taken, Some(WireError { offset, kind, len: 1 }));
            }
            taken += 1;
            if let Some(kind) = self.step(byte, offset, block) {
                self.lines.take(1);
                return (taken, Some(WireError { offset, kind, len: 1 }));
            }
            if byte == b'\n' {
                self.lines.line_break();
            } else {
                self.lines.take(1);
            }
        }
        (taken, None)
    }

    /// Decodes input that needs no state: text that does not end with white space, consecutive escapes, line breaks and
    /// soft breaks. Returns the number of bytes read. Before and after the call, no white space is pending and the line is
    /// not above its limit.
    fn bulk(&mut self, rest: &[u8], offset: u64, block: &mut Block) -> usize {
        let mut at = 0;
        while !block.is_full(MAX_PENDING + 8) {
            let here = offset + at as u64;
            let room = self.lines.room();
            let limit = (rest.len() - at).min(room).min(MAX_PENDING);
            let len = words::copy_quoted_text(&rest[at..at + limit], block.space());
            let (text, after) = rest[at..].split_at(len);
            let ends_with_space = matches!(text, [.., b' ' | b'\t']);
            match *after {
                [b'\r', b'\n', ..] if !ends_with_space => {
                    block.advance(len, here, Stride::Verbatim);
                    block.push(b"\r\n", here + len as u64);
                    self.lines.line_break();
                    at += len + 2;
                }
                [b'\n', ..] if !ends_with_space => {
                    block.advance(len, here, Stride::Verbatim);
                    block.push(b"\n", here + len as u64);
                    self.lines.line_break();
                    at += len + 1;
                }
                [b'=', b'\r', b'\n', ..] if len < room => {
                    block.advance(len, here, Stride::Verbatim);
                    self.lines.line_break();
                    at += len + 3;
                }
                [b'=', b'\n', ..] if len < room => {
                    block.advance(len, here, Stride::Verbatim);
                    self.lines.line_break();
                    at += len + 2;
                }
                [b'=', high, low, ..] if len + 3 <= room && is_escape(high, low) => {
                    block.advance(len, here, Stride::Verbatim);
                    let escapes = &after[..after.len().min(room - len).min(3 * MAX_PENDING)];
                    let count = copy_escapes(escapes, block.space());
                    block.advance(count, here + len as u64, Stride::Escapes);
                    self.lines.take(len + 3 * count);
                    at += len + 3 * count;
                }
                _ => {
                    let spaces = text.iter().rev().take_while(|&&byte| is_space(byte)).count();
                    block.advance(len - spaces, here, Stride::Verbatim);
                    self.lines.take(len - spaces);
                    return at + len - spaces;
                }
            }
        }
        at
    }

    /// Converts what is pending to text, if `byte` shows that it is text. Returns the error of an escape, a soft break or
    /// a line break that `byte` does not continue.
    fn before(&mut self, byte: u8, offset: u64, block: &mut Block) -> Option<WireError> {
        let may_end_line = is_space(byte) || matches!(byte, b'\r' | b'\n');
        match self.state {
            State::Text if !may_end_line => self.release(block),
            State::Cr if byte != b'\n' => {
                self.state = State::Text;
                return Some(self.bare_cr(offset - 1, block));
            }
            State::Escape if !may_end_line && digit(byte).is_none() => {
                return Some(self.not_an_escape(b"=", block));
            }
            State::EscapeHex(first, _) if digit(byte).is_none() => {
                return Some(self.not_an_escape(&[b'=', first], block));
            }
            State::Soft if !may_end_line || self.pending.len() == MAX_PENDING => {
                return Some(self.not_an_escape(b"=", block));
            }
            State::SoftCr if byte != b'\n' => {
                return Some(self.not_a_soft_break(block));
            }
            _ => {}
        }
        None
    }

    /// Reads one byte, after [`before`](Self::before). Returns the error that the byte causes.
    fn step(&mut self, byte: u8, offset: u64, block: &mut Block) -> Option<TransferErrorKind> {
        match self.state {
            State::Text => return self.text(byte, offset, block),
            State::Cr => {
                self.state = State::Text;
                self.pending.clear();
                block.push(b"\r\n", offset - 1);
            }
            State::EscapeHex(_, high) => {
                self.state = State::Text;
                // The byte is a digit.
                block.push_escaped(high << 4 | DIGITS[usize::from(byte)], self.escape);
            }
            State::Escape => match digit(byte) {
                Some(high) => self.state = State::EscapeHex(byte, high),
                None => self.soft(byte, offset),
            },
            State::Soft | State::SoftCr => self.soft(byte, offset),
        }
        None
    }

    fn text(&mut self, byte: u8, offset: u64, block: &mut Block) -> Option<TransferErrorKind> {
        match byte {
            b' ' | b'\t' if self.pending.len() < MAX_PENDING => self.hold(byte, offset),
            b'\r' => self.state = State::Cr,
            b'\n' => {
                self.pending.clear();
                block.push(b"\n", offset);
            }
            b'=' => {
                self.escape = offset;
                self.state = State::Escape;
            }
            _ => {
                // Only white space that exceeded `MAX_PENDING` is still pending here.
                self.release(block);
                block.push(&[byte], offset);
                if !byte.is_ascii() {
                    return Some(TransferErrorKind::EightBit);
                }
                if byte.is_ascii_control() && byte != b'\t' {
                    return Some(TransferErrorKind::ControlCharacter);
                }
            }
        }
        None
    }

    /// Reads a byte that may be part of a soft break.
    fn soft(&mut self, byte: u8, offset: u64) {
        self.state = match byte {
            b'\n' => {
                self.pending.clear();
                State::Text
            }
            b'\r' => State::SoftCr,
            _ => {
                self.hold(byte, offset);
                State::Soft
            }
        };
    }

    /// Converts `escape`, the start of an invalid escape, to text. White space after it stays pending.
    fn not_an_escape(&mut self, escape: &[u8], block: &mut Block) -> WireError {
        block.push(escape, self.escape);
        self.state = State::Text;
        WireError { offset: self.escape, kind: TransferErrorKind::InvalidEscape, len: escape.len() as u8 }
    }

    /// Same as [`not_an_escape`](Self::not_an_escape), before a CR that is an error of its own.
    fn not_a_soft_break(&mut self, block: &mut Block) -> WireError {
        let error = self.not_an_escape(b"=", block);
        self.state = State::Cr;
        error
    }

    /// Processes a CR at `offset` without an LF after it, which is an error.
    fn bare_cr(&mut self, offset: u64, block: &mut Block) -> WireError {
        self.release(block);
        block.push(b"\r", offset);
        WireError { offset, kind: TransferErrorKind::ControlCharacter, len: 1 }
    }

    fn hold(&mut self, byte: u8, offset: u64) {
        if self.pending.is_empty() {
            self.pending_at = offset;
        }
        self.pending.push(byte);
    }

    /// Converts the pending white space to text.
    fn release(&mut self, block: &mut Block) {
        if !self.pending.is_empty() {
            block.push(&self.pending, self.pending_at);
            self.pending.clear();
        }
    }

    /// Ends the body at the offset `end`. White space at the end of the body is at the end of a line, and a `=` there
    /// is a soft break. The body has ended when no error is returned.
    pub(super) fn finish(&mut self, end: u64, block: &mut Block) -> Option<WireError> {
        self.lines.line_break();
        match core::mem::replace(&mut self.state, State::Text) {
            State::Cr => Some(self.bare_cr(end - 1, block)),
            State::EscapeHex(first, _) => {
                block.push(&[b'=', first], self.escape);
                Some(WireError { offset: self.escape, kind: TransferErrorKind::Truncated, len: 2 })
            }
            State::SoftCr => Some(self.not_a_soft_break(block)),
            State::Text | State::Escape | State::Soft => {
                self.pending.clear();
                None
            }
        }
    }
}

/// Decodes consecutive escapes while there is room for them. Returns the number of escapes.
#[inline]
fn copy_escapes(escapes: &[u8], out: &mut [u8]) -> usize {
    let (escapes, _) = escapes.as_chunks::<3>();
    let mut count = 0;
    for (&[sign, high, low], byte) in escapes.iter().zip(out) {
        if sign != b'=' || !is_escape(high, low) {
            break;
        }
        *byte = DIGITS[usize::from(high)] << 4 | DIGITS[usize::from(low)];
        count += 1;
    }
    count
}

/// The values of the hexadecimal digits; `FF` for other bytes. RFC 2045 requires upper case, but lower case is
/// accepted.
static DIGITS: [u8; 256] = {
    let mut digits = [0xFF; 256];
    let mut i = 0;
    while i < 16 {
        digits[b"0123456789ABCDEF"[i] as usize] = i as u8;
        digits[b"0123456789abcdef"[i] as usize] = i as u8;
        i += 1;
    }
    digits
};

#[inline]
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[inline]
fn is_escape(high: u8, low: u8) -> bool {
    DIGITS[usize::from(high)] | DIGITS[usize::from(low)] < 16
}

/// Returns the value of a hexadecimal digit.
#[inline]
fn digit(byte: u8) -> Option<u8> {
    let value = DIGITS[usize::from(byte)];
    (value < 16).then_some(value)
}
