//! Any message in any chunks: the verdict on the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::mime::MessageValidator;

fuzz_target!(|input: (u8, &[u8])| {
    let (size, message) = input;
    let judge = |size: usize| {
        let mut validator = MessageValidator::new();
        message.chunks(size).for_each(|chunk| validator.feed(chunk));
        validator.finish()
    };
    assert_eq!(judge(usize::from(size).max(1)), judge(message.len().max(1)));
});
