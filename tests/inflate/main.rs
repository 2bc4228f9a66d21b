//! `Inflater` with `Deflate`: the text, the error and what precedes it are the same for every partition.
#![allow(missing_docs)]

use test_support::compression::{Sender, gzip, message, message_with_last_block, zlib};
use test_support::{Rng, every_partition, some_partitions};
use utf8_codec::inflate::{Deflate, Inflate, InflateError, Inflated, Inflater};

/// Returns the text of a message, and how it ended.
fn inflate(inflater: &mut Inflater, chunks: &[&[u8]]) -> (Vec<u8>, Result<(), InflateError>) {
    let mut text = Vec::new();
    let mut result = Ok(());
    for chunk in chunks {
        result = inflater.feed_with(chunk, |piece| {
            assert!(!piece.is_empty());
            text.extend_from_slice(piece);
            Ok(())
        });
        if result.is_err() {
            break;
        }
    }
    assert!(result.is_err() || inflater.written() == text.len() as u64);
    (text, result.and_then(|()| inflater.finish()))
}

fn whole(deflate: Deflate, input: &[u8]) -> (Vec<u8>, Result<(), InflateError>) {
    inflate(&mut Inflater::new(deflate), &[input])
}

type Format = (fn() -> Deflate, fn(&[u8]) -> Vec<u8>);

const FORMATS: [Format; 5] = [
    (Deflate::gzip, gzip),
    (Deflate::zlib, zlib),
    (Deflate::permessage, message),
    (Deflate::permessage, message_with_last_block),
    (|| Deflate::permessage().with_context_takeover(false), message),
];

/// Bytes of several lengths that compress well and badly.
fn samples() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1951);
    let mut samples = vec![Vec::new(), b"a".to_vec(), vec![b'x'; 70_000]];
    for len in [10, 300, 9_000, 40_000] {
        samples.push((0..len).map(|_| rng.below(256) as u8).collect());
        samples.push((0..len).map(|_| b'a' + rng.below(3) as u8).collect());
    }
    samples
}

#[test]
fn each_format_is_inflated_for_every_partition() {
    for text in samples() {
        for (deflate, compress) in FORMATS {
            let input = compress(&text);
            let mut inflater = Inflater::new(deflate());
            let mut check = |chunks: &[&[u8]]| {
                assert!(inflate(&mut inflater, chunks) == (text.clone(), Ok(())), "{} bytes", text.len());
            };
            if input.len() <= 12 {
                every_partition(&input, &mut check);
            }
            for size in [1, 7, 4096, usize::MAX] {
                check(&input.chunks(size).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn the_window_is_kept_between_messages_if_it_was_negotiated() {
    let texts: [&[u8]; 4] = [b"the same text as before", b"", b"the same text as before!", b"the same"];
    let mut sender = Sender::new();
    let messages = texts.map(|text| sender.message(text));
    assert!(messages[2].len() < 12, "it refers to the first message");
    let mut kept = Inflater::new(Deflate::permessage());
    let mut reset = Inflater::new(Deflate::permessage().with_context_takeover(false));
    for (index, (text, message)) in texts.iter().zip(&messages).enumerate() {
        assert_eq!(inflate(&mut kept, &[message]), (text.to_vec(), Ok(())));
        if index < 2 {
            assert_eq!(inflate(&mut reset, &[message]), (text.to_vec(), Ok(())));
        }
    }
    assert_eq!(inflate(&mut reset, &[&messages[2]]).1, Err(InflateError::Corrupt));
    assert_eq!(
        inflate(&mut kept.clone(), &[&messages[2]]).1,
        Err(InflateError::Corrupt),
        "a clone is at its start"
    );
}

#[test]
fn streams_of_blocks_follow_each_other_where_the_format_has_them() {
    let twice = [gzip(b"gr"), gzip(b""), gzip("ün".as_bytes())].concat();
    some_partitions(&twice, 20, |chunks| {
        assert_eq!(inflate(&mut Inflater::new(Deflate::gzip()), chunks), ("grün".into(), Ok(())));
    });
    let mut first = message_with_last_block(b"gr");
    first.pop();
    let second = message("ün".as_bytes());
    some_partitions(&[first, second].concat(), 20, |chunks| {
        assert_eq!(inflate(&mut Inflater::new(Deflate::permessage()), chunks), ("grün".into(), Ok(())));
    });
    let twice = [zlib(b"gr"), zlib(b"n")].concat();
    some_partitions(&twice, 20, |chunks| {
        let corrupt = (b"gr".to_vec(), Err(InflateError::Corrupt));
        assert_eq!(inflate(&mut Inflater::new(Deflate::zlib()), chunks), corrupt);
    });
}

#[test]
fn a_message_that_is_cut_is_an_error() {
    for (deflate, compress) in &FORMATS[..2] {
        let input = compress(b"text, text");
        for end in 0..input.len() {
            assert_eq!(whole(deflate(), &input[..end]).1, Err(InflateError::Truncated), "{end}");
        }
    }
    let input = message(b"text, text and more of it");
    for end in 0..input.len() {
        let reset = whole(Deflate::permessage().with_context_takeover(false), &input[..end]).1;
        assert_eq!(reset, Err(InflateError::Truncated), "{end}");
    }
    for empty in [&b""[..], &message_with_last_block(b"text")[..6]] {
        assert_eq!(whole(Deflate::permessage(), empty).1, Err(InflateError::Truncated));
    }
    assert_eq!(whole(Deflate::permessage(), &message(b"text")), (b"text".to_vec(), Ok(())));
}

#[test]
fn text_before_corrupt_data_does_not_depend_on_the_partition() {
    let mut rng = Rng::new(1952);
    for round in 0..300 {
        let text: Vec<u8> = (0..rng.below(400)).map(|_| b'a' + rng.below(9) as u8).collect();
        let (deflate, compress) = FORMATS[round % 3];
        let mut input = compress(&text);
        for _ in 0..=rng.below(3) {
            let at = rng.below(input.len());
            input[at] ^= 1 << rng.below(8);
        }
        let expected = whole(deflate(), &input);
        some_partitions(&input, 5, |chunks| {
            assert_eq!(inflate(&mut Inflater::new(deflate()), chunks), expected, "{input:02X?}");
        });
    }
}

#[test]
fn an_error_is_returned_with_the_byte_that_it_is_in() {
    let mut rng = Rng::new(1953);
    for _ in 0..300 {
        let input: Vec<u8> = (0..40).map(|_| rng.below(256) as u8).collect();
        let corrupt = |size: usize| {
            let mut inflater = Inflater::new(Deflate::permessage());
            let mut chunks = input.chunks(size);
            chunks.position(|chunk| inflater.feed_with(chunk, |_| Ok::<(), InflateError>(())).is_err())
        };
        let byte = corrupt(1);
        for size in [2, 3, 7, 40] {
            assert_eq!(corrupt(size), byte.map(|byte| byte / size), "{input:02X?}");
        }
    }
}

#[test]
fn a_bomb_ends_at_the_limit_for_every_partition() {
    let bomb = gzip(&vec![b' '; 8 << 20]);
    for (max_length, max_ratio, len, error) in [
        (1000, 200, 1000, InflateError::TooLong(1000)),
        (0, 200, 0, InflateError::TooLong(0)),
        (5 << 20, 2000, 5 << 20, InflateError::TooLong(5 << 20)),
        (64 << 20, 50, (1 << 20) + 50 * 4096, InflateError::Ratio(50)),
        (64 << 20, 0, 1 << 20, InflateError::Ratio(0)),
    ] {
        let settings = Inflater::new(Deflate::gzip()).with_max_length(max_length).with_max_ratio(max_ratio);
        for size in [1, 100, 4096, 4097, usize::MAX] {
            let chunks: Vec<_> = bomb.chunks(size.min(bomb.len())).collect();
            let mut inflater = settings.clone();
            let (text, result) = inflate(&mut inflater, &chunks);
            assert_eq!((text.len(), result), (len, Err(error)));
            assert_eq!(inflate(&mut inflater, &[b""]).1, Err(error), "every later call");
            inflater.restart();
            assert_eq!(inflate(&mut inflater, &[&gzip(b"")]).1, Ok(()));
        }
    }
    let exact = Inflater::new(Deflate::gzip()).with_max_length(3);
    assert_eq!(inflate(&mut exact.clone(), &[&gzip(b"abc")]), (b"abc".to_vec(), Ok(())));
    assert_eq!(inflate(&mut exact.clone(), &[&gzip(b"abcd")]).0, b"abc");
    let mut both = exact;
    for _ in 0..2 {
        assert_eq!(inflate(&mut both, &[&gzip(b"abc")]).1, Ok(()), "limits apply to a message");
    }
}

#[test]
fn the_ratio_applies_to_the_block_that_determines_the_text() {
    let read_of_first_block = |input: &[u8]| {
        let mut inflater = Inflater::new(Deflate::gzip()).with_max_ratio(u64::MAX);
        assert_eq!(inflater.feed_with(&input[..4096], |_| Ok::<(), InflateError>(())), Ok(()));
        inflater.written() - (1 << 20)
    };
    let bomb = gzip(&vec![b' '; 5 << 20]);
    let read = read_of_first_block(&bomb);
    // A byte of the bomb is about 1032 bytes of text. A name in the header moves the end of the block.
    let is_near_limit = |name: &usize| (1..300).contains(&((read - 1032 * *name as u64) % 4096));
    for name in (1..).filter(is_near_limit).take(3) {
        let mut input = bomb.clone();
        input[3] = 8;
        input.splice(10..10, vec![b'n'; name - 1].into_iter().chain([0]));
        let read = read_of_first_block(&input);
        let settings = Inflater::new(Deflate::gzip()).with_max_ratio(read / 4096);
        for size in [1, 2, 3, 5, 4096, 5000] {
            let (text, result) = inflate(&mut settings.clone(), &input.chunks(size).collect::<Vec<_>>());
            assert_eq!(text.len() as u64, (1 << 20) + read / 4096 * 4096, "{name} {size}");
            assert_eq!(result, Err(InflateError::Ratio(read / 4096)));
        }
    }
}

/// Breaks the contract.
struct Wrong(Inflated);

impl Inflate for Wrong {
    fn inflate(&mut self, _: &[u8], _: &mut [u8]) -> Result<Inflated, InflateError> {
        Ok(self.0)
    }

    fn finish(&mut self) -> Result<(), InflateError> {
        Ok(())
    }

    fn fresh(&self) -> Box<dyn Inflate> {
        Box::new(Self(self.0))
    }
}

#[test]
fn an_implementation_that_breaks_the_contract_is_an_error() {
    for (read, written) in [(0, 0), (3, 0), (0, usize::MAX), (usize::MAX, 1)] {
        let mut inflater = Inflater::new(Wrong(Inflated { read, written }));
        assert_eq!(inflate(&mut inflater, &[b"ab"]), (Vec::new(), Err(InflateError::Corrupt)));
    }
}

#[test]
fn errors_of_the_caller_end_the_message_and_a_clone_inside_a_message_is_not_usable() {
    let input = gzip(b"abc");
    let mut inflater = Inflater::new(Deflate::gzip());
    assert_eq!(inflater.feed_with(&input[..5], |_| Err(InflateError::Truncated)), Ok(()), "no text yet");
    assert!(inflate(&mut inflater.clone(), &[&input]).1.is_err());
    assert_eq!(
        inflater.feed_with(&input[5..], |_| Err(InflateError::Truncated)),
        Err(InflateError::Truncated)
    );
    assert!(inflater.finish().is_err());
    inflater.restart();
    assert_eq!(inflate(&mut inflater, &[&input]), (b"abc".to_vec(), Ok(())));
    let shown = format!("{inflater:?} {}", InflateError::Ratio(200));
    assert!(
        !shown.contains("abc") && shown.ends_with("inflated to more than 200 times its length"),
        "{shown}"
    );
}
