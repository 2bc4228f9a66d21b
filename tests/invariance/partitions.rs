//! Text, errors and offsets are the same for every partition. Tested for every combination of error policies, BOM
//! policies, subsets, codecs, line endings and limits, for streams that continue after their end, and for buffers that
//! the caller changed.

use core::fmt::Debug;

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{CodecError, LineBatch, Utf8Codec, Utf8LinesCodec};
use utf8_codec::{
    Ascii, BomPolicy, Counters, ErrorPolicy, LineEnding, Subset, TextDecoder, TextPiece, Utf8Error,
};

use crate::support::{Rng, policies};

const NO_LIMIT: usize = usize::MAX;

const ENDINGS: [LineEnding; 6] = [
    LineEnding::LfOrCrLf,
    LineEnding::Lf,
    LineEnding::CrLf,
    LineEnding::Any,
    LineEnding::Ascii(Ascii::NUL),
    LineEnding::Ascii(Ascii::RECORD_SEPARATOR),
];

/// Returns a decoder for every combination of the policies.
fn every_decoder() -> Vec<TextDecoder> {
    let mut decoders = Vec::new();
    for policy in policies().into_iter().chain([ErrorPolicy::ReplaceWith('\n')]) {
        for bom in [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
            let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
            decoders.push(decoder.clone());
            decoders.extend(
                [&Subset::ASCII, &Subset::NO_CONTROLS].map(|subset| decoder.clone().with_subset(subset)),
            );
        }
    }
    decoders
}

/// Partly ill-formed text with many line terminators. It often starts with a BOM or a part of one, and with ASCII.
fn input(rng: &mut Rng, len: usize) -> Vec<u8> {
    let bom = &b"\xEF\xBB\xBF"[..rng.below(4)];
    let clean = if rng.below(4) == 0 { rng.below(200) } else { 0 };
    let mut input = [bom, &b"good ".repeat(40)[..clean]].concat();
    let len = 1 + rng.below(len);
    for byte in rng.dirty_text(len) {
        input.push(byte);
        if rng.below(6) == 0 {
            input.push(b"\r\n\0\x1E"[rng.below(4)]);
        }
    }
    input
}

/// Splits the input into random chunks, some of them empty.
fn split<'i>(rng: &mut Rng, mut input: &'i [u8]) -> Vec<&'i [u8]> {
    let longest = [1, 3, 9, 40][rng.below(4)];
    let mut chunks = Vec::new();
    while !input.is_empty() {
        let (chunk, rest) = input.split_at(rng.below(input.len().min(longest) + 1));
        chunks.push(chunk);
        input = rest;
    }
    chunks
}

/// The text, the errors that were not repaired, the repaired errors, and the counters.
type Outcome = (String, Vec<Utf8Error>, Vec<Utf8Error>, Counters);

fn decode(mut decoder: TextDecoder, parts: &[Vec<&[u8]>], drops_early: bool) -> Outcome {
    let (mut text, mut rejected, mut repaired) = (String::new(), Vec::new(), Vec::new());
    let mut note = |piece: TextPiece<'_>| {
        if let TextPiece::Repaired(_, error) = piece {
            repaired.push(error);
        }
        match piece.text() {
            Ok(good) => text.push_str(good),
            Err(error) => rejected.push(error),
        }
    };
    for part in parts {
        for &chunk in part {
            if !drops_early {
                decoder.feed(chunk).for_each(&mut note);
                continue;
            }
            let mut rest = chunk;
            while !rest.is_empty() {
                let before = decoder.offset();
                decoder.feed(rest).next().map(&mut note);
                rest = &rest[(decoder.offset() - before) as usize..];
            }
        }
        decoder.finish().map(&mut note);
        assert_eq!(decoder.finish(), None, "the end is reported once");
    }
    (text, rejected, repaired, decoder.counters())
}

#[test]
fn text_and_errors_are_the_same_for_every_partition() {
    let mut rng = Rng::new(3629);
    for round in 0..200 {
        let (first, second) = (input(&mut rng, 24), input(&mut rng, 10));
        for decoder in every_decoder() {
            let expected = decode(decoder.clone(), &[vec![&first], vec![&second]], false);
            let parts = [split(&mut rng, &first), split(&mut rng, &second)];
            assert_eq!(decode(decoder.clone(), &parts, round % 2 == 0), expected, "{decoder:?} {parts:02X?}");
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Item {
    Text(String),
    IllFormed(Utf8Error, Vec<u8>),
    TooLong(u64),
}

/// Runs a codec over a stream that ends after each of `parts`. Adjacent texts are joined if `joins` is set.
fn run(
    codec: &mut impl Decoder<Item = Result<ByteString, CodecError>, Error: Debug>,
    parts: &[Vec<&[u8]>],
    joins: bool,
) -> Vec<Item> {
    let (mut items, mut buffer) = (Vec::new(), BytesMut::new());
    let mut note = |decoded: Result<ByteString, CodecError>| match (decoded, items.last_mut()) {
        (Ok(more), Some(Item::Text(text))) if joins => text.push_str(&more),
        (Ok(text), _) => items.push(Item::Text(text.into())),
        (Err(CodecError::IllFormed { error, rejected, .. }), _) => {
            items.push(Item::IllFormed(error, rejected.bytes.into()));
        }
        (Err(error), _) => items.push(Item::TooLong(error.line().expect("a codec for lines").offset)),
    };
    for part in parts {
        for chunk in part {
            buffer.extend_from_slice(chunk);
            while let Some(decoded) = codec.decode(&mut buffer).unwrap() {
                note(decoded);
            }
        }
        while let Some(decoded) = codec.decode_eof(&mut buffer).unwrap() {
            note(decoded);
        }
        assert!(buffer.is_empty(), "every byte was returned or reported");
    }
    items
}

#[test]
fn codecs_agree_with_the_decoder_for_every_partition() {
    let mut rng = Rng::new(2279);
    for _ in 0..100 {
        let (first, second) = (input(&mut rng, 30), input(&mut rng, 12));
        let whole = [vec![&first[..]], vec![&second]];
        for decoder in every_decoder() {
            let parts = [split(&mut rng, &first), split(&mut rng, &second)];
            let (mut codec, mut other) =
                (Utf8Codec::with_decoder(decoder.clone()), Utf8Codec::with_decoder(decoder.clone()));
            let expected = run(&mut codec, &whole, true);
            assert_eq!(run(&mut other, &parts, true), expected, "{decoder:?} {parts:02X?}");

            let (text, rejected, _, counters) = decode(decoder.clone(), &whole, false);
            let (mut texts, mut errors) = (String::new(), Vec::new());
            for item in expected {
                match item {
                    Item::Text(text) => texts.push_str(&text),
                    Item::IllFormed(error, rejected) => {
                        assert_eq!(rejected.len(), usize::from(error.len), "{error:?} {rejected:02X?}");
                        errors.push(error);
                    }
                    Item::TooLong(_) => unreachable!("text has no limit"),
                }
            }
            assert_eq!((texts, errors), (text, rejected), "{decoder:?} {first:02X?} {second:02X?}");
            for codec in [codec, other] {
                assert_eq!(codec.counters(), counters);
                assert_eq!(codec.offset(), (first.len() + second.len()) as u64);
            }
        }
    }
}

#[test]
fn lines_are_the_same_for_every_partition() {
    let mut rng = Rng::new(5322);
    for round in 0..50 {
        let (first, second) = (input(&mut rng, 30), input(&mut rng, 12));
        let limit = [0, 1, 3, 8, NO_LIMIT][round % 5];
        for decoder in every_decoder() {
            for ending in ENDINGS {
                let parts = [split(&mut rng, &first), split(&mut rng, &second)];
                let codec = Utf8LinesCodec::with_decoder(decoder.clone())
                    .with_line_ending(ending)
                    .with_max_length(limit);
                let (mut codec, mut other) = (codec.clone(), codec);
                let expected = run(&mut codec, &[vec![&first], vec![&second]], false);
                let found = run(&mut other, &parts, false);
                assert_eq!(found, expected, "{ending:?} {limit} {decoder:?} {parts:02X?}");
                assert_eq!((other.counters(), other.offset()), (codec.counters(), codec.offset()));
            }
        }
    }
}

/// Uses a codec as the `Decoder` trait permits but no caller should. Its output must still be valid UTF-8.
fn abuse<C, I>(rng: &mut Rng, mut codec: C, text: impl Fn(I) -> ByteString)
where
    C: Decoder<Item = Result<I, CodecError>>,
{
    let mut buffer = BytesMut::new();
    for _ in 0..12 {
        let place = rng.below(buffer.len() + 1);
        match rng.below(6) {
            0 => buffer.clear(),
            1 => drop(buffer.split_to(place)),
            2 => buffer.truncate(place),
            3 => buffer[place..].fill(rng.next() as u8),
            _ => buffer.extend_from_slice(&input(rng, 10)),
        }
        for _ in 0..rng.below(4) {
            let decoded =
                if rng.below(4) == 0 { codec.decode_eof(&mut buffer) } else { codec.decode(&mut buffer) };
            if let Ok(Some(Ok(item))) = decoded {
                assert!(core::str::from_utf8(text(item).as_bytes()).is_ok());
            }
        }
    }
}

#[test]
fn a_changed_buffer_or_decoder_never_gives_invalid_text() {
    let mut rng = Rng::new(36);
    for _ in 0..100 {
        for mut decoder in every_decoder() {
            let before = input(&mut rng, 8);
            decoder.feed(&before).take(rng.below(3)).for_each(drop);
            let (ending, limit) = (ENDINGS[rng.below(6)], [0, 2, 30, NO_LIMIT][rng.below(4)]);
            let lines =
                Utf8LinesCodec::with_decoder(decoder.clone()).with_line_ending(ending).with_max_length(limit);
            abuse(&mut rng, Utf8Codec::with_decoder(decoder), |text| text);
            abuse(&mut rng, lines.clone(), |line| line);
            abuse(&mut rng, lines.into_batches(), |lines: LineBatch| {
                assert!(lines.iter().count() > 0);
                lines.as_text().clone()
            });
        }
    }
}
