//! `LossyDecoder`: the text of `String::from_utf8_lossy`, for every partition. `Utf8Decoder::feed_into`: the text
//! before the error.

use utf8_codec::{ErrorKind, LossyDecoder, TextDecoder, Utf8Decoder, Utf8Error};

use crate::support::{Rng, every_partition, oracle, some_partitions};

const PARTS: [&[u8]; 8] = [
    b"a",
    b"\xC3",
    b"\xA9",
    b"\xE2\x82",
    b"\xAC",
    b"\xF0\x9F\x98",
    b"\xFF",
    b"plain text \xC3\xA9 of some length",
];

fn check(input: &[u8], chunks: &[&[u8]]) {
    let expected = String::from_utf8_lossy(input);
    let (mut one, mut two) = (LossyDecoder::new(), LossyDecoder::new());
    let (mut pushed, mut appended) = (String::new(), String::new());
    for chunk in chunks {
        pushed += &one.push(chunk);
        two.push_into(chunk, &mut appended);
        assert_eq!(one, two, "{chunks:02X?}");
        assert!(one.pending().len() < 4 && pushed.len() >= one.offset() as usize - one.pending().len());
    }
    pushed += one.finish();
    appended += two.finish();
    assert_eq!((&*pushed, &*appended), (&*expected, &*expected), "{chunks:02X?}");
    assert_eq!(one.replacements(), oracle::decode(input).1.len() as u64, "{chunks:02X?}");
    assert_eq!((one.offset(), one.pending()), (input.len() as u64, &b""[..]));
    assert_eq!(one.finish(), "", "the end is reported once");
}

#[test]
fn the_text_is_that_of_std_for_every_partition() {
    every_partition(b"a\xC3\xA9\xE2\x82\xFF\xF0\x9F\x98\x80\xED\xA0", |chunks| {
        check(b"a\xC3\xA9\xE2\x82\xFF\xF0\x9F\x98\x80\xED\xA0", chunks)
    });
    let mut rng = Rng::new(52);
    for _ in 0..500 {
        let input = (0..rng.below(20)).map(|_| PARTS[rng.below(PARTS.len())]).collect::<Vec<_>>().concat();
        some_partitions(&input, 5, |chunks| check(&input, chunks));
    }
}

#[test]
fn clean_text_is_borrowed() {
    let mut decoder = LossyDecoder::new();
    let chunk = "caf\u{E9} ".repeat(100);
    assert!(matches!(decoder.push(chunk.as_bytes()), std::borrow::Cow::Borrowed(text) if text == chunk));
    assert_eq!(decoder.push(b"\xC3"), "");
    assert_eq!(decoder.push(b"\xA9!"), "\u{E9}!");
}

#[test]
fn strict_text_before_an_error_is_kept() {
    let input = b"\xC3\xA9 \xE2\x82\xACx\xED\xA0!\xF0\x9F";
    every_partition(input, |chunks| {
        let mut decoder = Utf8Decoder::new();
        let (mut text, mut errors) = (String::new(), Vec::new());
        for mut chunk in chunks.iter().copied() {
            loop {
                let before = decoder.offset();
                let Err(error) = decoder.feed_into(chunk, &mut text) else { break };
                errors.push(error);
                chunk = &chunk[(decoder.offset() - before) as usize..];
            }
        }
        errors.extend(decoder.finish().err());
        assert_eq!(text, "\u{E9} \u{20AC}x!", "{chunks:02X?}");
        let error = |offset, kind, len| Utf8Error::new(offset, kind, len);
        assert_eq!(errors[0], error(7, ErrorKind::Surrogate, 1));
        assert_eq!(*errors.last().unwrap(), error(10, ErrorKind::Truncated, 2));
    });
}

#[test]
fn the_end_is_appended_or_returned_once() {
    for (policy, expected) in [
        (utf8_codec::ErrorPolicy::Strict, Err(Utf8Error::new(1, ErrorKind::Truncated, 2))),
        (utf8_codec::ErrorPolicy::Replace, Ok(())),
    ] {
        let mut decoder = TextDecoder::new().with_error_policy(policy);
        let mut text = String::new();
        decoder.feed_into(b"a\xE2\x82", &mut text).unwrap();
        assert_eq!(decoder.finish_into(&mut text), expected);
        assert_eq!(text, if expected.is_ok() { "a\u{FFFD}" } else { "a" });
        assert_eq!(decoder.finish_into(&mut text), Ok(()));
    }
}
