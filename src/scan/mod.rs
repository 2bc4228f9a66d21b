//! Bulk scanning: how far is this good, and what comes after it.
//!
//! This is all that the rest of the crate sees of the kernels. Nobody above this room names a continuation byte.
//!
//! A scan has two steps. A [kernel](kernel) says *where the stream becomes ill-formed*, if it does: it is fast, and
//! knows nothing but the formula that [`twin`] derives. Then, only if there is a flaw, the machine of
//! [`encoding`](crate::encoding) says *what is wrong*, over the few bytes of that sequence.
//!
//! | file | what it is |
//! |---|---|
//! | `twin.rs` | the formula, its derivation, and the formula on one byte |
//! | `vector.rs`, `bulk.rs` | the algorithm of all vector kernels, over a small trait |
//! | `x86/avx512.rs`, `x86/avx2.rs`, `neon.rs` | that trait |
//! | `portable.rs` | the kernel for every other machine |
//! | `places.rs`, `x86/places.rs` | where the ends of lines are |
//! | `count.rs` | how many lines, characters and UTF-16 units there are |
//! | `kernel.rs` | which one this machine has |
//! | `last.rs` | what a chunk leaves for the next one |
//! | `utf16.rs`, `x86/utf16/` | good text to UTF-16 and back |

// A target without vector registers in its ABI (kernels of operating systems, firmware) has no vector kernel, and
// neither has big-endian AArch64, whose lanes are numbered from the other end.
#[cfg_attr(all(target_arch = "x86_64", target_feature = "sse2"), path = "x86/mod.rs")]
#[cfg_attr(
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    path = "aarch64.rs"
)]
#[cfg_attr(
    not(any(
        all(target_arch = "x86_64", target_feature = "sse2"),
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
    )),
    path = "no_arch.rs"
)]
mod arch;
#[cfg(feature = "mime")]
pub(crate) mod base64;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
mod bulk;
pub(crate) mod count;
#[allow(unreachable_pub, reason = "public only where a benchmark chooses")]
mod kernel;
#[cfg(all(
    test,
    any(
        all(target_arch = "x86_64", target_feature = "sse2"),
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
    )
))]
mod lanes;
mod last;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
#[cfg(test)]
mod pairs;
#[cfg(feature = "codec")]
pub(crate) mod places;
mod portable;
#[cfg(test)]
mod tests;
mod twin;
#[cfg(feature = "transcode")]
pub(crate) mod utf16;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
mod vector;

use crate::encoding::{State, Step, UTF_8};
use crate::error::ErrorKind;
#[cfg(utf8_codec_kernel = "choice")]
pub use kernel::Kernel;
#[cfg(not(utf8_codec_kernel = "choice"))]
use kernel::Kernel;
pub(crate) use last::{Boundary, Last};

/// Chunks up to this length are tried for ASCII as a whole, and are not worth the way to alignment.
const SMALL: usize = 384;

/// The bytes of an ill-formed maximal subpart: one to three, or none where there is no fault. After them their
/// number: all of it is one word, which is moved faster than its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subpart([u8; 4]);

impl Subpart {
    pub(crate) const NONE: Self = Self([0; 4]);

    /// `bytes` are at most three.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let push = |word: u32, &byte: &u8| (word >> 8 & 0xFFFF) | u32::from(byte) << 16;
        let len = bytes.len().min(3);
        let word = bytes[..len].iter().fold(0, push) >> (24 - 8 * len) | (len as u32) << 24;
        Self(word.to_le_bytes())
    }

    #[inline]
    pub(crate) const fn len(self) -> u8 {
        self.0[3]
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0[..usize::from(self.len())]
    }
}

/// An ill-formed maximal subpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    /// Its bytes; they may have begun before the chunk.
    pub(crate) bytes: Subpart,
}

/// What follows the good text of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing but an unfinished sequence, which is often empty: the chunk was taken whole.
    Unfinished(Last),
    /// An ill-formed sequence, after which the scan stopped.
    IllFormed(Fault),
}

/// What a scan found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Bytes of the chunk that were looked at and need not be again: up to the end of the chunk, or of the
    /// ill-formed sequence.
    pub(crate) taken: usize,
    pub(crate) end: End,
}

/// Takes a chunk that follows `last`, if it is good; or says where it is not.
///
/// Fail-fast: a chunk whose last byte makes the text ill-formed is refused now, not when the next chunk comes.
#[inline]
pub(crate) fn take(last: &mut Last, chunk: &[u8]) -> Result<(), usize> {
    let [byte] = *chunk else {
        let flaw = take_all(last, chunk);
        return if flaw == chunk.len() { Ok(()) } else { Err(flaw) };
    };
    // Byte by byte nothing is as fast as the formula on one byte, and a call would cost more than that.
    if twin::is_flaw(last.word(), byte) || twin::is_never_a_lead(byte) {
        return Err(0);
    }
    *last = last.after_byte(byte);
    Ok(())
}

/// Bytes that are text from the first to the last; or the first flaw, which is their length if they end unfinished.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, usize> {
    if Kernel::in_use().is_text(bytes) {
        // SAFETY: the kernel says so.
        return Ok(unsafe { core::str::from_utf8_unchecked(bytes) });
    }
    few_or_flawed(bytes)
}

/// [`text`] where there are fewer than four bytes, or a flaw.
#[inline(never)]
fn few_or_flawed(bytes: &[u8]) -> Result<&str, usize> {
    let mut last = Last::NONE;
    let flaw = take_all(&mut last, bytes);
    if flaw < bytes.len() || !last.is_boundary() {
        return Err(flaw);
    }
    // SAFETY: all bytes are good, and no sequence at their end is unfinished.
    Ok(unsafe { core::str::from_utf8_unchecked(bytes) })
}

/// [`kernel::Implementation::take`] for chunks of any length.
#[inline(always)]
fn take_all(last: &mut Last, chunk: &[u8]) -> usize {
    if chunk.len() < 4 {
        take_few(last, chunk)
    } else {
        // SAFETY: the chunk has four bytes or more.
        unsafe { Kernel::in_use().take(last, chunk) }
    }
}

#[inline(never)]
fn take_few(last: &mut Last, chunk: &[u8]) -> usize {
    let flaw = twin::first_flaw(last.word(), chunk);
    match chunk.last() {
        Some(_) if flaw < chunk.len() => flaw,
        Some(&byte) if twin::is_never_a_lead(byte) => flaw - 1,
        _ => {
            *last = last.after(chunk);
            flaw
        }
    }
}

/// The longest well-formed prefix of a chunk that ends between characters, and what follows it.
#[inline]
pub(crate) fn prefix(start: Boundary, chunk: &[u8]) -> (&str, End) {
    let mut last = start.last();
    let flaw = take_all(&mut last, chunk);
    let (good, end) = if flaw < chunk.len() {
        let (taken, fault) = refuse(last, chunk, flaw);
        // Saturating for the compiler, which then knows that nothing can go wrong; the stream before the chunk ended
        // between characters.
        (taken.saturating_sub(usize::from(fault.bytes.len())), End::IllFormed(fault))
    } else {
        (chunk.len() - usize::from(last.pending_len()), End::Unfinished(last))
    };
    // SAFETY: the chunk starts between characters, the bytes before the flaw are good, and `good` leaves out the
    // unfinished sequence at their end.
    (unsafe { core::str::from_utf8_unchecked(&chunk[..good]) }, end)
}

/// What is wrong at the flaw, and where it begins: up to the end of the ill-formed sequence.
/// Gives how many bytes of the chunk that takes, and the fault.
#[inline(never)]
pub(crate) fn refuse(last: Last, chunk: &[u8], flaw: usize) -> (usize, Fault) {
    let before = last.after(&chunk[..flaw]);
    let begun = before.pending();
    let (mut state, mut refused) = (State::BOUNDARY, None);
    for &byte in begun {
        match UTF_8.step(state, byte) {
            Step::To(next) => state = next,
            Step::Refused(kind) => refused = Some(kind),
        }
    }
    let kind = match (refused, UTF_8.step(state, chunk[flaw])) {
        (Some(kind), _) | (None, Step::Refused(kind)) => kind,
        // Not reached: there is a flaw.
        (None, Step::To(_)) => ErrorKind::InvalidLead,
    };
    // A byte that is refused as a lead is itself the subpart; any other is not part of it.
    if begun.is_empty() {
        (flaw + 1, Fault { kind, bytes: Subpart::of(&[chunk[flaw]]) })
    } else {
        (flaw, Fault { kind, bytes: Subpart::of(begun) })
    }
}

/// How the sequence that a chunk interrupted went on.
pub(crate) enum Seam {
    /// It is whole after `taken` bytes of the chunk.
    Whole { taken: usize, character: char },
    /// It is still unfinished, or ill-formed.
    Open(Scan),
}

/// Takes from `chunk` only what belongs to the unfinished sequence before it. There is one.
pub(crate) fn finish_sequence(last: Last, chunk: &[u8]) -> Seam {
    let mut sequence = [0; 4];
    let begun = last.pending();
    let mut len = begun.len();
    sequence[..len].copy_from_slice(begun);
    let mut state = UTF_8.state_after(begun);
    let mut taken = 0;
    for &byte in chunk {
        match UTF_8.step(state, byte) {
            Step::To(next) => {
                sequence[len] = byte;
                len += 1;
                taken += 1;
                if next == State::BOUNDARY {
                    return Seam::Whole { taken, character: decode(&sequence[..len]) };
                }
                state = next;
            }
            Step::Refused(kind) => {
                let fault = Fault { kind, bytes: Subpart::of(&sequence[..len]) };
                return Seam::Open(Scan { taken, end: End::IllFormed(fault) });
            }
        }
    }
    Seam::Open(Scan { taken, end: End::Unfinished(last.after(chunk)) })
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
        .fold(u32::from(sequence[0] & lead_bits), |value, &byte| value << 6 | u32::from(byte & 0x3F));
    // No sequence of the grammar stands for a surrogate or for a value above 10FFFF.
    char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
}
