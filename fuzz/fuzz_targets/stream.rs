//! Compares `Utf8Stream` over a hostile stream with the decoder for the whole input.
#![no_main]

use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::FusedStream;
use libfuzzer_sys::fuzz_target;
use std::io;
use test_support::hostile::{HostileStream, Step, steps};
use utf8_codec::stream::Utf8Stream;
use utf8_codec_fuzz::{Input, decode_until_error};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, decoder) = (input.chunks(), input.decoder());
    let (expected, first) = decode_until_error(decoder.clone(), input.bytes);
    // The inner stream returns an error and continues after it.
    let mut steps = steps(&chunks);
    let fails_at = input.pick(5, &[usize::MAX, 0, 1, 2, 5]);
    let fails = chunks.iter().skip(fails_at).any(|chunk| !chunk.is_empty());
    if fails {
        steps.insert(fails_at, Step::Fail(io::ErrorKind::TimedOut));
    }

    let mut stream = Utf8Stream::with_decoder(HostileStream::new(steps), decoder);
    let (mut text, mut error, mut failures) = (String::new(), None, 0);
    while let Some(item) = block_on(stream.next()) {
        assert_eq!(error, None, "the stream ends after an error");
        match item {
            Ok(part) => {
                assert!(!part.is_empty());
                text.push_str(&part);
            }
            Err(failed) => {
                error = failed.utf8_error();
                failures += usize::from(error.is_none());
            }
        }
    }
    assert_eq!((text, error), (expected, first));
    assert!(failures == usize::from(fails) || error.is_some());
    assert!(stream.is_terminated());
});
