//! Bulk scanning: how far is this good, and what comes after it.
//!
//! This is all that the rest of the crate sees of the kernels. Nobody above this room names a continuation octet.

use crate::error::ErrorKind;
use crate::form::{State, Step, UTF_8};

/// The unfinished sequence at the end of the octets so far: none to three octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Carry {
    octets: [u8; 3],
    len: u8,
}

impl Carry {
    pub(crate) const NONE: Self = Self { octets: [0; 3], len: 0 };

    pub(crate) const fn len(self) -> u8 {
        self.len
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    /// `octets` are at most three.
    fn of(octets: &[u8]) -> Self {
        let mut carry = Self::NONE;
        for (place, &octet) in carry.octets.iter_mut().zip(octets) {
            *place = octet;
            carry.len += 1;
        }
        carry
    }
}

/// An ill-formed maximal subpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    /// Its octets; they may have begun in the carry.
    pub(crate) octets: Carry,
}

/// What follows the good text of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing but an unfinished sequence, which is often empty: the chunk was taken whole.
    Unfinished(Carry),
    /// An ill-formed sequence, behind which the scan stopped.
    IllFormed(Fault),
}

/// What a scan found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Octets of the chunk that were looked at and need not be again: up to the end of the chunk, or of the
    /// ill-formed sequence.
    pub(crate) taken: usize,
    pub(crate) end: End,
}

/// Scans a chunk that follows `carry`, up to its end or to the end of the first ill-formed sequence.
///
/// Fail-fast: a chunk whose last octet makes the text ill-formed is refused now, not when the next chunk comes.
pub(crate) fn scan(carry: Carry, chunk: &[u8]) -> Scan {
    let seam = if carry.is_empty() {
        0
    } else {
        match finish_sequence(carry, chunk) {
            Seam::Whole { taken, .. } => taken,
            Seam::Open(scan) => return scan,
        }
    };
    let (text, end) = prefix(&chunk[seam..]);
    let behind = match end {
        End::Unfinished(carry) | End::IllFormed(Fault { octets: carry, .. }) => carry.len(),
    };
    Scan { taken: seam + text.len() + usize::from(behind), end }
}

/// How the sequence in a carry went on.
pub(crate) enum Seam {
    /// It is whole after `taken` octets of the chunk.
    Whole { taken: usize, character: char },
    /// It is still unfinished, or ill-formed.
    Open(Scan),
}

/// Takes from `chunk` only what belongs to the sequence in a `carry` that is not empty.
pub(crate) fn finish_sequence(carry: Carry, chunk: &[u8]) -> Seam {
    let mut sequence = [0; 4];
    let mut len = usize::from(carry.len());
    sequence[..len].copy_from_slice(carry.as_slice());
    let mut state = UTF_8.state_after(carry.as_slice());
    let mut taken = 0;
    for &octet in chunk {
        match UTF_8.step(state, octet) {
            Step::To(next) => {
                sequence[len] = octet;
                len += 1;
                taken += 1;
                if next == State::BOUNDARY {
                    return Seam::Whole { taken, character: decode(&sequence[..len]) };
                }
                state = next;
            }
            Step::Refused(kind) => {
                let fault = Fault { kind, octets: Carry::of(&sequence[..len]) };
                return Seam::Open(Scan { taken, end: End::IllFormed(fault) });
            }
        }
    }
    Seam::Open(Scan { taken, end: End::Unfinished(Carry::of(&sequence[..len])) })
}

/// The longest well-formed prefix that ends between characters, and what follows it.
pub(crate) fn prefix(chunk: &[u8]) -> (&str, End) {
    match core::str::from_utf8(chunk) {
        Ok(text) => (text, End::Unfinished(Carry::NONE)),
        Err(error) => {
            let (good, rest) = chunk.split_at(error.valid_up_to());
            // SAFETY: std found the first `valid_up_to` octets well-formed.
            let text = unsafe { core::str::from_utf8_unchecked(good) };
            (text, sequence_end(rest))
        }
    }
}

/// What `rest`, which starts with no whole character, starts with.
fn sequence_end(rest: &[u8]) -> End {
    let mut state = State::BOUNDARY;
    for (seen, &octet) in rest.iter().enumerate() {
        match UTF_8.step(state, octet) {
            Step::To(next) => state = next,
            Step::Refused(kind) => {
                return End::IllFormed(Fault { kind, octets: Carry::of(&rest[..seen.max(1)]) });
            }
        }
    }
    End::Unfinished(Carry::of(rest))
}

/// The character that a whole sequence stands for (RFC 3629 §3).
fn decode(sequence: &[u8]) -> char {
    let lead_bits = match sequence.len() {
        1 => 0x7F,
        2 => 0x1F,
        3 => 0x0F,
        _ => 0x07,
    };
    let value = sequence[1..]
        .iter()
        .fold(u32::from(sequence[0] & lead_bits), |value, &octet| value << 6 | u32::from(octet & 0x3F));
    // SAFETY: the machine found the sequence whole; no sequence of its grammar stands for a surrogate or for a value
    // above 10FFFF.
    unsafe { char::from_u32_unchecked(value) }
}
