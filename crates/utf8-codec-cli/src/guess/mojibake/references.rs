//! Characters that are written as ASCII: `\u00C3` in JSON and source code, `&Atilde;`, `&#195;` and `&#xC3;` in HTML.

use core::ops::Range;

use super::sequence::byte_of;

/// The names of U+00A0 to U+00FF in HTML.
const LATIN_1: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr \
    deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest \
    Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml \
    ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig \
    agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml \
    eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/// The names of the other characters of windows-1252.
const OTHERS: &str = "€euro ‚sbquo ƒfnof „bdquo …hellip †dagger ‡Dagger ˆcirc ‰permil ŠScaron ‹lsaquo ŒOElig ‘lsquo \
    ’rsquo “ldquo ”rdquo •bull –ndash —mdash ˜tilde ™trade šscaron ›rsaquo œoelig ŸYuml";

/// Returns the character that is written at the start of `text`, and the length of what is written.
fn parse(text: &str) -> Option<(char, usize)> {
    if let Some(digits) = text.strip_prefix("\\u") {
        let digits = digits.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        return Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, 6));
    }
    let text = text.strip_prefix('&')?;
    let end = text.bytes().take(10).position(|byte| byte == b';')?;
    let name = &text[..end];
    let character = match name.strip_prefix('#').map(|number| (number, number.strip_prefix(['x', 'X']))) {
        Some((_, Some(hex))) => char::from_u32(u32::from_str_radix(hex, 16).ok()?)?,
        Some((decimal, None)) => char::from_u32(decimal.parse().ok()?)?,
        None => named(name)?,
    };
    Some((character, end + 2))
}

fn named(name: &str) -> Option<char> {
    // The most frequent ones are ASCII.
    if matches!(name, "lt" | "gt" | "amp" | "quot" | "apos") {
        return None;
    }
    if let Some(at) = LATIN_1.split_whitespace().position(|own| own == name) {
        return char::from_u32(0xA0 + u32::try_from(at).ok()?);
    }
    OTHERS.split_whitespace().find(|own| own.strip_prefix(|_: char| true) == Some(name))?.chars().next()
}

/// Whether a text has a character, written as ASCII, that starts a sequence.
pub(super) fn may_start(text: &str) -> bool {
    memchr::memchr2_iter(b'\\', b'&', text.as_bytes())
        .filter_map(|at| parse(&text[at..]))
        .any(|(character, _)| matches!(byte_of(character), Some(0xC2..=0xF4)))
}

/// A line with the characters that are written as ASCII in it.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// For each of these characters, its position in the text, the one after it, and the same in the line.
    characters: Vec<[usize; 4]>,
}

impl Decoded {
    pub(super) fn of(line: &str) -> Self {
        let mut decoded = Self::default();
        let mut from = 0;
        let mut last = None;
        for at in memchr::memchr2_iter(b'\\', b'&', line.as_bytes()) {
            // In `\\u00C3` the first backslash escapes the second one.
            let is_escaped = at > 0 && last == Some(at - 1);
            if line.as_bytes()[at] == b'\\' {
                last = (!is_escaped).then_some(at);
            }
            let Some((character, len)) = parse(&line[at..]).filter(|_| at >= from && !is_escaped) else {
                continue;
            };
            decoded.text.push_str(&line[from..at]);
            let start = decoded.text.len();
            decoded.text.push(character);
            decoded.characters.push([start, decoded.text.len(), at, at + len]);
            from = at + len;
        }
        decoded.text.push_str(&line[from..]);
        decoded
    }

    /// Whether this character is written as ASCII.
    pub(super) fn has(&self, character: char) -> bool {
        self.characters.iter().any(|&[start, ..]| self.text[start..].starts_with(character))
    }

    /// Returns the range of the line that has this range of the text. `None` if nothing in it is written as ASCII.
    pub(super) fn written(&self, text: &Range<usize>) -> Option<Range<usize>> {
        let first = self.characters.partition_point(|&[from, ..]| from < text.start);
        let end = self.characters.partition_point(|&[_, to, ..]| to <= text.end);
        let own = self.characters.get(first..end)?;
        let first = own.first()?;
        let last = own.last()?;
        Some(first[2] - (first[0] - text.start)..last[3] + (text.end - last[1]))
    }
}
