//! Any message in any chunks has the same verdict as the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::mime::MessageValidator;

fuzz_target!(|input: (u8, &[u8])| {
    let (size, message) = input;
    let validate = |size: usize| {
        let mut validator = MessageValidator::new();
        message.chunks(size).for_each(|chunk| validator.feed(chunk));
        validator.finish()
    };
    assert_eq!(validate(usize::from(size).max(1)), validate(message.len().max(1)));
});
