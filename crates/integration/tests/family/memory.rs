//! Safe code never receives a `str` that is not UTF-8, even if callers and inner types violate their contracts.
//!
//! Each test is an attack: an implementation of a trait that violates its contract, a panic during a call, an iterator
//! that is leaked, or state that is restored in another stream. An attack may cause errors and wrong text. It must not
//! cause ill-formed text, undefined behavior (`.ci/run miri` runs this file) or an endless loop.
//!
//! Other attacks are elsewhere: readers and writers (`io.rs`), buffers that are swapped between calls of a codec
//! (`tests/invariance`), and `tracing` subscribers that panic (`tests/tracing`).

use core::cell::Cell;
use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::io;
use std::sync::Arc;
use std::task::Wake;

use bytes::{Buf, Bytes, BytesMut};
use futures::Stream;
use http_body::{Body, Frame, SizeHint};
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::framing::{ContentLengthCodec, CriCodec, JsonSequenceCodec, OctetCountingCodec};
use utf8_codec::codec::{CodecError, SseCodec, Utf8Codec, Utf8FramesCodec, Utf8LinesCodec};
use utf8_codec::stream::{SseStream, Utf8Stream};
use utf8_codec::validator::Utf8Validator;
use utf8_codec::{Piece, TextPiece, Utf8Decoder};
use utf8_codec_http::Utf8Body;
use utf8_codec_proxy::{Edit, Filter, LineFilter};

use crate::attacks::{Panics, Rng, RngExt, any_decoder, assert_text, each_round, may_panic};

#[test]
#[allow(clippy::forget_non_drop, reason = "they may get a destructor")]
fn iterators_are_forgotten() {
    each_round(|rng| {
        let (mut decoder, mut text) = (Utf8Decoder::new(), any_decoder(rng));
        for _ in 0..4 {
            let chunk = rng.bytes();
            let mut pieces = decoder.feed(&chunk);
            for _ in 0..rng.below(3) {
                if let Some(Piece::Text(text)) = pieces.next() {
                    assert_text(text);
                }
            }
            core::mem::forget(pieces);
            let mut pieces = text.feed(&chunk);
            for _ in 0..rng.below(3) {
                if let Some(text) = pieces.next() {
                    text.text().into_iter().for_each(assert_text);
                }
            }
            core::mem::forget(pieces);
            core::mem::forget(text.feed_ranges(&chunk).next());
        }
    });
}

#[test]
fn snapshots_are_restored_in_other_streams() {
    each_round(|rng| {
        let (mut decoder, mut snapshot) = (any_decoder(rng), any_decoder(rng));
        let (mut strict, mut saved) = (Utf8Decoder::new(), Utf8Decoder::new());
        let mut validator = Utf8Validator::new();
        let mut appended = String::new();
        for _ in 0..6 {
            let chunk = rng.bytes();
            match rng.below(4) {
                0 => core::mem::swap(&mut decoder, &mut snapshot),
                1 => snapshot = decoder.clone(),
                2 => core::mem::swap(&mut strict, &mut saved),
                _ => decoder = decoder.restarted_at(u64::MAX - rng.below(3) as u64),
            }
            for piece in decoder.feed(&chunk) {
                piece.text().into_iter().for_each(assert_text);
            }
            for piece in strict.feed(&chunk) {
                if let Piece::Text(text) = piece {
                    assert_text(text);
                }
            }
            let _ = snapshot.feed_into(&chunk, &mut appended);
            assert_text(&appended);
            snapshot.decode_chunk(&chunk).iter().for_each(|text| assert_text(text));
            let _ = validator.validate(&chunk);
            if let Some(TextPiece::Repaired(text, _)) = decoder.finish() {
                assert_text(&text);
            }
        }
    });
}

/// A buffer whose functions contradict each other.
struct LyingBuf {
    rng: Cell<u64>,
    calls: usize,
    bytes: Vec<u8>,
}

impl LyingBuf {
    fn new(rng: &mut Rng) -> Self {
        Self { rng: Cell::new(rng.below(1000) as u64), calls: 0, bytes: rng.bytes() }
    }

    fn pick(&self, limit: usize) -> usize {
        let mut rng = Rng(self.rng.get());
        let picked = rng.below(limit);
        self.rng.set(rng.0);
        picked
    }
}

impl Buf for LyingBuf {
    fn remaining(&self) -> usize {
        // The buffer ends eventually, because otherwise it would be an endless stream.
        if self.calls > 20 { 0 } else { [0, 1, self.bytes.len(), 1000][self.pick(4)] }
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes[self.pick(self.bytes.len() + 1)..]
    }

    fn advance(&mut self, _: usize) {
        self.calls += 1;
        if self.calls > 20 {
            self.bytes.clear();
        }
    }
}

/// A buffer whose `has_remaining` is true although `chunk` is empty.
struct EmptyBuf;

impl Buf for EmptyBuf {
    fn remaining(&self) -> usize {
        1
    }

    fn chunk(&self) -> &[u8] {
        &[]
    }

    fn advance(&mut self, _: usize) {}
}

#[test]
fn a_buffer_contradicts_itself() {
    let mut validator = Utf8Validator::new();
    assert_eq!(validator.validate_buf(EmptyBuf), Ok(()), "the call ends");
    each_round(|rng| {
        let mut validator = Utf8Validator::new();
        let _ = may_panic(|| validator.validate_buf(LyingBuf::new(rng)));
        assert!(validator.pending().len() < 4);
    });
}

/// A body with frames after its end, wrong hints, and inconsistent data.
struct LyingBody(Rng);

impl Body for LyingBody {
    type Data = LyingBuf;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<LyingBuf>, Infallible>>> {
        let rng = &mut self.0;
        match rng.below(8) {
            0 => Poll::Ready(None),
            1 => Poll::Pending,
            2 => Poll::Ready(Some(Ok(Frame::trailers(http::HeaderMap::new())))),
            _ => Poll::Ready(Some(Ok(Frame::data(LyingBuf::new(rng))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.0 & 4 != 0
    }

    fn size_hint(&self) -> SizeHint {
        if self.0.0 & 8 != 0 { SizeHint::with_exact(self.0.0 >> 60) } else { SizeHint::with_exact(u64::MAX) }
    }
}

#[test]
fn a_body_contradicts_itself() {
    let mut cx = Context::from_waker(Waker::noop());
    each_round(|rng| {
        let inner = LyingBody(Rng(rng.below(usize::MAX) as u64));
        let mut body = Utf8Body::with_decoder(inner, any_decoder(rng));
        for _ in 0..12 {
            let polled = may_panic(|| Pin::new(&mut body).poll_frame(&mut cx));
            if let Some(Poll::Ready(Some(Ok(frame)))) = polled
                && let Ok(data) = frame.into_data()
            {
                assert!(core::str::from_utf8(&data).is_ok(), "{data:02X?}");
            }
            let _ = may_panic(|| (body.is_end_stream(), body.size_hint()));
        }
    });
}

/// A stream that continues after its end, and panics.
struct LyingStream(Rng);

impl Stream for LyingStream {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let rng = &mut self.0;
        cx.waker().wake_by_ref();
        match rng.below(8) {
            0 => Poll::Ready(None),
            1 => Poll::Pending,
            2 => Poll::Ready(Some(Err(io::ErrorKind::Other.into()))),
            3 => std::panic::resume_unwind(Box::new("an attack")),
            _ => Poll::Ready(Some(Ok(rng.bytes().into()))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, Some(0))
    }
}

/// A waker that panics.
struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        std::panic::resume_unwind(Box::new("an attack"));
    }
}

#[test]
fn a_stream_goes_on_after_its_end_and_panics_and_so_do_wakers() {
    let panicking = Waker::from(Arc::new(PanickingWaker));
    each_round(|rng| {
        let inner = LyingStream(Rng(rng.below(usize::MAX) as u64));
        let mut texts = Utf8Stream::with_decoder(inner, any_decoder(rng));
        let mut events = SseStream::new(LyingStream(Rng(rng.below(usize::MAX) as u64)));
        for _ in 0..12 {
            let waker = if rng.below(3) == 0 { &panicking } else { Waker::noop() };
            let mut cx = Context::from_waker(waker);
            if let Some(Poll::Ready(Some(Ok(text)))) = may_panic(|| Pin::new(&mut texts).poll_next(&mut cx)) {
                assert_text(&text);
            }
            if let Some(Poll::Ready(Some(Ok(event)))) = may_panic(|| Pin::new(&mut events).poll_next(&mut cx))
            {
                assert_text(&event.data);
                assert_text(&event.event);
                event.id.iter().for_each(|id| assert_text(id));
            }
            let _ = texts.size_hint();
        }
        let mut collected = Box::pin(texts.collect_string());
        for _ in 0..4 {
            let mut cx = Context::from_waker(Waker::noop());
            let polled = may_panic(|| collected.as_mut().poll(&mut cx));
            match polled {
                Some(Poll::Ready(Ok(text))) => return assert_text(&text),
                Some(Poll::Ready(Err(_))) => return,
                _ => {}
            }
        }
    });
}

/// A codec that randomly returns frames of other buffers, fails and panics.
struct LyingCodec(Rng);

impl Decoder for LyingCodec {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let rng = &mut self.0;
        Ok(Some(match rng.below(6) {
            0 => return Ok(None),
            1 => return Err(io::ErrorKind::Other.into()),
            2 => std::panic::resume_unwind(Box::new("an attack")),
            3 => src.split_to(rng.below(src.len() + 1)).freeze(),
            4 => {
                src.fill(0xFF);
                rng.bytes().into()
            }
            _ => rng.bytes().into(),
        }))
    }
}

#[test]
fn an_inner_codec_fails_and_panics_and_changes_the_buffer() {
    each_round(|rng| {
        let inner = LyingCodec(Rng(rng.below(usize::MAX) as u64));
        let mut codec = Utf8FramesCodec::with_decoder(inner, any_decoder(rng));
        let mut buffer = BytesMut::new();
        for _ in 0..12 {
            buffer.extend_from_slice(&rng.bytes());
            if let Some(Ok(Some(Ok(text)))) = may_panic(|| codec.decode(&mut buffer)) {
                assert_text(&text);
            }
        }
    });
}

#[test]
fn the_buffer_of_a_codec_is_swapped_between_calls() {
    fn attack<C, I>(rng: &mut Rng, mut codec: C, texts: impl Fn(I))
    where
        C: Decoder<Item = Result<I, CodecError>>,
    {
        let mut buffers = [BytesMut::new(), BytesMut::new()];
        for _ in 0..8 {
            let buffer = &mut buffers[rng.below(2)];
            buffer.extend_from_slice(&rng.bytes());
            if rng.below(3) == 0 {
                let len = rng.below(buffer.len() + 1);
                buffer.truncate(len);
            }
            let decoded = if rng.below(4) == 0 { codec.decode_eof(buffer) } else { codec.decode(buffer) };
            if let Ok(Some(Ok(item))) = decoded {
                texts(item);
            }
        }
    }

    each_round(|rng| {
        let decoder = any_decoder(rng);
        attack(rng, Utf8Codec::with_decoder(decoder.clone()), |text| assert_text(&text));
        let lines = Utf8LinesCodec::with_decoder(decoder.clone()).with_max_length(20);
        attack(rng, lines.clone(), |line| assert_text(&line));
        attack(rng, lines.into_batches(), |lines| lines.iter().for_each(assert_text));
        attack(rng, SseCodec::with_decoder(decoder), |event| {
            assert_text(&event.data);
            assert_text(&event.event);
        });
    });
}

/// The pointer of an empty buffer is dangling. Miri reports if it is passed to C.
#[test]
fn empty_buffers_are_decoded() {
    fn decode<C: Decoder>(mut codec: C) {
        for _ in 0..2 {
            assert!(codec.decode(&mut BytesMut::new()).is_ok_and(|item| item.is_none()));
            assert!(codec.decode_eof(&mut BytesMut::new()).is_ok_and(|item| item.is_none()));
        }
    }

    decode(Utf8Codec::new());
    decode(Utf8LinesCodec::new());
    decode(Utf8LinesCodec::new().into_batches());
    decode(SseCodec::new());
    decode(ContentLengthCodec::new());
    decode(CriCodec::new());
    decode(JsonSequenceCodec::new());
    decode(OctetCountingCodec::new());
}

/// An `AsRef<str>` that returns a different text at each call.
struct LyingText([String; 2], Cell<usize>);

impl AsRef<str> for LyingText {
    fn as_ref(&self) -> &str {
        self.1.set(1 - self.1.get());
        &self.0[self.1.get()]
    }
}

#[test]
fn a_text_that_is_encoded_is_another_one_at_each_call() {
    each_round(|rng| {
        let mut text = || String::from_utf8_lossy(&rng.bytes()).into_owned();
        let mut text = || LyingText([text(), text()], Cell::new(0));
        let mut buffer = BytesMut::new();
        let _ = Utf8Codec::new().encode(text(), &mut buffer);
        let _ = Utf8LinesCodec::new().encode(text(), &mut buffer);
        let _ = Utf8LinesCodec::new().into_batches().encode(text(), &mut buffer);
        assert!(core::str::from_utf8(&buffer).is_ok(), "{buffer:02X?}");
    });
}

#[test]
fn callbacks_panic_at_each_call() {
    each_round(|rng| {
        let panics = Panics::at(1 + rng.below(4));
        let (mut filter, mut lines) = (Filter::with_decoder(any_decoder(rng)), LineFilter::new());
        for _ in 0..6 {
            let slice = rng.bytes();
            // Each range is inside the slice, even after a panic.
            let edit = |edit: Edit<'_>| {
                match edit {
                    Edit::Pass(range) => assert!(slice.get(range).is_some()),
                    Edit::Insert(bytes) => assert!(!bytes.is_empty()),
                    _ => {}
                }
                panics.call();
            };
            let passed = may_panic(|| filter.feed_with(&slice, edit));
            assert!(passed.is_some() || panics.calls.get() == panics.at, "no other panic");
            let passed = may_panic(|| lines.feed_with(&slice, edit));
            assert!(passed.is_some() || panics.calls.get() == panics.at, "no other panic");
        }
    });
}
