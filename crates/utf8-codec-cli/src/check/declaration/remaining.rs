//! Declarations that are not rewritten: after a conversion to UTF-8 they are false, and programs that follow them decode the new
//! text in the old encoding.

use utf8_codec::declared::DocumentKind;

use super::{PREFIX, agree, charset_named, is_script, metas, starts_like_html};
use crate::charset::NamedEncoding;

/// Returns the line and the label of what looks like a declaration of the old encoding, after all declarations were
/// rewritten: `charset=`, `encoding=` or `coding:` before a label of it, in the head of the text.
pub(in crate::check) fn remaining(
    kind: Option<DocumentKind>,
    text: &[u8],
    old: NamedEncoding,
) -> Option<(usize, String)> {
    let head = head_len(kind, text);
    let lower = text[..text.len().min(PREFIX)].to_ascii_lowercase();
    let count =
        |at: usize, matches: fn(&u8) -> bool| lower[at..].iter().take_while(|byte| matches(byte)).count();
    let mut places: Vec<usize> = ["charset", "coding"]
        .iter()
        .flat_map(|word| memchr::memmem::find_iter(&lower, word).map(|at| at + word.len()))
        .collect();
    places.sort_unstable();
    for place in places {
        let mut at = place + count(place, u8::is_ascii_whitespace);
        match lower.get(at) {
            Some(b'=' | b':') => at += 1,
            _ if lower[..place].ends_with(b"@charset") => {}
            _ => continue,
        }
        at += count(at, |byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\'));
        let label = &lower[at..at + count(at, |byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))];
        let is_old = [DocumentKind::Html, DocumentKind::Python].into_iter().any(|kind| {
            charset_named(kind, label).is_some_and(|charset| match old.unit_len() {
                1 => agree(charset, old),
                len => charset.unit_len() == len,
            })
        });
        let line = lower[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let is_in_line = |word: &str| memchr::memmem::find(&lower[line..place], word.as_bytes()).is_some();
        if is_old && (at < head || is_in_line("<meta") || is_in_line("vim:")) {
            let number = memchr::memchr_iter(b'\n', &lower[..at]).count() + 1;
            return Some((number, String::from_utf8_lossy(label).into_owned()));
        }
    }
    None
}

/// Returns the length of the part of a text in which programs search declarations.
fn head_len(kind: Option<DocumentKind>, text: &[u8]) -> usize {
    /// The lines in which editors search comments with settings.
    const LINES: usize = 5;

    if kind == Some(DocumentKind::Html) || starts_like_html(text) {
        return metas(text).1;
    }
    match kind {
        _ if kind == Some(DocumentKind::Python) || is_script(text) => {
            memchr::memchr_iter(b'\n', text).nth(LINES - 1).unwrap_or(text.len())
        }
        // Up to the entry after the header entry.
        Some(DocumentKind::Gettext) => {
            let header = memchr::memmem::find(text, b"\nmsgstr").unwrap_or(text.len());
            memchr::memmem::find(&text[header..], b"\nmsgid").map_or(text.len(), |len| header + len)
        }
        // What HTML and CSS prescribe.
        _ => DocumentKind::Html.max_prefix(),
    }
}
