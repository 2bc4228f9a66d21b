//! Every way to decode text, under every policy: the same text, errors and counters for every partition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::TextDecoder;
use utf8_codec_fuzz::{Input, decode};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, new) = (input.chunks(), input.decoder());
    let expected = decode(new.clone(), &[input.bytes]);
    assert_eq!(decode(new.clone(), &chunks), expected);

    let counters = |feed: &dyn Fn(
        &mut TextDecoder,
        &[u8],
        &mut String,
    ) -> Result<(), (usize, utf8_codec::Utf8Error)>| {
        let (mut decoder, mut text, mut errors) = (new.clone(), String::new(), Vec::new());
        for chunk in &chunks {
            let mut rest = *chunk;
            while let Err((taken, error)) = feed(&mut decoder, rest, &mut text) {
                errors.push(error);
                rest = &rest[taken..];
            }
        }
        if let Some(piece) = decoder.finish() {
            piece.text().map_or_else(|error| errors.push(error), |good| text.push_str(good));
        }
        assert_eq!((&text, &errors), (&expected.0, &expected.1));
        assert_eq!(decoder.offset(), input.bytes.len() as u64);
        decoder.counters()
    };
    let appended = counters(&|decoder, chunk, text| {
        let before = decoder.offset();
        decoder.feed_into(chunk, text).map_err(|error| ((decoder.offset() - before) as usize, error))
    });
    let pushed = counters(&|decoder, chunk, text| match decoder.decode_chunk(chunk) {
        Ok(good) => Ok(text.push_str(&good)),
        Err(failed) => {
            text.push_str(&failed.text);
            Err((failed.read, failed.error))
        }
    });
    assert_eq!(appended, pushed);

    let mut ranges = new.clone();
    for chunk in &chunks {
        let mut end = 0;
        for (range, piece) in ranges.feed_ranges(chunk) {
            assert!(range.start >= end && range.end <= chunk.len(), "{range:?} after {end}");
            end = range.end;
            if let utf8_codec::TextPiece::Text(text) = piece {
                assert_eq!(text.as_bytes(), &chunk[range]);
            }
        }
    }
    match new.decode_whole(input.bytes) {
        Ok(text) => assert_eq!((text.as_ref(), 0), (expected.0.as_str(), expected.1.len())),
        Err(error) => assert_eq!(Some(&error), expected.1.first()),
    }
    let longest = new.error_policy().max_output_len(input.bytes.len() as u64).expect("no overflow");
    assert!(expected.0.len() as u64 <= longest);
});
