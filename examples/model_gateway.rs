//! A gateway between a language model and its users. It reads the events of an answer one by one, joins the text of their
//! deltas, and forwards exactly the bytes that it has read. The first event that completes a phrase that must not be said is
//! replaced by an event that says so, and the stream ends.
//!
//! An event is forwarded when its blank line has arrived: nothing waits for the end of the answer. Chunks end anywhere, also
//! inside a character, and the model cuts an emoji into two deltas (`"\ud83d"`, `"\ude00"`).
//!
//! Without arguments it asks a model of its own on loopback, and exits. With `--listen ADDR MODEL` it forwards `GET` requests
//! to the HTTP server MODEL:
//!
//! ```sh
//! cargo run -p integration --example model_gateway -- --listen 127.0.0.1:8080 127.0.0.1:9000
//! curl -N http://127.0.0.1:8080/answer
//! ```

use core::convert::Infallible;
use core::error::Error;
use std::collections::HashMap;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode, header};
use axum::routing::get;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use utf8_codec::TextDecoder;
use utf8_codec::boundary::ceil_boundary;
use utf8_codec::codec::SseCodec;
use utf8_codec::codec::sse::{Event, SseFrame};
use utf8_codec::json::SurrogateCarry;
use utf8_codec::stream::CodecStream;

const REFUSED: &str = "open sesame";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => demonstrate().await,
        [flag, address, model] if flag == "--listen" => {
            let listener = TcpListener::bind(address).await?;
            println!("listening on {}", listener.local_addr()?);
            Ok(axum::serve(listener, gateway(model.clone())).await?)
        }
        _ => Err("usage: model_gateway [--listen ADDR MODEL]".into()),
    }
}

#[derive(Clone)]
struct Gateway {
    client: Client<HttpConnector, Body>,
    model: String,
}

fn gateway(model: String) -> Router {
    let client = Client::builder(TokioExecutor::new()).build_http();
    Router::new().fallback(get(forward)).with_state(Gateway { client, model })
}

async fn forward(State(gateway): State<Gateway>, mut request: Request) -> Result<Response<Body>, StatusCode> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let uri = format!("http://{}{path}", gateway.model);
    *request.uri_mut() = uri.parse().map_err(|_| StatusCode::BAD_REQUEST)?;
    // A compressed answer could not be read.
    request.headers_mut().remove(header::ACCEPT_ENCODING);
    let response = gateway.client.request(request).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    let (mut parts, body) = response.into_parts();
    if !parts.headers.get(header::CONTENT_TYPE).is_some_and(is_event_stream) {
        return Err(StatusCode::BAD_GATEWAY);
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    let guarded = guarded(Body::new(body).into_data_stream());
    Ok(Response::from_parts(parts, Body::from_stream(guarded)))
}

fn is_event_stream(content_type: &header::HeaderValue) -> bool {
    content_type.as_bytes().starts_with(b"text/event-stream")
}

/// Forwards the events of a body up to the first one that is refused.
fn guarded<S, E>(body: S) -> impl Stream<Item = Result<Bytes, Infallible>>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    // Strict: a character that is ill-formed would be read differently by the user's program.
    let events = CodecStream::with_codec(body, SseCodec::with_decoder(TextDecoder::new()).into_frames());
    stream::unfold(Some((events, Guard::default())), |state| async {
        let (mut events, mut guard) = state?;
        let reason = match events.next().await? {
            Ok(frame) if guard.allows(&frame) => return Some((Ok(frame.bytes), Some((events, guard)))),
            Ok(_) => "refused",
            Err(_) => "failed",
        };
        // An item may end between a CR and its LF. If it does not, this is an empty line more.
        let mut end = BytesMut::from("\n");
        Event::new(reason).with_event("error").write_to(&mut end).expect("no line breaks");
        Some((Ok(end.freeze()), None))
    })
}

/// The text of an answer so far.
#[derive(Default)]
struct Guard {
    carry: SurrogateCarry,
    /// Its last bytes, in which the phrase may start.
    text: String,
}

impl Guard {
    /// Whether an item may be forwarded: a comment, or an event whose text does not complete the phrase.
    fn allows(&mut self, frame: &SseFrame) -> bool {
        let Some(event) = &frame.event else { return true };
        let Some(delta) = self.delta(&event.data) else { return false };
        self.text += &delta;
        let is_allowed = !self.text.contains(REFUSED);
        let start = self.text.len().saturating_sub(REFUSED.len());
        self.text.drain(..ceil_boundary(self.text.as_bytes(), start));
        is_allowed
    }

    /// Returns the text of an event, or `None` if it cannot be read. The first half of a surrogate pair waits for the other
    /// one in the next event.
    fn delta(&mut self, data: &str) -> Option<String> {
        if data == "[DONE]" {
            return Some(String::new());
        }
        let event: HashMap<&str, &RawValue> = serde_json::from_str(data).ok()?;
        let Some(delta) = event.get("delta") else { return Some(String::new()) };
        serde_json::from_str(&self.carry.join(delta.get())).ok()
    }
}

/// A model whose answers are cut into chunks of three bytes.
async fn answer(request: Request) -> Response<Body> {
    let deltas = match request.uri().path() {
        "/harmless" => [r"gr\u00fcn \ud83d", r"\ude00 caf", "é", ""],
        _ => ["Say o", "pen sesa", "me", " twice"],
    };
    let events = deltas.map(|delta| format!("data: {{\"delta\":\"{delta}\"}}\r\n\r\n")).concat();
    let bytes = format!(": keep-alive\n\n{events}data: [DONE]\n\n").into_bytes();
    let chunks: Vec<_> =
        bytes.chunks(3).map(|chunk| Ok::<_, Infallible>(Bytes::copy_from_slice(chunk))).collect();
    let mut response = Response::new(Body::from_stream(stream::iter(chunks)));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/event-stream"));
    response
}

async fn demonstrate() -> Result<(), Box<dyn Error>> {
    let model = TcpListener::bind("127.0.0.1:0").await?;
    let front = TcpListener::bind("127.0.0.1:0").await?;
    let model_address = model.local_addr()?;
    let address = front.local_addr()?;
    tokio::spawn(axum::serve(model, Router::new().fallback(get(answer))).into_future());
    tokio::spawn(axum::serve(front, gateway(model_address.to_string())).into_future());

    let client: Client<_, Body> = Client::builder(TokioExecutor::new()).build_http();
    let harmless = body_of(&client, format!("http://{model_address}/harmless")).await?;
    let forwarded = body_of(&client, format!("http://{address}/harmless")).await?;
    assert_eq!(forwarded, harmless, "the bytes that were read");

    let refused = body_of(&client, format!("http://{address}/harmful")).await?;
    let expected = ": keep-alive\n\n\
        data: {\"delta\":\"Say o\"}\r\n\r\ndata: {\"delta\":\"pen sesa\"}\r\n\r\nevent: error\ndata: refused\n\n";
    assert_eq!(refused, expected);
    println!(
        "one answer was forwarded byte for byte, and one ended before the event that completed the phrase"
    );
    Ok(())
}

async fn body_of(client: &Client<HttpConnector, Body>, url: String) -> Result<Bytes, Box<dyn Error>> {
    let response = client.get(url.parse()?).await?;
    Ok(to_bytes(Body::new(response.into_body()), 1 << 20).await?)
}
