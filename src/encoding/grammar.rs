//! Grammars as data: rows that are compiled to the table of a state machine.
//!
//! In every encoding that resembles UTF-8 a sequence is a lead byte, a second byte whose range depends on the lead, and more
//! bytes that are any continuation `80..=BF`. So a row is `(lead range, second range, length)`, as in the ABNF of RFC 3629
//! §4, and another encoding is another set of rows.

use crate::error::ErrorKind;

/// A row of the grammar: sequences of `len` bytes with this lead and this second byte.
pub(crate) struct Row {
    lead: (u8, u8),
    second: (u8, u8),
    len: u8,
}

/// The kind of error for bytes that no row allows.
///
/// For all others it is [`ErrorKind::InvalidLead`] in place of a lead, and [`ErrorKind::MissingContinuation`] after one.
pub(crate) struct Refusal {
    lead: (u8, u8),
    /// `None` if the lead itself is not allowed.
    second: Option<(u8, u8)>,
    kind: ErrorKind,
}

/// Any continuation byte: `UTF8-tail`.
pub(super) const TAIL: (u8, u8) = (0x80, 0xBF);

/// Whether the byte is a continuation byte.
pub(crate) const fn is_continuation(byte: u8) -> bool {
    TAIL.0 <= byte && byte <= TAIL.1
}

pub(super) const fn row(lead: (u8, u8), second: (u8, u8), len: u8) -> Row {
    Row { lead, second, len }
}

pub(super) const fn refuse_lead(lead: (u8, u8), kind: ErrorKind) -> Refusal {
    Refusal { lead, second: None, kind }
}

pub(super) const fn refuse_second(lead: u8, second: (u8, u8), kind: ErrorKind) -> Refusal {
    Refusal { lead: (lead, lead), second: Some(second), kind }
}

/// RFC 3629 §4, row by row, and the kinds of error for the rest (§3).
#[rustfmt::skip]
pub(crate) static UTF_8: Machine = Machine::compile(
    &[
        row((0x00, 0x7F), TAIL,         1), // UTF8-1
        row((0xC2, 0xDF), TAIL,         2), // UTF8-2
        row((0xE0, 0xE0), (0xA0, 0xBF), 3), // UTF8-3
        row((0xE1, 0xEC), TAIL,         3),
        row((0xED, 0xED), (0x80, 0x9F), 3),
        row((0xEE, 0xEF), TAIL,         3),
        row((0xF0, 0xF0), (0x90, 0xBF), 4), // UTF8-4
        row((0xF1, 0xF3), TAIL,         4),
        row((0xF4, 0xF4), (0x80, 0x8F), 4),
    ],
    &[
        refuse_lead(TAIL,                 ErrorKind::UnexpectedContinuation),
        refuse_lead((0xC0, 0xC1),         ErrorKind::Overlong),
        refuse_second(0xE0, (0x80, 0x9F), ErrorKind::Overlong),
        refuse_second(0xED, (0xA0, 0xBF), ErrorKind::Surrogate),
        refuse_second(0xF0, (0x80, 0x8F), ErrorKind::Overlong),
        refuse_second(0xF4, (0x90, 0xBF), ErrorKind::AboveMax),
        refuse_lead((0xF5, 0xFD),         ErrorKind::AboveMax),
    ],
);

/// A state of the machine: how much of a sequence was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(u8);

impl State {
    /// Between sequences.
    pub(crate) const BOUNDARY: Self = Self(0);
}

/// What a byte leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The byte belongs to the sequence, which is whole if the state is [`State::BOUNDARY`].
    To(State),
    /// The sequence before the byte is ill-formed. Between sequences it is the byte itself.
    Refused(ErrorKind),
}

/// The longest sequence of any encoding: 6 bytes in RFC 2279.
const MAX_LEN: u8 = 6;
/// In the states `1..MAX_LEN` the number of the state is the number of continuations that are due, of any value. In the states after them a second byte in a
/// narrower range is due.
const FIRST_NARROW: u8 = MAX_LEN;
const MAX_STATES: usize = 16;
const REFUSED: u8 = 0x80;

/// A grammar as a table: for every state and byte, the next state or the kind of error.
#[derive(Debug)]
pub(crate) struct Machine {
    next: [[u8; 256]; MAX_STATES],
}

impl Machine {
    pub(super) const fn compile(rows: &[Row], refusals: &[Refusal]) -> Self {
        let mut next = [[REFUSED | ErrorKind::MissingContinuation as u8; 256]; MAX_STATES];
        next[0] = [REFUSED | ErrorKind::InvalidLead as u8; 256];

        let mut left = 1;
        while left < MAX_LEN {
            fill(&mut next[left as usize], TAIL, left - 1);
            left += 1;
        }

        let mut states = FIRST_NARROW;
        let mut i = 0;
        while i < rows.len() {
            let Row { lead, second, len } = rows[i];
            let after_lead = if len == 1 {
                State::BOUNDARY.0
            } else if second.0 == TAIL.0 && second.1 == TAIL.1 {
                len - 1
            } else {
                let narrow = states;
                states += 1;
                fill(&mut next[narrow as usize], second, len - 2);
                narrow
            };
            fill(&mut next[0], lead, after_lead);
            i += 1;
        }

        let mut i = 0;
        while i < refusals.len() {
            let Refusal { lead, second, kind } = &refusals[i];
            let refused = REFUSED | *kind as u8;
            match second {
                None => fill(&mut next[0], *lead, refused),
                Some(second) => {
                    let after_lead = next[0][lead.0 as usize];
                    fill(&mut next[after_lead as usize], *second, refused);
                }
            }
            i += 1;
        }
        Self { next }
    }

    /// The step for one byte.
    #[inline]
    pub(crate) fn step(&self, state: State, byte: u8) -> Step {
        // Every state is below MAX_STATES. With the modulo the compiler needs no bounds check.
        let next = self.next[usize::from(state.0) % MAX_STATES][usize::from(byte)];
        if next < REFUSED {
            Step::To(State(next))
        } else {
            Step::Refused(KINDS[usize::from(next & !REFUSED)])
        }
    }

    /// [`step`](Self::step) for numbers of states, for another table that is compiled from this one. States are numbered
    /// from 0, the boundary, to below `MAX_STATES`.
    pub(crate) const fn next(&self, state: u8, byte: u8) -> Option<u8> {
        let next = self.next[state as usize][byte as usize];
        if next < REFUSED { Some(next) } else { None }
    }

    /// The length of the sequence that `bytes` start with, and what is wrong with it, if anything is. If it is ill-formed the
    /// length is that of the maximal subpart (Unicode D93b). If all bytes, which may be none, are the start of a sequence,
    /// that is [`ErrorKind::Truncated`].
    ///
    /// This is the only loop that finds out what a sequence is.
    #[inline]
    pub(crate) fn walk(&self, bytes: &[u8]) -> (usize, Option<ErrorKind>) {
        let mut state = State::BOUNDARY;
        for (seen, &byte) in bytes.iter().enumerate() {
            match self.step(state, byte) {
                Step::To(State::BOUNDARY) => return (seen + 1, None),
                Step::To(next) => state = next,
                // A byte that is refused as a lead is the sequence; any other is not part of it.
                Step::Refused(kind) => return (seen.max(1), Some(kind)),
            }
        }
        (bytes.len(), Some(ErrorKind::Truncated))
    }

    /// What `bytes` start with.
    #[inline]
    pub(crate) fn sequence(&self, bytes: &[u8]) -> Sequence {
        match self.walk(bytes) {
            (len, None) => Sequence::Whole { value: value(&bytes[..len]), len },
            (_, Some(ErrorKind::Truncated)) => Sequence::Unfinished,
            (len, Some(kind)) => Sequence::IllFormed { kind, len },
        }
    }

    /// The state after the start of a sequence.
    #[cfg(test)]
    pub(crate) fn state_after(&self, unfinished: &[u8]) -> State {
        unfinished.iter().fold(State::BOUNDARY, |state, &byte| match self.step(state, byte) {
            Step::To(next) => next,
            Step::Refused(_) => panic!("{unfinished:02X?} is not the start of a sequence"),
        })
    }
}

/// What bytes start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// A well-formed sequence of `len` bytes.
    Whole { value: u32, len: usize },
    /// An ill-formed maximal subpart (Unicode D93b) of `len` bytes.
    IllFormed { kind: ErrorKind, len: usize },
    /// All bytes, which may be none, are the start of a sequence.
    Unfinished,
}

/// The value of a whole sequence: the free bits of its bytes (RFC 3629 §3; ISO/IEC 10646-1 Annex R, Table 5).
#[inline]
fn value(sequence: &[u8]) -> u32 {
    match *sequence {
        [byte] => u32::from(byte),
        [lead, ref tail @ ..] => {
            let free = 0x7F_u8 >> sequence.len();
            tail.iter().fold(u32::from(lead & free), |value, &byte| value << 6 | u32::from(byte & 0x3F))
        }
        [] => 0,
    }
}

const KINDS: [ErrorKind; ErrorKind::ALL.len()] = ErrorKind::ALL;

const fn fill(table: &mut [u8; 256], range: (u8, u8), value: u8) {
    let mut byte = range.0 as usize;
    while byte <= range.1 as usize {
        table[byte] = value;
        byte += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_in_order() {
        for (i, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
        }
    }

    #[test]
    fn every_byte_after_every_lead_leads_to_what_the_standard_says() {
        for lead in 0..=0xFF_u8 {
            let first = UTF_8.step(State::BOUNDARY, lead);
            let Step::To(state) = first else {
                let kind = match lead {
                    0x80..=0xBF => ErrorKind::UnexpectedContinuation,
                    0xC0 | 0xC1 => ErrorKind::Overlong,
                    0xF5..=0xFD => ErrorKind::AboveMax,
                    _ => ErrorKind::InvalidLead,
                };
                assert_eq!(first, Step::Refused(kind), "{lead:02X}");
                continue;
            };
            assert_eq!(state == State::BOUNDARY, lead < 0x80);
            if lead < 0x80 {
                continue;
            }
            for second in 0..=0xFF_u8 {
                let kind = match (lead, second) {
                    (_, 0x00..=0x7F | 0xC0..) => Some(ErrorKind::MissingContinuation),
                    (0xE0, ..=0x9F) | (0xF0, ..=0x8F) => Some(ErrorKind::Overlong),
                    (0xED, 0xA0..) => Some(ErrorKind::Surrogate),
                    (0xF4, 0x90..) => Some(ErrorKind::AboveMax),
                    _ => None,
                };
                match UTF_8.step(state, second) {
                    Step::Refused(refused) => assert_eq!(Some(refused), kind, "{lead:02X} {second:02X}"),
                    Step::To(_) => assert_eq!(kind, None, "{lead:02X} {second:02X}"),
                }
            }
        }
    }
}
