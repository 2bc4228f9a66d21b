//! The rules: which bodies are text, in which charset, and how they are checked. They use only the header fields. A plan
//! for a document that may declare its encoding leaves the rest to the filter of the body.

pub(super) mod decision;

use core::fmt;
use std::borrow::Cow;
use std::sync::Arc;

use utf8_codec::TextDecoder;
use utf8_codec::json::JsonStrings;
use utf8_codec_media::content_type::ContentType;

use super::charset::{OtherCharset, transcoding};
use super::fields::ContentFields;
use super::options::{MissingCharset, MissingContentType, Uncheckable};
use super::plan::{BodyPlan, Change, Check};
use super::protobuf_types::ProtobufTypes;
use super::rejection::MessageKind;
use crate::protobuf::StringFilter;
use utf8_codec::ErrorPolicy;

/// The rules that determine which bodies are checked, and what happens to the others.
///
/// The defaults of [`new`](Self::new) are for requests. Text that cannot be checked is rejected, and each exception is
/// a setting. A body that is not text passes. The messages of gRPC and Connect, each with its length before it, count
/// as not text, even if the suffix names a text format, as in `application/grpc+json`. To reject them, set
/// [`with_length_prefixed`](Self::with_length_prefixed).
///
/// | message | [`new`](Self::new), for requests | [`for_responses`](Self::for_responses) | setting |
/// |---|---|---|---|
/// | a text type ([`is_text_type`](utf8_codec_media::content_type::is_text_type)), UTF-8 or no `charset` | checked | checked | [`with_text_types`](Self::with_text_types), [`with_missing_charset`](Self::with_missing_charset) |
/// | another type that declares UTF-8, as in `application/vnd.x; charset=utf-8` | checked | checked | [`with_text_types`](Self::with_text_types) |
/// | `application/x-www-form-urlencoded` | checked after percent-decoding | checked after percent-decoding | |
/// | a text type in another charset, also one that the document declares | `415` | passes | [`with_other_charset`](Self::with_other_charset), [`with_transcoding`](Self::with_transcoding) |
/// | a text type in US-ASCII | checked as ASCII | passes | [`with_other_charset`](Self::with_other_charset) |
/// | a text type with a `Content-Encoding` other than `identity` | `415` | passes, unless clients ignore it | [`with_content_codings`](Self::with_content_codings) |
/// | a text type with a `Content-Range` | `400` | passes | [`with_content_ranges`](Self::with_content_ranges) |
/// | `Cache-Control: no-transform`, if it would be repaired or transcoded | `400`, `415` | passes | [`with_no_transform`](Self::with_no_transform) |
/// | a body without a `Content-Type` | checked as UTF-8 | passes | [`with_missing_content_type`](Self::with_missing_content_type) |
/// | a malformed `Content-Type`, or two that differ | `400` | `502` | [`with_malformed_content_type`](Self::with_malformed_content_type) |
/// | `charset` parameters that conflict | `400` | `502` | |
/// | trailer fields | checked | pass | [`with_trailer_check`](Self::with_trailer_check) |
/// | `multipart/form-data` | passes | passes | [`with_form_data`](Self::with_form_data) |
/// | gRPC, gRPC-Web, Connect streams | passes, as any type that is not text | passes | [`with_length_prefixed`](Self::with_length_prefixed) |
/// | JSON in UTF-8, its strings | not checked | not checked | [`with_json_strings`](Self::with_json_strings) |
/// | protobuf messages; gRPC, gRPC-Web and Connect with protobuf | passes | passes | `with_protobuf`, `with_protobuf_types` |
/// | any other type | passes | passes | [`with_text_types`](Self::with_text_types) |
///
/// # Charset
///
/// The `charset` parameter has no effect on types whose standard requires UTF-8: JSON and sequences of JSON (RFC 8259
/// sections 8.1 and 11), event streams (HTML §9.2.5), YAML, TOML and others
/// ([`is_text_type`](utf8_codec_media::content_type::is_text_type)). They are checked as UTF-8 under every setting and
/// never transcoded. Urlencoded forms (WHATWG URL Standard §5.1) and the fields of `multipart/form-data` (RFC 7578
/// §5.1.2) are UTF-8 without the parameter.
///
/// XML, HTML and CSS without the parameter may declare their encoding: by a BOM of UTF-8 or UTF-16, the XML declaration
/// (RFC 7303 §3), a `meta` element in the first 1,024 bytes (HTML §13.2.3), or `@charset` (CSS Syntax Level 3 §3.2). If
/// they declare another one, [`with_other_charset`](Self::with_other_charset) applies, and no policy repairs them. The
/// start of the body is held until that is known: of XML and CSS no more than the declaration, of HTML up to 1,024
/// bytes. Where another charset passes, ASCII is not held, unless it depends on a subset or a policy for the BOM. A
/// UTF-16 declaration in ASCII cannot be true and means UTF-8. The parts of a `multipart/form-data` are not searched.
///
/// With `charset=utf-8` nothing is searched. A BOM of UTF-16, which for readers has precedence over the parameter
/// (RFC 7303 §3, HTML §13.2.3.1), is then ill-formed UTF-8. With another charset a BOM counts where the body is transcoded,
/// for all types ("decode" in the WHATWG Encoding Standard).
///
/// In HTML and CSS a label that the WHATWG Encoding Standard does not have is ignored, and the next declaration counts
/// (HTML §13.2.3.2, CSS Syntax Level 3 §3.2). In XML it is another charset.
///
/// A `meta` element after the first 1,024 bytes is not seen: HTML §4.2.5.4 does not allow it there, but browsers follow it.
/// Such a page is read as UTF-8, so a policy that repairs replaces its text, and `Strict` ends it at the first error. To
/// avoid this, send a `charset` parameter, or set [`with_missing_charset`](Self::with_missing_charset) to
/// [`Pass`](MissingCharset::Pass).
///
/// Text in US-ASCII is checked as ASCII where another charset would be rejected: bytes above `7F` are errors under every
/// policy. With a subset it is rejected like another charset.
///
/// The folded lines of `text/calendar` and `text/vcard` are not joined: a character that a fold splits (RFC 5545 §3.1) is
/// an error. `unwrap::Unfolder` of `utf8-codec-mail` joins them.
///
/// # Codings
///
/// If clients compress their requests, apply the rules after decompression, because compressed content cannot be
/// checked. An unknown coding and a malformed range are also rejected, because the handler may ignore the field and
/// read the body. Where codings pass, `none`, the transfer encodings of mail such as `8bit`, and labels of UTF-8 and US-ASCII
/// are read as `identity`, as by clients.
///
/// ```
/// use utf8_codec::{ErrorPolicy, TextDecoder};
/// use utf8_codec_http::{BodyRules, MissingCharset, Uncheckable};
///
/// let rules = BodyRules::new()
///     .with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace))
///     .with_missing_charset(MissingCharset::Reject)
///     .with_other_charset(Uncheckable::Pass);
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
    no_transform: Uncheckable,
    length_prefixed: Uncheckable,
    form_data: bool,
    field_types: Option<Arc<TypePredicate>>,
    trailers: bool,
    json_strings: Option<JsonStrings>,
    json_event_streams: bool,
    protobuf: Option<Arc<StringFilter>>,
    protobuf_types: Option<Arc<ProtobufTypes>>,
    /// The maximum length of a compressed message, if these are inflated.
    #[cfg(feature = "inflate")]
    max_inflated: Option<u64>,
    decoder: TextDecoder,
}

type TypePredicate = dyn Fn(&ContentType<'_>) -> bool + Send + Sync;

impl BodyRules {
    /// Creates the default rules for requests: text that cannot be checked is rejected.
    pub const fn new() -> Self {
        Self {
            text_types: None,
            missing_type: MissingContentType::Check,
            malformed_type: Uncheckable::Reject,
            missing: MissingCharset::Utf8,
            other: OtherCharset::Reject,
            codings: Uncheckable::Reject,
            ranges: Uncheckable::Reject,
            no_transform: Uncheckable::Reject,
            length_prefixed: Uncheckable::Pass,
            form_data: false,
            field_types: None,
            trailers: true,
            json_strings: None,
            json_event_streams: false,
            protobuf: None,
            protobuf_types: None,
            #[cfg(feature = "inflate")]
            max_inflated: None,
            decoder: TextDecoder::new(),
        }
    }

    /// Creates the default rules for responses. Text in another charset, in a content coding or in a range passes,
    /// because the client requested it and can read it. A body without a `Content-Type` also passes, and so does one that
    /// must not be changed.
    pub const fn for_responses() -> Self {
        Self::new()
            .with_missing_content_type(MissingContentType::Pass)
            .with_other_charset(Uncheckable::Pass)
            .with_content_codings(Uncheckable::Pass)
            .with_content_ranges(Uncheckable::Pass)
            .with_no_transform(Uncheckable::Pass)
            .with_trailer_check(false)
    }

    /// Sets which media types are text, instead of [`is_text_type`](utf8_codec_media::content_type::is_text_type).
    ///
    /// `|_| true` checks every body that has a type.
    #[must_use]
    pub fn with_text_types<F>(mut self, is_text: F) -> Self
    where
        F: Fn(&ContentType<'_>) -> bool + Send + Sync + 'static,
    {
        self.text_types = Some(Arc::new(is_text));
        self
    }

    /// Sets what happens to a body without a `Content-Type`.
    #[must_use]
    pub const fn with_missing_content_type(mut self, missing: MissingContentType) -> Self {
        self.missing_type = missing;
        self
    }

    /// Sets what happens to a body whose `Content-Type` does not match the grammar of RFC 9110 §8.3.1, or occurs twice
    /// with different values. By default the message is rejected with `400`, because another program may find a
    /// different type.
    #[must_use]
    pub const fn with_malformed_content_type(mut self, malformed: Uncheckable) -> Self {
        self.malformed_type = malformed;
        self
    }

    /// Sets what happens to text without a `charset`, except for [types](Self#charset) that are UTF-8 without it.
    #[must_use]
    pub const fn with_missing_charset(mut self, missing: MissingCharset) -> Self {
        self.missing = missing;
        self
    }

    /// Sets what happens to text in a charset other than UTF-8, declared by the `charset` parameter or by an XML, HTML or CSS
    /// document. By default the message is rejected with `415`.
    #[must_use]
    pub const fn with_other_charset(mut self, text: Uncheckable) -> Self {
        self.other = match text {
            Uncheckable::Reject => OtherCharset::Reject,
            Uncheckable::Pass => OtherCharset::Pass,
        };
        self
    }

    /// Transcodes text in another charset to UTF-8, instead of [`with_other_charset`](Self::with_other_charset), and
    /// changes its `Content-Type`. The declaration in a document is not changed: the `charset` parameter has precedence
    /// over it. A BOM is removed, whatever the policy for the BOM. Labels that are not in the WHATWG Encoding Standard,
    /// urlencoded forms, and fields of `multipart/form-data` are rejected.
    ///
    /// Only programs that call it contain the tables of the encodings.
    #[must_use]
    pub const fn with_transcoding(mut self) -> Self {
        self.other = OtherCharset::Transcode(transcoding);
        self
    }

    /// Sets what happens to text with a `Content-Encoding` other than `identity`, known or not. By default the message
    /// is rejected with `415`. With [`Uncheckable::Pass`] it is checked if [clients ignore](Self#codings) the coding.
    #[must_use]
    pub const fn with_content_codings(mut self, codings: Uncheckable) -> Self {
        self.codings = codings;
        self
    }

    /// Sets what happens to text with a `Content-Range`, including a malformed one. A range may start inside a
    /// character. By default the message is rejected with `400`, as RFC 9110 §14.5 requires of a server that does not
    /// support ranges.
    ///
    /// `bytes */9`, which is not a range (RFC 9110 §14.4), is ignored: the body is complete and is checked.
    #[must_use]
    pub const fn with_content_ranges(mut self, ranges: Uncheckable) -> Self {
        self.ranges = ranges;
        self
    }

    /// Sets what happens to a body with `Cache-Control: no-transform`, which a proxy must not change (RFC 9110 §7.7, RFC 9111
    /// §5.2.2.6), if these rules could change it: by a policy that repairs or removes a BOM, or by transcoding.
    ///
    /// With [`Uncheckable::Reject`] it is checked under [`ErrorPolicy::Strict`](utf8_codec::ErrorPolicy::Strict): a
    /// body that would be repaired or transcoded is rejected, the others pass, and a BOM is kept. Text that must have a
    /// BOM ([`BomPolicy::Require`](utf8_codec::BomPolicy::Require)), which is removed, is rejected. With
    /// [`Uncheckable::Pass`] the body passes without a check, so its sender can avoid the repair. Rules that change
    /// nothing check it as any other body.
    #[must_use]
    pub const fn with_no_transform(mut self, bodies: Uncheckable) -> Self {
        self.no_transform = bodies;
        self
    }

    /// Whether the field of a request must be removed before the request is forwarded, because these rules, which apply
    /// to its response, could change the body: `Range` and `If-Range`.
    ///
    /// A client that resumes a download would join a repaired start and a range of the original. Without `Range` the
    /// response is the whole body (RFC 9110 §14.2), which can be repaired. The layer for responses removes both fields.
    ///
    /// ```
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    /// use utf8_codec_http::BodyRules;
    ///
    /// let strict = BodyRules::for_responses();
    /// let repair = strict.clone().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    /// assert!(!strict.removes_from_request("range") && repair.removes_from_request("range"));
    /// ```
    pub fn removes_from_request(&self, name: &str) -> bool {
        ["range", "if-range"].iter().any(|range| name.eq_ignore_ascii_case(range))
            && self.most_change() != Change::Nothing
    }

    /// Whether escapes of JSON that are not accepted are removed.
    pub(crate) fn drops_escapes(&self) -> bool {
        self.json_strings.is_some_and(|strings| !strings.escape_policy().keeps_len())
    }

    /// Returns the largest change that the rules can make to a body.
    fn most_change(&self) -> Change {
        let text = BodyPlan::new(Check::Text, self.decoder.clone()).change();
        let form = BodyPlan::new(Check::UrlEncoded, self.decoder.clone()).change();
        let json = self
            .json_strings
            .map(|strings| BodyPlan::new(Check::Json(strings), self.decoder.clone()).change());
        let transcoded = if self.other.transcodes() { Change::Length } else { Change::Nothing };
        let messages = match &self.protobuf {
            Some(message) if message.decoder().error_policy() != ErrorPolicy::Strict => Change::Bytes,
            _ => Change::Nothing,
        };
        text.max(form).max(json.unwrap_or(Change::Nothing)).max(transcoded).max(messages)
    }

    /// Returns the plan for the header fields of a message whose body is not sent but which describe one: the response to
    /// `HEAD`, and the status `304` (RFC 9110 §9.3.2, §15.4.5). What would be rejected passes, because there is no body.
    ///
    /// A `304` usually has no `Content-Type`. Its body could then have any type, so the fields that the rules
    /// invalidate for some type are removed: a cache must not combine its repaired body with a strong `ETag` of the
    /// original (RFC 9111 §4.3.4).
    ///
    /// ```
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    /// use utf8_codec_http::{BodyRules, ContentFields};
    ///
    /// let rules = BodyRules::for_responses().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    /// assert!(rules.describe(&ContentFields::new(), 304).invalidates("etag", b"\"a\""));
    /// assert!(!rules.describe(&ContentFields::new(), 200).invalidates("etag", b"\"a\""));
    /// ```
    pub fn describe(&self, fields: &ContentFields<'_>, status: u16) -> BodyPlan {
        match fields.content_type() {
            None if status == 304 && !fields.is_fixed() => {
                BodyPlan::new(Check::Described(self.most_change()), self.decoder.clone())
            }
            _ => self.decide(fields).unwrap_or_else(|_| self.pass()),
        }
    }

    /// Sets what happens to the bodies of gRPC, gRPC-Web and Connect streams
    /// ([`is_length_prefixed`](utf8_codec_media::content_type::is_length_prefixed)), even with a
    /// suffix such as `+json` and whatever [`with_text_types`](Self::with_text_types) says. They are not checked or
    /// changed, because a binary length precedes each message, except for those with protobuf and its schema. By default they
    /// pass, as other types that are not text do. With [`Uncheckable::Reject`] the message is rejected with `415`.
    #[must_use]
    pub const fn with_length_prefixed(mut self, bodies: Uncheckable) -> Self {
        self.length_prefixed = bodies;
        self
    }

    /// Sets whether the text fields of `multipart/form-data` (RFC 7578) are checked. Files and the parts of other
    /// multipart types are not checked.
    ///
    /// A part with a `filename` is a file, and so is one with only a `filename*` (RFC 8187) in UTF-8 or ISO 8859-1. A part
    /// without one is a field, whatever its own `Content-Type` ([`with_field_types`](Self::with_field_types)). A part
    /// with an empty `filename`, which browsers send for an input without a file (HTML §4.10.21.8), is a field too:
    /// Django and busboy read it as text.
    ///
    /// If readers could differ in what is a field and what is a file, the form is rejected under every policy
    /// ([`MultipartError::Malformed`](super::MultipartError::Malformed)):
    ///
    /// - `--boundary` is only in delimiters, which RFC 2046 §5.1.1 also requires of the parts. Werkzeug and PHP find a
    ///   delimiter after a bare LF, Django in the middle of a line, in header fields, and before and after the parts.
    /// - Before and after the parts there are no header fields with an empty line after them: Django reads a part there.
    /// - A part has header fields (RFC 7578 §4.2), none of them folded or repeated.
    /// - A backslash before a quote (RFC 9110 §5.6.4, HTML §4.10.21.8), and a `filename*` beside a `filename`, do not decide
    ///   whether the part is a file.
    ///
    /// There is one exception: a file name that ends with a backslash is accepted as browsers send it (`filename="a\"`,
    /// HTML §4.10.21.8), although Werkzeug ignores it and reads the file as a field.
    ///
    /// A subset of the decoder must have CR and LF, because headers and delimiters end with them.
    #[must_use]
    pub const fn with_form_data(mut self, check: bool) -> Self {
        self.form_data = check;
        self
    }

    /// Sets which parts of a form without a `filename` are checked, by their own `Content-Type`. By default all are:
    /// undici, Werkzeug and other readers decode such a part as text, whatever its type. Exclude the types of parts that
    /// your program reads as bytes, for example with `|given| !given.is("application", "octet-stream")`.
    #[must_use]
    pub fn with_field_types<F>(mut self, is_field: F) -> Self
    where
        F: Fn(&ContentType<'_>) -> bool + Send + Sync + 'static,
    {
        self.field_types = Some(Arc::new(is_field));
        self
    }

    /// Checks the strings of protobuf messages, with the message type and the policy of this filter. For paths
    /// with other types, use [`with_protobuf_types`](Self::with_protobuf_types).
    ///
    /// | body | type: `application/` and |
    /// |---|---|
    /// | one message | `protobuf`, `x-protobuf`, `proto`, and `vnd.google.protobuf` without an `encoding` or with `binary` |
    /// | gRPC | `grpc`, `grpc+proto` |
    /// | gRPC-Web; its frame of trailers is not checked | `grpc-web`, `grpc-web+proto` |
    /// | the same in base64 | `grpc-web-text`, `grpc-web-text+proto` |
    /// | a stream of Connect; the JSON at its end is checked as text | `connect+proto` |
    ///
    /// A compressed message of a stream is rejected or passes like a [content coding](Self::with_content_codings), unless
    /// `with_inflated_messages` of the feature `inflate` is set. A rejected message that was read in part ends with an
    /// error, because its start has been forwarded. A policy that changes lengths applies to a body that a layer of
    /// [`tower`](crate::tower) holds; in others `?` replaces each ill-formed byte.
    #[must_use]
    pub fn with_protobuf(mut self, message: StringFilter) -> Self {
        self.protobuf = Some(Arc::new(message));
        self
    }

    /// Inflates and checks the compressed messages of gRPC, gRPC-Web and Connect streams, each up to this length: most
    /// receivers accept 4 MiB. The text may have at most 1 MiB more than 200 times the length of its message. A message
    /// beyond these limits, or a corrupt one, is rejected under every policy.
    ///
    /// The encoding is that of `grpc-encoding` or `connect-content-encoding`: `gzip`, or `deflate`, which is the format of
    /// zlib. A message with another encoding is handled like a [content coding](Self::with_content_codings), and so is one of
    /// gRPC-Web in base64 under a policy that repairs.
    ///
    /// Without errors a message is forwarded as it came. A repaired one is not compressed, so the length of the body changes;
    /// for this a message is held until its end ([`GrpcFilter::with_inflater`](crate::protobuf::GrpcFilter::with_inflater)).
    #[cfg(feature = "inflate")]
    #[must_use]
    pub const fn with_inflated_messages(mut self, max_length: u64) -> Self {
        self.max_inflated = Some(max_length);
        self
    }

    /// Sets the types of protobuf messages by the path of their request, which take precedence over
    /// [`with_protobuf`](Self::with_protobuf). The layers of [`tower`](crate::tower) find the path themselves; otherwise
    /// use [`for_path`](Self::for_path).
    #[must_use]
    pub fn with_protobuf_types(mut self, types: ProtobufTypes) -> Self {
        self.protobuf_types = Some(Arc::new(types));
        self
    }

    /// Returns the rules for a message, by the path of its request. They are the same for all paths, except for the types
    /// of `with_protobuf_types`.
    pub fn for_path(&self, path: &str, message: MessageKind) -> Cow<'_, Self> {
        if let Some(filter) = self.protobuf_types.as_ref().and_then(|types| types.filter(path, message)) {
            return Cow::Owned(self.clone().with_protobuf(filter));
        }
        Cow::Borrowed(self)
    }

    /// Whether [`for_path`](Self::for_path) may return other rules.
    #[cfg(feature = "tower")]
    pub(crate) const fn has_paths(&self) -> bool {
        self.protobuf_types.is_some()
    }

    /// Sets whether the values of the trailer fields of all bodies are checked. An ill-formed value is an error under
    /// every policy and is never repaired. The status of gRPC is not lost: `grpc-message` may have any value, and beside a
    /// `grpc-status` a field with an ill-formed value is removed, and counted as repaired.
    #[must_use]
    pub const fn with_trailer_check(mut self, check: bool) -> Self {
        self.trailers = check;
        self
    }

    /// Sets which escapes are accepted in the strings of [JSON](utf8_codec::json). By default they are not checked.
    ///
    /// It applies to `application/json`, the suffix `+json`, lines of JSON (`application/x-ndjson`, `application/jsonl`
    /// and others) and JSON sequences (`application/json-seq`, `+json-seq`), and to the fields of a form with one of
    /// these types. An unfinished escape, at most 11 bytes, is held. The length of the body does not change, so
    /// `Content-Length` is kept.
    ///
    /// ```
    /// use utf8_codec::Subset;
    /// use utf8_codec_http::{BodyKind, BodyRules, ContentFields, RejectReason};
    /// use utf8_codec::json::JsonStrings;
    ///
    /// let rules = BodyRules::new().with_json_strings(JsonStrings::new().with_subset(&Subset::NO_NUL));
    /// let mut fields = ContentFields::new();
    /// fields.add("content-type", b"application/problem+json");
    /// assert_eq!(rules.decide(&fields)?.kind(), BodyKind::Json);
    /// # Ok::<(), RejectReason>(())
    /// ```
    #[must_use]
    pub const fn with_json_strings(mut self, strings: JsonStrings) -> Self {
        self.json_strings = Some(strings);
        self
    }

    /// Returns the rules for the fields of a form.
    pub(crate) fn for_form(&self, decoder: TextDecoder, strings: Option<JsonStrings>) -> Self {
        Self { json_strings: strings, ..self.clone().with_decoder(decoder) }
    }

    /// Sets whether [`with_json_strings`](Self::with_json_strings) also applies to `text/event-stream`, for services whose
    /// events have data in JSON. The default is `false`, because the data may be any text.
    #[must_use]
    pub const fn with_json_event_streams(mut self, check: bool) -> Self {
        self.json_event_streams = check;
        self
    }

    /// Sets the policies for ill-formed text and for the BOM. The offset and the counters of the decoder are not used.
    ///
    /// A document in another encoding is not repaired if it [declares](Self#charset) the encoding in the part that is
    /// searched: in HTML the first 1,024 bytes.
    #[must_use]
    pub const fn with_decoder(mut self, decoder: TextDecoder) -> Self {
        self.decoder = decoder.restarted_at(0);
        self
    }
}

utf8_codec::default_is_new!(BodyRules);

impl fmt::Debug for BodyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyRules")
            .field("missing_type", &self.missing_type)
            .field("malformed_type", &self.malformed_type)
            .field("missing", &self.missing)
            .field("other", &self.other)
            .field("codings", &self.codings)
            .field("ranges", &self.ranges)
            .field("no_transform", &self.no_transform)
            .field("length_prefixed", &self.length_prefixed)
            .field("form_data", &self.form_data)
            .field("trailers", &self.trailers)
            .field("json_strings", &self.json_strings)
            .field("json_event_streams", &self.json_event_streams)
            .field("decoder", &self.decoder)
            .finish_non_exhaustive()
    }
}
