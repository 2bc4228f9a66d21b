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
//! White space is pending until it is known whether it ends a line. A transport may have added it there, so it is not
//! text (rule 3). If the byte after a `=` starts neither an escape nor a soft break, the `=` is text, and the byte is
//! read again.

use alloc::vec::Vec;

use memchr::memchr2;

use super::block::Block;
use super::error::{TransferErrorKind, WireError};
use super::lines::LineMeter;

/// The number of bytes that are checked in bulk at first, and after an error. The number doubles while there are no
/// errors, so few bytes are checked twice if errors are frequent.
const FIRST_WINDOW: usize = 64;
const MAX_WINDOW: usize = 4096;

/// More white space than this is text even at the end of a line, because transports do not write longer lines.
const MAX_PENDING: usize = 998;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After a CR, which is part of a line break if an LF follows.
    Cr,
    Escape,
    /// After the first digit: the digit and its value.
    EscapeHex(u8, u8),
    /// After `=` and white space, which is a soft break if the line ends.
    Soft,
    /// After `=`, white space and a CR.
    SoftCr,
}

#[derive(Clone, Debug)]
pub(super) struct QuotedPrintable {
    state: State,
    /// The offset of the `=` of the escape or of the soft break.
    escape: u64,
    /// White space that may end a line.
    pending: Vec<u8>,
    /// The offset of `pending`.
    pending_at: u64,
    lines: LineMeter,
    /// The number of bytes that are checked in bulk next.
    window: usize,
}

/// The result of a byte.
enum Step {
    /// The byte was consumed.
    Taken,
    /// The byte was consumed and is an error.
    Error(TransferErrorKind),
    /// The byte was not consumed and must be read again, because there is an error before it.
    ReadAgain(WireError),
}

impl QuotedPrintable {
    pub(super) fn new() -> Self {
        Self {
            state: State::Text,
            escape: 0,
            pending: Vec::new(),
            pending_at: 0,
            lines: LineMeter::encoded(),
            window: FIRST_WINDOW,
        }
    }

    pub(super) fn set_max_line(&mut self, max: usize) {
        self.lines.set_max(max);
    }

    pub(super) fn decode(&mut self, rest: &[u8], at: u64, block: &mut Block) -> (usize, Option<WireError>) {
        let (taken, error) = self.fill(rest, at, block);
        if error.is_some() {
            self.window = FIRST_WINDOW;
        }
        (taken, error)
    }

    /// Decodes until the block is full or there is an error.
    fn fill(&mut self, rest: &[u8], at: u64, block: &mut Block) -> (usize, Option<WireError>) {
        let mut taken = 0;
        while taken < rest.len() && !block.is_full(MAX_PENDING + 8) {
            let offset = at + taken as u64;
            if self.state == State::Text && self.pending.is_empty() {
                let bulk = self.bulk(&rest[taken..], offset, block);
                if bulk > 0 {
                    taken += bulk;
                    continue;
                }
            }
            let byte = rest[taken];
            if let Some(kind) = self.lines.check(byte) {
                return (taken, Some(WireError { offset, kind, len: 1 }));
            }
            match self.step(byte, offset, block) {
                Step::ReadAgain(error) => return (taken, Some(error)),
                Step::Taken => {}
                Step::Error(kind) => {
                    self.lines.take(1);
                    return (taken + 1, Some(WireError { offset, kind, len: 1 }));
                }
            }
            taken += 1;
            if byte == b'\n' {
                self.lines.line_break();
            } else {
                self.lines.take(1);
            }
        }
        (taken, None)
    }

    /// Decodes input that needs no state: text not followed by white space, or consecutive escapes.
    fn bulk(&mut self, rest: &[u8], offset: u64, block: &mut Block) -> usize {
        let len = rest.len().min(self.lines.room()).min(block.room()).min(self.window);
        let window = &rest[..len];
        self.window = MAX_WINDOW.min(self.window * 2);
        let stop = memchr2(b'=', b'\n', window);
        let run = &window[..stop.unwrap_or(window.len())];
        let text = if stop.is_some_and(|stop| window[stop] == b'=') {
            run
        } else {
            &run[..run.len() - run.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count()]
        };
        let mut taken = if is_printable(text) {
            text.len()
        } else {
            text.iter().take_while(|&&byte| is_printable(&[byte])).count()
        };
        if taken > 0 {
            block.push(&text[..taken], offset);
        }
        if taken == run.len() {
            while let [b'=', high, low, ..] = window[taken..]
                && let (Some(high), Some(low)) = (digit(high), digit(low))
            {
                block.push_escaped(high << 4 | low, offset + taken as u64);
                taken += 3;
            }
        }
        self.lines.take(taken);
        taken
    }

    /// Reads one byte.
    fn step(&mut self, byte: u8, offset: u64, block: &mut Block) -> Step {
        match self.state {
            State::Text => self.text(byte, offset, block),
            State::Cr => {
                self.state = State::Text;
                if byte == b'\n' {
                    self.pending.clear();
                    block.push(b"\r\n", offset - 1);
                    return Step::Taken;
                }
                Step::ReadAgain(self.bare_cr(offset - 1, block))
            }
            State::Escape => match (byte, digit(byte)) {
                (_, Some(high)) => {
                    self.state = State::EscapeHex(byte, high);
                    Step::Taken
                }
                (b'\n' | b'\r' | b' ' | b'\t', None) => self.soft(byte, offset),
                _ => self.not_an_escape(b"=", block),
            },
            State::EscapeHex(first, high) => match digit(byte) {
                Some(low) => {
                    self.state = State::Text;
                    block.push_escaped(high << 4 | low, self.escape);
                    Step::Taken
                }
                None => self.not_an_escape(&[b'=', first], block),
            },
            State::Soft => match byte {
                b'\n' | b'\r' | b' ' | b'\t' if self.pending.len() < MAX_PENDING => self.soft(byte, offset),
                _ => self.not_an_escape(b"=", block),
            },
            State::SoftCr => match byte {
                b'\n' => self.soft(byte, offset),
                _ => {
                    let step = self.not_an_escape(b"=", block);
                    self.release(block);
                    block.push(b"\r", offset - 1);
                    step
                }
            },
        }
    }

    fn text(&mut self, byte: u8, offset: u64, block: &mut Block) -> Step {
        match byte {
            b' ' | b'\t' if self.pending.len() < MAX_PENDING => self.hold(byte, offset),
            b'\r' => self.state = State::Cr,
            b'\n' => {
                self.pending.clear();
                block.push(b"\n", offset);
            }
            b'=' => {
                self.release(block);
                self.escape = offset;
                self.state = State::Escape;
            }
            _ => {
                self.release(block);
                block.push(&[byte], offset);
                if !byte.is_ascii() {
                    return Step::Error(TransferErrorKind::EightBit);
                }
                if byte.is_ascii_control() && byte != b'\t' {
                    return Step::Error(TransferErrorKind::ControlCharacter);
                }
            }
        }
        Step::Taken
    }

    /// Reads a byte that may be part of a soft break.
    fn soft(&mut self, byte: u8, offset: u64) -> Step {
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
        Step::Taken
    }

    /// Converts the bytes of the escape to text. The white space after it stays pending.
    fn not_an_escape(&mut self, escape: &[u8], block: &mut Block) -> Step {
        block.push(escape, self.escape);
        self.state = State::Text;
        let (kind, len) = (TransferErrorKind::InvalidEscape, escape.len() as u8);
        Step::ReadAgain(WireError { offset: self.escape, kind, len })
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

    /// Ends the body at the offset `end`. White space there is at the end of a line, and a `=` is a soft break.
    pub(super) fn finish(&mut self, end: u64, block: &mut Block) -> Option<WireError> {
        self.lines.line_break();
        let state = core::mem::replace(&mut self.state, State::Text);
        let error = match state {
            State::Cr => Some(self.bare_cr(end - 1, block)),
            State::EscapeHex(first, _) => {
                block.push(&[b'=', first], self.escape);
                Some(WireError { offset: self.escape, kind: TransferErrorKind::Truncated, len: 2 })
            }
            State::SoftCr => {
                block.push(b"=", self.escape);
                self.release(block);
                block.push(b"\r", end - 1);
                Some(WireError { offset: self.escape, kind: TransferErrorKind::InvalidEscape, len: 1 })
            }
            State::Text | State::Escape | State::Soft => None,
        };
        self.pending.clear();
        error
    }
}

/// Whether all bytes may be encoded as themselves (rules 2 and 3).
#[inline]
fn is_printable(bytes: &[u8]) -> bool {
    // There is no early exit, so that the compiler vectorizes the loop.
    bytes.iter().fold(true, |good, &byte| good & (matches!(byte, b' '..=b'~') | (byte == b'\t')))
}

/// Returns the value of a hexadecimal digit. RFC 2045 requires upper case, but lower case is accepted.
#[inline]
fn digit(byte: u8) -> Option<u8> {
    const DIGITS: [u8; 256] = {
        let mut digits = [0xFF; 256];
        let mut i = 0;
        while i < 16 {
            digits[b"0123456789ABCDEF"[i] as usize] = i as u8;
            digits[b"0123456789abcdef"[i] as usize] = i as u8;
            i += 1;
        }
        digits
    };
    let value = DIGITS[usize::from(byte)];
    (value < 16).then_some(value)
}
