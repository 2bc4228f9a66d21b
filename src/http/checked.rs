//! The body that a layer hands on.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::body::Utf8Body;
use super::error::{BoxError, Utf8BodyError};
use super::fields::check_values;
use super::watch::Watch;

pin_project! {
    /// The body that a layer hands on: as it came, checked as it streams, or checked before.
    ///
    /// Its data are `Bytes` whatever the inner body has. Its error is [`Utf8BodyError`], in which an error of the
    /// inner body is [`Utf8BodyError::Inner`].
    pub struct CheckedBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<B> {
        Unchecked { #[pin] inner: B, trailers: Option<Watch> },
        // In a box: what is handed on moves often, from service to service, into frameworks that box it.
        Streaming { body: Pin<Box<Utf8Body<B>>> },
        Held { data: Option<Bytes>, trailers: Option<Box<HeaderMap>> },
        Failed { error: Option<Utf8BodyError> },
    }
}

impl<B> CheckedBody<B> {
    pub(crate) const fn unchecked(inner: B) -> Self {
        Self { kind: Kind::Unchecked { inner, trailers: None } }
    }

    /// A body of which nothing but the trailer fields is checked.
    pub(crate) const fn only_trailers(inner: B, watch: Watch) -> Self {
        Self { kind: Kind::Unchecked { inner, trailers: Some(watch) } }
    }

    pub(crate) const fn streaming(body: Pin<Box<Utf8Body<B>>>) -> Self {
        Self { kind: Kind::Streaming { body } }
    }

    /// A body that is known as a whole.
    pub(crate) fn held(data: Bytes, trailers: Option<Box<HeaderMap>>) -> Self {
        Self { kind: Kind::Held { data: (!data.is_empty()).then_some(data), trailers } }
    }

    /// A body whose inner body failed before anything of it was handed on.
    pub(crate) const fn failed(error: Utf8BodyError) -> Self {
        Self { kind: Kind::Failed { error: Some(error) } }
    }
}

impl<B> Body for CheckedBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = Utf8BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Utf8BodyError>>> {
        let mut this = self.project();
        match this.kind.as_mut().project() {
            KindProj::Unchecked { inner, trailers } => {
                let frame = ready!(inner.poll_frame(cx));
                if let (Some(watch), Some(Ok(frame))) = (trailers, &frame)
                    && let Some(fields) = frame.trailers_ref()
                    && let Err((name, error)) = check_values(fields)
                {
                    let error = Utf8BodyError::Trailer { name, error };
                    watch.refuse(&error);
                    // Nothing comes after trailers.
                    watch.drained(true);
                    this.kind.set(Kind::Failed { error: None });
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(frame.map(|frame| {
                    let to_bytes = |mut data: B::Data| data.copy_to_bytes(data.remaining());
                    frame.map(|frame| frame.map_data(to_bytes)).map_err(Utf8BodyError::inner)
                }))
            }
            KindProj::Streaming { body } => body.as_mut().poll_frame(cx),
            KindProj::Held { data, trailers } => {
                let trailers = || trailers.take().map(|trailers| Frame::trailers(*trailers));
                Poll::Ready(data.take().map(Frame::data).or_else(trailers).map(Ok))
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
            Kind::Unchecked { inner, .. } => inner.size_hint(),
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
