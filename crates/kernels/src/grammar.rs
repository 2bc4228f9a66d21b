//! Grammars as data: rows that are compiled to the table of a state machine.
//!
//! In every encoding that resembles UTF-8 a sequence has a lead byte, a second byte whose range depends on the lead,
//! and more continuation bytes `80..=BF`. A row is therefore `(lead range, second range, length)`, as in the ABNF of
//! RFC 3629 §4. Each encoding is a set of rows.

/// Why a grammar rejects a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A byte that starts no sequence.
    InvalidLead,
    /// A continuation byte at the start of a sequence.
    UnexpectedContinuation,
    /// A byte after a lead byte that is not a continuation byte.
    MissingContinuation,
    /// A sequence that is longer than necessary for its value.
    Overlong,
    /// A sequence that encodes a surrogate.
    Surrogate,
    /// A value above the greatest one of the encoding.
    AboveMax,
    /// All bytes are the start of a sequence, or there are none.
    Truncated,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::InvalidLead,
        Self::UnexpectedContinuation,
        Self::MissingContinuation,
        Self::Overlong,
        Self::Surrogate,
        Self::AboveMax,
        Self::Truncated,
    ];
}

/// A row of the grammar: sequences of `len` bytes with this lead and this second byte.
#[derive(Debug)]
pub struct Row {
    lead: (u8, u8),
    second: (u8, u8),
    len: u8,
}

/// The kind of error for bytes that no row allows.
///
/// Without such an entry the kind is [`Kind::InvalidLead`] for a byte at the start of a sequence, and
/// [`Kind::MissingContinuation`] for a byte after a lead byte.
#[derive(Debug)]
pub struct RejectedBytes {
    lead: (u8, u8),
    /// `None` if the lead itself is not allowed.
    second: Option<(u8, u8)>,
    kind: Kind,
}

/// Any continuation byte: `UTF8-tail` in the ABNF.
pub const TAIL: (u8, u8) = (0x80, 0xBF);

/// Whether a byte is a continuation byte.
pub const fn is_continuation(byte: u8) -> bool {
    TAIL.0 <= byte && byte <= TAIL.1
}

/// Returns the row of the sequences of `len` bytes with this lead and this second byte.
#[inline]
pub const fn row(lead: (u8, u8), second: (u8, u8), len: u8) -> Row {
    Row { lead, second, len }
}

/// Returns the entry that rejects these lead bytes with this kind.
#[inline]
pub const fn reject_lead(lead: (u8, u8), kind: Kind) -> RejectedBytes {
    RejectedBytes { lead, second: None, kind }
}

/// Returns the entry that rejects these second bytes after the lead byte with this kind.
#[inline]
pub const fn reject_second(lead: u8, second: (u8, u8), kind: Kind) -> RejectedBytes {
    RejectedBytes { lead: (lead, lead), second: Some(second), kind }
}

/// RFC 3629 §4, row by row, and the error kinds of all other bytes (§3).
#[rustfmt::skip]
pub static UTF_8: Machine = Machine::compile(
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
        reject_lead(TAIL,                 Kind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         Kind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), Kind::Overlong),
        reject_second(0xED, (0xA0, 0xBF), Kind::Surrogate),
        reject_second(0xF0, (0x80, 0x8F), Kind::Overlong),
        reject_second(0xF4, (0x90, 0xBF), Kind::AboveMax),
        reject_lead((0xF5, 0xFD),         Kind::AboveMax),
    ],
);

/// A state of the machine: the part of a sequence that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(u8);

impl State {
    /// Between sequences.
    pub(crate) const BOUNDARY: Self = Self(0);
}

/// The result of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The byte belongs to the sequence, which is complete if the state is [`State::BOUNDARY`].
    To(State),
    /// The sequence before the byte is ill-formed. In the state [`State::BOUNDARY`] the byte itself is ill-formed.
    Rejected(Kind),
}

impl Step {
    #[inline]
    fn from_result(result: u8) -> Self {
        if result < REJECTED {
            Self::To(State(result))
        } else {
            Self::Rejected(KINDS[usize::from(result) % KINDS.len()])
        }
    }
}

/// The longest sequence of any encoding: 6 bytes in RFC 2279.
const MAX_LEN: u8 = 6;
/// A state in `1..MAX_LEN` is the number of continuation bytes that must follow, each in `80..=BF`. In the states from
/// `FIRST_NARROW` on, a second byte in a narrower range must follow.
const FIRST_NARROW: u8 = MAX_LEN;
const MAX_STATES: usize = 16;
const REJECTED: u8 = 0x80;
/// The results for the bytes that are in no row and in no [`RejectedBytes`].
const NO_LEAD: u8 = REJECTED | Kind::InvalidLead as u8;
const NO_CONTINUATION: u8 = REJECTED | Kind::MissingContinuation as u8;

/// The classes of the bytes after a lead byte. Every range of a second byte is a number of whole classes. In class 0 are the
/// bytes that are not continuation bytes.
const CLASSES: usize = 8;
/// The first byte of each class from 1 on, and the first byte after the last of them.
const CLASS_STARTS: [u8; CLASSES] = [TAIL.0, 0x81, 0x84, 0x88, 0x90, 0xA0, 0xB0, TAIL.1 + 1];
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i + 1 < CLASS_STARTS.len() {
        let mut byte = CLASS_STARTS[i];
        while byte < CLASS_STARTS[i + 1] {
            class[byte as usize] = i as u8 + 1;
            byte += 1;
        }
        i += 1;
    }
    class
};

/// A grammar as tables: the next state or the error kind for every lead byte, and for every other state and class.
#[derive(Debug)]
pub struct Machine {
    lead: [u8; 256],
    next: [[u8; CLASSES]; MAX_STATES],
}

impl Machine {
    /// Compiles the rows. In a constant, rows that contradict each other are a compile error.
    #[inline]
    pub const fn compile(rows: &[Row], rejections: &[RejectedBytes]) -> Self {
        let mut lead_results = [NO_LEAD; 256];
        let mut next = [[NO_CONTINUATION; CLASSES]; MAX_STATES];
        let mut left = 1;
        while left < MAX_LEN {
            fill_classes(&mut next[left as usize], TAIL, left - 1);
            left += 1;
        }

        let mut states = FIRST_NARROW;
        let mut i = 0;
        while i < rows.len() {
            let Row { lead, second, len } = rows[i];
            assert!(1 <= len && len <= MAX_LEN, "no sequence has this length");
            let after_lead = if len == 1 {
                State::BOUNDARY.0
            } else if second.0 == TAIL.0 && second.1 == TAIL.1 {
                len - 1
            } else {
                let narrow = states;
                states += 1;
                fill_classes(&mut next[narrow as usize], second, len - 2);
                narrow
            };
            fill(&mut lead_results, lead.0, lead.1, after_lead);
            i += 1;
        }

        let mut i = 0;
        while i < rejections.len() {
            let RejectedBytes { lead, second, kind } = &rejections[i];
            let rejected = REJECTED | *kind as u8;
            match second {
                None => fill(&mut lead_results, lead.0, lead.1, rejected),
                Some(second) => {
                    let after_lead = lead_results[lead.0 as usize];
                    fill_classes(&mut next[after_lead as usize], *second, rejected);
                }
            }
            i += 1;
        }
        Self { lead: lead_results, next }
    }

    #[inline]
    const fn result_at_lead(&self, byte: u8) -> u8 {
        self.lead[byte as usize]
    }

    /// The state is not [`State::BOUNDARY`].
    #[inline]
    const fn result_after_lead(&self, state: State, byte: u8) -> u8 {
        // Every state is below `MAX_STATES`, and every class below `CLASSES`. The modulo removes the bounds check.
        self.next[state.0 as usize % MAX_STATES][CLASS[byte as usize] as usize % CLASSES]
    }

    /// Returns the result of a byte in a state.
    #[cfg(test)]
    pub(crate) fn step(&self, state: State, byte: u8) -> Step {
        Step::from_result(match state {
            State::BOUNDARY => self.result_at_lead(byte),
            _ => self.result_after_lead(state, byte),
        })
    }

    /// Returns the number of the state after a byte, or `None` if the byte is rejected. Other tables are compiled with
    /// it. State 0 is the boundary, and all states are below `MAX_STATES`.
    pub const fn next(&self, state: u8, byte: u8) -> Option<u8> {
        let next = match state {
            0 => self.result_at_lead(byte),
            _ => self.result_after_lead(State(state), byte),
        };
        if next < REJECTED { Some(next) } else { None }
    }

    /// Returns the length of the sequence at the start of `bytes`, and the error kind if it is ill-formed. An
    /// ill-formed sequence has the length of its maximal subpart (Unicode D93b). If all bytes are the start of a
    /// sequence, or if there are none, the kind is [`Kind::Truncated`].
    ///
    /// This is the only loop that classifies a sequence.
    #[inline]
    pub fn walk(&self, bytes: &[u8]) -> (usize, Option<Kind>) {
        let [lead, ref after_lead @ ..] = *bytes else { return (0, Some(Kind::Truncated)) };
        let mut state = match Step::from_result(self.result_at_lead(lead)) {
            Step::To(State::BOUNDARY) => return (1, None),
            Step::To(next) => next,
            // A byte that cannot be a lead is ill-formed by itself.
            Step::Rejected(kind) => return (1, Some(kind)),
        };
        for (seen, &byte) in (1..).zip(after_lead) {
            match Step::from_result(self.result_after_lead(state, byte)) {
                Step::To(State::BOUNDARY) => return (seen + 1, None),
                Step::To(next) => state = next,
                // Any other rejected byte is not part of the sequence.
                Step::Rejected(kind) => return (seen, Some(kind)),
            }
        }
        (bytes.len(), Some(Kind::Truncated))
    }

    /// Returns why a byte is ill-formed by itself at the start of a sequence.
    #[inline]
    pub fn rejected_lead(&self, byte: u8) -> Option<Kind> {
        match Step::from_result(self.result_at_lead(byte)) {
            Step::To(_) => None,
            Step::Rejected(kind) => Some(kind),
        }
    }

    /// Classifies the sequence at the start of `bytes`.
    #[inline]
    pub fn sequence(&self, bytes: &[u8]) -> Sequence {
        match self.walk(bytes) {
            (len, None) => Sequence::Whole { value: value(bytes.get(..len).unwrap_or_default()), len },
            (_, Some(Kind::Truncated)) => Sequence::Unfinished,
            (len, Some(kind)) => Sequence::IllFormed { kind, len },
        }
    }

    /// Returns the state after the start of a sequence.
    #[cfg(test)]
    pub(crate) fn state_after(&self, unfinished: &[u8]) -> State {
        unfinished.iter().fold(State::BOUNDARY, |state, &byte| match self.step(state, byte) {
            Step::To(next) => next,
            Step::Rejected(_) => panic!("{unfinished:02X?} is not the start of a sequence"),
        })
    }
}

/// The sequence at the start of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// A well-formed sequence of `len` bytes.
    Whole {
        /// The value that it encodes.
        value: u32,
        /// The number of its bytes.
        len: usize,
    },
    /// An ill-formed maximal subpart (Unicode D93b) of `len` bytes.
    IllFormed {
        /// Why it is ill-formed.
        kind: Kind,
        /// The number of its bytes.
        len: usize,
    },
    /// All bytes are the start of a sequence, or there are none.
    Unfinished,
}

/// Returns the value of a complete sequence: the free bits of its bytes (RFC 3629 §3; ISO/IEC 10646-1 Annex R, Table
/// 5).
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

/// The kinds by number. The length is a power of two, so an index modulo the length needs no bounds check, and the
/// modulo removes `REJECTED`.
const KINDS: [Kind; 8] = {
    let mut kinds = [Kind::InvalidLead; 8];
    let mut i = 0;
    while i < Kind::ALL.len() {
        kinds[i] = Kind::ALL[i];
        i += 1;
    }
    kinds
};

/// Assigns the value to the entries from `first` to `last`, to which nothing was assigned. Grammars are constants, so the
/// compiler rejects a grammar with a byte in two ranges.
#[inline]
const fn fill(table: &mut [u8], first: u8, last: u8, value: u8) {
    assert!(first <= last, "the range is empty");
    let mut i = first as usize;
    while i <= last as usize {
        assert!(matches!(table[i], NO_LEAD | NO_CONTINUATION), "a byte is in two ranges");
        table[i] = value;
        i += 1;
    }
}

/// [`fill`] for a range of continuation bytes.
#[inline]
const fn fill_classes(table: &mut [u8; CLASSES], (from, to): (u8, u8), value: u8) {
    let first = CLASS[from as usize];
    let last = CLASS[to as usize];
    assert!(
        CLASS_STARTS[first as usize - 1] == from && CLASS_STARTS[last as usize] == to + 1,
        "not whole classes"
    );
    fill(table, first, last, value);
}
