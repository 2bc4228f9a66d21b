//! A body whose text is checked as it streams.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::counters::HttpCounters;
use super::error::{BoxError, MultipartError, Utf8BodyError};
use super::fields::check_values;
use super::filter::BodyFilter;
use super::integrity::remove_digests;
use super::observer::Observer;
use super::rules::BodyRules;
use crate::text::TextDecoder;

pin_project! {
    /// A [`Body`] whose data are whole characters of checked text.
    ///
    /// Around any body with `Data: Buf`. The frames of a `Bytes` body pass as they are, or as slices of themselves; only
    /// a character whose bytes are in two frames is copied. An unfinished character, `0..=3` bytes, is held back until
    /// the next frame; of a form, an unfinished escape, delimiter or header of a part as well.
    ///
    /// The body decides with the last frame of the inner body, which it recognizes by `is_end_stream` or an exact
    /// `size_hint` of 0, without asking for another frame: a server that counts to `Content-Length` never does. So a body
    /// that ends inside a character is an error there too. Trailers are returned after an end without an error only.
    /// After an error or the end there is nothing more.
    ///
    /// Under a policy that repairs (see [`with_decoder`](Self::with_decoder)) the length of the body may change. Then
    /// `Content-Length`, a strong `ETag` and digests are untrue: [`BodyRules::apply`] and the layers remove them. Digests
    /// in the trailers of a changed body are removed here.
    ///
    /// # Errors
    ///
    /// [`Utf8BodyError::IllFormed`] with the offset in the body, after all good text before it was returned; the other
    /// kinds of [`Utf8BodyError`] likewise.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: all state is in the body, and a frame that is not awaited to its end is not lost.
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
        filter: BodyFilter,
        state: State,
        observer: Observer,
        check_trailers: bool,
    }
}

/// What the inner body still has.
#[derive(Debug)]
enum State {
    /// More data may come.
    Data,
    /// The data have ended.
    After(Rest),
    /// Nothing comes any more.
    Done,
}

/// What follows the data of the inner body.
#[derive(Debug)]
enum Rest {
    /// Trailers or nothing, which the next frame decides.
    Unknown,
    // In a box, because few bodies have any, and each would be as large as if it had.
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
        Self::with_filter(inner, BodyFilter::text(decoder))
    }

    /// Checks the text fields of a `multipart/form-data` body (RFC 7578), whose files pass without a check.
    ///
    /// `boundary` is the parameter of the `Content-Type`. The rules say which fields are text, and what happens to
    /// ill-formed text in them.
    ///
    /// # Errors
    ///
    /// [`MultipartError::Boundary`] if it is not in the grammar of RFC 2046 §5.1.1.
    pub fn form_data(inner: B, boundary: &[u8], rules: &BodyRules) -> Result<Self, MultipartError> {
        Ok(Self::with_filter(inner, BodyFilter::form_data(boundary, rules)?))
    }

    /// Checks `inner` by a filter that nothing was fed to.
    pub const fn with_filter(inner: B, filter: BodyFilter) -> Self {
        Self { inner, filter, state: State::Data, observer: Observer::NONE, check_trailers: false }
    }

    /// Counts the body, its bytes, its repairs and its error.
    #[must_use]
    pub fn counters(self, counters: &HttpCounters) -> Self {
        self.observed(Observer::new(counters.clone(), None))
    }

    /// Sets whether the values of trailer fields are checked; by default they are not.
    #[must_use]
    pub fn check_trailers(self, check: bool) -> Self {
        Self { check_trailers: check, ..self }
    }

    pub(crate) fn observed(self, observer: Observer) -> Self {
        if !self.filter.is_passing() {
            observer.started();
        }
        Self { observer, ..self }
    }

    /// The inner body.
    pub const fn get_ref(&self) -> &B {
        &self.inner
    }

    /// The inner body. Bytes that are taken from it are not checked and not counted.
    pub const fn get_mut(&mut self) -> &mut B {
        &mut self.inner
    }

    /// The inner body. Bytes that are taken from it are not checked and not counted.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut B> {
        self.project().inner
    }

    /// The inner body, without the bytes that are held back.
    pub fn into_inner(self) -> B {
        self.inner
    }

    /// Bytes taken from the inner body so far.
    pub const fn offset(&self) -> u64 {
        self.filter.offset()
    }

    /// Ill-formed sequences that were repaired so far.
    pub fn repaired(&self) -> u64 {
        self.filter.repaired()
    }

    /// Whether the data of this body differ from those of the inner body. It counts after the end.
    pub fn has_changed(&self) -> bool {
        self.filter.has_changed()
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
            if matches!(this.state, State::Done) {
                return Poll::Ready(None);
            }
            match this.filter.next() {
                Some(Ok(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Some(Err(error)) => {
                    *this.state = State::Done;
                    this.observer.failed(&error);
                    return Poll::Ready(Some(Err(error)));
                }
                None => this.observer.repaired(this.filter.repaired()),
            }
            if let State::After(Rest::Trailers(_) | Rest::Nothing) = this.state {
                let State::After(Rest::Trailers(mut trailers)) = mem::replace(this.state, State::Done) else {
                    return Poll::Ready(None);
                };
                if *this.check_trailers
                    && let Err((name, error)) = check_values(&trailers)
                {
                    let error = Utf8BodyError::Trailer { name, error };
                    this.observer.failed(&error);
                    return Poll::Ready(Some(Err(error)));
                }
                if this.filter.has_changed() {
                    remove_digests(&mut trailers);
                }
                return Poll::Ready(Some(Ok(Frame::trailers(*trailers))));
            }
            let rest = match ready!(this.inner.as_mut().poll_frame(cx)) {
                None => Rest::Nothing,
                Some(Err(error)) => {
                    *this.state = State::Done;
                    return Poll::Ready(Some(Err(Utf8BodyError::inner(error))));
                }
                Some(Ok(frame)) => match frame.into_data().map_err(Frame::into_trailers) {
                    Ok(data) => {
                        if !this.filter.is_passing() {
                            this.observer.received(data.remaining() as u64);
                        }
                        feed(this.filter, data);
                        // A reader that counts to `Content-Length` may not ask again.
                        let is_last = this.inner.is_end_stream() || this.inner.size_hint().exact() == Some(0);
                        *this.state = State::Data;
                        if !is_last {
                            continue;
                        }
                        Rest::Unknown
                    }
                    Err(Ok(trailers)) => Rest::Trailers(Box::new(trailers)),
                    // A kind of frame that does not exist yet.
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
        let (least, most) = self.filter.bounds(coming.lower(), coming.upper());
        let mut hint = SizeHint::new();
        hint.set_lower(least);
        if let Some(most) = most {
            hint.set_upper(most);
        }
        hint
    }
}

/// Feeds the chunks of a frame. `Bytes` are not copied.
fn feed(filter: &mut BodyFilter, mut data: impl Buf) {
    while !data.chunk().is_empty() {
        filter.feed(data.copy_to_bytes(data.chunk().len()));
    }
}

impl<B> fmt::Debug for Utf8Body<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the inner body, which may show its bytes.
        f.debug_struct("Utf8Body").field("offset", &self.offset()).finish_non_exhaustive()
    }
}
