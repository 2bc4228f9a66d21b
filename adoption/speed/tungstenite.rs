//! A client that reads text messages of 64 KiB in frames of 4 KiB.

mod utf8_codec_texts;

use std::io::{ErrorKind, Read, Result, Write};

use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

struct Server {
    frames: Vec<u8>,
    given: usize,
}

impl Read for Server {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = (&self.frames[self.given..]).read(buffer)?;
        self.given += read;
        if read == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(read) }
    }
}

impl Write for Server {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let (frames, _) = utf8_codec_texts::frames(&text);
    let mut socket = WebSocket::from_raw_socket(Server { frames, given: 0 }, Role::Client, None);
    for _ in 0..rounds {
        socket.get_mut().given = 0;
        while let Ok(Message::Text(message)) = socket.read() {
            std::hint::black_box(message.len());
        }
    }
}
