//! Grammar rows of the encodings that resemble UTF-8.
//!
//! In the encodings with surrogates (CESU-8, Modified UTF-8, WTF-8) each surrogate is a sequence of 3 bytes, and the
//! rows allow it alone. The transcoder joins the pairs, as it does for UTF-16.

use kernels::grammar::{Kind, Machine, TAIL, reject_lead, reject_second, row};

/// RFC 2279 §2 and ISO/IEC 10646-1 Annex R, Table 4: one to six bytes, up to 7FFFFFFF, the shortest form only, no
/// surrogates (Annex R, Note 3).
#[rustfmt::skip]
pub(crate) static UCS_4: Machine = Machine::compile(
    &[
        row((0x00, 0x7F), TAIL,         1), // 0000 0000-0000 007F
        row((0xC2, 0xDF), TAIL,         2), // 0000 0080-0000 07FF
        row((0xE0, 0xE0), (0xA0, 0xBF), 3), // 0000 0800-0000 FFFF
        row((0xE1, 0xEC), TAIL,         3),
        row((0xED, 0xED), (0x80, 0x9F), 3),
        row((0xEE, 0xEF), TAIL,         3),
        row((0xF0, 0xF0), (0x90, 0xBF), 4), // 0001 0000-001F FFFF
        row((0xF1, 0xF7), TAIL,         4),
        row((0xF8, 0xF8), (0x88, 0xBF), 5), // 0020 0000-03FF FFFF
        row((0xF9, 0xFB), TAIL,         5),
        row((0xFC, 0xFC), (0x84, 0xBF), 6), // 0400 0000-7FFF FFFF
        row((0xFD, 0xFD), TAIL,         6),
    ],
    &[
        reject_lead(TAIL,                 Kind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         Kind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), Kind::Overlong),
        reject_second(0xED, (0xA0, 0xBF), Kind::Surrogate),
        reject_second(0xF0, (0x80, 0x8F), Kind::Overlong),
        reject_second(0xF8, (0x80, 0x87), Kind::Overlong),
        reject_second(0xFC, (0x80, 0x83), Kind::Overlong),
    ],
);

/// [`UCS_4`] with surrogates. Tables 4 and 5 of Annex R map them, and its Note 3 leaves them undefined.
#[rustfmt::skip]
pub(crate) static UCS_4_AND_SURROGATES: Machine = Machine::compile(
    &[
        row((0x00, 0x7F), TAIL,         1),
        row((0xC2, 0xDF), TAIL,         2),
        row((0xE0, 0xE0), (0xA0, 0xBF), 3),
        row((0xE1, 0xEF), TAIL,         3),
        row((0xF0, 0xF0), (0x90, 0xBF), 4),
        row((0xF1, 0xF7), TAIL,         4),
        row((0xF8, 0xF8), (0x88, 0xBF), 5),
        row((0xF9, 0xFB), TAIL,         5),
        row((0xFC, 0xFC), (0x84, 0xBF), 6),
        row((0xFD, 0xFD), TAIL,         6),
    ],
    &[
        reject_lead(TAIL,                 Kind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         Kind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), Kind::Overlong),
        reject_second(0xF0, (0x80, 0x8F), Kind::Overlong),
        reject_second(0xF8, (0x80, 0x87), Kind::Overlong),
        reject_second(0xFC, (0x80, 0x83), Kind::Overlong),
    ],
);

/// CESU-8 (Unicode Technical Report #26): each UTF-16 code unit encoded as in UTF-8. No sequence has 4 bytes.
#[rustfmt::skip]
pub(crate) static CESU_8: Machine = Machine::compile(
    &[
        row((0x00, 0x7F), TAIL,         1),
        row((0xC2, 0xDF), TAIL,         2),
        row((0xE0, 0xE0), (0xA0, 0xBF), 3),
        row((0xE1, 0xEF), TAIL,         3),
    ],
    &[
        reject_lead(TAIL,                 Kind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         Kind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), Kind::Overlong),
        reject_lead((0xF5, 0xFD),         Kind::AboveMax),
    ],
);

/// The encoding of `java.io.DataOutput.writeUTF`: CESU-8, with `C0 80` for U+0000.
#[rustfmt::skip]
pub(crate) static MODIFIED_UTF_8: Machine = Machine::compile(
    &[
        row((0x01, 0x7F), TAIL,         1),
        row((0xC0, 0xC0), (0x80, 0x80), 2),
        row((0xC2, 0xDF), TAIL,         2),
        row((0xE0, 0xE0), (0xA0, 0xBF), 3),
        row((0xE1, 0xEF), TAIL,         3),
    ],
    &[
        reject_lead(TAIL,                 Kind::UnexpectedContinuation),
        reject_second(0xC0, (0x81, 0xBF), Kind::Overlong),
        reject_lead((0xC1, 0xC1),         Kind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), Kind::Overlong),
        reject_lead((0xF5, 0xFD),         Kind::AboveMax),
    ],
);

/// [`MODIFIED_UTF_8`] as found in practice, which also has `00` for U+0000 and sequences of 4 bytes.
#[rustfmt::skip]
pub(crate) static LENIENT_MODIFIED_UTF_8: Machine = Machine::compile(
    &[
        row((0x00, 0x7F), TAIL,         1),
        row((0xC0, 0xC0), (0x80, 0x80), 2),
        row((0xC2, 0xDF), TAIL,         2),
        row((0xE0, 0xE0), (0xA0, 0xBF), 3),
        row((0xE1, 0xEF), TAIL,         3),
        row((0xF0, 0xF0), (0x90, 0xBF), 4),
        row((0xF1, 0xF3), TAIL,         4),
        row((0xF4, 0xF4), (0x80, 0x8F), 4),
    ],
    &[
        reject_lead(TAIL,                 Kind::UnexpectedContinuation),
        reject_second(0xC0, (0x81, 0xBF), Kind::Overlong),
        reject_lead((0xC1, 0xC1),         Kind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), Kind::Overlong),
        reject_second(0xF0, (0x80, 0x8F), Kind::Overlong),
        reject_second(0xF4, (0x90, 0xBF), Kind::AboveMax),
        reject_lead((0xF5, 0xFD),         Kind::AboveMax),
    ],
);

/// The "generalized UTF-8" of the WTF-8 specification (§3.2): UTF-8 with surrogates.
#[rustfmt::skip]
pub(crate) static WTF_8: Machine = Machine::compile(
    &[
        row((0x00, 0x7F), TAIL,         1),
        row((0xC2, 0xDF), TAIL,         2),
        row((0xE0, 0xE0), (0xA0, 0xBF), 3),
        row((0xE1, 0xEF), TAIL,         3),
        row((0xF0, 0xF0), (0x90, 0xBF), 4),
        row((0xF1, 0xF3), TAIL,         4),
        row((0xF4, 0xF4), (0x80, 0x8F), 4),
    ],
    &[
        reject_lead(TAIL,                 Kind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         Kind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), Kind::Overlong),
        reject_second(0xF0, (0x80, 0x8F), Kind::Overlong),
        reject_second(0xF4, (0x90, 0xBF), Kind::AboveMax),
        reject_lead((0xF5, 0xFD),         Kind::AboveMax),
    ],
);

/// A low surrogate, in 3 bytes. It must follow a high surrogate.
pub(crate) static LOW_SURROGATE: Machine = Machine::compile(&[row((0xED, 0xED), (0xB0, 0xBF), 3)], &[]);

/// Writes the shortest sequence of a value up to 7FFFFFFF (Annex R, Table 4), and returns its length.
#[inline]
pub(crate) fn encode(value: u32, sequence: &mut [u8; 6]) -> usize {
    let len = match value {
        0..0x80 => {
            sequence[0] = value as u8;
            return 1;
        }
        0x80..0x800 => 2,
        0x800..0x1_0000 => 3,
        0x1_0000..0x20_0000 => 4,
        0x20_0000..0x400_0000 => 5,
        _ => 6,
    };
    let mut rest = value;
    for byte in sequence[1..len].iter_mut().rev() {
        *byte = 0x80 | (rest & 0x3F) as u8;
        rest >>= 6;
    }
    // The lead byte of a sequence of n bytes starts with n one bits and a zero bit.
    sequence[0] = !(0xFF_u8 >> len) | rest as u8;
    len
}
