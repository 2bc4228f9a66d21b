//! `JsonDecoder`: the same text and errors for any chunks, as the oracle, under every policy, and strings that serde_json
//! decodes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use test_support::json;
use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonStrings};
use utf8_codec::{ErrorPolicy, Subset, TextPiece};
use utf8_codec_fuzz::Input;

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let text = input.decoder();
    let policy = input.pick(5, EscapePolicy::ALL);
    let subset = input.pick(6, &[None, Some(&Subset::NO_NUL), Some(&Subset::I_JSON), Some(&Subset::BMP)]);
    let mut strings = JsonStrings::new().with_escape_policy(policy);
    if let Some(subset) = subset {
        strings = strings.with_subset(subset);
    }
    let mut decoder = JsonDecoder::with_decoder(text.clone()).with_strings(strings);
    let (mut out, mut errors) = (String::new(), Vec::new());
    let mut take = |piece: TextPiece<'_>| {
        if let TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) = piece {
            errors.push(json::error(error));
        }
        out.push_str(piece.text().unwrap_or_default());
    };
    for chunk in input.chunks() {
        decoder.feed(chunk).for_each(&mut take);
    }
    decoder.finish().for_each(&mut take);
    let is_text = errors.iter().all(|error| error.3);
    let expected = json::decode(input.bytes, text.clone(), policy, subset);
    assert_eq!((&out, &errors), (&expected.0, &expected.1));
    if is_text && policy == EscapePolicy::Replace && text.error_policy() == ErrorPolicy::Strict {
        assert_eq!(out.len(), input.bytes.len());
    }
    // A string that serde_json decodes has only escapes of characters.
    if let Ok(parsed) = serde_json::from_str::<String>(&out) {
        let whole = JsonDecoder::new().feed(out.as_bytes()).all(|piece| piece.text().is_ok());
        assert!(whole && str::from_utf8(parsed.as_bytes()).is_ok());
    }
});
