//! The layer that checks requests.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT, HeaderValue};
use http::request::Parts;
use http::{Request, Response, Version};
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

/// Bytes of a request that are held by default: what axum's extractors take by default, too.
const HOLD: usize = 2 * 1024 * 1024;

/// Refuses requests whose text is ill-formed, before their handler runs: [`ValidateUtf8Request`] as a layer.
///
/// | | [`new`](Self::new) | [`streaming`](Self::streaming) |
/// |---|---|---|
/// | the handler runs | when the whole body is good | at once |
/// | it has seen of a bad body | nothing | all the good text before the fault |
/// | memory for a body | its length, up to a limit | the bytes of one character |
/// | the client of a bad body gets | the refusal | the refusal, unless the handler has answered before |
/// | a body over the limit | `413` | has no limit here |
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response, StatusCode};
/// use http_body_util::{BodyExt, Full};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
/// use utf8_codec::http::CheckedBody;
/// use utf8_codec::tower::ValidateUtf8RequestLayer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let service = ServiceBuilder::new()
///     .layer(ValidateUtf8RequestLayer::new())
///     .service(service_fn(async |request: Request<CheckedBody<Full<Bytes>>>| {
///         let text = request.into_body().collect().await?.to_bytes();
///         Ok::<_, utf8_codec::http::BoxError>(Response::new(Full::<Bytes>::from(text)))
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
    config: Arc<Config>,
}

impl ValidateUtf8RequestLayer {
    /// Takes the whole body, up to 2 MiB, before the handler runs.
    pub fn new() -> Self {
        Self::streaming().hold(HOLD)
    }

    /// Checks the body while the handler reads it.
    ///
    /// A handler that meets ill-formed text gets an error from the body. Whatever it answers then is replaced by the
    /// refusal. Only if it answered before the fault came, the answer stands.
    pub fn streaming() -> Self {
        let config = Config::new(Message::Request, BodyRules::new(), None);
        Self { config: Arc::new(config) }.drain(HOLD as u64)
    }

    fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(Arc::make_mut(&mut self.config));
        self
    }

    /// Takes the whole body, up to `limit` bytes, before the handler runs. A longer body is refused with `413`.
    ///
    /// The limit is for one request: a client that sends many at once, each a little shorter, fills their number
    /// times the limit. Limit the requests in flight too.
    #[must_use]
    pub fn hold(self, limit: usize) -> Self {
        self.with(|config| config.hold = Some(limit))
    }

    /// Sets how many bytes of the rest of a rejected HTTP/1 body are read and dropped before the response; by default
    /// 2 MiB.
    ///
    /// A server that closes a connection with unread bytes resets it, and a client that is still sending may lose the
    /// response. So what has arrived is read first. What has not arrived is awaited if there is a
    /// [timer](Self::drain_timer), unless it is announced to be longer than this. Where the body is not read to its end,
    /// the response has `Connection: close`. With `drain(0)` nothing is read: for peers that wait for a response while
    /// they send. In HTTP/2 nothing ever is, because a stream ends by itself.
    #[must_use]
    pub fn drain(self, bytes: u64) -> Self {
        self.with(|config| config.drain = bytes)
    }

    /// Sets how long the rest of a rejected body is awaited: until the future that `timer` returns is ready. By default
    /// it is not awaited, so that no client can delay the response.
    ///
    /// The time counts from the moment when nothing more has arrived, once for each request.
    ///
    /// ```
    /// use core::time::Duration;
    ///
    /// use utf8_codec::tower::ValidateUtf8RequestLayer;
    ///
    /// let layer = ValidateUtf8RequestLayer::new().drain_timer(|| tokio::time::sleep(Duration::from_secs(2)));
    /// # drop(layer);
    /// ```
    #[must_use]
    pub fn drain_timer<F, T>(self, timer: F) -> Self
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + Sync + 'static,
    {
        self.with(|config| config.drain_timer = Some(Arc::new(move || Box::pin(timer()))))
    }

    /// Sets which bodies are checked and how.
    #[must_use]
    pub fn rules(self, rules: BodyRules) -> Self {
        self.with(|config| config.rules = rules)
    }

    /// Checks the values of all header fields, and of trailer fields whatever the rules say of them.
    #[must_use]
    pub fn check_headers(self) -> Self {
        self.with(|config| config.fields.headers = true)
    }

    /// Checks the percent-decoded path.
    #[must_use]
    pub fn check_path(self) -> Self {
        self.with(|config| config.fields.path = true)
    }

    /// Checks the percent-decoded query.
    #[must_use]
    pub fn check_query(self) -> Self {
        self.with(|config| config.fields.query = true)
    }

    /// Counts into `counters`.
    #[must_use]
    pub fn counters(self, counters: &HttpCounters) -> Self {
        self.with(|config| config.counters = counters.clone())
    }

    /// Sets what the client of a refused request gets, in the place of [`Refusal::to_response`].
    #[must_use]
    pub fn on_refusal<F>(self, respond: F) -> Self
    where
        F: Fn(&Refusal) -> Response<Bytes> + Send + Sync + 'static,
    {
        self.with(|config| config.on_refusal = Some(Arc::new(respond)))
    }
}

impl Default for ValidateUtf8RequestLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ValidateUtf8RequestLayer {
    type Service = ValidateUtf8Request<S>;

    fn layer(&self, inner: S) -> ValidateUtf8Request<S> {
        ValidateUtf8Request { inner, config: Arc::clone(&self.config) }
    }
}

/// A service that hands on requests whose text is well-formed. See [`ValidateUtf8RequestLayer`].
#[derive(Clone, Debug)]
pub struct ValidateUtf8Request<S> {
    inner: S,
    config: Arc<Config>,
}

impl<S> ValidateUtf8Request<S> {
    /// Checks what goes to `inner`, by the rules of [`ValidateUtf8RequestLayer::new`].
    pub fn new(inner: S) -> Self {
        Self::layer().layer(inner)
    }

    /// The layer with the default rules.
    pub fn layer() -> ValidateUtf8RequestLayer {
        ValidateUtf8RequestLayer::new()
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
        let config = Arc::clone(&self.config);
        let (mut parts, body) = request.into_parts();
        let is_http1 = parts.version < Version::HTTP_2;
        let drain =
            || if is_http1 { Drain::new(config.drain, config.drain_timer.clone()) } else { Drain::NONE };
        let refused = |reason, parts: Parts, body| {
            // A client that expects `100-continue` has not sent anything yet.
            let drain = if parts.headers.contains_key(EXPECT) { Drain::NONE } else { drain() };
            State::Refused { reason, parts, body, drain }
        };
        if let Err(reason) = config.fields.check_request(&parts) {
            return ValidateUtf8RequestFuture { state: refused(reason, parts, body), is_http1, config };
        }
        let state = match config.start(&mut parts.headers, body, drain()) {
            Start::Refuse(reason, body) => refused(reason, parts, body),
            Start::HandOn(body, watch) => {
                State::Answering { answer: self.inner.call(Request::from_parts(parts, body)), watch }
            }
            Start::Hold(body, watch) => {
                // The service that is ready is the one that is called.
                let clone = self.inner.clone();
                let service = core::mem::replace(&mut self.inner, clone);
                State::Holding { body, watch, call: Some((parts, service)) }
            }
        };
        ValidateUtf8RequestFuture { state, is_http1, config }
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
        config: Arc<Config>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, B, F> {
        /// The body is not known yet.
        Holding { body: Gather<B>, watch: Watch, call: Option<(Parts, S)> },
        /// The handler runs.
        Answering { #[pin] answer: F, watch: Watch },
        /// Nobody is called.
        Refused { reason: Reason, parts: Parts, #[pin] body: B, drain: Drain },
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
            let answering = match this.state.as_mut().project() {
                StateProj::Answering { answer, watch } => {
                    let response = ready!(answer.poll(cx))?;
                    return Poll::Ready(Ok(match watch.refusal() {
                        Some(refusal) => {
                            closing(this.config.answer(refusal), *this.is_http1 && !watch.is_drained())
                        }
                        None => response.map(CheckedBody::unchecked),
                    }));
                }
                StateProj::Refused { reason, parts, body, drain } => {
                    let has_ended = ready!(drain.poll(body, cx));
                    let response = this.config.refuse(reason.clone(), &parts.headers);
                    return Poll::Ready(Ok(closing(response, *this.is_http1 && !has_ended)));
                }
                StateProj::Holding { body, watch, call } => {
                    let held = ready!(body.poll(cx));
                    // It is there until the body has ended, after which nobody asks.
                    let Some((mut parts, mut service)) = call.take() else { return Poll::Pending };
                    let body = match held {
                        Ok(gathered) => Config::release(&mut parts.headers, gathered),
                        Err(Interrupted::TooLong) => {
                            let limit = this.config.hold.unwrap_or_default();
                            let response = this.config.refuse(Reason::TooLong { limit }, &parts.headers);
                            let is_unread = *this.is_http1 && !watch.is_drained();
                            return Poll::Ready(Ok(closing(response, is_unread)));
                        }
                        Err(Interrupted::Body(error)) => match watch.refusal() {
                            Some(refusal) => {
                                let response = this.config.answer(refusal);
                                let is_unread = *this.is_http1 && !watch.is_drained();
                                return Poll::Ready(Ok(closing(response, is_unread)));
                            }
                            None => CheckedBody::failed(error),
                        },
                    };
                    // Whatever comes of the handler, the body is known.
                    let answer = service.call(Request::from_parts(parts, body));
                    State::Answering { answer, watch: Watch::none() }
                }
            };
            this.state.set(answering);
        }
    }
}

/// Says that the connection ends after this response, if it does: an unread body is in the way of the next request.
fn closing<B>(mut response: Response<B>, is_unread: bool) -> Response<B> {
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
