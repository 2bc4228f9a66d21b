//! Groups of base64 symbols (RFC 4648 §4) to bytes, in bulk.

use super::arch::base64 as portable;
use super::dispatch::Kernel;
pub(crate) use super::functions::LineForm;

/// Returns the 6 bits of a symbol, or `None` for any other byte.
#[inline]
pub(crate) fn symbol(byte: u8) -> Option<u32> {
    portable::symbol(byte)
}

/// Decodes groups of four symbols to three bytes each. Stops before the first group with a byte that is not a symbol,
/// and at the end of `symbols` or `out`. Returns the number of groups decoded.
///
/// Bytes of `out` after the decoded ones may be overwritten.
#[inline]
pub(crate) fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let done = Kernel::in_use().decode_base64(symbols, out);
    done + portable::decode_groups(&symbols[done * 4..], &mut out[done * 3..])
}

/// Decodes lines that all have this form. Stops before a line of another form, and at the end of `encoded` or `out`.
/// Returns the number of lines decoded.
///
/// Bytes of `out` after the decoded ones may be overwritten.
pub(crate) fn decode_lines(encoded: &[u8], out: &mut [u8], form: LineForm) -> usize {
    Kernel::in_use().decode_base64_lines(encoded, out, form)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares each kernel of this CPU, followed by the portable loop for the rest, with the portable loop alone.
    fn check(symbols: &[u8], room: usize) {
        let mut expected = [0; 512];
        let groups = portable::decode_groups(symbols, &mut expected[..room]);
        for kernel in Kernel::available() {
            let mut out = [0xEE; 512];
            let done = kernel.decode_base64(symbols, &mut out[..room]);
            assert!(done <= groups, "{kernel:?}");
            let rest = portable::decode_groups(&symbols[done * 4..], &mut out[done * 3..room]);
            assert_eq!((done + rest, &out[..groups * 3]), (groups, &expected[..groups * 3]), "{kernel:?}");
            assert!(out[room..].iter().all(|&byte| byte == 0xEE), "{kernel:?} writes after the end");
        }
        let mut out = [0; 512];
        assert_eq!(decode_groups(symbols, &mut out[..room]), groups);
        assert_eq!(out[..groups * 3], expected[..groups * 3]);
    }

    /// Compares each kernel of this CPU with the portable loops.
    fn check_lines(encoded: &[u8], room: usize, form: LineForm) -> usize {
        let mut expected = [0; 512];
        let lines = portable::decode_lines(encoded, &mut expected[..room], form, portable::decode_groups);
        for kernel in Kernel::available() {
            let mut out = [0xEE; 512];
            let found = kernel.decode_base64_lines(encoded, &mut out[..room], form);
            let decoded = lines * form.decoded();
            assert_eq!((found, &out[..decoded]), (lines, &expected[..decoded]), "{kernel:?} {form:?}");
            assert!(out[room..].iter().all(|&byte| byte == 0xEE), "{kernel:?} writes after the end");
        }
        lines
    }

    fn forms() -> impl Iterator<Item = LineForm> {
        (0..=80).flat_map(|symbols| [true, false].map(|has_cr| LineForm::new(symbols, has_cr))).flatten()
    }

    /// Returns `count` lines of this form, in an allocation of exactly their length.
    fn lines_of(form: LineForm, count: usize) -> Vec<u8> {
        let line: Vec<u8> = (0..form.symbols()).map(|i| b"Zm9vYmFyA+/9"[i % 12]).collect();
        [&line, form.line_break()].concat().repeat(count)
    }

    #[test]
    fn lines_of_every_form_at_every_length_and_room() {
        assert_eq!(forms().count(), 2 * 19);
        for form in forms() {
            let encoded = lines_of(form, 4);
            for len in 0..=encoded.len() {
                assert_eq!(check_lines(&encoded[..len], 512, form), len / form.len());
            }
            for room in 0..=4 * form.decoded() {
                assert_eq!(check_lines(&encoded, room, form), room / form.decoded());
            }
        }
    }

    #[test]
    fn every_byte_in_every_part_of_a_line() {
        for form in [76, 64, 60, 4].into_iter().flat_map(|symbols| {
            [true, false].into_iter().filter_map(move |has_cr| LineForm::new(symbols, has_cr))
        }) {
            let encoded = lines_of(form, 2);
            for position in 0..encoded.len() {
                // At each position other bytes.
                for byte in (0..=u8::MAX).skip(position % 5).step_by(5) {
                    let mut encoded = encoded.clone();
                    encoded[position] = byte;
                    check_lines(&encoded, 512, form);
                }
            }
        }
    }

    #[test]
    fn every_byte_at_every_position() {
        let alphabet: [u8; 128] = core::array::from_fn(|i| {
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[i % 64]
        });
        for position in 0..alphabet.len() {
            for byte in 0..=u8::MAX {
                let mut symbols = alphabet;
                symbols[position] = byte;
                check(&symbols, 512);
            }
        }
    }

    #[test]
    fn every_length_and_every_room() {
        let symbols: [u8; 300] = core::array::from_fn(|i| b"Zm9vYmFyA+/9"[i % 12]);
        for len in 0..symbols.len() {
            check(&symbols[..len], 512);
            check(&symbols[300 - len..], len);
        }
        for room in 0..240 {
            check(&symbols, room);
        }
    }

    #[test]
    fn no_access_outside_the_input_and_the_output() {
        use crate::kernels::tests::guarded::{Guarded, slices};
        let (mut from, mut to) = (Guarded::new(4096), Guarded::new(4096));
        let symbols: [u8; 300] = core::array::from_fn(|i| b"Zm9vYmFyA+/9"[i % 12]);
        let mut expected = [0; 512];
        let step = if cfg!(miri) { 9 } else { 1 };
        for kernel in Kernel::available() {
            for (len, at_end) in slices(symbols.len()) {
                for room in [len / 4 * 3, len, len / 2] {
                    let (input, output) = (from.slice(len, at_end), to.slice(room, at_end));
                    input.copy_from_slice(&symbols[..len]);
                    let done = 3 * kernel.decode_base64(input, output);
                    portable::decode_groups(input, &mut expected);
                    assert_eq!(output[..done], expected[..done], "{kernel:?} {len} {room}");
                }
            }
            for (form, at_end) in forms().step_by(step).flat_map(|form| [(form, false), (form, true)]) {
                let encoded = lines_of(form, 3);
                for len in (encoded.len() - form.len()..=encoded.len()).step_by(step) {
                    for room in [len / form.len() * form.decoded(), 3 * form.decoded() - 1] {
                        let (input, output) = (from.slice(len, at_end), to.slice(room, at_end));
                        input.copy_from_slice(&encoded[..len]);
                        let lines = kernel.decode_base64_lines(input, output, form);
                        assert_eq!(
                            lines,
                            (len / form.len()).min(room / form.decoded()),
                            "{kernel:?} {form:?}"
                        );
                    }
                }
            }
        }
    }
}
