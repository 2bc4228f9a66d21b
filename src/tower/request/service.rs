//! The middleware for requests.

use core::task::{Context, Poll};
use std::sync::Arc;

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::future::ValidateUtf8RequestFuture;
use crate::http::error::BoxError;
use crate::tower::body::CheckedBody;
use crate::tower::config::LayerConfig;

/// A service that forwards only requests with well-formed text. See
/// [`ValidateUtf8RequestLayer`](super::ValidateUtf8RequestLayer).
#[derive(Clone, Debug)]
pub struct ValidateUtf8Request<S> {
    inner: S,
    config: Arc<LayerConfig>,
}

impl<S> ValidateUtf8Request<S> {
    pub(super) const fn with_config(inner: S, config: Arc<LayerConfig>) -> Self {
        Self { inner, config }
    }

    inner_accessors!(inner: S, "inner service");
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
