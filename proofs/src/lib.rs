//! Oracles: grammars that are parsed from the rule text of the standards.

pub mod abnf;
pub mod rules;

use abnf::Row;

/// A grammar as a table of states. State 0 is between characters.
pub struct Grammar {
    next: Vec<[Option<u8>; 256]>,
}

/// An error as a decoder reports it: the offset and the length of the maximal subpart (Unicode D93b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub offset: usize,
    pub len: usize,
    /// Whether the stream ended inside the sequence.
    pub truncated: bool,
}

impl Grammar {
    /// Compiles the rule `name` of the text, which describes one character.
    pub fn read(text: &str, name: &str) -> Self {
        let rows = abnf::rows(text, name);
        // A state is the set of positions in rows that the bytes so far may have reached.
        let mut states: Vec<Vec<(usize, usize)>> = vec![(0..rows.len()).map(|row| (row, 0)).collect()];
        let mut next: Vec<[Option<u8>; 256]> = Vec::new();
        while next.len() < states.len() {
            let state = states[next.len()].clone();
            next.push(std::array::from_fn(|byte| {
                let after: Vec<_> = state
                    .iter()
                    .filter(|&&(row, at)| rows[row][at].contains(&(byte as u8)))
                    .map(|&(row, at)| (row, at + 1))
                    .collect();
                if after.is_empty() {
                    return None;
                }
                let is_whole = |&(row, at): &(usize, usize)| at == Row::len(&rows[row]);
                if after.iter().any(is_whole) {
                    // No character may be a prefix of another one, because the end of a character would then be
                    // ambiguous.
                    assert!(after.iter().all(is_whole), "{name} is ambiguous at byte {byte:02X}");
                    return Some(0);
                }
                let index = states.iter().position(|other| *other == after).unwrap_or_else(|| {
                    states.push(after);
                    states.len() - 1
                });
                Some(u8::try_from(index).expect("few states"))
            }));
        }
        Self { next }
    }

    /// Returns the state after one more byte, or `None` if no text continues with it.
    pub fn step(&self, state: u8, byte: u8) -> Option<u8> {
        self.next[usize::from(state)][usize::from(byte)]
    }

    pub fn states(&self) -> usize {
        self.next.len()
    }

    /// Finds every error of a whole stream. Decoding continues after each maximal subpart.
    pub fn errors(&self, bytes: &[u8], found: &mut Vec<Found>) {
        found.clear();
        let (mut state, mut start, mut at) = (0, 0, 0);
        while at < bytes.len() {
            match self.step(state, bytes[at]) {
                Some(next) => {
                    at += 1;
                    state = next;
                    if state == 0 {
                        start = at;
                    }
                }
                None => {
                    let end = at.max(start + 1);
                    found.push(Found { offset: start, len: end - start, truncated: false });
                    (state, start, at) = (0, end, end);
                }
            }
        }
        if start < at {
            found.push(Found { offset: start, len: at - start, truncated: true });
        }
    }
}
