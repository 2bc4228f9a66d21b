//! A gateway for WebSocket connections that forwards only well-formed text. On the first ill-formed byte it sends a close
//! frame with code 1007 to the client and to the server.
//!
//! hyper does the handshakes on both sides. The frames of each direction go through a `FrameFilter`. Compression is removed
//! from the handshake. Without arguments the example runs a server, the gateway and a client. Otherwise:
//!
//! ```sh
//! cargo run -p integration --example websocket_gateway -- --listen 127.0.0.1:8080 --upstream 127.0.0.1:3000
//! ```
//!
//! `--inflate` keeps compression and checks compressed messages, `--pass-compressed` passes them without looking at them, and
//! `--substitute` repairs text instead of closing the connection.

use core::error::Error;
use core::hash::{BuildHasher, Hasher};
use core::net::SocketAddr;
use core::time::Duration;
use std::hash::RandomState;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use http::header::{SEC_WEBSOCKET_EXTENSIONS, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes as Payload, Message};
use utf8_codec::Ascii;
use utf8_codec::inflate::{Deflate, Inflater};
use utf8_codec_proxy::websocket::{CompressionPolicy, FrameError, FrameFilter, FrameSender};

type Result<T> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Clone, Debug)]
struct Settings {
    upstream: String,
    compression: CompressionPolicy,
    substitute: Option<Ascii>,
}

impl Settings {
    /// Returns the filter for one direction of a connection with these extensions.
    fn filter(&self, sender: FrameSender, extensions: &str) -> FrameFilter {
        let compression = self.compression.negotiated(extensions);
        let mut filter = FrameFilter::new(sender).with_compression(compression);
        if compression == CompressionPolicy::Inflate {
            let is_kept = sender.has_context_takeover(extensions);
            filter =
                filter.with_inflater(Inflater::new(Deflate::permessage().with_context_takeover(is_kept)));
        }
        if let Some(byte) = self.substitute {
            filter = filter.with_substitute(byte);
        }
        filter
    }

    /// Edits the extensions of a handshake. Returns those that pass.
    fn edit(&self, headers: &mut HeaderMap) -> String {
        let values = headers.get_all(SEC_WEBSOCKET_EXTENSIONS).iter().filter_map(|value| value.to_str().ok());
        let extensions = self.compression.edit(&values.collect::<Vec<_>>().join(", ")).unwrap_or_default();
        headers.remove(SEC_WEBSOCKET_EXTENSIONS);
        if let Some(value) = extensions.parse().ok().filter(|value: &HeaderValue| !value.is_empty()) {
            headers.insert(SEC_WEBSOCKET_EXTENSIONS, value);
        }
        extensions
    }
}

/// The half of a connection that bytes are written to. What is written under one lock are complete frames.
type Writer = Mutex<WriteHalf<TokioIo<Upgraded>>>;

/// Forwards one direction to `to`. `back` leads to the sender.
async fn forward(
    mut filter: FrameFilter,
    from: &mut ReadHalf<TokioIo<Upgraded>>,
    to: &Writer,
) -> core::result::Result<(), FrameError> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(16 * 1024);
        if !matches!(from.read_buf(&mut buffer).await, Ok(1..)) {
            let _ = to.lock().await.shutdown().await;
            return Ok(());
        }
        let mut chunk = buffer.split().freeze();
        let result = filter.rewrite(&mut chunk);
        if to.lock().await.write_all(&chunk).await.is_err() {
            return Ok(());
        }
        result?;
    }
}

/// Forwards both directions until they end or one of them is rejected.
async fn relay(client: Upgraded, server: Upgraded, settings: &Settings, extensions: &str) {
    let (mut from_client, to_client) = tokio::io::split(TokioIo::new(client));
    let (mut from_server, to_server) = tokio::io::split(TokioIo::new(server));
    let (to_client, to_server) = (Mutex::new(to_client), Mutex::new(to_server));
    let requests = settings.filter(FrameSender::Client, extensions);
    let responses = settings.filter(FrameSender::Server, extensions);
    let both = tokio::try_join!(
        forward(requests, &mut from_client, &to_server),
        forward(responses, &mut from_server, &to_client)
    );
    let Err(error) = both else { return };
    println!("rejected: {error}");
    // A mask that the peers cannot predict (RFC 6455 §5.3).
    let key = (RandomState::new().build_hasher().finish() as u32).to_ne_bytes();
    let close = async |to: &Writer, from: &mut ReadHalf<_>, key| {
        let mut frame = Vec::new();
        error.close_frame().write_to(key, &mut frame);
        let mut to = to.lock().await;
        if to.write_all(&frame).await.is_ok() && to.shutdown().await.is_ok() {
            // Reads until the peer closes, so that a peer that is still sending can read the close frame.
            let _ = tokio::io::copy(from, &mut tokio::io::sink()).await;
        }
    };
    let closes = async {
        tokio::join!(
            close(&to_client, &mut from_client, None),
            close(&to_server, &mut from_server, Some(key))
        )
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), closes).await;
}

/// Forwards the handshake, and spawns a task for the frames after it.
async fn upgrade(mut request: Request<Incoming>, settings: Arc<Settings>) -> Result<Response<Empty<Bytes>>> {
    let is_upgrade =
        request.headers().get(UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    if !is_upgrade {
        return Ok(Response::builder().status(StatusCode::UPGRADE_REQUIRED).body(Empty::new())?);
    }
    let stream = TokioIo::new(TcpStream::connect(&settings.upstream).await?);
    let (mut server, connection) = hyper::client::conn::http1::handshake(stream).await?;
    tokio::spawn(connection.with_upgrades());
    let mut offer = Request::get(request.uri()).body(Empty::<Bytes>::new())?;
    offer.headers_mut().clone_from(request.headers());
    settings.edit(offer.headers_mut());
    let mut answer = server.send_request(offer).await?;
    let mut response = Response::builder().status(answer.status()).body(Empty::new())?;
    response.headers_mut().clone_from(answer.headers());
    let extensions = settings.edit(response.headers_mut());
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        tokio::spawn(async move {
            let both = tokio::try_join!(hyper::upgrade::on(&mut request), hyper::upgrade::on(&mut answer));
            match both {
                Ok((client, server)) => relay(client, server, &settings, &extensions).await,
                Err(error) => eprintln!("upgrade: {error}"),
            }
        });
    }
    Ok(response)
}

async fn serve(listener: TcpListener, settings: Settings) -> Result<()> {
    let settings = Arc::new(settings);
    loop {
        let (socket, peer) = listener.accept().await?;
        let settings = settings.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| upgrade(request, settings.clone()));
            let builder = hyper::server::conn::http1::Builder::new();
            if let Err(error) = builder.serve_connection(TokioIo::new(socket), service).with_upgrades().await
            {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let (mut listen, mut settings) = (
        None,
        Settings { upstream: String::new(), compression: CompressionPolicy::Remove, substitute: None },
    );
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--listen" => listen = arguments.next(),
            "--upstream" => settings.upstream = arguments.next().unwrap_or_default(),
            "--inflate" => settings.compression = CompressionPolicy::Inflate,
            "--pass-compressed" => settings.compression = CompressionPolicy::Pass,
            "--substitute" => settings.substitute = Some(Ascii::QUESTION_MARK),
            _ => return Err("usage: websocket_gateway [--listen ADDR --upstream HOST:PORT]".into()),
        }
    }
    let Some(address) = listen else { return demonstrate(settings).await };
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    serve(listener, settings).await
}

/// Echoes text, and sends ill-formed text if it is asked to. Returns the close code that each connection received.
async fn echo_or_lie(listener: TcpListener, closed: tokio::sync::mpsc::Sender<Option<u16>>) -> Result<()> {
    loop {
        let mut client = tokio_tungstenite::accept_async(listener.accept().await?.0).await?;
        while let Some(Ok(message)) = client.next().await {
            match message {
                Message::Text(text) if text == "lie" => {
                    let lie =
                        Frame::message(Payload::from_static(b"\xED\xA0\x80"), OpCode::Data(Data::Text), true);
                    client.send(Message::Frame(lie)).await?;
                }
                Message::Text(text) => client.send(Message::Text(text)).await?,
                Message::Close(frame) => closed.send(frame.map(|frame| frame.code.into())).await?,
                _ => {}
            }
        }
    }
}

async fn demonstrate(mut settings: Settings) -> Result<()> {
    let upstream = TcpListener::bind("127.0.0.1:0").await?;
    settings.upstream = upstream.local_addr()?.to_string();
    let (sender, mut closed_upstream) = tokio::sync::mpsc::channel(1);
    tokio::spawn(echo_or_lie(upstream, sender));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address: SocketAddr = listener.local_addr()?;
    tokio::spawn(serve(listener, settings));

    let ill_formed = Frame::message(Payload::from_static(b"caf\xE9"), OpCode::Data(Data::Text), true);
    for bad in [Message::Frame(ill_formed), Message::text("lie")] {
        let socket = TcpStream::connect(address).await?;
        let (mut client, _) = tokio_tungstenite::client_async("ws://localhost/", socket).await?;
        client.send(Message::text("naïve")).await?;
        assert_eq!(client.next().await.ok_or("no echo")??, Message::text("naïve"));
        client.send(bad).await?;
        match client.next().await.ok_or("no close frame")?? {
            Message::Close(Some(frame)) => assert_eq!(u16::from(frame.code), 1007),
            other => return Err(format!("not a close frame: {other:?}").into()),
        }
        assert_eq!(closed_upstream.recv().await, Some(Some(1007)));
    }
    println!(
        "text passed; ill-formed text of the client and of the server closed both connections with 1007"
    );
    Ok(())
}
