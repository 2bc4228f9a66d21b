//! Validation by the standard library, which is compiled with optimizations even if this crate is not. Other kernels
//! are slow at `opt-level = 0`, because nothing is inlined, not even an intrinsic. The functions here are `#[inline]`,
//! so that they are only compiled in such builds.

use core::str;

use crate::formula;
use crate::functions::{Functions, Index, Validate};
use crate::state::ScanState;

const VALIDATE: Validate = |chunk, mut state| {
    let result = validate(chunk, &mut state);
    (state.bits(), result)
};

pub(super) const STD: Functions = Functions {
    validate_function: VALIDATE,
    validate_large_function: VALIDATE,
    is_text_function: |bytes| str::from_utf8(bytes).is_ok(),
    ..super::portable::extended("std", || true)
};

/// A safe [`Validate`](crate::functions::Validate) for chunks of any length, with the state behind a reference.
#[inline]
pub(crate) fn validate(chunk: &[u8], state: &mut ScanState) -> Result<(), Index> {
    let (start, rest) = if state.pending_len() == 0 {
        (0, chunk)
    } else {
        let start = finish_sequence(*state, chunk)?;
        (start, chunk.get(start..).unwrap_or_default())
    };
    match str::from_utf8(rest) {
        Ok("") => *state = state.after(chunk),
        Ok(_) => *state = ScanState::START,
        Err(error) if error.error_len().is_none() => *state = state.after(chunk),
        Err(error) => {
            // `error` has the start of the ill-formed sequence. The byte to report, which makes the stream ill-formed,
            // is one of the first 4 bytes from there.
            let at = error.valid_up_to();
            let sequence = rest.iter().skip(at).take(4);
            let index = formula::first_ill_formed(0, sequence);
            return Err(Index::new(start + at + index.unwrap_or(0)));
        }
    }
    Ok(())
}

/// Returns the number of bytes of the chunk that belong to the sequence that was unfinished before the chunk.
#[inline]
fn finish_sequence(state: ScanState, chunk: &[u8]) -> Result<usize, Index> {
    let mut carry = state.carry();
    for (index, &byte) in chunk.iter().enumerate() {
        if carry.pending_len() == 0 {
            return Ok(index);
        }
        if formula::is_ill_formed(carry.word(), byte) {
            return Err(Index::new(index));
        }
        carry = carry.after_byte(byte);
    }
    Ok(chunk.len())
}

/// `memchr` of the C library, the fastest implementation that is always compiled with optimizations.
#[cfg(all(feature = "memchr", unix))]
#[inline]
pub(crate) fn find_byte(byte: u8, bytes: &[u8]) -> Option<usize> {
    // The pointer of an empty slice may be dangling, and C does not allow that even if the length is 0.
    if bytes.is_empty() {
        return None;
    }
    let start = bytes.as_ptr();
    // SAFETY:
    // - The slice is not empty. It is readable for its whole length, and `memchr` reads no byte after it.
    let found = unsafe { libc::memchr(start.cast(), byte.into(), bytes.len()) };
    if found.is_null() { None } else { Some(found.addr() - start.addr()) }
}

/// `memchr` of the standard library, the only implementation here that is always compiled with optimizations.
#[cfg(all(feature = "memchr", not(unix)))]
#[inline]
pub(crate) fn find_byte(byte: u8, bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    match std::io::BufRead::skip_until(&mut rest, byte) {
        Ok(end) if end > 0 && bytes[end - 1] == byte => Some(end - 1),
        _ => None,
    }
}
