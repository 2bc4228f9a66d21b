//! Misuse that is possible in safe code: buffers that are swapped, truncated and overwritten between calls,
//! decoders that are copied and restored, iterators that are dropped or leaked. Text must still be UTF-8.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use tokio_util::codec::Decoder;
use utf8_codec::LineEnding;
use utf8_codec::codec::{SseCodec, Utf8Codec, Utf8LinesCodec};
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::codec::TranscodeCodec;
use utf8_codec_fuzz::Input;

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let mut decoder = input.decoder();
    let ending = input.pick(5, &[LineEnding::LfOrCrLf, LineEnding::Any, LineEnding::CrLf]);
    let lines = Utf8LinesCodec::with_decoder(decoder.clone())
        .with_line_ending(ending)
        .with_max_length(input.pick(6, &[0, 3, 40, 1 << 20]));
    abuse(input, Utf8Codec::with_decoder(decoder.clone()), |text| valid(&text));
    abuse(input, lines.clone(), |line| valid(&line));
    abuse(input, lines.into_batches(), |batch| batch.iter().for_each(|line| valid(&line)));
    abuse(input, SseCodec::with_decoder(decoder.clone()), |event| valid(&event.data));
    abuse(input, TranscodeCodec::new(input.pick(7, Encoding::ALL)), |text| valid(&text));

    let mut snapshot = decoder.clone();
    for (step, chunk) in input.chunks().into_iter().enumerate() {
        let operation = usize::from(data[step % 8]) + step;
        match operation % 7 {
            0 => snapshot = decoder.clone(),
            1 => decoder = snapshot.clone(),
            2 => decoder
                .feed(chunk)
                .take(operation / 7 % 3)
                .for_each(|piece| valid(piece.text().unwrap_or(""))),
            3 => {
                let mut pieces = decoder.feed(chunk);
                if let Some(piece) = pieces.next() {
                    valid(piece.text().unwrap_or(""));
                }
                core::mem::forget(pieces);
            }
            4 => decoder.decode_chunk(chunk).map_or_else(|failed| valid(&failed.text), |text| valid(&text)),
            5 => {
                decoder.finish().iter().for_each(|piece| valid(piece.text().unwrap_or("")));
            }
            _ => {
                let mut text = String::from("é");
                let _ = decoder.feed_into(chunk, &mut text);
                valid(&text);
            }
        }
    }
});

/// Decodes while the caller changes the buffer between the calls.
fn abuse<C, T, E>(input: Input<'_>, mut codec: C, check: impl Fn(T))
where
    C: Decoder<Item = Result<T, E>>,
{
    let mut buffer = BytesMut::new();
    for (step, chunk) in input.chunks().into_iter().enumerate() {
        let operation = chunk.first().map_or(0, |&byte| usize::from(byte)) + step;
        let at = operation % (buffer.len() + 1);
        match operation % 8 {
            0 => buffer.clear(),
            1 => drop(buffer.split_to(at)),
            2 => buffer.truncate(at),
            3 => buffer[at..].fill(chunk.first().copied().unwrap_or(0xC3)),
            4 => buffer = BytesMut::from(chunk),
            _ => buffer.extend_from_slice(chunk),
        }
        let decoded =
            if operation % 5 == 0 { codec.decode_eof(&mut buffer) } else { codec.decode(&mut buffer) };
        if let Ok(Some(Ok(item))) = decoded {
            check(item);
        }
    }
}

/// Checks the bytes through a `black_box`, because the compiler may assume that a `str` is UTF-8.
fn valid(text: &str) {
    assert!(core::str::from_utf8(core::hint::black_box(text.as_bytes())).is_ok());
}
