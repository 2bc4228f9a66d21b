//! Extended values of parameters (RFC 2231 §3, §4): `filename*=UTF-8''caf%C3%A9.pdf`.
//!
//! Readers replace the ill-formed text that such a value encodes, as they do in encoded words. The sections of a value are
//! joined before they are decoded, so a character may continue in the next section. Every value that some reader decodes is
//! checked, even in quotes, without a charset, without its first section, or after malformed parameters.

use alloc::boxed::Box;
use alloc::vec::Vec;

use memchr::memchr2;
use utf8_codec_media::content_type::labels;
use utf8_codec_media::percent;

use super::charset::CharsetText;
use super::error::MimeError;
use super::escaped::EscapedText;

/// A parameter whose name is `base*`, `base*section` or `base*section*`.
struct Section<'v> {
    base: &'v [u8],
    /// The number of the section. `None` if the value is not in sections.
    number: Option<u32>,
    /// Whether the value is in percent-encoding.
    extended: bool,
    /// The value without quotes, with its escapes and folds.
    text: &'v [u8],
    /// The position of the text in the value of the field.
    at: usize,
}

/// Checks the extended values in the value of a field, which is at the offset `offset` of the message. `charsets` is whether
/// text in other charsets is checked.
pub(super) fn check(value: &[u8], offset: u64, charsets: bool, each: &mut impl FnMut(MimeError)) {
    // Only percent-encoding is checked here. Other bytes were checked with the header.
    if !value.contains(&b'%') {
        return;
    }
    let mut sections: Vec<_> = Parameters { value, at: 0 }.filter_map(Section::of).collect();
    sections.sort_by(|one, two| folded(one.base).cmp(folded(two.base)).then(one.number.cmp(&two.number)));
    for sections in sections.chunk_by_mut(|one, two| one.base.eq_ignore_ascii_case(two.base)) {
        // If a value occurs twice, readers differ in which one they use. No character may then continue in the next one.
        let is_joined =
            sections.windows(2).all(|pair| pair[0].number.is_some() && pair[0].number < pair[1].number);
        let first = sections[0].number.unwrap_or(0);
        let mut is_checked = false;
        let mut decoded = EscapedText::new(None);
        for section in sections {
            if section.number.unwrap_or(0) == first {
                let Some(charset) = section.take_checked_charset(charsets) else { continue };
                decoded.set_charset(charset);
                is_checked = true;
            }
            if is_checked {
                section.decode(offset, &mut decoded, each);
            }
            if !is_joined {
                decoded.finish(each);
            }
        }
        decoded.finish(each);
    }
}

impl<'v> Section<'v> {
    /// Returns `None` for an ordinary parameter.
    fn of(Parameter { name, text, at }: Parameter<'v>) -> Option<Self> {
        let (name, extended) = name.strip_suffix(b"*").map_or((name, false), |name| (name, true));
        let (base, number) = match name.iter().position(|&byte| byte == b'*') {
            Some(star) => (&name[..star], Some(number(&name[star + 1..])?)),
            None if extended => (name, None),
            None => return None,
        };
        if base.is_empty() {
            return None;
        }
        Some(Self { base, number, extended, text, at })
    }

    /// Removes `charset'language'` from the text. Returns the decoder of a charset other than UTF-8, and `None` if text
    /// in the charset is not checked. Without a charset it is in US-ASCII.
    fn take_checked_charset(&mut self, charsets: bool) -> Option<Option<Box<CharsetText>>> {
        let mut quotes = (0..self.text.len()).filter(|&at| self.text[at] == b'\'');
        let Some((charset, language)) = quotes.next().zip(quotes.next()).filter(|_| self.extended) else {
            return Some(None);
        };
        let (head, text) = self.text.split_at(language + 1);
        self.text = text;
        self.at += head.len();
        let charset = head[..charset].trim_ascii();
        match charset.is_empty() || labels::is_checked(charset) {
            true => Some(None),
            false if charsets => CharsetText::for_label(charset).map(Some),
            false => None,
        }
    }

    fn decode(&self, offset: u64, decoded: &mut EscapedText, each: &mut impl FnMut(MimeError)) {
        let mut at = 0;
        while let Some((byte, len)) = percent::first_byte(&self.text[at..]) {
            let (byte, len) = if self.extended { (byte, len) } else { (self.text[at], 1) };
            match byte {
                // Escapes in quotes, and line breaks of folds.
                b'\\' | b'\r' | b'\n' if len == 1 => {}
                // This byte was checked with the header. Like any other byte that is not encoded, it ends a sequence.
                0x80.. if len == 1 => decoded.push(b'?', offset + (self.at + at) as u64, each),
                _ => decoded.push(byte, offset + (self.at + at) as u64, each),
            }
            at += len;
        }
    }
}

/// Returns a name in lower case.
fn folded(name: &[u8]) -> impl Iterator<Item = u8> {
    name.iter().map(u8::to_ascii_lowercase)
}

/// Parses the number of a section. Some readers accept leading zeros.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut number = 0_u32;
    for digit in digits {
        number = number.saturating_mul(10).saturating_add((digit - b'0').into());
    }
    Some(number)
}

/// A parameter in any syntax: the name before `=`, and a value that is in quotes or ends at `;`.
struct Parameter<'v> {
    name: &'v [u8],
    text: &'v [u8],
    at: usize,
}

/// The parameters in the value of a field.
struct Parameters<'v> {
    value: &'v [u8],
    at: usize,
}

impl<'v> Iterator for Parameters<'v> {
    type Item = Parameter<'v>;

    fn next(&mut self) -> Option<Parameter<'v>> {
        loop {
            let rest = self.value.get(self.at..)?;
            let stop = memchr2(b'=', b';', rest)?;
            let after = &rest[stop + 1..];
            if rest[stop] == b';' {
                self.at += stop + 1;
                continue;
            }
            let name = rest[..stop].trim_ascii_end();
            let name = name.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
            let text = after.trim_ascii_start();
            let mut at = self.at + stop + 1 + after.len() - text.len();
            let quoted = text.strip_prefix(b"\"").and_then(|text| Some(&text[..quoted_len(text)?]));
            let text = quoted.unwrap_or_else(|| text.split(|&byte| byte == b';').next().unwrap_or_default());
            at += usize::from(quoted.is_some());
            self.at = at + text.len() + 1;
            let text = if quoted.is_some() { text } else { text.trim_ascii_end() };
            return Some(Parameter { name, text, at });
        }
    }
}

/// Returns the length of the quoted text at the start of `text`, up to its closing quote.
fn quoted_len(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}
