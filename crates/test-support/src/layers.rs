//! Sends requests through a layer to an echo handler.

use core::convert::Infallible;
use core::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::{Layer, Service, ServiceExt, service_fn};
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer};

pub const BAD: &[u8] = b"{\"a\": \"\xED\xA0\x80\"}";

/// The response of an echo service, and the number of calls of its handler.
#[derive(Debug)]
pub struct Seen {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: Bytes,
    pub handled: usize,
}

impl Seen {
    pub fn problem(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/problem+json");
        serde_json::from_slice(&self.text).expect("JSON")
    }
}

pub fn post(fields: &[(&str, &str)]) -> http::request::Builder {
    fields.iter().fold(Request::post("/"), |request, (name, value)| request.header(*name, *value))
}

/// Sends a request through the layer to a handler that returns the body and the header fields of the request.
pub async fn through<B>(layer: &ValidateUtf8RequestLayer, request: Request<B>) -> Seen
where
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<utf8_codec_http::BoxError>,
{
    let handled = AtomicUsize::new(0);
    let mut service = layer.layer(service_fn(|request: Request<CheckedBody<B>>| {
        handled.fetch_add(1, Ordering::Relaxed);
        async move {
            let (parts, body) = request.into_parts();
            let response = match body.collect().await {
                Ok(text) => Response::new(Full::new(text.to_bytes())),
                Err(_) => Response::builder().status(StatusCode::IM_A_TEAPOT).body(Full::default()).unwrap(),
            };
            let (mut answer, text) = response.into_parts();
            answer.headers = parts.headers;
            Ok::<_, Infallible>(Response::from_parts(answer, text))
        }
    }));
    let response = service.ready().await.unwrap().call(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = body.collect().await.unwrap().to_bytes();
    Seen { status: parts.status, headers: parts.headers, text, handled: handled.load(Ordering::Relaxed) }
}

pub async fn send(layer: &ValidateUtf8RequestLayer, fields: &[(&str, &str)], text: &'static [u8]) -> Seen {
    through(layer, post(fields).body(Full::new(Bytes::from_static(text))).unwrap()).await
}
