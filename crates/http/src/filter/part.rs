//! The parts of a form and their header fields.

use std::borrow::Cow;

use http::HeaderName;
use utf8_codec::internal::Escapes;
use utf8_codec::json::JsonStrings;
use utf8_codec::{TextDecoder, Utf8Error};
use utf8_codec_media::content_type::{ContentType, FieldSyntax, FormDisposition, check_extended};

use super::delimiters::{DashedSearch, FieldsSearch};
use super::kind::repaired_json;

/// The maximum number of bytes of a `_charset_` field that are stored. No charset has a longer label.
pub(super) const LABEL_LIMIT: usize = 64;

/// How the content of a part is checked.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a form has one at a time")]
pub(super) enum FormPart {
    Untouched,
    Text {
        decoder: TextDecoder,
        /// The offset in the body of the first byte.
        start: u64,
        /// Whether the text is the content of a field, and the start of its name.
        field: Option<Option<Box<str>>>,
        /// The escapes of the text if it is JSON.
        escapes: Option<Box<Escapes>>,
        /// The text of the part if it is the field `_charset_`.
        label: Option<Vec<u8>>,
        /// The search for header fields if the text is outside of the parts.
        fields: Option<FieldsSearch>,
    },
}

impl FormPart {
    /// Text before the first part or after the last one.
    pub(super) const fn outside(decoder: TextDecoder, start: u64, fields: FieldsSearch) -> Self {
        Self::Text { decoder, start, field: None, escapes: None, label: None, fields: Some(fields) }
    }

    pub(super) fn field(
        decoder: TextDecoder,
        start: u64,
        name: Option<Box<str>>,
        strings: Option<JsonStrings>,
        is_charset: bool,
    ) -> Self {
        let escapes = strings.map(|strings| Box::new(Escapes::new(strings)));
        Self::Text {
            decoder,
            start,
            field: Some(name),
            escapes,
            label: is_charset.then(Vec::new),
            fields: None,
        }
    }

    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }

    /// Returns the number of bytes of an unfinished escape and an unfinished character.
    pub(super) fn pending(&self) -> usize {
        match self {
            Self::Text { decoder, escapes, .. } => {
                escapes.as_deref().map_or(0, |escapes| escapes.pending().len()) + decoder.pending().len()
            }
            Self::Untouched => 0,
        }
    }

    /// Returns the number of sequences repaired so far.
    pub(super) fn repaired(&self) -> u64 {
        match self {
            Self::Text { decoder, escapes, .. } => repaired_json(decoder, escapes.as_deref()),
            Self::Untouched => 0,
        }
    }
}

/// The information from the header fields of a part.
#[derive(Debug, Default)]
pub(super) struct PartHeaders<'f> {
    pub(super) content_type: Option<ContentType<'f>>,
    /// The `name` of `Content-Disposition`.
    pub(super) name: Option<Cow<'f, [u8]>>,
    /// The `filename` of `Content-Disposition`, or its `filename*` if that is the only one.
    pub(super) file_name: Option<Cow<'f, [u8]>>,
    /// The position of a `Content-Transfer-Encoding` that changes the bytes (RFC 7578 §4.7). Some readers decode
    /// `base64` or `quoted-printable`, so the text that they read is not the one that would be checked.
    pub(super) encoded: Option<usize>,
}

/// Why the header fields of a part are not accepted.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartHeadersError {
    /// Bytes that are not allowed at this position.
    Malformed(usize),
    /// The text of an extended value is not well-formed. The offset counts from the start of the fields.
    IllFormed(Utf8Error),
}

impl<'f> PartHeaders<'f> {
    /// Parses the fields and the empty line after them. Each field ends with CRLF.
    ///
    /// # Errors
    ///
    /// Returns the position of a line that is not a field, is folded or repeats a field, the position of `--boundary` or
    /// of a bare CR or LF, or the position in a value of the first byte that the grammar does not allow. It is 0 if there
    /// are no fields: RFC 7578 §4.2 requires one, and Werkzeug searches for it in the content. An extended value (RFC 8187),
    /// which RFC 7578 §4.2 does not allow, must be well-formed, because some readers decode it.
    pub(super) fn parse(fields: &'f [u8], search: &DashedSearch) -> Result<Self, PartHeadersError> {
        use PartHeadersError::Malformed;

        let mut headers = Self::default();
        let mut has_disposition = false;
        let mut start = 0;
        loop {
            let rest = &fields[start..];
            let len = memchr::memchr2(b'\r', b'\n', rest).ok_or(Malformed(start))?;
            let line = &rest[..len];
            if !rest[len..].starts_with(b"\r\n") {
                return Err(Malformed(start + len));
            }
            if line.is_empty() {
                return if start > 0 && rest.len() == 2 { Ok(headers) } else { Err(Malformed(start)) };
            }
            if let Some(at) = search.find(line) {
                return Err(Malformed(start + at));
            }
            let colon = memchr::memchr(b':', line).ok_or(Malformed(start))?;
            let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| Malformed(start))?;
            let value = &line[colon + 1..];
            let at = start + colon + 1;
            match name.as_str() {
                "content-type" if headers.content_type.is_some() => return Err(Malformed(start)),
                "content-type" => {
                    let parsed = ContentType::parse(value).map_err(|e| Malformed(at + e.position))?;
                    headers.content_type = Some(parsed);
                }
                "content-disposition" if has_disposition => return Err(Malformed(start)),
                "content-disposition" => {
                    has_disposition = true;
                    let parsed = FormDisposition::parse(value).map_err(|e| Malformed(at + e.position))?;
                    (headers.name, headers.file_name) = (parsed.name, parsed.file_name);
                }
                "content-transfer-encoding" if !is_identity(value) => {
                    headers.encoded.get_or_insert(start);
                }
                _ => {}
            }
            if matches!(name.as_str(), "content-type" | "content-disposition") {
                check_extended(value, FieldSyntax::Single).map_err(|error| {
                    PartHeadersError::IllFormed(error.with_offset(at as u64 + error.offset))
                })?;
            }
            start += len + 2;
        }
    }
}

impl PartHeaders<'_> {
    /// Whether the part is the field `_charset_`.
    pub(super) fn is_charset(&self) -> bool {
        self.name.as_deref() == Some(b"_charset_")
    }
}

/// Whether a transfer encoding leaves the bytes unchanged (RFC 2045 §6.2).
fn is_identity(encoding: &[u8]) -> bool {
    let encoding = encoding.trim_ascii();
    [&b"7bit"[..], b"8bit", b"binary"].iter().any(|identity| encoding.eq_ignore_ascii_case(identity))
}
