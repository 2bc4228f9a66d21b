//! The body that a layer forwards.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::drain::{Drain, DrainingBody, Report};
use crate::body::Utf8Body;
use crate::error::{BoxError, of_inner};

pin_project! {
    /// The body that a layer forwards: unchecked, checked while it streams, or already checked.
    ///
    /// Its data is `Bytes` for any inner body. Its errors are the same as for [`Utf8Body`].
    pub struct CheckedBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<B> {
        Unchecked { #[pin] inner: B, has_length: bool },
        // Boxed, because it is moved often: between services, and into frameworks that box it.
        Streaming { body: Pin<Box<DrainingBody<B>>> },
        Held { data: Option<Bytes>, trailers: Option<Box<HeaderMap>> },
        Failed { error: Option<BoxError> },
    }
}

impl<B> CheckedBody<B> {
    pub(crate) const fn unchecked(inner: B) -> Self {
        Self { kind: Kind::Unchecked { inner, has_length: true } }
    }

    /// Creates the body of a response of which only the header fields are sent. `has_length` is whether the checked body
    /// would have the same length: servers set `Content-Length` from the size hint.
    pub(crate) const fn described(inner: B, has_length: bool) -> Self {
        Self { kind: Kind::Unchecked { inner, has_length } }
    }

    pub(crate) fn streaming(body: Utf8Body<B>, drain: Drain, report: Report) -> Self {
        Self { kind: Kind::Streaming { body: Box::pin(DrainingBody::new(body, drain, report)) } }
    }

    /// Creates a complete body.
    pub(crate) fn held(data: Bytes, trailers: Option<Box<HeaderMap>>) -> Self {
        Self { kind: Kind::Held { data: (!data.is_empty()).then_some(data), trailers } }
    }

    /// Creates a body whose inner body failed while it was held.
    pub(crate) const fn failed(error: BoxError) -> Self {
        Self { kind: Kind::Failed { error: Some(error) } }
    }
}

/// Creates an empty body, for layers that respond themselves: those for timeouts, authorization and CORS.
impl<B> Default for CheckedBody<B> {
    fn default() -> Self {
        Self::held(Bytes::new(), None)
    }
}

/// Creates an unchecked body, for tests of services that accept a `CheckedBody`.
impl<B> From<Bytes> for CheckedBody<B> {
    fn from(data: Bytes) -> Self {
        Self::held(data, None)
    }
}

impl<B> Body for CheckedBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().kind.project() {
            KindProj::Unchecked { inner, .. } => Poll::Ready(ready!(inner.poll_frame(cx)).map(|frame| {
                let frame = frame.map_err(of_inner)?;
                Ok(frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))
            })),
            KindProj::Streaming { body } => body.as_mut().poll_frame(cx),
            KindProj::Held { data, trailers } => {
                let data = data.take().map(Frame::data);
                let frame = data.or_else(|| trailers.take().map(|trailers| Frame::trailers(*trailers)));
                Poll::Ready(frame.map(Ok))
            }
            KindProj::Failed { error } => Poll::Ready(error.take().map(Err)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Unchecked { inner, .. } => inner.is_end_stream(),
            Kind::Streaming { body } => body.is_end_stream(),
            Kind::Held { data, trailers } => data.is_none() && trailers.is_none(),
            Kind::Failed { error } => error.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Unchecked { inner, has_length: true } => inner.size_hint(),
            Kind::Unchecked { has_length: false, .. } => SizeHint::new(),
            Kind::Streaming { body } => body.size_hint(),
            Kind::Held { data, .. } => {
                SizeHint::with_exact(data.as_ref().map_or(0, |data| data.len() as u64))
            }
            Kind::Failed { .. } => SizeHint::new(),
        }
    }
}

impl<B> fmt::Debug for CheckedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            Kind::Unchecked { .. } => "Unchecked",
            Kind::Streaming { .. } => "Streaming",
            Kind::Held { .. } => "Held",
            Kind::Failed { .. } => "Failed",
        };
        f.debug_tuple("CheckedBody").field(&format_args!("{kind}")).finish()
    }
}
