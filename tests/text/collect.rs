//! `TextDecoder::feed_into` and `decode` return the same text as `feed`.

use std::borrow::Cow;

use utf8_codec::{
    BomPolicy, Counters, ErrorPolicy, Subset, TextDecoder, TextPiece, Utf8Error, from_utf8_lossy,
};

use crate::support::{Rng, policies};

/// Returns the text, the errors that the policy did not repair, and the counters, by `feed_into`. After each error it
/// is called with the rest of the chunk.
fn collected(mut decoder: TextDecoder, chunks: &[&[u8]]) -> (String, Vec<Utf8Error>, Counters) {
    let (mut text, mut errors) = (String::new(), Vec::new());
    for chunk in chunks {
        let start = decoder.offset();
        let taken = |decoder: &TextDecoder| (decoder.offset() - start) as usize;
        while let Err(error) = decoder.feed_into(&chunk[taken(&decoder)..], &mut text) {
            errors.push(error);
        }
        assert_eq!(taken(&decoder), chunk.len());
    }
    if let Some(end) = decoder.finish() {
        match end.text() {
            Ok(good) => text.push_str(good),
            Err(error) => errors.push(error),
        }
    }
    (text, errors, decoder.counters())
}

/// Same as `collected`, but by `feed`.
fn fed(mut decoder: TextDecoder, chunks: &[&[u8]]) -> (String, Vec<Utf8Error>, Counters) {
    let (mut text, mut errors) = (String::new(), Vec::new());
    let mut note = |piece: TextPiece<'_>| match piece.text() {
        Ok(good) => text.push_str(good),
        Err(error) => errors.push(error),
    };
    chunks.iter().for_each(|chunk| decoder.feed(chunk).for_each(&mut note));
    decoder.finish().into_iter().for_each(&mut note);
    (text, errors, decoder.counters())
}

#[test]
fn feed_into_appends_the_same_text_as_feed() {
    let mut rng = Rng::new(12);
    let boms = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject];
    for round in 0..100 {
        // Many errors with increasing lengths of text between them.
        let mut input = rng.dirty_text(1 + round % 64);
        for longest in [0, 10, 20, 30, 60, 250] {
            let good = ["z", "\u{436}", "\u{4E00}", "a\u{E9}"][rng.below(4)].repeat(rng.below(longest + 1));
            input.extend_from_slice(good.as_bytes());
            let len = rng.below(24);
            input.extend_from_slice(&rng.dirty_text(len));
        }
        if round % 3 == 0 {
            input.splice(..0, *b"\xEF\xBB\xBF");
        }
        for policy in policies() {
            for bom in boms {
                for subset in [None, Some(&Subset::BMP), Some(&Subset::NO_CONTROLS)] {
                    let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
                    let decoder = subset.map_or(decoder.clone(), |subset| decoder.with_subset(subset));
                    let expected = fed(decoder.clone(), &[&input]);
                    let len = rng.below(input.len()) + 1;
                    let cut = rng.below(input.len());
                    let (front, back) = input.split_at(cut);
                    for chunks in [vec![&input[..]], input.chunks(len).collect(), vec![front, b"", back]] {
                        let got = collected(decoder.clone(), &chunks);
                        assert_eq!(got, expected, "{policy:?} {bom:?} {subset:?} {chunks:02X?}");
                    }
                }
            }
        }
    }
}

#[test]
fn feed_into_appends_the_text_of_feed_after_an_error() {
    const BYTES: [u8; 18] = [
        0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF3, 0xF4,
        0xF5,
    ];
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Escape);
    // After the first error, far from the end of the chunk, the bytes are decoded one sequence at a time.
    let mut input = *b"\xFFabcd....................";
    for i in 0..BYTES.len().pow(4) {
        for (place, byte) in input[1..5].iter_mut().enumerate() {
            *byte = BYTES[i / BYTES.len().pow(place as u32) % BYTES.len()];
        }
        assert_eq!(collected(decoder.clone(), &[&input]), fed(decoder.clone(), &[&input]), "{input:02X?}");
    }
}

#[test]
fn feed_into_appends_long_text() {
    // The text is copied in parts, which may end inside a character.
    for count in [682, 683, 684, 1365, 1366, 3000] {
        let (input, mut text) = ("\u{4E00}".repeat(count), "a".to_owned());
        TextDecoder::new().feed_into(input.as_bytes(), &mut text).expect("well-formed");
        assert_eq!(text[1..], input);
    }
}

/// The text between errors is collected in a buffer of 1 KiB.
#[test]
fn feed_into_loses_no_text_at_the_end_of_its_buffer() {
    for len in 0..64 {
        let input = [&b"\xFF"[..], &vec![b'a'; len]].concat().repeat(100);
        let mut text = String::new();
        TextDecoder::new()
            .with_error_policy(ErrorPolicy::Replace)
            .feed_into(&input, &mut text)
            .expect("repaired");
        assert_eq!(text, String::from_utf8_lossy(&input), "{len}");
    }
}

#[test]
fn decode_returns_the_text_of_a_stream() {
    let mut rng = Rng::new(13);
    let mut borrowed = 0;
    for round in 0..900 {
        let mut input = if round % 4 == 0 {
            "naïve 🦀 ".repeat(rng.below(8)).into_bytes()
        } else {
            rng.dirty_text(round % 150)
        };
        if round % 3 == 0 {
            input.splice(..0, *b"\xEF\xBB\xBF");
        }
        for policy in policies() {
            for bom in [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
                for subset in [None, Some(&Subset::BMP)] {
                    let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
                    let decoder = subset.map_or(decoder.clone(), |subset| decoder.with_subset(subset));
                    let (text, errors, counters) = fed(decoder.clone(), &[&input]);
                    // Earlier use of a decoder must not change the result.
                    let mut used = decoder.clone();
                    used.feed(b"x\xE2").for_each(drop);
                    for decoder in [decoder, used] {
                        let decoded = decoder.decode_whole(&input);
                        let expected = errors.first().map_or(Ok(text.as_str()), |error| Err(*error));
                        assert_eq!(decoded.as_deref().map_err(|error| *error), expected, "{input:02X?}");
                        if let Ok(Cow::Borrowed(_)) = decoded {
                            assert_eq!(counters.total(), 0);
                            borrowed += 1;
                        } else if let Ok(Cow::Owned(_)) = decoded {
                            assert!(counters.total() > 0 || text.is_empty(), "{input:02X?} was copied");
                        }
                    }
                }
            }
        }
        assert_eq!(from_utf8_lossy(&input), String::from_utf8_lossy(&input));
    }
    assert!(borrowed > 1_000, "{borrowed}");
}
