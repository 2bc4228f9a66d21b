//! A WebSocket echo server that validates text as its bytes arrive. If a frame of 1 MiB starts with ill-formed text,
//! the server closes with code 1007 before the rest of the frame has arrived.
//!
//! WebSocket libraries return whole frames, so this server reads frames itself. A library does the handshake and is the
//! client. Without arguments it runs a server and a client; with `--listen ADDR` it only serves.

use core::error::Error;
use core::net::SocketAddr;
use std::io::{self, Cursor};

use bytes::{Buf, Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame, FrameHeader};
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};
use utf8_codec::boundary::truncate;
use utf8_codec::validator::{Mask, Utf8Validator};

type Result<T> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

const MAX_MESSAGE: usize = 16 << 20;
/// A control frame has at most 125 bytes (RFC 6455 §5.5).
const MAX_CONTROL: usize = 125;
/// The payload of a close frame starts with the code, which has 2 bytes.
const MAX_REASON: usize = MAX_CONTROL - 2;

struct Connection {
    socket: TcpStream,
    buffer: BytesMut,
}

impl Connection {
    /// Reads some bytes. The end of the stream is an error.
    async fn read(&mut self) -> Result<()> {
        match self.socket.read_buf(&mut self.buffer).await? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => Ok(()),
        }
    }

    /// Reads the next frame header. Returns it with the length of its payload.
    async fn header(&mut self) -> Result<(FrameHeader, usize)> {
        loop {
            let mut cursor = Cursor::new(&self.buffer[..]);
            if let Some((header, length)) = FrameHeader::parse(&mut cursor)? {
                let taken = cursor.position() as usize;
                self.buffer.advance(taken);
                return Ok((header, usize::try_from(length)?));
            }
            self.read().await?;
        }
    }

    /// Returns the bytes that have arrived of a payload. `left` is the number of bytes that are not returned yet.
    async fn piece(&mut self, left: usize) -> Result<BytesMut> {
        if self.buffer.is_empty() {
            self.read().await?;
        }
        Ok(self.buffer.split_to(left.min(self.buffer.len())))
    }

    async fn send(&mut self, frame: Frame) -> Result<()> {
        let mut bytes = Vec::new();
        frame.format(&mut bytes)?;
        Ok(self.socket.write_all(&bytes).await?)
    }

    /// Closes the connection. Reads until the peer closes, so that a peer that is still sending a frame can read the
    /// reason.
    async fn close(mut self, code: u16, reason: &str) -> Result<()> {
        let reason = truncate(reason, MAX_REASON).into();
        self.send(Frame::close(Some(CloseFrame { code: CloseCode::from(code), reason }))).await?;
        self.socket.shutdown().await?;
        tokio::io::copy(&mut self.socket, &mut tokio::io::sink()).await?;
        Ok(())
    }
}

/// Echoes text messages until the peer closes.
async fn echo(socket: TcpStream) -> Result<()> {
    // A client sends frames only after the handshake, so no bytes are lost in `into_inner`.
    let socket = accept_async(socket).await?.into_inner();
    let mut connection = Connection { socket, buffer: BytesMut::new() };
    let (mut text, mut message) = (Utf8Validator::new(), BytesMut::new());
    loop {
        let (header, mut left) = connection.header().await?;
        let Some(mut mask) = header.mask.map(Mask::new) else {
            return connection.close(1002, "a client masks its frames").await;
        };
        match header.opcode {
            OpCode::Data(Data::Text | Data::Continue) => {
                if left > MAX_MESSAGE - message.len() {
                    return connection.close(1009, "the message is too big").await;
                }
                while left > 0 {
                    let mut piece = connection.piece(left).await?;
                    left -= piece.len();
                    if let Err(error) = text.unmask(&mut piece, &mut mask) {
                        return connection.close(Utf8Validator::CLOSE_CODE, &error.to_string()).await;
                    }
                    message.unsplit(piece);
                }
                if header.is_final {
                    if let Err(error) = text.finish() {
                        return connection.close(Utf8Validator::CLOSE_CODE, &error.to_string()).await;
                    }
                    let echo = message.split().freeze();
                    connection.send(Frame::message(echo, OpCode::Data(Data::Text), true)).await?;
                }
            }
            OpCode::Control(_) if left > MAX_CONTROL || !header.is_final => {
                return connection.close(1002, "a control frame is short and whole").await;
            }
            OpCode::Control(control) => {
                let mut payload = BytesMut::new();
                while payload.len() < left {
                    let piece = connection.piece(left - payload.len()).await?;
                    payload.unsplit(piece);
                }
                mask.apply(&mut payload);
                match control {
                    Control::Ping => connection.send(Frame::pong(payload.freeze())).await?,
                    Control::Close => {
                        // The reason, after the 2 bytes of the code, must also be text.
                        let mut reason = Utf8Validator::new();
                        let verdict = reason.validate(payload.get(2..).unwrap_or_default());
                        return match verdict.and_then(|()| reason.finish()) {
                            Ok(()) => connection.close(1000, "").await,
                            Err(error) => {
                                connection.close(Utf8Validator::CLOSE_CODE, &error.to_string()).await
                            }
                        };
                    }
                    _ => {}
                }
            }
            OpCode::Data(_) => return connection.close(1003, "text only").await,
        }
    }
}

async fn serve(listener: TcpListener) -> Result<()> {
    loop {
        let (socket, peer) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = echo(socket).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

type Client = WebSocketStream<TcpStream>;

async fn connect(listener: &SocketAddr) -> Result<Client> {
    let socket = TcpStream::connect(listener).await?;
    Ok(client_async("ws://localhost/", socket).await?.0)
}

/// Reads the close frame that the client receives.
async fn closed(client: &mut Client) -> Result<(u16, String)> {
    match client.next().await.ok_or("the connection ended")?? {
        Message::Close(Some(frame)) => Ok((frame.code.into(), frame.reason.to_string())),
        other => Err(format!("not a close frame: {other:?}").into()),
    }
}

fn fragment(payload: &'static [u8], opcode: Data, last: bool) -> Message {
    Message::Frame(Frame::message(Bytes::from_static(payload), OpCode::Data(opcode), last))
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => {}
        [flag, address] if flag == "--listen" => {
            let listener = TcpListener::bind(address).await?;
            println!("listening on {}", listener.local_addr()?);
            return serve(listener).await;
        }
        _ => return Err("usage: websocket_text [--listen ADDR]".into()),
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener));

    // Well-formed text is echoed, even if a character is split between two fragments with a ping between them.
    let mut client = connect(&address).await?;
    client.send(Message::text("κόσμε")).await?;
    assert_eq!(client.next().await.ok_or("no echo")??, Message::text("κόσμε"));
    client.send(fragment(b"gr\xC3", Data::Text, false)).await?;
    client.send(Message::Ping(Bytes::from_static(b"there?"))).await?;
    client.send(fragment(b"\xBCn", Data::Continue, true)).await?;
    assert_eq!(client.next().await.ok_or("no pong")??, Message::Pong(Bytes::from_static(b"there?")));
    assert_eq!(client.next().await.ok_or("no echo")??, Message::text("grün"));
    client.close(None).await?;
    while client.next().await.transpose()?.is_some() {}
    println!("well-formed text was echoed");

    // Autobahn 6.4.3: the header of a frame of 1 MiB, and the first bytes, which are ill-formed. No more bytes are
    // sent.
    let mut client = connect(&address).await?;
    let key = [0x37, 0xFA, 0x21, 0x3D];
    let mut bytes = Vec::new();
    let header = FrameHeader { opcode: OpCode::Data(Data::Text), mask: Some(key), ..FrameHeader::default() };
    header.format(1 << 20, &mut bytes)?;
    let mut payload = *b"\xCE\xBA\xE1\xBD\xB9\xCF\x83\xCE\xBC\xCE\xB5\xF4\x90";
    Mask::new(key).apply(&mut payload);
    bytes.extend_from_slice(&payload);
    client.get_mut().write_all(&bytes).await?;
    let (code, reason) = closed(&mut client).await?;
    assert_eq!((code, &*reason), (1007, "ill-formed UTF-8 at byte 11 (AboveMax, 1 byte)"));
    println!("rejected inside a frame: {code} {reason}");

    // Headers that announce more than the server reads.
    for (opcode, length, expected) in
        [(OpCode::Control(Control::Ping), 1 << 40, 1002), (OpCode::Data(Data::Continue), u64::MAX, 1009)]
    {
        let mut client = connect(&address).await?;
        client.send(fragment(b"a", Data::Text, false)).await?;
        let mut bytes = Vec::new();
        let header = FrameHeader { opcode, mask: Some(key), ..FrameHeader::default() };
        header.format(length, &mut bytes)?;
        client.get_mut().write_all(&bytes).await?;
        let (code, reason) = closed(&mut client).await?;
        assert_eq!(code, expected, "{reason}");
        println!("rejected by its header:  {code} {reason}");
    }

    // The message ends inside a character.
    let mut client = connect(&address).await?;
    client.send(fragment(b"ab", Data::Text, false)).await?;
    client.send(fragment(b"c\xE2\x82", Data::Continue, true)).await?;
    let (code, reason) = closed(&mut client).await?;
    assert_eq!((code, &*reason), (1007, "ill-formed UTF-8 at byte 3 (Truncated, 2 bytes)"));
    println!("rejected at its end:     {code} {reason}");
    Ok(())
}
