//! The goals of WebSocket frames: the filter of a gateway against the validator, and the reader of an endpoint against other
//! readers.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use fastwebsockets::OpCode;
use futures::executor::block_on;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tungstenite::protocol::{Message, Role, WebSocket};
use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::websocket::{Event, FrameFilter, FrameHeader, FrameReader, FrameVerdict, Opcode, Sender};

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

/// The bytes of a connection.
const LEN: usize = 256 * 1024;
/// The bytes of a read.
const READ: usize = 64 * 1024;

impl Bench {
    pub fn frames(&self) {
        self.long_frames();
        self.chat();
    }

    fn long_frames(&self) {
        let scenario = "WebSocket text frames of 64 KiB, masked";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic, Corpus::Cjk] {
            let text = &corpus.text(64 * 1024);
            let stream = &frame(text.as_bytes());
            let contenders = vec![
                Contender::new("FrameFilter", move || {
                    let mut filter = FrameFilter::new(Sender::Client);
                    u64::from(
                        filter.feed_with(black_box(stream), |edit| drop(black_box(edit)))
                            == FrameVerdict::Pass,
                    )
                }),
                Contender::new("validator", move || {
                    let mut validator = Utf8Validator::new();
                    let good = validator.validate(black_box(text.as_bytes())).is_ok();
                    u64::from(good && validator.finish().is_ok())
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, corpus.name(), text.len(), &race);
            self.note(&of, "FrameFilter", &["validator"], 0.8);
        }
    }

    /// Reads messages, as a server does. Each reader copies the bytes out of the connection.
    fn chat(&self) {
        let scenario = "WebSocket chat frames of 40 B, masked";
        if !self.is_wanted(scenario) {
            return;
        }
        for (corpus, name) in [(Corpus::AsciiJson, "ASCII"), (Corpus::Cyrillic, "Cyrillic")] {
            let texts = corpus.strings(40..=40, LEN / 46);
            let stream = &texts.iter().flat_map(|text| frame(text.as_bytes())).collect::<Vec<_>>();
            let contenders = vec![
                Contender::new("FrameReader", {
                    let mut buffer = vec![0; READ];
                    move || {
                        let (mut reader, mut text) = (FrameReader::new(Sender::Client), 0);
                        for chunk in stream.chunks(READ) {
                            let chunk_of_buffer = &mut buffer[..chunk.len()];
                            chunk_of_buffer.copy_from_slice(chunk);
                            for event in reader.feed(chunk_of_buffer) {
                                match black_box(event).expect("well-formed") {
                                    Event::Text(part) => text += part.len() as u64,
                                    Event::Seam(part) => text += part.len() as u64,
                                    _ => {}
                                }
                            }
                        }
                        text
                    }
                }),
                Contender::new("tungstenite", move || {
                    let mut socket = WebSocket::from_raw_socket(Connection(stream), Role::Server, None);
                    let mut text = 0;
                    while let Ok(message) = socket.read() {
                        if let Message::Text(part) = black_box(message) {
                            text += part.len() as u64;
                        }
                    }
                    text
                }),
                Contender::new("fastwebsockets", move || {
                    block_on(async {
                        let mut socket = fastwebsockets::FragmentCollector::new(
                            fastwebsockets::WebSocket::after_handshake(
                                Connection(stream),
                                fastwebsockets::Role::Server,
                            ),
                        );
                        let mut text = 0;
                        while let Ok(frame) = socket.read_frame().await {
                            if frame.opcode == OpCode::Text {
                                text += black_box(frame.payload).len() as u64;
                            }
                        }
                        text
                    })
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, name, stream.len(), &race);
            self.note(&of, "FrameReader", &["tungstenite"], 1.0);
            self.note(&of, "FrameReader", &["fastwebsockets"], 1.0);
        }
    }
}

/// Returns a masked frame.
fn frame(text: &[u8]) -> Vec<u8> {
    let key = [0x37, 0xFA, 0x21, 0x3D];
    let mut frame = Vec::new();
    FrameHeader { mask: Some(key), ..FrameHeader::new(Opcode::Text, text.len() as u64) }.write_to(&mut frame);
    let start = frame.len();
    frame.extend_from_slice(text);
    Mask::new(key).apply(&mut frame[start..]);
    frame
}

/// A connection that returns these bytes, at most [`READ`] at once, and discards what is written.
struct Connection<'b>(&'b [u8]);

impl Read for Connection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(READ);
        self.0.read(&mut buffer[..len])
    }
}

impl Write for Connection<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Connection<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self.0.split_at(self.0.len().min(buffer.remaining()).min(READ));
        buffer.put_slice(now);
        self.0 = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
