//! The codec for text without frames, and what it has in common with that for lines.

use core::fmt::Debug;

use bytes::BytesMut;
use bytestring::ByteString;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{CodecError, Utf8Codec, Utf8LinesCodec};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder};

use crate::support::{Rng, every_partition, oracle, some_partitions};

/// An item in a form that can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Text(String),
    IllFormed { offset: u64, kind: ErrorKind, len: u8, rejected: Vec<u8> },
    TooLong { offset: u64 },
}

pub(crate) fn item(decoded: Result<ByteString, CodecError>) -> Item {
    match decoded {
        Ok(text) => Item::Text(text.to_string()),
        Err(CodecError::IllFormed { error, rejected, .. }) => Item::IllFormed {
            offset: error.offset,
            kind: error.kind,
            len: error.len,
            rejected: rejected.bytes.to_vec(),
        },
        Err(error @ CodecError::LineTooLong { .. }) => Item::TooLong { offset: error.line().unwrap().offset },
        Err(error) => panic!("{error:?}"),
    }
}

/// Runs a codec as `FramedRead` does: one read per chunk, `decode` until it returns `None`, then `decode_eof` until it
/// returns `None`.
pub(crate) fn run<C: Decoder<Item = Result<ByteString, CodecError>, Error: Debug>>(
    mut codec: C,
    chunks: &[&[u8]],
) -> Vec<Item> {
    let (mut items, mut buffer) = (Vec::new(), BytesMut::new());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(decoded) = codec.decode(&mut buffer).unwrap() {
            items.push(item(decoded));
        }
    }
    while let Some(decoded) = codec.decode_eof(&mut buffer).unwrap() {
        items.push(item(decoded));
    }
    assert!(buffer.is_empty(), "every byte was returned or reported");
    assert!(matches!(codec.decode_eof(&mut buffer), Ok(None)), "the end is reported once");
    items
}

/// Joins adjacent texts, because the end of each item depends on the partition.
fn joined(items: Vec<Item>) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    for item in items {
        match (out.last_mut(), item) {
            (Some(Item::Text(before)), Item::Text(text)) => before.push_str(&text),
            (_, item) => out.push(item),
        }
    }
    out
}

/// The items that `Utf8Codec` must return, as computed by the oracle.
fn expected_chunks(input: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = 0;
    for (offset, kind, len) in oracle::decode(input).1 {
        let start = offset as usize;
        items.push(Item::Text(String::from_utf8(input[at..start].to_vec()).unwrap()));
        at = start + usize::from(len);
        items.push(Item::IllFormed { offset, kind, len, rejected: input[start..at].to_vec() });
    }
    items.push(Item::Text(String::from_utf8(input[at..].to_vec()).unwrap()));
    items.retain(|item| *item != Item::Text(String::new()));
    items
}

#[test]
fn a_truncated_character_is_never_returned_as_text() {
    let (mut codec, mut buffer) = (Utf8Codec::new(), BytesMut::new());
    for _ in 0..20 {
        buffer.extend_from_slice(b"good");
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "good");
    }
    buffer.extend_from_slice(b"\xC3");
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"good");
    let error = codec.decode(&mut buffer).unwrap().unwrap().unwrap_err().utf8_error().unwrap();
    assert_eq!((error.offset, error.kind, error.len), (80, ErrorKind::MissingContinuation, 1));
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "good");
}

#[test]
fn rejected_bytes_do_not_include_a_preceding_bom() {
    for bom in [BomPolicy::Strip, BomPolicy::Require] {
        some_partitions(b"\xEF\xBB\xBF\xED\xA0", 20, |chunks| {
            let items = run(Utf8Codec::with_decoder(TextDecoder::new().with_bom_policy(bom)), chunks);
            let error = |offset, kind, byte| Item::IllFormed { offset, kind, len: 1, rejected: vec![byte] };
            let expected =
                [error(3, ErrorKind::Surrogate, 0xED), error(4, ErrorKind::UnexpectedContinuation, 0xA0)];
            assert_eq!(items, expected, "{bom:?} {chunks:02X?}");
        });
    }
}

#[test]
fn offsets_wrap_after_the_maximum() {
    let input = b"\xC3\xA9\n\xFFb\nlonger\n\xE2\x82";
    for back in 0..=input.len() as u64 {
        let text = TextDecoder::new().restarted_at(u64::MAX - back);
        some_partitions(input, 3, |chunks| {
            let chunks_end = run(Utf8Codec::with_decoder(text.clone()), chunks);
            assert!(matches!(chunks_end.last(), Some(Item::IllFormed { kind: ErrorKind::Truncated, .. })));
            let lines = run(Utf8LinesCodec::with_decoder(text.clone()).with_max_length(5), chunks);
            assert_eq!(lines.len(), 4, "{lines:?}");
        });
    }
}

#[test]
fn chunks_are_the_same_for_every_partition() {
    let mut rng = Rng::new(1);
    for round in 0..1_500 {
        let input = rng.dirty_text(1 + round % 8);
        let expected = expected_chunks(&input);
        every_partition(&input, |chunks| {
            assert_eq!(joined(run(Utf8Codec::new(), chunks)), expected, "{chunks:02X?}")
        });
    }
    for round in 0..60 {
        let input = rng.dirty_text(9 + 3 * round);
        let expected = expected_chunks(&input);
        some_partitions(&input, 10, |chunks| assert_eq!(joined(run(Utf8Codec::new(), chunks)), expected));
    }
}

#[test]
fn repaired_chunks_are_the_same_for_every_partition() {
    let mut rng = Rng::new(2);
    for round in 0..600 {
        let input = rng.dirty_text(1 + round % 8);
        let expected = String::from_utf8_lossy(&input);
        every_partition(&input, |chunks| {
            let codec = Utf8Codec::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
            assert_eq!(joined(run(codec, chunks)), [Item::Text(expected.to_string())], "{chunks:02X?}");
        });
    }
}

#[test]
fn an_item_is_a_slice_of_the_read_buffer() {
    let mut buffer = BytesMut::from("första\nandra\n");
    let range = buffer.as_ref().as_ptr_range();
    let line = Utf8LinesCodec::new().decode(&mut buffer).unwrap().unwrap().unwrap();
    assert!(range.contains(&line.as_ptr()));
    let text = Utf8Codec::new().decode(&mut buffer).unwrap().unwrap().unwrap();
    assert!(range.contains(&text.as_ptr()));
    assert_eq!((&*line, &*text), ("första", "andra\n"));
}

#[test]
fn a_repaired_read_is_one_item() {
    let codec = Utf8Codec::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let text = |text: &str| Item::Text(text.to_owned());
    assert_eq!(run(codec, &[b"a\xFFb", b"c"]), [text("a\u{FFFD}b"), text("c")]);
}

#[test]
fn decoding_continues_when_a_stream_resumes_after_its_end() {
    let mut codec = Utf8Codec::new();
    let mut buffer = BytesMut::from(&b"a\xE2\x82"[..]);
    assert_eq!(codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap(), "a");
    let error = codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 1 (Truncated, 2 bytes)");
    assert_eq!(codec.offset(), 3);
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"b\xFF");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "b");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap_err().utf8_error().unwrap().offset, 4);
}

#[test]
fn items_are_well_formed_even_if_the_caller_swaps_the_buffer() {
    // The codec must not return bytes as text because an earlier call validated other bytes.
    let mut codec = Utf8Codec::new();
    assert!(codec.decode(&mut BytesMut::from(&b"\xE2\x82"[..])).unwrap().is_none());
    let mut other = BytesMut::from(&b"\xFF\xFF\xAC"[..]);
    while let Some(decoded) = codec.decode(&mut other).unwrap() {
        assert!(decoded.is_err());
    }
    assert!(codec.decode(&mut BytesMut::new()).unwrap().is_none());

    let mut fed = TextDecoder::new();
    assert_eq!(fed.feed(b"\xE2").count(), 0);
    for mut bytes in [&b"\x82\xAC\n"[..], b"\xE2\x82\xAC\n"].map(BytesMut::from) {
        let lines = Utf8LinesCodec::with_decoder(fed.clone()).decode(&mut bytes.clone()).unwrap();
        assert_eq!(lines.unwrap().is_ok(), bytes[0] == 0xE2);
        if let Some(Ok(text)) = Utf8Codec::with_decoder(fed.clone()).decode(&mut bytes).unwrap() {
            assert!(core::str::from_utf8(text.as_bytes()).is_ok());
        }
    }

    let mut lines = Utf8LinesCodec::new();
    assert!(lines.decode(&mut BytesMut::from("a long line without an end")).unwrap().is_none());
    assert!(lines.decode(&mut BytesMut::from("b\nc\n")).unwrap().is_none());
    assert!(lines.decode(&mut BytesMut::from("b\nc\n")).unwrap().is_none());
}
