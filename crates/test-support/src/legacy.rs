//! The legacy encodings, defined by one call of `encoding_rs` for the whole input.

use encoding_rs::{DecoderResult, EncoderResult};
use utf8_codec::{ErrorKind, ErrorPolicy};
use utf8_codec_encodings::Encoding;

use super::encodings::windows_1252;
use super::rng::Rng;

/// Returns the encoding with the same name.
pub fn tables(encoding: Encoding) -> &'static encoding_rs::Encoding {
    encoding_rs::Encoding::for_label(encoding.name().as_bytes()).expect("a name of the standard")
}

/// A part of a decoded text: text, or the offset and the length of an ill-formed sequence.
pub type Part = Result<String, (u64, u8)>;

/// Decodes a whole input without BOM handling.
pub fn decode(encoding: Encoding, input: &[u8]) -> Vec<Part> {
    let mut decoder = tables(encoding).new_decoder_without_bom_handling();
    let (mut parts, mut read) = (Vec::new(), 0);
    loop {
        let mut text = String::with_capacity(decoder.max_utf8_buffer_length(input.len()).expect("short"));
        let (result, taken) = decoder.decode_to_string_without_replacement(&input[read..], &mut text, true);
        read += taken;
        if !text.is_empty() {
            parts.push(Ok(text));
        }
        match result {
            DecoderResult::InputEmpty => return parts,
            DecoderResult::OutputFull => panic!("there is space"),
            DecoderResult::Malformed(len, after) => {
                // Of two escape sequences in a row encoding_rs reports the first one, which was consumed.
                let after = if after == 3 { 0 } else { after };
                parts.push(Err(((read - usize::from(after) - usize::from(len)) as u64, len)));
            }
        }
    }
}

/// Returns the text under a policy.
pub fn repair(parts: &[Part], input: &[u8], policy: ErrorPolicy) -> String {
    let replacement = |&(at, len): &(u64, u8)| -> String {
        let bytes = input[at as usize..][..len.into()].iter();
        match policy {
            ErrorPolicy::Replace | ErrorPolicy::ReplaceAsJava => "\u{FFFD}".into(),
            ErrorPolicy::ReplaceWith(character) => character.into(),
            ErrorPolicy::Substitute(ascii) => bytes.map(|_| char::from(ascii)).collect(),
            ErrorPolicy::Escape => bytes.map(|byte| format!("\\x{byte:02x}")).collect(),
            ErrorPolicy::Latin1 => bytes.map(|&byte| char::from(byte)).collect(),
            ErrorPolicy::Windows1252 => {
                bytes.filter_map(|&byte| char::from_u32(windows_1252(byte))).collect()
            }
            _ => String::new(),
        }
    };
    parts.iter().map(|part| part.as_ref().map_or_else(replacement, Clone::clone)).collect()
}

/// Encodes a whole text. Returns the bytes, and the offset and the length of each character that the encoding does not
/// have, which is replaced by `replace`.
pub fn encode(encoding: Encoding, text: &str, replace: fn(char) -> String) -> (Vec<u8>, Vec<(u64, u8)>) {
    let (mut out, mut missing) = (Vec::new(), Vec::new());
    let mut encoder = tables(encoding).new_encoder();
    let mut put = |text: &str, last: bool, out: &mut Vec<u8>| {
        let mut buffer = vec![0; 4 * text.len() + 16];
        let (result, _, written) = encoder.encode_from_utf8_without_replacement(text, &mut buffer, last);
        out.extend_from_slice(&buffer[..written]);
        result == EncoderResult::InputEmpty
    };
    for (at, character) in text.char_indices() {
        let mut buffer = [0; 4];
        if !put(character.encode_utf8(&mut buffer), false, &mut out) {
            missing.push((at as u64, character.len_utf8() as u8));
            put(&replace(character), false, &mut out);
        }
    }
    put("", true, &mut out);
    (out, missing)
}

/// Returns every sequence of the encoding: those that are decoded without an error, alone or after the escape sequence
/// of their set.
pub fn index(encoding: Encoding) -> Vec<Vec<u8>> {
    let is_whole = |bytes: &[u8]| !bytes.is_empty() && decode(encoding, bytes).iter().all(Result::is_ok);
    let single = (0..=255).map(|byte| vec![byte]);
    if encoding == Encoding::Iso2022Jp {
        let mut sets = Vec::new();
        for set in [&b"\x1B(B"[..], b"\x1B(J", b"\x1B(I"] {
            sets.push([set, &(0x21..0x60).filter(|byte| *byte != 0x1B).collect::<Vec<u8>>()].concat());
        }
        let pairs = (0x21..0x7F).flat_map(|lead| (0x21..0x7F).map(move |trail| [lead, trail]));
        let pairs = pairs.filter(|pair| is_whole(&[b"\x1B$B", &pair[..]].concat()));
        sets.push([b"\x1B$B".to_vec(), pairs.flatten().collect()].concat());
        return sets;
    }
    let mut all: Vec<Vec<u8>> = single.filter(|bytes| is_whole(bytes)).collect();
    if tables(encoding).is_single_byte() {
        return all;
    }
    let leads: Vec<u8> = (0x80..=0xFF).filter(|&lead| !is_whole(&[lead])).collect();
    for &lead in &leads {
        all.extend((0x30..=0xFF).map(|trail| vec![lead, trail]).filter(|bytes| is_whole(bytes)));
    }
    if encoding == Encoding::EucJp {
        let pairs = (0xA1..=0xFE).flat_map(|one| (0xA1..=0xFE).map(move |two| vec![0x8F, one, two]));
        all.extend(pairs.filter(|bytes| is_whole(bytes)));
    }
    if matches!(encoding, Encoding::Gbk | Encoding::Gb18030) {
        let fours = (0..126 * 10 * 126 * 10).step_by(61).map(|at: u32| {
            let digit = |value: u32| 0x30 + (value % 10) as u8;
            let letter = |value: u32| 0x81 + (value % 126) as u8;
            vec![letter(at / 12_600), digit(at / 1260), letter(at / 10), digit(at)]
        });
        all.extend(fours.filter(|bytes| is_whole(bytes)));
    }
    all
}

/// Random bytes that are often almost well-formed.
pub fn dirty(rng: &mut Rng, index: &[Vec<u8>], len: usize) -> Vec<u8> {
    #[rustfmt::skip]
    const PARTS: [&[u8]; 16] = [
        b"a", b"\n", b"\x1B", b"\x1B(B", b"\x1B(J", b"\x1B(I", b"\x1B$B", b"\x1B$@", b"\x1B$", b"\x88\x62", b"\x80",
        b"\x81", b"0", b"\x8F\xA1", b"\xFE", b"\x81\x30\x81",
    ];
    let mut out = Vec::new();
    while out.len() < len {
        match rng.below(8) {
            0 => out.push(rng.next() as u8),
            1 => out.extend(PARTS[rng.below(PARTS.len())]),
            2 => out.extend([
                0x81 + rng.below(126) as u8,
                0x30 + rng.below(10) as u8,
                0x81 + rng.below(126) as u8,
            ]),
            _ => {
                let sequence = &index[rng.below(index.len())];
                let start = rng.below(sequence.len());
                out.extend(&sequence[start..sequence.len().min(start + 8)]);
            }
        }
    }
    out.truncate(len);
    out
}

/// The errors of a strict transcoder, without their kinds.
pub fn places(errors: &[(u64, ErrorKind, u8)]) -> Vec<(u64, u8)> {
    errors.iter().map(|&(at, _, len)| (at, len)).collect()
}
