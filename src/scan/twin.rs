//! The formula of the vector kernels, and the same formula for one byte.
//!
//! # What is asked
//!
//! Let `x` be a byte and `p1`, `p2`, `p3` the bytes one, two and three before it, all of them of a stream that was
//! good so far. Does `x` make it ill-formed? By the table of RFC 3629 §4 (Unicode table 3-7) three things can be wrong:
//!
//! 1. a sequence before `x` is unfinished, and `x` is not a continuation byte `80..=BF`;
//! 2. no sequence before `x` is unfinished, and `x` is a continuation byte;
//! 3. `p1` is a lead that allows only some continuation bytes as its second (`E0`, `ED`, `F0`, `F4`), or none at all
//!    (`C0`, `C1`, `F5..=FF`), and `x` is one of the others.
//!
//! # How nine vector operations answer it
//!
//! Every intermediate answer is bit 7 of a byte; the other bits are noise that nobody looks at.
//!
//! *Is a sequence unfinished?* A lead that is `C0` or more wants one byte after it, one that is `E0` or more wants
//! two, one that is `F0` or more wants three. An unsigned subtraction that saturates at zero moves each of these
//! limits to `80`, where bit 7 begins:
//!
//! ```text
//! s1 = p1 -sat 40      bit 7 set  <=>  p1 >= C0
//! s2 = p2 -sat 60      bit 7 set  <=>  p2 >= E0
//! s3 = p3 -sat 70      bit 7 set  <=>  p3 >= F0
//! due = s1 | s2 | s3
//! ```
//!
//! *Is `x` a continuation?* As signed numbers, `80..=BF` are the lowest quarter. A signed addition of `40` that
//! saturates keeps exactly them negative: `00..=3F` become `40..=7F`, `40..=7F` stay at `7F`, and `C0..=FF` become
//! `00..=3F`.
//!
//! ```text
//! cont = x +sat 40     bit 7 set  <=>  80 <= x <= BF
//! ```
//!
//! So `due ^ cont` has bit 7 in cases 1 and 2.
//!
//! *Is `x` a second byte that this lead forbids?* A table `T`, indexed by the low six bits of the lead, holds what
//! must be added (wrapping) to a continuation byte so that the allowed ones land below `80` and the others do not:
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
//! Where `p1` is no lead, `T` was read at a meaningless place, and where `x` is no continuation, `w` means nothing: the
//! first is masked by `s1`, and in the second `due ^ cont` has the answer already. So case 3 is `s1 & w`, and
//!
//! ```text
//! flaw = (due ^ cont) | (s1 & w)       bit 7 set  <=>  x makes the stream ill-formed
//! ```
//!
//! Three subtractions, two additions, one table look-up and, where the machine has a three-input logic operation, three
//! of those: nine.
//!
//! # One subtraction, one load less
//!
//! Most text has no sequence of four, which is no character beyond the Basic Multilingual Plane. For such text `s3` is
//! left out, and `T` forbids every byte after a lead of four, as it does after `F5`:
//!
//! ```text
//! flaw = ((s1 | s2) ^ cont) | (s1 & (x + T'[p1 & 3F]))        where p2 and p3 are below F0
//! ```
//!
//! Where `p1` is below `F0` as well this says what the other formula says, since `s3` has no bit 7. Where it is not,
//! `x` is marked: a continuation by `s1 & w`, anything else by `due ^ cont`. So nothing that is not marked is wrong, no
//! lead of four is passed over, and whoever meets a mark asks the other formula.
//!
//! # What it leaves to others
//!
//! - `C0`, `C1` and `F5..=FF` are flagged at the byte *after* them, whatever that is. So that a chunk which ends with
//!   one is refused at once, its last byte is looked at separately: [`is_never_a_lead`].
//! - After a flaw the formula means nothing, because the stream was not good so far. Only the first flaw is used.
//! - The flaw is where the stream became ill-formed, not where the ill-formed sequence begins; the grammar's own
//!   machine is asked for that ([`encoding`](crate::encoding)), over the at most four bytes concerned.
//!
//! A test in this file compares the formula with the three statements above for all 2^32 quadruples `(p3, p2, p1, x)`,
//! and with the machine wherever a good stream can hold the first three:
//!
//! ```text
//! cargo test --release --lib -- --ignored quadruples
//! ```

/// What to add to the second byte, by the low six bits of the lead: see the module's table.
pub(super) const SECOND: &Aligned<64> = &{
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

/// The same where a lead of four forbids all of them, for the vector kernels.
#[cfg(any(
    test,
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
pub(super) const SECOND_IN_BMP: &Aligned<64> = &{
    let mut table = Aligned(SECOND.0);
    let mut lead = 0x30;
    while lead < 0x40 {
        table.0[lead] = 0x00;
        lead += 1;
    }
    table
};

/// A table on a cache line of its own.
#[repr(align(64))]
pub(super) struct Aligned<const N: usize>(pub(super) [u8; N]);

/// Does `byte` make a stream ill-formed that ended with `last`, whose most significant byte came last?
#[inline]
pub(super) const fn is_flaw(last: u32, byte: u8) -> bool {
    let [_, p3, p2, p1] = last.to_le_bytes();
    let s1 = p1.saturating_sub(0x40);
    let s2 = p2.saturating_sub(0x60);
    let s3 = p3.saturating_sub(0x70);
    let due = s1 | s2 | s3;
    let cont = (byte as i8).saturating_add(0x40) as u8;
    let w = byte.wrapping_add(SECOND.0[(p1 & 0x3F) as usize]);
    ((due ^ cont) | (s1 & w)) & 0x80 != 0
}

/// The same by the formula for the Basic Multilingual Plane: also if the stream ended with a lead of four.
#[cfg(test)]
const fn is_flaw_in_bmp(last: u32, byte: u8) -> bool {
    let [_, _, p2, p1] = last.to_le_bytes();
    let s1 = p1.saturating_sub(0x40);
    let due = s1 | p2.saturating_sub(0x60);
    let cont = (byte as i8).saturating_add(0x40) as u8;
    let w = byte.wrapping_add(SECOND_IN_BMP.0[(p1 & 0x3F) as usize]);
    ((due ^ cont) | (s1 & w)) & 0x80 != 0
}

/// `C0`, `C1`, `F5..=FF`: bytes that no well-formed text holds (RFC 3629 §3).
#[inline]
pub(super) const fn is_never_a_lead(byte: u8) -> bool {
    byte & 0xFE == 0xC0 || byte >= 0xF5
}

/// The first flaw in a chunk, byte by byte; its length if there is none.
#[inline]
pub(super) fn first_flaw(mut last: u32, chunk: &[u8]) -> usize {
    for (at, &byte) in chunk.iter().enumerate() {
        if is_flaw(last, byte) {
            return at;
        }
        last = last >> 8 | u32::from(byte) << 24;
    }
    chunk.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{State, Step, UTF_8};

    /// Where the machine can stand, and one place more: after a byte that it refused as a lead.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Place {
        At(State),
        BehindNeverALead,
    }

    fn step(place: Place, byte: u8) -> Option<Place> {
        let Place::At(state) = place else { return None };
        match UTF_8.step(state, byte) {
            Step::To(next) => Some(Place::At(next)),
            Step::Refused(_) if state == State::BOUNDARY && is_never_a_lead(byte) => {
                Some(Place::BehindNeverALead)
            }
            Step::Refused(_) => None,
        }
    }

    /// Every place in which a good stream can be.
    fn places() -> Vec<Place> {
        let mut places = vec![Place::At(State::BOUNDARY)];
        let mut next = 0;
        while next < places.len() {
            for byte in 0..=0xFF {
                if let Some(place) = step(places[next], byte)
                    && !places.contains(&place)
                {
                    places.push(place);
                }
            }
            next += 1;
        }
        places
    }

    /// The three things that can be wrong, as the module's documentation states them.
    fn is_wrong(p3: u8, p2: u8, p1: u8, x: u8) -> bool {
        let wanted = |lead: u8| match lead {
            0x00..=0xBF => 0,
            0xC0..=0xDF => 1,
            0xE0..=0xEF => 2,
            0xF0..=0xFF => 3,
        };
        let due = wanted(p1) >= 1 || wanted(p2) >= 2 || wanted(p3) >= 3;
        let is_continuation = (0x80..=0xBF).contains(&x);
        let is_forbidden = || match UTF_8.step(State::BOUNDARY, p1) {
            Step::To(state) => matches!(UTF_8.step(state, x), Step::Refused(_)),
            Step::Refused(_) => true,
        };
        due != is_continuation || p1 >= 0xC0 && is_forbidden()
    }

    /// Checks every quadruple whose byte `p3` is in `range`: against the statement, and, where a good stream can hold
    /// the first three, against the machine. Gives the number of both.
    fn check(range: core::ops::RangeInclusive<u8>) -> (u64, u64) {
        let places = places();
        let verdicts: Vec<[bool; 256]> =
            places.iter().map(|&place| core::array::from_fn(|x| step(place, x as u8).is_none())).collect();
        let index = |place| places.iter().position(|&p| p == place).expect("listed");
        // All that the statement asks of `p3` and `p2` is whether they want a byte here.
        let statements: Vec<[[bool; 256]; 2]> = (0..=0xFF_u8)
            .map(|p1| [0x00, 0xF0].map(|p3| core::array::from_fn(|x| is_wrong(p3, 0x00, p1, x as u8))))
            .collect();
        let (mut all, mut good) = (0, 0);
        for p3 in range {
            let after_p3: Vec<Place> = places.iter().filter_map(|&place| step(place, p3)).collect();
            for p2 in 0..=0xFF_u8 {
                let after_p2: Vec<Place> = after_p3.iter().filter_map(|&place| step(place, p2)).collect();
                let due = p3 >= 0xF0 || p2 >= 0xE0;
                for p1 in 0..=0xFF_u8 {
                    let last = u32::from_le_bytes([0, p3, p2, p1]);
                    let found: [bool; 256] = core::array::from_fn(|x| is_flaw(last, x as u8));
                    assert!(
                        found == statements[usize::from(p1)][usize::from(due)],
                        "{p3:02X} {p2:02X} {p1:02X}"
                    );
                    if p3 < 0xF0 && p2 < 0xF0 {
                        let in_bmp: [bool; 256] = core::array::from_fn(|x| is_flaw_in_bmp(last, x as u8));
                        let expected = if p1 < 0xF0 { found } else { [true; 256] };
                        assert!(in_bmp == expected, "{p3:02X} {p2:02X} {p1:02X}");
                    }
                    all += 256;
                    let mut after = after_p2.iter().filter_map(|&place| step(place, p1));
                    let Some(place) = after.next() else { continue };
                    assert!(
                        after.all(|other| other == place),
                        "three bytes decide: {p3:02X} {p2:02X} {p1:02X}"
                    );
                    assert!(found == verdicts[index(place)], "{p3:02X} {p2:02X} {p1:02X}");
                    good += 256;
                }
            }
        }
        (all, good)
    }

    #[test]
    fn the_formula_agrees_with_the_machine_behind_every_kind_of_byte() {
        for p3 in [0x7F, 0x80, 0xC2, 0xE0, 0xED, 0xF0, 0xF4] {
            assert_eq!(check(p3..=p3).0, 1 << 24);
        }
    }

    #[test]
    #[ignore = "two seconds in release mode, minutes without optimization"]
    fn the_formula_agrees_with_the_machine_on_all_2_to_the_32_quadruples() {
        let halves = [0x00..=0x7F, 0x80..=0xFF].map(|range| std::thread::spawn(move || check(range)));
        let [low, high] = halves.map(|half| half.join().expect("agrees"));
        assert_eq!(low.0 + high.0, 1 << 32);
        // Not every three bytes follow each other in a good stream.
        assert_eq!((low.1 + high.1) / 256, 6_815_744);
    }
}
