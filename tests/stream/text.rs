//! `Utf8Stream`: the same text for every partition, slices where possible, and no item after the end.

use core::convert::Infallible;
use core::task::{Context, Waker};
use core::time::Duration;
use std::io;
use std::time::Instant;

use bytes::Bytes;
use futures::stream::FusedStream;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use utf8_codec::stream::{Utf8Stream, Utf8StreamError, Utf8StreamExt};
use utf8_codec::{Ascii, BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder, Utf8Error};

use crate::support::hostile::{HostileStream, Step, steps};
use crate::support::{Rng, every_partition, oracle, some_partitions};

const CRAB: &[u8] = "na\u{EF}ve \u{1F980}!".as_bytes();

/// Returns the text of a stream and the error that ended it. Asserts that no item follows.
fn outcome(mut text: Utf8Stream<HostileStream>) -> (String, Option<Utf8StreamError<io::Error>>) {
    futures::executor::block_on(async {
        let (mut good, mut error) = (String::new(), None);
        while let Some(part) = text.next().await {
            assert!(error.is_none(), "no item follows an error");
            match part {
                Ok(part) => {
                    assert!(!part.is_empty(), "no empty items");
                    good.push_str(&part);
                }
                Err(reported) => error = Some(reported),
            }
        }
        assert!(text.next().now_or_never().expect("not pending").is_none());
        assert!(text.is_terminated());
        assert_eq!(text.size_hint(), (0, Some(0)));
        (good, error)
    })
}

fn strict(chunks: &[&[u8]]) -> (String, Option<Utf8Error>) {
    let (text, error) = outcome(HostileStream::new(steps(chunks)).utf8());
    let error = error.map(|error| match error {
        Utf8StreamError::Text(error) => error,
        Utf8StreamError::Inner(error) => panic!("{error}"),
    });
    (text, error)
}

#[test]
fn every_partition_returns_the_text_before_the_error() {
    let mut rng = Rng::new(5);
    let check = |input: &[u8], chunks: &[&[u8]]| {
        let first = oracle::decode(input).1.first().copied();
        let good = &input[..first.map_or(input.len(), |(offset, ..)| offset as usize)];
        let (text, error) = strict(chunks);
        assert_eq!(text.as_bytes(), good, "{chunks:02X?}");
        assert_eq!(error.map(|e| (e.offset, e.kind, e.len)), first, "{chunks:02X?}");
    };
    for round in 0..600 {
        let input = rng.dirty_text(1 + round % 8);
        every_partition(&input, |chunks| check(&input, chunks));
    }
    for round in 0..60 {
        let input = rng.dirty_text(9 + round);
        some_partitions(&input, 5, |chunks| check(&input, chunks));
    }
}

#[test]
fn every_policy_returns_the_same_for_every_partition() {
    let mut rng = Rng::new(55);
    let policies = [
        ErrorPolicy::Replace,
        ErrorPolicy::Escape,
        ErrorPolicy::Latin1,
        ErrorPolicy::Windows1252,
        ErrorPolicy::Skip,
    ];
    for round in 0..120 {
        let input = rng.dirty_text(1 + round % 7);
        for policy in policies {
            let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(BomPolicy::Strip);
            let whole = outcome(HostileStream::new(steps(&[&input])).utf8_with(decoder.clone())).0;
            every_partition(&input, |chunks| {
                let (text, error) = outcome(HostileStream::new(steps(chunks)).utf8_with(decoder.clone()));
                assert_eq!(text, whole, "{policy:?} {chunks:02X?}");
                assert!(error.is_none());
            });
        }
    }
}

#[test]
fn each_chunk_is_one_item_and_a_slice_unless_a_character_was_split() {
    let chunks = [Bytes::from(CRAB[..3].to_vec()), Bytes::from(CRAB[3..].to_vec())];
    let inner = stream::iter(chunks.clone()).map(Ok::<_, Infallible>);
    let parts: Vec<_> = inner.utf8().map(Result::unwrap).collect().now_or_never().unwrap();
    assert_eq!(parts, ["na", "\u{EF}ve \u{1F980}!"]);
    assert_eq!(parts[0].as_ptr(), chunks[0].as_ptr());
}

#[test]
fn a_decoded_chunk_is_released() {
    let chunk = Bytes::from(b"long text that ends in a lead\xE2".to_vec());
    let inner = stream::iter([Ok::<_, Infallible>(chunk.clone())]).chain(stream::pending());
    let mut text = inner.utf8();
    assert!(text.next().now_or_never().is_some());
    assert!(text.next().now_or_never().is_none());
    assert!(chunk.is_unique());
    assert_eq!(text.decoder().pending(), b"\xE2");
}

#[test]
fn chunks_of_any_type_that_converts_into_bytes_are_accepted() {
    fn text<B: Into<Bytes>>(chunks: Vec<B>) -> String {
        let inner = stream::iter(chunks).map(Ok::<_, Infallible>);
        inner.utf8().try_collect::<Vec<_>>().now_or_never().unwrap().unwrap().concat()
    }
    let (left, right) = CRAB.split_at(9);
    assert_eq!(text(vec![left.to_vec(), right.to_vec()]).as_bytes(), CRAB);
    assert_eq!(text(vec![left, right]).as_bytes(), CRAB);
    assert_eq!(text(vec![Box::<[u8]>::from(CRAB)]).as_bytes(), CRAB);
    assert_eq!(text(vec![String::from("text")]), "text");
    assert_eq!(text(Vec::<Bytes>::new()), "");
}

#[test]
fn after_an_error_the_inner_stream_is_not_polled() {
    let chunks = steps(&[b"good\xFF", b"never"]);
    let mut text = HostileStream::new(chunks).utf8();
    futures::executor::block_on(async {
        assert_eq!(text.next().await.unwrap().unwrap(), "good");
        let Some(Err(Utf8StreamError::Text(error))) = text.next().await else { panic!("an error") };
        assert_eq!((error.offset, error.kind, error.len), (4, ErrorKind::InvalidLead, 1));
        for _ in 0..3 {
            assert!(text.next().await.is_none());
        }
    });
    assert_eq!(text.decoder().counters().total(), 1);
    assert!(
        text.into_inner().next().now_or_never().is_none(),
        "the second chunk is still there, and pending"
    );
}

#[test]
fn an_end_inside_a_character_is_one_truncated_error() {
    let (text, error) = strict(&[b"caf", b"\xC3"]);
    assert_eq!(text, "caf");
    assert_eq!(error, Some(Utf8Error::new(3, ErrorKind::Truncated, 1)));
}

#[test]
fn decoding_continues_after_an_inner_error_at_every_position() {
    for cut in 0..=CRAB.len() {
        let inner = [
            Step::Chunk(CRAB[..cut].to_vec()),
            Step::Fail(io::ErrorKind::TimedOut),
            Step::Chunk(CRAB[cut..].to_vec()),
        ];
        let (mut good, mut errors) = (String::new(), Vec::new());
        futures::executor::block_on(HostileStream::new(inner).utf8().for_each(|part| {
            match part {
                Ok(part) => good.push_str(&part),
                Err(Utf8StreamError::Inner(error)) => errors.push(error.kind()),
                Err(Utf8StreamError::Text(error)) => panic!("{error} at cut {cut}"),
            }
            core::future::ready(())
        }));
        assert_eq!(good.as_bytes(), CRAB);
        assert_eq!(errors, [io::ErrorKind::TimedOut]);
    }
}

#[test]
fn a_connection_that_fails_inside_a_character_is_one_error() {
    let inner = [Step::Chunk(b"caf\xC3".to_vec()), Step::Fail(io::ErrorKind::ConnectionReset)];
    let (text, error) = outcome(HostileStream::new(inner).utf8());
    assert_eq!(text, "caf");
    let error = io::Error::from(error.unwrap());
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn errors_convert_and_are_found_in_a_chain() {
    let utf8 = Utf8Error::new(7, ErrorKind::Surrogate, 1);
    let error: Utf8StreamError<io::Error> = utf8.into();
    assert_eq!(error.to_string(), utf8.to_string());
    assert!(core::error::Error::source(&error).is_none(), "the message is complete");
    let error = io::Error::from(error);
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(error.get_ref().unwrap().downcast_ref::<Utf8Error>(), Some(&utf8));
}

#[tokio::test]
async fn a_future_dropped_at_any_await_point_loses_no_text() {
    for polls in 0..4 {
        let bytes: Vec<_> = CRAB.chunks(1).collect();
        let mut text = HostileStream::new(steps(&bytes)).utf8();
        let (mut good, mut dropped) = (String::new(), 0);
        loop {
            // Polls the other branch `polls` times before dropping it.
            let timeout = async {
                for _ in 0..polls {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                part = text.next() => match part {
                    Some(part) => good.push_str(&part.unwrap()),
                    None => break,
                },
                () = timeout => dropped += 1,
            }
        }
        assert_eq!(good.as_bytes(), CRAB);
        assert!(dropped > 0 || polls > 0, "{dropped} futures were dropped");
    }
}

#[test]
fn a_million_chunks_of_one_byte_take_linear_time() {
    const COUNT: usize = 1_000_000 / CRAB.len() * CRAB.len();
    let bytes = (0..COUNT).map(|i| Ok::<_, Infallible>(&CRAB[i % CRAB.len()..][..1]));
    let started = Instant::now();
    let length = stream::iter(bytes).utf8().fold(0, |length, part| {
        let part = part.unwrap();
        assert_eq!(part.chars().count(), 1);
        core::future::ready(length + part.len())
    });
    assert_eq!(length.now_or_never(), Some(COUNT));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_poll_is_bounded_when_all_input_is_skipped() {
    let skip = TextDecoder::new().with_error_policy(ErrorPolicy::Skip);
    let mut cx = Context::from_waker(Waker::noop());
    // A stream that is always ready and never has text, in chunks of one byte and in large ones.
    for size in [1, 100_000] {
        let bad = Bytes::from(vec![0xFF; size]);
        let inner = stream::repeat_with(move || Ok::<_, Infallible>(bad.clone()));
        let mut text = inner.utf8_with(skip.clone());
        for poll in 1..20 {
            assert!(text.poll_next_unpin(&mut cx).is_pending());
            assert!(text.decoder().offset() <= poll * 128 * 1024, "one poll reads at most 128 KiB");
            assert!(text.decoder().offset() >= poll * 1000, "each poll makes progress");
        }
    }
    // Nor does a stream of empty chunks hold a thread.
    let mut empty = stream::repeat(Bytes::new()).utf8();
    assert!(empty.poll_next_unpin(&mut cx).is_pending());
    // No text is lost, and each pending poll wakes the task.
    let mut bytes = vec![0xFF; 200_000];
    bytes.extend_from_slice(b"text");
    let text = stream::iter([Ok::<_, Infallible>(bytes)]).utf8_with(skip);
    assert_eq!(futures::executor::block_on(text.collect_string()).unwrap(), "text");
}

/// Large inputs, which take too long in a debug build.
const SHIFT: u32 = if cfg!(debug_assertions) { 6 } else { 0 };

#[test]
fn a_gibibyte_is_returned_without_a_copy() {
    // The same MiB is returned many times.
    let mebibyte = Bytes::from("0123456789abcd\u{E9}".repeat(65_536).into_bytes());
    let count = 1024 >> SHIFT;
    let bytes = stream::iter(core::iter::repeat_n(mebibyte.clone(), count)).map(Ok::<_, Infallible>);
    let total = bytes.utf8().fold(0, |total, part| {
        let part = part.unwrap();
        assert!(mebibyte.as_ptr_range().contains(&part.as_ptr()));
        core::future::ready(total + part.len())
    });
    assert_eq!(total.now_or_never(), Some(count << 20));
}

#[test]
fn a_huge_chunk_with_many_errors_takes_linear_time() {
    static SPACE: Subset = Subset::new(&[0x20..=0x20]);
    let count = (1 << 20) >> SHIFT;
    let started = Instant::now();
    for (bytes, decoder) in
        [(vec![0xFF; count], TextDecoder::new()), (vec![b'!'; count], TextDecoder::new().with_subset(&SPACE))]
    {
        let decoder = decoder.with_error_policy(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
        let inner = stream::iter([Ok::<_, Infallible>(bytes)]);
        let length = inner
            .utf8_with(decoder)
            .fold(0, |length, part| core::future::ready(length + part.unwrap().matches('?').count()));
        assert_eq!(length.now_or_never(), Some(count));
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// The bodies have the types of HTTP libraries: boxed, `Send`, with the error type of the library.
#[test]
fn bodies_of_http_libraries_are_streams_of_text() {
    type BoxError = Box<dyn core::error::Error + Send + Sync>;
    async fn text_of(
        body: impl Stream<Item = Result<Bytes, BoxError>>,
    ) -> Result<String, Utf8StreamError<BoxError>> {
        Ok(body.utf8().try_collect::<Vec<_>>().await?.concat())
    }
    fn spawnable<F: Future + Send + 'static>(future: F) -> F {
        future
    }
    let chunks = || CRAB.chunks(3).map(|chunk| Ok(Bytes::from_static(chunk)));
    // reqwest: `Response::bytes_stream()`.
    let boxed: core::pin::Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>> =
        Box::pin(stream::iter(chunks()));
    assert_eq!(spawnable(text_of(boxed)).now_or_never().unwrap().unwrap().as_bytes(), CRAB);
    // hyper, axum: `into_data_stream()` of any `http_body::Body`.
    let frames = stream::iter(chunks().map(|chunk| chunk.map(http_body::Frame::data)));
    let body = BodyExt::boxed(StreamBody::new(frames));
    assert_eq!(text_of(body.into_data_stream()).now_or_never().unwrap().unwrap().as_bytes(), CRAB);
}

/// For every partition no byte is lost, neither of those that were read nor of the others.
#[test]
fn the_parts_have_every_byte_that_was_not_returned() {
    let input = b"gr\xC3\xBC\n\xFF\xC3\xA9\xE2\x82";
    every_partition(input, |chunks| {
        let inner =
            stream::iter(chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect::<Vec<_>>());
        let (mut text, mut read) = (inner.utf8(), String::new());
        while !read.contains('\n') {
            read.push_str(&futures::executor::block_on(text.next()).unwrap().unwrap());
        }
        let (inner, decoder, rest) = text.into_parts();
        let rest = [&rest[..], &futures::executor::block_on(inner.collect::<Vec<_>>()).concat()].concat();
        assert_eq!([read.as_bytes(), &rest].concat(), input, "{chunks:02X?}");
        assert_eq!((decoder.pending(), decoder.offset()), (&b""[..], read.len() as u64), "{chunks:02X?}");
    });
    // The first byte of a character was read.
    let mut text = stream::iter([Bytes::from_static(b"gr\xC3")]).chain(stream::pending()).utf8();
    assert_eq!(futures::executor::block_on(text.next()).unwrap().unwrap(), "gr");
    assert!(text.next().now_or_never().is_none());
    let (_, mut decoder, rest) = text.into_parts();
    assert_eq!((&rest[..], decoder.offset()), (&b"\xC3"[..], 2));
    let mut text = String::new();
    decoder.feed_into(&[&rest, &b"\xBCn"[..]].concat(), &mut text).unwrap();
    assert_eq!(
        (&text[..], decoder.offset()),
        ("\u{FC}n", 5),
        "the decoder continues with the returned bytes"
    );
}

/// The text before an error is returned before the error is counted.
#[test]
fn an_error_is_counted_when_it_is_returned() {
    for chunks in [vec![&b"gr\xC3\xBCn\xFF!"[..]], vec![b"gr\xC3", b"\xBCn\xFF!"]] {
        let mut text = stream::iter(chunks).utf8();
        let mut read = String::new();
        while read != "gr\u{FC}n" {
            read += &futures::executor::block_on(text.next()).unwrap().unwrap();
        }
        assert_eq!((text.decoder().offset(), text.decoder().counters().total()), (5, 0));
        let error = futures::executor::block_on(text.next()).unwrap().unwrap_err();
        assert_eq!(error.utf8_error().map(|error| error.offset), Some(5));
        assert_eq!((text.decoder().offset(), text.decoder().counters().total()), (6, 1));
    }
}
