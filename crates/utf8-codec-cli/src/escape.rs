//! Escapes text for a terminal and for the log of a CI service.
//!
//! Control characters and invisible characters are not written raw. Neither are the commands that a CI service executes
//! if it finds them in the output of a program: GitHub Actions `##[COMMAND]` anywhere in a line, and `::COMMAND::` at the
//! start of a line, also after white space; Azure Pipelines `##vso[COMMAND]`; TeamCity `##teamcity[COMMAND]`.

use core::fmt::Write;

/// Whether a character is escaped: controls, bidirectional formatting, invisible characters, line and paragraph
/// separators, noncharacters.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}' | '\u{3164}'
                | '\u{FFA0}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}' | '\u{FDD0}'..='\u{FDEF}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
        || u32::from(character) & 0xFFFE == 0xFFFE
}

/// Whether `character` after `before` completes the start of a command of a CI service: `##`, letters, `[`.
pub(super) fn starts_command(before: &str, character: char) -> bool {
    character == '[' && before.trim_end_matches(|c: char| c.is_ascii_alphabetic()).ends_with("##")
}

/// Appends a character, escaped if necessary. A TAB becomes a space. The result has no line break.
fn push(out: &mut String, character: char) {
    match character {
        '\t' => out.push(' '),
        _ if is_hidden(character) || starts_command(out, character) => push_code_point(out, character),
        _ => out.push(character),
    }
}

/// Appends a character as `<U+NNNN>`.
pub(super) fn push_code_point(out: &mut String, character: char) {
    let _ = write!(out, "<U+{:04X}>", u32::from(character));
}

/// Escapes text. The result is one line.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|character| push(&mut out, character));
    out
}

/// Escapes bytes. Bytes that are not UTF-8 become `\xNN`. The result is one line.
pub(super) fn bytes(bytes: &[u8]) -> String {
    escape_bytes(bytes, push)
}

/// Escapes the bytes of an error. Of these, variation selectors are shown as well.
pub(super) fn error_bytes(bytes: &[u8]) -> String {
    escape_bytes(bytes, |out, character| match character {
        '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => {
            push_code_point(out, character);
        }
        _ => push(out, character),
    })
}

/// Escapes a file name, which may be the start of a line. Also escapes TAB, and `:` as the first character.
pub(super) fn name(bytes: &[u8]) -> String {
    escape_bytes(bytes, |out, character| match character {
        '\t' => push_code_point(out, character),
        ':' if out.trim_start().is_empty() => push_code_point(out, character),
        _ => push(out, character),
    })
}

fn escape_bytes(bytes: &[u8], push: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|character| push(&mut out, character));
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
        assert_eq!(super::bytes("❤\u{FE0F}\u{3164}".as_bytes()), "❤\u{FE0F}<U+3164>");
        assert_eq!(super::error_bytes("a\u{FE0F}\u{E0100}\n".as_bytes()), "a<U+FE0F><U+E0100><U+000A>");
        assert_eq!(super::bytes(b"caf\xE9\x07\xE2\x80\xAE"), "caf\\xE9<U+0007><U+202E>");
    }

    #[test]
    fn commands_of_ci_services_are_escaped() {
        for (text, escaped) in [
            ("a ##[error]b", "a ##<U+005B>error]b"),
            ("###[error]", "###<U+005B>error]"),
            ("##vso[task.complete]", "##vso<U+005B>task.complete]"),
            ("##teamcity[x]", "##teamcity<U+005B>x]"),
            ("## title [link] #[derive] ##1[", "## title [link] #[derive] ##1["),
        ] {
            assert_eq!(super::text(text), escaped);
            assert_eq!(super::name(text.as_bytes()), escaped);
        }
        for (name, escaped) in [
            ("::set-output name=i::1", "<U+003A>:set-output name=i::1"),
            (" \u{3000}::stop-commands::x", " \u{3000}<U+003A>:stop-commands::x"),
            (":", "<U+003A>"),
            ("\t::debug::x", "<U+0009>::debug::x"),
            ("std::vec", "std::vec"),
        ] {
            assert_eq!(super::name(name.as_bytes()), escaped);
        }
    }
}
