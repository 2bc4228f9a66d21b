//! The middleware for responses.

use core::task::{Context, Poll};
use std::sync::Arc;

use http::{Method, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::future::{Content, ValidateUtf8ResponseFuture};
use crate::http::error::BoxError;
use crate::tower::body::CheckedBody;
use crate::tower::config::LayerConfig;

/// A service that returns only responses with well-formed text. See
/// [`ValidateUtf8ResponseLayer`](super::ValidateUtf8ResponseLayer).
#[derive(Clone, Debug)]
pub struct ValidateUtf8Response<S> {
    inner: S,
    config: Arc<LayerConfig>,
}

impl<S> ValidateUtf8Response<S> {
    pub(super) const fn with_config(inner: S, config: Arc<LayerConfig>) -> Self {
        Self { inner, config }
    }

    inner_accessors!(inner: S, "inner service");
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
        let content = match *request.method() {
            Method::HEAD => Content::Nothing,
            Method::CONNECT => Content::Tunnel,
            _ => Content::Body,
        };
        let path = if self.config.rules.has_paths() { request.uri().path() } else { "" }.into();
        ValidateUtf8ResponseFuture::new(self.inner.call(request), content, path, Arc::clone(&self.config))
    }
}
