//! The layer that checks responses.

use core::fmt;
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

use super::config::{Config, Start};
use crate::http::checked::CheckedBody;
use crate::http::counters::HttpCounters;
use crate::http::drain::Drain;
use crate::http::error::BoxError;
use crate::http::gather::{Gather, Interrupted};
use crate::http::refusal::{Message, Reason, Refusal};
use crate::http::rules::BodyRules;
use crate::http::watch::Watch;

/// Keeps ill-formed text of a service from its clients: [`ValidateUtf8Response`] as a layer.
///
/// | | [`new`](Self::new) | [`hold`](Self::hold) |
/// |---|---|---|
/// | the client of a bad response gets | its head and the good text before the fault, then the connection (HTTP/1.1) or the stream (HTTP/2) is cut off | `502` |
/// | memory for a body | the bytes of one character | its length, up to a limit |
/// | a body over the limit | has no limit here | `502` |
///
/// Text in another charset passes, unless the [rules](Self::rules) say otherwise: the client can read it. Replies to
/// `HEAD` and `CONNECT`, `1xx`, `204`, `206` and `304` are not looked at.
///
/// A repair makes `Content-Length`, a strong `ETag`, `Accept-Ranges` and digests untrue: they are removed. Under
/// [`ErrorPolicy::Substitute`](crate::ErrorPolicy) the length stays.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::{BodyExt, Empty, Full};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
/// use utf8_codec::{ErrorPolicy, TextDecoder};
/// use utf8_codec::http::BodyRules;
/// use utf8_codec::tower::ValidateUtf8ResponseLayer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), utf8_codec::http::BoxError> {
/// let repair = BodyRules::for_responses().decoder(TextDecoder::new().on_error(ErrorPolicy::Replace));
/// let service = ServiceBuilder::new()
///     .layer(ValidateUtf8ResponseLayer::new().rules(repair))
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
    config: Arc<Config>,
}

impl ValidateUtf8ResponseLayer {
    /// Checks bodies as they stream.
    pub fn new() -> Self {
        Self { config: Arc::new(Config::new(Message::Response, BodyRules::for_responses(), None)) }
    }

    fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(Arc::make_mut(&mut self.config));
        self
    }

    /// Takes the whole body, up to `limit` bytes, before the client gets its head. Do not use it for bodies that
    /// never end, such as `text/event-stream`: nothing of them would arrive.
    #[must_use]
    pub fn hold(self, limit: usize) -> Self {
        self.with(|config| config.hold = Some(limit))
    }

    /// Sets which bodies are checked and how. The default is [`BodyRules::for_responses`].
    #[must_use]
    pub fn rules(self, rules: BodyRules) -> Self {
        self.with(|config| config.rules = rules)
    }

    /// Checks the values of all header fields, and of trailer fields whatever the rules say of them.
    #[must_use]
    pub fn check_headers(self) -> Self {
        self.with(|config| config.fields.headers = true)
    }

    /// Counts into `counters`.
    #[must_use]
    pub fn counters(self, counters: &HttpCounters) -> Self {
        self.with(|config| config.counters = counters.clone())
    }

    /// Sets what the client gets in the place of a refused response.
    #[must_use]
    pub fn on_refusal<F>(self, respond: F) -> Self
    where
        F: Fn(&Refusal) -> Response<Bytes> + Send + Sync + 'static,
    {
        self.with(|config| config.on_refusal = Some(Arc::new(respond)))
    }
}

impl Default for ValidateUtf8ResponseLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ValidateUtf8ResponseLayer {
    type Service = ValidateUtf8Response<S>;

    fn layer(&self, inner: S) -> ValidateUtf8Response<S> {
        ValidateUtf8Response { inner, config: Arc::clone(&self.config) }
    }
}

/// A service whose responses hold well-formed text. See [`ValidateUtf8ResponseLayer`].
#[derive(Clone, Debug)]
pub struct ValidateUtf8Response<S> {
    inner: S,
    config: Arc<Config>,
}

impl<S> ValidateUtf8Response<S> {
    /// Checks what comes from `inner`, by the rules of [`ValidateUtf8ResponseLayer::new`].
    pub fn new(inner: S) -> Self {
        Self::layer().layer(inner)
    }

    /// The layer with the default rules.
    pub fn layer() -> ValidateUtf8ResponseLayer {
        ValidateUtf8ResponseLayer::new()
    }

    /// The inner service.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The inner service.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The inner service.
    pub fn into_inner(self) -> S {
        self.inner
    }
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

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let has_content = !matches!(*request.method(), Method::HEAD | Method::CONNECT);
        let state = State::Answering { answer: self.inner.call(request), has_content };
        ValidateUtf8ResponseFuture { state, config: Arc::clone(&self.config) }
    }
}

pin_project! {
    /// The future of [`ValidateUtf8Response`].
    pub struct ValidateUtf8ResponseFuture<F, B> {
        #[pin]
        state: State<F, B>,
        config: Arc<Config>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, B> {
        /// The handler runs.
        Answering { #[pin] answer: F, has_content: bool },
        /// The body is not known yet.
        Holding { body: Gather<B>, watch: Watch, parts: Parts },
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
                StateProj::Answering { answer, has_content } => {
                    let (mut parts, body) = ready!(answer.poll(cx))?.into_parts();
                    if let Err(reason) = this.config.fields.check_headers(&parts.headers) {
                        return Poll::Ready(Ok(this.config.refuse(reason, &parts.headers)));
                    }
                    if !*has_content || !is_whole(parts.status) {
                        return Poll::Ready(Ok(Response::from_parts(parts, CheckedBody::unchecked(body))));
                    }
                    match this.config.start(&mut parts.headers, body, Drain::NONE) {
                        Start::Refuse(reason, _) => {
                            return Poll::Ready(Ok(this.config.refuse(reason, &parts.headers)));
                        }
                        Start::HandOn(body, _) => {
                            return Poll::Ready(Ok(Response::from_parts(parts, body)));
                        }
                        Start::Hold(body, watch) => State::Holding { body, watch, parts },
                    }
                }
                StateProj::Holding { body, watch, parts } => {
                    let held = ready!(body.poll(cx));
                    let mut parts = core::mem::replace(parts, Response::new(()).into_parts().0);
                    return Poll::Ready(Ok(match held {
                        Ok(gathered) => {
                            let body = Config::release(&mut parts.headers, gathered);
                            Response::from_parts(parts, body)
                        }
                        Err(Interrupted::TooLong) => {
                            let limit = this.config.hold.unwrap_or_default();
                            this.config.refuse(Reason::TooLong { limit }, &parts.headers)
                        }
                        Err(Interrupted::Body(error)) => match watch.refusal() {
                            Some(refusal) => this.config.answer(refusal),
                            None => Response::from_parts(parts, CheckedBody::failed(error)),
                        },
                    }));
                }
            };
            this.state.set(holding);
        }
    }
}

/// Whether a response of this status has a content that starts at its start.
fn is_whole(status: StatusCode) -> bool {
    !status.is_informational()
        && !matches!(status, StatusCode::NO_CONTENT | StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED)
}

impl<F, B> fmt::Debug for ValidateUtf8ResponseFuture<F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidateUtf8ResponseFuture").finish_non_exhaustive()
    }
}
