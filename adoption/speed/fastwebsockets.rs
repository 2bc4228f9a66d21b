//! A client that reads text messages of 64 KiB in frames of 4 KiB.

mod utf8_codec_texts;

use std::pin::Pin;
use std::task::{Context, Poll};

use fastwebsockets::{FragmentCollector, Role, WebSocket};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Sends the same frames again and again.
struct Server {
    frames: Vec<u8>,
    given: usize,
}

impl AsyncRead for Server {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let rest = &self.frames[self.given % self.frames.len()..];
        let read = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..read]);
        self.given += read;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Server {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let (frames, messages) = utf8_codec_texts::frames(&text);
    let mut socket = WebSocket::after_handshake(Server { frames, given: 0 }, Role::Client);
    socket.set_auto_pong(false);
    let mut socket = FragmentCollector::new(socket);
    for _ in 0..rounds * messages {
        std::hint::black_box(socket.read_frame().await.unwrap().payload.len());
    }
}
