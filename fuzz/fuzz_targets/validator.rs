//! `Utf8Validator`: payloads in frames, masked or not, in one buffer or several, compared with std.
#![no_main]

use bytes::{Buf, Bytes};
use libfuzzer_sys::fuzz_target;
use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec_fuzz::Input;

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, key) = (input.chunks(), [data[5], data[6], data[7], data[0]]);
    let expected = core::str::from_utf8(input.bytes).map(drop).map_err(|error| error.valid_up_to() as u64);

    let (mut plain, mut segments) = (Utf8Validator::new(), Utf8Validator::new());
    let (mut masked, mut unmasked) = (Utf8Validator::new(), Utf8Validator::new());
    let (mut writing, mut reading, mut removing) = (Mask::new(key), Mask::new(key), Mask::new(key));
    for chunk in &chunks {
        let result = plain.validate(chunk);
        let mut payload = chunk.to_vec();
        writing.apply(&mut payload);
        assert_eq!(masked.validate_masked(&payload, &mut reading), result);
        assert_eq!(unmasked.unmask(&mut payload, &mut removing), result);
        assert_eq!(payload, *chunk);
        let (one, two) = chunk.split_at(chunk.len() / 2);
        assert_eq!(segments.validate_buf(Bytes::copy_from_slice(one).chain(two)), result);
        assert_eq!(plain.pending(), unmasked.pending());
    }
    for validator in [&mut plain, &mut masked, &mut unmasked, &mut segments] {
        assert_eq!(validator.finish().map_err(|error| error.offset), expected);
        assert_eq!(*validator, Utf8Validator::new());
    }
});
