//! The encoding of an input for `auto`: decided if it can be told apart from all others, otherwise a list of
//! candidates.

use std::path::Path;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use utf8_codec::transcode::{Encoding, Transcoder};
use utf8_codec::{ErrorKind, ErrorPolicy, from_utf8};

use super::declaration::{self, Declared};
use super::languages::Contexts;
use super::settings::charset_outside;
use super::wide::Wide;
use crate::charset::NamedEncoding;
use crate::escape;

/// A top-level domain for each group of languages of `chardetng`, which returns only the first of its guesses for each.
const DOMAINS: [&str; 24] = [
    "com", "cn", "tw", "hk", "jp", "kr", "ru", "ua", "bg", "gr", "il", "sa", "ir", "th", "tr", "vn", "pl",
    "hu", "cz", "ro", "lt", "ee", "fr", "is",
];

/// The number of characters of a sample line.
const SAMPLE: usize = 60;

/// Decides the encoding of an input that starts with `start`, which is all of it if `is_all`. Only UTF-8, UTF-16, UTF-32 and
/// an encoding that the input declares are decided. For all others the error has a line for each candidate, the most
/// plausible one first.
pub(crate) fn decide(path: &Path, start: &[u8], is_all: bool) -> Result<NamedEncoding, String> {
    if let Some(wide) = Wide::of(start) {
        let is_16 = matches!(wide.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
        let named = if is_16 { "utf-16" } else { "utf-32" };
        return if wide.has_bom { named.parse().map_err(str::to_owned) } else { Ok(wide.encoding.into()) };
    }
    match from_utf8(start) {
        Ok(_) => return Ok(Encoding::Utf8.into()),
        Err(error) if error.kind == ErrorKind::Truncated && !is_all => return Ok(Encoding::Utf8.into()),
        Err(_) => {}
    }
    let declared = Declared::of(declaration::kind_of(path), start);
    let mut message = "the encoding is not known: name it with --from".to_owned();
    if let Some(declared) = declared {
        match Contexts::of(start).reading(declared.charset()) {
            Ok(charset) => return Ok(charset),
            Err(doubt) => message = format!("{}: name the encoding with --from", declared.doubted(doubt)),
        }
    } else if let Some(charset) = charset_outside(path) {
        return Ok(charset);
    }
    for (encoding, line) in candidates(start, is_all) {
        message.push_str(&format!("\n{encoding}: {}", escape::text(&line)));
    }
    Err(message)
}

/// Returns the encodings in which the start of an input is well-formed and has characters beyond ASCII, of those that
/// `chardetng` proposes, the most plausible one first, with a line of the text.
pub(super) fn candidates(start: &[u8], is_all: bool) -> Vec<(Encoding, String)> {
    let with_line = |encoding| Some((encoding, sample(encoding, start, is_all)?));
    ranked(start, is_all).into_iter().filter_map(with_line).collect()
}

/// Returns the guesses of `chardetng`: the one without a domain, and then the one for the most languages first.
fn ranked(start: &[u8], is_all: bool) -> Vec<Encoding> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(start, is_all);
    let mut votes: Vec<(Encoding, usize)> = Vec::new();
    for domain in core::iter::once(None).chain(DOMAINS.map(|domain| Some(domain.as_bytes()))) {
        let guess = detector.guess(domain, Utf8Detection::Deny);
        let Some(encoding) = Encoding::for_label(guess.name()) else { continue };
        match votes.iter_mut().find(|(known, _)| *known == encoding) {
            Some((_, votes)) => *votes += 1,
            None => votes.push((encoding, if domain.is_none() { DOMAINS.len() } else { 1 })),
        }
    }
    // A single byte is no evidence, and windows-1252 is the most frequent one of these encodings.
    if start.iter().filter(|byte| !byte.is_ascii()).count() == 1 {
        votes
            .iter_mut()
            .filter(|(known, _)| *known == Encoding::Windows1252)
            .for_each(|vote| vote.1 = usize::MAX);
    }
    votes.sort_by_key(|&(_, votes)| core::cmp::Reverse(votes));
    votes.into_iter().map(|(encoding, _)| encoding).collect()
}

/// Returns the first line with a byte above `7F` or an escape sequence, or `None` if the start of the input is ill-formed
/// in the encoding.
fn sample(encoding: Encoding, start: &[u8], is_all: bool) -> Option<String> {
    let mut transcoder = Transcoder::new(encoding, Encoding::Utf8).with_error_policy(ErrorPolicy::Strict);
    let mut text = String::new();
    transcoder.feed_into(start, &mut text).ok()?;
    if is_all {
        transcoder.finish_into(&mut text).ok()?;
    }
    let line = text.lines().find(|line| !line.is_ascii())?.trim();
    let first = line.find(|character: char| !character.is_ascii())?;
    let from = line[..first].char_indices().rev().nth(SAMPLE / 3).map_or(0, |(at, _)| at);
    Some(line[from..].chars().take(SAMPLE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(encoding: Encoding, text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut transcoder = Transcoder::new(Encoding::Utf8, encoding);
        transcoder.feed_into(text.as_bytes(), &mut bytes).expect("it has the characters");
        transcoder.finish_into(&mut bytes).expect("it is whole");
        bytes
    }

    #[test]
    fn only_what_can_be_told_apart_is_decided() {
        let decide = |name: &str, bytes: &[u8]| decide(Path::new(name), bytes, true).ok();
        let utf_8: NamedEncoding = Encoding::Utf8.into();
        for (name, bytes, expected) in [
            ("a.txt", "grün".as_bytes(), Some(utf_8)),
            ("a.txt", b"plain", Some(utf_8)),
            ("a.txt", b"\xFF\xFEa\0", "utf-16".parse().ok()),
            ("a.txt", b"g\0r\0\xFC\0n\0 \0a\0", Some(Encoding::Utf16Le.into())),
            ("a.xml", b"<?xml version='1.0' encoding='gbk'?>\xD6\xD0\xCE\xC4", Some(Encoding::Gbk.into())),
            ("a.txt", b"gr\xFCn", None),
            // Declarations that are read as ASCII, and are not in EBCDIC.
            ("a.xml", b"<?xml version='1.0' encoding='IBM-1047'?><a>caf\xE9</a>", None),
            ("a.py", b"# coding: cp037\n# caf\xE9\n", None),
            // Declarations that the text contradicts.
            ("a.py", b"# coding: koi8-r\n# \xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0\n", None),
            ("a.txt", &encoded(Encoding::Koi8R, "Съешь же ещё этих мягких"), None),
        ] {
            assert_eq!(decide(name, bytes), expected, "{}", bytes.escape_ascii());
        }
        assert_eq!(super::decide(Path::new("-"), b"gr\xC3", false), Ok(utf_8));
    }

    #[test]
    fn the_first_candidate_is_the_encoding_of_common_text() {
        for (encoding, text) in [
            (Encoding::Windows1251, "Съешь же ещё этих мягких французских булок"),
            (Encoding::Koi8U, "Съешь же ещё этих мягких французских булок"),
            (Encoding::Gbk, "我能吞下玻璃而不伤身体。我能吞下玻璃"),
            (Encoding::ShiftJis, "私はガラスを食べられます。それは私を傷つけません"),
            (Encoding::EucKr, "나는 유리를 먹을 수 있어요. 그래도 아프지 않아요"),
            (Encoding::Windows1253, "Μπορώ να φάω σπασμένα γυαλιά χωρίς να πάθω τίποτα"),
        ] {
            let message = decide(Path::new("-"), &encoded(encoding, text), true).expect_err("a guess");
            let first = message.lines().nth(1).expect("a candidate");
            let start: String = text.chars().take(10).collect();
            assert!(first.starts_with(&format!("{encoding}: {start}")), "{encoding}: {message}");
        }
    }
}
