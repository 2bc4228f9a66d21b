//! A body that is certainly text.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::{fmt, mem};
use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::counters::HttpCounters;
use super::drain::Drain;
use super::error::{BoxError, Utf8BodyError};
use super::fields::check_values;
use super::filter::Filter;
use super::integrity;
use super::multipart::{Multipart, MultipartError};
use super::refusal::Message;
use super::rules::BodyRules;
use super::watch::Watch;
use crate::text::TextDecoder;

pin_project! {
    /// A [`Body`] whose data are whole characters of checked text.
    ///
    /// Around any body with `Data: Buf`. The frames of a `Bytes` body are handed on as they are, or as slices of
    /// themselves: only the character that straddles two frames is copied. The bytes of an unfinished character are
    /// held back until the next frame, `0..=3` of them, and nothing else is ever held.
    ///
    /// The end of the inner body is noticed with its last frame, by its `is_end_stream` or an exact `size_hint` of 0,
    /// and not by asking for another frame: a server that counts to `Content-Length` never asks. A body that ends
    /// inside a character is an error there too. Trailers are handed on after a clean end only. After an error or the
    /// end there is nothing more, however often the body is asked.
    ///
    /// Under a policy that repairs (see [`with_decoder`](Self::with_decoder)) the length of the body may change, so
    /// a `Content-Length`, a strong `ETag` or a digest of the message is no longer true. The layers remove them;
    /// whoever uses the body by itself has to. Digests in the trailers are removed here once something was repaired,
    /// and where a BOM is taken off or the text comes from another charset.
    ///
    /// # Errors
    ///
    /// [`Utf8BodyError::IllFormed`] with the offset in the body, after all the good text before it was handed on;
    /// [`Utf8BodyError::Inner`] if the inner body fails.
    ///
    /// # Cancel safety
    ///
    /// All state is in the body: a frame that was not awaited to its end is not lost.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::{BodyExt, Full};
    /// use utf8_codec::ErrorKind;
    /// use utf8_codec::http::{Utf8Body, Utf8BodyError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let good = Utf8Body::new(Full::<Bytes>::from("naïve"));
    /// assert_eq!(good.collect().await.unwrap().to_bytes(), "naïve");
    ///
    /// let bad = Utf8Body::new(Full::<Bytes>::from(&b"na\xC3"[..]));
    /// let error = bad.collect().await.unwrap_err().utf8_error().unwrap();
    /// assert_eq!((error.offset, error.kind, error.len), (2, ErrorKind::Truncated, 1));
    /// # }
    /// ```
    pub struct Utf8Body<B> {
        #[pin]
        inner: B,
        filter: Filter,
        // The other chunks of a frame that has several.
        waiting: VecDeque<Bytes>,
        fed: u64,
        // What the watch was told.
        repaired: u64,
        state: State,
        watch: Watch,
        drain: Drain,
        check_trailers: bool,
    }
}

/// How far a body is, apart from what the filter still gives.
#[derive(Debug)]
enum State {
    /// More data may come.
    Flowing,
    /// The data are over, and the filter has to be told.
    Over(Then),
    /// The filter has been told.
    Finished(Then),
    /// The text is ill-formed; the rest is taken and dropped before that is told.
    Draining(Utf8BodyError),
    /// Nothing comes any more.
    Done,
}

/// What follows the data.
#[derive(Debug)]
enum Then {
    /// Only the inner body knows.
    Ask,
    // In a box: few bodies have any, and each would be as large as if it had.
    Trailers(Box<HeaderMap>),
    Nothing,
}

impl<B> Utf8Body<B> {
    /// Checks `inner`: ill-formed text is an error, a BOM is kept.
    pub const fn new(inner: B) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Checks or repairs `inner` by the policies of a decoder.
    pub const fn with_decoder(inner: B, decoder: TextDecoder) -> Self {
        Self::with_filter(inner, Filter::text(decoder))
    }

    /// Checks the text fields of a `multipart/form-data` body (RFC 7578), whose files pass untouched.
    ///
    /// `boundary` is the parameter of the `Content-Type`. The rules say which fields are text, and what becomes of
    /// ill-formed text in them.
    ///
    /// # Errors
    ///
    /// [`MultipartError::Boundary`] if it is no boundary in the sense of RFC 2046 §5.1.1.
    pub fn form_data(inner: B, boundary: &[u8], rules: &BodyRules) -> Result<Self, MultipartError> {
        let multipart = Multipart::new(boundary, rules.clone())?;
        Ok(Self::with_filter(inner, Filter::Multipart(Box::new(multipart))))
    }

    pub(crate) const fn with_filter(inner: B, filter: Filter) -> Self {
        Self {
            inner,
            filter,
            waiting: VecDeque::new(),
            fed: 0,
            repaired: 0,
            state: State::Flowing,
            watch: Watch::none(),
            drain: Drain::NONE,
            check_trailers: false,
        }
    }

    /// Counts it.
    #[must_use]
    pub fn counters(self, counters: &HttpCounters) -> Self {
        self.watched(Watch::new(Message::Request, None, counters.clone()))
    }

    /// Sets whether the values of trailer fields are checked; by default they are not.
    #[must_use]
    pub fn check_trailers(self, check: bool) -> Self {
        Self { check_trailers: check, ..self }
    }

    pub(crate) fn watched(self, watch: Watch) -> Self {
        watch.body();
        Self { watch, ..self }
    }

    /// Drains the inner body before an error is returned.
    pub(crate) fn draining(self, drain: Drain) -> Self {
        Self { drain, ..self }
    }

    /// Drains the inner body.
    pub(crate) fn poll_drain(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>
    where
        B: Body,
    {
        let this = self.project();
        this.drain.poll(this.inner, cx).map(|has_ended| this.watch.drained(has_ended))
    }

    /// The inner body.
    pub const fn get_ref(&self) -> &B {
        &self.inner
    }

    /// The inner body. Bytes that are taken from it are not checked and not counted.
    pub const fn get_mut(&mut self) -> &mut B {
        &mut self.inner
    }

    /// The inner body, without the bytes of an unfinished character.
    pub fn into_inner(self) -> B {
        self.inner
    }

    /// Bytes taken from the inner body so far.
    pub const fn offset(&self) -> u64 {
        self.fed
    }

    /// Whether the inner body is in another charset.
    pub(crate) const fn is_transcoding(&self) -> bool {
        self.filter.is_transcoding()
    }

    /// Ill-formed sequences that were repaired so far.
    pub fn repaired(&self) -> u64 {
        self.filter.repaired()
    }
}

impl<B> Body for Utf8Body<B>
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
        loop {
            match this.state {
                State::Done => return Poll::Ready(None),
                State::Draining(_) => {
                    let has_ended = ready!(this.drain.poll(this.inner, cx));
                    this.watch.drained(has_ended);
                    return Poll::Ready(match mem::replace(this.state, State::Done) {
                        State::Draining(error) => Some(Err(error)),
                        _ => None,
                    });
                }
                _ => {}
            }
            match this.filter.next() {
                Some(Ok(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Some(Err(error)) => {
                    this.watch.refuse(&error);
                    *this.state = State::Draining(error);
                    continue;
                }
                None => {}
            }
            if let Some(chunk) = this.waiting.pop_front() {
                this.filter.feed(chunk);
                continue;
            }
            this.watch.repaired(this.repaired, this.filter.repaired());
            if !matches!(this.state, State::Flowing | State::Finished(Then::Ask)) {
                match mem::replace(this.state, State::Done) {
                    State::Finished(Then::Trailers(mut trailers)) => {
                        if *this.check_trailers
                            && let Err((name, error)) = check_values(&trailers)
                        {
                            let error = Utf8BodyError::Trailer { name, error };
                            this.watch.refuse(&error);
                            // Nothing comes after trailers.
                            this.watch.drained(true);
                            return Poll::Ready(Some(Err(error)));
                        }
                        if this.filter.has_changed() {
                            integrity::remove_digests(&mut trailers);
                        }
                        return Poll::Ready(Some(Ok(Frame::trailers(*trailers))));
                    }
                    State::Over(then) => {
                        this.filter.finish();
                        *this.state = State::Finished(then);
                        continue;
                    }
                    _ => return Poll::Ready(None),
                }
            }
            let over = match ready!(this.inner.as_mut().poll_frame(cx)) {
                None => Some(Then::Nothing),
                Some(Err(error)) => {
                    *this.state = State::Done;
                    return Poll::Ready(Some(Err(Utf8BodyError::inner(error))));
                }
                Some(Ok(frame)) => match frame.into_data().map_err(Frame::into_trailers) {
                    Ok(data) => {
                        if !matches!(this.state, State::Flowing) {
                            *this.state = State::Flowing;
                        }
                        let bytes = data.remaining() as u64;
                        *this.fed += bytes;
                        this.watch.took(bytes);
                        feed(this.filter, this.waiting, data);
                        // Whoever counts to `Content-Length` may not ask again: decide now.
                        let is_last = this.inner.is_end_stream() || this.inner.size_hint().exact() == Some(0);
                        is_last.then_some(Then::Ask)
                    }
                    Err(Ok(trailers)) => Some(Then::Trailers(Box::new(trailers))),
                    // A kind of frame that is not invented yet.
                    Err(Err(_)) => None,
                },
            };
            if let Some(then) = over {
                *this.state = match this.state {
                    State::Finished(_) => State::Finished(then),
                    _ => State::Over(then),
                };
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self.state {
            State::Done => true,
            State::Finished(Then::Nothing) => self.filter.is_idle(),
            // What the filter holds, or the error that it will give, is still to come.
            State::Flowing | State::Over(Then::Ask | Then::Nothing) | State::Finished(Then::Ask) => {
                self.untaken() == 0 && self.filter.is_clean() && self.inner.is_end_stream()
            }
            State::Draining(_) | State::Over(Then::Trailers(_)) | State::Finished(Then::Trailers(_)) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let coming = match self.state {
            State::Done => return SizeHint::with_exact(0),
            State::Draining(_) => return SizeHint::new(),
            State::Flowing | State::Over(Then::Ask) | State::Finished(Then::Ask) => self.inner.size_hint(),
            _ => SizeHint::with_exact(0),
        };
        self.filter.size_hint(self.untaken(), &coming)
    }
}

impl<B> Utf8Body<B> {
    /// Bytes that the inner body has given and the filter has not looked at.
    fn untaken(&self) -> u64 {
        self.fed - self.filter.offset()
    }
}

/// Feeds the first chunk of a frame and keeps the others. `Bytes` are not copied.
fn feed(filter: &mut Filter, waiting: &mut VecDeque<Bytes>, mut data: impl Buf) {
    let take = |data: &mut dyn Buf| data.copy_to_bytes(data.chunk().len());
    filter.feed(take(&mut data));
    while !data.chunk().is_empty() {
        waiting.push_back(take(&mut data));
    }
}

impl<B: fmt::Debug> fmt::Debug for Utf8Body<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The filter may hold bytes of the body.
        f.debug_struct("Utf8Body")
            .field("inner", &self.inner)
            .field("offset", &self.fed)
            .finish_non_exhaustive()
    }
}
