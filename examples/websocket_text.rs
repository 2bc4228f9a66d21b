//! A WebSocket echo server over hyper's upgrade that validates text as its bytes arrive. If a frame of 1 MiB starts with
//! ill-formed text, the server closes with code 1007 before the rest of the frame has arrived.
//!
//! The frames are read by `FrameReader`. tungstenite computes the key of the handshake and is the client. Without arguments
//! the example runs a server and a client; with `--listen ADDR` it only serves.

use core::convert::Infallible;
use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::{WebSocketStream, client_async};
use utf8_codec::validator::Mask;
use utf8_codec::websocket::{Event, FrameHeader, FrameReader, Opcode, Sender};

type Result<T> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

const MAX_MESSAGE: u64 = 16 << 20;

/// Echoes messages until the peer closes.
async fn echo(mut socket: impl AsyncRead + AsyncWrite + Unpin) -> Result<()> {
    let mut reader = FrameReader::new(Sender::Client).with_max_message_length(MAX_MESSAGE);
    let (mut buffer, mut message, mut replies) = (vec![0; 16 * 1024], Vec::new(), Vec::new());
    let mut error = None;
    while error.is_none() && !reader.is_closed() {
        let read = socket.read(&mut buffer).await?;
        if read == 0 {
            return Ok(reader.finish()?);
        }
        for event in reader.feed(&mut buffer[..read]) {
            match event {
                Ok(Event::Text(text)) => message.extend_from_slice(text.as_bytes()),
                Ok(Event::Seam(character)) => message.extend_from_slice(character.as_bytes()),
                Ok(Event::Binary(data)) => message.extend_from_slice(data),
                Ok(Event::End(opcode)) => reply(opcode, &core::mem::take(&mut message), &mut replies),
                Ok(Event::Ping(payload)) => reply(Opcode::Pong, &payload, &mut replies),
                Ok(Event::Close(Some(frame))) => frame.write_to(None, &mut replies),
                Ok(Event::Close(None)) => reply(Opcode::Close, b"", &mut replies),
                Ok(_) => {}
                Err(found) => {
                    found.close_frame().write_to(None, &mut replies);
                    error = Some(found);
                    break;
                }
            }
        }
        socket.write_all(&replies).await?;
        replies.clear();
    }
    // The server closes first (RFC 6455 §7.1.1). It reads until the peer closes, so that a peer that is still sending a frame
    // can read the reason.
    socket.shutdown().await?;
    let drained = async { while let Ok(1..) = socket.read(&mut buffer).await {} };
    let _ = tokio::time::timeout(Duration::from_secs(1), drained).await;
    error.map_or(Ok(()), |error| Err(error.into()))
}

fn reply(opcode: Opcode, payload: &[u8], replies: &mut Vec<u8>) {
    FrameHeader::new(opcode, payload.len() as u64).write_to(replies);
    replies.extend_from_slice(payload);
}

/// Accepts the handshake (RFC 6455 §4.2.2), without extensions.
async fn upgrade(mut request: Request<Incoming>) -> core::result::Result<Response<Empty<Bytes>>, Infallible> {
    let mut response = Response::new(Empty::new());
    let has = |headers: &HeaderMap, name, value: &str| {
        let field = headers.get(name).and_then(|field| field.to_str().ok()).unwrap_or_default();
        field.split(',').any(|element| element.trim().eq_ignore_ascii_case(value))
    };
    let headers = request.headers();
    let is_upgrade = has(headers, CONNECTION, "upgrade")
        && has(headers, UPGRADE, "websocket")
        && has(headers, SEC_WEBSOCKET_VERSION, "13");
    let accept = headers.get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let Some(accept) = accept.filter(|_| is_upgrade).and_then(|accept| accept.parse().ok()) else {
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return Ok(response);
    };
    tokio::spawn(async move {
        let socket = match hyper::upgrade::on(&mut request).await {
            Ok(socket) => TokioIo::new(socket),
            Err(error) => return eprintln!("upgrade: {error}"),
        };
        if let Err(error) = echo(socket).await {
            eprintln!("{error}");
        }
    });
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().extend([
        (CONNECTION, http::HeaderValue::from_static("upgrade")),
        (UPGRADE, http::HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accept),
    ]);
    Ok(response)
}

async fn serve(listener: TcpListener) -> Result<()> {
    loop {
        let (socket, peer) = listener.accept().await?;
        tokio::spawn(async move {
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(socket), service_fn(upgrade));
            if let Err(error) = connection.with_upgrades().await {
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

/// Returns the header of a masked frame and the first bytes of its payload.
fn start_of_frame(opcode: Opcode, len: u64, payload: &[u8]) -> Vec<u8> {
    let key = [0x37, 0xFA, 0x21, 0x3D];
    let mut bytes = Vec::new();
    FrameHeader { mask: Some(key), ..FrameHeader::new(opcode, len) }.write_to(&mut bytes);
    let header = bytes.len();
    bytes.extend_from_slice(payload);
    Mask::new(key).apply(&mut bytes[header..]);
    bytes
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

    // Autobahn 6.4.3: the header of a frame of 1 MiB, and the first bytes, which are ill-formed. No more bytes are sent.
    let mut client = connect(&address).await?;
    let ill_formed = b"\xCE\xBA\xE1\xBD\xB9\xCF\x83\xCE\xBC\xCE\xB5\xF4\x90";
    client.get_mut().write_all(&start_of_frame(Opcode::Text, 1 << 20, ill_formed)).await?;
    let (code, reason) = closed(&mut client).await?;
    assert_eq!(code, 1007);
    assert_eq!(reason, "frame error at byte 25: ill-formed UTF-8 at byte 11 (AboveMax, 1 byte)");
    println!("rejected inside a frame: {code} {reason}");

    // Headers that announce more than the server reads.
    for (opcode, length, expected) in [(Opcode::Ping, 1 << 40, 1002), (Opcode::Continuation, 1 << 40, 1009)] {
        let mut client = connect(&address).await?;
        client.send(fragment(b"a", Data::Text, false)).await?;
        client.get_mut().write_all(&start_of_frame(opcode, length, b"")).await?;
        let (code, reason) = closed(&mut client).await?;
        assert_eq!(code, expected, "{reason}");
        println!("rejected by its header:  {code} {reason}");
    }

    // The message ends inside a character.
    let mut client = connect(&address).await?;
    client.send(fragment(b"ab", Data::Text, false)).await?;
    client.send(fragment(b"c\xE2\x82", Data::Continue, true)).await?;
    let (code, reason) = closed(&mut client).await?;
    assert_eq!(code, 1007);
    assert_eq!(reason, "frame error at byte 15: ill-formed UTF-8 at byte 3 (Truncated, 2 bytes)");
    println!("rejected at its end:     {code} {reason}");
    Ok(())
}
