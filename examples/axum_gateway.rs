//! An axum server that lets no ill-formed text in.
//!
//! `POST /text` streams: it answers with the number of characters of a body of any length, in constant memory.
//! `POST /note` holds: its handler never sees a part of a bad body. Both refuse with `400` and a problem document
//! that says where the text is ill-formed. `GET /counters` shows what the layers saw.
//!
//! Without arguments it starts on a free port, talks to itself, and ends. `--listen ADDR` serves until it is
//! interrupted:
//!
//! ```sh
//! cargo run --example axum_gateway --features tower -- --listen 127.0.0.1:8080
//! printf 'caf\xc3\xa9' | curl --data-binary @- http://127.0.0.1:8080/text   # 4
//! printf 'caf\xe9!'    | curl --data-binary @- http://127.0.0.1:8080/text   # … "kind":"MissingContinuation","offset":3 …
//! ```

use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::Write as _;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tower_http::decompression::RequestDecompressionLayer;
use utf8_codec::http::{BodyRules, BoxError, HttpCounters};
use utf8_codec::tower::ValidateUtf8RequestLayer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (address, is_demonstration) = match &arguments[..] {
        [] => ("127.0.0.1:0", true),
        [flag, address] if flag == "--listen" => (&address[..], false),
        _ => return Err("usage: axum_gateway [--listen ADDR]".into()),
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    let server = axum::serve(listener, gateway());
    if is_demonstration {
        tokio::spawn(server.into_future());
        return demonstrate(address).await;
    }
    Ok(server.with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) }).await?)
}

fn gateway() -> Router {
    let counters = HttpCounters::new();
    // Everything that comes here is text, whatever it says of itself.
    let rules = BodyRules::new().text_types(|_| true);
    // A client that is still sending when its request is rejected has a second to read why.
    let timer = || tokio::time::sleep(Duration::from_secs(1));
    let streaming =
        ValidateUtf8RequestLayer::streaming().rules(rules.clone()).counters(&counters).drain_timer(timer);
    let holding = ValidateUtf8RequestLayer::new().rules(rules).counters(&counters).drain_timer(timer);
    Router::new()
        .route("/text", post(count_characters).layer(streaming))
        .route("/note", post(take_note).layer(holding.check_headers().check_query()))
        // The check is inside decompression: what is compressed is not text yet.
        .layer(RequestDecompressionLayer::new())
        .route("/counters", get(show_counters))
        .with_state(counters)
}

/// Reads a body frame by frame. What it answers to an error does not matter: the layer answers in its place.
async fn count_characters(mut body: Body) -> Result<String, (StatusCode, String)> {
    let mut characters = 0;
    while let Some(frame) = body.frame().await {
        let failed = |error: axum::Error| (StatusCode::BAD_REQUEST, error.to_string());
        if let Ok(data) = frame.map_err(failed)?.into_data() {
            // Every frame holds whole characters, so each can be read by itself.
            let text = core::str::from_utf8(&data);
            characters += text.expect("the layer checked it").chars().count();
        }
    }
    Ok(characters.to_string())
}

/// Gets a whole body, which is good, or is not called at all.
async fn take_note(note: String) -> String {
    format!("noted {} characters", note.chars().count())
}

async fn show_counters(State(counters): State<HttpCounters>) -> String {
    let now = counters.snapshot();
    format!("bodies {}\nbytes {}\nrefused {}\n", now.bodies, now.bytes, now.refused_total())
}

async fn demonstrate(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    // Characters are cut where no character ends: chunks are the network's business.
    let (status, text) = send(address, "/text", &[b"caf\xC3", b"\xA9 \xF0", b"\x9F\xA6\x80"]).await?;
    assert_eq!((status, &text[..]), (StatusCode::OK, "6"));

    let (status, problem) = send(address, "/text", &[b"caf\xC3", b"\xA9 \xED", b"\xA0\x80"]).await?;
    println!("{status}: {problem}");
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(problem.contains(r#""kind":"Surrogate","offset":6,"len":1"#));

    let (status, problem) = send(address, "/note", &[b"ends too early \xE2", b"\x82"]).await?;
    println!("{status}: {problem}");
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(problem.contains(r#""kind":"Truncated","offset":15,"len":2"#));

    let (status, problem) = send(address, "/note?q=%C3%A9%FF", &[b"fine"]).await?;
    println!("{status}: {problem}");
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(problem.contains(r#""kind":"InvalidLead","offset":4,"len":1"#));
    Ok(())
}

/// Sends chunks as `Transfer-Encoding: chunked`; gives the status and the text of the answer.
async fn send(
    address: SocketAddr,
    path: &str,
    chunks: &[&'static [u8]],
) -> Result<(StatusCode, String), Box<dyn Error>> {
    let frames =
        chunks.iter().map(|chunk| Ok::<_, BoxError>(hyper::body::Frame::data(Bytes::from_static(chunk))));
    let body = StreamBody::new(futures::stream::iter(frames.collect::<Vec<_>>()));
    let request = Request::post(format!("http://{address}{path}")).body(body)?;
    let response = Client::builder(TokioExecutor::new()).build_http().request(request).await?;
    let status = response.status();
    let text = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(text.into())?))
}
