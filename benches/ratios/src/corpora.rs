//! Text generated from a seed, so that it is the same on every machine.

#[path = "../../../crates/kernels/src/rng.rs"]
mod rng;

pub use rng::Rng;

/// The kinds of text, by the letters of their words. A letter that is listed more often is more frequent.
// `benches/instructions` includes this file, and uses all of them.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corpus {
    AsciiJson,
    EnglishHtml,
    FrenchHtml,
    Cyrillic,
    Cjk,
    Emoji,
}

pub const TEXTS: [Corpus; 4] = [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Cjk];

impl Corpus {
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsciiJson => "ASCII JSON",
            Self::EnglishHtml => "English HTML",
            Self::FrenchHtml => "French HTML",
            Self::Cyrillic => "Cyrillic",
            Self::Cjk => "CJK",
            Self::Emoji => "emoji",
        }
    }

    const fn letters(self) -> &'static str {
        match self {
            Self::AsciiJson | Self::EnglishHtml => "eeeeetttaaaooiiinnnsssrrhhlddcumwfgypbvk",
            Self::FrenchHtml => "eeeeeeaaaiiissstttnnnrrruullooddcmpéééèàêqvfbghj",
            Self::Cyrillic => "оооеееааииннттссррввлкмдпуяыьгзбчй",
            Self::Cjk => "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生",
            Self::Emoji => "😀😃😄😁😆😅😂🤣🙂🙃😉😊🚀🎉💩🔥🌍🎶",
        }
    }

    /// Returns well-formed text of this length, or up to 3 bytes less.
    pub fn text(self, len: usize) -> String {
        let rng = &mut Rng::new(self as u64 + 1);
        let letters: Vec<char> = self.letters().chars().collect();
        let mut text = String::with_capacity(len + 256);
        while text.len() < len {
            match self {
                Self::AsciiJson => {
                    text.push_str("{\"id\": ");
                    text.push_str(&rng.below(1_000_000).to_string());
                    text.push_str(", \"name\": \"");
                    words(&mut text, rng, &letters, 3);
                    text.push_str("\", \"on\": true},\n");
                }
                Self::EnglishHtml | Self::FrenchHtml => {
                    let tag = rng.pick(&["p", "li", "td", "h2", "span"]);
                    let class = rng.pick(&["text", "entry main", "note", "item wide"]);
                    text.push_str(&format!("<{tag} class=\"{class}\">"));
                    let count = 6 + rng.below(40);
                    words(&mut text, rng, &letters, count);
                    if self == Self::EnglishHtml && rng.below(4) == 0 {
                        text.push_str(rng.pick(&[" \u{2014} ", "\u{2019}s ", " \u{20AC}5 ", " caf\u{E9} "]));
                    }
                    text.push_str(&format!("</{tag}>\n"));
                }
                _ => {
                    let count = 4 + rng.below(12);
                    words(&mut text, rng, &letters, count);
                    text.push_str(if self == Self::Cjk { "。\n" } else { ".\n" });
                }
            }
        }
        let end = (0..=len).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text
    }

    /// Returns strings whose lengths are in `lens`, or up to 3 bytes less.
    pub fn strings(self, lens: core::ops::RangeInclusive<usize>, count: usize) -> Vec<String> {
        let rng = &mut Rng::new(77);
        let letters: Vec<char> = self.letters().chars().collect();
        (0..count)
            .map(|_| {
                let len = lens.start() + rng.below(lens.end() - lens.start() + 1);
                let mut text = String::new();
                while text.len() < len {
                    words(&mut text, rng, &letters, 1);
                    text.push(' ');
                }
                let end = (0..=len).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
                text.truncate(end);
                text
            })
            .collect()
    }
}

fn words(text: &mut String, rng: &mut Rng, letters: &[char], count: usize) {
    for word in 0..count {
        if word > 0 {
            text.push(' ');
        }
        for _ in 0..2 + rng.below(9) {
            text.push(rng.pick(letters));
        }
    }
}

/// Returns text in which one of every `one_in` bytes is replaced by an ill-formed byte.
pub fn with_errors(text: &str, one_in: usize) -> Vec<u8> {
    let rng = &mut Rng::new(99);
    let mut bytes = text.as_bytes().to_vec();
    let count = bytes.len() / one_in;
    for _ in 0..count {
        let at = rng.below(bytes.len());
        bytes[at] = rng.pick(&[0xFF, 0x80, 0xC0, 0xF5, 0xE2]);
    }
    bytes
}

/// Returns the text in lines of at most `width` bytes and this terminator.
pub fn lines(text: &str, width: usize, terminator: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for character in text.chars().filter(|character| !matches!(character, '\r' | '\n')) {
        if column + character.len_utf8() > width {
            out.push_str(terminator);
            column = 0;
        }
        out.push(character);
        column += character.len_utf8();
    }
    out + terminator
}
