//! The response to a rejected message.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};

use super::rejection::Rejection;

/// The body of a [response](Rejection::to_response) to a rejected message: bytes in memory.
///
/// Frameworks that accept any `http_body::Body` from a handler, such as axum, accept it.
#[derive(Clone, Debug, Default)]
pub struct ProblemBody(Bytes);

impl From<ProblemBody> for Bytes {
    fn from(body: ProblemBody) -> Self {
        body.0
    }
}

impl From<Bytes> for ProblemBody {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Body for ProblemBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = core::mem::take(&mut self.0);
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

impl Rejection {
    /// Returns the response to the sender of the message, with the [status](Self::status), the [problem
    /// document](Self::problem_json) and, if needed, [`Accept-Encoding`](Self::accept_encoding).
    ///
    /// If the [`content_type`](Self::content_type) is a gRPC type, the status is `200`, there is no body, and the header
    /// fields are [`grpc_fields`](Self::grpc_fields). A client of gRPC would otherwise report the HTTP status.
    ///
    /// ```
    /// use axum::body::Bytes;
    /// use http::Response;
    /// use utf8_codec_http::{MessageKind, ProblemBody, RejectReason, Rejection};
    ///
    /// /// A handler of axum.
    /// async fn length(body: Bytes) -> Result<String, Response<ProblemBody>> {
    ///     match utf8_codec::from_utf8(&body) {
    ///         Ok(text) => Ok(text.chars().count().to_string()),
    ///         Err(error) => Err(Rejection::new(MessageKind::Request, RejectReason::Body(error)).to_response()),
    ///     }
    /// }
    /// let router: axum::Router = axum::Router::new().route("/", axum::routing::post(length));
    /// # drop(router);
    /// ```
    pub fn to_response(&self) -> Response<ProblemBody> {
        if self.is_grpc() {
            let mut response = Response::new(ProblemBody::default());
            for (name, value) in self.grpc_fields() {
                let value = HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("rejected"));
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
            return response;
        }
        let mut response = Response::new(ProblemBody(self.problem_json().into()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(codings) = self.accept_encoding() {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(codings));
        }
        response
    }
}
