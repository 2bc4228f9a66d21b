//! `ContentType`: a parsed value is printed and parsed again to the same value. The position of an error is inside the
//! value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec_media::content_type::{Charset, ContentType, is_utf8_label};

fuzz_target!(|value: &[u8]| {
    for parse in [ContentType::parse, ContentType::parse_mail] {
        match parse(value) {
            Ok(parsed) => check(value, &parsed),
            Err(error) => assert!(error.position <= value.len()),
        }
    }
});

fn check(value: &[u8], parsed: &ContentType<'_>) {
    for token in [parsed.top(), parsed.subtype()] {
        assert!(!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(value.windows(token.len()).any(|window| window == token.as_bytes()));
    }
    match parsed.charset() {
        Charset::Utf8 => {
            let label = parsed.parameter("charset").unwrap_or_default();
            assert_eq!(Charset::for_label(label), Charset::Utf8);
        }
        Charset::Other(label) => assert!(!is_utf8_label(label)),
        Charset::Missing => assert_eq!(parsed.parameter("charset"), None),
        _ => assert!(parsed.parameters().count() > 0),
    }
    let mut printed = format!("{}/{}", parsed.top(), parsed.subtype()).into_bytes();
    for (name, value) in parsed.parameters() {
        if name.contains('*') || value.iter().any(|&byte| byte < b' ' && byte != b'\t' || byte == 0x7F) {
            return;
        }
        printed.extend_from_slice(format!("; {name}=\"").as_bytes());
        for &byte in value {
            if b"\"\\".contains(&byte) {
                printed.push(b'\\');
            }
            printed.push(byte);
        }
        printed.push(b'"');
    }
    let again = ContentType::parse(&printed).expect("quoted");
    assert!(again.parameters().eq(parsed.parameters()));
}
