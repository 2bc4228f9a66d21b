//! A body whose text is checked while it streams.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http::header::{CONTENT_TYPE, EXPECT};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use utf8_codec::TextDecoder;
use utf8_codec::internal::Budget;
use utf8_codec_media::content_type::is_length_prefixed_value;

use super::counters::{BodyObserver, HttpCounters};
use super::error::{BoxError, MultipartError, of_inner};
use super::fields::{ContentFields, check_end};
use super::filter::BodyFilter;
use super::plan::{BodyPlan, Change, remove_invalidated};
use super::reason::RejectReason;
use super::rejection::{MessageKind, Rejection};
use super::rules::BodyRules;

pin_project! {
    /// A [`Body`] that returns checked text in whole characters.
    ///
    /// It wraps any body with `Data: Buf`. The frames of a `Bytes` body are returned unchanged or as slices; only a
    /// character whose bytes are in two frames is copied. An unfinished character, at most 3 bytes, is kept until the
    /// next frame. In a form, an unfinished escape, delimiter or part header and the last character are also kept.
    ///
    /// If the body ends inside a character, the error is returned directly after the text of the last frame, without
    /// another poll of the inner body. The last frame is detected by `is_end_stream` or an exact `size_hint` of 0. A
    /// server that counts to `Content-Length` would not poll again. Trailers are returned only if there was no error.
    /// After an error or the end the body returns `None`.
    ///
    /// Under a policy that repairs (see [`with_decoder`](Self::with_decoder)) the length of the body may change.
    /// `Content-Length`, a strong `ETag` and digests may then be wrong. [`BodyRules::apply`] and the layers remove
    /// these header fields. `Utf8Body` removes them from its trailers if the body was changed.
    ///
    /// # Errors
    ///
    /// Returns [`RejectReason::Body`] with the offset in the body, or another kind of [`RejectReason`]. All
    /// well-formed text before the error is returned first. An error of the inner body is returned as it is, or as the
    /// `LengthLimitError` of http-body-util that it contains, so that a framework finds it: axum responds with `413`.
    /// [`RejectReason::find`] and a downcast tell them apart.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: all state is in the body, and no frame is lost if the future of a frame is dropped.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::{BodyExt, Full};
    /// use utf8_codec::ErrorKind;
    /// use utf8_codec_http::{Utf8Body, RejectReason};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let good = Utf8Body::new(Full::<Bytes>::from("naïve"));
    /// assert_eq!(good.collect().await.unwrap().to_bytes(), "naïve");
    ///
    /// let bad = Utf8Body::new(Full::<Bytes>::from(&b"na\xC3"[..]));
    /// let error = bad.collect().await.unwrap_err();
    /// let error = RejectReason::find(&*error).and_then(RejectReason::utf8_error).unwrap();
    /// assert_eq!((error.offset, error.kind, error.len), (2, ErrorKind::Truncated, 1));
    /// # }
    /// ```
    pub struct Utf8Body<B> {
        #[pin]
        inner: B,
        filter: BodyFilter,
        state: State,
        observer: BodyObserver,
        check_trailers: bool,
    }
}

/// The progress in the inner body.
#[derive(Debug)]
enum State {
    /// More data may follow.
    Data,
    /// The data has ended.
    After(Rest),
    /// The body has ended.
    Done,
}

/// The frames after the data of the inner body.
#[derive(Debug)]
enum Rest {
    /// Trailers or nothing. The next frame has not been polled yet.
    Unknown,
    // Boxed, because few bodies have trailers, and an unboxed map would make every body larger.
    Trailers(Box<HeaderMap>),
    Nothing,
}

impl<B> Utf8Body<B> {
    /// Wraps `inner` in a strict check that keeps the BOM.
    pub const fn new(inner: B) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Wraps `inner` with the policies of a decoder.
    pub const fn with_decoder(inner: B, decoder: TextDecoder) -> Self {
        Self::with_filter(inner, BodyFilter::with_decoder(decoder))
    }

    /// Wraps a `multipart/form-data` body (RFC 7578) and checks its text fields. Files pass without a check.
    ///
    /// `boundary` is the parameter of the `Content-Type`. The rules determine which fields are text, and the policy for
    /// ill-formed text.
    ///
    /// A form without its closing delimiter ends with [`MultipartError::Unterminated`]. Its last character, in a file its
    /// last byte, is not returned, so a reader that counts to `Content-Length` does not miss the error.
    ///
    /// # Errors
    ///
    /// Returns [`MultipartError::Boundary`] if the grammar of RFC 2046 §5.1.1 does not allow the boundary.
    pub fn form_data(inner: B, boundary: &[u8], rules: &BodyRules) -> Result<Self, MultipartError> {
        Ok(Self::with_filter(inner, BodyFilter::form_data(boundary, rules)?))
    }

    /// Wraps `inner` with a new filter.
    pub const fn with_filter(inner: B, filter: BodyFilter) -> Self {
        Self { inner, filter, state: State::Data, observer: BodyObserver::NONE, check_trailers: false }
    }

    /// Sets the counters. They count this body, its bytes, its repaired sequences and its error.
    #[must_use]
    pub fn with_counters(self, counters: &HttpCounters) -> Self {
        self.observed(BodyObserver::new(counters.clone()))
    }

    /// Sets whether the values of trailer fields are checked; by default they are not.
    #[must_use]
    pub fn with_trailer_check(self, check: bool) -> Self {
        Self { check_trailers: check, ..self }
    }

    pub(crate) fn observed(self, observer: BodyObserver) -> Self {
        if !self.filter.is_passing() {
            observer.started();
        }
        Self { observer, ..self }
    }

    utf8_codec::inner_accessors!(
        inner: B,
        "inner body",
        "Bytes that are read from it directly are neither checked nor counted.",
        "Pending bytes are discarded."
    );

    /// Returns the inner body, pinned. Bytes that are read from it directly are neither checked nor counted.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut B> {
        self.project().inner
    }

    /// Returns the number of bytes read from the inner body so far.
    pub const fn offset(&self) -> u64 {
        self.filter.offset()
    }

    /// Returns the number of ill-formed sequences that were repaired so far.
    pub fn repaired(&self) -> u64 {
        self.filter.repaired()
    }

    /// Whether the data of this body differs from the data of the inner body. Always `true` for a transcoded body. Only
    /// valid after the end.
    pub fn has_changed(&self) -> bool {
        self.filter.has_changed()
    }

    #[cfg(feature = "tower")]
    pub(crate) const fn filter(&self) -> &BodyFilter {
        &self.filter
    }
}

impl<B> Body for Utf8Body<B>
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
        let mut this = self.project();
        let mut budget = Budget::new();
        let mut read = None;
        loop {
            if matches!(this.state, State::Done) {
                return Poll::Ready(None);
            }
            let next = this.filter.next();
            if !matches!(next, Some(Ok(_))) {
                this.observer.repaired(this.filter.repaired());
            }
            match next {
                Some(Ok(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Some(Err(error)) => {
                    *this.state = State::Done;
                    this.observer.failed(&error);
                    return Poll::Ready(Some(Err(error.into())));
                }
                None => {}
            }
            if let State::After(Rest::Trailers(_) | Rest::Nothing) = this.state {
                let State::After(Rest::Trailers(mut trailers)) = mem::replace(this.state, State::Done) else {
                    return Poll::Ready(None);
                };
                if *this.check_trailers {
                    match check_end(&mut trailers) {
                        Ok(removed) => this.observer.repaired(this.filter.repaired() + removed),
                        Err((name, error)) => {
                            let error = RejectReason::Trailer(name, error);
                            this.observer.failed(&error);
                            return Poll::Ready(Some(Err(error.into())));
                        }
                    }
                }
                if this.filter.has_changed() {
                    remove_invalidated(&mut trailers, Change::Length);
                }
                return Poll::Ready(Some(Ok(Frame::trailers(*trailers))));
            }
            // Under `ErrorPolicy::Skip` and in empty frames an unlimited amount of input may have no text.
            if let Some(bytes) = read.take() {
                ready!(budget.spend(bytes, cx));
            }
            let rest = match ready!(this.inner.as_mut().poll_frame(cx)) {
                None => Rest::Nothing,
                Some(Err(error)) => {
                    *this.state = State::Done;
                    return Poll::Ready(Some(Err(of_inner(error))));
                }
                Some(Ok(frame)) => match frame.into_data().map_err(Frame::into_trailers) {
                    Ok(data) => {
                        if !this.filter.is_passing() {
                            this.observer.received(data.remaining() as u64);
                        }
                        read = Some(data.remaining());
                        feed(this.filter, data);
                        // A reader that counts to `Content-Length` may not poll again, so the end is processed now.
                        let is_last = this.inner.is_end_stream() || this.inner.size_hint().exact() == Some(0);
                        *this.state = State::Data;
                        if !is_last {
                            continue;
                        }
                        Rest::Unknown
                    }
                    Err(Ok(trailers)) => Rest::Trailers(Box::new(trailers)),
                    // An unknown type of frame is skipped.
                    Err(Err(_)) => continue,
                },
            };
            if matches!(this.state, State::Data) {
                this.filter.finish();
            }
            *this.state = State::After(rest);
        }
    }

    fn is_end_stream(&self) -> bool {
        match self.state {
            State::Done => true,
            State::After(Rest::Nothing) => self.filter.is_done(),
            State::Data | State::After(Rest::Unknown) => self.filter.is_done() && self.inner.is_end_stream(),
            State::After(Rest::Trailers(_)) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let coming = match self.state {
            State::Done => return SizeHint::with_exact(0),
            State::Data | State::After(Rest::Unknown) => self.inner.size_hint(),
            State::After(_) => SizeHint::with_exact(0),
        };
        let (min, max) = self.filter.bounds(coming.lower(), coming.upper());
        let mut hint = SizeHint::new();
        hint.set_lower(min);
        if let Some(max) = max {
            hint.set_upper(max);
        }
        hint
    }
}

/// Feeds the chunks of a frame to the filter. `Bytes` are not copied.
fn feed(filter: &mut BodyFilter, mut data: impl Buf) {
    while !data.chunk().is_empty() {
        filter.push(data.copy_to_bytes(data.chunk().len()));
    }
}

impl<B> fmt::Debug for Utf8Body<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The inner body is left out, because its `Debug` may print its bytes.
        f.debug_struct("Utf8Body").field("offset", &self.offset()).finish_non_exhaustive()
    }
}

impl BodyRules {
    /// Wraps the body of a message in the check that the rules require, and updates the header fields. The layers do
    /// the same with a body that streams. Use this method in programs without tower.
    ///
    /// If the check may change the body, because it repairs, transcodes or removes a BOM, the header fields that the
    /// change would invalidate are removed: `Content-Length`, a strong `ETag`, `Accept-Ranges` and digests. A body that
    /// needs no check is passed through as the same type, and so is one that is known to be empty. Do not apply the rules
    /// to the tunnel of a `CONNECT`.
    ///
    /// # Errors
    ///
    /// Returns the reason to reject the message for its header fields. Errors in the body are returned by the body. If
    /// the length of the body is not announced, it may be empty, and an empty one passes: then the body returns the
    /// reason at its first byte. Messages of gRPC and Connect streams and those with `Expect` are never empty.
    ///
    /// ```
    /// use http_body_util::Full;
    /// use utf8_codec_http::{BodyRules, MessageKind};
    ///
    /// let request = http::Request::post("/").header("content-type", "text/plain; charset=latin1");
    /// let (mut parts, body) = request.body(Full::<bytes::Bytes>::from("caf")).unwrap().into_parts();
    /// let rejection = BodyRules::new().apply(MessageKind::Request, &mut parts.headers, body).unwrap_err();
    /// assert_eq!(rejection.status(), http::StatusCode::UNSUPPORTED_MEDIA_TYPE);
    /// ```
    ///
    /// An error in the body is found by [`Rejection::from_error`](crate::Rejection::from_error), however it is wrapped:
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use http_body_util::{BodyExt, Full};
    /// use utf8_codec_http::{BodyRules, MessageKind, Rejection};
    ///
    /// let request = http::Request::post("/").header("content-type", "application/json");
    /// let request = request.body(Full::<bytes::Bytes>::from(&b"\"caf\xE9\""[..])).unwrap();
    /// let (mut head, body) = request.into_parts();
    /// let body = BodyRules::new().apply(MessageKind::Request, &mut head.headers, body).unwrap();
    /// let error = body.collect().await.unwrap_err();
    /// let response = Rejection::from_error(&*error).expect("the text is ill-formed").to_response();
    /// assert_eq!(response.status(), http::StatusCode::BAD_REQUEST);
    /// let problem = response.into_body().collect().await.unwrap().to_bytes();
    /// assert!(problem.ends_with(br#""kind":"MissingContinuation","offset":4,"len":1}"#));
    /// # });
    /// ```
    pub fn apply<B: Body>(
        &self,
        message: MessageKind,
        headers: &mut HeaderMap,
        body: B,
    ) -> Result<Utf8Body<B>, Box<Rejection>> {
        match self.plan_for(headers, &body) {
            Ok(plan) => {
                plan.adapt(headers);
                let filter = BodyFilter::new(&plan, self);
                Ok(Utf8Body::with_filter(body, filter).with_trailer_check(self.trailer_check()))
            }
            Err(reason) if may_be_empty(headers, &body) => {
                Ok(Utf8Body::with_filter(body, BodyFilter::refusing(reason))
                    .with_trailer_check(self.trailer_check()))
            }
            Err(reason) => {
                let content_type = headers.get(CONTENT_TYPE).cloned();
                Err(Box::new(Rejection { message_kind: message, reason, content_type }))
            }
        }
    }

    /// Decides how the body of a message is checked. In a message without content, such as a `GET`, there is nothing to
    /// check, whatever its header fields say.
    pub(crate) fn plan_for(&self, headers: &HeaderMap, body: &impl Body) -> Result<BodyPlan, RejectReason> {
        if body.is_end_stream() || body.size_hint().exact() == Some(0) {
            return Ok(self.pass());
        }
        self.decide(&ContentFields::from(headers))
    }
}

/// Whether a message may turn out to be empty. One with `Expect` has content. A client of gRPC or a Connect stream may
/// wait for the response before it sends the first message.
pub(crate) fn may_be_empty(headers: &HeaderMap, body: &impl Body) -> bool {
    body.size_hint().lower() == 0
        && !headers.contains_key(EXPECT)
        && !headers.get_all(CONTENT_TYPE).iter().any(|value| is_length_prefixed_value(value.as_bytes()))
}
