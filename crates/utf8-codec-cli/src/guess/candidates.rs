//! The candidates for the encoding of a text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::{Encoding, Transcoder};

/// A top-level domain for each group of languages of `chardetng`, which returns only the first of its guesses for each.
const DOMAINS: [&str; 24] = [
    "com", "cn", "tw", "hk", "jp", "kr", "ru", "ua", "bg", "gr", "il", "sa", "ir", "th", "tr", "vn", "pl",
    "hu", "cz", "ro", "lt", "ee", "fr", "is",
];

/// The number of characters of a sample line.
const SAMPLE: usize = 60;

/// Returns the encodings in which the start of an input is well-formed and has characters beyond ASCII, of those that
/// `chardetng` proposes, the most plausible one first, with a line of the text.
pub(crate) fn of(start: &[u8], is_all: bool) -> Vec<(Encoding, String)> {
    ranked(start, is_all)
        .into_iter()
        .filter_map(|encoding| Some((encoding, sample(encoding, start, is_all)?)))
        .collect()
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
    // One byte is not evidence. windows-1252 is the most common of these encodings, so it comes first.
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
    fn the_first_candidate_is_the_encoding_of_common_text() {
        for (encoding, text) in [
            (Encoding::Windows1251, "Съешь же ещё этих мягких французских булок"),
            (Encoding::Koi8U, "Съешь же ещё этих мягких французских булок"),
            (Encoding::Gbk, "我能吞下玻璃而不伤身体。我能吞下玻璃"),
            (Encoding::ShiftJis, "私はガラスを食べられます。それは私を傷つけません"),
            (Encoding::EucKr, "나는 유리를 먹을 수 있어요. 그래도 아프지 않아요"),
            (Encoding::Windows1253, "Μπορώ να φάω σπασμένα γυαλιά χωρίς να πάθω τίποτα"),
        ] {
            let candidates = of(&encoded(encoding, text), true);
            let (first, line) = candidates.first().expect("a candidate");
            let start: String = text.chars().take(10).collect();
            assert!(*first == encoding && line.starts_with(&start), "{encoding}: {candidates:?}");
        }
    }
}
