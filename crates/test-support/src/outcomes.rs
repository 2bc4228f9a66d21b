//! The expected output of readers and writers of text, for the tests of `utf8_codec::io`.

use std::io;

use utf8_codec::{BomPolicy, TextDecoder, Utf8Error};

use super::hostile::HostileWriter;
use super::{Rng, every_partition, oracle, policies, some_partitions};

pub const CRAB: &str = "na\u{EF}ve \u{1F980}!";

/// The text, and the error that ends it. Errors after which a call can be repeated do not end it.
pub type Outcome = (String, Option<Utf8Error>);

pub fn utf8_error(error: &io::Error) -> Utf8Error {
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    *error.get_ref().expect("an inner error").downcast_ref().expect("a Utf8Error")
}

pub fn whole(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).expect("well-formed after every call")
}

/// Returns the text before the first error, and that error.
pub fn strict(input: &[u8]) -> Outcome {
    let error = oracle::decode(input).1.first().map(|&(offset, kind, len)| Utf8Error::new(offset, kind, len));
    let good = error.map_or(input.len(), |error| error.offset as usize);
    (whole(&input[..good]).to_owned(), error)
}

/// Returns the text that the decoder returns for the whole input, up to the first error that it does not repair.
pub fn decoded(input: &[u8], mut decoder: TextDecoder) -> Outcome {
    let mut text = String::new();
    let mut pieces: Vec<_> = decoder.feed(input).collect();
    pieces.extend(decoder.finish());
    for piece in pieces {
        match piece.text() {
            Ok(good) => text.push_str(good),
            Err(error) => return (text, Some(error)),
        }
    }
    (text, None)
}

/// Calls `check` with every partition of short inputs, some partitions of longer ones, and their outcome without policies.
/// The number differs from input to input.
pub fn strict_outcomes(short: usize, long: usize, mut check: impl FnMut(&[&[u8]], u64, &Outcome)) {
    let mut rng = Rng::new(1);
    for round in 0..short {
        let input = rng.dirty_text(1 + round % 7);
        let expected = strict(&input);
        every_partition(&input, |chunks| check(chunks, round as u64, &expected));
    }
    for round in 0..long {
        let input = rng.dirty_text(8 + round);
        let expected = strict(&input);
        some_partitions(&input, 3, |chunks| check(chunks, round as u64, &expected));
    }
}

/// Calls `check` with every partition of short inputs and their outcome under the policies of `decoder`. Every second
/// input starts with a BOM.
pub fn outcomes_under(
    decoder: TextDecoder,
    rounds: usize,
    mut check: impl FnMut(&[&[u8]], TextDecoder, u64, &Outcome),
) {
    let mut rng = Rng::new(2);
    for round in 0..rounds {
        let mut input = rng.dirty_text(1 + round % 6);
        if round % 2 == 0 {
            input.splice(0..0, *b"\xEF\xBB\xBF").for_each(drop);
            input.truncate(7);
        }
        let expected = decoded(&input, decoder.clone());
        every_partition(&input, |chunks| check(chunks, decoder.clone(), round as u64, &expected));
    }
}

/// Writes the chunks through a `Utf8Writer` and ends the text. Returns the inner writer, and the error.
pub type Write = fn(HostileWriter, TextDecoder, &[&[u8]]) -> (HostileWriter, Option<Utf8Error>);

/// Checks that `write` forwards the same text for every partition, every policy, and every short write.
pub fn check_partitions(write: Write) {
    let check = |chunks: &[&[u8]], decoder: TextDecoder, expected: &Outcome| {
        for at_most in [1, 2, 3, usize::MAX] {
            let (inner, error) = write(HostileWriter::new(at_most), decoder.clone(), chunks);
            check_written(&inner, &expected.0, at_most == usize::MAX);
            assert_eq!(error, expected.1, "{at_most} {chunks:02X?}");
        }
    };
    strict_outcomes(150, 0, |chunks, _, expected| check(chunks, TextDecoder::new(), expected));
    for policy in policies() {
        let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(BomPolicy::Strip);
        outcomes_under(decoder, 20, |chunks, decoder, _, expected| check(chunks, decoder, expected));
    }
}

/// Checks that `write`, which calls again after an error that can be repeated, forwards the whole text if any one
/// operation of the inner writer fails.
pub fn check_inner_errors(write: Write) {
    let chunks: Vec<_> = CRAB.as_bytes().chunks(2).collect();
    for at_most in [1, 3] {
        for operation in 0..16 {
            let inner = HostileWriter::new(at_most).fails_at(operation);
            let (inner, error) = write(inner, TextDecoder::new(), &chunks);
            assert_eq!((whole(&inner.written), error), (CRAB, None), "{operation}");
        }
    }
}

/// Checks the bytes that were written. A writer that accepts everything must have received whole characters in each call.
fn check_written(inner: &HostileWriter, expected: &str, accepts_everything: bool) {
    assert_eq!(whole(&inner.written), expected);
    if accepts_everything {
        let mut rest = &inner.written[..];
        for &write in &inner.writes {
            whole(&rest[..write]);
            rest = &rest[write..];
        }
    }
}
