//! Scanning `a` and then `b` has the same result as scanning `ab`. Tests every string of classes of bytes up to a length,
//! split at every position.
//!
//! A class contains bytes that no rule of the grammar distinguishes; one of them represents all. A string is a
//! well-formed start of text and at most one more byte. This also covers longer strings with more errors, because a
//! stream is between characters after an error, as at the start.

use utf8_codec_kernels::{ScanState, validate};

use crate::grammar::{Found, Grammar};

/// One byte of each class of the grammar of UTF-8.
const CLASSES: [u8; 14] =
    [b'a', 0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF];

/// Calls `check` with every string of up to `len` bytes that starts with `string`, which has this state and is a start
/// of text, and with each of them followed by one more byte. Returns the number of strings.
fn every_string(
    grammar: &Grammar,
    len: usize,
    string: &mut Vec<u8>,
    state: u8,
    check: &mut impl FnMut(&[u8]),
) -> u64 {
    let mut count = 0;
    for byte in CLASSES {
        string.push(byte);
        check(string);
        count += 1;
        let next = grammar.step(state, byte).filter(|_| string.len() < len);
        if let Some(next) = next {
            count += every_string(grammar, len, string, next, check);
        }
        string.pop();
    }
    count
}

/// Returns the start of the first ill-formed sequence, or the unfinished sequence at the end.
fn scan(chunks: [&[u8]; 2]) -> Result<ScanState, usize> {
    let (mut state, mut before) = (ScanState::START, 0);
    for chunk in chunks {
        if let Err(index) = validate(&mut state, chunk) {
            let begun = state.after(&chunk[..index.get()]).pending_len();
            return Err(before + index.get() - usize::from(begun));
        }
        before += chunk.len();
    }
    Ok(state)
}

#[test]
#[ignore = "a minute in release mode"]
fn every_split_of_every_string_of_classes_up_to_12_bytes_has_the_result_of_the_grammar() {
    let (grammar, mut errors) = (Grammar::utf_8(), Vec::new());
    let count = every_string(&grammar, 12, &mut Vec::new(), 0, &mut |string| {
        grammar.errors(string, &mut errors);
        for cut in 0..string.len() {
            let (a, b) = string.split_at(cut);
            let is_right = match (scan([a, b]), errors.first()) {
                (Ok(state), None) => state.pending_len() == 0,
                (Ok(state), Some(&Found { offset, is_truncated: true, .. })) => {
                    state.pending() == &string[offset..]
                }
                (Err(start), Some(&Found { offset, is_truncated: false, .. })) => start == offset,
                _ => false,
            };
            assert!(is_right, "{a:02X?} {b:02X?}: {:?}, not {errors:?}", scan([a, b]));
        }
    });
    assert_eq!(count, 88_656_820);
}
