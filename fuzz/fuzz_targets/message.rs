//! `MessageValidator`: the same verdict for every partition, within the limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec_fuzz::Input;
use utf8_codec_mail::{MessageValidator, MimeSettings};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let mut settings = MimeSettings::default();
    settings.lenient = input.pick(1, &[false, true]);
    settings.max_depth = input.pick(5, &[32, 0, 1, 3]);
    settings.max_parts = input.pick(6, &[1000, 0, 1, 5]);
    settings.max_header_length = input.pick(7, &[256 * 1024, 0, 20, 300]);
    settings.max_errors = input.pick(0, &[16, 0, 1, 2]);
    let validate = |chunks: &[&[u8]]| {
        let mut validator = MessageValidator::with_settings(settings);
        chunks.iter().for_each(|chunk| validator.push(chunk));
        assert_eq!(validator.offset(), input.bytes.len() as u64);
        validator.finish()
    };
    let verdict = validate(&[input.bytes]);
    assert_eq!(validate(&input.chunks()), verdict);
    assert!(verdict.parts.len() <= settings.max_parts.max(1));
    for part in &verdict.parts {
        assert!(part.errors().len() <= settings.max_errors && part.warnings().len() <= settings.max_errors);
        assert!(part.error_count() >= part.errors().len() as u64);
        assert_eq!(part.is_ok(), part.error_count() == 0);
    }
});
