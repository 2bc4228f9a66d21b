//! Decodes groups of base64 symbols, with a table for each position in a group.

use crate::functions::LineForm;

/// The mark for a byte that is not a symbol. The values of symbols do not contain it.
const BAD: u32 = 1 << 31;

/// For each position in a group and each byte, the value of the symbol, shifted to its bits in the group; [`BAD`] for a
/// byte that is not a symbol.
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

/// A safe [`decode_base64`](crate::functions::Functions). Stops at the first group with a byte that is not a
/// symbol.
pub(crate) fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let mut done = 0;
    for (symbols, out) in symbols.chunks_exact(8).zip(out.chunks_exact_mut(6)) {
        let high = group(&symbols[..4]);
        let low = group(&symbols[4..]);
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

/// A safe [`decode_base64_lines`](crate::functions::Functions). `decode` decodes the groups of a line
/// and returns their number.
#[inline(always)]
pub(crate) fn decode_lines(
    encoded: &[u8],
    out: &mut [u8],
    form: LineForm,
    decode: impl Fn(&[u8], &mut [u8]) -> usize,
) -> usize {
    let mut done = 0;
    for line in encoded.chunks_exact(form.encoded()) {
        let out = &mut out[done * form.decoded()..];
        let symbols = &line[..form.symbols()];
        if out.len() < form.decoded() || !form.ends(line) || decode(symbols, out) * 4 < symbols.len() {
            break;
        }
        done += 1;
    }
    done
}
