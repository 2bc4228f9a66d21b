//! The framing codecs return the same frames and texts for every partition, and decoding reverses encoding. Syslog
//! messages are split at the same place by every setting.
#![no_main]

use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::Utf8FramesCodec;
use utf8_codec::codec::framing::{
    BlockingFrames, ContentLengthCodec, CriCodec, FramingError, JsonSequenceCodec, OctetCountingCodec,
    SyslogText, SyslogValidator,
};
use utf8_codec_fuzz::{Input, items, shown};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let max = input.pick(6, &[0, 1, 9, 100, 4096, usize::MAX]);
    match input.pick(5, &[0, 1, 2, 3, 4, 5]) {
        0 => check(input, AS_IS, || OctetCountingCodec::new().with_max_length(max)),
        1 => check(input, AS_IS, || OctetCountingCodec::new().with_max_length(max).with_line_frames(true)),
        2 => check(input, AS_IS, || ContentLengthCodec::new().with_max_length(max)),
        4 => check_log(input, || CriCodec::new().with_max_length(max)),
        5 => check_syslog(input.bytes),
        // The LF that ends a text may also be one that the writer put at its end.
        _ => check(input, <[u8]>::trim_ascii_end, || JsonSequenceCodec::new().with_max_length(max)),
    }
});

/// The part of a frame that a reader receives as it was written.
type Kept = fn(&[u8]) -> &[u8];

const AS_IS: Kept = |frame| frame;

fn check_log(input: Input<'_>, new: impl Fn() -> CriCodec) {
    let lines = |chunks: &[&[u8]]| items(&mut new(), chunks);
    let expected = lines(&[input.bytes]);
    let chunks = input.chunks();
    assert_eq!(lines(&chunks), expected);
    let blocking = BlockingFrames::new(input.bytes, new()).map(|line| line.expect("no I/O").map_err(shown));
    assert_eq!(blocking.collect::<Vec<_>>(), expected);

    let texts = |chunks: &[&[u8]]| items(&mut Utf8FramesCodec::with_decoder(new(), input.decoder()), chunks);
    assert_eq!(texts(&chunks), texts(&[input.bytes]));
}

fn check_syslog(message: &[u8]) {
    let any = SyslogValidator::new().validate(message);
    let utf8 = SyslogValidator::new().with_utf8_required(true).validate(message);
    match any {
        Err(error) => {
            assert!(error.offset() <= message.len() as u64);
            assert_eq!(utf8, Err(error));
        }
        Ok(found) => {
            let (len, is_utf8) = match found.text {
                SyslogText::Absent => (0, true),
                SyslogText::Utf8(text) => (1 + 3 + text.len(), true),
                SyslogText::Undeclared(bytes) => (1 + bytes.len(), std::str::from_utf8(bytes).is_ok()),
            };
            assert!(message.starts_with(found.head.as_bytes()));
            assert_eq!((found.head.len() + len, utf8.is_ok()), (message.len(), is_utf8));
        }
    }
}

fn check<C>(input: Input<'_>, kept: Kept, new: impl Fn() -> C)
where
    C: Decoder<Item = Result<Bytes, FramingError>, Error: core::fmt::Debug>,
    C: Encoder<Bytes, Error: core::fmt::Debug>,
{
    let chunks = input.chunks();
    let frames = |chunks: &[&[u8]]| items(&mut new(), chunks);
    assert_eq!(frames(&chunks), frames(&[input.bytes]));

    let texts = |chunks: &[&[u8]]| items(&mut Utf8FramesCodec::with_decoder(new(), input.decoder()), chunks);
    assert_eq!(texts(&chunks), texts(&[input.bytes]));

    let mut wire = BytesMut::new();
    if new().encode(Bytes::copy_from_slice(input.bytes), &mut wire).is_ok() {
        let frames = items(&mut new(), &[&wire]);
        if let [Ok(frame)] = <[_; 1]>::try_from(frames).unwrap_or_else(|_| [Err(String::new())]) {
            assert_eq!(kept(&frame), kept(input.bytes));
        }
    }
}
