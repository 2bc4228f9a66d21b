//! The parts of a form and their header fields.

use http::HeaderName;

use super::text::repaired;
use crate::content_type::{ContentType, token_and_parameters};
use crate::text::TextDecoder;

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
        /// The text of the part if it is the field `_charset_`.
        label: Option<Vec<u8>>,
    },
}

impl FormPart {
    pub(super) fn text(decoder: TextDecoder, start: u64, is_charset: bool) -> Self {
        Self::Text { decoder, start, label: is_charset.then(Vec::new) }
    }

    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }

    /// Returns the number of bytes of an unfinished character.
    pub(super) fn pending(&self) -> usize {
        match self {
            Self::Text { decoder, .. } => decoder.pending().len(),
            Self::Untouched => 0,
        }
    }

    /// Returns the number of sequences repaired so far.
    pub(super) fn repaired(&self) -> u64 {
        match self {
            Self::Text { decoder, .. } => repaired(decoder),
            Self::Untouched => 0,
        }
    }
}

/// The information from the header fields of a part.
#[derive(Debug, Default)]
pub(super) struct PartHeaders<'f> {
    pub(super) content_type: Option<ContentType<'f>>,
    /// Whether `Content-Disposition` has a `filename` that is not empty. Some readers find a field in a part with an
    /// empty one. A `filename*` does not make the part a file, because RFC 7578 §4.2 forbids it and some readers ignore
    /// it.
    pub(super) is_file: bool,
    /// Whether the part is the field `_charset_`.
    pub(super) is_charset: bool,
    /// The position of a `Content-Transfer-Encoding` that changes the bytes (RFC 7578 §4.7). Some readers decode
    /// `base64` or `quoted-printable`, so the text that they read is not the one that would be checked.
    pub(super) encoded: Option<usize>,
}

impl<'f> PartHeaders<'f> {
    /// Parses the fields and the empty line after them. Each field ends with CRLF.
    ///
    /// # Errors
    ///
    /// Returns the position of a line that is not a field, starts with `dashed` (`--boundary`), is folded or repeats a
    /// field or a parameter, the position of a bare CR or LF, or the position in a value of the first byte that the
    /// grammar does not allow.
    pub(super) fn parse(fields: &'f [u8], dashed: &[u8]) -> Result<Self, usize> {
        let mut headers = Self::default();
        let mut has_disposition = false;
        let mut start = 0;
        loop {
            let rest = &fields[start..];
            let len = memchr::memchr2(b'\r', b'\n', rest).ok_or(start)?;
            let line = &rest[..len];
            if !rest[len..].starts_with(b"\r\n") {
                return Err(start + len);
            }
            if line.is_empty() {
                return if rest.len() == 2 { Ok(headers) } else { Err(start) };
            }
            let colon = memchr::memchr(b':', line).filter(|_| !line.starts_with(dashed)).ok_or(start)?;
            let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| start)?;
            let (value, at) = (&line[colon + 1..], start + colon + 1);
            match name.as_str() {
                "content-type" if headers.content_type.is_some() => return Err(start),
                "content-type" => {
                    headers.content_type = Some(ContentType::parse(value).map_err(|e| at + e.position)?);
                }
                "content-disposition" if has_disposition => return Err(start),
                "content-disposition" => {
                    has_disposition = true;
                    let (_, parameters) = token_and_parameters(value).map_err(|e| at + e.position)?;
                    let (mut has_name, mut has_file_name) = (false, false);
                    for (name, value) in &parameters {
                        let before = if name.eq_ignore_ascii_case("filename") {
                            headers.is_file = !value.is_empty();
                            core::mem::replace(&mut has_file_name, true)
                        } else if name.eq_ignore_ascii_case("name") {
                            headers.is_charset = value.as_ref() == b"_charset_";
                            core::mem::replace(&mut has_name, true)
                        } else {
                            false
                        };
                        if before {
                            return Err(start);
                        }
                    }
                }
                "content-transfer-encoding" if !is_identity(value) => {
                    headers.encoded.get_or_insert(start);
                }
                _ => {}
            }
            start += len + 2;
        }
    }
}

/// Whether a transfer encoding leaves the bytes unchanged (RFC 2045 §6.2).
fn is_identity(encoding: &[u8]) -> bool {
    let encoding = encoding.trim_ascii();
    [&b"7bit"[..], b"8bit", b"binary"].iter().any(|identity| encoding.eq_ignore_ascii_case(identity))
}
