//! Evidence for an encoding in the letters of the text: which letters stand beside each other in the words of languages.
//!
//! [`Contexts`] counts the ill-formed bytes of a file with the bytes beside them, in constant memory. Read in an encoding, a
//! byte is a letter or a sign, and has a cost: the negative binary logarithm of the probability of a letter and of its
//! neighbors in a language, and a constant for a sign, a high one where text does not have it. The cost of the text is the
//! lowest one of all languages. Text is plausible in an encoding if the mean cost is low and no other encoding in which
//! it would be another text has a lower one.
//!
//! Encodings of two bytes have no such words. Text is plausible in them if it has enough frequent characters.

use core::hash::{BuildHasherDefault, Hash, Hasher};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::{Encoding, Transcoder};

use crate::charset::NamedEncoding;

/// The probabilities. `tables/languages.py` documents them.
const DATA: &str = include_str!("languages.txt");

/// Languages of Western Europe, for which windows-1252 is a hint without a declaration.
const WESTERN: &str = " af br ca da de en es fi fo fr ga gd gl is it lb nb nl pt sv ";

/// The cost of a letter that a language does not have, and the highest one of any letter.
const FOREIGN: u32 = 21;
/// What a word of another language costs in a text.
const OTHER_LANGUAGE: u32 = 7;
/// The cost of a neighbor that is not in the table.
const RARE: u32 = 9;
/// The highest mean cost of plausible text, and what a short one may cost beyond it.
const MAX_MEAN: u64 = 13;
const ALLOWANCE: u64 = 8;
/// How much lower the cost of text with a declaration must be than in other encodings.
const DECLARED: u64 = 4;
/// The same without a declaration.
const UNDECLARED: u64 = 8;
/// The highest cost of a frequent letter: one in 128.
const FREQUENT_LETTER: u32 = 7;
/// The part of the pairs of bytes that are frequent characters in encodings of two bytes, at least 1 of this number. Of
/// letters in a row only every other pair is one, and less than one in 10 in other encodings.
const FREQUENT: u64 = 7;

/// The number of different contexts and of bytes that are counted.
const MAX_CONTEXTS: usize = 1 << 14;
const MAX_BYTES: u64 = 1 << 20;

/// Why a declaration does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The encoding is not known, or cannot have a declaration that is read as ASCII.
    Unknown,
    /// Its letters are not those of words in the encoding, or those of words in another one.
    Letters,
    /// It has bytes that the encoding does not define or that are control characters in it, as 80 to 9F in ISO 8859, and
    /// the windows code page of the script is not better.
    Undefined,
}

/// The bytes above 7F of a file, each with the bytes beside it.
#[derive(Clone, Debug, Default)]
pub(super) struct Contexts {
    counts: HashMap<Context, u64, BuildHasherDefault<ContextHasher>>,
    total: u64,
}

/// A byte with those beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Context([u8; 3]);

impl Hash for Context {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [before, byte, after] = self.0;
        state.write_u32(u32::from_be_bytes([0, before, byte, after]));
    }
}

/// A hasher for contexts. The one of std would take most of the time of an error. Their number is limited, so that collisions
/// are few even if somebody chose them.
#[derive(Clone, Copy, Debug, Default)]
struct ContextHasher(u64);

impl Hasher for ContextHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, context: u32) {
        let mixed = (self.0 ^ u64::from(context)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The characters of the bytes 80 to FF. `None` is undefined, or a control character.
type Page = [Option<char>; 128];

/// Every encoding of one byte that extends ASCII.
static PAGES: LazyLock<Vec<(Encoding, Page)>> = LazyLock::new(|| {
    let encodings = Encoding::ALL.iter().copied().filter(|&encoding| has_page(encoding));
    encodings.map(|encoding| (encoding, page_of(encoding))).collect()
});

fn has_page(encoding: Encoding) -> bool {
    encoding != Encoding::XUserDefined
        && (encoding.is_legacy() || matches!(encoding, Encoding::Latin1 | Encoding::Windows1252))
        && decoded(encoding, b"a") == Some('a')
        && frequent(encoding).is_none()
        && !matches!(encoding, Encoding::Iso2022Jp | Encoding::Iso2022Kr)
}

fn page_of(encoding: Encoding) -> Page {
    core::array::from_fn(|at| decoded(encoding, &[at as u8 | 0x80]).filter(|c| !c.is_control()))
}

static LANGUAGES: LazyLock<Languages> = LazyLock::new(|| Languages::parse(DATA));

/// Whether each of the [`PAGES`] has the frequent letters of each language.
static WRITTEN: LazyLock<Vec<Vec<bool>>> = LazyLock::new(|| {
    PAGES
        .iter()
        .map(|(_, page)| LANGUAGES.alphabets.iter().map(|alphabet| has_letters(page, alphabet)).collect())
        .collect()
});

fn has_letters(page: &Page, alphabet: &[char]) -> bool {
    alphabet.iter().all(|letter| page.contains(&Some(*letter)))
}

/// Returns the character of these bytes, if they are one.
fn decoded(encoding: Encoding, bytes: &[u8]) -> Option<char> {
    let mut transcoder = Transcoder::new(encoding, Encoding::Utf8).with_error_policy(ErrorPolicy::Strict);
    let mut text = String::new();
    transcoder.feed_into(bytes, &mut text).ok()?;
    transcoder.finish_into(&mut text).ok()?;
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

fn page(encoding: Encoding) -> Option<&'static Page> {
    PAGES.iter().find(|(known, _)| *known == encoding).map(|(_, page)| page)
}

/// Returns the frequent characters of an encoding of two bytes.
fn frequent(encoding: Encoding) -> Option<&'static HashSet<char>> {
    LANGUAGES.frequent.iter().find(|(known, _)| *known == encoding).map(|(_, characters)| characters)
}

/// Returns the windows code page that extends an ISO 8859 encoding, or has its script.
pub(super) fn windows_page(encoding: Encoding) -> Option<Encoding> {
    Some(match encoding {
        Encoding::Latin1 | Encoding::Iso8859_15 => Encoding::Windows1252,
        Encoding::Iso8859_2 => Encoding::Windows1250,
        Encoding::Iso8859_4 | Encoding::Iso8859_13 => Encoding::Windows1257,
        Encoding::Iso8859_5 => Encoding::Windows1251,
        Encoding::Iso8859_6 => Encoding::Windows1256,
        Encoding::Iso8859_7 => Encoding::Windows1253,
        Encoding::Iso8859_8 | Encoding::Iso8859_8I => Encoding::Windows1255,
        _ => return None,
    })
}

impl Contexts {
    /// Returns the contexts in a text.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut contexts = Self::default();
        let mut position = 0;
        for chunk in bytes.utf8_chunks() {
            position += chunk.valid().len();
            contexts.error(bytes, position, chunk.invalid().len());
            position += chunk.invalid().len();
        }
        contexts
    }

    /// Counts the bytes of an ill-formed sequence.
    #[inline]
    pub(super) fn error(&mut self, bytes: &[u8], position: usize, len: usize) {
        if self.is_full() {
            return;
        }
        let around = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
        for (at, &byte) in bytes.iter().enumerate().skip(position).take(len) {
            self.add(Context([around(at.checked_sub(1)), byte, around(at.checked_add(1))]));
        }
    }

    /// Whether nothing more is counted.
    pub(super) fn is_full(&self) -> bool {
        self.total >= MAX_BYTES
    }

    /// Counts a context, up to the limits.
    fn add(&mut self, context: Context) {
        let has_room = self.counts.len() < MAX_CONTEXTS || self.counts.contains_key(&context);
        if has_room && !self.is_full() {
            *self.counts.entry(context).or_default() += 1;
            self.total += 1;
        }
    }

    /// Returns the encoding of text with a declaration of this one, or why it is probably another one. The declaration of a
    /// file that was edited with another encoding is often that of its template.
    pub(super) fn reading(&self, declared: Option<NamedEncoding>) -> Result<NamedEncoding, Doubt> {
        let declared = declared.ok_or(Doubt::Unknown)?;
        let encoding = declared.encoding();
        let is_unicode = !encoding.is_legacy() && page(encoding).is_none();
        if is_unicode {
            return Ok(declared);
        }
        if !self.has_undefined(encoding) {
            return if self.fits(encoding) { Ok(declared) } else { Err(Doubt::Letters) };
        }
        let page = windows_page(encoding);
        page.filter(|&page| !self.has_undefined(page) && self.fits(page))
            .map(Into::into)
            .ok_or(Doubt::Undefined)
    }

    /// Whether a byte is undefined in an encoding of one byte, or is a control character.
    fn has_undefined(&self, encoding: Encoding) -> bool {
        page(encoding).is_some_and(|page| self.bytes().any(|byte| character(page, byte).is_none()))
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.counts.keys().map(|context| context.0[1])
    }

    /// Whether the text is plausible in the encoding, and more so than in every other one in which it would be another text.
    fn fits(&self, encoding: Encoding) -> bool {
        if let Some(own) = self.frequent(encoding) {
            let rivals = LANGUAGES.frequent.iter().filter(|(rival, _)| !self.is_same(encoding, *rival));
            let rival = rivals.filter_map(|(rival, _)| self.frequent(*rival)).max().unwrap_or(0);
            return own * FREQUENT >= self.total && own * 2 >= rival * 3;
        }
        self.language(encoding, DECLARED, |_, _| true).is_some()
    }

    /// Whether the text is probably windows-1252 in a language of Western Europe. In windows-1257 it would be French with a
    /// Lithuanian letter, which is not a rival, because windows-1257 does not have all letters of French.
    pub(super) fn is_western(&self) -> bool {
        self.language(Encoding::Windows1252, UNDECLARED, |page, language| WRITTEN[page][language])
            .is_some_and(|language| WESTERN.contains(&format!(" {language} ")))
    }

    /// Returns the language in which text in an encoding of one byte has the lowest cost, if it is plausible and the cost in
    /// other encodings is higher by `margin`. `is_written` is whether the encoding at this position has texts in a language.
    fn language(
        &self,
        encoding: Encoding,
        margin: u64,
        is_written: fn(usize, usize) -> bool,
    ) -> Option<&'static str> {
        let own = page(encoding)?;
        let (cost, language) = self.read(own, |_| true)?;
        if cost > MAX_MEAN * self.total + ALLOWANCE {
            return None;
        }
        let has_rival = PAGES.iter().enumerate().any(|(number, (_, rival))| {
            self.bytes().any(|byte| character(own, byte) != character(rival, byte))
                && self
                    .read(rival, |language| is_written(number, language))
                    .is_some_and(|(rival, _)| rival < cost + margin)
        });
        (!has_rival).then_some(language)
    }

    /// Returns the cost of the text in an encoding and its language, which is one of those that are written in it, or
    /// `None` if a byte is undefined.
    fn read(&self, page: &Page, is_written: impl Fn(usize) -> bool) -> Option<(u64, &'static str)> {
        let languages = &*LANGUAGES;
        // The cost in a language is the sum of what a letter costs in a text of another language, less what it saves.
        let mut sum = 0;
        let mut savings = vec![0; languages.names.len()];
        let mut costs = Vec::new();
        for (context, count) in &self.counts {
            let [before, letter, after] = context.0.map(|byte| character(page, byte));
            let letter = letter?;
            let before = before.unwrap_or(' ');
            let after = after.unwrap_or(' ');
            if !is_letter(letter) {
                sum += count * u64::from(sign(before, letter, after));
                continue;
            }
            languages.costs(before, letter, after, &mut costs);
            let least = costs.iter().map(|&(_, cost)| cost).min().unwrap_or(FOREIGN);
            let foreign = FOREIGN.min(least + OTHER_LANGUAGE);
            sum += count * u64::from(foreign + odd(before, letter, after));
            for &(language, cost) in &costs {
                savings[language] += count * u64::from(foreign.saturating_sub(cost));
            }
        }
        let (language, saved) = savings
            .into_iter()
            .enumerate()
            .filter(|&(language, _)| is_written(language))
            .max_by_key(|&(_, saved)| saved)
            .unwrap_or_default();
        Some((sum - saved, languages.names[language]))
    }

    /// Returns the number of frequent characters, if the encoding has two bytes for a character.
    fn frequent(&self, encoding: Encoding) -> Option<u64> {
        let characters = frequent(encoding)?;
        let mut pairs: HashMap<[u8; 2], bool> = HashMap::new();
        let mut sum = 0;
        for (&Context([_, first, second]), count) in &self.counts {
            let pair = [first, second];
            let is_frequent = pairs.entry(pair).or_insert_with(|| {
                decoded(encoding, &pair).is_some_and(|character| characters.contains(&character))
            });
            if *is_frequent {
                sum += count;
            }
        }
        Some(sum)
    }

    /// Whether the text is the same in two encodings of two bytes.
    fn is_same(&self, one: Encoding, other: Encoding) -> bool {
        one == other || is_gb(one) && is_gb(other)
    }
}

fn is_gb(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Gbk | Encoding::Gb18030)
}

fn character(page: &Page, byte: u8) -> Option<char> {
    if byte.is_ascii() { Some(char::from(byte)) } else { page[usize::from(byte & 0x7F)] }
}

/// Whether the character is part of a word. The marks are those of windows-1258 and windows-874.
fn is_letter(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36F}' | '\u{E47}'..='\u{E4E}')
        || (character.is_alphabetic() && !matches!(character, 'ª' | 'º' | 'µ' | 'ˆ' | 'ˇ'))
}

fn is_latin(character: char) -> bool {
    matches!(character, '\0'..='\u{24F}' | '\u{300}'..='\u{36F}' | '\u{1E00}'..='\u{1EFF}')
}

/// Returns the letter in lower case.
fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// Returns the cost of a letter in another case or another script than the letters beside it.
fn odd(before: char, letter: char, after: char) -> u32 {
    let is_odd = match letter.is_uppercase() {
        true => before.is_lowercase(),
        false => letter.is_lowercase() && before.is_uppercase() && after.is_uppercase(),
    };
    let is_mixed_before = is_mixed(letter, before);
    let is_mixed_after = after.is_ascii() && is_mixed(letter, after);
    6 * u32::from(is_odd) + 8 * (u32::from(is_mixed_before) + u32::from(is_mixed_after))
}

/// Whether one of two letters is Latin, and the other is not.
fn is_mixed(letter: char, beside: char) -> bool {
    is_letter(beside) && is_latin(beside) != is_latin(letter)
}

/// Returns the cost of a sign between these characters.
fn sign(before: char, sign: char, after: char) -> u32 {
    /// Signs of text. The others are mostly graphics, spacing accents and mathematics.
    const COMMON: &str = "“”‘’„‚–—…«»‹›©®™°€£§•·¡¿ºª½¼¾²³×±µ¶†%‰";

    let usual = if COMMON.contains(sign) { 5 } else { 13 };
    let is_before = is_letter(before);
    let is_after = is_letter(after);
    let cost = match sign {
        '\u{A0}' if is_before && (is_after || after.is_ascii_whitespace()) => 14,
        '\u{A0}' => 4,
        '’' if is_before && is_after => 7,
        // In ISO 8859-7 it is where windows-1253 has a capital letter.
        '’' if is_after && !is_latin(after) => 20,
        '·' if matches!(before, 'l' | 'L') && matches!(after, 'l' | 'L') => 4,
        '\u{200C}'..='\u{200F}' if !before.is_ascii() || !after.is_ascii() => 8,
        '\u{200C}'..='\u{200F}' => 18,
        '\u{AD}' => 8,
        _ if is_before && is_after => usual + 11,
        '“' | '„' | '«' | '‹' | '‘' | '‚' | '¿' | '¡' if is_before => 12,
        '“' | '„' | '«' | '‹' | '‘' | '‚' | '¿' | '¡' => usual,
        '”' | '»' | '›' | '…' | '’' if is_after => 10,
        '”' | '»' | '›' | '…' | '’' => usual,
        '™' | '®' | '°' | '²' | '³' | 'º' | 'ª' | '–' | '—' if !is_after => usual,
        _ if is_after && !matches!(sign, '•' | '©' | '€' | '£' | '§' | '°') => 18,
        _ if is_before || is_after => usual.max(9),
        _ => usual,
    };
    // Signs in a row are rather letters of another encoding.
    if is_sign(before) || is_sign(after) { cost.max(12) } else { cost }
}

fn is_sign(character: char) -> bool {
    !character.is_ascii() && !is_letter(character) && character != '\u{A0}'
}

/// The costs of letters and of their neighbors in each language.
struct Languages {
    names: Vec<&'static str>,
    /// The frequent letters of each language.
    alphabets: Vec<Vec<char>>,
    /// The languages that have a letter, with its cost.
    letters: HashMap<char, Vec<(usize, u32)>>,
    before: HashMap<[char; 2], Vec<u8>>,
    after: HashMap<[char; 2], Vec<u8>>,
    frequent: Vec<(Encoding, HashSet<char>)>,
}

impl Languages {
    fn parse(data: &'static str) -> Self {
        let names: Vec<&str> = data.lines().filter_map(|line| line.strip_prefix("= ")).collect();
        let none = vec![RARE as u8; names.len()];
        let mut languages = Self {
            names: names.clone(),
            alphabets: vec![Vec::new(); names.len()],
            letters: HashMap::new(),
            before: HashMap::new(),
            after: HashMap::new(),
            frequent: Vec::new(),
        };
        let mut language = 0;
        for line in data.lines() {
            let mut words = line.split(' ');
            let first = words.next().unwrap_or_default();
            match first {
                "#" => {}
                "=" => {
                    let name = words.next().unwrap_or_default();
                    language = names.iter().position(|known| *known == name).unwrap_or(0);
                }
                "*" => {
                    let words: Vec<&str> = words.collect();
                    let Some((characters, labels)) = words.split_last() else { continue };
                    let encodings = labels.iter().filter_map(|label| label.parse().ok());
                    languages.frequent.extend(encodings.map(|label| (label, characters.chars().collect())));
                }
                _ => {
                    let mut first = first.chars();
                    let Some(letter) = first.next() else { continue };
                    let Some(level) = first.next().and_then(|digit| digit.to_digit(10)) else { continue };
                    languages.letters.entry(letter).or_default().push((language, level));
                    languages.alphabets[language].extend((level <= FREQUENT_LETTER).then_some(letter));
                    for (beside, level) in levels(words.next().unwrap_or_default()) {
                        languages.before.entry([beside, letter]).or_insert_with(|| none.clone())[language] =
                            level;
                    }
                    for (beside, level) in levels(words.next().unwrap_or_default()) {
                        languages.after.entry([letter, beside]).or_insert_with(|| none.clone())[language] =
                            level;
                    }
                }
            }
        }
        languages
    }

    /// Computes the cost of a letter between these characters in each language that has it.
    fn costs(&self, before: char, letter: char, after: char, costs: &mut Vec<(usize, u32)>) {
        costs.clear();
        let letter = lower(letter);
        let Some(own) = self.letters.get(&letter) else { return };
        let first = self.before.get(&[beside(before), letter]);
        // A letter beyond ASCII has the cost of its own neighbor.
        let last = after.is_ascii().then(|| self.after.get(&[letter, beside(after)]));
        for &(language, own) in own {
            let last = last.map_or(0, |last| cost(last, language));
            costs.push((language, FOREIGN.min(own + cost(first, language) + last)));
        }
    }
}

/// Returns the character of a neighbor in the tables.
fn beside(character: char) -> char {
    if is_letter(character) { lower(character) } else { '-' }
}

fn cost(row: Option<&Vec<u8>>, language: usize) -> u32 {
    row.map_or(RARE, |row| u32::from(row[language]))
}

/// Returns the characters with the numbers before them: `2ab3c`.
fn levels(groups: &str) -> Vec<(char, u8)> {
    let mut level = 0;
    let mut levels = Vec::new();
    for character in groups.chars() {
        match character.to_digit(10) {
            Some(digit) => level = digit as u8,
            None => levels.push((character, level)),
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contexts(encoding: Encoding, text: &str) -> Contexts {
        let mut bytes = Vec::new();
        let mut transcoder = Transcoder::new(Encoding::Utf8, encoding);
        transcoder.feed_into(text.as_bytes(), &mut bytes).expect("it has the characters");
        transcoder.finish_into(&mut bytes).expect("it is whole");
        let mut contexts = Contexts::default();
        for (position, _) in bytes.iter().enumerate().filter(|(_, byte)| !byte.is_ascii()) {
            contexts.error(&bytes, position, 1);
        }
        contexts
    }

    #[test]
    fn contexts_are_limited() {
        let mut contexts = Contexts::default();
        for context in 0..2 * MAX_CONTEXTS {
            contexts.add(Context([(context >> 16) as u8, (context >> 8) as u8, context as u8]));
        }
        assert_eq!((contexts.counts.len(), contexts.total), (MAX_CONTEXTS, MAX_CONTEXTS as u64));
        (0..2 * MAX_BYTES).for_each(|_| contexts.add(Context([0; 3])));
        assert_eq!((contexts.counts.len(), contexts.total), (MAX_CONTEXTS, MAX_BYTES));
        assert_eq!(contexts.counts.values().sum::<u64>(), MAX_BYTES);
    }

    #[test]
    fn text_fits_its_encoding_and_no_other_of_its_script() {
        let cyrillic = [
            Encoding::Windows1251,
            Encoding::Koi8R,
            Encoding::Iso8859_5,
            Encoding::Ibm866,
            Encoding::XMacCyrillic,
            Encoding::Ibm855,
        ];
        let central = [Encoding::Windows1250, Encoding::Iso8859_2, Encoding::Ibm852, Encoding::Windows1257];
        let baltic = [Encoding::Windows1257, Encoding::Iso8859_4, Encoding::Windows1252, Encoding::Ibm850];
        let chinese = [Encoding::Gbk, Encoding::Big5, Encoding::EucJp, Encoding::EucKr, Encoding::ShiftJis];
        for (text, own, encodings) in [
            ("Съешь же ещё этих мягких французских булок", &cyrillic[..], &cyrillic[..]),
            ("Zażółć gęślą jaźń, łatwo i prędko", &central[..3], &central[..]),
            ("Příliš žluťoučký kůň úpěl ďábelské ódy", &central[..3], &central[..]),
            ("Įveskite, išsaugoti šį puslapį, rodyti neprisijungusiems, žodžių", &baltic[..2], &baltic[..]),
            ("Prénom, deuxième étage, où êtes-vous", &baltic[2..], &baltic[..]),
            ("Μπορώ να φάω σπασμένα γυαλιά", &[Encoding::Windows1253], &[Encoding::Windows1252]),
            ("这个文件的内容没有变化，请检查", &chinese[..1], &chinese[..]),
            ("這個檔案的內容沒有變更，請檢查", &chinese[1..2], &chinese[1..]),
            ("このファイルの内容は変更されていません", &[Encoding::EucJp, Encoding::ShiftJis], &chinese[..]),
            ("이 파일의 내용은 변경되지 않았습니다", &chinese[3..4], &chinese[..]),
        ] {
            for &encoding in own {
                let contexts = contexts(encoding, text);
                assert!(contexts.fits(encoding), "{encoding} {text}");
                for &other in encodings.iter().filter(|&&other| other != encoding) {
                    assert!(!contexts.fits(other), "{encoding} as {other} {text}");
                }
            }
        }
    }

    #[test]
    fn text_that_is_the_same_in_several_encodings_fits_all() {
        let contexts = contexts(Encoding::Windows1252, "Größe für Übergrößen");
        for encoding in [Encoding::Windows1250, Encoding::Windows1254, Encoding::Iso8859_15, Encoding::Latin1]
        {
            assert!(contexts.fits(encoding), "{encoding}");
        }
        assert!(!contexts.fits(Encoding::Windows1251));
    }

    #[test]
    fn three_words_of_western_europe_are_recognized() {
        for text in [
            "Autres céréales, déjà vu",
            "Autres céréales",
            "café à la carte, déjà vu",
            "España y América",
            "perché la città è così",
        ] {
            assert!(contexts(Encoding::Windows1252, text).is_western(), "{text}");
        }
        for (encoding, text) in [
            (Encoding::Windows1250, "Árvíztűrő tükörfúrógép"),
            (Encoding::Windows1257, "kavinė, arbatinė, déją"),
            (Encoding::Windows1254, "Güneşli, değil"),
            (Encoding::Windows1251, "мир, труд, май"),
            (Encoding::Ibm850, "crème brûlée à la carte"),
        ] {
            assert!(!contexts(encoding, text).is_western(), "{encoding} {text}");
        }
    }
}
