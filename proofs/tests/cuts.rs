//! Feeding `a` and then `b` has the same result as feeding `ab`. Tests every string of classes of bytes up to a length,
//! split at every position.
//!
//! A class contains bytes that no rule of the grammar distinguishes; one of them represents all. A string is a
//! well-formed start of text and at most one more byte. This also covers longer strings with more errors, because a
//! decoder is between characters after an error, as at the start.

use utf8_codec::transcode::{Encoding, Transcoder};
use utf8_codec::{Piece, Utf8Decoder, Utf8Error};
use utf8_codec_proofs::{Grammar, rules};

/// One byte of each class of the grammar of UTF-8.
const UTF_8_CLASSES: [u8; 14] =
    [b'a', 0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF];

/// Calls `check` with every string of up to `len` bytes that is a start of text, and with each of them followed by one
/// more byte. Returns the number of strings.
fn every_string(grammar: &Grammar, classes: &[u8], len: usize, check: &mut impl FnMut(&[u8])) -> u64 {
    fn extend(
        grammar: &Grammar,
        classes: &[u8],
        len: usize,
        string: &mut Vec<u8>,
        state: u8,
        check: &mut impl FnMut(&[u8]),
    ) -> u64 {
        let mut count = 0;
        for &byte in classes {
            string.push(byte);
            check(string);
            count += 1;
            if let Some(next) = grammar.step(state, byte)
                && string.len() < len
            {
                count += extend(grammar, classes, len, string, next, check);
            }
            string.pop();
        }
        count
    }
    extend(grammar, classes, len, &mut Vec::new(), 0, check)
}

/// The result of a decoder: the text, the first error, the offset and the pending bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outcome {
    text: [u8; 16],
    text_len: usize,
    error: Option<Utf8Error>,
    pending: [u8; 4],
    offset: u64,
    end: Result<(), Utf8Error>,
}

fn decode(chunks: [&[u8]; 2]) -> Outcome {
    let mut decoder = Utf8Decoder::new();
    let mut outcome =
        Outcome { text: [0; 16], text_len: 0, error: None, pending: [0; 4], offset: 0, end: Ok(()) };
    for chunk in chunks {
        for piece in decoder.feed(chunk) {
            let mut buffer = [0; 4];
            let text = match piece {
                Piece::Text(text) => text,
                Piece::Seam(character) => character.encode_utf8(&mut buffer),
                Piece::IllFormed(error) => {
                    outcome.error.get_or_insert(error);
                    ""
                }
            };
            outcome.text[outcome.text_len..][..text.len()].copy_from_slice(text.as_bytes());
            outcome.text_len += text.len();
        }
    }
    outcome.pending[..decoder.pending().len()].copy_from_slice(decoder.pending());
    outcome.offset = decoder.offset();
    outcome.end = decoder.finish();
    outcome
}

fn check_utf_8(len: usize) -> u64 {
    let grammar = Grammar::read(rules::UTF_8, "UTF8-char");
    every_string(&grammar, &UTF_8_CLASSES, len, &mut |string| {
        let whole = decode([string, &[]]);
        // `validate` finds the same error as `feed`.
        let mut validator = Utf8Decoder::new();
        assert_eq!(validator.validate(string).err(), whole.error, "{string:02X?}");
        for cut in 1..string.len() {
            let (a, b) = string.split_at(cut);
            assert_eq!(decode([a, b]), whole, "{a:02X?} {b:02X?}");
            let mut validator = Utf8Decoder::new();
            let found = validator.validate(a).and_then(|()| validator.validate(b));
            assert_eq!(found.err(), whole.error, "{a:02X?} {b:02X?}");
        }
    })
}

#[test]
fn every_split_of_every_string_of_classes_has_the_same_text_and_errors() {
    assert_eq!(check_utf_8(10), 5_916_722);
}

#[test]
#[ignore = "minutes"]
fn every_split_of_every_string_of_classes_up_to_12_bytes_has_the_same_text_and_errors() {
    assert_eq!(check_utf_8(12), 88_656_820);
}

#[test]
fn every_split_has_the_same_result_in_the_other_encodings() {
    let encodings: [(Encoding, &str, &str, &[u8], usize); 5] = [
        (
            Encoding::Utf8Ucs4,
            rules::RFC_2279,
            "UTF8-char",
            &[
                b'a', 0x80, 0x84, 0x88, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF8, 0xF9,
                0xFC, 0xFD, 0xFE,
            ],
            5,
        ),
        (
            Encoding::Cesu8,
            rules::CESU_8,
            "char",
            &[b'a', 0x80, 0xA0, 0xB0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xF0],
            7,
        ),
        (
            Encoding::ModifiedUtf8,
            rules::MODIFIED_UTF_8,
            "char",
            &[0, b'a', 0x80, 0x81, 0xA0, 0xB0, 0xC0, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xF0],
            7,
        ),
        (
            Encoding::Wtf8,
            rules::WTF_8,
            "char",
            &[b'a', 0x80, 0x90, 0xA0, 0xB0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5],
            6,
        ),
        (
            Encoding::Utf8b,
            rules::UTF_8B,
            "char",
            &[b'a', 0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xF5],
            5,
        ),
    ];
    for (encoding, text, name, classes, len) in encodings {
        let grammar = Grammar::read(text, name);
        let run = |chunks: [&[u8]; 2]| {
            let mut transcoder = Transcoder::new(encoding, Encoding::Utf16Be);
            let mut output = Vec::new();
            let mut result = Ok(());
            for chunk in chunks {
                result = result.and_then(|()| transcoder.feed_into(chunk, &mut output));
            }
            if result.is_ok() {
                result = transcoder.finish_into(&mut output);
            }
            (output, result)
        };
        let count = every_string(&grammar, classes, len, &mut |string| {
            let whole = run([string, &[]]);
            for cut in 1..string.len() {
                let (a, b) = string.split_at(cut);
                assert_eq!(run([a, b]), whole, "{encoding:?}: {a:02X?} {b:02X?}");
            }
        });
        assert!(count > 25_000, "{encoding:?}: {count}");
    }
}
