//! The memory that a peer can make a codec and its read buffer hold between two reads, for hostile streams. A counting
//! allocator compares it with the bounds in `SECURITY.md`.

use core::cell::Cell;
use core::convert::Infallible;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::io;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::codec::{Decoder, FramedRead};
use utf8_codec::codec::framing::{ContentLengthCodec, CriCodec, JsonSequenceCodec, OctetCountingCodec};
use utf8_codec::codec::{SseCodec, Utf8Codec, Utf8FramesCodec, Utf8LinesCodec};
use utf8_codec::stream::SseStream;
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::codec::TranscodeCodec;

use crate::allocations::{count, held};

const KIB: usize = 1024;
/// The limit of a line, of a frame and of an event. A buffer of the next power of two may contain a line of this length
/// and most of the one before it.
const LIMIT: usize = 300 * KIB;
/// The longest read.
const READ: usize = 8 * KIB;
/// The capacity of a read buffer of tokio-util for frames of at most `LIMIT` bytes and their headers.
const BUFFER: usize = 4 * (LIMIT + READ);

/// A part of a stream: text, repeated.
type Part = (&'static str, usize);

/// A peer that sends a stream in reads of random length. Before each read it compares the bytes that are held.
#[derive(Clone)]
struct Peer {
    bytes: Bytes,
    seed: u64,
    /// The bytes that were held before the codec was created, and the most since then.
    before: usize,
    most: Rc<Cell<usize>>,
}

impl Peer {
    fn next(&mut self, longest: usize) -> Bytes {
        self.most.set(self.most.get().max(held() - self.before));
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Long reads, and sometimes a short one, after which the lengths of the buffers differ.
        let read = if self.seed >> 61 == 0 { 1 + (self.seed >> 32) as usize % 40 } else { READ };
        self.bytes.split_to(self.bytes.len().min(read).min(longest))
    }
}

impl AsyncRead for Peer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.next(buf.remaining());
        buf.put_slice(&read);
        Poll::Ready(Ok(()))
    }
}

impl Stream for Peer {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = self.next(usize::MAX);
        Poll::Ready((!chunk.is_empty()).then(|| Ok(Bytes::copy_from_slice(&chunk))))
    }
}

/// Reads streams and drops each item at once. Returns the largest number of bytes that were held before a read.
fn most_held<S: Stream>(streams: &[&[Part]], new: impl Fn(Peer) -> S) -> usize {
    let most = Rc::new(Cell::new(0));
    for (parts, seed) in streams.iter().flat_map(|parts| (0..2).map(move |seed| (parts, seed))) {
        let stream: Vec<u8> = parts.iter().flat_map(|(part, times)| part.as_bytes().repeat(*times)).collect();
        let peer = Peer { bytes: stream.into(), seed, before: 0, most: Rc::clone(&most) };
        // The first copy of a `Bytes` allocates its reference count.
        let peer = Peer { before: held(), ..peer.clone() };
        let mut stream = pin!(new(peer));
        let mut cx = Context::from_waker(Waker::noop());
        while !matches!(stream.as_mut().poll_next(&mut cx), Poll::Ready(None)) {}
    }
    most.get()
}

/// A type that was copied, because its read buffer was long, is not copied again for each line after it.
#[test]
fn the_type_of_an_event_is_copied_at_most_twice() {
    let mut codec = SseCodec::new();
    let mut buffer = BytesMut::from(&*format!("event: {}\n", "e".repeat(LIMIT)));
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    let data = |codec: &mut SseCodec, lines: usize| {
        count(|| {
            for _ in 0..lines {
                let mut buffer = BytesMut::from(&b"data: d\n"[..]);
                assert!(codec.decode(&mut buffer).unwrap().is_none());
            }
        })
    };
    data(&mut codec, 100);
    // Each line allocates its buffer, and the reference count of a slice.
    let count = data(&mut codec, 1000);
    assert!(count < 2100, "{count} allocations for 1000 lines");
}

/// Asserts that a codec and its read buffer hold at most `bound` bytes.
#[track_caller]
fn assert_bound<C: Decoder>(name: &str, bound: usize, streams: &[&[Part]], new: impl Fn() -> C) {
    let most = most_held(streams, |peer| FramedRead::new(peer, new()));
    println!("{name}: {most} of {bound} bytes");
    assert!(most <= bound, "{name}: {most} bytes are held, and the bound is {bound}");
    // The streams are long enough.
    assert!(bound < READ * 10 || most > LIMIT, "{name}: only {most} bytes are held");
}

fn replace() -> TextDecoder {
    TextDecoder::new().with_error_policy(ErrorPolicy::Replace)
}

#[test]
fn text_in_chunks() {
    let streams: &[&[Part]] = &[&[("\u{1F980}", 200 * KIB)]];
    assert_bound("Utf8Codec", 4 * READ, streams, || Utf8Codec::with_decoder(replace()));
    assert_bound("TranscodeCodec", 4 * READ, streams, || TranscodeCodec::new(Encoding::Utf16Le));
}

#[test]
fn lines() {
    let streams: &[&[Part]] = &[
        &[("a", 4 * LIMIT)],
        &[("a", LIMIT), ("\n", 1), ("a", LIMIT - 1), ("\r\n", 1), ("a", LIMIT + 1), ("\nb", 1)],
        &[("a", LIMIT), ("\n", 1), ("a", 230 * KIB), ("\n", 1), ("a", LIMIT), ("\n", 1)],
        &[("short\n", 1000), ("a", LIMIT / 2), ("\n", 1), ("b", LIMIT), ("\r", 1), ("b", LIMIT)],
    ];
    let codec = || Utf8LinesCodec::with_decoder(replace()).with_max_length(LIMIT);
    assert_bound("Utf8LinesCodec", BUFFER, streams, codec);
    assert_bound("Utf8LineBatchesCodec", BUFFER, streams, || codec().into_batches());
    let codec = || TranscodeCodec::new(Encoding::Latin1).into_lines().with_max_length(LIMIT);
    assert_bound("TranscodeLinesCodec", BUFFER, streams, codec);
}

#[test]
fn frames() {
    let streams: &[&[Part]] = &[
        &[
            ("307200:", 1),
            ("a", LIMIT),
            (",1:a,307200:", 1),
            ("a", LIMIT),
            (",999999999:", 1),
            ("a", 4 * LIMIT),
        ],
        &[
            ("307200 ", 1),
            ("a", LIMIT),
            ("1 a307200 ", 1),
            ("a", LIMIT),
            ("\n\r\0", LIMIT),
            ("999999 ", 1),
            ("a", LIMIT),
        ],
        &[("<", LIMIT), ("\n", LIMIT), ("<", LIMIT - 5), ("\r\0", LIMIT), ("a", 4 * LIMIT)],
        &[
            ("Content-Length: 307200\r\n\r\n", 1),
            ("a", LIMIT),
            ("\r\n", LIMIT),
            ("A: b\r\n", 600),
            ("Content-Length: 307200\r\n\r\n", 1),
            ("a", LIMIT),
            ("A", LIMIT),
        ],
        &[
            ("\x1E[", 1),
            ("\"\\\"\",\n", LIMIT / 6),
            ("]\n", 1),
            ("\x1E[", LIMIT),
            ("\x1E", 1),
            ("[", 4 * LIMIT),
        ],
        &[("\x1E\"", 1), ("a", LIMIT - 2), ("\" ", 1), ("\n", LIMIT), ("\x1E1", 1), (" ", 4 * LIMIT)],
    ];
    assert_bound("OctetCountingCodec", BUFFER, streams, || {
        Utf8FramesCodec::with_decoder(OctetCountingCodec::new().with_max_length(LIMIT), replace())
    });
    assert_bound("OctetCountingCodec::with_line_frames", BUFFER, streams, || {
        Utf8FramesCodec::with_decoder(
            OctetCountingCodec::new().with_max_length(LIMIT).with_line_frames(true),
            replace(),
        )
    });
    assert_bound("ContentLengthCodec", BUFFER, streams, || {
        Utf8FramesCodec::with_decoder(ContentLengthCodec::new().with_max_length(LIMIT), replace())
    });
    assert_bound("JsonSequenceCodec", BUFFER, streams, || {
        Utf8FramesCodec::with_decoder(JsonSequenceCodec::new().with_max_length(LIMIT), replace())
    });
}

/// A line of each stream is held, the parts in buffers of their own.
#[test]
fn container_logs() {
    let parts = LIMIT / 9 - 1;
    let record = "t stdout P ";
    let streams: &[&[Part]] = &[
        &[("t stdout P aaaaaaaaa\n", parts), ("t stderr P aaaaaaaaa\n", parts), ("t stdin P a\n", LIMIT / 8)],
        &[
            ("t stderr P aaaaaaaaa\n", parts),
            (record, 1),
            ("a", LIMIT),
            ("\n", 1),
            (record, 1),
            ("a", 4 * LIMIT),
        ],
        &[
            ("t stderr P aaaaaaaaa\n", parts),
            ("t stdout F ", 1),
            ("a", 4 * LIMIT),
            ("\n", 1),
            (record, 1),
            ("a", LIMIT),
        ],
        &[
            ("t stdout P \n", LIMIT / 4),
            ("t", 2 * LIMIT),
            ("\n", 1),
            (record, 1),
            ("a", LIMIT - 1),
            ("\n", LIMIT),
        ],
    ];
    assert_bound("CriCodec", BUFFER + 2 * 2 * LIMIT, streams, || CriCodec::new().with_max_length(LIMIT));
}

#[test]
fn server_sent_events() {
    let (long, short) = (LIMIT - 6, LIMIT / 2 - 20);
    let id = SseCodec::MAX_ID_LENGTH;
    let streams: &[&[Part]] = &[
        &[("data: ", 1), ("a", 4 * LIMIT)],
        &[("data: a\n", LIMIT / 4)],
        &[(":", LIMIT), ("\n:", 1), ("c", 230 * KIB), ("\ndata: ", 1), ("d", long), ("\n:", 1), ("c", long)],
        &[("data: a\n", LIMIT / 2 - 1), ("event: a", 1), ("\n", 1), (":", 4 * LIMIT)],
        // The ID in force, another one, a type and data in buffers of their own, and a long line.
        &[
            ("id: ", 1),
            ("a", id),
            ("\n\nid: ", 1),
            ("b", id),
            ("\n:", 1),
            ("c", long),
            ("\nevent: e\n:", 1),
            ("c", long),
            ("\ndata: d\n:", 1),
            ("c", long),
            ("\ndata: ", 1),
            ("d", short),
            ("\ndata: ", 1),
            ("d", short),
            ("\n:", 1),
            ("c", long),
        ],
        &[("event: ", 1), ("e", short), ("\ndata: ", 1), ("d", short), ("\n:", 1), ("c", long), ("\n\n", 1)],
        &[("event: ", 1), ("e", short), ("\n", 1), ("data: ddddddd\n", LIMIT / 17), (":", 1), ("c", long)],
        &[("id: ", 1), ("a", id + 1), ("\nid: ", 1), ("b", long), ("\n:", 1), ("c", long)],
    ];
    let new = || SseCodec::new().with_max_line_length(LIMIT).with_max_event_length(LIMIT);
    let event = 2 * LIMIT + 256 * KIB;
    assert_bound("SseCodec", BUFFER + event, streams, new);
    // The buffer of this stream does not double with the bytes before the line.
    let bound = 2 * (LIMIT + READ) + event;
    let most = most_held(streams, |peer| SseStream::with_codec(peer, new()));
    println!("SseStream: {most} of {bound} bytes");
    assert!(most <= bound && most > LIMIT, "SseStream: {most} bytes are held, and the bound is {bound}");
}
