//! Escapes text for a terminal: control characters and invisible characters are not written raw.

use core::fmt::Write;

/// Whether a character is escaped: controls, bidirectional formatting, invisible characters, line and paragraph
/// separators, noncharacters.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}' | '\u{FDD0}'..='\u{FDEF}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
        || u32::from(character) & 0xFFFE == 0xFFFE
}

/// Appends a character, escaped if necessary, and returns its width in columns. A TAB becomes a space. The result has
/// no line break.
pub(super) fn push(out: &mut String, character: char) -> usize {
    let before = out.len();
    match character {
        '\t' => out.push(' '),
        _ if is_hidden(character) => {
            let _ = write!(out, "<U+{:04X}>", u32::from(character));
        }
        _ => {
            out.push(character);
            return 1;
        }
    }
    out.len() - before
}

/// Escapes text. The result is one line.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|character| {
        push(&mut out, character);
    });
    out
}

/// Escapes bytes. Bytes that are not UTF-8 become `\xNN`. The result is one line.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&text(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn controls_and_invisible_characters_are_escaped() {
        assert_eq!(
            super::text("a\u{1B}[31m\u{202E}\n\u{FEFF}é\u{85}"),
            "a<U+001B>[31m<U+202E><U+000A><U+FEFF>é<U+0085>"
        );
        assert_eq!(super::bytes(b"caf\xE9\x07\xE2\x80\xAE"), "caf\\xE9<U+0007><U+202E>");
    }
}
