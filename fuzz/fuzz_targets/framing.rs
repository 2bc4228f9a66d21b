//! The framing codecs return the same frames for every partition, and decoding reverses encoding.
#![no_main]

use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::framing::{ContentLengthCodec, JsonSequenceCodec, NetstringCodec, OctetCountingCodec};
use utf8_codec::codec::{ErrorsAsItems, Recoverable, Utf8FramesCodec};
use utf8_codec_fuzz::{Input, items};

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::new(data) else { return };
    let max = input.pick(6, &[0, 1, 9, 100, 4096, usize::MAX]);
    match input.pick(5, &[0, 1, 2, 3, 4]) {
        0 => check(input, || NetstringCodec::new().max_length(max)),
        1 => check(input, || OctetCountingCodec::new().max_length(max)),
        2 => check(input, || OctetCountingCodec::new().max_length(max).or_lines()),
        3 => check(input, || ContentLengthCodec::new().max_length(max)),
        _ => check(input, || JsonSequenceCodec::new().max_length(max)),
    }
});

fn check<C>(input: Input<'_>, new: impl Fn() -> C)
where
    C: Decoder<Item: Into<Bytes> + PartialEq + core::fmt::Debug, Error: Recoverable + core::fmt::Debug>,
    C: Encoder<Bytes, Error: core::fmt::Debug>,
{
    let chunks = input.chunks();
    let expected = items(&mut ErrorsAsItems::new(new()), &[input.bytes]);
    let show = |items: &[_]| format!("{items:?}");
    assert_eq!(show(&items(&mut ErrorsAsItems::new(new()), &chunks)), show(&expected));

    let texts = || Utf8FramesCodec::with_decoder(new(), input.decoder());
    assert_eq!(show_texts(&items(&mut texts(), &chunks)), show_texts(&items(&mut texts(), &[input.bytes])));

    let mut wire = BytesMut::new();
    if new().encode(Bytes::copy_from_slice(input.bytes), &mut wire).is_ok() {
        let frames = items(&mut new(), &[&wire]);
        if let [Ok(frame)] = <[_; 1]>::try_from(frames).unwrap_or_else(|_| [Err(String::new())]) {
            assert_eq!(frame.into(), input.bytes);
        }
    }
}

fn show_texts(items: &[impl core::fmt::Debug]) -> String {
    format!("{items:?}")
}
