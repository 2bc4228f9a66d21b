//! Decodes groups of base64 symbols with NEON, a block of 64 symbols at a time. A vector has the first, second, third or
//! fourth symbols of 16 groups, and the store writes the three bytes of each group from three vectors, so that no byte is
//! moved to another lane.

use core::arch::aarch64::*;

use crate::arch::portable::base64 as portable;
use crate::as_chunks::{as_chunks, as_chunks_mut};
use crate::functions::LineForm;

/// The number of bytes in a vector.
const WIDTH: usize = 16;
/// The number of symbols that are decoded together.
const SYMBOLS: usize = 4 * WIDTH;
/// The number of bytes that they encode.
const DECODED: usize = 3 * WIDTH;

/// The mark of a symbol.
const SYMBOL: u8 = 0x40;

/// For each byte below 80, its value and [`SYMBOL`], or 0 if it is not a symbol.
static VALUES: [[u8; WIDTH]; 8] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [[0; WIDTH]; 8];
    let mut value = 0;
    while value < alphabet.len() {
        let symbol = alphabet[value] as usize;
        values[symbol / WIDTH][symbol % WIDTH] = SYMBOL | value as u8;
        value += 1;
    }
    values
};

/// The two halves of a table of the bytes below 80.
#[derive(Clone, Copy)]
struct Lookup {
    low: uint8x16x4_t,
    high: uint8x16x4_t,
}

impl Lookup {
    #[target_feature(enable = "neon")]
    #[inline]
    fn new(table: &'static [[u8; WIDTH]; 8]) -> Self {
        // SAFETY: each row of the table has 16 bytes.
        let [a, b, c, d, e, f, g, h] = table.each_ref().map(|row| unsafe { vld1q_u8(row.as_ptr()) });
        Self { low: uint8x16x4_t(a, b, c, d), high: uint8x16x4_t(e, f, g, h) }
    }

    /// Returns the entry of a byte, and 0 for those that are not below 80.
    #[target_feature(enable = "neon")]
    #[inline]
    fn of(self, x: uint8x16_t) -> uint8x16_t {
        // An index above 63 selects 0 in the first lookup, and nothing in the second one.
        vqtbx4q_u8(vqtbl4q_u8(self.low, x), self.high, veorq_u8(x, vdupq_n_u8(0x40)))
    }
}

/// Returns whether all of 64 bytes are symbols, and the 48 bytes that these encode.
///
/// # Safety
///
/// 64 bytes can be read.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn decode(values: Lookup, from: *const u8) -> (bool, uint8x16x3_t) {
    // SAFETY: the caller guarantees readable memory.
    let uint8x16x4_t(a, b, c, d) = unsafe { vld4q_u8(from) };
    let [a, b, c, d] = [a, b, c, d].map(|x| values.of(x));
    let marks = vandq_u8(vandq_u8(a, b), vandq_u8(c, d));
    // `vsli` keeps the low 2, 4 or 6 bits of each value; the mark above them is shifted out.
    let bytes = uint8x16x3_t(
        vsliq_n_u8::<2>(vshrq_n_u8::<4>(b), a),
        vsliq_n_u8::<4>(vshrq_n_u8::<2>(c), b),
        vsliq_n_u8::<6>(d, c),
    );
    (vminvq_u8(marks) >= SYMBOL, bytes)
}

/// Implements [`decode_base64`](crate::functions::Functions).
#[target_feature(enable = "neon")]
pub(crate) fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let values = Lookup::new(&VALUES);
    let blocks = as_chunks::<SYMBOLS>(symbols).0.iter().zip(as_chunks_mut::<DECODED>(out).0);
    let mut done = 0;
    for (block, room) in blocks {
        // SAFETY: a block has 64 bytes.
        let (are_symbols, bytes) = unsafe { decode(values, block.as_ptr()) };
        if !are_symbols {
            break;
        }
        // SAFETY: there is room for 48 bytes.
        unsafe { vst3q_u8(room.as_mut_ptr(), bytes) };
        done += SYMBOLS / 4;
    }
    done
}

/// Implements [`decode_base64_lines`](crate::functions::Functions). A line of more than 64 symbols is read
/// as two blocks, which overlap.
#[target_feature(enable = "neon")]
pub(crate) fn decode_lines(encoded: &[u8], out: &mut [u8], form: LineForm) -> usize {
    let Some(last) = form.symbols().checked_sub(SYMBOLS) else {
        return portable::decode_lines(encoded, out, form, portable::decode_groups);
    };
    let values = Lookup::new(&VALUES);
    let lines = (encoded.len() / form.encoded()).min(out.len() / form.decoded());
    for line in 0..lines {
        let start = line * form.encoded();
        // SAFETY: `lines` whole lines follow each other, and both blocks are inside the symbols of this line.
        let [(start_is_good, first), (end_is_good, second)] =
            [0, last].map(|at| unsafe { decode(values, encoded.as_ptr().add(start + at)) });
        if !(start_is_good & end_is_good) || !form.ends(&encoded[start..start + form.encoded()]) {
            return line;
        }
        // SAFETY: there is room for the bytes of `lines` lines, and both stores are inside those of this line.
        unsafe {
            let to = out.as_mut_ptr().add(line * form.decoded());
            vst3q_u8(to, first);
            vst3q_u8(to.add(last / 4 * 3), second);
        }
    }
    lines
}
