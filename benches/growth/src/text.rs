//! Decoders without I/O: text, encodings, detection.

use core::hint::black_box;

use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonStrings};
use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder, Utf8Decoder};
use utf8_codec_encodings::detect::{
    BomSniffer, DesignationRecognizer, Detector, FallbackDecoder, Padding, Scope,
};
use utf8_codec_encodings::{Encoding, TranscodeStatus, Transcoder};
use utf8_codec_media::content_type::ContentType;

use crate::inputs::*;
use crate::row::{Row, sink};

/// All characters except `a`, so that each `a` is one error in well-formed text.
const NOT_A: Subset = Subset::new(&[0..=0x60, 0x62..=0x10_FFFF]);

/// Returns a new decoder.
pub(crate) type NewDecoder = fn() -> TextDecoder;

/// Returns the policies that have separate code paths in the decoders.
pub(crate) fn policies() -> [(&'static str, NewDecoder); 5] {
    [
        ("Strict", TextDecoder::new),
        ("Replace", replace),
        ("Skip", || TextDecoder::new().with_error_policy(ErrorPolicy::Skip)),
        ("Require", || TextDecoder::new().with_bom_policy(BomPolicy::Require)),
        ("subset, Replace", || replace().with_subset(&NOT_A)),
    ]
}

pub(crate) fn replace() -> TextDecoder {
    TextDecoder::new().with_error_policy(ErrorPolicy::Replace)
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::new("Utf8Decoder::feed", TEXT, |bytes, chunk| {
            let mut decoder = Utf8Decoder::new();
            for chunk in bytes.chunks(chunk) {
                decoder.feed(chunk).for_each(sink);
            }
        }),
        Row::new("Utf8Decoder::feed, one piece of a chunk at a time", TEXT, |bytes, chunk| {
            let mut decoder = Utf8Decoder::new();
            for mut chunk in bytes.chunks(chunk) {
                while !chunk.is_empty() {
                    let before = decoder.offset();
                    black_box(decoder.feed(chunk).next());
                    chunk = &chunk[(decoder.offset() - before) as usize..];
                }
            }
        }),
        Row::new("Utf8Decoder::validate", TEXT, |bytes, chunk| {
            let mut decoder = Utf8Decoder::new();
            for mut chunk in bytes.chunks(chunk) {
                let mut before = decoder.offset();
                while decoder.validate(chunk).is_err() {
                    chunk = &chunk[(decoder.offset() - before) as usize..];
                    before = decoder.offset();
                }
            }
        }),
        Row::new("Utf8Validator", TEXT, |bytes, chunk| {
            let (mut validator, mut mask) = (Utf8Validator::new(), Mask::new([1, 2, 3, 4]));
            for chunk in bytes.chunks(chunk) {
                black_box(validator.validate(chunk).is_ok());
                black_box(validator.validate_masked(chunk, &mut mask).is_ok());
            }
        }),
        Row::new("Detector", TEXT.into_iter().chain([ZEROS, SURROGATES]), |bytes, chunk| {
            let mut detector = Detector::new();
            bytes.chunks(chunk).for_each(|chunk| sink(detector.push(chunk)));
            black_box(detector.finish());
        }),
        Row::new("BomSniffer", [BOMS, ZEROS], |bytes, chunk| {
            let mut sniffer = BomSniffer::default();
            bytes.chunks(chunk).for_each(|chunk| sink(sniffer.push(chunk)));
        }),
        Row::new("DesignationRecognizer", [ESCAPES, ASCII], |bytes, chunk| {
            let mut recognizer = DesignationRecognizer::padded(Padding::None);
            bytes.chunks(chunk).for_each(|chunk| sink(recognizer.feed(chunk).count()));
        }),
        Row::new("ContentType", CONTENT_TYPES, |bytes, _| {
            let value = [b"text/plain", bytes].concat();
            black_box(ContentType::parse(&value).is_ok());
            black_box(ContentType::parse_mail(&value).is_ok());
        })
        .whole_only(),
    ];
    for &policy in EscapePolicy::ALL {
        let strings = JsonStrings::new().with_escape_policy(policy).with_subset(&NOT_A);
        let decoder = JsonDecoder::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Escape));
        let inputs = TEXT.into_iter().chain(JSON);
        rows.push(Row::new(format!("JsonDecoder, {policy}"), inputs, move |bytes, chunk| {
            let mut decoder = decoder.clone().with_strings(strings);
            for mut chunk in bytes.chunks(chunk) {
                // Every iterator is dropped after some pieces.
                while !chunk.is_empty() {
                    let before = decoder.offset();
                    decoder.feed(chunk).take(9).for_each(sink);
                    chunk = &chunk[(decoder.offset() - before) as usize..];
                }
            }
            decoder.finish().for_each(sink);
        }));
    }
    for scope in [Scope::Line, Scope::Frame, Scope::Sequence] {
        let inputs = LINES_OF_ALL_KINDS;
        rows.push(Row::new(format!("FallbackDecoder, {scope:?}"), inputs, move |bytes, chunk| {
            let (mut decoder, mut text) =
                (FallbackDecoder::new(Encoding::Windows1252, scope).expect("one byte"), String::new());
            bytes.chunks(chunk).for_each(|chunk| decoder.feed_into(chunk, &mut text));
            decoder.finish_into(&mut text);
        }));
    }
    rows.push(decode_chunk("subset, Strict", || TextDecoder::new().with_subset(&NOT_A)));
    for (name, decoder) in policies() {
        rows.push(Row::new(format!("TextDecoder::feed, {name}"), TEXT, move |bytes, chunk| {
            let mut decoder = decoder();
            for chunk in bytes.chunks(chunk) {
                decoder.feed(chunk).for_each(sink);
            }
        }));
        rows.push(decode_chunk(name, decoder));
        rows.push(Row::new(format!("TextDecoder::feed_into, {name}"), TEXT, move |bytes, chunk| {
            let (mut decoder, mut text) = (decoder(), String::new());
            for mut chunk in bytes.chunks(chunk) {
                let mut before = decoder.offset();
                while decoder.feed_into(chunk, &mut text).is_err() {
                    chunk = &chunk[(decoder.offset() - before) as usize..];
                    before = decoder.offset();
                }
            }
        }));
    }
    for (i, &from) in Encoding::ALL.iter().enumerate() {
        let (to, policy) =
            [(Encoding::Utf8, ErrorPolicy::Strict), (Encoding::Utf16Be, ErrorPolicy::Escape)][i % 2];
        for (to, policy) in [(to, policy), (Encoding::Utf8, ErrorPolicy::Replace)] {
            let name = format!("Transcoder, {from} to {to}, {policy:?}");
            let inputs = [ASCII, CYRILLIC, FF, THREE_BYTE_LEADS, SURROGATES];
            rows.push(Row::new(name, inputs, move |bytes, chunk| {
                transcode(Transcoder::new(from, to).with_error_policy(policy), bytes, chunk);
            }));
        }
    }
    rows
}

/// Decodes with `decode_chunk`, and continues after each error.
fn decode_chunk(name: &str, decoder: NewDecoder) -> Row {
    Row::new(format!("TextDecoder::decode_chunk, {name}"), TEXT, move |bytes, chunk| {
        let mut decoder = decoder();
        for mut chunk in bytes.chunks(chunk) {
            while let Err(failed) = decoder.decode_chunk(chunk).map(sink) {
                chunk = &chunk[failed.read..];
                sink(failed.text);
            }
        }
    })
}

const CONTENT_TYPES: [Input; 6] = [SEMICOLONS, PARAMETERS, CONTINUED_PARAMETERS, COMMENTS, QUOTES, SPACES];

/// Transcodes to a growing output, and to a short output buffer.
fn transcode(transcoder: Transcoder, bytes: &[u8], chunk: usize) {
    let (mut growing, mut out) = (transcoder.clone(), Vec::new());
    for mut chunk in bytes.chunks(chunk) {
        let mut before = growing.offset();
        while growing.feed_into(chunk, &mut out).is_err() {
            chunk = &chunk[(growing.offset() - before) as usize..];
            before = growing.offset();
        }
    }
    let (mut bounded, mut room) = (transcoder, [0; 64]);
    for mut chunk in bytes.chunks(chunk) {
        loop {
            let progress = bounded.feed_into_slice(chunk, &mut room);
            chunk = &chunk[progress.read..];
            if progress.status == TranscodeStatus::InputEmpty {
                break;
            }
        }
    }
}
