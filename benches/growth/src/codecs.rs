//! The codecs of tokio-util.

use core::hint::black_box;

use bytes::{Bytes, BytesMut};
use futures::executor::block_on;
use futures::{StreamExt, stream};
use tokio_util::codec::{AnyDelimiterCodec, Decoder, Encoder, LengthDelimitedCodec};
use utf8_codec::codec::framing::{ContentLengthCodec, CriCodec, JsonSequenceCodec, OctetCountingCodec};
use utf8_codec::codec::sse::{Comment, Event};
use utf8_codec::codec::{CodecError, LineBatch, SseCodec, Utf8Codec, Utf8FramesCodec, Utf8LinesCodec};
use utf8_codec::stream::SseStream;
use utf8_codec::{Ascii, ErrorPolicy, LineEnding, TextDecoder};
use utf8_codec_encodings::codec::{FallbackLinesCodec, TranscodeCodec};
use utf8_codec_encodings::{Encoding, Transcoder};

use crate::inputs::*;
use crate::row::{Row, sink};
use crate::text::{NewDecoder, policies, replace};

/// Drives a codec as `FramedRead` does: decodes all items after each read, and the rest at the end.
fn drive<C: Decoder>(mut codec: C, bytes: &[u8], chunk: usize, mut each: impl FnMut(C::Item)) {
    let mut buffer = BytesMut::new();
    let mut take = |decoded: Result<Option<C::Item>, C::Error>| match decoded {
        Ok(Some(item)) => {
            each(item);
            true
        }
        Ok(None) | Err(_) => false,
    };
    for chunk in bytes.chunks(chunk) {
        buffer.extend_from_slice(chunk);
        while take(codec.decode(&mut buffer)) {}
    }
    while take(codec.decode_eof(&mut buffer)) {}
}

fn lines_of(lines: Result<LineBatch, CodecError>) {
    for line in lines.iter().flatten() {
        black_box(line);
    }
}

fn transcoding(encoding: Encoding, policy: ErrorPolicy) -> TranscodeCodec {
    let reading = Transcoder::new(encoding, Encoding::Utf8).with_error_policy(policy);
    TranscodeCodec::with_transcoders(reading, Transcoder::new(Encoding::Utf8, encoding))
}

const ENDINGS: [LineEnding; 5] =
    [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, LineEnding::Any, LineEnding::Ascii(Ascii::NUL)];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, text) in policies() {
        rows.push(Row::new(format!("Utf8Codec, {name}"), TEXT, move |bytes, chunk| {
            drive(Utf8Codec::with_decoder(text()), bytes, chunk, drop);
        }));
    }
    for ending in ENDINGS {
        let variants: [(_, NewDecoder, _); 2] = [
            ("Strict, lines of at most 16 bytes", TextDecoder::new, 16),
            ("Replace, no limit", replace, usize::MAX),
        ];
        for (name, text, limit) in variants {
            let codec =
                move || Utf8LinesCodec::with_decoder(text()).with_line_ending(ending).with_max_length(limit);
            let name = format!("{ending:?}, {name}");
            let inputs = LINES_OF_ALL_KINDS;
            rows.push(Row::new(format!("Utf8LinesCodec, {name}"), inputs, move |bytes, chunk| {
                drive(codec(), bytes, chunk, drop);
            }));
            rows.push(Row::new(format!("Utf8LineBatchesCodec, {name}"), inputs, move |bytes, chunk| {
                drive(codec().into_batches(), bytes, chunk, lines_of);
            }));
        }
        rows.push(
            Row::new(format!("encoder of lines, {ending:?}"), [ASCII, CR, CYRILLIC], move |bytes, _| {
                let (mut codec, mut out) = (Utf8LinesCodec::new().with_line_ending(ending), BytesMut::new());
                let text = str::from_utf8(bytes).unwrap_or_default();
                black_box(codec.encode(text, &mut out).is_ok());
            })
            .whole_only(),
        );
    }
    let strict: (_, NewDecoder) = ("Strict", TextDecoder::new);
    for (name, text) in [strict, ("Replace", replace)] {
        let inputs = [FRAMES, EMPTY_FRAMES];
        rows.push(Row::new(format!("Utf8FramesCodec, {name}"), inputs, move |bytes, chunk| {
            drive(Utf8FramesCodec::with_decoder(LengthDelimitedCodec::new(), text()), bytes, chunk, drop);
        }));
        rows.push(Row::new(
            format!("Utf8FramesCodec over delimiters, {name}"),
            LINES_OF_ALL_KINDS,
            move |bytes, chunk| {
                let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), 1 << 20);
                drive(Utf8FramesCodec::with_decoder(codec, text()), bytes, chunk, drop);
            },
        ));
    }
    let variants: [(_, NewDecoder, _); 2] =
        [("Strict, at most 16 bytes", TextDecoder::new, 16), ("Replace, no limit", replace, usize::MAX)];
    for (name, text, limit) in variants {
        let codec =
            move || SseCodec::with_decoder(text()).with_max_event_length(limit).with_max_line_length(limit);
        rows.push(Row::new(format!("SseCodec, {name}"), EVENT_STREAMS, move |bytes, chunk| {
            drive(codec(), bytes, chunk, drop);
        }));
        rows.push(Row::new(format!("SseStream, {name}"), EVENT_STREAMS, move |bytes, chunk| {
            let chunks = stream::iter(bytes.chunks(chunk).map(Bytes::copy_from_slice).collect::<Vec<_>>());
            block_on(SseStream::with_codec(chunks, codec()).for_each(|event| {
                sink(event.is_ok());
                core::future::ready(())
            }));
        }));
    }
    rows.push(
        Row::new("encoder of events", [ASCII, LF, CR, CRLF, CYRILLIC], |bytes, _| {
            let text = str::from_utf8(bytes).unwrap_or_default();
            sink(Event::new(text).to_bytes().is_ok());
            sink(Event::new("").with_event(text).with_id(text).to_bytes().is_ok());
            sink(SseCodec::new().encode(Comment(text), &mut BytesMut::new()).is_ok());
        })
        .whole_only(),
    );
    for limit in [16, usize::MAX] {
        let name = |codec: &str| format!("{codec}, at most {limit} bytes");
        let inputs = [COUNTED, ASCII, LF, LINES_THEN_ASCII];
        rows.push(Row::new(name("OctetCountingCodec"), inputs, move |bytes, chunk| {
            drive(
                OctetCountingCodec::new().with_max_length(limit).with_line_frames(true),
                bytes,
                chunk,
                drop,
            );
        }));
        rows.push(Row::new(name("ContentLengthCodec"), [MESSAGES, FIELDS, CR], move |bytes, chunk| {
            drive(ContentLengthCodec::new().with_max_length(limit), bytes, chunk, drop);
        }));
        let inputs = [JSON_TEXTS, RECORD_SEPARATORS, ASCII, LF];
        rows.push(Row::new(name("JsonSequenceCodec"), inputs, move |bytes, chunk| {
            drive(JsonSequenceCodec::new().with_max_length(limit), bytes, chunk, drop);
        }));
        let inputs = [RECORDS, PARTS, EMPTY_PARTS, ASCII, LF, SPACES];
        rows.push(Row::new(name("CriCodec"), inputs, move |bytes, chunk| {
            drive(CriCodec::new().with_max_length(limit), bytes, chunk, drop);
        }));
    }
    rows.push(Row::new("FallbackLinesCodec", LINES_OF_ALL_KINDS, |bytes, chunk| {
        drive(FallbackLinesCodec::new(Encoding::Gbk).expect("it has ASCII"), bytes, chunk, drop);
    }));
    for encoding in [Encoding::Utf7, Encoding::Iso2022Kr] {
        let inputs = [UTF_7_SHIFTS, UTF_7_HALVES, PLUSES, KOREAN_SHIFTS, KOREAN_PAIRS, CYRILLIC];
        rows.push(Row::new(format!("TranscodeCodec, {encoding}, shifts"), inputs, move |bytes, chunk| {
            drive(transcoding(encoding, ErrorPolicy::Replace), bytes, chunk, drop);
        }));
    }
    for &encoding in Encoding::ALL {
        for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace] {
            let inputs = [ASCII, FF, THREE_BYTE_LEADS, SURROGATES];
            rows.push(Row::new(
                format!("TranscodeCodec, {encoding}, {policy:?}"),
                inputs,
                move |bytes, chunk| {
                    drive(transcoding(encoding, policy), bytes, chunk, drop);
                },
            ));
            let inputs = [ASCII, LF, FF, FF_LF_THEN_CR, SURROGATES];
            rows.push(Row::new(
                format!("TranscodeLinesCodec, {encoding}, {policy:?}"),
                inputs,
                move |bytes, chunk| {
                    let codec = transcoding(encoding, policy).into_lines().with_max_length(64);
                    drive(codec, bytes, chunk, drop);
                },
            ));
        }
    }
    rows
}
