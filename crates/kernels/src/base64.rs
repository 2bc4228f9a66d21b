//! Groups of base64 symbols (RFC 4648 §4) to bytes, in bulk.

use super::arch::base64 as portable;
use super::dispatch::Kernel;
pub use super::functions::LineForm;

/// Returns the 6 bits of a symbol, or `None` for any other byte.
#[inline]
pub fn symbol(byte: u8) -> Option<u32> {
    portable::symbol(byte)
}

/// Decodes groups of four symbols to three bytes each. Stops before the first group with a byte that is not a symbol,
/// and at the end of `symbols` or `out`. Returns the number of groups decoded.
///
/// Bytes of `out` after the decoded ones may be overwritten.
#[inline]
pub fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let done = Kernel::in_use().decode_base64(symbols, out);
    done + portable::decode_groups(&symbols[done * 4..], &mut out[done * 3..])
}

/// Decodes lines that all have this form. Stops before a line of another form, and at the end of `encoded` or `out`.
/// Returns the number of lines decoded.
///
/// Bytes of `out` after the decoded ones may be overwritten.
pub fn decode_lines(encoded: &[u8], out: &mut [u8], form: LineForm) -> usize {
    Kernel::in_use().decode_base64_lines(encoded, out, form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::guarded::Guarded;

    /// Input and output between pages that cannot be accessed.
    type Pages = [Guarded; 2];

    fn pages() -> Pages {
        [Guarded::new(4096), Guarded::new(4096)]
    }

    /// Compares each kernel of this CPU, followed by the portable loop for the rest, with the portable loop alone.
    fn check([from, to]: &mut Pages, symbols: &[u8], room: usize) {
        let mut expected = [0; 512];
        let groups = portable::decode_groups(symbols, &mut expected[..room]);
        let at_end = symbols.len() % 2 == room % 2;
        for kernel in Kernel::available() {
            let input = from.slice(symbols.len(), at_end);
            let out = to.slice(room, at_end);
            input.copy_from_slice(symbols);
            let done = kernel.decode_base64(input, out);
            assert!(done <= groups, "{kernel:?}");
            let rest = portable::decode_groups(&input[done * 4..], &mut out[done * 3..]);
            assert_eq!((done + rest, &out[..groups * 3]), (groups, &expected[..groups * 3]), "{kernel:?}");
        }
        let mut out = [0; 512];
        assert_eq!(decode_groups(symbols, &mut out[..room]), groups);
        assert_eq!(out[..groups * 3], expected[..groups * 3]);
    }

    /// Compares each kernel of this CPU with the portable loops.
    fn check_lines([from, to]: &mut Pages, encoded: &[u8], room: usize, form: LineForm) -> usize {
        let mut expected = [0; 512];
        let lines = portable::decode_lines(encoded, &mut expected[..room], form, portable::decode_groups);
        let at_end = encoded.len() % 2 == room % 2;
        for kernel in Kernel::available() {
            let input = from.slice(encoded.len(), at_end);
            let out = to.slice(room, at_end);
            input.copy_from_slice(encoded);
            let found = kernel.decode_base64_lines(input, out, form);
            let decoded = lines * form.decoded();
            assert_eq!((found, &out[..decoded]), (lines, &expected[..decoded]), "{kernel:?} {form:?}");
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
    fn no_access_with_lines_of_every_form_length_and_room() {
        let mut pages = pages();
        assert_eq!(forms().count(), 2 * 19);
        let step = if cfg!(miri) { 37 } else { 1 };
        for form in forms().step_by(if cfg!(miri) { 13 } else { 1 }) {
            let encoded = lines_of(form, 4);
            for len in (0..=encoded.len()).step_by(step) {
                assert_eq!(check_lines(&mut pages, &encoded[..len], 512, form), len / form.encoded());
            }
            for room in (0..=4 * form.decoded()).step_by(step) {
                assert_eq!(check_lines(&mut pages, &encoded, room, form), room / form.decoded());
            }
        }
    }

    #[test]
    fn every_byte_in_every_part_of_a_line() {
        let mut pages = pages();
        for form in [76, 64, 60, 4].into_iter().flat_map(|symbols| {
            [true, false].into_iter().filter_map(move |has_cr| LineForm::new(symbols, has_cr))
        }) {
            let encoded = lines_of(form, 2);
            for position in 0..encoded.len() {
                // Different bytes at each position.
                for byte in (0..=u8::MAX).skip(position % 5).step_by(5) {
                    let mut encoded = encoded.clone();
                    encoded[position] = byte;
                    check_lines(&mut pages, &encoded, 512, form);
                }
            }
        }
    }

    #[test]
    fn every_byte_at_every_position() {
        let mut pages = pages();
        let alphabet: [u8; 128] = core::array::from_fn(|i| {
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[i % 64]
        });
        for position in 0..alphabet.len() {
            for byte in 0..=u8::MAX {
                let mut symbols = alphabet;
                symbols[position] = byte;
                check(&mut pages, &symbols, 512);
            }
        }
    }

    #[test]
    fn no_access_with_groups_of_every_length_and_room() {
        let mut pages = pages();
        let symbols: [u8; 300] = core::array::from_fn(|i| b"Zm9vYmFyA+/9"[i % 12]);
        let step = if cfg!(miri) { 37 } else { 1 };
        for len in (0..symbols.len()).step_by(step) {
            check(&mut pages, &symbols[..len], 512);
            check(&mut pages, &symbols[300 - len..], len);
        }
        for room in (0..240).step_by(step) {
            check(&mut pages, &symbols, room);
        }
    }
}
