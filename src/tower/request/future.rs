//! The response to a request that is checked.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use http::header::{CONNECTION, EXPECT, HeaderValue};
use http::request::Parts;
use http::{Request, Response, Version};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::http::error::BoxError;
use crate::http::rejection::Reason;
use crate::tower::body::CheckedBody;
use crate::tower::config::{LayerConfig, Release, Start};
use crate::tower::drain::Drain;
use crate::tower::gather::Gather;
use crate::tower::report::Report;

pin_project! {
    /// The future of [`ValidateUtf8Request`](super::ValidateUtf8Request).
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
        Rejected { reason: Reason, parts: Parts, #[pin] body: B, drain: Drain },
    }
}

impl<S, B> ValidateUtf8RequestFuture<S, B>
where
    S: Service<Request<CheckedBody<B>>> + Clone,
    B: Body,
    B::Error: Into<BoxError>,
{
    pub(super) fn new(request: Request<B>, service: &mut S, config: Arc<LayerConfig>) -> Self {
        let (mut parts, body) = request.into_parts();
        let is_http1 = parts.version < Version::HTTP_2;
        let drain =
            || if is_http1 { Drain::new(config.drain, config.drain_timer.clone()) } else { Drain::NONE };
        let rejected = |reason, parts: Parts, body| {
            // A client that expects `100-continue` has not sent any of the body yet.
            let drain = if parts.headers.contains_key(EXPECT) { Drain::NONE } else { drain() };
            State::Rejected { reason, parts, body, drain }
        };
        let start = match config.fields.check_request(&parts) {
            Ok(()) => config.start(&mut parts.headers, parts.uri.path(), body, drain()),
            Err(reason) => Start::Reject(reason, body),
        };
        let state = match start {
            Start::Reject(reason, body) => rejected(reason, parts, body),
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
                    let response = ready!(response.poll(cx))?;
                    return Poll::Ready(Ok(match report.rejection() {
                        Some(rejection) => {
                            let is_unread = *this.is_http1 && !report.is_drained();
                            close_if(is_unread, this.config.response(rejection))
                        }
                        None => response.map(CheckedBody::unchecked),
                    }));
                }
                StateProj::Rejected { reason, parts, body, drain } => {
                    let has_ended = ready!(drain.poll(body, cx));
                    let response = this.config.reject(reason.clone(), &parts.headers);
                    return Poll::Ready(Ok(close_if(*this.is_http1 && !has_ended, response)));
                }
                StateProj::Holding { body, report, call } => {
                    let held = ready!(body.poll(cx));
                    // The body completes only once.
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
