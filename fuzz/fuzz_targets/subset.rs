//! `Subset`: the decoder rejects exactly the characters outside the ranges.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::{ErrorKind, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_fuzz::{Input, decode};

static SUBSETS: [Subset; 9] = [
    Subset::ASCII,
    Subset::NO_CONTROLS,
    Subset::XML_CHARACTERS,
    Subset::UNICODE_ASSIGNABLES,
    Subset::MQTT_5,
    Subset::I_JSON,
    Subset::JSON_TEXT,
    Subset::YAML_PRINTABLE,
    Subset::new(&[0x41..=0x5A, 0x7FF..=0x800, 0xFFFF..=0x1_0000, 0x10_FFFF..=0x10_FFFF]),
];

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let subset = input.pick(5, &SUBSETS.each_ref());
    let (text, parts) = input.text();
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    let decoder = TextDecoder::new().with_subset(subset);

    let (inside, outside) = decode(decoder.clone(), &parts);
    let mut expected = Vec::new();
    for (offset, character) in text.char_indices().filter(|&(_, character)| !subset.contains(character)) {
        expected.push((offset as u64, ErrorKind::OutsideSubset, character.len_utf8() as u8));
    }
    let found: Vec<_> = outside.into_iter().map(|error| (error.offset, error.kind, error.len)).collect();
    assert_eq!(found, expected);
    assert_eq!(inside, text.chars().filter(|&character| subset.contains(character)).collect::<String>());

    let mut replaced = String::new();
    let mut decoder = decoder.with_error_policy(ErrorPolicy::ReplaceWith('#'));
    parts.iter().for_each(|part| decoder.feed_into(part, &mut replaced).expect("repaired"));
    let with = |character| if subset.contains(character) { character } else { '#' };
    assert_eq!(replaced, text.chars().map(with).collect::<String>());
});
