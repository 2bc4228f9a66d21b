//! Grammar rows of the encodings that resemble UTF-8.
//!
//! In the encodings with surrogates (CESU-8, Modified UTF-8, WTF-8) each surrogate is a sequence of 3 bytes, and the
//! rows allow it alone. `transcode` joins the pairs, as it does for UTF-16.

use super::grammar::{Machine, TAIL, reject_lead, reject_second, row};
use crate::error::ErrorKind;

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
        reject_lead(TAIL,                 ErrorKind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         ErrorKind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), ErrorKind::Overlong),
        reject_second(0xED, (0xA0, 0xBF), ErrorKind::Surrogate),
        reject_second(0xF0, (0x80, 0x8F), ErrorKind::Overlong),
        reject_second(0xF8, (0x80, 0x87), ErrorKind::Overlong),
        reject_second(0xFC, (0x80, 0x83), ErrorKind::Overlong),
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
        reject_lead(TAIL,                 ErrorKind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         ErrorKind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), ErrorKind::Overlong),
        reject_second(0xF0, (0x80, 0x8F), ErrorKind::Overlong),
        reject_second(0xF8, (0x80, 0x87), ErrorKind::Overlong),
        reject_second(0xFC, (0x80, 0x83), ErrorKind::Overlong),
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
        reject_lead(TAIL,                 ErrorKind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         ErrorKind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), ErrorKind::Overlong),
        reject_lead((0xF5, 0xFD),         ErrorKind::AboveMax),
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
        reject_lead(TAIL,                 ErrorKind::UnexpectedContinuation),
        reject_second(0xC0, (0x81, 0xBF), ErrorKind::Overlong),
        reject_lead((0xC1, 0xC1),         ErrorKind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), ErrorKind::Overlong),
        reject_lead((0xF5, 0xFD),         ErrorKind::AboveMax),
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
        reject_lead(TAIL,                 ErrorKind::UnexpectedContinuation),
        reject_second(0xC0, (0x81, 0xBF), ErrorKind::Overlong),
        reject_lead((0xC1, 0xC1),         ErrorKind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), ErrorKind::Overlong),
        reject_second(0xF0, (0x80, 0x8F), ErrorKind::Overlong),
        reject_second(0xF4, (0x90, 0xBF), ErrorKind::AboveMax),
        reject_lead((0xF5, 0xFD),         ErrorKind::AboveMax),
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
        reject_lead(TAIL,                 ErrorKind::UnexpectedContinuation),
        reject_lead((0xC0, 0xC1),         ErrorKind::Overlong),
        reject_second(0xE0, (0x80, 0x9F), ErrorKind::Overlong),
        reject_second(0xF0, (0x80, 0x8F), ErrorKind::Overlong),
        reject_second(0xF4, (0x90, 0xBF), ErrorKind::AboveMax),
        reject_lead((0xF5, 0xFD),         ErrorKind::AboveMax),
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

#[cfg(test)]
mod tests {
    use super::super::grammar::{State, Step, UTF_8};
    use super::*;

    /// An encoding, described without rows.
    struct Definition {
        machine: &'static Machine,
        /// Whether U+0000 is the byte `00`, and whether it is `C0 80`.
        nul: (bool, bool),
        surrogates: bool,
        /// The maximum value, and the length of its sequence.
        max: (u32, u32),
    }

    const UNICODE: (u32, u32) = (0x10_FFFF, 4);
    const UCS: (u32, u32) = (0x7FFF_FFFF, 6);
    const BMP: (u32, u32) = (0xFFFF, 3);

    #[rustfmt::skip]
    static DEFINITIONS: [Definition; 7] = [
        Definition { machine: &UTF_8,                  nul: (true,  false), surrogates: false, max: UNICODE },
        Definition { machine: &UCS_4,                  nul: (true,  false), surrogates: false, max: UCS },
        Definition { machine: &UCS_4_AND_SURROGATES,   nul: (true,  false), surrogates: true,  max: UCS },
        Definition { machine: &CESU_8,                 nul: (true,  false), surrogates: true,  max: BMP },
        Definition { machine: &MODIFIED_UTF_8,         nul: (false, true),  surrogates: true,  max: BMP },
        Definition { machine: &LENIENT_MODIFIED_UTF_8, nul: (true,  true),  surrogates: true,  max: UNICODE },
        Definition { machine: &WTF_8,                  nul: (true,  false), surrogates: true,  max: UNICODE },
    ];

    impl Definition {
        /// Returns the kind of error of a byte at the start of a sequence.
        fn lead_error(&self, lead: u8) -> Option<ErrorKind> {
            match lead {
                0x00 if !self.nul.0 => Some(ErrorKind::InvalidLead),
                0x80..=0xBF => Some(ErrorKind::UnexpectedContinuation),
                0xC0 if self.nul.1 => None,
                0xC0 | 0xC1 => Some(ErrorKind::Overlong),
                // The leads of 4 bytes in UTF-8.
                0xF0..=0xF4 if self.max.1 < 4 => Some(ErrorKind::InvalidLead),
                0xF5..=0xFD if self.max.1 < 6 => Some(ErrorKind::AboveMax),
                0xFE | 0xFF => Some(ErrorKind::InvalidLead),
                _ => None,
            }
        }

        /// Returns the kind of error of a byte after a lead byte of a sequence of `len` bytes.
        fn second_error(&self, lead: u8, second: u8, len: u32) -> Option<ErrorKind> {
            if !(0x80..=0xBF).contains(&second) {
                return Some(ErrorKind::MissingContinuation);
            }
            let free_bits = 6 * (len - 2);
            let start = u32::from(lead & 0x7F >> len) << 6 | u32::from(second & 0x3F);
            // The values of the sequences that start with these two bytes.
            let values = start << free_bits..=(start << free_bits | ((1 << free_bits) - 1));
            let min = [0x80, 0x800, 0x1_0000, 0x20_0000, 0x400_0000][len as usize - 2];
            match values {
                _ if self.nul.1 && (lead, second) == (0xC0, 0x80) => None,
                _ if *values.end() < min => Some(ErrorKind::Overlong),
                _ if *values.start() > self.max.0 => Some(ErrorKind::AboveMax),
                _ if (0xD800..=0xDFFF).contains(values.start()) && !self.surrogates => {
                    Some(ErrorKind::Surrogate)
                }
                _ => None,
            }
        }
    }

    #[test]
    fn every_pair_of_lead_and_second_byte_follows_the_definition() {
        for (index, definition) in DEFINITIONS.iter().enumerate() {
            let step = |state, byte| match definition.machine.step(state, byte) {
                Step::To(state) => Ok(state),
                Step::Rejected(kind) => Err(kind),
            };
            for lead in 0..=0xFF {
                let state = match (step(State::BOUNDARY, lead), definition.lead_error(lead)) {
                    (Ok(state), None) => state,
                    (after_lead, error) => {
                        assert_eq!(after_lead.err(), error, "{index}: {lead:02X}");
                        continue;
                    }
                };
                assert_eq!(state == State::BOUNDARY, lead < 0x80, "{index}: {lead:02X}");
                if lead < 0x80 {
                    continue;
                }
                let len = lead.leading_ones();
                for second in 0..=0xFF {
                    let after_second = step(state, second);
                    let error = definition.second_error(lead, second, len);
                    assert_eq!(after_second.err(), error, "{index}: {lead:02X} {second:02X}");
                    let Ok(mut state) = after_second else { continue };
                    for _ in 2..len {
                        let after: Vec<_> = (0..=0xFF).map(|byte| step(state, byte)).collect();
                        let (tail, other) = (&after[0x80..0xC0], [&after[..0x80], &after[0xC0..]].concat());
                        assert!(
                            tail.iter().all(|after| *after == tail[0]),
                            "{index}: {lead:02X} {second:02X}"
                        );
                        assert!(other.iter().all(|after| *after == Err(ErrorKind::MissingContinuation)));
                        state = tail[0].unwrap();
                    }
                    assert_eq!(state, State::BOUNDARY, "{index}: {lead:02X} {second:02X}");
                }
            }
        }
    }

    #[test]
    fn a_low_surrogate_has_three_bytes() {
        for lead in 0..=0xFF {
            for second in 0..=0xFF {
                for third in [0x7F, 0x80, 0xBF, 0xC0] {
                    let (len, error) = LOW_SURROGATE.walk(&[lead, second, third]);
                    let is_low =
                        lead == 0xED && matches!(second, 0xB0..=0xBF) && matches!(third, 0x80..=0xBF);
                    assert_eq!((len, error) == (3, None), is_low, "{lead:02X} {second:02X} {third:02X}");
                }
            }
        }
    }
}
