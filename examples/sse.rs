//! Server-sent events over HTTP: a server with axum, and a client that reconnects.
//!
//! `GET /tokens` streams the words of a response as events, in chunks that split characters and line terminators. The
//! server closes the connection after a few events. The client sends `Last-Event-ID` and continues after the last
//! event, like a browser.
//!
//! Without arguments it starts on a free port, reads its own events, and exits. `--listen ADDR` serves until it is
//! interrupted:
//!
//! ```sh
//! cargo run -p integration --example sse -- --listen 127.0.0.1:8080
//! curl -N http://127.0.0.1:8080/tokens
//! curl -N -H 'Last-Event-ID: 4' http://127.0.0.1:8080/tokens
//! ```

use core::convert::Infallible;
use core::error::Error;
use core::time::Duration;
use std::io::Write as _;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use axum::routing::get;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio_util::codec::Encoder;
use utf8_codec::codec::SseCodec;
use utf8_codec::codec::sse::{Comment, Event};
use utf8_codec::stream::{SseStream, Utf8StreamError};

const TOKENS: [&str; 6] =
    ["na\u{EF}ve", " \u{1F980}", "\nStra\u{DF}e", " \u{65E5}\u{672C}", "\u{2028}", " end"];
/// The number of events of one connection.
const EVENTS: usize = 4;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (address, is_demonstration) = match &arguments[..] {
        [] => ("127.0.0.1:0", true),
        [flag, address] if flag == "--listen" => (&address[..], false),
        _ => return Err("usage: sse [--listen ADDR]".into()),
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    let server = axum::serve(listener, Router::new().route("/tokens", get(tokens)));
    if is_demonstration {
        tokio::spawn(server.into_future());
        return demonstrate(&format!("http://{address}/tokens")).await;
    }
    Ok(server.with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) }).await?)
}

async fn tokens(headers: HeaderMap) -> Result<Response<Body>, StatusCode> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok()).unwrap_or(0);
    if last >= TOKENS.len() {
        // This response stops a browser from reconnecting.
        return Err(StatusCode::NO_CONTENT);
    }
    let response = written(last).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .header(header::CACHE_CONTROL, "no-store")
        .body(Body::from_stream(in_pieces(response)))
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns the encoding of the events after the event `last`.
fn written(last: usize) -> std::io::Result<Bytes> {
    let (mut codec, mut bytes) = (SseCodec::new(), BytesMut::new());
    codec.encode(Comment("connected"), &mut bytes)?;
    for (id, token) in TOKENS.iter().enumerate().skip(last).take(EVENTS) {
        let event = Event::new(*token).with_event("token").with_id((id + 1).to_string());
        codec.encode(event.with_retry(Duration::from_millis(10)), &mut bytes)?;
    }
    Ok(bytes.freeze())
}

/// Splits the bytes into small chunks, similar to those of a language model.
fn in_pieces(bytes: Bytes) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let pieces: Vec<_> = bytes.chunks(5).map(Bytes::copy_from_slice).collect();
    stream::iter(pieces).then(|piece| async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(piece)
    })
}

/// Reads all events, reconnecting as often as necessary.
async fn demonstrate(url: &str) -> Result<(), Box<dyn Error>> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let (mut codec, mut answer, mut connections) = (SseCodec::new(), String::new(), 0);
    loop {
        let mut request = Request::get(url).header(header::ACCEPT, "text/event-stream");
        // An empty ID is not sent. The bytes of other characters than ASCII are sent as they are.
        if let Some(id) = codec.last_event_id().filter(|id| !id.is_empty()) {
            request = request.header("last-event-id", id.as_bytes());
        }
        let response = client.request(request.body(Body::empty())?).await?;
        if response.status() == StatusCode::NO_CONTENT {
            break;
        }
        connections += 1;
        let mut events = SseStream::with_codec(Body::new(response.into_body()).into_data_stream(), codec);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) if event.event == "token" => answer.push_str(&event.data),
                Ok(event) => println!("an event of type {}", event.event),
                Err(Utf8StreamError::Text(error)) => eprintln!("an event was discarded: {error}"),
                Err(Utf8StreamError::Inner(error)) => return Err(error.into()),
            }
        }
        (_, codec, _) = events.into_parts();
        tokio::time::sleep(codec.retry().unwrap_or(Duration::from_secs(3))).await;
    }
    assert_eq!(answer, TOKENS.concat());
    assert_eq!((connections, codec.last_event_id()), (2, Some("6")));
    println!("{} events over {connections} connections: {answer:?}", TOKENS.len());
    Ok(())
}
