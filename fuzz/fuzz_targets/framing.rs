//! The framing codecs return the same frames, texts and messages for every partition, and decoding reverses encoding.
#![no_main]

use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::framing::{ContentLengthCodec, JsonSequenceCodec, NetstringCodec, OctetCountingCodec};
use utf8_codec::codec::{ErrorsAsItems, Fragment, Recoverable, Utf8FramesCodec};
use utf8_codec_fuzz::{Input, decode_until_error, items, shown};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let max = input.pick(6, &[0, 1, 9, 100, 4096, usize::MAX]);
    match input.pick(5, &[0, 1, 2, 3, 4]) {
        0 => check(input, AS_IS, || NetstringCodec::new().with_max_length(max)),
        1 => check(input, AS_IS, || OctetCountingCodec::new().with_max_length(max)),
        2 => check(input, AS_IS, || OctetCountingCodec::new().with_max_length(max).with_line_frames(true)),
        3 => check(input, AS_IS, || ContentLengthCodec::new().with_max_length(max)),
        // The LF that ends a text may also be one that the writer put at its end.
        _ => check(input, <[u8]>::trim_ascii_end, || JsonSequenceCodec::new().with_max_length(max)),
    }
});

/// The part of a frame that a reader receives as it was written.
type Kept = fn(&[u8]) -> &[u8];

const AS_IS: Kept = |frame| frame;

fn check<C>(input: Input<'_>, kept: Kept, new: impl Fn() -> C)
where
    C: Decoder<Item: Into<Bytes> + PartialEq + core::fmt::Debug, Error: Recoverable + core::fmt::Debug>,
    C: Encoder<Bytes, Error: core::fmt::Debug>,
{
    let chunks = input.chunks();
    let frames = |chunks: &[&[u8]]| -> Vec<Result<C::Item, String>> {
        let items = items(&mut ErrorsAsItems::new(new()), chunks);
        items.into_iter().map(|item| item?.map_err(shown)).collect()
    };
    assert_eq!(frames(&chunks), frames(&[input.bytes]));

    let texts = |chunks: &[&[u8]]| items(&mut Utf8FramesCodec::with_decoder(new(), input.decoder()), chunks);
    assert_eq!(texts(&chunks), texts(&[input.bytes]));
    check_messages(input, &new);

    let mut wire = BytesMut::new();
    if new().encode(Bytes::copy_from_slice(input.bytes), &mut wire).is_ok() {
        let frames = items(&mut new(), &[&wire]);
        if let [Ok(frame)] = <[_; 1]>::try_from(frames).unwrap_or_else(|_| [Err(String::new())]) {
            let frame: Bytes = frame.into();
            assert_eq!(kept(&frame), kept(input.bytes));
        }
    }
}

/// Each frame is a part of a message. A frame of an odd length is the last one.
struct Parts<C>(C);

fn is_last(frame: &Bytes) -> bool {
    frame.len() % 2 == 1
}

fn part(frame: impl Into<Bytes>) -> Fragment<Bytes> {
    let frame = frame.into();
    if is_last(&frame) { Fragment::Last(frame) } else { Fragment::More(frame) }
}

impl<C: Decoder<Item: Into<Bytes>>> Decoder for Parts<C> {
    type Item = Fragment<Bytes>;
    type Error = C::Error;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Fragment<Bytes>>, C::Error> {
        Ok(self.0.decode(src)?.map(part))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Fragment<Bytes>>, C::Error> {
        Ok(self.0.decode_eof(src)?.map(part))
    }
}

/// The text of a message is that of its frames together. After an error the rest of it is discarded.
fn check_messages<C>(input: Input<'_>, new: impl Fn() -> C)
where
    C: Decoder<Item: Into<Bytes> + core::fmt::Debug, Error: core::fmt::Debug>,
{
    let messages = |chunks: &[&[u8]]| {
        let codec = Utf8FramesCodec::with_decoder(Parts(new()), input.decoder());
        items(&mut codec.into_fragments(), chunks)
    };
    let found = messages(&[input.bytes]);
    assert_eq!(messages(&input.chunks()), found);

    let frames = items(&mut new(), &[input.bytes]);
    let Ok(frames) = frames.into_iter().map(|frame| frame.map(Into::into)).collect::<Result<Vec<Bytes>, _>>()
    else {
        return;
    };
    let mut found = found.into_iter();
    for message in frames.split_inclusive(is_last) {
        let (text, error) = decode_until_error(input.decoder(), &message.concat());
        let mut parts = String::new();
        for item in found.by_ref() {
            match item {
                Ok(Fragment::More(part)) => parts.push_str(&part),
                Ok(Fragment::Last(part)) => {
                    parts.push_str(&part);
                    break;
                }
                Err(_) => break,
            }
        }
        if error.is_none() {
            assert_eq!(parts, text);
        } else {
            assert!(text.starts_with(&parts));
        }
    }
}
