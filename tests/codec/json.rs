//! JSON in lines, in sequences and in events: the escapes in its strings are checked.

use core::fmt::Debug;

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::Decoder;
use utf8_codec::codec::framing::JsonSequenceCodec;
use utf8_codec::codec::{CodecError, SseCodec, Utf8LinesCodec};
use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonStrings};
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder};

use crate::support::json::{self, Error};
use crate::support::{Rng, every_partition, some_partitions};

const STRINGS: JsonStrings = JsonStrings::new().with_subset(&Subset::NO_NUL);

type Item = Result<String, Error>;

fn read<C, I>(mut codec: C, chunks: &[&[u8]], lines: impl Fn(I) -> Vec<ByteString>) -> Vec<Item>
where
    C: Decoder<Item = Result<I, CodecError>, Error: Debug>,
{
    let (mut buffer, mut items) = (BytesMut::new(), Vec::new());
    let mut take = |item: Result<I, CodecError>| match item {
        Ok(item) => items.extend(lines(item).into_iter().map(|line| Ok(String::from(line)))),
        Err(error) => items.push(Err(json::error(error.utf8_error().expect("ill-formed")))),
    };
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(item) = codec.decode(&mut buffer).expect("every error is an item") {
            take(item);
        }
    }
    while let Some(item) = codec.decode_eof(&mut buffer).expect("every error is an item") {
        take(item);
    }
    items
}

/// What a codec returns, computed for each line on its own.
fn expected(input: &[u8], text: TextDecoder, policy: EscapePolicy) -> Vec<Item> {
    let mut offset = 0;
    let line = |line: &[u8]| {
        let (out, errors) = json::decode(line, text.clone(), policy, Some(&Subset::NO_NUL));
        let is_fatal = |error: &&Error| match error.3 {
            true => policy == EscapePolicy::Strict,
            false => text.error_policy() == ErrorPolicy::Strict,
        };
        let fatal = errors.iter().find(is_fatal).map(|error| (offset + error.0, error.1, error.2, error.3));
        offset += line.len() as u64;
        fatal.map_or_else(|| Ok(out.strip_suffix('\n').unwrap_or(&out).to_owned()), Err)
    };
    input.split_inclusive(|&byte| byte == b'\n').map(line).collect()
}

#[test]
fn lines_of_json_are_the_same_for_every_partition() {
    let mut rng = Rng::new(49);
    for error_policy in [ErrorPolicy::Strict, ErrorPolicy::Replace, ErrorPolicy::Escape] {
        for &policy in EscapePolicy::ALL {
            for bom in [BomPolicy::Keep, BomPolicy::Strip] {
                let text = TextDecoder::new().with_error_policy(error_policy).with_bom_policy(bom);
                let codec = Utf8LinesCodec::with_decoder(text.clone())
                    .with_json_strings(STRINGS.with_escape_policy(policy));
                let check = |input: &[u8], chunks: &[&[u8]]| {
                    let expected = expected(input, text, policy);
                    assert_eq!(read(codec.clone(), chunks, |line| vec![line]), expected, "{chunks:02X?}");
                    let batches = read(codec.into_batches(), chunks, |lines| lines.into_iter().collect());
                    assert_eq!(batches, expected, "batches of {chunks:02X?}");
                };
                for round in 0..12 {
                    let mut short = json::dirty(&mut rng, 4, round % 3 == 0);
                    short.truncate(8);
                    every_partition(&short, |chunks| check.clone()(&short, chunks));
                    let long = json::dirty(&mut rng, 8 + 2 * round, round % 3 == 0);
                    some_partitions(&long, 3, |chunks| check.clone()(&long, chunks));
                }
            }
        }
    }
}

#[test]
fn a_line_of_json_without_errors_is_a_slice_of_the_buffer() {
    let mut codec = Utf8LinesCodec::ndjson().with_json_strings(STRINGS);
    let mut buffer = BytesMut::from("[\"\\uD83D\\uDE00\", \"\\\\u\"]\r\n");
    let start = buffer.as_ptr();
    let line = codec.decode(&mut buffer).unwrap().expect("a line").expect("well-formed");
    assert_eq!((&*line, line.as_ptr()), (r#"["\uD83D\uDE00", "\\u"]"#, start));
    assert_eq!(codec.offset(), 25);
}

/// The error of a whole text.
fn error_in(text: &str) -> Option<Error> {
    let mut decoder = JsonDecoder::new().with_strings(STRINGS);
    let error = decoder.feed(text.as_bytes()).find_map(|piece| piece.text().err());
    error.or_else(|| decoder.finish().find_map(|piece| piece.text().err())).map(json::error)
}

#[test]
fn a_sequence_of_json_has_the_errors_of_each_text() {
    let input = b"\x1E[\"\\uD83D\\uDE00\"]\n\x1E[\"\\uD83D\"]\n\x1E[\"\\u0000\"]\n";
    some_partitions(input, 20, |chunks| {
        let (mut codec, mut buffer, mut errors) = (JsonSequenceCodec::new(), BytesMut::new(), Vec::new());
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            while let Some(text) = codec.decode(&mut buffer).expect("a sequence") {
                errors
                    .push(error_in(core::str::from_utf8(&text.unwrap()).expect("text")).map(|error| error.0));
            }
        }
        assert_eq!(errors, [None, Some(2), Some(2)]);
    });
}

#[test]
fn the_escapes_in_the_data_of_events_are_checked() {
    let input = b": \"\\uD83D\"\ndata: {\"a\":\"\\uD83D\\uDE00\"}\n\n\xEF\xBB\xBFdata: [\ndata: \"\\uDE00\"]\nid: 1\n\ndata:\"\\u0000\"\n\n";
    let events = |text: TextDecoder, strings, chunks: &[&[u8]]| {
        read(SseCodec::with_decoder(text).with_json_strings(strings), chunks, |event| vec![event.data])
    };
    some_partitions(input, 100, |chunks| {
        let found = events(TextDecoder::new(), STRINGS, chunks);
        let errors: Vec<_> = found.iter().map(|item| item.as_ref().map_err(|error| error.0)).collect();
        assert_eq!(errors, [Ok(&"{\"a\":\"\\uD83D\\uDE00\"}".to_owned()), Err(57), Err(79)]);
        let replaced = events(TextDecoder::new(), STRINGS.with_escape_policy(EscapePolicy::Replace), chunks);
        assert_eq!(replaced[1..], [Ok("\"\\uFFFD\"]".to_owned()), Ok("\"\\uFFFD\"".to_owned())]);
    });
}

#[test]
fn the_data_of_an_event_has_the_errors_of_its_text() {
    let input = b"data: {\"a\":\"\\uD83D\\uDE00\"}\n\ndata: {\"a\":\ndata: \"\\uDE00\"}\n\n";
    some_partitions(input, 20, |chunks| {
        let (mut codec, mut buffer, mut errors) = (SseCodec::new(), BytesMut::new(), Vec::new());
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            while let Some(event) = codec.decode(&mut buffer).expect("an event") {
                errors.push(error_in(&event.unwrap().data).map(|error| error.0));
            }
        }
        assert_eq!(errors, [None, Some(7)]);
    });
}
