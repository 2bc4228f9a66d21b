//! The middleware that checks responses.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use bytes::Bytes;
use http::response::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::body::CheckedBody;
use super::config::{LayerConfig, Release, Start, shared_settings};
use super::drain::{Drain, Report};
use super::gather::Gather;
use crate::counters::HttpCounters;
use crate::error::BoxError;
use crate::rejection::{MessageKind, Rejection};
use crate::rules::BodyRules;

/// A layer that truncates or replaces responses with ill-formed text. Its service is [`ValidateUtf8Response`].
///
/// | | [`new`](Self::new) | [`with_max_held_length`](Self::with_max_held_length) |
/// |---|---|---|
/// | what the client receives of an ill-formed response | the head and the well-formed text before the error, if the server has sent them by then; then the connection (HTTP/1.1) is closed or the stream (HTTP/2) is reset | `502` |
/// | memory for a body | the bytes of one character | the bytes that have arrived, up to a limit |
/// | a body over the limit | no limit | `502` |
///
/// Text in another charset passes by default, because the client can read it. The [rules](Self::with_rules) can change
/// that. The bodies of responses to `HEAD`, of `1xx`, `204`, `206` and `304`, and the tunnel of a `2xx` to `CONNECT` are
/// not checked.
///
/// A policy that repairs invalidates `Content-Length`, a strong `ETag`, `Accept-Ranges` and digests, so these fields
/// are removed, also from responses to `HEAD` and from `304`, even [without a type](BodyRules::describe). Under
/// [`ErrorPolicy::Substitute`](utf8_codec::ErrorPolicy) the length does not change and is kept.
///
/// A layer that repairs also removes `Range` and `If-Range` from every request
/// ([`BodyRules::removes_from_request`]), because the type of the response is not known then. Do not apply it to routes whose
/// clients need ranges, such as videos. A response with `Cache-Control: no-transform` is not repaired
/// ([`BodyRules::with_no_transform`]).
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::{BodyExt, Empty, Full};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
/// use utf8_codec::{ErrorPolicy, TextDecoder};
/// use utf8_codec_http::BodyRules;
/// use utf8_codec_http::tower::ValidateUtf8ResponseLayer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), utf8_codec_http::BoxError> {
/// let repair = BodyRules::for_responses().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
/// let service = ServiceBuilder::new()
///     .layer(ValidateUtf8ResponseLayer::new().with_rules(repair))
///     .service(service_fn(async |_: Request<Empty<&[u8]>>| {
///         let response = Response::builder().header("content-type", "text/plain").header("content-length", 6);
///         response.body(Full::<Bytes>::from(&b"na\xEFve\n"[..]))
///     }));
///
/// let response = service.oneshot(Request::new(Empty::new())).await?;
/// assert!(!response.headers().contains_key("content-length"));
/// assert_eq!(response.into_body().collect().await?.to_bytes(), "na\u{FFFD}ve\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ValidateUtf8ResponseLayer {
    config: Arc<LayerConfig>,
}

impl ValidateUtf8ResponseLayer {
    /// Creates a layer that checks bodies while they stream.
    pub fn new() -> Self {
        Self { config: Arc::new(LayerConfig::new(MessageKind::Response, BodyRules::for_responses())) }
    }

    /// Holds the whole body, up to a maximum length in bytes, before the head is sent. Do not use it for bodies that
    /// never end, such as `text/event-stream`, because the client would receive nothing.
    #[must_use]
    pub fn with_max_held_length(self, bytes: usize) -> Self {
        self.with(|config| config.hold = Some(bytes))
    }

    shared_settings! {
        layer: "ValidateUtf8ResponseLayer",
        rules: "The default is [`BodyRules::for_responses`].",
        on_rejection: "Sets the replacement for a rejected response, instead of [`Rejection::to_response`]."
    }
}

utf8_codec::default_is_new!(ValidateUtf8ResponseLayer);

impl<S> Layer<S> for ValidateUtf8ResponseLayer {
    type Service = ValidateUtf8Response<S>;

    fn layer(&self, inner: S) -> ValidateUtf8Response<S> {
        ValidateUtf8Response { inner, config: Arc::clone(&self.config) }
    }
}

/// A service that returns only responses with well-formed text. See
/// [`ValidateUtf8ResponseLayer`].
#[derive(Clone, Debug)]
pub struct ValidateUtf8Response<S> {
    inner: S,
    config: Arc<LayerConfig>,
}

impl<S> ValidateUtf8Response<S> {
    utf8_codec::inner_accessors!(inner: S, "inner service");
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for ValidateUtf8Response<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: Body,
    ResBody::Error: Into<BoxError>,
{
    type Response = Response<CheckedBody<ResBody>>;
    type Error = S::Error;
    type Future = ValidateUtf8ResponseFuture<S::Future, ResBody>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        self.config.prepare_request(&mut request);
        let content = match *request.method() {
            Method::HEAD => Content::Nothing,
            Method::CONNECT => Content::Tunnel,
            _ => Content::Body,
        };
        let path = if self.config.rules.has_paths() { request.uri().path() } else { "" }.into();
        ValidateUtf8ResponseFuture::new(self.inner.call(request), content, path, Arc::clone(&self.config))
    }
}

pin_project! {
    /// The future of [`ValidateUtf8Response`].
    pub struct ValidateUtf8ResponseFuture<F, B> {
        #[pin]
        state: State<F, B>,
        config: Arc<LayerConfig>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, B> {
        /// The handler was called. The path of the request is empty if no rule depends on it.
        Responding { #[pin] response: F, content: Content, path: Box<str> },
        /// The body is not complete.
        Holding { body: Gather<B>, report: Report, parts: Parts },
    }
}

impl<F, B> ValidateUtf8ResponseFuture<F, B> {
    const fn new(response: F, content: Content, path: Box<str>, config: Arc<LayerConfig>) -> Self {
        Self { state: State::Responding { response, content, path }, config }
    }
}

impl<F, B, E> Future for ValidateUtf8ResponseFuture<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<CheckedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let holding = match this.state.as_mut().project() {
                StateProj::Responding { response, content, path } => {
                    let (mut parts, body) = ready!(response.poll(cx))?.into_parts();
                    if let Err(reason) = this.config.check_response(&mut parts.headers) {
                        return Poll::Ready(Ok(this.config.reject(reason, &parts.headers)));
                    }
                    let has_body = match *content {
                        Content::Body => true,
                        Content::Nothing => false,
                        Content::Tunnel => !parts.status.is_success(),
                    };
                    if !has_body || !is_whole(parts.status) {
                        let is_described = parts.status == StatusCode::NOT_MODIFIED
                            || *content == Content::Nothing && is_whole(parts.status);
                        let body = if is_described {
                            this.config.describe(&mut parts.headers, path, parts.status, body)
                        } else {
                            CheckedBody::unchecked(body)
                        };
                        return Poll::Ready(Ok(Response::from_parts(parts, body)));
                    }
                    match this.config.start(&mut parts.headers, path, body, Drain::NONE) {
                        Start::Reject(reason, _) => {
                            return Poll::Ready(Ok(this.config.reject(reason, &parts.headers)));
                        }
                        Start::Forward(body, _) => {
                            return Poll::Ready(Ok(Response::from_parts(parts, body)));
                        }
                        Start::Hold(body, report) => State::Holding { body, report, parts },
                    }
                }
                StateProj::Holding { body, report, parts } => {
                    let held = ready!(body.poll(cx));
                    let response = match this.config.release(held, report, &mut parts.headers) {
                        Release::Forward(body) => {
                            let parts = mem::replace(parts, Response::new(()).into_parts().0);
                            Response::from_parts(parts, body)
                        }
                        Release::Respond(response) => response,
                    };
                    return Poll::Ready(Ok(response));
                }
            };
            this.state.set(holding);
        }
    }
}

/// What follows the header fields of a response, by the method of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Body,
    /// Nothing, but the header fields are those of a response with a body.
    Nothing,
    /// A tunnel, if the status is `2xx` (RFC 9110 §9.3.6). Otherwise a body.
    Tunnel,
}

/// Whether a response with this status has a body that starts at the start of the representation. The body of a `206`
/// may start inside a character.
fn is_whole(status: StatusCode) -> bool {
    !status.is_informational()
        && !matches!(status, StatusCode::NO_CONTENT | StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED)
}

impl<F, B> fmt::Debug for ValidateUtf8ResponseFuture<F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidateUtf8ResponseFuture").finish_non_exhaustive()
    }
}
