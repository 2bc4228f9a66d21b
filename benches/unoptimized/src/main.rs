//! `unoptimized NAME COUNT` runs a benchmark COUNT times, without optimizations.
//!
//! The lines are those of a protocol (67 bytes) or long ones (4,000 bytes). `ours` is `Utf8LinesCodec`, `theirs` is the
//! `LinesCodec` of tokio-util; `decode` and `encode` call the codec, `read` reads a
//! `FramedRead`.

use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use futures_core::Stream;
use tokio_util::codec::{Decoder, Encoder, FramedRead, LinesCodec};
use utf8_codec::codec::Utf8LinesCodec;

/// Lines of `len` bytes, with the terminator. A tenth of the characters are not ASCII.
fn lines(len: usize, count: usize) -> Vec<u8> {
    let mut line = "time=12:30 level=info na\u{EF}ve caf\u{E9} ".repeat(len.div_ceil(30));
    while line.len() > len - 1 {
        line.pop();
    }
    line.push_str(&"x".repeat(len - 1 - line.len()));
    line.push('\n');
    line.repeat(count).into_bytes()
}

fn read<D: Decoder>(codec: D, bytes: &[u8]) -> usize {
    let mut frames = FramedRead::new(bytes, codec);
    let mut context = Context::from_waker(Waker::noop());
    let mut count = 0;
    while let Poll::Ready(Some(line)) = Pin::new(&mut frames).poll_next(&mut context) {
        count += usize::from(black_box(line).is_ok());
    }
    count
}

fn decode<D: Decoder>(mut codec: D, bytes: &[u8]) -> usize {
    let mut buffer = BytesMut::from(bytes);
    let mut count = 0;
    while let Ok(Some(line)) = codec.decode(&mut buffer) {
        black_box(line);
        count += 1;
    }
    count
}

fn encode<E: for<'l> Encoder<&'l str>>(mut codec: E, lines: &[u8]) -> usize {
    let mut out = BytesMut::with_capacity(2 * lines.len());
    for line in str::from_utf8(lines).expect("text").split_terminator('\n') {
        assert!(codec.encode(line, &mut out).is_ok());
    }
    black_box(out).len()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(count)) = (arguments.next(), arguments.next().and_then(|count| count.parse().ok()))
    else {
        eprintln!("unoptimized NAME COUNT");
        std::process::exit(2);
    };
    let (short, long) = (lines(67, 1_000), lines(4_000, 100));
    let from_utf8 = |bytes: &[u8]| usize::from(utf8_codec::from_utf8(black_box(bytes)).is_ok());
    let from_utf8_by_std = |bytes: &[u8]| usize::from(std::str::from_utf8(black_box(bytes)).is_ok());
    let run: &dyn Fn() -> usize = match name.as_str() {
        "read-short-ours" => &|| read(Utf8LinesCodec::new(), &short),
        "read-short-theirs" => &|| read(LinesCodec::new(), &short),
        "read-long-ours" => &|| read(Utf8LinesCodec::new(), &long),
        "read-long-theirs" => &|| read(LinesCodec::new(), &long),
        "decode-short-ours" => &|| decode(Utf8LinesCodec::new(), &short),
        "decode-short-theirs" => &|| decode(LinesCodec::new(), &short),
        "decode-long-ours" => &|| decode(Utf8LinesCodec::new(), &long),
        "decode-long-theirs" => &|| decode(LinesCodec::new(), &long),
        "encode-short-ours" => &|| encode(Utf8LinesCodec::new(), &short),
        "encode-short-theirs" => &|| encode(LinesCodec::new(), &short),
        "encode-long-ours" => &|| encode(Utf8LinesCodec::new(), &long),
        "encode-long-theirs" => &|| encode(LinesCodec::new(), &long),
        "from_utf8-ours" => &|| from_utf8(&long),
        "from_utf8-theirs" => &|| from_utf8_by_std(&long),
        _ => panic!("no benchmark {name}"),
    };
    for _ in 0..count {
        assert!(run() > 0);
    }
}
