//! The check of one direction of a connection or message, over the slices of an engine's buffer.
//!
//! ```
//! use utf8_codec::TextDecoder;
//! use utf8_codec_engines::plan::{Check, Verdict};
//!
//! let mut check = Check::text(TextDecoder::new(), false);
//! let slices: [&[u8]; 2] = [b"na\xC3", b"\xAFve \xC3"];
//! let outcome = check.feed(&slices, false);
//! // All bytes except the last one are forwarded unchanged. That byte is held until its character is complete.
//! assert_eq!((outcome.kept, outcome.tail.as_slice()), (7, &b""[..]));
//! let outcome = check.feed(&[b"\xA9"], true);
//! assert_eq!((outcome.head.as_slice(), outcome.kept), (&b"\xC3"[..], 1));
//! assert_eq!(outcome.verdict, Verdict::Pass);
//! ```

use std::borrow::Cow;

use bytes::Bytes;
use http::HeaderName;
use utf8_codec::json::JsonStrings;
use utf8_codec::{TextDecoder, Utf8Error, from_utf8};
use utf8_codec_http::{
    BodyFilter, BodyKind, BodyPlan, BodyRules, ContentFields, MessageKind, RejectReason as MessageReason,
    check_field,
};
use utf8_codec_media::content_type;
use utf8_codec_proxy::{Filter, ForwardPolicy};

use crate::config::Settings;
use crate::outcome::Output;
pub use crate::outcome::{Head, Outcome, Verdict};
use crate::reason::Reason;

/// The check of one stream of text.
#[derive(Debug)]
pub struct Check {
    kind: Kind,
    only_reports: bool,
    /// The plan of a body that may be changed.
    repair: Option<Box<BodyPlan>>,
}

#[derive(Debug)]
enum Kind {
    /// Not checked, or not checked anymore.
    Pass,
    Text(Filter),
    /// A form, whose text is checked after decoding, or a document, whose start is held until its encoding is known.
    Body(Box<BodyFilter>),
}

impl Check {
    /// Creates a check that accepts everything.
    pub const fn pass() -> Self {
        Self::new(Kind::Pass, false)
    }

    /// Creates a check of UTF-8 text. With `only_reports` nothing is changed, and the first error ends the check.
    pub const fn text(decoder: TextDecoder, only_reports: bool) -> Self {
        Self::new(Kind::Text(Filter::with_decoder(decoder)), only_reports)
    }

    const fn new(kind: Kind, only_reports: bool) -> Self {
        Self { kind, only_reports, repair: None }
    }

    /// Creates the check of a direction of a connection.
    pub fn connection(settings: &Settings) -> Self {
        let check = Self::text(settings.decoder(), settings.only_reports())
            .with_forward_policy(settings.forward_policy());
        match settings.json_strings() {
            Some(strings) => check.with_json_strings(strings),
            None => check,
        }
    }

    /// Sets what is forwarded of a character that is not complete, in text. Forms and documents are forwarded in whole
    /// characters.
    #[must_use]
    pub fn with_forward_policy(self, forward: ForwardPolicy) -> Self {
        match self.kind {
            Kind::Text(filter) => Self { kind: Kind::Text(filter.with_forward_policy(forward)), ..self },
            kind => Self { kind, ..self },
        }
    }

    /// Also checks the escapes in the strings of JSON, in text.
    #[must_use]
    pub fn with_json_strings(self, strings: JsonStrings) -> Self {
        match self.kind {
            Kind::Text(filter) => Self { kind: Kind::Text(filter.with_json_strings(strings)), ..self },
            kind => Self { kind, ..self },
        }
    }

    /// Creates the check of a body from its plan.
    pub fn body(plan: &BodyPlan, rules: &BodyRules, only_reports: bool) -> Self {
        let kind = match (plan.kind(), plan.json_strings()) {
            (BodyKind::Pass, _) => return Self::pass(),
            (BodyKind::Json, Some(strings)) => {
                Kind::Text(Filter::with_decoder(plan.decoder().clone()).with_json_strings(strings))
            }
            (BodyKind::Text, _) => Kind::Text(Filter::with_decoder(plan.decoder().clone())),
            _ => Kind::Body(Box::new(BodyFilter::new(plan, rules))),
        };
        let may_change = !only_reports && plan.invalidates("content-digest", b"");
        Self { repair: may_change.then(|| Box::new(plan.clone())), ..Self::new(kind, only_reports) }
    }

    /// Returns the names of the header or trailer fields that are wrong for a body that may be repaired: digests, a
    /// strong `ETag`, and `Content-Length`.
    pub fn untrue<'f>(&self, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Vec<String> {
        self.repair.as_ref().map(|plan| invalidated(plan, fields)).unwrap_or_default()
    }

    /// Whether nothing is checked, or nothing is checked anymore.
    pub const fn is_passing(&self) -> bool {
        matches!(self.kind, Kind::Pass)
    }

    /// Checks the next slices. With `end` the stream ends after them. There may be no slices then.
    ///
    /// After [`Verdict::Rejected`] nothing is checked, and the caller drops further data.
    pub fn feed(&mut self, slices: &[&[u8]], end: bool) -> Outcome {
        #[cfg(feature = "panic-on-marker")]
        panic_on_marker(slices);
        let mut output = Output::new(slices);
        let len = output.len();
        let (repaired, error) = match &mut self.kind {
            Kind::Pass => {
                output.kept = len;
                (0, None)
            }
            Kind::Text(filter) => feed_text(filter, &mut output, end),
            Kind::Body(filter) => {
                let result = feed_body(filter, &mut output, end);
                // A document in UTF-8, after its start. The rest is not copied. It is forwarded in whole characters, as the
                // start is, so that the bytes before an error do not depend on where the start ends.
                if let Some(decoder) = filter.text_decoder().filter(|_| !end) {
                    self.kind = Kind::Text(Filter::with_decoder(decoder));
                }
                result
            }
        };
        let verdict = match error {
            None => Verdict::Pass,
            Some(reason) => {
                self.kind = Kind::Pass;
                let reason = reason.into();
                if self.only_reports { Verdict::Reported(reason) } else { Verdict::Rejected(reason) }
            }
        };
        if self.only_reports {
            return Outcome::unchanged(len, verdict);
        }
        output.outcome(repaired, verdict)
    }
}

/// Returns the names of the fields that are wrong for the body of a plan.
fn invalidated<'f>(plan: &BodyPlan, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Vec<String> {
    fields
        .filter_map(|(name, value)| Some((from_utf8(name).ok()?, value)))
        .filter(|(name, value)| plan.invalidates(name, value))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Panics at a marker in the input, for tests.
#[cfg(feature = "panic-on-marker")]
fn panic_on_marker(slices: &[&[u8]]) {
    const MARKER: &[u8] = b"panic in a hook";
    if slices.iter().any(|slice| slice.windows(MARKER.len()).any(|window| window == MARKER)) {
        panic!("the marker of the tests");
    }
}

fn feed_text(filter: &mut Filter, output: &mut Output<'_>, end: bool) -> (u64, Option<MessageReason>) {
    let before = filter.counters().total();
    let slices = output.slices;
    let mut result = Ok(());
    for (index, slice) in slices.iter().enumerate() {
        result = filter.feed_with(slice, |edit| output.edit(index, edit));
        if result.is_err() {
            break;
        }
        output.start += slice.len();
    }
    if end && result.is_ok() {
        result = filter.finish_with(|edit| output.edit(slices.len(), edit));
    }
    let errors = filter.counters().total() - before;
    match result {
        // The last error was not repaired.
        Err(error) => (errors.saturating_sub(1), Some(MessageReason::Body(error))),
        Ok(()) => (errors, None),
    }
}

fn feed_body(filter: &mut BodyFilter, output: &mut Output<'_>, end: bool) -> (u64, Option<MessageReason>) {
    let before = filter.repaired();
    let mut result = Ok(());
    for slice in output.slices {
        filter.push(Bytes::copy_from_slice(slice));
        result = result.and_then(|()| drain(filter, &mut output.tail));
    }
    if end {
        filter.finish();
        result = result.and_then(|()| drain(filter, &mut output.tail));
    }
    let repaired = filter.repaired() - before;
    (repaired, result.err())
}

/// Appends the output of a filter.
fn drain(filter: &mut BodyFilter, output: &mut Vec<u8>) -> Result<(), MessageReason> {
    while let Some(data) = filter.next() {
        output.extend_from_slice(&data?);
    }
    Ok(())
}

/// The check of the body of an HTTP message, and the header fields to remove.
#[derive(Debug)]
pub struct MessagePlan {
    /// The check of the body.
    pub check: Check,
    /// The names of the fields to remove: those that are wrong for the body, and those that ask for a range of a response
    /// that may be repaired.
    pub removed: Vec<String>,
}

/// What follows the header fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A body.
    Body,
    /// Nothing.
    Nothing,
    /// Nothing, but the fields are those of a response with a body: the response to `HEAD`, or the status 304 (RFC 9110
    /// sections 9.3.2 and 15.4.5). This is its status.
    Described(u16),
    /// The bytes of a tunnel, which are not checked: see [`Tunnel`].
    Tunnel,
}

impl Content {
    /// Returns the content of a request.
    pub const fn of_request(has_body: bool, tunnel: Tunnel) -> Self {
        match has_body {
            _ if tunnel.skips_request() => Self::Tunnel,
            true => Self::Body,
            false => Self::Nothing,
        }
    }

    /// Returns the content of a response that opens no tunnel. `is_head` is set if its request has the method `HEAD`.
    pub const fn of_response(has_body: bool, is_head: bool, status: u16) -> Self {
        match status {
            _ if has_body => Self::Body,
            304 => Self::Described(status),
            // The fields of 206 are those of a part.
            100..=199 | 204 | 206 => Self::Nothing,
            _ if is_head => Self::Described(status),
            _ => Self::Nothing,
        }
    }
}

/// Whether the pseudo-fields of a request have the method `HEAD`.
pub fn is_head<'f>(mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
    fields.any(|field| field == (b":method", b"HEAD"))
}

/// Whether the fields of a request are those of gRPC, whose clients read the status from `grpc-status`.
pub fn is_grpc<'f>(mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
    fields.any(|(name, value)| name.eq_ignore_ascii_case(b"content-type") && content_type::is_grpc(value))
}

/// Returns the status of the pseudo-fields of a response, or 0.
pub fn status<'f>(mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> u16 {
    let value = fields.find_map(|(name, value)| (name == b":status").then_some(value));
    value.and_then(|value| from_utf8(value).ok()?.parse().ok()).unwrap_or(0)
}

/// Decides how an HTTP message is checked, from its header fields.
///
/// Each field is a name and a value; pseudo-fields start with `:`. For a response, `path` is that of its request, from which
/// the type of a protobuf message is known.
///
/// # Errors
///
/// Returns the reason to reject the message.
pub fn decide<'f, F>(
    settings: &Settings,
    message: MessageKind,
    fields: F,
    content: Content,
    path: Option<&'f str>,
) -> Result<MessagePlan, Reason>
where
    F: Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
{
    let mut check = Check::pass();
    let mut removed = Vec::new();
    if settings.covers(message) {
        if settings.checks_headers(message) {
            check_values(fields.clone(), MessageReason::Header)?;
        }
        match content {
            Content::Body => {
                let rules = rules(settings, message, fields.clone(), path);
                let plan = rules.decide(&content_fields(fields.clone()))?;
                check = Check::body(&plan, &rules, settings.only_reports())
                    .with_forward_policy(settings.forward_policy());
                removed = check.untrue(fields.clone());
            }
            Content::Described(status) if !settings.only_reports() => {
                let rules = rules(settings, message, fields.clone(), path);
                let plan = rules.describe(&content_fields(fields.clone()), status);
                removed = invalidated(&plan, fields.clone());
            }
            Content::Described(_) | Content::Nothing | Content::Tunnel => {}
        }
    }
    if message == MessageKind::Request {
        removed.extend(range_fields(settings, fields));
    }
    Ok(MessagePlan { check, removed })
}

/// Returns the rules for a message, by the path of its request.
fn rules<'s, 'f>(
    settings: &'s Settings,
    message: MessageKind,
    mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    path: Option<&'f str>,
) -> Cow<'s, BodyRules> {
    let rules = settings.rules(message);
    let path = path.or_else(|| {
        let path = fields.find(|(name, _)| *name == b":path");
        path.and_then(|(_, value)| from_utf8(value).ok())
    });
    let messages = path.zip(settings.protobuf());
    match messages.and_then(|(path, messages)| messages.filter(path, message)) {
        Some(filter) => Cow::Owned(rules.clone().with_protobuf(filter)),
        None => Cow::Borrowed(rules),
    }
}

/// Returns the fields that determine how a body is checked.
fn content_fields<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> ContentFields<'f> {
    let mut content = ContentFields::new();
    for (name, value) in fields {
        if let Ok(name) = from_utf8(name) {
            content.add(name, value);
        }
    }
    content
}

/// Returns the names of the fields of a request that ask for a range of a response that may be repaired. [`decide`]
/// includes them.
pub fn range_fields<'f>(
    settings: &Settings,
    fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
) -> Vec<String> {
    if settings.only_reports() || !settings.covers(MessageKind::Response) {
        return Vec::new();
    }
    // The rules of protobuf, which depend on the path, have the same policy.
    let rules = settings.rules(MessageKind::Response);
    let names = fields.filter_map(|(name, _)| from_utf8(name).ok());
    names.filter(|name| rules.removes_from_request(name)).map(str::to_owned).collect()
}

/// Whether a request asks for a tunnel, and whether its response opens one.
///
/// An `Upgrade` field alone is not a request for a tunnel: RFC 9110 section 7.8 requires `Connection: upgrade` too, and
/// a recipient without it forwards an ordinary body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tunnel {
    /// An ordinary request.
    #[default]
    No,
    /// `CONNECT`, also the one of RFC 8441. The bytes after the header are those of the tunnel.
    Connect,
    /// An upgrade of a request without a body. The bytes after the header are those of the tunnel.
    Upgrade,
    /// An upgrade of a request that declares a body. The body is checked until the response opens the tunnel. An engine
    /// may deliver both as one stream, so the body must not be held until its end.
    UpgradeAfterBody,
}

impl Tunnel {
    /// Returns the tunnel that the fields of a request ask for.
    pub fn of_request<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Self {
        let mut has_upgrade = false;
        let mut has_option = false;
        let mut has_body = false;
        for (name, value) in fields {
            if name == b":protocol" || name == b":method" && value == b"CONNECT" {
                return Self::Connect;
            }
            has_upgrade |= name.eq_ignore_ascii_case(b"upgrade");
            has_option |= name.eq_ignore_ascii_case(b"connection")
                && value
                    .split(|&byte| byte == b',')
                    .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"));
            has_body |= name.eq_ignore_ascii_case(b"transfer-encoding")
                || name.eq_ignore_ascii_case(b"content-length")
                    && value.iter().any(|byte| !matches!(byte, b'0' | b' ' | b'\t'));
        }
        match (has_upgrade && has_option, has_body) {
            (false, _) => Self::No,
            (true, false) => Self::Upgrade,
            (true, true) => Self::UpgradeAfterBody,
        }
    }

    /// Whether the request has no body to check.
    pub const fn skips_request(self) -> bool {
        matches!(self, Self::Connect | Self::Upgrade)
    }

    /// Whether a response with these fields opens the tunnel: the status 101, or 2xx for `CONNECT`.
    pub fn is_opened_by<'f>(self, mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
        fields.any(|(name, value)| {
            name == b":status" && (value == b"101" || self == Self::Connect && value.starts_with(b"2"))
        })
    }
}

/// Checks the values of trailer fields.
///
/// # Errors
///
/// Returns the reason for the first ill-formed value. An offset counts from the start of the value.
pub fn check_trailers<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Result<(), Reason> {
    Ok(check_values(fields, MessageReason::Trailer)?)
}

/// Checks the values of header or trailer fields. Returns the reason for the first ill-formed value, created by `reason`.
fn check_values<'f>(
    fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    reason: impl Fn(HeaderName, Utf8Error) -> MessageReason,
) -> Result<(), MessageReason> {
    for (name, value) in fields {
        if let Err(error) = check_field(from_utf8(name).unwrap_or_default(), value) {
            return Err(match name {
                b":path" => MessageReason::Path(error),
                // Envoy uses `:authority` for `Host`, and checks the other pseudo-fields itself.
                _ => reason(HeaderName::from_bytes(name).unwrap_or(http::header::HOST), error),
            });
        }
    }
    Ok(())
}
