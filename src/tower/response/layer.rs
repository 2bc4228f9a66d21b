//! The settings of the middleware for responses.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use tower_layer::Layer;

use super::service::ValidateUtf8Response;
use crate::http::counters::HttpCounters;
use crate::http::rejection::{MessageKind, Rejection};
use crate::http::rules::BodyRules;
use crate::tower::config::LayerConfig;

/// A layer that truncates or replaces responses with ill-formed text. Its service is [`ValidateUtf8Response`].
///
/// | | [`new`](Self::new) | [`with_hold_limit`](Self::with_hold_limit) |
/// |---|---|---|
/// | what the client receives of an ill-formed response | the head and the well-formed text before the error, if the server has sent them by then; then the connection (HTTP/1.1) is closed or the stream (HTTP/2) is reset | `502` |
/// | memory for a body | the bytes of one character | the bytes that have arrived, up to a limit |
/// | a body over the limit | no limit | `502` |
///
/// Text in another charset passes by default, because the client can read it. The [rules](Self::with_rules) can change
/// that. The bodies of responses to `HEAD` and `CONNECT`, and of `1xx`, `204`, `206` and `304`, are not checked.
///
/// A policy that repairs invalidates `Content-Length`, a strong `ETag`, `Accept-Ranges` and digests, so these fields
/// are removed, also from responses to `HEAD` and from `304`. Under [`ErrorPolicy::Substitute`](crate::ErrorPolicy) the
/// length does not change and is kept.
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

    /// Holds the whole body, up to `limit` bytes, before the head is sent. Do not use it for bodies that never end,
    /// such as `text/event-stream`, because the client would receive nothing.
    #[must_use]
    pub fn with_hold_limit(self, limit: usize) -> Self {
        self.with(|config| config.hold = Some(limit))
    }

    shared_settings! {
        layer: "ValidateUtf8ResponseLayer",
        rules: "The default is [`BodyRules::for_responses`].",
        on_rejection: "Sets the replacement for a rejected response, instead of [`Rejection::to_response`]."
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
        ValidateUtf8Response::with_config(inner, Arc::clone(&self.config))
    }
}
