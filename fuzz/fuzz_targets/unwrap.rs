//! What protocols add to lines: the chunks have the same result as the whole stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec_fuzz::Input;
use utf8_codec_mail::unwrap::{DotUnstuffer, Unfolder};

type Bytes = Vec<(u64, u8)>;

fn unfolded(chunks: &[&[u8]]) -> Bytes {
    let (mut unfolder, mut bytes) = (Unfolder::new(), Vec::new());
    let mut push = |offset: u64, part: &[u8]| bytes.extend((offset..).zip(part.iter().copied()));
    chunks.iter().for_each(|chunk| unfolder.feed_with(chunk, &mut push));
    unfolder.finish_with(push);
    bytes
}

fn unstuffed(chunks: &[&[u8]]) -> (Bytes, bool, DotUnstuffer) {
    let (mut dots, mut bytes) = (DotUnstuffer::new(), Vec::new());
    let mut push = |offset: u64, part: &[u8]| bytes.extend((offset..).zip(part.iter().copied()));
    let has_ended = chunks.iter().any(|chunk| dots.feed_with(chunk, &mut push).is_some());
    (bytes, has_ended, dots)
}

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let chunks = input.chunks();
    let bytes = unfolded(&chunks);
    assert_eq!(bytes, unfolded(&[input.bytes]));
    let text = unstuffed(&chunks);
    assert_eq!(text, unstuffed(&[input.bytes]));
    for (offset, byte) in bytes.into_iter().chain(text.0) {
        assert_eq!(input.bytes[offset as usize], byte);
    }
});
