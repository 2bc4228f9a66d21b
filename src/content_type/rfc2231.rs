//! Parameters in sections and in percent-encoding (RFC 2231 §3, §4).

use alloc::borrow::Cow;
use alloc::vec::Vec;

#[cfg(feature = "http-rules")]
use super::{is_ascii_label, is_utf8_label};
#[cfg(feature = "http-rules")]
use crate::error::{ErrorKind, Utf8Error};
use crate::percent;

/// The name and the unquoted value of a parameter.
pub(super) type Parameter<'h> = (&'h str, Cow<'h, [u8]>);

/// The name of a parameter: `base ["*" section] ["*"]`.
struct Name<'h> {
    base: &'h str,
    section: Option<usize>,
    extended: bool,
}

impl<'h> Name<'h> {
    /// Returns `None` for an ordinary name. An ordinary name contains no `*`, starts with `*`, or has a section that is
    /// not a number.
    fn of(name: &'h str) -> Option<Self> {
        let (rest, extended) = name.strip_suffix('*').map_or((name, false), |rest| (rest, true));
        if rest.is_empty() || rest.starts_with('*') {
            return None;
        }
        if let Some((base, digits)) = rest.split_once('*') {
            // A number with leading zeros or a sign is not a section (RFC 2231 §7), so the name is an ordinary one.
            let section =
                digits.parse().ok().filter(|_| digits.len() == 1 || !digits.starts_with(['0', '+']))?;
            return Some(Self { base, section: Some(section), extended });
        }
        extended.then_some(Self { base: rest, section: None, extended })
    }
}

/// Whether a parameter with this name may have an empty unquoted value: a later section in percent-encoding
/// (`extended-other-values`, RFC 2231 §7).
pub(super) fn may_be_empty(name: &str) -> bool {
    Name::of(name).is_some_and(|name| name.extended && name.section.is_some_and(|section| section > 0))
}

/// Joins the sections of each parameter in numerical order and decodes percent-encoding.
///
/// Sections after a gap are ignored, as in other programs. A section that occurs twice becomes a separate parameter, so
/// that it conflicts with the joined one. The sections are sorted, because a search for each of them would be
/// quadratic, and a header may have thousands.
pub(super) fn join(parameters: Vec<Parameter<'_>>) -> Vec<Parameter<'_>> {
    let mut joined = Vec::with_capacity(parameters.len());
    let mut sections = Vec::new();
    for (name, value) in parameters {
        match Name::of(name) {
            None => joined.push((name, value)),
            Some(Name { base, section: None, .. }) => {
                joined.push((base, Cow::Owned(percent::decoded(without_charset(&value)).collect())));
            }
            Some(Name { base, section: Some(section), extended }) => {
                sections.push((base, section, extended, value));
            }
        }
    }
    sections.sort_by(|one, two| in_any_case(one.0).cmp(in_any_case(two.0)).then(one.1.cmp(&two.1)));
    for sections in sections.chunk_by(|one, two| one.0.eq_ignore_ascii_case(two.0)) {
        let (mut whole, mut next) = (Vec::new(), 0);
        for (base, section, extended, value) in sections {
            let value = if *extended && *section == 0 { without_charset(value) } else { value };
            let value = if *extended { percent::decoded(value).collect() } else { value.to_vec() };
            if *section == next {
                whole.extend(value);
                next += 1;
            } else if *section < next {
                joined.push((base, Cow::Owned(value)));
            } else {
                break;
            }
        }
        if next > 0 {
            joined.push((sections[0].0, Cow::Owned(whole)));
        }
    }
    joined
}

fn in_any_case(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// Returns the part after `charset'language'`.
fn without_charset(value: &[u8]) -> &[u8] {
    value.splitn(3, |&byte| byte == b'\'').nth(2).unwrap_or(value)
}

/// The charsets in which the text of an extended value is checked.
#[cfg(feature = "http-rules")]
#[derive(Clone, Copy)]
enum Checked {
    Utf8,
    Ascii,
}

/// Checks the extended values of a header field of HTTP: `name*=charset'language'text` (RFC 8187 §3.2.1), where `text` is
/// percent-encoded. A value in UTF-8, in ASCII or without a charset must encode well-formed text. Other charsets are not
/// checked.
///
/// A value in quotes is not allowed by RFC 8187, but many readers decode it, so it is checked too. So is each section
/// of a parameter (`name*1*=text`, RFC 2231 §3) on its own, as it is decoded. An extended value is found wherever one
/// starts, also inside a quoted string, because readers differ in where a quoted string ends after a backslash. In a
/// field that is a list it ends with a comma.
///
/// # Errors
///
/// Returns the first error. Its offset is the position in the field of the first byte of the sequence or of its `%`.
#[cfg(feature = "http-rules")]
pub(crate) fn check_extended(field: &[u8], is_list: bool) -> Result<(), Utf8Error> {
    let (mut at, mut charset_before) = (0, None);
    while let Some(distance) = field[at..].iter().position(|byte| *byte == b'=') {
        let equals = at + distance;
        let name = field[at..equals].trim_ascii_end();
        at = equals + 1;
        let Some(name) = name.strip_suffix(b"*") else { continue };
        at += field[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let is_quoted = field[at..].starts_with(b"\"");
        at += usize::from(is_quoted);
        let is_end = |byte: &u8| *byte == b'"' || !is_quoted && (*byte == b';' || is_list && *byte == b',');
        let end = field[at..].iter().position(is_end).map_or(field.len(), |len| at + len);
        let value = &field[at..end];
        let text = without_charset(value);
        let start = end - text.len();
        if start > at {
            charset_before = match value.split(|byte| *byte == b'\'').next().unwrap_or_default() {
                b"" => Some(Checked::Utf8),
                label if is_utf8_label(label) => Some(Checked::Utf8),
                label if is_ascii_label(label) => Some(Checked::Ascii),
                _ => None,
            };
        } else if !is_later_section(name) {
            continue;
        }
        at = end;
        let Some(charset) = charset_before else { continue };
        let in_field = |error: Utf8Error| Utf8Error { offset: start as u64 + error.offset, ..error };
        percent::check(text).map_err(in_field)?;
        if matches!(charset, Checked::Ascii)
            && let Some(position) = first_above_ascii(text)
        {
            return Err(in_field(Utf8Error::new(position as u64, ErrorKind::OutsideSubset, 1)));
        }
    }
    Ok(())
}

/// Whether a name without its last `*` is that of a section after the first, which has no charset of its own.
#[cfg(feature = "http-rules")]
fn is_later_section(name: &[u8]) -> bool {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (base, number) = name.split_at(name.len() - digits);
    base.ends_with(b"*") && !number.is_empty() && number != b"0"
}

/// Returns the position of the first byte above `7F`, escaped or not.
#[cfg(feature = "http-rules")]
fn first_above_ascii(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some((byte, len)) = percent::first_byte(&text[at..]) {
        if !byte.is_ascii() {
            return Some(at);
        }
        at += len;
    }
    None
}
