//! The settings of the middleware for requests.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use tower_layer::Layer;

use super::service::ValidateUtf8Request;
use crate::http::counters::HttpCounters;
use crate::http::rejection::{MessageKind, Rejection};
use crate::http::rules::BodyRules;
use crate::tower::config::LayerConfig;

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
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response, StatusCode};
/// use http_body_util::{BodyExt, Full};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
/// use utf8_codec::tower::{CheckedBody, ValidateUtf8RequestLayer};
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
    config: Arc<LayerConfig>,
}

impl ValidateUtf8RequestLayer {
    /// Creates a layer that holds the whole body, up to 2 MiB, before the handler is called.
    pub fn new() -> Self {
        Self::streaming().with_hold_limit(HOLD)
    }

    /// Creates a layer that checks the body while the handler reads it.
    ///
    /// A handler that reads up to ill-formed text gets an error from the body. Its response is then replaced by the
    /// problem document, unless it has already responded.
    pub fn streaming() -> Self {
        let config = LayerConfig::new(MessageKind::Request, BodyRules::new());
        Self { config: Arc::new(config) }.with_drain_limit(HOLD as u64)
    }

    /// Holds the whole body, up to `limit` bytes, before the handler is called. A longer body is rejected with `413`.
    ///
    /// The limit applies to each request, so also limit the number of concurrent requests. A body reserves at most
    /// twice the memory of the bytes that have arrived.
    #[must_use]
    pub fn with_hold_limit(self, limit: usize) -> Self {
        self.with(|config| config.hold = Some(limit))
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
    pub fn with_drain_limit(self, bytes: u64) -> Self {
        self.with(|config| config.drain = bytes)
    }

    /// Sets a timer that limits how long the rest of a rejected body is awaited: until the future that `timer` returns
    /// is ready. By default the rest is not awaited, so no client can delay the response.
    ///
    /// The timer is started once for each request, after the bytes that have already arrived were read.
    ///
    /// ```
    /// use core::time::Duration;
    ///
    /// use utf8_codec::tower::ValidateUtf8RequestLayer;
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

impl Default for ValidateUtf8RequestLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ValidateUtf8RequestLayer {
    type Service = ValidateUtf8Request<S>;

    fn layer(&self, inner: S) -> ValidateUtf8Request<S> {
        ValidateUtf8Request::with_config(inner, Arc::clone(&self.config))
    }
}
