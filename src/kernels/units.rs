//! Conversions between encodings of one byte per character and the code units of UTF-16 and UTF-32.

use super::dispatch::Kernel;
use crate::encoding::Encoding;

/// A conversion between ISO 8859-1 or windows-1252 and UTF-16 or UTF-32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    is_widening: bool,
    bytes: usize,
    units: usize,
}

impl Conversion {
    /// Returns `None` for other encodings.
    pub(crate) const fn new(from: Encoding, to: Encoding) -> Option<Self> {
        match (index_of_bytes(from), index_of_units(from), index_of_bytes(to), index_of_units(to)) {
            (Some(bytes), _, _, Some(units)) => Some(Self { is_widening: true, bytes, units }),
            (_, Some(units), Some(bytes), _) => Some(Self { is_widening: false, bytes, units }),
            _ => None,
        }
    }

    /// Reads input and writes output while there are both. Stops at a character that the target does not have, and at
    /// ill-formed input. Returns the number of bytes read and the number of bytes written.
    pub(crate) fn run(self, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        self.run_by(Kernel::in_use(), input, output)
    }

    fn run_by(self, kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
        let units = kernel.units();
        let functions = if self.is_widening { &units.widen } else { &units.narrow };
        let convert = functions[self.bytes][self.units];
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { convert(input, output) }
    }
}

/// The first index of [`Units`](super::functions::Units).
const fn index_of_bytes(encoding: Encoding) -> Option<usize> {
    match encoding {
        Encoding::Latin1 => Some(0),
        Encoding::Windows1252 => Some(1),
        _ => None,
    }
}

/// The second index of [`Units`](super::functions::Units).
const fn index_of_units(encoding: Encoding) -> Option<usize> {
    match encoding {
        Encoding::Utf16Le => Some(0),
        Encoding::Utf16Be => Some(1),
        Encoding::Utf32Le => Some(2),
        Encoding::Utf32Be => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::windows_1252;
    use crate::rng::Rng;

    const BYTES: [Encoding; 2] = [Encoding::Latin1, Encoding::Windows1252];
    const UNITS: [Encoding; 4] = [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be];

    fn character(encoding: Encoding, byte: u8) -> u32 {
        if encoding == Encoding::Windows1252 { windows_1252(byte).into() } else { byte.into() }
    }

    fn unit(encoding: Encoding, value: u32) -> Vec<u8> {
        match encoding {
            Encoding::Utf16Le => (value as u16).to_le_bytes().to_vec(),
            Encoding::Utf16Be => (value as u16).to_be_bytes().to_vec(),
            Encoding::Utf32Le => value.to_le_bytes().to_vec(),
            _ => value.to_be_bytes().to_vec(),
        }
    }

    /// Converts with an output of `room` bytes, at an even and at an odd address. Checks that nothing is written before
    /// or after it.
    fn run(kernel: Kernel, [from, to]: [Encoding; 2], input: &[u8], room: usize) -> (usize, Vec<u8>) {
        let conversion = Conversion::new(from, to).expect("supported");
        let results = [0, 1].map(|start| {
            let mut out = vec![0xEE; start + room + 64];
            let end = start + room;
            let (read, written) = conversion.run_by(kernel, input, &mut out[start..end]);
            assert_eq!(out[end..], [0xEE; 64], "{kernel:?} writes after the end");
            assert_eq!(out[..start], [0xEE][..start], "{kernel:?} writes before the start");
            (read, out[start..start + written].to_vec())
        });
        let [even, odd] = results;
        assert_eq!(even, odd, "{kernel:?}");
        even
    }

    /// Checks both directions, with enough output space and with too little, and with half a unit at the end.
    fn check(kernel: Kernel, [bytes, units]: [Encoding; 2], input: &[u8]) {
        let width = unit(units, 0).len();
        let wide: Vec<u8> = input.iter().flat_map(|&byte| unit(units, character(bytes, byte))).collect();
        for (room, half) in [(input.len(), 0), (input.len() + 70, 1), (input.len() / 2, width - 1)] {
            let count = room.min(input.len());
            let (read, out) = run(kernel, [bytes, units], input, room * width + half);
            assert_eq!((read, &out[..]), (count, &wide[..count * width]), "{kernel:?} {bytes:?} {units:?}");
            let source = [&wide[..], &[0; 4][..half]].concat();
            let (read, out) = run(kernel, [units, bytes], &source, room);
            assert_eq!((read, &out[..]), (count * width, &input[..count]), "{kernel:?} {units:?} {bytes:?}");
        }
    }

    fn each_pair(mut check: impl FnMut(Kernel, [Encoding; 2])) {
        for kernel in Kernel::available() {
            for bytes in BYTES {
                for units in UNITS {
                    check(kernel, [bytes, units]);
                }
            }
        }
    }

    #[test]
    fn every_byte_at_every_position() {
        each_pair(|kernel, pair| {
            for byte in 0..=u8::MAX {
                let bytes: [u8; 131] = core::array::from_fn(|i| byte.wrapping_add(i as u8));
                check(kernel, pair, &bytes);
                // Bytes from 80 to 9F only in some vectors.
                let bytes: [u8; 131] = core::array::from_fn(|i| if i % 67 == 3 { byte } else { b'a' });
                check(kernel, pair, &bytes);
            }
            for position in 0..131 {
                for byte in [0x00, 0x7F, 0x80, 0x81, 0x93, 0x9F, 0xA0, 0xFF] {
                    let mut bytes = [b'a'; 131];
                    bytes[position] = byte;
                    check(kernel, pair, &bytes);
                }
            }
        });
    }

    #[test]
    fn every_length() {
        let mut rng = Rng::new(3);
        each_pair(|kernel, pair| {
            for len in 0..300 {
                let input: Vec<u8> = (0..len)
                    .map(|_| {
                        let byte = rng.next() as u8;
                        // In two thirds of the inputs few bytes are from 80 to 9F.
                        if len % 3 == 0 || rng.below(16) == 0 { byte } else { byte & !0x80 }
                    })
                    .collect();
                check(kernel, pair, &input);
            }
        });
    }

    /// Every UTF-16 code unit, and values of UTF-32 with one bit above them.
    #[test]
    fn narrow_stops_at_a_character_that_the_encoding_does_not_have() {
        each_pair(|kernel, [bytes, units]| {
            let filler = unit(units, u32::from(b'a'));
            let width = filler.len();
            let mut byte_of = [None; 0x1_0000];
            for byte in 0..=u8::MAX {
                byte_of[character(bytes, byte) as usize] = Some(byte);
            }
            let mut input = filler.repeat(100);
            let is_wide = width == 4;
            let bits = (16..32).filter(|_| is_wide).flat_map(|bit| [1 << bit, 1 << bit | 0x41]);
            for value in (0..=0xFFFF).chain(bits) {
                let mapped = byte_of.get(value as usize).copied().flatten();
                let position = value as usize % 97;
                input[position * width..][..width].copy_from_slice(&unit(units, value));
                let (read, out) = run(kernel, [units, bytes], &input, 100);
                match mapped {
                    Some(byte) => {
                        assert_eq!((read / width, out[position]), (100, byte), "{kernel:?} {value:X}")
                    }
                    None => {
                        assert_eq!((read / width, out.len()), (position, position), "{kernel:?} {value:X}")
                    }
                }
                input[position * width..][..width].copy_from_slice(&filler);
            }
        });
    }
    #[test]
    #[cfg(all(unix, feature = "codec"))]
    fn no_access_outside_the_input_and_the_output() {
        use crate::kernels::tests::guarded::{Guarded, slices};
        let (mut from, mut to) = (Guarded::new(4096), Guarded::new(4096));
        each_pair(|kernel, [bytes, units]| {
            for (len, at_end) in slices(200) {
                // In half of the inputs each byte is converted by itself.
                let input: Vec<u8> = (0..len).map(|i| if len % 2 == 0 { b'a' } else { i as u8 }).collect();
                let wide: Vec<u8> =
                    input.iter().flat_map(|&byte| unit(units, character(bytes, byte))).collect();
                for (source, target, pair) in
                    [(&input, &wide, [bytes, units]), (&wide, &input, [units, bytes])]
                {
                    for room in [target.len(), target.len() / 2] {
                        let (input, output) = (from.slice(source.len(), at_end), to.slice(room, at_end));
                        input.copy_from_slice(source);
                        let conversion = Conversion::new(pair[0], pair[1]).expect("supported");
                        let (_, written) = conversion.run_by(kernel, input, output);
                        assert_eq!(output[..written], target[..written], "{kernel:?} {pair:?} {len} {room}");
                    }
                }
            }
        });
    }
}
