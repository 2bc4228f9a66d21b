//! Detects text that was encoded twice: UTF-8 that was decoded as windows-1252 or ISO 8859-1 and encoded as UTF-8
//! again.
//!
//! To detect such text, the second encoding is reversed: each run of non-ASCII characters is encoded as windows-1252.
//! Well-formed UTF-8 in the result is the original text. Correct text practically never results in a sequence of three
//! or four bytes, or in two sequences in a row. It may result in a single sequence of two bytes, for example from a capital letter
//! before a quotation mark or a no-break space. For these the adjacent letters are also examined.

use core::ops::Range;
use std::sync::LazyLock;

use utf8_codec::transcode::{Encoding, Transcoder};

/// Calls `found` with the position, the length and the original of each run that was encoded twice.
pub(super) fn find(text: &str, mut found: impl FnMut(usize, usize, String)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(|byte| !byte.is_ascii()).map(|skip| at + skip) {
        let len = bytes[start..].iter().position(u8::is_ascii).unwrap_or(bytes.len() - start);
        in_run(text, start..start + len, &mut found);
        at = start + len;
    }
}

/// Returns the byte that this character was decoded from: in windows-1252, or in ISO 8859-1 for a control character.
fn byte_of(character: char) -> Option<u8> {
    if let Ok(byte @ 0x80..) = u8::try_from(u32::from(character)) {
        return Some(byte);
    }
    WINDOWS_1252.iter().find(|&&(own, _)| own == character).map(|&(_, byte)| byte)
}

/// The characters of windows-1252 that are not in ISO 8859-1, and their bytes.
static WINDOWS_1252: LazyLock<Vec<(char, u8)>> = LazyLock::new(|| {
    let of = |byte: u8| {
        let mut text = String::new();
        Transcoder::new(Encoding::Windows1252, Encoding::Utf8).feed(&[byte], &mut text).ok()?;
        text.chars().next().filter(|&character| character > '\u{FF}').map(|character| (character, byte))
    };
    (0x80..=0x9F).filter_map(of).collect()
});

fn in_run(text: &str, run: Range<usize>, found: &mut impl FnMut(usize, usize, String)) {
    // Pairs of position and character. They are split into stretches of characters that have a byte in windows-1252.
    let characters: Vec<(usize, char)> =
        text[run.clone()].char_indices().map(|(at, c)| (run.start + at, c)).collect();
    for stretch in characters.chunk_by(|&(_, a), &(_, b)| byte_of(a).is_some() && byte_of(b).is_some()) {
        let bytes: Option<Vec<u8>> = stretch.iter().map(|&(_, character)| byte_of(character)).collect();
        let Some(bytes) = bytes else { continue };
        let end_of = |at: usize| {
            stretch
                .get(at)
                .map_or_else(|| stretch.last().map_or(run.end, |&(at, c)| at + c.len_utf8()), |&(at, _)| at)
        };
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            let (valid, from) = (chunk.valid(), at);
            at += valid.len() + chunk.invalid().len();
            if valid.is_empty() {
                continue;
            }
            let range = end_of(from)..end_of(from + valid.len());
            if is_original(valid, text, range.clone()) {
                found(range.start, range.len(), valid.to_owned());
            }
        }
    }
}

/// Whether `original` is plausible as the original of the text in the range `range`.
fn is_original(original: &str, text: &str, range: Range<usize>) -> bool {
    let mut characters = original.chars();
    let (Some(first), None) = (characters.next(), characters.next()) else { return true };
    if first.len_utf8() > 2 {
        return true;
    }
    // Only letters of Latin scripts and the signs of Latin-1 are plausible.
    if !matches!(first, '\u{A0}'..='\u{17F}') {
        return false;
    }
    // The character from the second byte. In correct text, the ones in this list often follow a capital letter.
    let sign = text[range.clone()].chars().nth(1).unwrap_or_default();
    if !matches!(
        sign,
        '\u{2018}' | '\u{2019}' | '\u{201C}' | '\u{201D}' | '»' | '\u{A0}' | '…' | '–' | '—' | '™' | '®'
    ) {
        return true;
    }
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    before.is_some_and(char::is_lowercase) || after.is_some_and(char::is_lowercase)
}

/// Returns the text before it was encoded again, or `None` if it was not. Reverses up to 3 encodings, for text that was
/// encoded more than twice.
pub(super) fn undo(text: &str) -> Option<String> {
    let mut fixed: Option<String> = None;
    for _ in 0..3 {
        let source = fixed.as_deref().unwrap_or(text);
        let (mut out, mut from) = (String::new(), 0);
        find(source, |at, len, original| {
            out.push_str(&source[from..at]);
            out.push_str(&original);
            from = at + len;
        });
        if from == 0 {
            break;
        }
        out.push_str(&source[from..]);
        fixed = Some(out);
    }
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes UTF-8 text as windows-1252 and encodes it as UTF-8 again.
    fn encoded_twice(text: &str) -> String {
        let mut out = String::new();
        Transcoder::new(Encoding::Windows1252, Encoding::Utf8)
            .feed(text.as_bytes(), &mut out)
            .expect("any byte");
        out
    }

    #[test]
    fn text_that_was_encoded_twice_is_decoded() {
        for text in [
            "café",
            "naïve – déjà vu",
            "Beyoncé",
            "⚙️ ⚠️ warning",
            "Привет, мир",
            "żółć",
            "日本語",
            "a — b",
            "“quoted”",
            "the file’s name",
            "NBSP\u{A0}here",
            "ſ 5 µm ± 2 °C",
            "الأسعار",
            "─── box ───",
            "À la carte",
            "→ ↓ ≠",
            "😀",
        ] {
            let twice = encoded_twice(text);
            assert_eq!(undo(&twice).as_deref(), Some(text), "{twice}");
            assert_eq!(undo(&encoded_twice(&twice)).as_deref(), Some(text), "{twice}");
            assert_eq!(undo(text), None, "{text}");
        }
    }

    #[test]
    fn text_that_was_encoded_once_is_not_changed() {
        for text in [
            "“MINHA IRMÔ",
            "LIBERTÉ\u{A0}: QUALITÉ…",
            "SÃO PAULO",
            "Âge",
            "CAFÉ’S",
            "Spaß”",
            "ÅNGSTRÖM—",
            "Ü®",
            "5 × 3 ÷ 2",
            "«É»",
            "ÄÖÜ äöü ß",
            "naïve",
            "Ñandú",
            "IRMÃ\u{A0}É",
            "ÅÄÖ",
            "ПРИВЕТ",
            "日本語",
        ] {
            assert_eq!(undo(text), None, "{text}");
        }
        // Several runs in one line.
        assert_eq!(undo("café and cafÃ©").as_deref(), Some("café and café"));
    }
}
