//! Groups of base64 symbols (RFC 4648 §4) to bytes, in bulk.

use super::dispatch::Kernel;

/// The mark for a byte that is not a symbol. It is set in the value of no symbol.
const BAD: u32 = 1 << 31;

/// The value of a symbol at each position of a group; [`BAD`] for a byte that is not a symbol.
static VALUES: [[u32; 256]; 4] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [[BAD; 256]; 4];
    let mut value = 0;
    while value < 64 {
        let mut position = 0;
        while position < 4 {
            values[position][alphabet[value] as usize] = (value as u32) << (18 - 6 * position);
            position += 1;
        }
        value += 1;
    }
    values
};

/// Returns the 6 bits of a symbol, or `None` for any other byte.
#[inline]
pub(crate) fn symbol(byte: u8) -> Option<u32> {
    let value = VALUES[3][usize::from(byte)];
    (value != BAD).then_some(value)
}

/// Decodes groups of four symbols to three bytes each. Stops before the first group with a byte that is not a symbol,
/// and at the end of `symbols` or `out`. Returns the number of groups decoded.
///
/// Bytes of `out` after the decoded ones may be overwritten.
#[inline]
pub(crate) fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let done = Kernel::in_use().decode_base64(symbols, out);
    done + decode_groups_portable(&symbols[done * 4..], &mut out[done * 3..])
}

fn decode_groups_portable(symbols: &[u8], out: &mut [u8]) -> usize {
    let mut done = 0;
    for (symbols, out) in symbols.chunks_exact(8).zip(out.chunks_exact_mut(6)) {
        let (high, low) = (group(&symbols[..4]), group(&symbols[4..]));
        if (high | low) & BAD != 0 {
            break;
        }
        let bits = u64::from(high) << 24 | u64::from(low);
        out.copy_from_slice(&bits.to_be_bytes()[2..]);
        done += 2;
    }
    for (symbols, out) in symbols[done * 4..].chunks_exact(4).zip(out[done * 3..].chunks_exact_mut(3)) {
        let bits = group(symbols);
        if bits & BAD != 0 {
            break;
        }
        out.copy_from_slice(&bits.to_be_bytes()[1..]);
        done += 1;
    }
    done
}

/// Returns the 24 bits of a group. [`BAD`] is set if a byte is not a symbol.
#[inline]
fn group(symbols: &[u8]) -> u32 {
    VALUES[0][usize::from(symbols[0])]
        | VALUES[1][usize::from(symbols[1])]
        | VALUES[2][usize::from(symbols[2])]
        | VALUES[3][usize::from(symbols[3])]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes with each kernel of this CPU, and with the portable loop after it.
    fn check(symbols: &[u8], room: usize) {
        let mut expected = [0; 512];
        let groups = decode_groups_portable(symbols, &mut expected[..room]);
        for kernel in Kernel::available() {
            let mut out = [0xEE; 512];
            let done = kernel.decode_base64(symbols, &mut out[..room]);
            assert!(done <= groups, "{kernel:?}");
            let rest = decode_groups_portable(&symbols[done * 4..], &mut out[done * 3..room]);
            assert_eq!((done + rest, &out[..groups * 3]), (groups, &expected[..groups * 3]), "{kernel:?}");
            assert!(out[room..].iter().all(|&byte| byte == 0xEE), "{kernel:?} writes after the end");
        }
        let mut out = [0; 512];
        assert_eq!(decode_groups(symbols, &mut out[..room]), groups);
        assert_eq!(out[..groups * 3], expected[..groups * 3]);
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
}
