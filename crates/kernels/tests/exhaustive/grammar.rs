//! The grammar of RFC 3629 as a state machine, and its product with the scan state and the tables.

use utf8_codec_kernels::grammar::UTF_8;
use utf8_codec_kernels::{ScanState, text, validate};

use crate::abnf::{self, Row};

/// A grammar as a table of states. State 0 is between characters.
pub(crate) struct Grammar {
    next: Vec<[Option<u8>; 256]>,
}

/// An error: the offset and the length of a maximal subpart (Unicode D93b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) offset: usize,
    pub(crate) len: usize,
    /// Whether the stream ended inside the sequence.
    pub(crate) is_truncated: bool,
}

impl Grammar {
    /// Compiles the rules of the standard.
    pub(crate) fn utf_8() -> Self {
        let rows = abnf::rows(abnf::UTF_8, "UTF8-char");
        // A state is the set of positions in rows that the bytes so far may have reached.
        let mut states: Vec<Vec<(usize, usize)>> = vec![(0..rows.len()).map(|row| (row, 0)).collect()];
        let mut next: Vec<[Option<u8>; 256]> = Vec::new();
        while next.len() < states.len() {
            let state = states[next.len()].clone();
            next.push(core::array::from_fn(|byte| {
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
                    assert!(after.iter().all(is_whole), "a character is the start of another one");
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
    pub(crate) fn step(&self, state: u8, byte: u8) -> Option<u8> {
        self.next[usize::from(state)][usize::from(byte)]
    }

    /// Finds every error of a whole stream. Decoding continues after each maximal subpart.
    pub(crate) fn errors(&self, bytes: &[u8], found: &mut Vec<Found>) {
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
                    found.push(Found { offset: start, len: end - start, is_truncated: false });
                    (state, start, at) = (0, end, end);
                }
            }
        }
        if start < at {
            found.push(Found { offset: start, len: at - start, is_truncated: true });
        }
    }
}

/// After every start of a character, each byte is accepted or rejected as by the rules.
#[test]
#[ignore = "seconds without optimization"]
fn every_byte_after_every_start_of_a_character_is_accepted_as_by_rfc_3629() {
    let grammar = Grammar::utf_8();
    let mut open = vec![(Vec::new(), 0, ScanState::START, 0)];
    let mut starts = 0;
    while let Some((start, state, scan, machine)) = open.pop() {
        starts += 1;
        assert_eq!(scan.pending(), start);
        for byte in 0..=0xFF {
            let bytes = [&start[..], &[byte]].concat();
            let expected = grammar.step(state, byte);
            let mut after = scan;
            assert_eq!(validate(&mut after, &[byte]).is_ok(), expected.is_some(), "{bytes:02X?}");
            assert_eq!(
                validate(&mut ScanState::START.clone(), &bytes).is_ok(),
                expected.is_some(),
                "{bytes:02X?}"
            );
            assert_eq!(text(&bytes).is_some(), expected == Some(0), "{bytes:02X?}");
            let next = UTF_8.next(machine, byte);
            assert_eq!(next.map(|next| next == 0), expected.map(|next| next == 0), "{bytes:02X?}");
            match (expected, next) {
                (Some(0), _) => assert_eq!(after.pending_len(), 0, "{bytes:02X?}"),
                (Some(expected), Some(next)) => open.push((bytes, expected, after, next)),
                _ => {}
            }
        }
    }
    // No byte; a lead byte; with a second byte, for 3 and for 4 bytes; with a third byte.
    assert_eq!(starts, 1 + 51 + (14 * 64 + 2 * 32) + (3 * 64 + 48 + 16) + (3 * 64 + 48 + 16) * 64);
}
