//! Rules for well-formed text. Each rule is enabled by its name.

use std::sync::LazyLock;

use clap::ValueEnum;
use memchr::memmem::Finder;

/// Finds the start of a comment that switches rules off for its line. Made once, because making it takes longer than a search.
static ALLOW: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("utf8-codec: allow "));

/// A rule about characters that text must not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Rule {
    /// Text that was encoded twice: `C3 83 C2 A9` for U+00E9
    Mojibake,
    /// U+FFFD, which replaces text that was lost
    ReplacementCharacter,
    /// Control characters except TAB, LF, CR and FF
    Control,
    /// Bidirectional formatting characters, which reorder text on a screen (Trojan Source, CVE-2021-42574)
    Bidi,
    /// Invisible characters that the text around them does not need, such as U+200B or U+FEFF inside
    Invisible,
    /// Noncharacters: U+FDD0..U+FDEF and the last two code points of each plane
    Noncharacter,
    /// U+0000
    Nul,
    /// Characters that XML does not allow (RFC 9839, XML Characters)
    Xml,
    /// Legacy controls and noncharacters (RFC 9839, Unicode Assignables)
    Assignable,
    /// A BOM before `#!` or that the type of the file forbids (.json, .sh, .bat, .php), or a missing BOM in a file of
    /// PowerShell with characters beyond ASCII and without `#!`
    Bom,
    /// Escapes in the strings of JSON files that are not characters: `\uD83D` alone, `\u` without four digits
    JsonEscapes,
    /// The `charset` of .editorconfig: utf-8, utf-8-bom, utf-16le, utf-16be or latin1
    Editorconfig,
}

impl Rule {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mojibake => "mojibake",
            Self::ReplacementCharacter => "replacement-character",
            Self::Control => "control",
            Self::Bidi => "bidi",
            Self::Invisible => "invisible",
            Self::Noncharacter => "noncharacter",
            Self::Nul => "nul",
            Self::Xml => "xml",
            Self::Assignable => "assignable",
            Self::Bom => "bom",
            Self::JsonEscapes => "json-escapes",
            Self::Editorconfig => "editorconfig",
        }
    }

    /// Whether the rule is checked in UTF-8 only.
    pub(super) fn needs_utf_8(self) -> bool {
        !matches!(self, Self::Bom | Self::Editorconfig)
    }

    /// Whether the rule depends on the words around a character, so that text is not split inside a word.
    pub(super) fn needs_words(self) -> bool {
        matches!(self, Self::Mojibake | Self::Invisible)
    }

    /// Whether `--fix` fixes some violations of the rule.
    pub(super) fn has_fix(self) -> bool {
        matches!(self, Self::Mojibake | Self::Invisible | Self::Bom | Self::JsonEscapes | Self::Editorconfig)
    }

    /// Whether the rule is about all of the text of a file, and not only about its start.
    pub(super) fn is_about_text(self) -> bool {
        !matches!(self, Self::Bom | Self::Editorconfig)
    }

    /// Returns the message of a rule that a character violates when JSON escapes it. For `Bidi` it does not: an escape
    /// reorders nothing on a screen.
    pub(super) fn violation_as_escape(self, character: char) -> Option<String> {
        let message = if self == Self::Bidi { None } else { self.violation(character) };
        message.map(|message| message + ", as an escape of JSON")
    }

    /// Returns the message of a rule that a character violates.
    fn violation(self, character: char) -> Option<String> {
        self.forbids(character).then(|| self.message(character))
    }

    /// Returns the message for a character that the rule forbids.
    pub(super) fn message(self, character: char) -> String {
        let number = u32::from(character);
        match self {
            Self::ReplacementCharacter => "replacement character: what was here is lost".to_owned(),
            Self::Bidi => format!("U+{number:04X} changes the order of the text on a screen"),
            Self::Noncharacter => format!("U+{number:04X} is a noncharacter"),
            Self::Xml => format!("U+{number:04X} cannot be in an XML document"),
            Self::Assignable => format!("U+{number:04X} is not a Unicode Assignable (RFC 9839)"),
            Self::Nul => "NUL".to_owned(),
            _ => format!("control character U+{number:04X}"),
        }
    }

    /// Whether the rule forbids a character wherever it is.
    pub(super) fn forbids(self, character: char) -> bool {
        let is_noncharacter =
            matches!(character, '\u{FDD0}'..='\u{FDEF}') || u32::from(character) & 0xFFFE == 0xFFFE;
        match self {
            Self::Mojibake | Self::Invisible | Self::Bom | Self::JsonEscapes | Self::Editorconfig => false,
            Self::ReplacementCharacter => character == '\u{FFFD}',
            Self::Control => character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{C}'),
            Self::Bidi => matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'),
            Self::Noncharacter => is_noncharacter,
            Self::Nul => character == '\0',
            // XML 1.0, production Char.
            Self::Xml => {
                matches!(character, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
            }
            Self::Assignable => {
                (character.is_control() && !matches!(character, '\t' | '\n' | '\r')) || is_noncharacter
            }
        }
    }

    /// Whether a comment on the line switches the rule off: `utf8-codec: allow bidi, control`.
    pub(super) fn is_allowed_by(self, line: &[u8]) -> bool {
        // The names end before the next comment. Otherwise a line of many comments would need quadratic time.
        let starts = ALLOW.find_iter(line).map(|at| at + ALLOW.needle().len());
        let ends = ALLOW.find_iter(line).skip(1).chain([line.len()]);
        starts.zip(ends).any(|(start, end)| {
            line[start..end].split(|&byte| byte == b',').any(|name| {
                let name = name.trim_ascii_start();
                let len = name.iter().take_while(|&&byte| byte.is_ascii_lowercase() || byte == b'-').count();
                name[..len] == *self.name().as_bytes()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_switches_off_the_rules_it_names() {
        let line = b"x = 1 // utf8-codec: allow bidi, nul */";
        assert!(Rule::Bidi.is_allowed_by(line) && Rule::Nul.is_allowed_by(line));
        assert!(
            !Rule::Control.is_allowed_by(line)
                && !Rule::Bidi.is_allowed_by(b"utf8-codec: allow bidirectional")
        );
    }
}
