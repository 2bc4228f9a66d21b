//! Many errors: `feed_into` and the adapters decode them in runs, with the same text, errors and counters as piece by piece.

use utf8_codec::internal::Sink;
use utf8_codec::json::JsonDecoder;
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder, TextPiece, Utf8Error};

use crate::support::{Rng, policies};

/// Text and errors of each kind, with all lengths of text between them.
fn hostile(rng: &mut Rng, parts: usize) -> Vec<u8> {
    const TEXTS: [&str; 6] = ["a", "\u{E9}", "\u{20AC}", "\u{1F980}", "ab \u{431}", "x\u{202E}\u{FFFF}"];
    const ERRORS: [&[u8]; 9] = [
        b"\xFF",
        b"\x80",
        b"\xC3",
        b"\xE2\x82",
        b"\xF0\x9F\xA6",
        b"\xED\xA0\x80",
        b"\xC0\xAF",
        b"\xF4\x90\x80\x80",
        b"\xE9 \xE8",
    ];
    let mut input = Vec::new();
    for _ in 0..parts {
        let longest = rng.pick(&[2, 20, 20, 300]);
        input.extend(rng.pick(&TEXTS).repeat(rng.below(longest)).bytes());
        let longest = rng.pick(&[2, 2, 2, 400]);
        input.extend(rng.pick(&ERRORS).repeat(1 + rng.below(longest)));
    }
    input
}

#[derive(Debug, Default, PartialEq)]
struct Found {
    text: String,
    errors: Vec<Utf8Error>,
}

impl Sink for Found {
    fn borrowed(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn made(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn error(&mut self, error: Utf8Error) {
        self.errors.push(error);
    }
}

impl Found {
    fn add(&mut self, piece: TextPiece<'_>) {
        if let TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) = piece {
            self.errors.push(error);
        }
        self.text.push_str(piece.text().unwrap_or_default());
    }
}

fn decoders() -> impl Iterator<Item = TextDecoder> {
    let subsets = [None, Some(&Subset::NO_BIDI_CONTROLS), Some(&Subset::ASCII), Some(&Subset::NO_CONTROLS)];
    policies().into_iter().flat_map(move |policy| {
        subsets.map(|subset| {
            let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(BomPolicy::Strip);
            subset.map_or(decoder.clone(), |subset| decoder.with_subset(subset))
        })
    })
}

const SIZES: [usize; 6] = [1, 7, 100, 1000, 4096, usize::MAX];

#[test]
fn runs_are_the_pieces_of_the_same_input() {
    let mut rng = Rng::new(61);
    for new in decoders() {
        let input = hostile(&mut rng, 60);
        let mut decoder = new.clone();
        let mut expected = Found::default();
        decoder.feed(&input).for_each(|piece| expected.add(piece));
        if let Some(piece) = decoder.finish() {
            expected.add(piece);
        }
        let counters = decoder.counters();
        for size in SIZES {
            let mut decoder = new.clone();
            let mut found = Found::default();
            for mut rest in input.chunks(size) {
                let mut before = decoder.offset();
                while decoder.decode_to(rest, &mut found).is_err() {
                    rest = &rest[(decoder.offset() - before) as usize..];
                    before = decoder.offset();
                }
            }
            if let Some(piece) = decoder.finish() {
                found.add(piece);
            }
            assert!(found == expected && decoder.counters() == counters, "{new:?} {size}");
        }
        if new.error_policy() == ErrorPolicy::Strict {
            continue;
        }
        for size in SIZES {
            let mut decoder = JsonDecoder::with_decoder(new.clone());
            let mut text = String::new();
            for chunk in input.chunks(size) {
                decoder.feed_into(chunk, &mut text).expect("every error is repaired");
            }
            for piece in decoder.finish() {
                text.push_str(piece.text().expect("every error is repaired"));
            }
            // A replacement can be an escape, but none that is not accepted.
            assert!(text == expected.text && decoder.counters() == counters, "{new:?} {size}");
        }
    }
}

#[cfg(feature = "std")]
#[test]
fn the_parts_of_a_reader_are_the_bytes_of_the_text_that_was_not_returned() {
    use std::io::Read;

    use utf8_codec::io::Utf8Reader;

    let mut rng = Rng::new(62);
    for policy in policies().into_iter().filter(|policy| *policy != ErrorPolicy::Strict) {
        let new = TextDecoder::new().with_error_policy(policy);
        let input = hostile(&mut rng, 6);
        // What is left after each number of bytes of text: the rest of a replacement, and a position in the input.
        let mut left = Vec::new();
        let mut at = 0;
        let mut decoder = new.clone();
        let mut add = |piece: TextPiece<'_>| {
            let text = piece.text().expect("every error is repaired").as_bytes();
            match piece {
                TextPiece::Repaired(_, error) => {
                    // A replacement of which nothing was returned may be in the place of its bytes.
                    left.extend(
                        (0..text.len()).map(|taken| (text[taken..].to_vec(), at + usize::from(error.len))),
                    );
                    at += usize::from(error.len);
                }
                _ => {
                    left.extend((0..text.len()).map(|taken| (Vec::new(), at + taken)));
                    at += text.len();
                }
            }
        };
        decoder.feed(&input).for_each(&mut add);
        decoder.finish().map(&mut add);
        for _ in 0..200 {
            let taken = rng.below(left.len());
            let mut reader = Utf8Reader::with_decoder(&*input, new.clone());
            let mut text = vec![0; taken];
            for part in text.chunks_mut(1 + rng.below(700)) {
                reader.read_exact(part).expect("there is more text");
            }
            let (inner, read) = reader.into_parts();
            let found = [&read, inner].concat();
            let (replacement, position) = &left[taken];
            let expected = [replacement, &input[*position..]].concat();
            // Before an error that was not decoded, or was not returned, its bytes are left.
            let is_rest = input.ends_with(&found)
                && found.len() >= input.len() - position
                && found.len() <= input.len();
            assert!(found == expected || is_rest, "{policy:?} {taken}");
        }
    }
}
