//! An adapter does not allocate for a chunk once its buffers have grown. A counting allocator checks this for each
//! adapter.
//!
//! The streams are well-formed. They are split inside characters, so that every adapter holds and joins bytes. If a
//! test has ill-formed bytes, its name says so.
#![cfg(all(
    feature = "codec",
    feature = "futures-io",
    feature = "http",
    feature = "io",
    feature = "mime",
    feature = "proxy",
    feature = "stream",
    feature = "transcode"
))]
#![allow(missing_docs)]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hint::black_box;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::alloc::System;
use std::io::{self, BufRead, Read, Write};

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http_body::{Body, Frame};
use tokio::io::ReadBuf;
use tokio_util::codec::{Decoder, Encoder, FramedRead, LengthDelimitedCodec};
use utf8_codec::codec::framing::{ContentLengthCodec, JsonSequenceCodec, NetstringCodec, OctetCountingCodec};
use utf8_codec::codec::{
    ErrorsAsItems, SseCodec, TranscodeCodec, Utf8Codec, Utf8FramesCodec, Utf8LineBatchesCodec, Utf8LinesCodec,
};
use utf8_codec::http::Utf8Body;
use utf8_codec::io::{Utf8Reader, Utf8Writer};
use utf8_codec::mime::{TransferDecoder, TransferEncoding};
use utf8_codec::proxy::{Edit, Filter, LineFilter, Verdict};
use utf8_codec::stream::{SseStream, Utf8Stream};
use utf8_codec::transcode::{Encoding, Transcoder};
use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::{Ascii, BomPolicy, ErrorPolicy, Subset, TextDecoder, Utf8Decoder};

/// The system allocator, with a count of the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded to `System`, which upholds the contract. The default `realloc` calls `alloc` and
// `dealloc`.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // While a thread ends, its counter has already been dropped.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WARM_UP: usize = 50;
const ROUNDS: usize = 500;

/// Asserts that a round does not allocate after some rounds in which the buffers grow.
#[track_caller]
fn assert_steady(name: &str, round: impl FnMut()) {
    assert_eq!(allocations(round), 0, "{name}: allocations in {ROUNDS} rounds");
}

/// Asserts that a round makes at most this many allocations on average. Used for items that are copies.
#[track_caller]
fn assert_at_most(each_round: usize, name: &str, round: impl FnMut()) {
    let count = allocations(round);
    assert!(count <= each_round * ROUNDS, "{name}: {count} allocations in {ROUNDS} rounds");
}

/// Returns the number of allocations of [`ROUNDS`] rounds, after some in which the buffers grow.
fn allocations(mut round: impl FnMut()) -> usize {
    (0..WARM_UP).for_each(|_| round());
    let before = ALLOCATIONS.get();
    (0..ROUNDS).for_each(|_| round());
    ALLOCATIONS.get() - before
}

/// Text for which each chunk of [`CHUNK`] bytes ends at another position in a character.
const TEXT: &str = "na\u{EF}ve \u{20AC} \u{1F980} plain text\n";
/// The length of a chunk. Neither the length of [`TEXT`] nor that of its frames is a multiple of it.
const CHUNK: usize = 17;

/// Returns one period of a stream that repeats `unit`. The chunks end at all positions of the unit.
fn chunks_of(unit: &[u8]) -> Vec<Bytes> {
    // For a long unit, chunks are longer than the unit.
    let size = if unit.len() < 100 { CHUNK } else { unit.len() + 1 };
    // The first slice of a `Bytes` allocates its reference count.
    let stream = Bytes::from(unit.repeat(size.min(100)));
    (0..stream.len()).step_by(size).map(|at| stream.slice(at..stream.len().min(at + size))).collect()
}

fn text_chunks() -> Vec<Bytes> {
    chunks_of(TEXT.as_bytes())
}

static ALL_BUT_NUL: Subset = Subset::new(&[1..=0x10_FFFF]);

/// Returns a decoder for each policy.
fn decoders() -> Vec<TextDecoder> {
    let policies = [
        ErrorPolicy::Strict,
        ErrorPolicy::Replace,
        ErrorPolicy::ReplaceWith('?'),
        ErrorPolicy::Substitute(Ascii::QUESTION_MARK),
        ErrorPolicy::Escape,
        ErrorPolicy::Latin1,
        ErrorPolicy::Windows1252,
        ErrorPolicy::Skip,
    ];
    let boms = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Reject];
    let with_bom = |policy| boms.map(|bom| TextDecoder::new().on_error(policy).bom(bom));
    policies.into_iter().flat_map(with_bom).collect()
}

/// A source that repeats its chunks without end.
struct Repeat {
    chunks: Vec<Bytes>,
    next: usize,
    /// The part of the previous chunk that has not been read.
    rest: Bytes,
}

impl Repeat {
    fn of(unit: &[u8]) -> Self {
        Self { chunks: chunks_of(unit), next: 0, rest: Bytes::new() }
    }

    fn text() -> Self {
        Self::of(TEXT.as_bytes())
    }

    fn next(&mut self) -> &Bytes {
        self.next = (self.next + 1) % self.chunks.len();
        &self.chunks[(self.next + self.chunks.len() - 1) % self.chunks.len()]
    }
}

impl Read for Repeat {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.next().clone();
        }
        let chunk = self.rest.split_to(self.rest.len().min(buf.len()));
        buf[..chunk.len()].copy_from_slice(&chunk);
        Ok(chunk.len())
    }
}

impl tokio::io::AsyncRead for Repeat {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.read(buf.initialize_unfilled())?;
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl futures::io::AsyncRead for Repeat {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.read(buf))
    }
}

impl Stream for Repeat {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(Some(Ok(self.next().clone())))
    }
}

impl Body for Repeat {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(self.next().clone()))))
    }
}

/// Polls for the next item of a stream. Polls again if the stream has exhausted its budget.
fn next<S: Stream>(stream: &mut Pin<&mut S>) -> S::Item {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(item) = stream.as_mut().poll_next(&mut cx) {
            return item.expect("the stream has no end");
        }
    }
}

/// Asserts that `FramedRead` with this codec does not allocate for the frames of a stream.
fn assert_codec_is_steady<C: Decoder>(name: &str, codec: C, unit: &[u8])
where
    C::Error: Debug,
{
    let mut frames = pin!(FramedRead::new(Repeat::of(unit), codec));
    assert_steady(name, || {
        black_box(next(&mut frames).expect("well-formed"));
    });
}

/// Asserts that a codec does not allocate to write an item to a buffer with room.
fn assert_encoder_is_steady<I: Clone, C: Encoder<I>>(name: &str, mut codec: C, item: &I)
where
    C::Error: Debug,
{
    let mut buffer = BytesMut::with_capacity(4096);
    assert_steady(name, || {
        codec.encode(item.clone(), &mut buffer).expect("can be written");
        buffer.clear();
    });
}

#[test]
fn a_counted_allocation_fails_a_test() {
    let allocates = std::panic::catch_unwind(|| assert_steady("a box", || drop(black_box(Box::new(1)))));
    assert!(allocates.is_err());
}

#[test]
fn decoder() {
    let chunks = text_chunks();
    let mut decoder = Utf8Decoder::new();
    let mut validator = Utf8Validator::new();
    let mut validated = Utf8Decoder::new();
    assert_steady("Utf8Decoder", || {
        for chunk in &chunks {
            decoder.feed(chunk).for_each(|piece| _ = black_box(piece));
            validated.validate(chunk).expect("well-formed");
            validator.feed_masked(chunk, &mut Mask::new([0; 4])).expect("well-formed");
        }
        for chunk in [&b"\xFFa\xE2\x82"[..], b"b\xED\xA0\x80", b"\xF0\x9F\x98"] {
            let mut pieces = decoder.feed(chunk);
            while let Some(piece) = pieces.next() {
                black_box((piece, pieces.rejected()));
            }
        }
        let _ = black_box(decoder.finish());
    });
}

#[test]
fn text_decoder_with_each_policy_on_well_formed_and_ill_formed_text() {
    let chunks = text_chunks();
    for decoder in decoders().into_iter().flat_map(|decoder| [decoder, decoder.subset(ALL_BUT_NUL)]) {
        let name = format!("{decoder:?}");
        let mut text = String::with_capacity(1 << 16);
        assert_steady(&name, || {
            let mut decoder = decoder;
            for chunk in
                chunks.iter().map(|chunk| &chunk[..]).chain([&b"\xFFa\xE2\x82"[..], b"\0\xED\xA0\x80"])
            {
                let mut again = decoder;
                decoder.feed(chunk).for_each(|piece| _ = black_box(piece));
                again.feed_ranges(chunk).for_each(|piece| _ = black_box(piece));
                text.clear();
                let _ = black_box(again.decode_into(chunk, &mut text));
            }
            black_box(decoder.finish());
        });
    }
}

#[test]
fn push_of_chunks_in_whole_characters() {
    let mut decoder = TextDecoder::new();
    assert_steady("TextDecoder::push", || {
        black_box(decoder.push(TEXT.as_bytes()).expect("well-formed"));
    });
}

#[test]
fn transcoder_with_each_pair_of_encodings() {
    let mut source = vec![0; 1 << 12];
    let mut target = vec![0; 1 << 14];
    for from in Encoding::ALL {
        // Characters that every encoding contains.
        let text = "caf\u{E9} cr\u{E8}me ".repeat(8);
        let encoded = Transcoder::new(Encoding::Utf8, from).feed_into(text.as_bytes(), &mut source);
        let encoded = &source[..encoded.written];
        for to in Encoding::ALL {
            let mut transcoder = Transcoder::new(from, to);
            assert_steady(&format!("{from} to {to}"), || {
                for chunk in encoded.chunks(7) {
                    let progress = transcoder.feed_into(chunk, &mut target);
                    assert_eq!(progress.read, chunk.len());
                }
            });
        }
    }
}

#[test]
fn text_codec() {
    for decoder in decoders() {
        assert_codec_is_steady(&format!("{decoder:?}"), Utf8Codec::with_decoder(decoder), TEXT.as_bytes());
    }
    assert_codec_is_steady("ErrorsAsItems", ErrorsAsItems::new(Utf8Codec::new()), TEXT.as_bytes());
    assert_encoder_is_steady("Utf8Codec", Utf8Codec::new(), &TEXT);
}

#[test]
fn lines_codec() {
    for decoder in decoders() {
        assert_codec_is_steady(
            &format!("{decoder:?}"),
            Utf8LinesCodec::with_decoder(decoder),
            TEXT.as_bytes(),
        );
    }
    assert_encoder_is_steady("Utf8LinesCodec", Utf8LinesCodec::new(), &"a line");
}

#[test]
fn line_batches_codec() {
    let codec: Utf8LineBatchesCodec = Utf8LinesCodec::new().into_batches();
    let mut batches = pin!(FramedRead::new(Repeat::text(), codec));
    assert_steady("Utf8LineBatchesCodec", || {
        let batch = next(&mut batches).expect("well-formed");
        batch.iter().for_each(|line| _ = black_box(line));
    });
}

#[test]
fn frames_and_framing_codecs() {
    let payload = TEXT.trim_end();
    let framed = |before: &str, after: &str| [before, payload, after].concat().into_bytes();
    let length = payload.len();
    let binary = [&(length as u32).to_be_bytes()[..], payload.as_bytes()].concat();
    // The codec of tokio-util reserves space while the frame is in use, which allocates a buffer every 8 KiB.
    let codec = Utf8FramesCodec::new(LengthDelimitedCodec::new());
    let mut frames = pin!(FramedRead::new(Repeat::of(&binary), codec));
    assert_at_most(1, "LengthDelimitedCodec", || {
        black_box(next(&mut frames).expect("well-formed"));
    });
    let netstring = framed(&format!("{length}:"), ",");
    assert_codec_is_steady("NetstringCodec", Utf8FramesCodec::new(NetstringCodec::new()), &netstring);
    let syslog = framed(&format!("{length} "), "");
    assert_codec_is_steady("OctetCountingCodec", Utf8FramesCodec::new(OctetCountingCodec::new()), &syslog);
    let lsp = framed(&format!("Content-Length: {length}\r\n\r\n"), "");
    assert_codec_is_steady("ContentLengthCodec", Utf8FramesCodec::new(ContentLengthCodec::new()), &lsp);
    let json = framed("\x1E\"", "\"\n");
    assert_codec_is_steady("JsonSequenceCodec", Utf8FramesCodec::new(JsonSequenceCodec::new()), &json);

    let frame = Bytes::from_static(b"\"frame\"");
    assert_encoder_is_steady("NetstringCodec", NetstringCodec::new(), &frame);
    assert_encoder_is_steady("OctetCountingCodec", OctetCountingCodec::new(), &frame);
    assert_encoder_is_steady("ContentLengthCodec", ContentLengthCodec::new(), &frame);
    assert_encoder_is_steady("JsonSequenceCodec", JsonSequenceCodec::new(), &frame);
}

/// An event of one line of data is a slice of the read buffer.
const EVENT: &[u8] = "event: price\ndata: 12 \u{20AC}\n\n".as_bytes();
/// The ID is a copy, because it is kept.
const EVENT_WITH_ID: &[u8] = "event: price\nid: 7\ndata: 12 \u{20AC}\n\n".as_bytes();

#[test]
fn server_sent_events() {
    assert_codec_is_steady("SseCodec", SseCodec::new(), EVENT);
    let mut events = pin!(FramedRead::new(Repeat::of(EVENT_WITH_ID), SseCodec::new()));
    assert_at_most(2, "SseCodec with an ID", || {
        black_box(next(&mut events).expect("well-formed"));
    });
}

#[test]
fn server_sent_events_in_a_stream() {
    let mut events = pin!(SseStream::new(Repeat::of(EVENT)));
    // The buffer is as long as a chunk, and an event still refers to it when the next chunks arrive.
    assert_at_most(2, "SseStream", || {
        black_box(next(&mut events).expect("well-formed"));
    });
}

#[test]
fn transcoding_codec() {
    let utf16: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // The conversion allocates a `String`, which becomes a `ByteString`.
    let mut texts = pin!(FramedRead::new(Repeat::of(&utf16), TranscodeCodec::new(Encoding::Utf16Le)));
    assert_at_most(3, "TranscodeCodec", || {
        black_box(next(&mut texts).expect("well-formed"));
    });
    let lines = TranscodeCodec::new(Encoding::Utf16Le).into_lines();
    let mut lines = pin!(FramedRead::new(Repeat::of(&utf16), lines));
    assert_at_most(3, "TranscodeLinesCodec", || {
        black_box(next(&mut lines).expect("well-formed"));
    });
    assert_encoder_is_steady("TranscodeCodec", TranscodeCodec::new(Encoding::Utf16Le), &TEXT);
}

#[test]
fn stream() {
    for decoder in decoders() {
        let mut texts = pin!(Utf8Stream::with_decoder(Repeat::text(), decoder));
        assert_steady(&format!("{decoder:?}"), || {
            black_box(next(&mut texts).expect("well-formed"));
        });
    }
}

#[test]
fn http_body() {
    let long = TEXT.repeat(100);
    for decoder in decoders() {
        // The chunks are too long to be joined with the pieces before and after.
        let mut body = pin!(Utf8Body::with_decoder(Repeat::of(long.as_bytes()), decoder));
        let mut cx = Context::from_waker(Waker::noop());
        assert_steady(&format!("{decoder:?}"), || match body.as_mut().poll_frame(&mut cx) {
            Poll::Ready(frame) => drop(black_box(frame.expect("no end").expect("well-formed"))),
            Poll::Pending => {}
        });
    }
}

#[test]
fn proxy_filter_with_each_policy_on_well_formed_and_ill_formed_text() {
    let chunks = text_chunks();
    for decoder in decoders() {
        let mut passed = 0;
        assert_steady(&format!("{decoder:?}"), || {
            let mut filter = Filter::with_decoder(decoder);
            for chunk in chunks.iter().map(|chunk| &chunk[..]).chain([&b"\xFFa\xE2\x82"[..], b"\xED\xA0\x80"])
            {
                let _ = filter.feed(chunk, |edit| match edit {
                    Edit::Pass(range) => passed += range.len(),
                    Edit::Insert(bytes) => passed += bytes.len(),
                    _ => {}
                });
            }
        });
    }
}

#[test]
fn proxy_filter_of_chunks_that_pass() {
    let chunk = chunks_of(TEXT.as_bytes()).swap_remove(0).slice(..2);
    let mut filter = Filter::new();
    assert_steady("Filter::filter", || {
        let mut body = Some(chunk.clone());
        assert_eq!(filter.filter(&mut body, false), Verdict::Pass);
    });
}

#[test]
fn transfer_decoder() {
    let bodies = [
        (TransferEncoding::EightBit, TEXT.as_bytes()),
        (TransferEncoding::QuotedPrintable, b"na=C3=AFve =E2=82=\r\n=AC\r\n"),
        (TransferEncoding::Base64, b"bmHDr3ZlIOKCrCA=\r\n"),
    ];
    for (encoding, body) in bodies {
        let mut decoder = TransferDecoder::new(encoding);
        assert_steady(&format!("{encoding:?}"), || {
            body.chunks(5).for_each(|chunk| decoder.feed(chunk, |piece| _ = black_box(piece)));
        });
    }
}

#[test]
fn line_filter() {
    let chunks = text_chunks();
    let mut filter = LineFilter::new();
    assert_steady("LineFilter", || {
        for chunk in &chunks {
            filter.feed(chunk, |edit| _ = black_box(edit)).expect("well-formed");
        }
    });
}

#[test]
fn blocking_reader() {
    for decoder in decoders() {
        let mut reader = Utf8Reader::with_decoder(Repeat::text(), decoder);
        let mut buffer = [0; 64];
        assert_steady(&format!("{decoder:?}"), || {
            reader.read_exact(&mut buffer).expect("well-formed");
            let len = reader.fill_buf().expect("well-formed").len();
            reader.consume(len);
            black_box(reader.read_str_chunk().expect("well-formed"));
        });
    }
}

#[test]
fn tokio_reader() {
    use tokio::io::{AsyncBufRead, AsyncRead};

    for decoder in decoders() {
        let mut reader = pin!(Utf8Reader::with_decoder(Repeat::text(), decoder));
        let mut cx = Context::from_waker(Waker::noop());
        let mut memory = [0; 64];
        assert_steady(&format!("{decoder:?}"), || {
            let mut buffer = ReadBuf::new(&mut memory);
            if let Poll::Ready(read) = reader.as_mut().poll_read(&mut cx, &mut buffer) {
                read.expect("well-formed");
            }
            if let Poll::Ready(text) = reader.as_mut().poll_fill_buf(&mut cx) {
                let len = text.expect("well-formed").len();
                reader.as_mut().consume(len);
            }
        });
    }
}

#[test]
fn futures_reader() {
    for decoder in decoders() {
        let mut reader = pin!(Utf8Reader::with_decoder(Repeat::text(), decoder));
        let mut cx = Context::from_waker(Waker::noop());
        let mut buffer = [0; 64];
        assert_steady(&format!("{decoder:?}"), || {
            let read = futures::io::AsyncRead::poll_read(reader.as_mut(), &mut cx, &mut buffer);
            if let Poll::Ready(read) = read {
                read.expect("well-formed");
            }
        });
    }
}

#[test]
fn writers() {
    let chunks = text_chunks();
    for decoder in decoders() {
        let mut writer = Utf8Writer::with_decoder(io::sink(), decoder);
        assert_steady(&format!("{decoder:?}"), || {
            chunks.iter().for_each(|chunk| writer.write_all(chunk).expect("well-formed"));
        });
        let mut writer = pin!(Utf8Writer::with_decoder(tokio::io::sink(), decoder));
        let mut cx = Context::from_waker(Waker::noop());
        let (mut next, mut written) = (0, 0);
        assert_steady(&format!("{decoder:?}"), || {
            let rest = &chunks[next][written..];
            if let Poll::Ready(len) = tokio::io::AsyncWrite::poll_write(writer.as_mut(), &mut cx, rest) {
                written += len.expect("well-formed");
            }
            if written == chunks[next].len() {
                (next, written) = ((next + 1) % chunks.len(), 0);
            }
        });
    }
}
