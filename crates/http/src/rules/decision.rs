//! What the rules decide on a message, and on the fields of a form.

use http::HeaderValue;
use utf8_codec::TextDecoder;
#[cfg(feature = "inflate")]
use utf8_codec::inflate::Deflate;
use utf8_codec::inflate::Inflater;
use utf8_codec::json::JsonStrings;
use utf8_codec_media::content_type::{
    Charset, ContentType, TextKind, is_ascii_label, is_length_prefixed, is_or_extends, is_text_type,
    text_kind,
};
use utf8_codec_media::declared::DocumentKind;
use utf8_codec_media::delimiter::Boundary;

use super::BodyRules;
use crate::charset::{OtherCharset, SourceCharset};
use crate::error::MultipartError;
#[cfg(feature = "inflate")]
use crate::fields::MessageEncoding;
use crate::fields::{Coding, ContentFields};
use crate::options::{MissingCharset, MissingContentType, Uncheckable};
use crate::plan::{BodyPlan, Change, Check, in_ascii};
use crate::protobuf_types::Protobuf;
use crate::reason::RejectReason;

/// How the content of a form field is checked.
pub(crate) enum FieldCheck {
    Text(TextDecoder),
    Pass,
    Reject,
}

impl BodyRules {
    /// Decides how the body of a message is checked, from its header fields.
    ///
    /// Call it only for a message with a body. Without a body, a missing type is not an error.
    ///
    /// # Errors
    ///
    /// Returns the reason to reject the message.
    ///
    /// ```
    /// use utf8_codec_http::{BodyKind, BodyRules, ContentFields, RejectReason};
    ///
    /// let mut fields = ContentFields::new();
    /// fields.add("content-type", b"application/json");
    /// assert_eq!(BodyRules::new().decide(&fields)?.kind(), BodyKind::Text);
    /// fields.add("content-encoding", b"gzip");
    /// assert_eq!(BodyRules::new().decide(&fields).unwrap_err(), RejectReason::ContentCoding);
    /// # Ok::<(), RejectReason>(())
    /// ```
    pub fn decide(&self, fields: &ContentFields<'_>) -> Result<BodyPlan, RejectReason> {
        let plan = self.decide_by_type(fields)?;
        match self.no_transform {
            _ if !fields.is_fixed() || plan.change() == Change::Nothing => Ok(plan),
            Uncheckable::Reject => plan.without_change(),
            Uncheckable::Pass => Ok(self.pass()),
        }
    }

    fn decide_by_type(&self, fields: &ContentFields<'_>) -> Result<BodyPlan, RejectReason> {
        let content_type = match content_type(fields) {
            Ok(content_type) => content_type,
            Err(_) if self.malformed_type == Uncheckable::Pass => return Ok(self.plan(Check::Pass)),
            Err(RejectReason::ContentType(_)) if self.ignores_parameters(fields) => {
                return Ok(self.plan(Check::Pass));
            }
            Err(reason) => return Err(reason),
        };
        let protobuf = content_type.as_ref().zip(self.protobuf.as_deref());
        let protobuf = protobuf
            .and_then(|(given, message)| Protobuf::of(given, message, self.codings, self.inflater(fields)));
        let is_form = match &content_type {
            Some(given) if self.form_data && given.is("multipart", "form-data") => true,
            Some(_) if protobuf.is_some() => false,
            // Even if a predicate says that it is text: the messages are text, but the lengths between them are not.
            Some(given) if is_length_prefixed(given) => match self.length_prefixed {
                Uncheckable::Pass => return Ok(self.plan(Check::Pass)),
                Uncheckable::Reject => return Err(RejectReason::LengthPrefixed),
            },
            Some(given) if self.is_text(given) => false,
            Some(_) => return Ok(self.plan(Check::Pass)),
            None => match self.missing_type {
                MissingContentType::Check => false,
                MissingContentType::Pass => return Ok(self.plan(Check::Pass)),
                MissingContentType::Reject => return Err(RejectReason::MissingContentType),
            },
        };
        let coding = fields.coding();
        if coding != Coding::Identity && self.codings == Uncheckable::Reject {
            return Err(RejectReason::ContentCoding);
        }
        if fields.is_range() && self.ranges == Uncheckable::Reject {
            return Err(RejectReason::ContentRange);
        }
        if coding == Coding::Other || fields.is_range() {
            return Ok(self.plan(Check::Pass));
        }
        if let Some(protobuf) = protobuf {
            let decoder = protobuf.decoder().clone();
            return Ok(BodyPlan::new(Check::Protobuf(Box::new(protobuf)), decoder));
        }
        Ok(self.plan(match &content_type {
            Some(form) if is_form => Check::FormData {
                boundary: boundary(form).map_err(RejectReason::Multipart)?,
                strings: self.json_strings,
            },
            Some(text) => return self.plan_of_text(text),
            None => Check::Text,
        }))
    }

    /// Returns the inflater for the compressed messages of a body, if they are inflated and their encoding is known.
    #[cfg(feature = "inflate")]
    fn inflater(&self, fields: &ContentFields<'_>) -> Option<Inflater> {
        let inflater = match fields.message_encoding() {
            MessageEncoding::Gzip => Inflater::new(Deflate::gzip()),
            MessageEncoding::Zlib => Inflater::new(Deflate::zlib()),
            MessageEncoding::Identity | MessageEncoding::Other => return None,
        };
        Some(inflater.with_max_length(self.max_inflated?))
    }

    #[cfg(not(feature = "inflate"))]
    const fn inflater(&self, _: &ContentFields<'_>) -> Option<Inflater> {
        None
    }

    /// Whether the values of trailer fields are checked.
    pub const fn trailer_check(&self) -> bool {
        self.trailers
    }

    pub(crate) const fn text_decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Returns the plan for a body that is not checked.
    pub(crate) fn pass(&self) -> BodyPlan {
        self.plan(Check::Pass)
    }

    pub(crate) fn is_text(&self, content_type: &ContentType<'_>) -> bool {
        match &self.text_types {
            Some(predicate) => predicate(content_type),
            None => is_text_type(content_type),
        }
    }

    /// Whether the body is multipart and is not checked, whatever its parameters. A boundary that cannot be parsed is then
    /// not an error.
    fn ignores_parameters(&self, fields: &ContentFields<'_>) -> bool {
        let value = fields.content_type().unwrap_or_default();
        let name = value.split(|byte| *byte == b';').next().unwrap_or_default();
        ContentType::parse(name).is_ok_and(|given| {
            given.top().eq_ignore_ascii_case("multipart")
                && !(self.form_data && given.is("multipart", "form-data"))
                && !self.is_text(&given)
        })
    }

    fn plan(&self, check: Check) -> BodyPlan {
        BodyPlan::new(check, self.decoder.clone())
    }

    /// Decides how text is checked, by the charset of its type.
    fn plan_of_text(&self, content_type: &ContentType<'_>) -> Result<BodyPlan, RejectReason> {
        let kind = text_kind(content_type).unwrap_or(TextKind::Charset);
        let check = match content_type.charset() {
            Charset::Conflicting => return Err(RejectReason::ConflictingCharset),
            Charset::Utf8 => self.utf8_check(kind, content_type),
            // The parameter has no effect.
            Charset::Missing | Charset::Other(_) if kind.is_always_utf8() => {
                self.utf8_check(kind, content_type)
            }
            Charset::Missing if kind == TextKind::Form => Check::UrlEncoded,
            Charset::Missing if self.missing == MissingCharset::Pass => Check::Pass,
            Charset::Missing if self.missing == MissingCharset::Reject => {
                return Err(RejectReason::MissingCharset);
            }
            Charset::Missing => match document(kind) {
                None => self.utf8_check(kind, content_type),
                Some(kind) => {
                    let content_type = self.other.transcodes().then(|| in_utf8(content_type));
                    Check::Document { kind, other: self.other, content_type }
                }
            },
            Charset::Other(_) if self.other.is_pass() => Check::Pass,
            Charset::Other(label) if self.other.is_reject() && is_ascii_label(label) => {
                let decoder = in_ascii(self.decoder.clone()).ok_or(RejectReason::UnsupportedCharset)?;
                return Ok(BodyPlan::new(self.utf8_check(kind, content_type), decoder));
            }
            Charset::Other(label) => {
                let charset = SourceCharset::for_label(label).ok_or(RejectReason::UnsupportedCharset)?;
                match self.other {
                    // A form cannot be transcoded: its escapes would stay in the other charset.
                    OtherCharset::Transcode(start) if kind != TextKind::Form => {
                        Check::Transcode { charset, start, content_type: in_utf8(content_type) }
                    }
                    _ => return Err(RejectReason::UnsupportedCharset),
                }
            }
        };
        Ok(self.plan(check))
    }

    /// Returns the check of text in UTF-8.
    fn utf8_check(&self, kind: TextKind, content_type: &ContentType<'_>) -> Check {
        match self.json_strings_of(content_type) {
            _ if kind == TextKind::Form => Check::UrlEncoded,
            Some(strings) => Check::Json(strings),
            None => Check::Text,
        }
    }

    /// Returns which escapes are accepted in text of this type, if they are checked.
    pub(crate) fn json_strings_of(&self, content_type: &ContentType<'_>) -> Option<JsonStrings> {
        let is_json = text_kind(content_type) == Some(TextKind::Json)
            || self.json_event_streams && content_type.is("text", "event-stream");
        self.json_strings.filter(|_| is_json)
    }

    /// Whether a part of a form is a field, by its own type and its `filename`.
    pub(crate) fn is_field(&self, content_type: Option<&ContentType<'_>>, file_name: Option<&[u8]>) -> bool {
        match (content_type, file_name) {
            (_, Some([_, ..])) => false,
            // Browsers send an empty `filename` for an input without a file. Django and busboy find a field there.
            (None, _) | (Some(_), Some([])) => true,
            (Some(given), None) => self.field_types.as_ref().is_none_or(|is_field| is_field(given)),
        }
    }

    /// Returns how a form field is checked. `default` is declared by the field `_charset_`. Without a charset the field is in
    /// UTF-8 (RFC 7578 §5.1.2), which browsers do not declare.
    pub(crate) fn field_check(
        &self,
        content_type: Option<&ContentType<'_>>,
        default: Charset<'_>,
    ) -> FieldCheck {
        let charset = match content_type.map_or(Charset::Missing, ContentType::charset) {
            Charset::Missing => default,
            charset => charset,
        };
        let is_always_utf8 = content_type.and_then(text_kind).is_some_and(TextKind::is_always_utf8);
        match charset {
            Charset::Utf8 | Charset::Missing => FieldCheck::Text(self.decoder.clone()),
            // The parameter has no effect.
            Charset::Other(_) if is_always_utf8 => FieldCheck::Text(self.decoder.clone()),
            Charset::Other(_) if self.other.is_pass() => FieldCheck::Pass,
            Charset::Other(label) if is_ascii_label(label) => {
                in_ascii(self.decoder.clone()).map_or(FieldCheck::Reject, FieldCheck::Text)
            }
            Charset::Other(_) | Charset::Conflicting => FieldCheck::Reject,
        }
    }
}

/// Returns the boundary of a form. A `boundary*=` (RFC 2231) is an error: it is defined for mail, but some HTTP
/// libraries read it too.
fn boundary(form: &ContentType<'_>) -> Result<Boundary, MultipartError> {
    if form.parameters().any(|(name, _)| name.contains('*') && is_or_extends(name, "boundary")) {
        return Err(MultipartError::Boundary);
    }
    Boundary::of(form).ok_or(MultipartError::Boundary)
}

fn content_type<'h>(fields: &ContentFields<'h>) -> Result<Option<ContentType<'h>>, RejectReason> {
    if fields.has_conflicting_types() {
        return Err(RejectReason::ConflictingCharset);
    }
    fields.content_type().map(ContentType::parse).transpose().map_err(RejectReason::ContentType)
}

/// Returns the kind of a document that may declare its encoding.
const fn document(kind: TextKind) -> Option<DocumentKind> {
    match kind {
        TextKind::Xml => Some(DocumentKind::Xml),
        TextKind::Html => Some(DocumentKind::Html),
        TextKind::Css => Some(DocumentKind::Css),
        TextKind::Charset | TextKind::Utf8 | TextKind::Json | TextKind::Form => None,
    }
}

/// Returns the type with its charset replaced by `charset=utf-8`.
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
