//! `base64` (RFC 2045 §6.8, RFC 4648 §4).
//!
//! ```text
//!             symbol            symbol            symbol            symbol
//!   Group(0) ───────> Group(1) ───────> Group(2) ───────> Group(3) ───────> Group(0)
//!                                  byte 0  │ =      byte 1  │ =      byte 2
//!                                           v                 v
//!                                        Padding ── = ───> Ended ── symbol ──> Group(1)
//! ```
//!
//! White space changes no state. A byte is given as soon as its eight bits are there.

use super::block::Block;
use super::lines::LineMeter;
use super::{Fault, TransferErrorKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many symbols of a group were seen.
    Group(u8),
    /// `xx=` was seen: one more is due.
    Padding,
    /// A group was filled up.
    Ended,
}

#[derive(Clone, Debug)]
pub(super) struct Base64 {
    state: State,
    /// The symbols of the group, the last one lowest.
    bits: u32,
    /// Where the last symbol stood.
    last: u64,
    lenient: bool,
    lines: LineMeter,
}

/// A bit that no four symbols set.
const BAD: u32 = 1 << 31;

/// What a symbol is worth in each place of its group; [`BAD`] for what is no symbol.
static PLACES: [[u32; 256]; 4] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut places = [[BAD; 256]; 4];
    let mut value = 0;
    while value < 64 {
        let mut place = 0;
        while place < 4 {
            places[place][alphabet[value] as usize] = (value as u32) << (18 - 6 * place);
            place += 1;
        }
        value += 1;
    }
    places
};

/// The 24 bits of a group, or [`BAD`] among them.
#[inline]
fn group(symbols: &[u8]) -> u32 {
    PLACES[0][usize::from(symbols[0])]
        | PLACES[1][usize::from(symbols[1])]
        | PLACES[2][usize::from(symbols[2])]
        | PLACES[3][usize::from(symbols[3])]
}

/// Decodes whole groups until one is none, or `out` is full: how many.
fn groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let mut done = 0;
    for (symbols, out) in symbols.chunks_exact(8).zip(out.chunks_exact_mut(6)) {
        let (high, low) = (group(&symbols[..4]), group(&symbols[4..]));
        if (high | low) & BAD != 0 {
            break;
        }
        let bits = u64::from(high) << 24 | u64::from(low);
        out.copy_from_slice(&bits.to_be_bytes()[2..]);
        done += 2;
    }
    for (symbols, out) in symbols[done * 4..].chunks_exact(4).zip(out[done * 3..].chunks_exact_mut(3)) {
        let bits = group(symbols);
        if bits & BAD != 0 {
            break;
        }
        out.copy_from_slice(&bits.to_be_bytes()[1..]);
        done += 1;
    }
    done
}

impl Base64 {
    pub(super) fn new() -> Self {
        Self { state: State::Group(0), bits: 0, last: 0, lenient: false, lines: LineMeter::any_break() }
    }

    pub(super) const fn be_lenient(&mut self) {
        self.lenient = true;
    }

    pub(super) fn decode(&mut self, rest: &[u8], at: u64, block: &mut Block) -> (usize, Option<Fault>) {
        let mut taken = 0;
        while taken < rest.len() && !block.is_full(3) {
            let offset = at + taken as u64;
            if self.state == State::Group(0) {
                let window = &rest[taken..];
                let done = groups(&window[..window.len().min(self.lines.room())], block.space());
                if done > 0 {
                    block.advance(done * 3, offset);
                    self.lines.take(done * 4);
                    taken += done * 4;
                    continue;
                }
            }
            let byte = rest[taken];
            if let Some(kind) = self.lines.check(byte) {
                return (taken, Some(Fault { offset, kind, len: 1 }));
            }
            taken += 1;
            self.lines.take(1);
            if let Some(kind) = self.step(byte, offset, block) {
                return (taken, Some(Fault { offset, kind, len: 1 }));
            }
        }
        (taken, None)
    }

    /// One byte.
    fn step(&mut self, byte: u8, offset: u64, block: &mut Block) -> Option<TransferErrorKind> {
        match byte {
            b'\n' => {
                self.lines.line_break();
                None
            }
            b'\r' | b' ' | b'\t' => None,
            b'=' => self.padding(),
            _ => {
                let value = PLACES[3][usize::from(byte)];
                if value != BAD {
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
        let (seen, fault) = match self.state {
            State::Group(seen) => (seen, None),
            State::Padding => (0, self.unless_lenient(TransferErrorKind::MissingPadding)),
            State::Ended => (0, self.unless_lenient(TransferErrorKind::DataAfterPadding)),
        };
        let last = core::mem::replace(&mut self.last, offset);
        self.bits = self.bits << 6 | value;
        if seen > 0 {
            // After the second, third and fourth symbol 4, 2 and 0 bits wait for the next byte.
            block.push(&[(self.bits >> (6 - 2 * seen)) as u8], last);
        }
        self.state = State::Group((seen + 1) % 4);
        fault
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

    /// Looks at the bits of the last symbol that stand for nothing.
    fn spare(&self, mask: u32) -> Option<TransferErrorKind> {
        if self.bits & mask == 0 { None } else { self.unless_lenient(TransferErrorKind::NonZeroBits) }
    }

    fn unless_lenient(&self, kind: TransferErrorKind) -> Option<TransferErrorKind> {
        (!self.lenient).then_some(kind)
    }

    /// Ends the body at `end`.
    pub(super) fn finish(&mut self, end: u64) -> Option<Fault> {
        self.lines.line_break();
        match core::mem::replace(&mut self.state, State::Group(0)) {
            State::Group(0) | State::Ended => None,
            State::Group(1) => Some(Fault { offset: self.last, kind: TransferErrorKind::Truncated, len: 1 }),
            State::Group(_) | State::Padding => self
                .unless_lenient(TransferErrorKind::MissingPadding)
                .map(|kind| Fault { offset: end, kind, len: 0 }),
        }
    }
}
