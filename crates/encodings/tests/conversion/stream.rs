//! `TranscodeStream`: the text and the errors of the transcoder, for every partition.

use futures::executor::block_on;
use futures::{StreamExt, stream};
use utf8_codec::stream::Utf8StreamError;
use utf8_codec::{ErrorKind, ErrorPolicy};
use utf8_codec_encodings::stream::{TranscodeStream, TranscodeStreamExt};
use utf8_codec_encodings::{Encoding, Transcoder};

use crate::support::every_partition;
use crate::support::hostile::{HostileStream, Step, steps};

#[test]
fn text_and_errors_are_those_of_the_transcoder() {
    for (encoding, input, text, error) in [
        (Encoding::Utf16Le, &b"\x3D\xD8\xA9\xDCa\0\xE9\0"[..], "💩aé", None),
        (Encoding::Utf16Be, b"\0a\xD8\x3D\0b", "a", Some((2, ErrorKind::UnpairedSurrogate))),
        (Encoding::Utf16Le, b"a\0\x3D\xD8\xA9", "a", Some((2, ErrorKind::Truncated))),
    ] {
        every_partition(input, |chunks| {
            let mut stream = HostileStream::new(steps(chunks)).transcode(encoding);
            let (mut out, mut failed) = (String::new(), None);
            while let Some(item) = block_on(stream.next()) {
                assert_eq!(failed, None, "the error is the last item");
                match item {
                    Ok(part) => out.push_str(&part),
                    Err(Utf8StreamError::Text(error)) => failed = Some((error.offset, error.kind)),
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!((&out[..], failed), (text, error), "{encoding} {chunks:02X?}");
            assert!(block_on(stream.next()).is_none());
        });
    }
}

#[test]
fn an_error_of_the_inner_stream_may_be_inside_a_character() {
    let kind = std::io::ErrorKind::TimedOut;
    let steps = [
        Step::Chunk(b"\x3D\xD8".into()),
        Step::Fail(kind),
        Step::Chunk(b"\xA9\xDC\x3D".into()),
        Step::Fail(kind),
    ];
    let mut stream = HostileStream::new(steps).transcode(Encoding::Utf16Le);
    let mut next = || {
        block_on(stream.next()).map(|item| item.map_err(|error| matches!(error, Utf8StreamError::Inner(_))))
    };
    assert_eq!(next(), Some(Err(true)));
    assert_eq!(next(), Some(Ok("💩".into())));
    assert_eq!(next(), Some(Err(true)));
    assert_eq!(next(), None);
}

#[test]
fn input_without_text_does_not_block_the_executor() {
    let transcoder = Transcoder::new(Encoding::Utf16Le, Encoding::Utf8).with_error_policy(ErrorPolicy::Skip);
    let chunks = stream::iter(vec![vec![0xD8; 8 << 10]; 20]);
    let mut stream = TranscodeStream::with_transcoder(chunks, transcoder);
    let context = &mut core::task::Context::from_waker(core::task::Waker::noop());
    assert!(stream.poll_next_unpin(context).is_pending());
    assert!(block_on(stream.next()).is_none());
    assert!(stream.transcoder().counters().total() > 0);
}
