//! Compares the results of the vector code in every lane with a scalar definition of the formulas, for all 2^32
//! quadruples of a byte and the three before it. Most of them do not occur in text.

use crate::arch::check_lanes;
use crate::arch::vector::Vector;
pub(crate) use crate::formula::is_wrong as by_due_bytes;
use crate::formula::{is_forbidden, is_never_a_lead};
use crate::grammar::{State, Step, UTF_8};

/// A bit for each byte `x`, set if it is wrong.
type Row = [u64; 4];

fn row(is_wrong: impl Fn(u8) -> bool) -> Row {
    let mut row = [0; 4];
    for x in 0..=0xFF {
        row[usize::from(x / 64)] |= u64::from(is_wrong(x)) << (x % 64);
    }
    row
}

/// Returns the bits of `len` bytes from `start`. `00` follows `FF`.
fn bits(row: &Row, start: u8, len: usize) -> u64 {
    let (word, shift) = (usize::from(start / 64), u32::from(start % 64));
    let bits = row[word] >> shift | (row[(word + 1) % 4] << 1) << (63 - shift);
    if len < 64 { bits & ((1 << len) - 1) } else { bits }
}

fn is_continuation(byte: u8) -> bool {
    (0x80..=0xBF).contains(&byte)
}

/// Whether `x` after `p1` is wrong by a formula. `due` is whether a lead byte 2 or 3 bytes before `x` requires that `x`
/// is a continuation byte. All definitions agree if the bytes before `x` are well-formed.
pub(crate) type Statement = fn(due: bool, p1: u8, x: u8) -> bool;

/// The definition of Keiser and Lemire's algorithm: a pair is wrong by itself, or it is two continuation bytes,
/// which are correct if and only if a longer sequence requires them.
pub(crate) fn by_pairs(due: bool, p1: u8, x: u8) -> bool {
    let is_wrong = match p1 {
        0x00..=0x7F => is_continuation(x),
        0x80..=0xBF => false,
        0xC0..=0xFF => is_forbidden(p1, x),
    };
    is_wrong || (is_continuation(p1) && is_continuation(x)) != due
}

/// Compares the lanes of both formulas with the definition, for all `(p3, p2)` in `pairs`, all `p1` and all `x`.
///
/// # Safety
///
/// The CPU has the features of `V`.
#[inline(always)]
pub(crate) unsafe fn check<V: Vector>(pairs: impl Iterator<Item = (u8, u8)>, states: Statement) {
    let rows: Vec<[Row; 2]> =
        (0..=0xFF).map(|p1| [false, true].map(|due| row(|x| states(due, p1, x)))).collect();
    // Two kinds of vectors are loaded from these arrays: one byte repeated, and consecutive byte values (00 follows
    // FF).
    let bytes: Vec<u8> = (0..512 + 64).map(|i| i as u8).collect();
    let same: Vec<[u8; 64]> = (0..=0xFF).map(|byte| [byte; 64]).collect();
    // SAFETY: the caller guarantees the features; the longest vector has 64 bytes.
    let splat = |byte: u8| unsafe { V::load(same[usize::from(byte)].as_ptr()) };
    for (p3, p2) in pairs {
        let due = p2 >= 0xE0 || p3 >= 0xF0;
        // Moves each byte through all lanes.
        let turn = p3.wrapping_mul(5).wrapping_add(p2);
        for p1 in 0..=0xFF {
            let row = &rows[usize::from(p1)][usize::from(due)];
            let p = [splat(p1), splat(p2), splat(p3)];
            for start in (0..=0xFF).step_by(V::LEN) {
                let start = turn.wrapping_add(start);
                // SAFETY: the caller guarantees the features; the slice has `V::LEN` bytes.
                let (marks, marks_in_bmp) = unsafe {
                    let x = V::load(bytes[usize::from(start)..][..V::LEN].as_ptr());
                    (V::zero().or_marks(x, p), V::zero().or_marks_in_bmp(x, [p[0], p[1]]))
                };
                let expected = bits(row, start, V::LEN);
                let context = || format!("{p3:02X} {p2:02X} {p1:02X}, then from {start:02X} on");
                assert_marks(marks, expected, &context);
                if p3 < 0xF0 && p2 < 0xF0 {
                    let all = u64::MAX >> (64 - V::LEN);
                    let expected = if p1 < 0xF0 { expected } else { all };
                    assert_marks(marks_in_bmp, expected, &context);
                }
            }
        }
    }
}

#[inline(always)]
fn assert_marks<V: Vector>(marks: V, expected: u64, context: &dyn Fn() -> String) {
    let bits = marks.mark_bits();
    assert!(bits == expected, "{}: {bits:064b}, not {expected:064b}", context());
    assert!(marks.is_marked() == (bits != 0), "{}", context());
    let first = (bits != 0).then_some(bits.trailing_zeros() as usize);
    assert!(marks.first_mark_before(V::LEN) == first, "{}", context());
}

/// Pairs at the limits of the formulas: all `p2` with two values of `p3`, and all `p3` with two values of `p2`.
fn some() -> impl Iterator<Item = (u8, u8)> {
    let borders = |p3: u8| [(p3, 0x00), (p3, 0xE0)];
    (0..=0xFF).flat_map(|p2| [(0x00, p2), (0xF0, p2)]).chain((0..=0xFF).flat_map(borders))
}

fn all() -> impl Iterator<Item = (u8, u8)> {
    (0..=0xFF).flat_map(|p3| (0..=0xFF).map(move |p2| (p3, p2)))
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn every_lane_marks_what_its_formula_states() {
    check_lanes(some);
}

#[test]
#[ignore = "seconds in release mode, minutes without optimization"]
fn every_lane_marks_what_its_formula_states_for_all_2_to_the_32_quadruples() {
    check_lanes(all);
}

#[test]
fn statements_agree_with_the_grammar_after_well_formed_bytes() {
    fn state_after(bytes: &[u8]) -> Option<State> {
        // The first of the bytes may be in a sequence that started before it.
        [&b""[..], b"\xE1", b"\xF1", b"\xF1\x80"].into_iter().find_map(|before| {
            before.iter().chain(bytes).try_fold(State::BOUNDARY, |state, &byte| {
                match UTF_8.step(state, byte) {
                    Step::To(next) => Some(next),
                    Step::Rejected(_) => None,
                }
            })
        })
    }
    const BORDERS: [u8; 24] = [
        0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
        0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ];
    for p3 in BORDERS {
        for p2 in BORDERS {
            for p1 in BORDERS {
                let Some(state) = state_after(&[p3, p2, p1]) else { continue };
                for x in 0..=0xFF {
                    let expected = matches!(UTF_8.step(state, x), Step::Rejected(_));
                    // A byte that is never a lead is marked one byte later.
                    let expected = expected && !(state == State::BOUNDARY && is_never_a_lead(x));
                    let due = p2 >= 0xE0 || p3 >= 0xF0;
                    for states in [by_due_bytes, by_pairs] {
                        assert_eq!(states(due, p1, x), expected, "{p3:02X} {p2:02X} {p1:02X} {x:02X}");
                    }
                }
            }
        }
    }
}
