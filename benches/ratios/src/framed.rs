//! `FramedRead` with our codecs, with hand-written codecs, and with those of tokio-util.

use std::io;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio_util::codec::{Decoder, Encoder, FramedRead, LinesCodec};
use utf8_codec::codec::{Utf8Codec, Utf8LinesCodec};

const CAPACITY: usize = 64 * 1024;

/// A text codec around a validator of whole texts. It returns the well-formed prefix, and keeps an unfinished sequence
/// in the buffer.
struct WholeTexts(fn(&[u8]) -> Result<(), usize>);

impl Decoder for WholeTexts {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let good = match (self.0)(buffer) {
            Ok(()) => buffer.len(),
            Err(good) if buffer.len() - good < 4 => good,
            Err(_) => return Err(io::ErrorKind::InvalidData.into()),
        };
        Ok((good > 0).then(|| buffer.split_to(good).freeze()))
    }
}

fn with_std(text: &[u8]) -> Result<(), usize> {
    core::str::from_utf8(text).map(drop).map_err(|error| error.valid_up_to())
}

fn with_simdutf8(text: &[u8]) -> Result<(), usize> {
    simdutf8::compat::from_utf8(text).map(drop).map_err(|error| error.valid_up_to())
}

/// Returns the number of bytes in all frames, and the number of frames.
async fn frames<D: Decoder<Error: core::fmt::Debug>>(
    source: impl AsyncRead + Unpin,
    codec: D,
    len: impl Fn(&D::Item) -> usize,
) -> (u64, u64) {
    let mut framed = FramedRead::with_capacity(source, codec, CAPACITY);
    let (mut bytes, mut count) = (0, 0);
    while let Some(frame) = framed.next().await {
        bytes += len(&frame.expect("the text is good")) as u64;
        count += 1;
    }
    (bytes, count)
}

pub async fn text_ours(source: impl AsyncRead + Unpin) -> (u64, u64) {
    frames(source, Utf8Codec::new(), |text| text.len()).await
}

/// A codec that does not validate. It measures the cost of the copy from the source.
struct Unseen;

impl Decoder for Unseen {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        Ok((!buffer.is_empty()).then(|| buffer.split().freeze()))
    }
}

pub async fn text_unseen(source: impl AsyncRead + Unpin) -> (u64, u64) {
    frames(source, Unseen, Bytes::len).await
}

pub async fn text_std(source: impl AsyncRead + Unpin) -> (u64, u64) {
    frames(source, WholeTexts(with_std), Bytes::len).await
}

pub async fn text_simdutf8(source: impl AsyncRead + Unpin) -> (u64, u64) {
    frames(source, WholeTexts(with_simdutf8), Bytes::len).await
}

pub async fn raw(mut source: impl AsyncRead + Unpin) -> (u64, u64) {
    let mut buffer = vec![0; CAPACITY];
    let mut bytes = 0;
    loop {
        match source.read(&mut buffer).await.expect("it can be read") {
            0 => return (bytes, 0),
            count => bytes += count as u64,
        }
    }
}

pub async fn lines_ours(source: impl AsyncRead + Unpin) -> u64 {
    frames(source, Utf8LinesCodec::new(), |line| line.len()).await.0
}

/// Reads all lines of the read buffer as one item.
pub async fn lines_in_batches(source: impl AsyncRead + Unpin) -> u64 {
    let codec = Utf8LinesCodec::new().into_batches();
    frames(source, codec, |lines| lines.iter().map(|line| std::hint::black_box(line).len()).sum()).await.0
}

pub async fn lines_codec(source: impl AsyncRead + Unpin) -> u64 {
    frames(source, LinesCodec::new(), String::len).await.0
}

pub async fn lines_tokio(source: impl AsyncRead + Unpin) -> u64 {
    let mut lines = BufReader::with_capacity(CAPACITY, source).lines();
    let mut bytes = 0;
    while let Some(line) = lines.next_line().await.expect("the text is good") {
        bytes += line.len() as u64;
    }
    bytes
}

/// Hand-written code with memchr for the line and simdutf8 for the text, without allocations.
pub async fn lines_by_hand(mut source: impl AsyncRead + Unpin) -> u64 {
    let mut buffer = BytesMut::with_capacity(CAPACITY);
    let mut bytes = 0;
    loop {
        buffer.reserve(CAPACITY / 2);
        if source.read_buf(&mut buffer).await.expect("it can be read") == 0 {
            return bytes;
        }
        let mut start = 0;
        while let Some(len) = memchr::memchr(b'\n', &buffer[start..]) {
            let line = simdutf8::basic::from_utf8(&buffer[start..start + len]).expect("the text is good");
            bytes += std::hint::black_box(line).len() as u64;
            start += len + 1;
        }
        let _ = buffer.split_to(start);
    }
}

/// Encodes all lines into the buffer, which has enough capacity for them.
pub fn encoded<'a, E: Encoder<&'a str, Error: core::fmt::Debug>>(
    mut codec: E,
    lines: &'a [String],
    buffer: &mut BytesMut,
) -> u64 {
    buffer.clear();
    for line in lines {
        codec.encode(std::hint::black_box(line), buffer).expect("there is no limit");
    }
    std::hint::black_box(&buffer[..]).len() as u64
}

/// Hand-written code around `LinesCodec` that checks each line for a line feed.
pub fn looked_at_and_encoded(lines: &[String], buffer: &mut BytesMut) -> u64 {
    let mut codec = LinesCodec::new();
    buffer.clear();
    for line in lines {
        let line = std::hint::black_box(line);
        assert!(memchr::memchr(b'\n', line.as_bytes()).is_none() && !line.ends_with('\r'), "one line");
        codec.encode(line, buffer).expect("there is no limit");
    }
    std::hint::black_box(&buffer[..]).len() as u64
}

/// An upper bound for encoders: does only the work that every encoder must do.
pub fn appended(lines: &[String], buffer: &mut BytesMut) -> u64 {
    buffer.clear();
    for line in lines {
        buffer.extend_from_slice(std::hint::black_box(line).as_bytes());
        buffer.extend_from_slice(b"\n");
    }
    std::hint::black_box(&buffer[..]).len() as u64
}
