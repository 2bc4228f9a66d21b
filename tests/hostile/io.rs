//! Same as `memory.rs`, for readers and writers whose inner type violates its contract.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::io::{self, BufRead, Read, Write};

use tokio::io::ReadBuf;
use utf8_codec::io::{Utf8Reader, Utf8Writer};

use crate::attacks::{Rng, RngExt, any_decoder, assert_text, each_round, may_panic};

/// A reader that violates its contract: it returns wrong lengths, is pending after it has read bytes, and fails or
/// panics.
struct LyingReader {
    rng: Rng,
}

impl LyingReader {
    fn new(rng: &mut Rng) -> Self {
        Self { rng: Rng(rng.below(usize::MAX) as u64) }
    }

    /// Fills a part of the buffer. Returns any length.
    fn fill(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = self.rng.bytes();
        let len = bytes.len().min(buf.len());
        buf[..len].copy_from_slice(&bytes[..len]);
        match self.rng.below(12) {
            0 => Ok(buf.len() + 1 + self.rng.below(100)),
            1 => Ok(usize::MAX),
            2 => Ok(len / 2),
            3 => Ok(buf.len().min(len + 3)),
            4 => Err(io::ErrorKind::WouldBlock.into()),
            5 => Err(io::ErrorKind::Interrupted.into()),
            6 => std::panic::resume_unwind(Box::new("an attack")),
            _ => Ok(len),
        }
    }
}

impl Read for LyingReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.fill(buf)
    }
}

impl futures::io::AsyncRead for LyingReader {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let read = self.fill(buf);
        if self.rng.below(4) == 0 { Poll::Pending } else { Poll::Ready(read) }
    }
}

impl tokio::io::AsyncRead for LyingReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rng.below(4) == 0 {
            // The reader replaces the buffer by another one with at least as many bytes.
            let memory: &'static mut [u8] = Vec::leak(vec![0xFF; 9000 * self.rng.below(2) + 10]);
            *buf = ReadBuf::new(memory);
            buf.set_filled(self.rng.below(buf.initialized().len() + 1));
            return Poll::Ready(Ok(()));
        }
        let read = self.fill(buf.initialize_unfilled());
        let room = buf.remaining();
        buf.advance(read?.min(room));
        if self.rng.below(4) == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

#[test]
fn a_reader_lies_about_what_it_read() {
    each_round(|rng| {
        let mut reader = Utf8Reader::with_decoder(LyingReader::new(rng), any_decoder(rng));
        let mut line = String::new();
        for _ in 0..8 {
            may_panic(|| match rng.below(5) {
                0 => drop(reader.read(&mut [0; 3])),
                1 => reader.consume(rng.below(20)),
                2 => drop(reader.read_line(&mut line)),
                _ => {
                    if let Ok(Some(text)) = reader.read_str_chunk() {
                        assert_text(text);
                    }
                }
            });
            assert_text(&line);
        }
        let mut lines = reader.into_bounded_lines(4);
        for _ in 0..4 {
            may_panic(|| lines.next().into_iter().flatten().for_each(|line| assert_text(&line)));
            assert_text(lines.partial());
        }
    });
}

#[test]
fn an_async_reader_lies_about_what_it_read() {
    let mut cx = Context::from_waker(Waker::noop());
    each_round(|rng| {
        let mut reader = Utf8Reader::with_decoder(LyingReader::new(rng), any_decoder(rng));
        let mut memory = [0; 16];
        for _ in 0..8 {
            may_panic(|| match rng.below(3) {
                0 => {
                    let mut buf = ReadBuf::new(&mut memory);
                    let _ = tokio::io::AsyncRead::poll_read(Pin::new(&mut reader), &mut cx, &mut buf);
                }
                1 => drop(futures::io::AsyncRead::poll_read(Pin::new(&mut reader), &mut cx, &mut memory)),
                _ => {
                    if let Poll::Ready(Ok(bytes)) =
                        tokio::io::AsyncBufRead::poll_fill_buf(Pin::new(&mut reader), &mut cx)
                    {
                        assert!(core::str::from_utf8(bytes).is_ok() || bytes.len() < 4, "{bytes:02X?}");
                        let len = bytes.len();
                        tokio::io::AsyncBufRead::consume(Pin::new(&mut reader), rng.below(len + 2));
                    }
                }
            });
            if let Some(Ok(Some(text))) = may_panic(|| reader.read_str_chunk()) {
                assert_text(text);
            }
        }
    });
}

/// A writer that returns lengths greater than that of its buffer, or panics. It records the bytes that it was passed.
struct LyingWriter {
    rng: Rng,
    passed: Vec<Vec<u8>>,
}

impl Write for LyingWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.passed.push(buf.to_vec());
        match self.rng.below(5) {
            0 => Ok(buf.len() + 1 + self.rng.below(9)),
            1 => Ok(usize::MAX),
            2 => std::panic::resume_unwind(Box::new("an attack")),
            3 => Ok(self.rng.below(buf.len() + 1)),
            _ => Ok(buf.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_lies_about_what_it_wrote() {
    each_round(|rng| {
        let inner = LyingWriter { rng: Rng(rng.below(1000) as u64), passed: Vec::new() };
        let mut writer = Utf8Writer::with_decoder(inner, any_decoder(rng));
        for _ in 0..6 {
            let bytes = rng.bytes();
            may_panic(|| writer.write(&bytes));
            may_panic(|| writer.flush());
        }
        may_panic(|| writer.finish());
        // A write may start or end with a part of a character, but not with an ill-formed sequence.
        for passed in &writer.get_ref().passed {
            let inside = passed.iter().skip(3).take(passed.len().saturating_sub(6));
            assert!(
                inside.filter(|&&byte| byte >= 0xF5 || byte & 0xFE == 0xC0).count() == 0,
                "{passed:02X?}"
            );
        }
    });
}
