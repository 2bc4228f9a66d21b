//! An adapter does not allocate for a chunk once its buffers have grown. A counting allocator checks this for each
//! adapter.
//!
//! The streams are well-formed. They are split inside characters, so that every adapter holds and joins bytes. If a
//! test has ill-formed bytes, its name says so.

use core::fmt::Debug;
use core::hint::black_box;
use core::pin::pin;

use bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder, FramedRead, LengthDelimitedCodec};
use utf8_codec::codec::framing::{ContentLengthCodec, CriCodec, JsonSequenceCodec, OctetCountingCodec};
use utf8_codec::codec::{
    FailFast, SseCodec, Utf8Codec, Utf8FramesCodec, Utf8LineBatchesCodec, Utf8LinesCodec,
};
use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Decoder};
use utf8_codec_encodings::codec::TranscodeCodec;
use utf8_codec_encodings::{Encoding, Transcoder};
use utf8_codec_mail::{TransferDecoder, TransferEncoding};
use utf8_codec_proxy::{Edit, Filter, LineFilter};

use super::repeat::{ALL_BUT_NUL, EVENT, Repeat, TEXT, chunks_of, decoders, next, text_chunks};
use crate::allocations::{assert_at_most, assert_steady};

/// Asserts that `FramedRead` with this codec does not allocate for the frames of a stream.
fn assert_codec_is_steady<C: Decoder>(name: &str, codec: C, unit: &[u8])
where
    C::Error: Debug,
{
    let mut frames = pin!(FramedRead::new(Repeat::of(unit), codec));
    assert_steady(name, || {
        black_box(next(&mut frames).expect("well-formed"));
    });
}

/// Asserts that a codec does not allocate to write an item to a buffer with room.
fn assert_encoder_is_steady<I: Clone, C: Encoder<I>>(name: &str, mut codec: C, item: &I)
where
    C::Error: Debug,
{
    let mut buffer = BytesMut::with_capacity(4096);
    assert_steady(name, || {
        codec.encode(item.clone(), &mut buffer).expect("can be written");
        buffer.clear();
    });
}

#[test]
fn a_counted_allocation_fails_a_test() {
    let allocates = std::panic::catch_unwind(|| assert_steady("a box", || drop(black_box(Box::new(1)))));
    assert!(allocates.is_err());
}

#[test]
fn decoder() {
    let chunks = text_chunks();
    let mut decoder = Utf8Decoder::new();
    let mut validator = Utf8Validator::new();
    let mut validated = Utf8Decoder::new();
    assert_steady("Utf8Decoder", || {
        for chunk in &chunks {
            decoder.feed(chunk).for_each(|piece| _ = black_box(piece));
            validated.validate(chunk).expect("well-formed");
            validator.validate_masked(chunk, &mut Mask::new([0; 4])).expect("well-formed");
        }
        for chunk in [&b"\xFFa\xE2\x82"[..], b"b\xED\xA0\x80", b"\xF0\x9F\x98"] {
            let mut pieces = decoder.feed(chunk);
            while let Some(piece) = pieces.next() {
                black_box((piece, pieces.rejected()));
            }
        }
        let _ = black_box(decoder.finish());
    });
}

#[test]
fn text_decoder_with_each_policy() {
    let chunks = text_chunks();
    for decoder in
        decoders().into_iter().flat_map(|decoder| [decoder.clone(), decoder.with_subset(&ALL_BUT_NUL)])
    {
        let name = format!("{decoder:?}");
        let mut text = String::with_capacity(1 << 16);
        assert_steady(&name, || {
            let mut decoder = decoder.clone();
            for chunk in
                chunks.iter().map(|chunk| &chunk[..]).chain([&b"\xFFa\xE2\x82"[..], b"\0\xED\xA0\x80"])
            {
                let mut again = decoder.clone();
                decoder.feed(chunk).for_each(|piece| _ = black_box(piece));
                again.feed_ranges(chunk).for_each(|piece| _ = black_box(piece));
                text.clear();
                let _ = black_box(again.feed_into(chunk, &mut text));
            }
            black_box(decoder.finish());
        });
    }
}

#[test]
fn chunks_in_whole_characters() {
    let mut decoder = TextDecoder::new();
    assert_steady("TextDecoder::decode_chunk", || {
        black_box(decoder.decode_chunk(TEXT.as_bytes()).expect("well-formed"));
    });
}

#[test]
fn transcoder_between_each_encoding_and_some_others() {
    let some = [Encoding::Utf8, Encoding::Utf16Le, Encoding::Windows1252, Encoding::Cesu8];
    let pairs = Encoding::ALL.iter().flat_map(|&each| some.map(|other| [(each, other), (other, each)]));
    let mut source = vec![0; 1 << 12];
    let mut target = vec![0; 1 << 14];
    for (from, to) in pairs.flatten() {
        // Characters that every encoding contains.
        let text = "caf\u{E9} cr\u{E8}me ".repeat(8);
        let encoded = Transcoder::new(Encoding::Utf8, from).feed_into_slice(text.as_bytes(), &mut source);
        let encoded = &source[..encoded.written];
        let mut transcoder = Transcoder::new(from, to).with_error_policy(ErrorPolicy::Replace);
        assert_steady(&format!("{from} to {to}"), || {
            for chunk in encoded.chunks(7) {
                let progress = transcoder.feed_into_slice(chunk, &mut target);
                assert_eq!(progress.read, chunk.len());
            }
        });
    }
}

#[test]
fn text_codec() {
    for decoder in decoders() {
        assert_codec_is_steady(&format!("{decoder:?}"), Utf8Codec::with_decoder(decoder), TEXT.as_bytes());
    }
    assert_codec_is_steady("FailFast", FailFast::new(Utf8Codec::new()), TEXT.as_bytes());
    assert_encoder_is_steady("Utf8Codec", Utf8Codec::new(), &TEXT);
}

#[test]
fn lines_codec() {
    for decoder in decoders() {
        assert_codec_is_steady(
            &format!("{decoder:?}"),
            Utf8LinesCodec::with_decoder(decoder),
            TEXT.as_bytes(),
        );
    }
    assert_encoder_is_steady("Utf8LinesCodec", Utf8LinesCodec::new(), &"a line");
}

#[test]
fn line_batches_codec() {
    let codec: Utf8LineBatchesCodec = Utf8LinesCodec::new().into_batches();
    let mut batches = pin!(FramedRead::new(Repeat::text(), codec));
    assert_steady("Utf8LineBatchesCodec", || {
        let batch = next(&mut batches).expect("well-formed");
        batch.iter().for_each(|line| _ = black_box(line));
    });
}

#[test]
fn frames_and_framing_codecs() {
    let payload = TEXT.trim_end();
    let framed = |before: &str, after: &str| [before, payload, after].concat().into_bytes();
    let length = payload.len();
    let binary = [&(length as u32).to_be_bytes()[..], payload.as_bytes()].concat();
    // The codec of tokio-util reserves space while the frame is in use, which allocates a buffer every 8 KiB.
    let codec = Utf8FramesCodec::new(LengthDelimitedCodec::new());
    let mut frames = pin!(FramedRead::new(Repeat::of(&binary), codec));
    assert_at_most(1, "LengthDelimitedCodec", || {
        black_box(next(&mut frames).expect("an item").expect("well-formed"));
    });
    let syslog = framed(&format!("{length} "), "");
    assert_codec_is_steady("OctetCountingCodec", Utf8FramesCodec::new(OctetCountingCodec::new()), &syslog);
    let lsp = framed(&format!("Content-Length: {length}\r\n\r\n"), "");
    assert_codec_is_steady("ContentLengthCodec", Utf8FramesCodec::new(ContentLengthCodec::new()), &lsp);
    let json = framed("\x1E\"", "\"\n");
    assert_codec_is_steady("JsonSequenceCodec", Utf8FramesCodec::new(JsonSequenceCodec::new()), &json);
    let log = framed("2026-11-28T20:00:00Z stdout F ", "\n");
    assert_codec_is_steady("CriCodec", Utf8FramesCodec::new(CriCodec::new()), &log);

    let frame = Bytes::from_static(b"\"frame\"");
    assert_encoder_is_steady("OctetCountingCodec", OctetCountingCodec::new(), &frame);
    assert_encoder_is_steady("ContentLengthCodec", ContentLengthCodec::new(), &frame);
    assert_encoder_is_steady("JsonSequenceCodec", JsonSequenceCodec::new(), &frame);
}

/// The ID is a copy, because it is kept.
const EVENT_WITH_ID: &[u8] = "event: price\nid: 7\ndata: 12 \u{20AC}\n\n".as_bytes();

#[test]
fn server_sent_events() {
    assert_codec_is_steady("SseCodec", SseCodec::new(), EVENT);
    let mut events = pin!(FramedRead::new(Repeat::of(EVENT_WITH_ID), SseCodec::new()));
    assert_at_most(2, "SseCodec with an ID", || {
        black_box(next(&mut events).expect("an item").expect("well-formed"));
    });
}

#[test]
fn transcoding_codec() {
    let utf16: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // The conversion allocates a `String`, which becomes a `ByteString`.
    let mut texts = pin!(FramedRead::new(Repeat::of(&utf16), TranscodeCodec::new(Encoding::Utf16Le)));
    assert_at_most(3, "TranscodeCodec", || {
        black_box(next(&mut texts).expect("an item").expect("well-formed"));
    });
    let lines = TranscodeCodec::new(Encoding::Utf16Le).into_lines();
    let mut lines = pin!(FramedRead::new(Repeat::of(&utf16), lines));
    assert_at_most(3, "TranscodeLinesCodec", || {
        black_box(next(&mut lines).expect("an item").expect("well-formed"));
    });
    assert_encoder_is_steady("TranscodeCodec", TranscodeCodec::new(Encoding::Utf16Le), &TEXT);
}

#[test]
fn proxy_filter_with_each_policy() {
    let chunks = text_chunks();
    for decoder in decoders() {
        let mut passed = 0;
        assert_steady(&format!("{decoder:?}"), || {
            let mut filter = Filter::with_decoder(decoder.clone());
            for chunk in chunks.iter().map(|chunk| &chunk[..]).chain([&b"\xFFa\xE2\x82"[..], b"\xED\xA0\x80"])
            {
                let _ = filter.feed_with(chunk, |edit| match edit {
                    Edit::Pass(range) => passed += range.len(),
                    Edit::Insert(bytes) => passed += bytes.len(),
                    _ => {}
                });
            }
        });
    }
}

#[test]
fn proxy_filter_of_chunks_that_pass() {
    let chunk = chunks_of(TEXT.as_bytes()).swap_remove(0).slice(..2);
    let mut filter = Filter::new();
    assert_steady("Filter::filter", || {
        let mut body = Some(chunk.clone());
        assert_eq!(filter.rewrite(&mut body, false), Ok(()));
    });
}

#[test]
fn transfer_decoder() {
    let bodies = [
        (TransferEncoding::EightBit, TEXT.as_bytes()),
        (TransferEncoding::QuotedPrintable, b"na=C3=AFve =E2=82=\r\n=AC\r\n"),
        (TransferEncoding::Base64, b"bmHDr3ZlIOKCrCA=\r\n"),
    ];
    for (encoding, body) in bodies {
        let mut decoder = TransferDecoder::new(encoding);
        assert_steady(&format!("{encoding:?}"), || {
            body.chunks(5).for_each(|chunk| decoder.feed_with(chunk, |piece| _ = black_box(piece)));
        });
    }
}

#[test]
fn line_filter() {
    let chunks = text_chunks();
    let mut filter = LineFilter::new();
    assert_steady("LineFilter", || {
        for chunk in &chunks {
            filter.feed_with(chunk, |edit| _ = black_box(edit)).expect("well-formed");
        }
    });
}
