//! `Transcoder`: every pair of encodings, input in chunks and small buffers, compared with a naive decoder and encoder
//! and with encoding_rs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use test_support::encodings::{self, OWN, Open, PAGES, SHIFTED};
use utf8_codec::{ErrorKind, ErrorPolicy};
use utf8_codec_encodings::{Encoding, TranscodeError, TranscodeStatus, Transcoder};
use utf8_codec_fuzz::Input;

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (from, to) = (input.pick(5, Encoding::ALL), input.pick(6, Encoding::ALL));
    let chunks = input.chunks();
    let strict = Transcoder::new(from, to);
    let whole = run(&strict, &[input.bytes], ROOM);
    let is_defined = |encoding| OWN.contains(encoding) || SHIFTED.contains(encoding);
    let has_definition = is_defined(&from) && is_defined(&to);
    let expected = if has_definition { naive(from, to, input.bytes) } else { whole.clone() };
    assert_eq!(whole, expected);
    assert_eq!(run(&strict, &chunks, input.pick(7, &[6, 7, 13, 64, 300, 9000])), expected);

    let policy = strict.clone().with_error_policy(input.pick(0, &test_support::policies()));
    assert_eq!(run(&policy, &chunks, 17), run(&policy, &[input.bytes], ROOM));
    let sniffing = strict.with_sniffing(true);
    assert_eq!(run(&sniffing, &chunks, 9), run(&sniffing, &[input.bytes], ROOM));

    let other = match from {
        Encoding::Utf16Le => encoding_rs::UTF_16LE,
        Encoding::Utf16Be => encoding_rs::UTF_16BE,
        Encoding::Windows1252 => encoding_rs::WINDOWS_1252,
        Encoding::Utf8 => encoding_rs::UTF_8,
        _ if is_defined(&from) || PAGES.contains(&from) => return,
        _ => encoding_rs::Encoding::for_label(from.name().as_bytes()).expect("a label of the standard"),
    };
    let replaced =
        run(&Transcoder::new(from, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace), &chunks, 64).0;
    let (text, _) = other.decode_without_bom_handling(input.bytes);
    // At the end of a stream, encoding_rs replaces a high surrogate and half a unit by one U+FFFD, as this
    // crate does.
    assert_eq!(String::from_utf8_lossy(&replaced), text);
});

/// A buffer that is filled only by long streams. One for the longest stream would take most of the time.
const ROOM: usize = 2048;

type Errors = Vec<(u64, ErrorKind, u8)>;

fn run(transcoder: &Transcoder, chunks: &[&[u8]], room: usize) -> (Vec<u8>, Errors) {
    let mut transcoder = transcoder.clone();
    let (mut out, mut errors, mut buffer) = (Vec::new(), Vec::new(), vec![0; room]);
    let mut note = |error: TranscodeError| errors.push((error.offset, error.kind, error.len));
    for chunk in chunks.iter().copied().map(Some).chain([None]) {
        let mut rest = chunk.unwrap_or_default();
        loop {
            let progress = match chunk {
                Some(_) => transcoder.feed_into_slice(rest, &mut buffer),
                None => transcoder.finish_into_slice(&mut buffer),
            };
            out.extend_from_slice(&buffer[..progress.written]);
            rest = &rest[progress.read..];
            match progress.status {
                TranscodeStatus::InputEmpty => break,
                TranscodeStatus::OutputFull => assert!(progress.written > 0, "no progress"),
                TranscodeStatus::IllFormed(error) => note(error),
            }
        }
        assert!(rest.is_empty());
    }
    (out, errors)
}

fn naive(from: Encoding, to: Encoding, bytes: &[u8]) -> (Vec<u8>, Errors) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    for (at, len, found) in encodings::decode(from, Open::default(), to == Encoding::Wtf8, bytes) {
        match found
            .and_then(|value| encodings::encode(to, Open::default(), value).ok_or(ErrorKind::Unmappable))
        {
            Ok(bytes) => out.extend(bytes),
            Err(kind) => errors.push((at, kind, len)),
        }
    }
    (out, errors)
}
