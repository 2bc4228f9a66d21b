//! Which bodies are text, and in which charset.

use core::fmt;
use std::sync::Arc;

use http::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body::Body;

use super::body::Utf8Body;
use super::checked::CheckedBody;
use super::error::BoxError;
use super::filter::{Filter, keeps_bytes, keeps_length};
use super::integrity;
use super::multipart::{Multipart, MultipartError};
use super::refusal::{Message, Reason, Refusal};
use super::transcode::Transcoder;
use super::urlencoded::UrlEncoded;
use super::watch::Watch;
use crate::content_type::{Charset, ContentType, is_or_extends};
use crate::policy::ErrorPolicy;
use crate::text::TextDecoder;

/// Which bodies are checked, and what happens to the others.
///
/// The defaults of [`new`](Self::new) are for requests: a body that cannot be checked is rejected, and each way around
/// the check is a setting with a name.
///
/// | message | [`new`](Self::new), for requests | [`for_responses`](Self::for_responses) | setting |
/// |---|---|---|---|
/// | a text type ([`is_text_type`]), UTF-8 or no `charset` | checked | checked | [`text_types`](Self::text_types), [`missing_charset`](Self::missing_charset) |
/// | `application/x-www-form-urlencoded` | checked after percent-decoding | the same | |
/// | a text type in another charset | `415` | passes | [`other_charset`](Self::other_charset) |
/// | a text type with a `Content-Encoding` other than `identity` | `415` | passes | [`content_codings`](Self::content_codings) |
/// | a text type with a `Content-Range` | `400` | passes | [`content_ranges`](Self::content_ranges) |
/// | a body without a `Content-Type` | checked as UTF-8 | passes | [`missing_content_type`](Self::missing_content_type) |
/// | a `Content-Type` outside the grammar, or two that differ | `400` | `502` | [`malformed_content_type`](Self::malformed_content_type) |
/// | `charset` parameters that contradict each other | `400` | `502` | |
/// | trailer fields | checked | pass | [`check_trailers`](Self::check_trailers) |
/// | `multipart/form-data` | passes | passes | [`form_data`](Self::form_data) |
/// | any other type | passes | passes | [`text_types`](Self::text_types) |
///
/// Put the layer inside decompression if clients compress their requests: what a content coding hides cannot be
/// checked. An unknown coding and an unreadable range are rejected too, because the handler may ignore the field and
/// read the body.
///
/// ```
/// use utf8_codec::{ErrorPolicy, TextDecoder};
/// use utf8_codec::http::{BodyRules, MissingCharset, OtherCharset};
///
/// let rules = BodyRules::new()
///     .decoder(TextDecoder::new().on_error(ErrorPolicy::Replace))
///     .missing_charset(MissingCharset::Refuse)
///     .other_charset(OtherCharset::Pass);
/// # drop(rules);
/// ```
#[derive(Clone)]
pub struct BodyRules {
    text_types: Option<Arc<TypePredicate>>,
    missing_type: MissingContentType,
    malformed_type: Uncheckable,
    missing: MissingCharset,
    other: OtherCharset,
    codings: Uncheckable,
    ranges: Uncheckable,
    form_data: bool,
    trailers: bool,
    decoder: TextDecoder,
}

type TypePredicate = dyn Fn(&ContentType<'_>) -> bool + Send + Sync;

/// What happens to a body that has no `Content-Type`.
///
/// An empty body needs no type: it passes under every setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingContentType {
    /// It is checked as UTF-8. RFC 9110 §8.3 lets a recipient guess the type, and some frameworks guess text.
    #[default]
    Check,
    /// It passes without a check.
    Pass,
    /// It is rejected with `415`.
    Refuse,
}

/// What text without a `charset` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingCharset {
    /// UTF-8, as the standards of JSON, XML, HTML forms and event streams say, and RFC 6657 for new text types.
    #[default]
    Utf8,
    /// Not checked.
    Pass,
    /// Refused with `415`. JSON, which has no such parameter (RFC 8259 §11), is UTF-8 under this too.
    Refuse,
}

/// What becomes of text in another charset than UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OtherCharset {
    /// It passes and is not checked: whoever reads it has to mind its charset.
    Pass,
    /// It is refused with `415`.
    #[default]
    Refuse,
    /// It becomes UTF-8, and its `Content-Type` says so. A label that the WHATWG Encoding Standard does not know is
    /// refused, and so are fields of `multipart/form-data`.
    #[cfg(feature = "encoding_rs")]
    Transcode,
}

/// What happens to a body that cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Uncheckable {
    /// The message is rejected.
    #[default]
    Refuse,
    /// The body passes without a check. The program that reads it must look at the same header field.
    Pass,
}

/// Whether a media type is text that has to be UTF-8, or is without a `charset`: JSON and `+json`, `text/*` (so
/// `text/event-stream` too), `application/x-www-form-urlencoded`, XML and `+xml`, NDJSON and its relatives,
/// JavaScript.
pub fn is_text_type(content_type: &ContentType<'_>) -> bool {
    const TYPES: [&str; 9] = [
        "json",
        "xml",
        "x-www-form-urlencoded",
        "x-ndjson",
        "ndjson",
        "jsonl",
        "json-seq",
        "javascript",
        "graphql",
    ];
    content_type.top().eq_ignore_ascii_case("text")
        || content_type.top().eq_ignore_ascii_case("application")
            && TYPES.iter().any(|subtype| content_type.subtype().eq_ignore_ascii_case(subtype))
        || content_type.suffix().is_some_and(|suffix| {
            ["json", "xml", "json-seq"].iter().any(|known| suffix.eq_ignore_ascii_case(known))
        })
}

impl BodyRules {
    /// The default rules, for requests: what cannot be checked is rejected.
    pub const fn new() -> Self {
        Self {
            text_types: None,
            missing_type: MissingContentType::Check,
            malformed_type: Uncheckable::Refuse,
            missing: MissingCharset::Utf8,
            other: OtherCharset::Refuse,
            codings: Uncheckable::Refuse,
            ranges: Uncheckable::Refuse,
            form_data: false,
            trailers: true,
            decoder: TextDecoder::new(),
        }
    }

    /// The default rules for responses: text in another charset, in a content coding or in a range passes, because the
    /// client asked for it and can read it, and so does a body without a `Content-Type`.
    pub const fn for_responses() -> Self {
        Self::new()
            .missing_content_type(MissingContentType::Pass)
            .other_charset(OtherCharset::Pass)
            .content_codings(Uncheckable::Pass)
            .content_ranges(Uncheckable::Pass)
            .check_trailers(false)
    }

    /// Sets which media types are text, in place of [`is_text_type`].
    ///
    /// `|_| true` checks every body that has a type.
    #[must_use]
    pub fn text_types<F>(mut self, is_text: F) -> Self
    where
        F: Fn(&ContentType<'_>) -> bool + Send + Sync + 'static,
    {
        self.text_types = Some(Arc::new(is_text));
        self
    }

    /// Sets what happens to a body that has no `Content-Type`.
    #[must_use]
    pub const fn missing_content_type(mut self, missing: MissingContentType) -> Self {
        self.missing_type = missing;
        self
    }

    /// Sets what happens to a body whose `Content-Type` is not in the grammar of RFC 9110 §8.3.1, or is given twice with
    /// different values. By default the message is rejected with `400`: the next program may read another type in it.
    #[must_use]
    pub const fn malformed_content_type(mut self, malformed: Uncheckable) -> Self {
        self.malformed_type = malformed;
        self
    }

    /// Sets what text without a `charset` is.
    #[must_use]
    pub const fn missing_charset(mut self, missing: MissingCharset) -> Self {
        self.missing = missing;
        self
    }

    /// Sets what becomes of text in another charset.
    #[must_use]
    pub const fn other_charset(mut self, other: OtherCharset) -> Self {
        self.other = other;
        self
    }

    /// Sets what happens to text with a `Content-Encoding` other than `identity`, known or not. By default the message
    /// is rejected with `415`.
    #[must_use]
    pub const fn content_codings(mut self, codings: Uncheckable) -> Self {
        self.codings = codings;
        self
    }

    /// Sets what happens to text with a `Content-Range`, readable or not: a range may start inside a character. By
    /// default the message is rejected with `400`, as RFC 9110 §14.5 demands of a server that does not support it.
    ///
    /// `bytes */9`, which names no range (RFC 9110 §14.4), is ignored: the body is whole, and is checked.
    #[must_use]
    pub const fn content_ranges(mut self, ranges: Uncheckable) -> Self {
        self.ranges = ranges;
        self
    }

    /// Sets whether the fields of `multipart/form-data` (RFC 7578) are checked. Files are not, and parts of other
    /// multipart types neither.
    #[must_use]
    pub const fn form_data(mut self, check: bool) -> Self {
        self.form_data = check;
        self
    }

    /// Sets whether the values of trailer fields are checked, of all bodies that have any. An ill-formed value is an
    /// error under every policy: it is not repaired.
    #[must_use]
    pub const fn check_trailers(mut self, check: bool) -> Self {
        self.trailers = check;
        self
    }

    /// Sets the policies for ill-formed text and for the BOM.
    #[must_use]
    pub const fn decoder(mut self, decoder: TextDecoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// Applies the rules by hand, where there is no tower: what the layers do while streaming.
    ///
    /// The header fields are made true for the body that comes back: under a policy that repairs, `Content-Length`,
    /// strong `ETag` and digests go.
    ///
    /// # Errors
    ///
    /// Why the message is refused before its body is asked for. What is found later is an error of the body.
    ///
    /// ```
    /// use http_body_util::Full;
    /// use utf8_codec::http::{BodyRules, Message};
    ///
    /// let request = http::Request::post("/").header("content-type", "text/plain; charset=latin1");
    /// let (mut parts, body) = request.body(Full::<bytes::Bytes>::from("caf")).unwrap().into_parts();
    /// let refusal = BodyRules::new().apply(Message::Request, &mut parts.headers, body).unwrap_err();
    /// assert_eq!(refusal.status(), http::StatusCode::UNSUPPORTED_MEDIA_TYPE);
    /// ```
    pub fn apply<B>(
        &self,
        message: Message,
        headers: &mut HeaderMap,
        body: B,
    ) -> Result<CheckedBody<B>, Box<Refusal>>
    where
        B: Body,
        B::Error: Into<BoxError>,
    {
        let refuse = |reason, headers: &HeaderMap| {
            let content_type = headers.get(CONTENT_TYPE).cloned();
            Box::new(Refusal { message, reason, content_type })
        };
        let plan = if is_empty(headers, &body) { Ok(Plan::Pass) } else { self.judge(headers) };
        let filter = match plan.map_err(|reason| refuse(reason, headers))? {
            Plan::Pass if self.trailers => return Ok(CheckedBody::only_trailers(body, Watch::none())),
            Plan::Pass => return Ok(CheckedBody::unchecked(body)),
            Plan::Text => {
                self.adapt(headers);
                Filter::text(self.decoder)
            }
            Plan::FormData(multipart) => {
                self.adapt(headers);
                Filter::Multipart(multipart)
            }
            Plan::UrlEncoded => {
                self.adapt_urlencoded(headers);
                Filter::UrlEncoded(Box::new(UrlEncoded::new(self.decoder)))
            }
            Plan::Transcode(transcoder, content_type) => {
                transcoded(headers, content_type);
                Filter::Transcode(transcoder)
            }
        };
        let body = Utf8Body::with_filter(body, filter).check_trailers(self.trailers);
        Ok(CheckedBody::streaming(Box::pin(body)))
    }

    pub(crate) const fn checks_trailers(&self) -> bool {
        self.trailers
    }

    pub(crate) const fn text_decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// What to do with the body of a message, unless it [is empty](is_empty).
    pub(crate) fn judge(&self, headers: &HeaderMap) -> Result<Plan, Reason> {
        let content_type = match content_type(headers) {
            Ok(content_type) => content_type,
            Err(_) if self.malformed_type == Uncheckable::Pass => return Ok(Plan::Pass),
            Err(reason) => return Err(reason),
        };
        if let Some(given) = &content_type {
            if self.form_data && given.is("multipart", "form-data") {
                if self.passes_uncheckable(headers)? {
                    return Ok(Plan::Pass);
                }
                let multipart = boundary(given).and_then(|boundary| Multipart::new(boundary, self.clone()));
                return Ok(Plan::FormData(Box::new(multipart.map_err(Reason::Multipart)?)));
            }
            if !self.is_text(given) {
                return Ok(Plan::Pass);
            }
        } else {
            match self.missing_type {
                MissingContentType::Check => {}
                MissingContentType::Pass => return Ok(Plan::Pass),
                MissingContentType::Refuse => return Err(Reason::MissingContentType),
            }
        }
        if self.passes_uncheckable(headers)? {
            return Ok(Plan::Pass);
        }
        let Some(content_type) = content_type else { return Ok(Plan::Text) };
        match self.judge_charset(&content_type)? {
            Verdict::Utf8 if is_url_encoded(&content_type) => Ok(Plan::UrlEncoded),
            Verdict::Utf8 => Ok(Plan::Text),
            Verdict::Pass => Ok(Plan::Pass),
            // The other charset is in the escapes.
            Verdict::Transcode(_) if is_url_encoded(&content_type) => Err(Reason::UnsupportedCharset),
            Verdict::Transcode(transcoder) => Ok(Plan::Transcode(transcoder, in_utf8(&content_type))),
        }
    }

    /// Whether the header fields hide the text of the body, and the rules let it pass.
    fn passes_uncheckable(&self, headers: &HeaderMap) -> Result<bool, Reason> {
        let (is_coded, is_range) = (is_coded(headers), is_range(headers));
        if is_coded && self.codings == Uncheckable::Refuse {
            return Err(Reason::ContentCoding);
        }
        if is_range && self.ranges == Uncheckable::Refuse {
            return Err(Reason::ContentRange);
        }
        Ok(is_coded || is_range)
    }

    pub(crate) fn is_text(&self, content_type: &ContentType<'_>) -> bool {
        match &self.text_types {
            Some(predicate) => predicate(content_type),
            None => is_text_type(content_type),
        }
    }

    fn judge_charset(&self, content_type: &ContentType<'_>) -> Result<Verdict, Reason> {
        match content_type.charset() {
            Charset::Utf8 => Ok(Verdict::Utf8),
            Charset::Missing => match self.missing {
                MissingCharset::Utf8 => Ok(Verdict::Utf8),
                MissingCharset::Pass => Ok(Verdict::Pass),
                MissingCharset::Refuse if has_no_charset(content_type) => Ok(Verdict::Utf8),
                MissingCharset::Refuse => Err(Reason::MissingCharset),
            },
            Charset::Other(_) if self.other == OtherCharset::Pass => Ok(Verdict::Pass),
            Charset::Other(label) => match Transcoder::choose(self.other, label, self.decoder.error_policy())
            {
                Some(transcoder) => Ok(Verdict::Transcode(Box::new(transcoder))),
                None => Err(Reason::UnsupportedCharset),
            },
            Charset::Conflicting => Err(Reason::ConflictingCharset),
        }
    }

    /// Whether a field of a form is checked, whose part or `_charset_` says this; `None` if it is refused.
    pub(crate) fn checks_field(&self, charset: Charset<'_>) -> Option<bool> {
        match charset {
            Charset::Utf8 => Some(true),
            // RFC 7578 §5.1.2: what a form does not say is UTF-8. No browser says it.
            Charset::Missing => Some(self.missing != MissingCharset::Pass),
            Charset::Other(_) => (self.other == OtherCharset::Pass).then_some(false),
            Charset::Conflicting => None,
        }
    }

    /// Makes the header fields true for a body that will be changed on its way, or may be.
    pub(crate) fn adapt(&self, headers: &mut HeaderMap) {
        if !keeps_length(&self.decoder) {
            integrity::length_changes(headers);
        } else if !keeps_bytes(&self.decoder) {
            integrity::bytes_change(headers);
        }
    }

    /// The same for a percent-encoded body, in which every repair may change the length.
    pub(crate) fn adapt_urlencoded(&self, headers: &mut HeaderMap) {
        if self.decoder.error_policy() != ErrorPolicy::Strict {
            integrity::length_changes(headers);
        }
    }
}

impl Default for BodyRules {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for BodyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyRules")
            .field("missing_type", &self.missing_type)
            .field("malformed_type", &self.malformed_type)
            .field("missing", &self.missing)
            .field("other", &self.other)
            .field("codings", &self.codings)
            .field("ranges", &self.ranges)
            .field("form_data", &self.form_data)
            .field("trailers", &self.trailers)
            .field("decoder", &self.decoder)
            .finish_non_exhaustive()
    }
}

/// What to do with a body.
#[derive(Debug)]
pub(crate) enum Plan {
    Pass,
    Text,
    FormData(Box<Multipart>),
    UrlEncoded,
    /// With the `Content-Type` that is true afterwards.
    Transcode(Box<Transcoder>, HeaderValue),
}

enum Verdict {
    Utf8,
    Pass,
    Transcode(Box<Transcoder>),
}

fn is_coded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().any(|value| {
        let mut codings = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        codings.any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
    })
}

/// Whether a message has no body and no type. Such a message, a `GET` for example, is not asked for a type.
pub(crate) fn is_empty(headers: &HeaderMap, body: &impl Body) -> bool {
    body.is_end_stream() && !headers.contains_key(CONTENT_TYPE)
}

fn is_range(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_RANGE).iter().any(|value| !is_unsatisfied(value.as_bytes()))
}

/// Whether a `Content-Range` says that there is no range, as `bytes */9` with `416` does (RFC 9110 §14.4): then the
/// body is whole.
fn is_unsatisfied(value: &[u8]) -> bool {
    value.splitn(2, |byte| *byte == b' ').nth(1).is_some_and(|range| range.starts_with(b"*/"))
}

/// The one boundary of a form. Programs differ in which of several they believe.
fn boundary<'t>(form: &'t ContentType<'_>) -> Result<&'t [u8], MultipartError> {
    let mut boundaries = form
        .parameters()
        .filter(|(name, _)| is_or_extends(name, "boundary"))
        .map(|(name, value)| if name.contains('*') { &[][..] } else { value });
    let first = boundaries.next().ok_or(MultipartError::Boundary)?;
    if boundaries.all(|other| other == first) { Ok(first) } else { Err(MultipartError::Boundary) }
}

fn content_type(headers: &HeaderMap) -> Result<Option<ContentType<'_>>, Reason> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let first = values.next();
    if values.any(|value| Some(value) != first) {
        return Err(Reason::ConflictingCharset);
    }
    first.map(|value| ContentType::parse(value.as_bytes())).transpose().map_err(Reason::ContentType)
}

/// The types whose standard has no `charset` parameter, because they are UTF-8.
fn has_no_charset(content_type: &ContentType<'_>) -> bool {
    let json = |name: &str| ["json", "json-seq", "x-ndjson", "ndjson", "jsonl"].contains(&name);
    json(&content_type.subtype().to_ascii_lowercase())
        || content_type.suffix().is_some_and(|suffix| json(&suffix.to_ascii_lowercase()))
        || content_type.is("text", "event-stream")
        || is_url_encoded(content_type)
}

fn is_url_encoded(content_type: &ContentType<'_>) -> bool {
    content_type.is("application", "x-www-form-urlencoded")
}

/// Makes the header fields true for a body that becomes UTF-8 on its way.
pub(crate) fn transcoded(headers: &mut HeaderMap, content_type: HeaderValue) {
    integrity::length_changes(headers);
    headers.insert(CONTENT_TYPE, content_type);
}

/// The same type, in UTF-8.
fn in_utf8(content_type: &ContentType<'_>) -> HeaderValue {
    let mut value = format!("{}/{}", content_type.top(), content_type.subtype()).into_bytes();
    for (name, text) in content_type.parameters().filter(|(name, _)| !name.eq_ignore_ascii_case("charset")) {
        value.extend_from_slice(format!("; {name}=\"").as_bytes());
        for &byte in text {
            if matches!(byte, b'"' | b'\\') {
                value.push(b'\\');
            }
            value.push(byte);
        }
        value.push(b'"');
    }
    value.extend_from_slice(b"; charset=utf-8");
    HeaderValue::from_bytes(&value).unwrap_or(HeaderValue::from_static("text/plain; charset=utf-8"))
}
