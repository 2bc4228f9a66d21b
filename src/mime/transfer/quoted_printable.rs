//! `quoted-printable` (RFC 2045 §6.7).
//!
//! ```text
//!          ┌── text ──┐        ┌── space ─┐                    ┌─ space ─┐
//!          v          │        v          │                    v         │
//!   ┌──> Text ────────┴── space held ─────┴── CR ──> Cr        Soft ─────┴── CR ──> SoftCr
//!   │      │ =                            LF: the space goes    ^ space, CR            │ LF
//!   │      v                                                    │                      │
//!   │    Escape ────────────────────────────────────────────────┘                      │
//!   │      │ hex ──> EscapeHex ── hex ──> a byte ──┐       LF: a soft break          │
//!   └──────┴─────────────────────────────────────────┴─────────────────────────────────┘
//! ```
//!
//! White space is held until it is known whether it ends a line: there a transport may have put it, and it is no text
//! (rule 3). Anything else after a `=` breaks the escape off: it was text, and the byte is read again.

use alloc::vec::Vec;

use memchr::memchr2;

use super::block::Block;
use super::lines::LineMeter;
use super::{Fault, TransferErrorKind};

/// How much is looked at in bulk at first, and after a fault. It doubles as long as there is none, so that where one
/// fault follows the other little is looked at twice.
const FIRST_LOOK: usize = 64;
const LAST_LOOK: usize = 4096;

/// White space beyond this is text even at the end of a line: no line that a transport may write is longer.
const MAX_HELD: usize = 998;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// A CR, of a line break if LF follows.
    Cr,
    Escape,
    /// The first digit and its value.
    EscapeHex(u8, u8),
    /// `=` and white space: a soft break if the line ends.
    Soft,
    /// The same, and CR.
    SoftCr,
}

#[derive(Clone, Debug)]
pub(super) struct QuotedPrintable {
    state: State,
    /// Where the `=` of the escape or of the soft break stood.
    escape: u64,
    /// White space that may end a line.
    held: Vec<u8>,
    /// Where it stood.
    held_at: u64,
    lines: LineMeter,
    /// How much is looked at next.
    look: usize,
}

/// What a byte came to.
enum Step {
    /// It was taken.
    Taken,
    /// It was taken, and is a fault.
    Fault(TransferErrorKind),
    /// It was not taken and is to be read again: it shows that something before it is a fault.
    Refused(Fault),
}

impl QuotedPrintable {
    pub(super) fn new() -> Self {
        Self {
            state: State::Text,
            escape: 0,
            held: Vec::new(),
            held_at: 0,
            lines: LineMeter::encoded(),
            look: FIRST_LOOK,
        }
    }

    pub(super) fn set_max_line(&mut self, max: usize) {
        self.lines.set_max(max);
    }

    pub(super) fn decode(&mut self, rest: &[u8], at: u64, block: &mut Block) -> (usize, Option<Fault>) {
        let (taken, fault) = self.fill(rest, at, block);
        if fault.is_some() {
            self.look = FIRST_LOOK;
        }
        (taken, fault)
    }

    /// Decodes until the block is full or a fault is met.
    fn fill(&mut self, rest: &[u8], at: u64, block: &mut Block) -> (usize, Option<Fault>) {
        let mut taken = 0;
        while taken < rest.len() && !block.is_full(MAX_HELD + 8) {
            let offset = at + taken as u64;
            if self.state == State::Text && self.held.is_empty() {
                let bulk = self.bulk(&rest[taken..], offset, block);
                if bulk > 0 {
                    taken += bulk;
                    continue;
                }
            }
            let byte = rest[taken];
            if let Some(kind) = self.lines.check(byte) {
                return (taken, Some(Fault { offset, kind, len: 1 }));
            }
            match self.step(byte, offset, block) {
                Step::Refused(fault) => return (taken, Some(fault)),
                Step::Taken => {}
                Step::Fault(kind) => {
                    self.lines.take(1);
                    return (taken + 1, Some(Fault { offset, kind, len: 1 }));
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

    /// Takes what needs no state: a run of text that is not followed by white space, or a row of escapes.
    fn bulk(&mut self, rest: &[u8], offset: u64, block: &mut Block) -> usize {
        let window = &rest[..rest.len().min(self.lines.room()).min(block.room()).min(self.look)];
        self.look = LAST_LOOK.min(self.look * 2);
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

    /// One byte.
    fn step(&mut self, byte: u8, offset: u64, block: &mut Block) -> Step {
        match self.state {
            State::Text => self.text(byte, offset, block),
            State::Cr => {
                self.state = State::Text;
                if byte == b'\n' {
                    self.held.clear();
                    block.push(b"\r\n", offset - 1);
                    return Step::Taken;
                }
                Step::Refused(self.bare_cr(offset - 1, block))
            }
            State::Escape => match (byte, digit(byte)) {
                (_, Some(high)) => {
                    self.state = State::EscapeHex(byte, high);
                    Step::Taken
                }
                (b'\n' | b'\r' | b' ' | b'\t', None) => self.soft(byte, offset),
                _ => self.broken_off(b"=", block),
            },
            State::EscapeHex(first, high) => match digit(byte) {
                Some(low) => {
                    self.state = State::Text;
                    block.push_escaped(high << 4 | low, self.escape);
                    Step::Taken
                }
                None => self.broken_off(&[b'=', first], block),
            },
            State::Soft => match byte {
                b'\n' | b'\r' | b' ' | b'\t' if self.held.len() < MAX_HELD => self.soft(byte, offset),
                _ => self.broken_off(b"=", block),
            },
            State::SoftCr => match byte {
                b'\n' => self.soft(byte, offset),
                _ => {
                    let step = self.broken_off(b"=", block);
                    self.release(block);
                    block.push(b"\r", offset - 1);
                    step
                }
            },
        }
    }

    fn text(&mut self, byte: u8, offset: u64, block: &mut Block) -> Step {
        match byte {
            b' ' | b'\t' if self.held.len() < MAX_HELD => self.hold(byte, offset),
            b'\r' => self.state = State::Cr,
            b'\n' => {
                self.held.clear();
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
                    return Step::Fault(TransferErrorKind::EightBit);
                }
                if byte.is_ascii_control() && byte != b'\t' {
                    return Step::Fault(TransferErrorKind::ControlCharacter);
                }
            }
        }
        Step::Taken
    }

    /// A byte that may belong to a soft break.
    fn soft(&mut self, byte: u8, offset: u64) -> Step {
        self.state = match byte {
            b'\n' => {
                self.held.clear();
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

    /// The bytes of the escape were text after all. What is held after it stays held.
    fn broken_off(&mut self, escape: &[u8], block: &mut Block) -> Step {
        block.push(escape, self.escape);
        self.state = State::Text;
        let (kind, len) = (TransferErrorKind::InvalidEscape, escape.len() as u8);
        Step::Refused(Fault { offset: self.escape, kind, len })
    }

    /// A CR at `offset` that no LF followed.
    fn bare_cr(&mut self, offset: u64, block: &mut Block) -> Fault {
        self.release(block);
        block.push(b"\r", offset);
        Fault { offset, kind: TransferErrorKind::ControlCharacter, len: 1 }
    }

    fn hold(&mut self, byte: u8, offset: u64) {
        if self.held.is_empty() {
            self.held_at = offset;
        }
        self.held.push(byte);
    }

    /// What was held is text.
    fn release(&mut self, block: &mut Block) {
        if !self.held.is_empty() {
            block.push(&self.held, self.held_at);
            self.held.clear();
        }
    }

    /// Ends the body at `end`. White space there ends a line, and so does a `=`: what follows a body, a boundary or
    /// nothing, is no part of it.
    pub(super) fn finish(&mut self, end: u64, block: &mut Block) -> Option<Fault> {
        self.lines.line_break();
        let state = core::mem::replace(&mut self.state, State::Text);
        let fault = match state {
            State::Cr => Some(self.bare_cr(end - 1, block)),
            State::EscapeHex(first, _) => {
                block.push(&[b'=', first], self.escape);
                Some(Fault { offset: self.escape, kind: TransferErrorKind::Truncated, len: 2 })
            }
            State::SoftCr => {
                block.push(b"=", self.escape);
                self.release(block);
                block.push(b"\r", end - 1);
                Some(Fault { offset: self.escape, kind: TransferErrorKind::InvalidEscape, len: 1 })
            }
            State::Text | State::Escape | State::Soft => None,
        };
        self.held.clear();
        fault
    }
}

/// Whether bytes may stand for themselves (rules 2 and 3).
#[inline]
fn is_printable(bytes: &[u8]) -> bool {
    // No early end: it is done for many bytes at a time.
    bytes.iter().fold(true, |good, &byte| good & (matches!(byte, b' '..=b'~') | (byte == b'\t')))
}

/// The value of a hexadecimal digit, in upper case as RFC 2045 wants it or in lower case.
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
