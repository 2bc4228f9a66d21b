//! Naive decoders for the encodings of mail with shifts, which process the whole input at once.

use utf8_codec::ErrorKind;

/// The offset, the length, and the code point or the kind of error.
pub type Decoded = (u64, u8, Result<u32, ErrorKind>);

/// A part of UTF-7.
#[derive(Clone, Copy, Debug)]
enum Part {
    Character(u32),
    Unit(u16),
    Open,
    Close,
    IllFormed(ErrorKind),
}

/// Returns every character of UTF-7 and every error.
pub fn decode_utf_7(input: &[u8]) -> Vec<Decoded> {
    let parts = parts_of_utf_7(input);
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(&(at, len, part)) = parts.get(next) {
        next += 1;
        let what = match part {
            Part::Open | Part::Close => continue,
            Part::Character(value) => Ok(value),
            Part::IllFormed(kind) => Err(kind),
            Part::Unit(unit @ 0xD800..=0xDBFF) => {
                let between = match parts[next..] {
                    [(.., Part::Close), (.., Part::Open), ..] => 2,
                    [(.., Part::Close)]
                    | [(.., Part::Close), (.., Part::IllFormed(ErrorKind::Truncated))] => 1,
                    _ => 0,
                };
                match parts.get(next + between) {
                    Some(&(low_at, low_len, Part::Unit(low @ 0xDC00..=0xDFFF))) => {
                        next += between + 1;
                        let value = 0x1_0000 + (u32::from(unit) - 0xD800) * 0x400 + u32::from(low) - 0xDC00;
                        found.push((at as u64, (low_at + low_len - at) as u8, Ok(value)));
                        continue;
                    }
                    None | Some((.., Part::IllFormed(ErrorKind::Truncated))) => {
                        found.push((at as u64, (input.len() - at) as u8, Err(ErrorKind::Truncated)));
                        return found;
                    }
                    _ => Err(ErrorKind::UnpairedSurrogate),
                }
            }
            Part::Unit(0xDC00..=0xDFFF) => Err(ErrorKind::UnpairedSurrogate),
            Part::Unit(unit) => Ok(unit.into()),
        };
        found.push((at as u64, len as u8, what));
    }
    found
}

/// Returns the offset, the length and the kind of every part. Together they are the input.
fn parts_of_utf_7(input: &[u8]) -> Vec<(usize, usize, Part)> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut parts = Vec::new();
    let mut at = 0;
    while at < input.len() {
        if input[at] != b'+' {
            let is_ascii = input[at] < 0x80;
            let part = if is_ascii {
                Part::Character(input[at].into())
            } else {
                Part::IllFormed(ErrorKind::InvalidLead)
            };
            parts.push((at, 1, part));
            at += 1;
            continue;
        }
        let start = at + 1;
        let len = input[start..].iter().take_while(|byte| ALPHABET.contains(byte)).count();
        let end = start + len;
        let interrupted =
            if end == input.len() { ErrorKind::Truncated } else { ErrorKind::MissingContinuation };
        let is_closed = input.get(end) == Some(&b'-');
        at = end + usize::from(is_closed);
        match (len, is_closed) {
            (0, true) => parts.push((start - 1, 2, Part::Character('+'.into()))),
            (0, false) => parts.push((start - 1, 1, Part::IllFormed(interrupted))),
            _ => {
                parts.push((start - 1, 1, Part::Open));
                let bits: String = input[start..end]
                    .iter()
                    .map(|byte| format!("{:06b}", ALPHABET.iter().position(|it| it == byte).expect("base64")))
                    .collect();
                let units = bits.len() / 16;
                // The base64 characters up to the end of a number of code units.
                let position = |units: usize| start + (16 * units).div_ceil(6);
                for unit in 0..units {
                    let value = u16::from_str_radix(&bits[16 * unit..16 * unit + 16], 2).expect("bits");
                    parts.push((position(unit), position(unit + 1) - position(unit), Part::Unit(value)));
                }
                if position(units) < end {
                    parts.push((position(units), end - position(units), Part::IllFormed(interrupted)));
                } else if bits[16 * units..].contains('1') {
                    parts.last_mut().expect("a code unit").2 = Part::IllFormed(interrupted);
                }
                if is_closed {
                    parts.push((end, 1, Part::Close));
                }
            }
        }
    }
    parts
}

/// Returns every character of ISO-2022-KR and every error.
pub fn decode_iso_2022_kr(input: &[u8]) -> Vec<Decoded> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut is_designated = false;
    let mut is_shifted = false;
    while let Some(&byte) = input.get(at) {
        let rest = &input[at..];
        if rest.starts_with(b"\x1B$)C") {
            is_designated = true;
            at += 4;
            continue;
        }
        let (len, what) = match byte {
            0x0E if is_designated => {
                is_shifted = true;
                at += 1;
                continue;
            }
            0x0F => {
                is_shifted = false;
                at += 1;
                continue;
            }
            0x1B if b"\x1B$)C".starts_with(rest) => (1, Err(ErrorKind::Truncated)),
            0x0E | 0x1B | 0x80.. => (1, Err(ErrorKind::InvalidLead)),
            b'!'..=b'~' if is_shifted => match rest.get(1) {
                None => (1, Err(ErrorKind::Truncated)),
                Some(&trail @ b'!'..=b'~') => {
                    let pair = [byte | 0x80, trail | 0x80];
                    let (text, is_wrong) = encoding_rs::EUC_KR.decode_without_bom_handling(&pair);
                    let character = text.chars().next().expect("a character");
                    (2, if is_wrong { Err(ErrorKind::Unassigned) } else { Ok(character.into()) })
                }
                Some(_) => (1, Err(ErrorKind::MissingContinuation)),
            },
            _ => (1, Ok(byte.into())),
        };
        is_shifted &= byte != b'\n';
        found.push((at as u64, len, what));
        at += usize::from(len);
    }
    found
}
