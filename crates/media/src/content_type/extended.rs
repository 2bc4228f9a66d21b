//! The extended values of header fields in HTTP (RFC 8187).

use alloc::vec::Vec;
use core::cmp::Ordering;

use utf8_codec::{ErrorKind, Utf8Error};

use super::labels;
use super::rfc2231::without_charset;
use crate::percent;
use crate::percent::EncodedText;

/// The syntax of a field that may have extended values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSyntax {
    /// One value with parameters.
    Single,
    /// A list, possibly after the name of a scheme (RFC 9110 §11.4). A comma ends an unquoted value.
    List,
    /// A list of links: each element starts with a URI in `<>` (RFC 8288 §3).
    Links,
}

/// The charset of an extended value, in the order of how much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Declared {
    Other,
    Utf8,
    Ascii,
}

/// Checks the extended values of a header field of HTTP: `name*=charset'language'text` (RFC 8187 §3.2.1), where `text` is
/// percent-encoded. A value in UTF-8, in ASCII or without a charset must encode well-formed text. Other charsets are not
/// checked. A label is known if a reader knows it ([`labels`]).
///
/// A value in quotes is not allowed by RFC 8187, but many readers decode it, so it is checked too. An extended value is
/// found wherever one starts, even inside a quoted string, because readers differ in where a quoted string ends after a
/// backslash. Without a charset it is found only where a parameter can start, because quoted strings and URIs may
/// contain `*=` too. In a field that is a list it ends with a comma. The URI of a link is skipped.
///
/// The sections of a parameter (`name*0*=text; name*1*=text`, RFC 2231 §3) are joined in the order of their numbers
/// before they are decoded, as readers do: a character may continue in the next section. It may not if a section
/// between them is missing or is not in percent-encoding, or if a number occurs twice, because readers then differ.
/// All sections are in the charset of the first one. If none is known, a section is checked as UTF-8. It is also
/// checked as UTF-8 if the extended value before it in the field was checked: Werkzeug decodes it in the charset of
/// that value.
///
/// # Errors
///
/// Returns the first error. Its offset is the position in the field of the first byte of the sequence or of its `%`. In
/// sections, the first error is the first one in the order of their numbers.
pub fn check_extended(field: &[u8], syntax: FieldSyntax) -> Result<(), Utf8Error> {
    let mut at = 0;
    let mut before = Declared::Other;
    let mut error = None;
    let mut sections = Vec::new();
    while let Some(equals) = next_equals(field, at, syntax) {
        let name = Name::before(field, at, equals);
        at = equals + 1;
        let Some(name) = name else { continue };
        if !name.is_encoded {
            sections.push(Section {
                name,
                text: &[],
                start: at,
                declared: None,
                unknown: Declared::Other,
                before,
            });
            continue;
        }
        at += field[at..].iter().take_while(|byte| is_space(**byte)).count();
        let is_quoted = field[at..].starts_with(b"\"");
        at += usize::from(is_quoted);
        let mut is_escaped = false;
        let end = field[at..].iter().position(|&byte| {
            let was_escaped = core::mem::replace(&mut is_escaped, is_quoted && byte == b'\\');
            let ends = byte == b';' || syntax != FieldSyntax::Single && byte == b',';
            !was_escaped && byte == b'"' || !is_quoted && ends
        });
        let end = end.map_or(field.len(), |len| at + len);
        let value = &field[at..end];
        let text = without_charset(value);
        let declared = (text.len() < value.len()).then(|| Declared::of(value));
        let unknown = if name.starts_parameter(field, syntax) { Declared::Utf8 } else { Declared::Other };
        // Only the first section has a charset (RFC 2231 §4.1). Quotes in the others are text.
        let text = if name.is_later() { value } else { text };
        let section = Section { name, text, start: end - text.len(), declared, unknown, before };
        before = declared.unwrap_or(before);
        at = end;
        if section.name.number.is_some() {
            sections.push(section);
        } else {
            keep_first(&mut error, check(&[section]));
        }
    }
    sections.sort_by(|one, two| one.name.order(&two.name));
    for sections in sections.chunk_by(|one, two| one.name.base.eq_ignore_ascii_case(two.name.base)) {
        keep_first(&mut error, check(sections));
    }
    error.map_or(Ok(()), Err)
}

/// An extended value, or a section of one. A section that is not in percent-encoding has no text.
struct Section<'f> {
    name: Name<'f>,
    text: &'f [u8],
    /// The position of the text in the field.
    start: usize,
    declared: Option<Declared>,
    /// The charset if none is declared.
    unknown: Declared,
    /// The charset of the extended value before it in the field.
    before: Declared,
}

/// Checks the sections of one parameter, in the order of their numbers, or a value that is not in sections.
fn check(sections: &[Section<'_>]) -> Result<(), Utf8Error> {
    // Of several the strictest counts, because readers differ in which one they use.
    let declared = sections.iter().filter_map(|section| section.declared).max();
    let is_joined = sections.windows(2).all(|pair| pair[0].name.number < pair[1].name.number);
    let mut joined = EncodedText::new();
    let mut next = None;
    for Section { name, text, start, declared: own, unknown, before } in sections {
        let charset = match name.is_later() {
            true => declared.unwrap_or(*unknown).max((*before).min(Declared::Utf8)),
            false => own.unwrap_or(*unknown),
        };
        if next != name.number || !is_joined {
            joined.finish()?;
        }
        if charset == Declared::Other || !name.is_encoded {
            next = None;
            continue;
        }
        joined.push(text, *start as u64)?;
        if charset == Declared::Ascii
            && let Some(position) = first_above_ascii(text)
        {
            return Err(Utf8Error::new((start + position) as u64, ErrorKind::OutsideSubset, 1));
        }
        next = name.number.and_then(|number| number.checked_add(1));
    }
    joined.finish()
}

fn keep_first(first: &mut Option<Utf8Error>, result: Result<(), Utf8Error>) {
    if let Err(error) = result
        && first.is_none_or(|first| error.offset < first.offset)
    {
        *first = Some(error);
    }
}

impl Declared {
    /// Returns the charset of a value that has one. An empty charset does not count.
    fn of(value: &[u8]) -> Self {
        match value.split(|byte| *byte == b'\'').next().unwrap_or_default() {
            b"" => Self::Utf8,
            label if labels::is_utf8(label) => Self::Utf8,
            label if labels::is_ascii(label) => Self::Ascii,
            _ => Self::Other,
        }
    }
}

/// Returns the position of the next `=` that is not in the URI of a link.
fn next_equals(field: &[u8], mut at: usize, syntax: FieldSyntax) -> Option<usize> {
    loop {
        let rest = &field[at..];
        let stop = rest
            .iter()
            .position(|byte| *byte == b'=' || *byte == b'<' && syntax == FieldSyntax::Links)
            .map(|distance| at + distance)?;
        if field[stop] == b'=' {
            return Some(stop);
        }
        at = stop + 1;
        let starts_link = matches!(field[..stop].trim_ascii_end().last(), None | Some(b','));
        // No URI contains these. Without a quote, no reader finds the end of a quoted string inside.
        let end = field[at..].iter().position(|byte| matches!(byte, b'>' | b'<' | b'"')).map(|len| at + len);
        if let Some(end) = end
            && starts_link
            && field[end] == b'>'
        {
            at = end + 1;
        }
    }
}

/// The name of an extended parameter, `base*` or `base*number*`, or of a section that is not encoded, `base*number`.
struct Name<'f> {
    base: &'f [u8],
    /// The number of the section. For a number with leading zeros, which only some readers accept, it is the maximum.
    number: Option<u32>,
    is_encoded: bool,
    start: usize,
}

impl<'f> Name<'f> {
    /// Returns the name that ends before `equals` and starts at `from` or later. Returns `None` if it is not the name
    /// of an extended parameter or of a section.
    fn before(field: &'f [u8], from: usize, equals: usize) -> Option<Self> {
        let before = field[from..equals].trim_ascii_end();
        let len = before.iter().rev().take_while(|byte| is_token(**byte)).count();
        let start = from + before.len() - len;
        let name = &before[before.len() - len..];
        let (name, is_encoded) = name.strip_suffix(b"*").map_or((name, false), |name| (name, true));
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (base, number) = name.split_at(name.len() - digits);
        match base.strip_suffix(b"*") {
            Some(base) if digits > 0 => {
                Some(Self { base, number: Some(number_of(number)), is_encoded, start })
            }
            _ => is_encoded.then_some(Self { base: name, number: None, is_encoded, start }),
        }
    }

    /// Whether it is a section after the first one.
    const fn is_later(&self) -> bool {
        matches!(self.number, Some(1..))
    }

    /// Compares names without regard to case, then the numbers of sections.
    fn order(&self, other: &Self) -> Ordering {
        let own = self.base.iter().map(u8::to_ascii_lowercase);
        own.cmp(other.base.iter().map(u8::to_ascii_lowercase)).then(self.number.cmp(&other.number))
    }

    /// Whether a parameter can start here: after a `;`, in a list after a comma, and in `Authorization` after its scheme.
    fn starts_parameter(&self, field: &[u8], syntax: FieldSyntax) -> bool {
        let before = &field[..self.start];
        match before.trim_ascii_end().last() {
            None | Some(b';') => true,
            Some(b',') => syntax != FieldSyntax::Single,
            Some(_) => syntax == FieldSyntax::List && before.ends_with(b" "),
        }
    }
}

fn number_of(digits: &[u8]) -> u32 {
    match core::str::from_utf8(digits).map(str::parse) {
        Ok(Ok(number)) if digits.len() == 1 || digits[0] != b'0' => number,
        _ => u32::MAX,
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Whether a byte may be in a name (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns the position of the first byte above `7F`, escaped or not.
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
