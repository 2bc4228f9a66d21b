//! The middleware that checks requests.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, Version};
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
use crate::reason::RejectReason;
use crate::rejection::{MessageKind, Rejection};
use crate::rules::BodyRules;

/// The default maximum number of bytes of a held request body, the same as the limit of the extractors of axum.
const HOLD: usize = 2 * 1024 * 1024;

/// A layer that rejects requests with ill-formed text. Its service is [`ValidateUtf8Request`].
///
/// | | [`new`](Self::new) | [`streaming`](Self::streaming) |
/// |---|---|---|
/// | the handler is called | when the whole body is known to be well-formed | immediately |
/// | what the handler reads of an ill-formed body | nothing | the well-formed text before the error |
/// | memory for a body | the bytes that have arrived, up to a limit | the bytes of one character |
/// | the response to an ill-formed body | the problem document | the problem document, unless the handler has already responded |
/// | a body over the limit | `413` | no limit |
///
/// A request without content passes, whatever its header fields say. If it would be rejected for them and announces no
/// length, the layer waits for its first byte or its end. The tunnel of a `CONNECT` (RFC 9110 §9.3.6), also of an
/// extended one (RFC 8441, RFC 9220), passes without a check.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response, StatusCode};
/// use http_body_util::{BodyExt, Full};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
/// use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let service = ServiceBuilder::new()
///     .layer(ValidateUtf8RequestLayer::new())
///     .service(service_fn(async |request: Request<CheckedBody<Full<Bytes>>>| {
///         let text = request.into_body().collect().await?.to_bytes();
///         Ok::<_, utf8_codec_http::BoxError>(Response::new(Full::<Bytes>::from(text)))
///     }));
///
/// let request = Request::post("/").header("content-type", "application/json");
/// let request = request.body(Full::from(&b"{\"name\": \"Ren\xE9\"}"[..])).unwrap();
/// let response = service.oneshot(request).await.unwrap();
/// assert_eq!(response.status(), StatusCode::BAD_REQUEST);
/// assert_eq!(response.headers()["content-type"], "application/problem+json");
/// let problem = response.into_body().collect().await.unwrap().to_bytes();
/// assert!(problem.ends_with(br#""kind":"MissingContinuation","offset":13,"len":1}"#));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ValidateUtf8RequestLayer {
    config: Arc<LayerConfig>,
}

impl ValidateUtf8RequestLayer {
    /// Creates a layer that holds the whole body, up to 2 MiB, before the handler is called.
    pub fn new() -> Self {
        Self::streaming().with_max_held_length(HOLD)
    }

    /// Creates a layer that checks the body while the handler reads it.
    ///
    /// A handler that reads up to ill-formed text gets an error from the body. Its response, or the error that it returns,
    /// is then replaced by the problem document, unless it has already responded.
    pub fn streaming() -> Self {
        let config = LayerConfig::new(MessageKind::Request, BodyRules::new());
        Self { config: Arc::new(config) }.with_max_drained_length(HOLD)
    }

    /// Holds the whole body, up to a maximum length in bytes, before the handler is called. A longer body is rejected
    /// with `413`.
    ///
    /// The limit is for the bytes that the handler would read, after a repair or in UTF-8. It applies to each request,
    /// so also limit the number of concurrent requests. A body reserves at most twice the memory of the bytes that have
    /// arrived.
    #[must_use]
    pub fn with_max_held_length(self, bytes: usize) -> Self {
        self.with(|config| config.hold = Some(bytes))
    }

    /// Sets the maximum number of bytes of the rest of a rejected HTTP/1 body that are read and dropped before the
    /// response. The default is 2 MiB.
    ///
    /// A server that closes a connection with unread bytes resets it, and a client that is still sending may lose the
    /// response. The bytes that have already arrived are therefore read first. More bytes are awaited if there is a
    /// [timer](Self::with_drain_timer), unless the announced length is above this limit. If the body is not read to its
    /// end, the response has `Connection: close`. With 0 nothing is read, for clients that wait for a response while
    /// they send. In HTTP/2 nothing is read, because a stream can be reset without closing the connection.
    #[must_use]
    pub fn with_max_drained_length(self, bytes: usize) -> Self {
        self.with(|config| config.drain = bytes as u64)
    }

    /// Waits for the rest of a rejected body at most until the future that `timer` returns completes. By default the rest
    /// is not awaited, so no client can delay the response.
    ///
    /// The timer also limits the wait, over HTTP/2 too, for a request that is rejected for its header fields unless it is
    /// empty, and whose length is not announced. Without a timer it is awaited until its first byte or its end: set one if
    /// clients may wait for the response before they send the body.
    ///
    /// The timer is started once for each request, after the bytes that have already arrived were read.
    ///
    /// ```
    /// use core::time::Duration;
    ///
    /// use utf8_codec_http::tower::ValidateUtf8RequestLayer;
    ///
    /// let layer = ValidateUtf8RequestLayer::new().with_drain_timer(|| tokio::time::sleep(Duration::from_secs(2)));
    /// # drop(layer);
    /// ```
    #[must_use]
    pub fn with_drain_timer<F, T>(self, timer: F) -> Self
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + Sync + 'static,
    {
        self.with(|config| config.drain_timer = Some(Arc::new(move || Box::pin(timer()))))
    }

    /// Sets whether the percent-decoded path is checked. It is not by default.
    #[must_use]
    pub fn with_path_check(self, check: bool) -> Self {
        self.with(|config| config.fields.path = check)
    }

    /// Sets whether the percent-decoded query is checked. It is not by default.
    #[must_use]
    pub fn with_query_check(self, check: bool) -> Self {
        self.with(|config| config.fields.query = check)
    }

    shared_settings! {
        layer: "ValidateUtf8RequestLayer",
        rules: "The default is [`BodyRules::new`].",
        on_rejection: "Sets the response to a rejected request, instead of [`Rejection::to_response`]."
    }
}

utf8_codec::default_is_new!(ValidateUtf8RequestLayer);

impl<S> Layer<S> for ValidateUtf8RequestLayer {
    type Service = ValidateUtf8Request<S>;

    fn layer(&self, inner: S) -> ValidateUtf8Request<S> {
        ValidateUtf8Request { inner, config: Arc::clone(&self.config) }
    }
}

/// A service that forwards only requests with well-formed text. See
/// [`ValidateUtf8RequestLayer`].
///
/// The inner service is cloned for a request whose body decides whether the handler is called. This can happen in a
/// [streaming](ValidateUtf8RequestLayer::streaming) layer too, for a request that is rejected unless it has no content.
#[derive(Clone, Debug)]
pub struct ValidateUtf8Request<S> {
    inner: S,
    config: Arc<LayerConfig>,
}

impl<S> ValidateUtf8Request<S> {
    utf8_codec::inner_accessors!(inner: S, "inner service");
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for ValidateUtf8Request<S>
where
    S: Service<Request<CheckedBody<ReqBody>>, Response = Response<ResBody>> + Clone,
    ReqBody: Body,
    ReqBody::Error: Into<BoxError>,
{
    type Response = Response<CheckedBody<ResBody>>;
    type Error = S::Error;
    type Future = ValidateUtf8RequestFuture<S, ReqBody>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        ValidateUtf8RequestFuture::new(request, &mut self.inner, Arc::clone(&self.config))
    }
}

pin_project! {
    /// The future of [`ValidateUtf8Request`].
    pub struct ValidateUtf8RequestFuture<S, B>
    where
        S: Service<Request<CheckedBody<B>>>,
    {
        #[pin]
        state: State<S, B, S::Future>,
        is_http1: bool,
        config: Arc<LayerConfig>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, B, F> {
        /// The body is not complete.
        Holding { body: Gather<B>, report: Report, call: Option<(Parts, S)> },
        /// The handler was called.
        Responding { #[pin] response: F, report: Report },
        /// The request is rejected, and the rest of its body is being drained.
        Rejected { reason: RejectReason, parts: Parts, #[pin] body: B, drain: Drain },
    }
}

impl<S, B> ValidateUtf8RequestFuture<S, B>
where
    S: Service<Request<CheckedBody<B>>> + Clone,
    B: Body,
    B::Error: Into<BoxError>,
{
    fn new(request: Request<B>, service: &mut S, config: Arc<LayerConfig>) -> Self {
        let (mut parts, body) = request.into_parts();
        let is_http1 = parts.version < Version::HTTP_2;
        let start = match config.fields.check_request(&parts) {
            Ok(()) if parts.method == Method::CONNECT => {
                Start::Forward(CheckedBody::unchecked(body), Report::NONE)
            }
            Ok(()) => {
                let drain = config.new_drain(is_http1);
                config.start(&mut parts.headers, parts.uri.path(), body, drain)
            }
            Err(reason) => Start::Reject(reason, body),
        };
        let state = match start {
            Start::Reject(reason, body) => {
                // A client that expects `100-continue` has not sent any of the body yet.
                let is_waiting = parts.headers.contains_key(EXPECT);
                let drain = if is_waiting { Drain::NONE } else { config.new_drain(is_http1) };
                State::Rejected { reason, parts, body, drain }
            }
            Start::Forward(body, report) => {
                State::Responding { response: service.call(Request::from_parts(parts, body)), report }
            }
            Start::Hold(body, report) => {
                // The clone may not be ready, so the ready service is called and the clone is kept.
                let clone = service.clone();
                let service = mem::replace(service, clone);
                State::Holding { body, report, call: Some((parts, service)) }
            }
        };
        Self { state, is_http1, config }
    }
}

impl<S, B, ResBody> Future for ValidateUtf8RequestFuture<S, B>
where
    S: Service<Request<CheckedBody<B>>, Response = Response<ResBody>>,
    B: Body,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<CheckedBody<ResBody>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let responding = match this.state.as_mut().project() {
                StateProj::Responding { response, report } => {
                    let response = ready!(response.poll(cx));
                    return Poll::Ready(match report.rejection() {
                        // Even if the handler failed, because the body may be the cause.
                        Some(rejection) => {
                            let is_unread = *this.is_http1 && !report.is_drained();
                            Ok(close_if(is_unread, this.config.response(rejection)))
                        }
                        None => response.map(|response| response.map(CheckedBody::unchecked)),
                    });
                }
                StateProj::Rejected { reason, parts, body, drain } => {
                    let has_ended = ready!(drain.poll(body, cx));
                    let response = this.config.reject(reason.clone(), &parts.headers);
                    return Poll::Ready(Ok(close_if(*this.is_http1 && !has_ended, response)));
                }
                StateProj::Holding { body, report, call } => {
                    let held = ready!(body.poll(cx));
                    // `call` is `None` only if the future is polled after completion.
                    let Some((mut parts, mut service)) = call.take() else { return Poll::Pending };
                    match this.config.release(held, report, &mut parts.headers) {
                        Release::Forward(body) => {
                            let response = service.call(Request::from_parts(parts, body));
                            // The body that the handler reads is already checked.
                            State::Responding { response, report: Report::NONE }
                        }
                        Release::Respond(response) => {
                            let is_unread = *this.is_http1 && !report.is_drained();
                            return Poll::Ready(Ok(close_if(is_unread, response)));
                        }
                    }
                }
            };
            this.state.set(responding);
        }
    }
}

/// Adds `Connection: close` if the body was not read to its end.
fn close_if<B>(is_unread: bool, mut response: Response<B>) -> Response<B> {
    if is_unread {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

impl<S, B> fmt::Debug for ValidateUtf8RequestFuture<S, B>
where
    S: Service<Request<CheckedBody<B>>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidateUtf8RequestFuture").finish_non_exhaustive()
    }
}
