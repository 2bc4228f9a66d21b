//! Any bytes in any chunks have the same text and errors as with std over the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::{ErrorPolicy, TextDecoder};

fuzz_target!(|chunks: Vec<&[u8]>| {
    let mut decoder = TextDecoder::new().on_error(ErrorPolicy::Replace);
    let mut text = String::new();
    for chunk in &chunks {
        decoder.feed(chunk).for_each(|piece| text.push_str(piece.text().expect("repaired")));
    }
    decoder.finish().into_iter().for_each(|piece| text.push_str(piece.text().expect("repaired")));
    let whole = chunks.concat();
    assert_eq!(text, String::from_utf8_lossy(&whole));
    assert_eq!(decoder.counters().total() == 0, std::str::from_utf8(&whole).is_ok());
});
