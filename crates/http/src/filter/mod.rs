//! The filter for the bytes of a body, without I/O.

mod delimiters;
mod document;
mod field;
mod frames;
pub(super) mod kind;
mod multipart;
mod part;
mod protobuf;
mod text;
mod urlencoded;

use core::fmt;
use std::collections::VecDeque;

use bytes::Bytes;
use utf8_codec::TextDecoder;
use utf8_codec_media::delimiter::Boundary;

use self::document::{DocumentStart, Reading};
use self::kind::{KindFilter, PassFilter, RefusingFilter};
use self::multipart::FormFilter;
use self::text::TextFilter;
use self::urlencoded::UrlEncodedFilter;
use super::error::MultipartError;
use super::plan::{BodyPlan, Check};
use super::reason::RejectReason;
use super::rules::BodyRules;

/// The filter for one body, without I/O. Use it in engines that have the chunks of a body and cannot use
/// [`Utf8Body`](super::Utf8Body).
///
/// [`push`](Self::push) accepts a chunk, [`next`](Self::next) returns the checked bytes until there are none left, and
/// [`finish`](Self::finish) ends the body. The checked bytes are slices of the chunks; only short pieces are copied.
///
/// # Cost
///
/// Only short pieces are copied. Besides the check, each chunk takes a reference to its bytes, or two in a form. A form
/// in chunks of 1 byte is about a hundred times as slow as one in chunks of 64.
///
/// ```
/// use bytes::Bytes;
/// use utf8_codec_http::{BodyFilter, BodyRules, ContentFields, RejectReason};
///
/// let rules = BodyRules::new();
/// let mut fields = ContentFields::new();
/// fields.add("content-type", b"application/x-www-form-urlencoded");
/// let plan = rules.decide(&fields).expect("a form is text");
///
/// let mut filter = BodyFilter::new(&plan, &rules);
/// let mut passed = Vec::new();
/// for chunk in ["name=caf%C", "3%A9"] {
///     filter.push(Bytes::from(chunk));
///     while let Some(data) = filter.next() {
///         passed.extend_from_slice(&data?);
///     }
/// }
/// filter.finish();
/// assert!(filter.next().is_none());
/// assert_eq!(passed, b"name=caf%C3%A9");
/// # Ok::<(), RejectReason>(())
/// ```
pub struct BodyFilter {
    kind: Kind,
    /// The next step to feed to `kind`.
    next: Option<Step>,
    /// The steps after `next`.
    waiting: VecDeque<Step>,
    /// The offset of the decoder at the start of the body.
    start: u64,
    fed: u64,
    returned: u64,
    has_failed: bool,
    /// Whether the body is checked, even if it later declares another encoding and passes.
    is_checked: bool,
    /// Whether a body without content passes, whatever its type requires.
    passes_empty: bool,
}

enum Step {
    Chunk(Bytes),
    End,
}

#[allow(clippy::large_enum_variant, reason = "the common filter is not boxed")]
enum Kind {
    Pass(PassFilter),
    Document(Box<DocumentStart>),
    Text(TextFilter),
    Form(Box<FormFilter>),
    UrlEncoded(Box<UrlEncodedFilter>),
    /// Text in another charset, which is transcoded.
    Charset(Box<dyn KindFilter + Send + Sync>),
    Protobuf(Box<protobuf::ProtobufFilter>),
    Refusing(Box<RefusingFilter>),
}

/// Calls a method of the filter of a [`Kind`].
macro_rules! call {
    ($kind:expr, $method:ident($($argument:expr),*)) => {
        match $kind {
            Kind::Pass(filter) => filter.$method($($argument),*),
            Kind::Document(filter) => filter.$method($($argument),*),
            Kind::Text(filter) => filter.$method($($argument),*),
            Kind::Form(filter) => filter.$method($($argument),*),
            Kind::UrlEncoded(filter) => filter.$method($($argument),*),
            Kind::Charset(filter) => filter.$method($($argument),*),
            Kind::Protobuf(filter) => filter.$method($($argument),*),
            Kind::Refusing(filter) => filter.$method($($argument),*),
        }
    };
}

impl BodyFilter {
    /// Creates the filter for a plan. `rules` must be the rules that created the plan. They also determine which fields
    /// of a form are checked. A message without content passes: it has no form to be incomplete, and no text without a BOM.
    pub fn new(plan: &BodyPlan, rules: &BodyRules) -> Self {
        let decoder = plan.decoder().clone();
        let filter = match plan.check() {
            Check::Pass | Check::Described(_) => {
                Self { is_checked: false, ..Self::of(Kind::Pass(PassFilter::at(0))) }
            }
            Check::Text => Self::with_decoder(decoder),
            Check::Json(strings) => {
                Self::of(Kind::Text(TextFilter::new(decoder).with_json_strings(*strings)))
            }
            Check::UrlEncoded => Self::of(Kind::UrlEncoded(Box::new(UrlEncodedFilter::new(decoder)))),
            Check::FormData { boundary, strings } => {
                Self::of_form(boundary, rules.for_form(decoder, *strings))
            }
            Check::Document { kind, other, .. } => {
                Self::of(Kind::Document(Box::new(DocumentStart::new(*kind, *other, decoder))))
            }
            Check::Transcode { charset, start, .. } => Self::of(Kind::Charset(start(charset, decoder))),
            Check::Protobuf(filter) => {
                Self::of(Kind::Protobuf(Box::new(protobuf::ProtobufFilter::new((**filter).clone()))))
            }
        };
        Self { passes_empty: true, ..filter }
    }

    /// Creates the filter for a message that is rejected unless it has no content.
    #[cfg(feature = "body")]
    pub(crate) fn refusing(reason: RejectReason) -> Self {
        Self { passes_empty: true, ..Self::of(Kind::Refusing(Box::new(RefusingFilter::new(reason)))) }
    }

    /// Creates the filter for text in UTF-8.
    pub const fn with_decoder(decoder: TextDecoder) -> Self {
        Self::starting(decoder.offset(), Kind::Text(TextFilter::new(decoder)))
    }

    /// Creates the filter for the text fields of `multipart/form-data` (RFC 7578), with its boundary and the rules for
    /// its fields.
    ///
    /// The last character or byte that was fed is pending until the closing delimiter. If the body ends without one, it
    /// is not returned.
    ///
    /// # Errors
    ///
    /// Returns [`MultipartError::Boundary`] if the grammar of RFC 2046 §5.1.1 does not allow the boundary.
    pub fn form_data(boundary: &[u8], rules: &BodyRules) -> Result<Self, MultipartError> {
        let boundary = Boundary::new(boundary).ok_or(MultipartError::Boundary)?;
        Ok(Self::of_form(&boundary, rules.clone()))
    }

    fn of_form(boundary: &Boundary, rules: BodyRules) -> Self {
        Self::of(Kind::Form(Box::new(FormFilter::new(boundary, rules))))
    }

    /// Changes the filter to one of a body that the caller holds until its end, for [`repair_held`](Self::repair_held).
    #[cfg(feature = "tower")]
    pub(crate) fn for_held_body(mut self) -> Self {
        if let Kind::Protobuf(filter) = &mut self.kind {
            filter.hold();
        }
        self
    }

    /// Returns the held bytes of a complete body, repaired if that needs all of them. Returns `None` if the repaired body
    /// would be too long.
    #[cfg(feature = "tower")]
    pub(crate) fn repair_held(&self, body: Bytes) -> Option<Bytes> {
        match &self.kind {
            Kind::Protobuf(filter) if filter.repaired() > 0 => filter.repair_held(body),
            _ => Some(body),
        }
    }

    const fn of(kind: Kind) -> Self {
        Self::starting(0, kind)
    }

    const fn starting(start: u64, kind: Kind) -> Self {
        Self {
            kind,
            next: None,
            waiting: VecDeque::new(),
            start,
            fed: 0,
            returned: 0,
            has_failed: false,
            is_checked: true,
            passes_empty: false,
        }
    }

    /// Accepts the next chunk. [`next`](Self::next) returns its checked bytes.
    #[inline]
    pub fn push(&mut self, chunk: Bytes) {
        self.fed += chunk.len() as u64;
        if !chunk.is_empty() {
            self.enqueue(Step::Chunk(chunk));
        }
    }

    /// Ends the body. [`next`](Self::next) returns the rest, for example the error of a truncated character. A chunk
    /// that is fed afterwards starts a new text, but the offset is not reset. In `multipart/form-data` it follows the
    /// closing delimiter, so it is checked as text and has no parts.
    pub fn finish(&mut self) {
        if !self.is_empty_message() {
            self.enqueue(Step::End);
        }
    }

    /// Whether the message has no content so far, and needs none.
    const fn is_empty_message(&self) -> bool {
        self.passes_empty && self.fed == 0
    }

    #[inline]
    fn enqueue(&mut self, step: Step) {
        if self.has_failed {
            return;
        }
        if self.next.is_none() && self.waiting.is_empty() {
            self.next = Some(step);
        } else {
            self.waiting.push_back(step);
        }
    }

    /// Returns the next checked bytes, never empty. Returns `None` if another chunk is needed.
    ///
    /// # Errors
    ///
    /// Returns the error in the body. All well-formed text before the error is returned first. After the error only
    /// `None` is returned.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it may return more after `None`")]
    pub fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        if self.has_failed {
            return None;
        }
        loop {
            match call!(&mut self.kind, next()) {
                Some(Ok(data)) => {
                    self.returned += data.len() as u64;
                    return Some(Ok(data));
                }
                Some(Err(error)) => return Some(Err(self.failed(error))),
                None => {}
            }
            let step = self.next.take().or_else(|| self.waiting.pop_front())?;
            let Kind::Document(start) = &mut self.kind else {
                self.step(step);
                continue;
            };
            let decided = match &step {
                Step::Chunk(chunk) => start.reading_after(chunk),
                Step::End => Some(start.reading_at_end()),
            };
            let Some(reading) = decided else { continue };
            let decoder = start.decoder().clone();
            let (offset, held) = start.split();
            self.kind = match reading {
                Reading::Text(decoder) => Kind::Text(TextFilter::new(decoder.restarted_at(offset))),
                Reading::Pass => Kind::Pass(PassFilter::at(offset)),
                Reading::Transcode(charset, start) => Kind::Charset(start(&charset, decoder)),
                Reading::Reject(error) => return Some(Err(self.failed(error))),
            };
            if held.is_empty() {
                self.step(step);
            } else {
                self.step(Step::Chunk(held));
                // `step` was taken from `self.next`, so no other step is lost.
                self.next = Some(step);
            }
        }
    }

    #[inline]
    fn step(&mut self, step: Step) {
        match step {
            Step::Chunk(chunk) => call!(&mut self.kind, feed(chunk)),
            Step::End => call!(&mut self.kind, finish()),
        }
    }

    fn failed(&mut self, error: RejectReason) -> RejectReason {
        self.has_failed = true;
        (self.next, self.waiting) = (None, VecDeque::new());
        error
    }

    /// Returns the number of bytes fed so far.
    pub const fn offset(&self) -> u64 {
        self.fed
    }

    /// Returns the decoder with its state, if the rest of the body is plain UTF-8 text, not
    /// [JSON](super::BodyKind::Json), and nothing is left to return.
    ///
    /// An engine can then go on with a `Filter` of `utf8-codec-proxy`, which needs no copies, for example after the
    /// start of a [document](super::BodyKind::Document).
    pub fn text_decoder(&self) -> Option<TextDecoder> {
        match &self.kind {
            Kind::Text(filter) if !self.has_failed && self.untaken() == 0 && filter.is_idle() => {
                filter.text_decoder()
            }
            _ => None,
        }
    }

    /// Returns the number of ill-formed sequences that were repaired so far.
    #[inline]
    pub fn repaired(&self) -> u64 {
        call!(&self.kind, repaired())
    }

    /// Whether the returned bytes differ from the bytes that were fed. Always `true` for a transcoded body. Only valid
    /// after the end of the body.
    pub fn has_changed(&self) -> bool {
        self.repaired() > 0 || self.returned != self.fed || matches!(self.kind, Kind::Charset(_))
    }

    /// Whether the body passes without a check, whatever it contains.
    pub(crate) const fn is_passing(&self) -> bool {
        !self.is_checked
    }

    /// Whether there is no more output, even if the body ends now.
    pub(crate) fn is_done(&self) -> bool {
        self.has_failed || self.is_empty_message() || self.untaken() == 0 && call!(&self.kind, is_clean())
    }

    /// Returns the number of bytes that were fed but not yet passed to `kind`.
    fn untaken(&self) -> u64 {
        self.fed - call!(&self.kind, offset()).wrapping_sub(self.start)
    }

    /// Returns the bounds of the length of the remaining output, if between `min` and `max` more bytes are fed.
    pub(crate) fn bounds(&self, min: u64, max: Option<u64>) -> (u64, Option<u64>) {
        let (queued, is_failing) = call!(&self.kind, queued());
        if is_failing {
            return (0, None);
        }
        let held = call!(&self.kind, held()) + self.untaken();
        let min = call!(&self.kind, min_output(min.saturating_add(held))).saturating_add(queued);
        let max =
            max.and_then(|max| call!(&self.kind, max_output(max.checked_add(held)?))?.checked_add(queued));
        // An error may follow without data. A reader would not poll an empty body for it, so 0 is not reported as the
        // maximum.
        (min, max.filter(|max| *max > 0 || self.is_done()))
    }
}

impl fmt::Debug for BodyFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The other fields are left out, because they may contain bytes of the body.
        f.debug_struct("BodyFilter").field("offset", &self.fed).finish_non_exhaustive()
    }
}
