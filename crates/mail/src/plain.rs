//! A simple parser of `Content-Type`, similar to the parsers of many mail readers. It splits at `;` and `=` and supports
//! quotes, but no other part of the grammar.
//!
//! It parses comments (RFC 5322 §3.2.2), white space in the type, and parameters in sections or in percent-encoding
//! (RFC 2231) differently from the full grammar.

use alloc::vec::Vec;

use utf8_codec_media::content_type::ContentType;

/// Whether the simple parser finds the same type, boundaries and charsets in `value` as the full grammar, whose result
/// is `content_type`. A comment after a type without parts is ignored.
pub(super) fn reads_alike(value: &[u8], content_type: &ContentType<'_>) -> bool {
    let top = content_type.top();
    let subtype = content_type.subtype();
    let holds_parts = ["multipart", "message"].iter().any(|holder| top.eq_ignore_ascii_case(holder));
    let mut segments = Segments { rest: Some(value) };
    let is_same_type = segments.next().map(trim_blanks).is_some_and(|plain| {
        let end = if holds_parts { plain.len() } else { plain.len().min(top.len() + 1 + subtype.len()) };
        plain[..end].eq_ignore_ascii_case([top.as_bytes(), b"/", subtype.as_bytes()].concat().as_slice())
    });
    is_same_type && reads_parameters_alike(value, content_type)
}

/// Whether the simple parser finds the same boundaries and charsets in `value` as the full grammar.
pub(super) fn reads_parameters_alike(value: &[u8], content_type: &ContentType<'_>) -> bool {
    let parameters: Vec<_> = Segments { rest: Some(value) }.skip(1).filter_map(parameter).collect();
    ["boundary", "charset"].iter().all(|wanted| {
        let plain = parameters.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
        let full = content_type.parameters().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        plain.map(|(_, value)| &value[..]).eq(full.map(|(_, value)| value))
    })
}

/// Removes white space and the line breaks of folds at both ends.
pub(super) fn trim_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] | [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = value {
        value = rest;
    }
    value
}

/// The segments between semicolons that are not in quotes.
struct Segments<'v> {
    rest: Option<&'v [u8]>,
}

impl<'v> Iterator for Segments<'v> {
    type Item = &'v [u8];

    fn next(&mut self) -> Option<&'v [u8]> {
        let rest = self.rest?;
        let mut is_quoted = false;
        let mut is_escaped = false;
        let end = rest.iter().position(|&byte| {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = is_quoted,
                b'"' => is_quoted = !is_quoted,
                b';' => return !is_quoted,
                _ => {}
            }
            false
        });
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(&rest[..end.unwrap_or(rest.len())])
    }
}

/// Splits a parameter into its name and its value without quotes.
fn parameter(segment: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let equals = segment.iter().position(|&byte| byte == b'=')?;
    let name = trim_blanks(&segment[..equals]);
    let value = trim_blanks(&segment[equals + 1..]);
    let Some(quoted) = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")) else {
        return Some((name, value.to_vec()));
    };
    let mut text = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().peekable();
    while let Some(&byte) = bytes.next() {
        // A backslash escapes only a quote or a backslash. Before any other byte it is literal, as in file names.
        let escaped = if byte == b'\\' { bytes.next_if(|next| matches!(next, b'"' | b'\\')) } else { None };
        text.push(*escaped.unwrap_or(&byte));
    }
    Some((name, text))
}
