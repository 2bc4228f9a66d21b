//! A response that is checked.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use http::response::Parts;
use http::{Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;

use crate::http::error::BoxError;
use crate::tower::body::CheckedBody;
use crate::tower::config::{LayerConfig, Release, Start};
use crate::tower::drain::Drain;
use crate::tower::gather::Gather;
use crate::tower::report::Report;

pin_project! {
    /// The future of [`ValidateUtf8Response`](super::ValidateUtf8Response).
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
    pub(super) const fn new(response: F, content: Content, path: Box<str>, config: Arc<LayerConfig>) -> Self {
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
                    if let Err(reason) = this.config.fields.check_headers(&parts.headers) {
                        return Poll::Ready(Ok(this.config.reject(reason, &parts.headers)));
                    }
                    if *content != Content::Body || !is_whole(parts.status) {
                        let is_described = match *content {
                            Content::Body => parts.status == StatusCode::NOT_MODIFIED,
                            Content::Nothing => {
                                is_whole(parts.status) || parts.status == StatusCode::NOT_MODIFIED
                            }
                            Content::Tunnel => false,
                        };
                        if is_described {
                            this.config.describe(&mut parts.headers, path);
                        }
                        return Poll::Ready(Ok(Response::from_parts(parts, CheckedBody::unchecked(body))));
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
pub(super) enum Content {
    Body,
    /// Nothing, but the header fields are those of a response with a body.
    Nothing,
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
