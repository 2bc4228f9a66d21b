//! An axum server that rejects ill-formed text.
//!
//! `POST /text` streams: it responds with the number of characters of a body of any length, in constant memory. `POST
//! /note` holds: its handler is not called for an ill-formed body. `POST /event` holds JSON for a column `jsonb`, so it also
//! rejects `\u0000` and half of a surrogate pair. All respond to an ill-formed body with `400` and a problem document with
//! the offset of the error. `GET /counters` returns the counters of the layers.
//!
//! Without arguments it starts on a free port, sends itself requests, and exits. `--listen ADDR` serves until it is
//! interrupted:
//!
//! ```sh
//! cargo run -p integration --example axum_gateway -- --listen 127.0.0.1:8080
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
use utf8_codec::Subset;
use utf8_codec::json::JsonStrings;
use utf8_codec_http::tower::ValidateUtf8RequestLayer;
use utf8_codec_http::{BodyRules, BoxError, HttpCounters};

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
    // Every body is treated as text, independent of its type.
    let rules = BodyRules::new().with_text_types(|_| true);
    // The rest of a rejected body is awaited for a second, so that a client that is still sending reads the response.
    let timer = || tokio::time::sleep(Duration::from_secs(1));
    let streaming = ValidateUtf8RequestLayer::streaming()
        .with_rules(rules.clone())
        .with_counters(&counters)
        .with_drain_timer(timer);
    let holding =
        ValidateUtf8RequestLayer::new().with_rules(rules).with_counters(&counters).with_drain_timer(timer);
    let jsonb = BodyRules::new().with_json_strings(JsonStrings::new().with_subset(&Subset::NO_NUL));
    let jsonb = holding.clone().with_rules(jsonb);
    Router::new()
        .route("/text", post(count_characters).layer(streaming))
        .route("/note", post(take_note).layer(holding.with_header_check(true).with_query_check(true)))
        .route("/event", post(async |event: String| event).layer(jsonb))
        // The check is after decompression. It also rejects unknown codings, with a problem document.
        .layer(RequestDecompressionLayer::new().pass_through_unaccepted(true))
        .route("/counters", get(show_counters))
        .with_state(counters)
}

/// Reads a body frame by frame. The layer replaces the response to ill-formed text.
async fn count_characters(mut body: Body) -> Result<String, (StatusCode, String)> {
    let mut characters = 0;
    while let Some(frame) = body.frame().await {
        let failed = |error: axum::Error| (StatusCode::BAD_REQUEST, error.to_string());
        if let Ok(data) = frame.map_err(failed)?.into_data() {
            // Every frame consists of whole characters.
            let text = core::str::from_utf8(&data);
            characters += text.expect("the layer checked it").chars().count();
        }
    }
    Ok(characters.to_string())
}

/// Called only with a complete and well-formed body.
async fn take_note(note: String) -> String {
    format!("noted {} characters", note.chars().count())
}

async fn show_counters(State(counters): State<HttpCounters>) -> String {
    let now = counters.snapshot();
    format!("bodies {}\nbytes {}\nrejected {}\n", now.bodies, now.bytes, now.rejected_total())
}

async fn demonstrate(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    // The chunks end inside characters.
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

    let (status, problem) = send(address, "/event", &[br#"{"text":"\uD8"#, br#"3D"}"#]).await?;
    println!("{status}: {problem}");
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(problem.contains(r#""kind":"UnpairedSurrogate","offset":9,"len":6"#));
    Ok(())
}

/// Sends chunks with `Transfer-Encoding: chunked`. Returns the status and the text of the response.
async fn send(
    address: SocketAddr,
    path: &str,
    chunks: &[&'static [u8]],
) -> Result<(StatusCode, String), Box<dyn Error>> {
    let frames =
        chunks.iter().map(|chunk| Ok::<_, BoxError>(hyper::body::Frame::data(Bytes::from_static(chunk))));
    let body = StreamBody::new(futures::stream::iter(frames.collect::<Vec<_>>()));
    let content_type = if path == "/event" { "application/json" } else { "text/plain" };
    let request =
        Request::post(format!("http://{address}{path}")).header("content-type", content_type).body(body)?;
    let response = Client::builder(TokioExecutor::new()).build_http().request(request).await?;
    let status = response.status();
    let text = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(text.into())?))
}
