//! The plan for a body and for its header fields.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_media::declared::DocumentKind;
use utf8_codec_media::delimiter::Boundary;

use super::charset::{NewTranscoding, OtherCharset, SourceCharset};
use super::protobuf_types::Protobuf;
use super::reason::RejectReason;

/// How a body is checked or transcoded. [`BodyRules::decide`](super::BodyRules::decide) returns it.
///
/// [`BodyFilter::new`](super::BodyFilter::new) creates the filter for it. An engine without `HeaderMap` updates the
/// header fields of the message with [`content_type`](Self::content_type) and [`invalidates`](Self::invalidates). Text
/// in UTF-8, the most frequent case, is checked with a `Filter` of `utf8-codec-proxy`, which reports ranges of the
/// engine's buffer:
///
/// ```
/// use utf8_codec_http::{BodyKind, BodyRules, ContentFields, MessageKind, RejectReason, Rejection};
/// use utf8_codec_proxy::{Edit, Filter};
///
/// let mut fields = ContentFields::new();
/// fields.add("content-type", b"text/plain; charset=utf-8");
/// let plan = BodyRules::new().decide(&fields)?;
/// assert_eq!(plan.kind(), BodyKind::Text);
///
/// let mut filter = Filter::with_decoder(plan.decoder().clone());
/// assert_eq!(filter.feed_with("café".as_bytes(), |edit| assert_eq!(edit, Edit::Pass(0..5))), Ok(()));
/// let error = filter.feed_with(b"\xFF", |_| {}).unwrap_err();
/// let rejection = Rejection::new(MessageKind::Request, RejectReason::Body(error));
/// assert_eq!(rejection.status(), 400);
/// assert!(rejection.problem_json().ends_with(r#""kind":"InvalidLead","offset":5,"len":1}"#));
/// # Ok::<(), RejectReason>(())
/// ```
#[derive(Clone, Debug)]
pub struct BodyPlan {
    check: Check,
    decoder: TextDecoder,
}

/// How a body is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BodyKind {
    /// The body is not checked, because it is not text or because a rule allows it.
    Pass,
    /// The body is checked as UTF-8.
    Text,
    /// The body is JSON. It is checked as UTF-8, and so are the escapes in its strings ([`BodyPlan::json_strings`]).
    Json,
    /// The body is XML, HTML or CSS without a `charset` parameter. It is checked as UTF-8 unless it declares another
    /// encoding at its start.
    Document,
    /// The body is checked as UTF-8 after percent-decoding: `application/x-www-form-urlencoded`.
    UrlEncoded,
    /// The text fields of the body are checked: `multipart/form-data`.
    FormData,
    /// The body is text in another charset and is transcoded to UTF-8.
    Transcode,
    /// The strings in the body are checked: of a protobuf message, or of the messages of gRPC, gRPC-Web or a Connect stream.
    Protobuf,
}

/// A [`BodyKind`] with the data for its check.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    Pass,
    Text,
    Json(JsonStrings),
    /// `content_type` is set if the text is transcoded to UTF-8. It is known before the body is.
    Document {
        kind: DocumentKind,
        other: OtherCharset,
        content_type: Option<HeaderValue>,
    },
    UrlEncoded,
    /// `strings` is set if the escapes in fields of JSON are checked.
    FormData {
        boundary: Boundary,
        strings: Option<JsonStrings>,
    },
    Transcode {
        charset: SourceCharset,
        start: NewTranscoding,
        content_type: HeaderValue,
    },
    Protobuf(Box<Protobuf>),
    /// There is no body, and its type is not known. The change applies to the body that the header fields describe.
    Described(Change),
}

impl BodyPlan {
    pub(crate) const fn new(check: Check, decoder: TextDecoder) -> Self {
        Self { check, decoder }
    }

    pub(crate) const fn check(&self) -> &Check {
        &self.check
    }

    /// Returns how the body is checked.
    pub const fn kind(&self) -> BodyKind {
        match self.check {
            Check::Pass | Check::Described(_) => BodyKind::Pass,
            Check::Text => BodyKind::Text,
            Check::Json(_) => BodyKind::Json,
            Check::Document { .. } => BodyKind::Document,
            Check::UrlEncoded => BodyKind::UrlEncoded,
            Check::FormData { .. } => BodyKind::FormData,
            Check::Transcode { .. } => BodyKind::Transcode,
            Check::Protobuf(_) => BodyKind::Protobuf,
        }
    }

    /// Returns a decoder with the policies for ill-formed text and for the BOM.
    pub const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Returns which escapes are accepted, if the body is JSON. An engine with buffers of its own passes them to
    /// `Filter::with_json_strings` of `utf8-codec-proxy`, with the [`decoder`](Self::decoder).
    pub const fn json_strings(&self) -> Option<JsonStrings> {
        match &self.check {
            Check::Json(strings) => Some(*strings),
            _ => None,
        }
    }

    /// Returns the new `Content-Type` if the body is transcoded.
    pub const fn content_type(&self) -> Option<&HeaderValue> {
        match &self.check {
            Check::Transcode { content_type, .. } => Some(content_type),
            Check::Document { content_type, .. } => content_type.as_ref(),
            _ => None,
        }
    }

    /// Whether a header field of the message may be wrong for the checked body and must be removed. If the body may be
    /// repaired, transcoded or lose its BOM, this applies to a strong `ETag`, digests, `Accept-Ranges` and, if the
    /// length may change, `Content-Length`.
    pub fn invalidates(&self, name: &str, value: &[u8]) -> bool {
        invalidates(name, value, self.change())
    }

    /// Sets the new `Content-Type` if the body is transcoded.
    pub(crate) fn set_content_type(&self, headers: &mut HeaderMap) {
        if let Some(content_type) = self.content_type() {
            headers.insert(CONTENT_TYPE, content_type.clone());
        }
    }

    /// Updates the header fields for the checked body.
    pub(crate) fn adapt(&self, headers: &mut HeaderMap) {
        self.set_content_type(headers);
        remove_invalidated(headers, self.change());
    }

    /// Returns the plan that rejects what this one would change. A BOM is kept.
    pub(crate) fn without_change(self) -> Result<Self, RejectReason> {
        let check = match self.check {
            Check::Json(strings) => Check::Json(strings.with_escape_policy(EscapePolicy::Strict)),
            Check::FormData { boundary, strings } => {
                let strings = strings.map(|strings| strings.with_escape_policy(EscapePolicy::Strict));
                Check::FormData { boundary, strings }
            }
            Check::Document { kind, other, .. } if other.transcodes() => {
                Check::Document { kind, other: OtherCharset::Reject, content_type: None }
            }
            Check::Transcode { .. } => return Err(RejectReason::UnsupportedCharset),
            Check::Protobuf(filter) => Check::Protobuf(Box::new(filter.into_strict())),
            check => check,
        };
        let is_text =
            matches!(check, Check::Text | Check::Json(_) | Check::Document { .. } | Check::FormData { .. });
        let decoder = match self.decoder.bom_policy() {
            BomPolicy::Require if is_text => return Err(RejectReason::NoTransform),
            BomPolicy::Strip | BomPolicy::Require => self.decoder.with_bom_policy(BomPolicy::Keep),
            _ => self.decoder,
        };
        Ok(Self { check, decoder: decoder.with_error_policy(ErrorPolicy::Strict) })
    }

    pub(crate) fn change(&self) -> Change {
        let policy = self.decoder.error_policy();
        let keeps_bom = matches!(self.decoder.bom_policy(), BomPolicy::Keep | BomPolicy::Reject);
        match &self.check {
            Check::Pass => Change::Nothing,
            Check::Described(change) => *change,
            Check::Protobuf(_) if policy == ErrorPolicy::Strict => Change::Nothing,
            Check::Protobuf(filter) if filter.may_change_length() => Change::Length,
            Check::Protobuf(_) => Change::Bytes,
            Check::Document { other, .. } if other.transcodes() => Change::Length,
            Check::UrlEncoded if policy == ErrorPolicy::Strict => Change::Nothing,
            Check::Json(strings) | Check::FormData { strings: Some(strings), .. }
                if keeps_bom
                    && policy == ErrorPolicy::Strict
                    && strings.escape_policy() == EscapePolicy::Replace =>
            {
                Change::Bytes
            }
            Check::Json(strings) | Check::FormData { strings: Some(strings), .. }
                if !strings.escape_policy().keeps_len() =>
            {
                Change::Length
            }
            Check::Text | Check::Json(_) | Check::Document { .. } | Check::FormData { .. }
                if keeps_bom && policy == ErrorPolicy::Strict =>
            {
                Change::Nothing
            }
            Check::Text | Check::Json(_) | Check::Document { .. } | Check::FormData { .. }
                if keeps_bom && policy.keeps_len() =>
            {
                Change::Bytes
            }
            _ => Change::Length,
        }
    }
}

/// Returns the decoder for text in ASCII. Bytes above `7F` are errors under every policy, because a repair would not be
/// ASCII. Returns `None` if the decoder has a subset, which cannot be combined with ASCII.
pub(crate) const fn in_ascii(decoder: TextDecoder) -> Option<TextDecoder> {
    if decoder.has_subset() {
        return None;
    }
    Some(decoder.with_error_policy(ErrorPolicy::Strict).with_subset(&Subset::ASCII))
}

/// The difference between the forwarded body and the received one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Nothing,
    /// The bytes may differ, but the length does not.
    Bytes,
    Length,
}

/// Digests of the body: RFC 9530, its predecessor RFC 3230, and RFC 1864.
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

/// Whether the change invalidates a field. A change of bytes invalidates digests, a strong `ETag` (RFC 9110 §8.8.1) and
/// `Accept-Ranges`, because ranges of the changed body are not ranges of the original. A change of the length also
/// invalidates `Content-Length`.
pub(crate) fn invalidates(name: &str, value: &[u8], change: Change) -> bool {
    match change {
        Change::Nothing => false,
        Change::Length if name.eq_ignore_ascii_case("content-length") => true,
        Change::Bytes | Change::Length => {
            DIGESTS.iter().any(|digest| name.eq_ignore_ascii_case(digest))
                || name.eq_ignore_ascii_case("accept-ranges")
                || name.eq_ignore_ascii_case("etag") && !value.starts_with(b"W/")
        }
    }
}

pub(crate) fn remove_invalidated(headers: &mut HeaderMap, change: Change) {
    if change == Change::Nothing {
        return;
    }
    let untrue = headers.iter().filter(|(name, value)| invalidates(name.as_str(), value.as_bytes(), change));
    let names: Vec<_> = untrue.map(|(name, _)| name.clone()).collect();
    for name in names {
        headers.remove(name);
    }
}
