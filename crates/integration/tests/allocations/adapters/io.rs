//! Same as `steady.rs`, for streams, bodies, readers and writers.
//!
//! The streams are well-formed. They are split inside characters, so that every adapter holds and joins bytes. If a
//! test has ill-formed bytes, its name says so.

use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::io::{self, BufRead, Read, Write};

use http_body::Body;
use tokio::io::ReadBuf;
use utf8_codec::io::{Utf8Reader, Utf8Writer};
use utf8_codec::stream::{SseStream, Utf8Stream};
use utf8_codec_http::Utf8Body;

use super::repeat::{EVENT, Repeat, TEXT, decoders, next, text_chunks};
use crate::allocations::{assert_at_most, assert_steady};

#[test]
fn stream() {
    for decoder in decoders() {
        let mut texts = pin!(Utf8Stream::with_decoder(Repeat::text(), decoder.clone()));
        assert_at_most(4, &format!("{decoder:?}"), || {
            black_box(next(&mut texts).expect("well-formed"));
        });
    }
}

#[test]
fn clean_chunks_of_a_stream_are_not_copied() {
    let mut texts = pin!(Utf8Stream::new(Repeat::of(b"plain text")));
    assert_steady("Utf8Stream", || {
        black_box(next(&mut texts).expect("well-formed"));
    });
}

#[test]
fn http_body() {
    let long = TEXT.repeat(100);
    for decoder in decoders() {
        // The chunks are too long to be joined with the pieces before and after.
        let mut body = pin!(Utf8Body::with_decoder(Repeat::of(long.as_bytes()), decoder.clone()));
        let mut cx = Context::from_waker(Waker::noop());
        assert_steady(&format!("{decoder:?}"), || match body.as_mut().poll_frame(&mut cx) {
            Poll::Ready(frame) => drop(black_box(frame.expect("no end").expect("well-formed"))),
            Poll::Pending => {}
        });
    }
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
fn blocking_reader() {
    for decoder in decoders() {
        let mut reader = Utf8Reader::with_decoder(Repeat::text(), decoder.clone());
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
        let mut reader = pin!(Utf8Reader::with_decoder(Repeat::text(), decoder.clone()));
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
        let mut reader = pin!(Utf8Reader::with_decoder(Repeat::text(), decoder.clone()));
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
        let mut writer = Utf8Writer::with_decoder(io::sink(), decoder.clone());
        assert_steady(&format!("{decoder:?}"), || {
            chunks.iter().for_each(|chunk| writer.write_all(chunk).expect("well-formed"));
        });
        let mut writer = pin!(Utf8Writer::with_decoder(tokio::io::sink(), decoder.clone()));
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
