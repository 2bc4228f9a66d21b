//! Compares `Utf8Decoder` and `TextDecoder` with the naive decoder and std.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::{ErrorPolicy, Piece, TextDecoder, Utf8Decoder, from_utf8, from_utf8_lossy};
use utf8_codec_fuzz::support::oracle;
use utf8_codec_fuzz::{Input, decode};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (expected_text, expected_errors) = oracle::decode(input.bytes);
    let chunks = input.chunks();

    let (mut decoder, mut text, mut errors) = (Utf8Decoder::new(), String::new(), Vec::new());
    for chunk in &chunks {
        for piece in decoder.feed(chunk) {
            match piece {
                Piece::Text(good) => text.push_str(good),
                Piece::Seam(character) => text.push(character),
                Piece::IllFormed(error) => errors.push((error.offset, error.kind, error.len)),
            }
        }
    }
    assert_eq!(decoder.offset(), input.bytes.len() as u64);
    errors.extend(decoder.finish().err().map(|error| (error.offset, error.kind, error.len)));
    assert_eq!((&text, &errors), (&expected_text, &expected_errors));

    // Validation without pieces returns the same errors.
    let (mut decoder, mut errors) = (Utf8Decoder::new(), Vec::new());
    for chunk in &chunks {
        let (start, mut rest) = (decoder.offset(), *chunk);
        while let Err(error) = decoder.validate(rest) {
            errors.push((error.offset, error.kind, error.len));
            rest = &chunk[(decoder.offset() - start) as usize..];
        }
    }
    errors.extend(decoder.finish().err().map(|error| (error.offset, error.kind, error.len)));
    assert_eq!(errors, expected_errors);

    let whole = core::str::from_utf8(input.bytes);
    assert_eq!(
        from_utf8(input.bytes).map_err(|error| error.offset),
        whole.map_err(|error| error.valid_up_to() as u64)
    );
    let lossy = String::from_utf8_lossy(input.bytes);
    assert_eq!(from_utf8_lossy(input.bytes), lossy);
    assert_eq!(decode(TextDecoder::new().on_error(ErrorPolicy::Replace), &chunks).0, lossy);
});
