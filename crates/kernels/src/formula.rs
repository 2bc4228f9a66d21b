//! The formula of the vector kernels, and the same formula for one byte.
//!
//! # The question
//!
//! Let `x` be a byte and `p1`, `p2`, `p3` the bytes 1, 2 and 3 before it, in a stream that was well-formed so far. Does
//! `x` make the stream ill-formed? It does in three cases (RFC 3629 §4, Unicode table 3-7):
//!
//! 1. a sequence before `x` is unfinished, and `x` is not a continuation byte `80..=BF`;
//! 2. no sequence before `x` is unfinished, and `x` is a continuation byte;
//! 3. `p1` is a lead byte that allows only some continuation bytes as its second (`E0`, `ED`, `F0`, `F4`) or none
//!    (`C0`, `C1`, `F5..=FF`), and `x` is a continuation byte that it does not allow.
//!
//! # The formula
//!
//! Only bit 7 of each intermediate byte is used. The other bits are undefined.
//!
//! *Is a sequence unfinished?* A lead byte of `C0` or more needs at least 1 byte after it, one of `E0` or more needs at
//! least 2, and one of `F0` or more needs 3. A saturating unsigned subtraction moves each of these limits to `80`, the
//! lowest value with bit 7 set:
//!
//! ```text
//! s1 = p1 -sat 40      bit 7 set  <=>  p1 >= C0
//! s2 = p2 -sat 60      bit 7 set  <=>  p2 >= E0
//! s3 = p3 -sat 70      bit 7 set  <=>  p3 >= F0
//! due = s1 | s2 | s3
//! ```
//!
//! *Is `x` a continuation byte?* As signed numbers `80..=BF` are the lowest quarter. After a saturating signed addition
//! of `40` only they are negative: `00..=3F` become `40..=7F`, `40..=7F` become `7F`, and `C0..=FF` become `00..=3F`.
//!
//! ```text
//! cont = x +sat 40     bit 7 set  <=>  80 <= x <= BF
//! ```
//!
//! So `due ^ cont` has bit 7 set in cases 1 and 2.
//!
//! *Does the lead byte allow `x` as its second byte?* A table `T`, indexed by the low 6 bits of the lead byte, holds a
//! number that is added (modulo 256) to a continuation byte. The sum is below `80` if the continuation byte is allowed,
//! and `80` or above if it is not:
//!
//! | lead | allowed | `T` | allowed + `T` | the other continuations + `T` |
//! |---|---|---|---|---|
//! | `C0`, `C1`, `F5..=FF` | none | `00` | | `80..=BF` |
//! | `E0` | `A0..=BF` | `60` | `00..=1F` | `E0..=FF` |
//! | `ED` | `80..=9F` | `E0` | `60..=7F` | `80..=9F` |
//! | `F0` | `90..=BF` | `70` | `00..=2F` | `F0..=FF` |
//! | `F4` | `80..=8F` | `F0` | `70..=7F` | `80..=AF` |
//! | any other | `80..=BF` | `80` | `00..=3F` | |
//!
//! ```text
//! w = x + T[p1 & 3F]
//! ```
//!
//! If `p1` is not a lead byte, the entry of `T` has no meaning, and `s1` masks it. If `x` is not a continuation byte,
//! `w` has no meaning, and `due ^ cont` already has the result. So case 3 is `s1 & w`, and
//!
//! ```text
//! mark = (due ^ cont) | (s1 & w)       bit 7 set  <=>  x makes the stream ill-formed
//! ```
//!
//! These are three subtractions, two additions and one table lookup. A CPU with logic operations of three operands
//! needs three of those: nine operations in all.
//!
//! # Without sequences of 4 bytes
//!
//! Most text has only characters of the Basic Multilingual Plane, which have at most 3 bytes. For such text `s3` is
//! left out. `T'` is `T` with `00` for all lead bytes of 4-byte sequences, so that they allow no second byte:
//!
//! ```text
//! mark = ((s1 | s2) ^ cont) | (s1 & (x + T'[p1 & 3F]))        if p2 and p3 are below F0
//! ```
//!
//! If `p1` is also below `F0`, the result is the same as with the whole formula, because bit 7 of `s3` is not set. If `p1` is
//! `F0` or above, `x` is marked: by `s1 & w` if it is a continuation byte, by `due ^ cont` if not. So every lead byte
//! of a 4-byte sequence causes a mark, and text without marks is well-formed. If there is a mark, the whole formula is
//! computed.
//!
//! # What the formula does not report
//!
//! - `C0`, `C1` and `F5..=FF` are not marked themselves. The byte *after* them is marked. To reject a chunk that ends
//!   with such a byte at once, [`is_never_a_lead`] tests the last byte of the chunk.
//! - After a mark the results have no meaning, because the stream was not well-formed so far. Only the first mark is
//!   used.
//! - The mark is where the stream became ill-formed. It is not the start of the ill-formed sequence, and it does not
//!   contain the error kind. [`grammar`](super::grammar) finds both from the bytes of the sequence, which are at most
//!   4.
//!
//! A test in this file compares the formula with the three cases above for all 2^32 quadruples `(p3, p2, p1, x)`. If
//! the first three bytes can occur in a well-formed stream, it also compares the formula with the grammar. To run it:
//!
//! ```text
//! cargo test --release --lib -- --ignored quadruples
//! ```

/// The table `T` of the module page: the number to add to the second byte, indexed by the low 6 bits of the lead byte.
pub(crate) const SECOND: &Aligned<64> = &{
    let mut table = [0x80; 64];
    table[0x00] = 0x00;
    table[0x01] = 0x00;
    table[0x20] = 0x60;
    table[0x2D] = 0xE0;
    table[0x30] = 0x70;
    table[0x34] = 0xF0;
    let mut lead = 0x35;
    while lead < 0x40 {
        table[lead] = 0x00;
        lead += 1;
    }
    Aligned(table)
};

/// The table `T'`, for text without sequences of 4 bytes.
#[cfg(any(test, utf8_codec_avx512, utf8_codec_vectors = "aarch64"))]
pub(crate) const SECOND_IN_BMP: &Aligned<64> = &{
    let mut table = Aligned(SECOND.0);
    let mut lead = 0x30;
    while lead < 0x40 {
        table.0[lead] = 0x00;
        lead += 1;
    }
    table
};

/// A table that starts at a cache line.
#[repr(align(64))]
pub(crate) struct Aligned<const N: usize>(pub(super) [u8; N]);

/// Whether `byte` makes a stream with this `carry` ill-formed. The most significant byte of the carry is the last byte.
#[inline]
pub(crate) const fn is_ill_formed(carry: u32, byte: u8) -> bool {
    let [_, p3, p2, p1] = carry.to_le_bytes();
    let s1 = p1.saturating_sub(0x40);
    let s2 = p2.saturating_sub(0x60);
    let s3 = p3.saturating_sub(0x70);
    let due = s1 | s2 | s3;
    let cont = (byte as i8).saturating_add(0x40) as u8;
    let w = byte.wrapping_add(SECOND.0[(p1 & 0x3F) as usize]);
    ((due ^ cont) | (s1 & w)) & 0x80 != 0
}

/// Whether the last byte of a carry may follow the three bytes before it and is not [never a lead](is_never_a_lead). This
/// equals `!is_ill_formed(..) && !is_never_a_lead(..)` if the stream was well-formed before the byte, in fewer
/// instructions.
#[inline]
pub(crate) const fn ends_well_formed(carry: u32) -> bool {
    // The three highest bits of `p2` and the four highest bits of `p3`; the lowest of these bits; the bits after them.
    const LEAD: u32 = 0xE0F0;
    const LOWEST: u32 = 0x2010;
    const ABOVE: u32 = 0x0001_0100;
    if carry & 0x8080_8080 == 0 {
        true
    } else {
        // A sum sets the bit above if all bits of a lead byte are set: of at least 3 bytes at `p2`, of 4 bytes at `p3`.
        // Then `p1` is a continuation byte, and another one is due.
        let due = (carry & LEAD).wrapping_add(LOWEST) & ABOVE;
        let [_, _, p1, x] = carry.to_le_bytes();
        ALLOWED[p1 as usize].wrapping_add(due) & KINDS[x as usize] != 0
    }
}

/// ASCII or a lead byte.
const START: u32 = 1 << 16;
/// Any continuation byte.
const CONTINUATION: u32 = 1 << 24;
/// The continuation bytes `80..=8F`, `90..=9F` and `A0..=BF`.
const LOW: u32 = 1;
const MIDDLE: u32 = 2;
const HIGH: u32 = 4;

/// The kinds of each byte. A byte that is never a lead has none.
const KINDS: &[u32; 256] = &{
    let mut table = [START; 256];
    let mut byte = 0x80;
    while byte < 0xC0 {
        table[byte] = CONTINUATION | HIGH;
        byte += 1;
    }
    byte = 0x80;
    while byte < 0x90 {
        table[byte] = CONTINUATION | LOW;
        table[byte + 0x10] = CONTINUATION | MIDDLE;
        byte += 1;
    }
    table[0xC0] = 0;
    table[0xC1] = 0;
    byte = 0xF5;
    while byte < 0x100 {
        table[byte] = 0;
        byte += 1;
    }
    table
};

/// The kinds of bytes that each byte allows after it. For ASCII and continuation bytes bits 8 to 23 are set, so `START` is
/// allowed. If another continuation byte is due, bit 8 or 16 is added, and the carry clears `START` and sets
/// `CONTINUATION`.
const ALLOWED: &[u32; 256] = &{
    let mut table = [0x00FF_FF00; 256];
    let mut lead = 0xC2;
    while lead < 0xF4 {
        table[lead] = LOW | MIDDLE | HIGH;
        lead += 1;
    }
    table[0xE0] = HIGH;
    table[0xED] = LOW | MIDDLE;
    table[0xF0] = MIDDLE | HIGH;
    table[0xF4] = LOW;
    table[0xC0] = 0;
    table[0xC1] = 0;
    lead = 0xF5;
    while lead < 0x100 {
        table[lead] = 0;
        lead += 1;
    }
    table
};

/// [`is_ill_formed`] by the formula for text without sequences of 4 bytes.
#[cfg(test)]
pub(crate) const fn is_ill_formed_in_bmp(carry: u32, byte: u8) -> bool {
    let [_, _, p2, p1] = carry.to_le_bytes();
    let s1 = p1.saturating_sub(0x40);
    let due = s1 | p2.saturating_sub(0x60);
    let cont = (byte as i8).saturating_add(0x40) as u8;
    let w = byte.wrapping_add(SECOND_IN_BMP.0[(p1 & 0x3F) as usize]);
    ((due ^ cont) | (s1 & w)) & 0x80 != 0
}

/// Whether the byte is `C0`, `C1` or `F5..=FF`. Well-formed text does not contain these bytes (RFC 3629 §3).
#[inline]
pub(crate) const fn is_never_a_lead(byte: u8) -> bool {
    byte & 0xFE == 0xC0 || byte >= 0xF5
}

/// Returns the index of the first byte that makes a stream ill-formed, by the formula for one byte.
#[inline]
pub(crate) fn first_ill_formed<'c>(mut carry: u32, chunk: impl IntoIterator<Item = &'c u8>) -> Option<usize> {
    chunk.into_iter().position(|&byte| {
        let found = is_ill_formed(carry, byte);
        carry = carry >> 8 | u32::from(byte) << 24;
        found
    })
}

/// Whether one of the three cases of the module page is true. `due` is whether `p3` or `p2` requires a continuation byte.
#[cfg(test)]
pub(crate) fn is_wrong(due: bool, p1: u8, x: u8) -> bool {
    let is_continuation = (0x80..=0xBF).contains(&x);
    (due || p1 >= 0xC0) != is_continuation || p1 >= 0xC0 && is_forbidden(p1, x)
}

/// Whether the lead byte does not allow `x` as its second byte, or allows no second byte.
#[cfg(test)]
pub(crate) fn is_forbidden(lead: u8, x: u8) -> bool {
    use crate::grammar::{State, Step, UTF_8};
    match UTF_8.step(State::BOUNDARY, lead) {
        Step::To(state) => matches!(UTF_8.step(state, x), Step::Rejected(_)),
        Step::Rejected(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{State, Step, UTF_8};

    /// A state of the grammar, or the state after a byte that is never a lead byte, which the formula marks one byte
    /// later.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Stream {
        WellFormed(State),
        AfterNeverALead,
    }

    fn step(stream: Stream, byte: u8) -> Option<Stream> {
        let Stream::WellFormed(state) = stream else { return None };
        match UTF_8.step(state, byte) {
            Step::To(next) => Some(Stream::WellFormed(next)),
            Step::Rejected(_) if state == State::BOUNDARY && is_never_a_lead(byte) => {
                Some(Stream::AfterNeverALead)
            }
            Step::Rejected(_) => None,
        }
    }

    /// Returns every state that a stream can reach.
    fn reachable() -> Vec<Stream> {
        let mut streams = vec![Stream::WellFormed(State::BOUNDARY)];
        let mut next = 0;
        while next < streams.len() {
            for byte in 0..=0xFF {
                let stream = step(streams[next], byte);
                streams.extend(stream.filter(|stream| !streams.contains(stream)));
            }
            next += 1;
        }
        streams
    }

    /// Compares every quadruple whose byte `p3` is in `range` with the three cases, and with the grammar if a stream
    /// can have the first three bytes. Returns the numbers of comparisons of both types.
    fn check(range: core::ops::RangeInclusive<u8>) -> (u64, u64) {
        let streams = reachable();
        let verdicts: Vec<[bool; 256]> =
            streams.iter().map(|&stream| core::array::from_fn(|x| step(stream, x as u8).is_none())).collect();
        let index = |stream| streams.iter().position(|&other| other == stream).expect("reachable");
        let statements: Vec<[[bool; 256]; 2]> = (0..=0xFF_u8)
            .map(|p1| [false, true].map(|due| core::array::from_fn(|x| is_wrong(due, p1, x as u8))))
            .collect();
        let mut all = 0;
        let mut good = 0;
        for p3 in range {
            let after_p3: Vec<Stream> = streams.iter().filter_map(|&stream| step(stream, p3)).collect();
            for p2 in 0..=0xFF_u8 {
                let after_p2: Vec<Stream> = after_p3.iter().filter_map(|&stream| step(stream, p2)).collect();
                let due = p3 >= 0xF0 || p2 >= 0xE0;
                for p1 in 0..=0xFF_u8 {
                    let carry = u32::from_le_bytes([0, p3, p2, p1]);
                    let found: [bool; 256] = core::array::from_fn(|x| is_ill_formed(carry, x as u8));
                    assert!(
                        found == statements[usize::from(p1)][usize::from(due)],
                        "{p3:02X} {p2:02X} {p1:02X}"
                    );
                    if p3 < 0xF0 && p2 < 0xF0 {
                        let in_bmp: [bool; 256] =
                            core::array::from_fn(|x| is_ill_formed_in_bmp(carry, x as u8));
                        let expected = if p1 < 0xF0 { found } else { [true; 256] };
                        assert!(in_bmp == expected, "{p3:02X} {p2:02X} {p1:02X}");
                    }
                    all += 256;
                    let mut after = after_p2.iter().filter_map(|&stream| step(stream, p1));
                    let Some(stream) = after.next() else { continue };
                    assert!(
                        after.all(|other| other == stream),
                        "three bytes decide: {p3:02X} {p2:02X} {p1:02X}"
                    );
                    assert!(found == verdicts[index(stream)], "{p3:02X} {p2:02X} {p1:02X}");
                    let expected: [bool; 256] =
                        core::array::from_fn(|x| !found[x] && !is_never_a_lead(x as u8));
                    let same: [bool; 256] =
                        core::array::from_fn(|x| ends_well_formed(carry >> 8 | (x as u32) << 24));
                    assert!(expected == same, "{p3:02X} {p2:02X} {p1:02X}");
                    good += 256;
                }
            }
        }
        (all, good)
    }

    #[test]
    fn the_formula_agrees_with_the_grammar_after_every_kind_of_byte() {
        for p3 in [0x7F, 0x80, 0xC2, 0xE0, 0xED, 0xF0, 0xF4] {
            assert_eq!(check(p3..=p3).0, 1 << 24);
        }
    }

    #[test]
    #[ignore = "two seconds in release mode, minutes without optimization"]
    fn the_formula_agrees_with_the_grammar_on_all_2_to_the_32_quadruples() {
        let halves = [0x00..=0x7F, 0x80..=0xFF].map(|range| std::thread::spawn(move || check(range)));
        let [low, high] = halves.map(|half| half.join().expect("agrees"));
        assert_eq!(low.0 + high.0, 1 << 32);
        // The number of triples of bytes that a stream can have.
        assert_eq!((low.1 + high.1) / 256, 6_815_744);
    }
}
