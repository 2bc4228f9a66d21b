//! Between UTF-8 and UTF-16, in bulk.

/// Code units that are looked at together to see whether they are ASCII.
const BLOCK: usize = 16;

/// Writes well-formed text as UTF-16: how many octets.
///
/// `dst` has two octets for each octet of `text`, or what does not fit is left out.
pub(crate) fn encode<const BIG_ENDIAN: bool>(text: &str, dst: &mut [u8]) -> usize {
    let mut written = 0;
    let mut rest = text;
    loop {
        let octets = rest.as_bytes();
        let mut ascii = 0;
        for (from, to) in octets.chunks_exact(BLOCK).zip(dst[written..].chunks_exact_mut(2 * BLOCK)) {
            if !from.is_ascii() {
                break;
            }
            for (&octet, unit) in from.iter().zip(to.chunks_exact_mut(2)) {
                unit.copy_from_slice(&order::<BIG_ENDIAN>(octet.into()));
            }
            ascii += BLOCK;
        }
        written += 2 * ascii;
        rest = &rest[ascii..];
        let mut characters = rest.chars();
        for _ in 0..BLOCK {
            let Some(character) = characters.next() else { return written };
            let mut units = [0; 2];
            for &mut unit in character.encode_utf16(&mut units) {
                let Some(place) = dst.get_mut(written..written + 2) else { return written };
                place.copy_from_slice(&order::<BIG_ENDIAN>(unit));
                written += 2;
            }
        }
        rest = characters.as_str();
    }
}

fn order<const BIG_ENDIAN: bool>(unit: u16) -> [u8; 2] {
    if BIG_ENDIAN { unit.to_be_bytes() } else { unit.to_le_bytes() }
}

/// Reads UTF-16 and writes UTF-8 while both last, up to an unpaired surrogate: octets taken and octets written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    let unit = |at: usize| -> Option<u16> {
        let octets = src.get(at..at + 2)?.first_chunk()?;
        Some(if BIG_ENDIAN { u16::from_be_bytes(*octets) } else { u16::from_le_bytes(*octets) })
    };
    while let Some(first) = unit(read) {
        let character = match char::from_u32(first.into()) {
            Some(character) => character,
            None => {
                let Some(second) = unit(read + 2) else { break };
                let Some(Ok(character)) = char::decode_utf16([first, second]).next() else { break };
                character
            }
        };
        let Some(place) = dst.get_mut(written..written + character.len_utf8()) else { break };
        character.encode_utf8(place);
        written += character.len_utf8();
        read += 2 * character.len_utf16();
    }
    (read, written)
}
