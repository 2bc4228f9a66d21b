//! The `base64` transfer encoding (RFC 2045 §6.8, RFC 4648 §4).
//!
//! ```text
//!             symbol            symbol            symbol            symbol
//!   Group(0) ───────> Group(1) ───────> Group(2) ───────> Group(3) ───────> Group(0)
//!                                  byte 0  │ =      byte 1  │ =      byte 2
//!                                           v                 v
//!                                        Padding ── = ───> Ended ── symbol ──> Group(1)
//! ```
//!
//! White space does not change the state. A byte is decoded as soon as all its bits are known.

use kernels::base64::{LineForm, decode_groups, decode_lines, symbol};

use super::block::{Block, Stride};
use super::error::{TransferErrorKind, WireError};
use super::lines::LineMeter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The number of symbols of the group that were read.
    Group(u8),
    /// `xx=` was read: one more `=` must follow.
    Padding,
    /// A group ended with padding.
    Ended,
}

#[derive(Clone, Debug)]
pub(super) struct Base64 {
    state: State,
    /// The bits of the symbols of the group. The last symbol has the lowest bits.
    bits: u32,
    /// The offset of the last symbol.
    last: u64,
    lenient: bool,
    lines: LineMeter,
    /// The length and the line break of the last line that ended after a whole group. The next lines are decoded with
    /// it, because in most bodies all lines have the same form.
    form: Option<LineForm>,
}

impl Base64 {
    pub(super) fn new() -> Self {
        Self {
            state: State::Group(0),
            bits: 0,
            last: 0,
            lenient: false,
            lines: LineMeter::any_break(),
            form: None,
        }
    }

    pub(super) const fn set_lenient(&mut self, lenient: bool) {
        self.lenient = lenient;
    }

    pub(super) fn decode(&mut self, rest: &[u8], at: u64, block: &mut Block) -> (usize, Option<WireError>) {
        let mut taken = 0;
        while taken < rest.len() && !block.is_full(3) {
            let offset = at + taken as u64;
            if self.state == State::Group(0) {
                let window = &rest[taken..];
                if let Some(form) = self.form
                    && self.lines.is_at_start()
                {
                    let lines = decode_lines(window, block.space(), form);
                    if lines > 0 {
                        block.advance(lines * form.decoded(), offset, Stride::Lines(form));
                        taken += lines * form.encoded();
                        if block.room() < form.decoded() {
                            // Stops here, so that the next block starts with a whole line.
                            break;
                        }
                        continue;
                    }
                }
                let done = decode_groups(&window[..window.len().min(self.lines.room())], block.space());
                if done > 0 {
                    block.advance(done * 3, offset, Stride::Groups);
                    self.lines.take(done * 4);
                    taken += done * 4;
                    let line_break = match rest[taken..] {
                        [b'\r', b'\n', ..] => 2,
                        [b'\n', ..] => 1,
                        _ => 0,
                    };
                    if line_break > 0 {
                        self.form = LineForm::new(self.lines.len(), line_break == 2);
                        self.lines.line_break();
                        taken += line_break;
                    }
                    continue;
                }
            }
            let byte = rest[taken];
            if let Some(kind) = self.lines.check(byte) {
                return (taken, Some(WireError { offset, kind, len: 1 }));
            }
            taken += 1;
            self.lines.take(1);
            if let Some(kind) = self.step(byte, offset, block) {
                return (taken, Some(WireError { offset, kind, len: 1 }));
            }
        }
        (taken, None)
    }

    /// Reads one byte.
    fn step(&mut self, byte: u8, offset: u64, block: &mut Block) -> Option<TransferErrorKind> {
        match byte {
            b'\n' => {
                self.lines.line_break();
                None
            }
            b'\r' | b' ' | b'\t' => None,
            b'=' => self.padding(),
            _ => {
                if let Some(value) = symbol(byte) {
                    self.symbol(value, offset, block)
                } else if byte.is_ascii() {
                    Some(TransferErrorKind::InvalidSymbol)
                } else {
                    Some(TransferErrorKind::EightBit)
                }
            }
        }
    }

    fn symbol(&mut self, value: u32, offset: u64, block: &mut Block) -> Option<TransferErrorKind> {
        let (seen, error) = match self.state {
            State::Group(seen) => (seen, None),
            State::Padding => (0, self.unless_lenient(TransferErrorKind::MissingPadding)),
            State::Ended => (0, self.unless_lenient(TransferErrorKind::DataAfterPadding)),
        };
        let last = core::mem::replace(&mut self.last, offset);
        self.bits = self.bits << 6 | value;
        if seen > 0 {
            // After the second, third and fourth symbol, 4, 2 and 0 bits remain for the next byte.
            block.push(&[(self.bits >> (6 - 2 * seen)) as u8], last);
        }
        self.state = State::Group((seen + 1) % 4);
        error
    }

    fn padding(&mut self) -> Option<TransferErrorKind> {
        let (next, spare) = match self.state {
            State::Group(2) => (State::Padding, 0xF),
            State::Group(3) => (State::Ended, 0x3),
            State::Padding => (State::Ended, 0),
            State::Ended => return Some(TransferErrorKind::UnexpectedPadding),
            State::Group(_) => {
                self.state = State::Ended;
                return Some(TransferErrorKind::UnexpectedPadding);
            }
        };
        self.state = next;
        self.spare(spare)
    }

    /// Checks the unused bits of the last symbol.
    fn spare(&self, mask: u32) -> Option<TransferErrorKind> {
        if self.bits & mask == 0 { None } else { self.unless_lenient(TransferErrorKind::NonZeroBits) }
    }

    fn unless_lenient(&self, kind: TransferErrorKind) -> Option<TransferErrorKind> {
        (!self.lenient).then_some(kind)
    }

    /// Ends the body at the offset `end`.
    pub(super) fn finish(&mut self, end: u64) -> Option<WireError> {
        self.lines.line_break();
        match core::mem::replace(&mut self.state, State::Group(0)) {
            State::Group(0) | State::Ended => None,
            State::Group(1) => {
                Some(WireError { offset: self.last, kind: TransferErrorKind::Truncated, len: 1 })
            }
            State::Group(_) | State::Padding => self
                .unless_lenient(TransferErrorKind::MissingPadding)
                .map(|kind| WireError { offset: end, kind, len: 0 }),
        }
    }
}
