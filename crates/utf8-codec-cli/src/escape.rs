//! Escapes what a file may put on a line of the output, for a terminal and for the log of a CI service.
//!
//! Control characters and invisible characters are not written raw. Neither are the commands that a CI service executes
//! if it finds them in the output of a program: GitHub Actions `##[COMMAND]` anywhere in a line, and `::COMMAND::` at the
//! start of a line, even after white space; Azure Pipelines `##vso[COMMAND]` and `##[COMMAND]`; TeamCity
//! `##teamcity[COMMAND]`. Every output uses these functions:
//!
//! | what | function |
//! |---|---|
//! | text inside a line | [`text`], [`push`] |
//! | text at the start of a line | [`line`]; a file name: [`name`] |
//! | JSON, also SARIF and the format of GitLab | [`json`] |
//! | a message on stderr | [`message`] |
//! | a value of a workflow command of GitHub | [`github_value`] |

use core::fmt::Write;

use serde_json::Value;

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
fn starts_command(before: &str, character: char) -> bool {
    character == '[' && before.trim_end_matches(|c: char| c.is_ascii_alphabetic()).ends_with("##")
}

/// Appends a character to a line, escaped if necessary. A TAB becomes a space.
pub(super) fn push(out: &mut String, character: char) {
    match character {
        '\t' => out.push(' '),
        _ if is_hidden(character) || starts_command(out, character) => push_code_point(out, character),
        _ => out.push(character),
    }
}

/// Appends a character of an error to a line. Of these, variation selectors are shown as well.
pub(super) fn push_of_error(out: &mut String, character: char) {
    match character {
        '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => {
            push_code_point(out, character);
        }
        _ => push(out, character),
    }
}

/// Appends a character to a line that starts with text of a file. A `:` at its start is escaped.
fn push_at_start(out: &mut String, character: char) {
    match character {
        ':' if out.trim_start().is_empty() => push_code_point(out, character),
        _ => push(out, character),
    }
}

/// Appends a character as `<U+NNNN>`.
fn push_code_point(out: &mut String, character: char) {
    let _ = write!(out, "<U+{:04X}>", u32::from(character));
}

/// Appends bytes with a function for their characters. Bytes that are not UTF-8 become `\xNN`.
pub(super) fn push_bytes(out: &mut String, bytes: &[u8], push: impl Fn(&mut String, char)) {
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|character| push(out, character));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
}

fn escape_bytes(bytes: &[u8], push: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(bytes.len());
    push_bytes(&mut out, bytes, push);
    out
}

/// Escapes text inside a line.
pub(super) fn text(text: &str) -> String {
    escape_bytes(text.as_bytes(), push)
}

/// Escapes text at the start of a line. `bytes` may start with the sign of a diff.
pub(super) fn line(bytes: &[u8]) -> String {
    escape_bytes(bytes, push_at_start)
}

/// Escapes a file name, which may be the start of a line. Also escapes TAB.
pub(super) fn name(bytes: &[u8]) -> String {
    escape_bytes(bytes, |out, character| match character {
        '\t' => push_code_point(out, character),
        _ => push_at_start(out, character),
    })
}

/// Returns a JSON value on one line. A command in a string is escaped in the notation of JSON.
pub(super) fn json(value: &Value) -> String {
    let line = value.to_string();
    if !line.contains("##") {
        return line;
    }
    line.chars().fold(String::with_capacity(line.len()), |mut line, character| {
        match starts_command(&line, character) {
            true => line.push_str("\\u005b"),
            false => line.push(character),
        }
        line
    })
}

/// Escapes a message on stderr, in the notation of Rust.
pub(super) fn message(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, character| {
        match character {
            _ if is_hidden(character) => line.extend(character.escape_default()),
            _ if starts_command(&line, character) => line.extend(character.escape_unicode()),
            _ => line.push(character),
        }
        line
    })
}

/// Escapes a value of a workflow command of GitHub (`escapeProperty` and `escapeData` of `@actions/core`): `%`, CR and LF,
/// and in a property `:` and `,`. TAB is kept. Such a command has no notation for the other control characters, and none
/// for the commands of other services.
pub(super) fn github_value(value: &str, is_property: bool) -> String {
    value.chars().fold(String::with_capacity(value.len()), |mut out, character| {
        match character {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            ':' if is_property => out.push_str("%3A"),
            ',' if is_property => out.push_str("%2C"),
            _ if character.is_control() && character != '\t' => push_code_point(&mut out, character),
            _ if starts_command(&out, character) => push_code_point(&mut out, character),
            _ => out.push(character),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    #[test]
    fn controls_and_invisible_characters_are_escaped() {
        assert_eq!(
            super::text("a\u{1B}[31m\u{202E}\n\u{FEFF}é\u{85}"),
            "a<U+001B>[31m<U+202E><U+000A><U+FEFF>é<U+0085>"
        );
        assert_eq!(super::text("❤\u{FE0F}\u{3164}"), "❤\u{FE0F}<U+3164>");
        assert_eq!(
            super::escape_bytes("a\u{FE0F}\u{E0100}\n".as_bytes(), super::push_of_error),
            "a<U+FE0F><U+E0100><U+000A>"
        );
        assert_eq!(super::line(b"caf\xE9\x07\xE2\x80\xAE"), "caf\\xE9<U+0007><U+202E>");
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
            assert_eq!(super::line(text.as_bytes()), escaped);
            assert_eq!(super::github_value(text, true), escaped);
            let json = super::json(&Value::from(text));
            assert_eq!(json, format!("\"{}\"", escaped.replace("<U+005B>", "\\u005b")));
            assert_eq!(super::message(text), escaped.replace("<U+005B>", "\\u{5b}"));
        }
        for (name, escaped) in [
            ("::set-output name=i::1", "<U+003A>:set-output name=i::1"),
            (" \u{3000}::stop-commands::x", " \u{3000}<U+003A>:stop-commands::x"),
            (":", "<U+003A>"),
            ("\t::debug::x", "<U+0009>::debug::x"),
            ("std::vec", "std::vec"),
        ] {
            assert_eq!(super::name(name.as_bytes()), escaped);
            assert_eq!(super::line(name.as_bytes()), escaped.replace("<U+0009>::", " <U+003A>:"));
        }
        // Of a diff, the context.
        assert_eq!(super::line(b" ::error::x"), " <U+003A>:error::x");
        assert_eq!(super::line(b"-::error::x"), "-::error::x");
    }
}
