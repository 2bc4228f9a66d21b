//! Compares `Utf8Decoder`, `TextDecoder` and the functions for whole input with the naive decoder and std.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::{ErrorPolicy, Piece, TextDecoder, Utf8Decoder, from_utf8, from_utf8_lossy};
use utf8_codec::many::{ValidateManyError, validate_many};
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
    assert_eq!(decode(TextDecoder::new().with_error_policy(ErrorPolicy::Replace), &chunks).0, lossy);

    // The chunks are strings of one buffer. One of their offsets may be another one.
    let mut offsets = vec![0];
    for chunk in &chunks {
        offsets.push(offsets[offsets.len() - 1] + chunk.len());
    }
    let at = input.pick(5, &[0, 1, 2, 5, 17, 63, 127, 128]) % offsets.len();
    offsets[at] =
        offsets[at].wrapping_add(input.pick(6, &[0, 0, 1, 3, 100, 10_000, usize::MAX, usize::MAX - 2]));
    let first_error = offsets.windows(2).enumerate().find_map(|(index, ends)| {
        let Some(string) = input.bytes.get(ends[0]..ends[1]) else {
            return Some(ValidateManyError::OutOfRange { index });
        };
        from_utf8(string).err().map(|error| ValidateManyError::IllFormed { index, error })
    });
    assert_eq!(validate_many(input.bytes, &offsets).err(), first_error);
});
