//! `JsonDecoder`: the same text and the same errors for every partition, compared with an oracle and with serde_json.

use std::borrow::Cow;

use utf8_codec::internal::Sink;
use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonPieces, JsonStrings, SurrogateCarry};
use utf8_codec::{Ascii, ErrorKind, ErrorPolicy, Subset, TextDecoder, Utf8Error};

use crate::support::json::{self, Error};
use crate::support::{Rng, every_partition, policies, some_partitions};

fn decode(mut decoder: JsonDecoder, chunks: &[&[u8]]) -> (String, Vec<Error>) {
    let (mut text, mut errors) = (String::new(), Vec::new());
    let mut take = |pieces: JsonPieces<'_, '_>| {
        for piece in pieces {
            use utf8_codec::TextPiece::{IllFormed, Repaired};
            if let Repaired(_, error) | IllFormed(error) = piece {
                errors.push(json::error(error));
            }
            text.push_str(piece.text().unwrap_or_default());
        }
    };
    for chunk in chunks {
        take(decoder.feed(chunk));
        assert!(decoder.pending().len() <= 11);
    }
    take(decoder.finish());
    assert_eq!(decoder.counters().total(), errors.len() as u64);
    assert!(decoder.pending().is_empty() && decoder.finish().next().is_none());
    (text, errors)
}

/// The text and the errors in the order of a filter, which decodes runs.
#[derive(Default)]
struct Runs(String, Vec<Error>);

impl Sink for Runs {
    fn borrowed(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn made(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn error(&mut self, error: Utf8Error) {
        self.1.push(json::error(error));
    }
}

fn decode_runs(mut decoder: JsonDecoder, chunks: &[&[u8]]) -> (String, Vec<Error>) {
    let mut runs = Runs::default();
    for mut rest in chunks.iter().copied() {
        let mut before = decoder.offset();
        while decoder.feed(rest).decode_to(&mut runs).is_err() {
            rest = &rest[(decoder.offset() - before) as usize..];
            before = decoder.offset();
        }
    }
    while decoder.finish().decode_to(&mut runs).is_err() {}
    (runs.0, runs.1)
}

/// Every policy for bytes. Some replacements are parts of escapes.
fn decoders() -> impl Iterator<Item = TextDecoder> {
    let parts = [b'\\', b'u', b'0'].map(|byte| ErrorPolicy::Substitute(Ascii::new(byte).expect("ASCII")));
    policies().into_iter().chain(parts).map(|policy| TextDecoder::new().with_error_policy(policy))
}

fn check(input: &[u8], text: TextDecoder, random: usize) {
    for subset in [None, Some(&Subset::NO_NUL), Some(&Subset::BMP)] {
        for &policy in EscapePolicy::ALL {
            let mut strings = JsonStrings::new().with_escape_policy(policy);
            if let Some(subset) = subset {
                strings = strings.with_subset(subset);
            }
            let decoder = JsonDecoder::with_decoder(text.clone()).with_strings(strings);
            let expected = json::decode(input, text.clone(), policy, subset);
            let compare = |chunks: &[&[u8]]| {
                assert_eq!(decode(decoder.clone(), chunks), expected, "{text:?} {policy} {chunks:02X?}");
                assert_eq!(decode_runs(decoder.clone(), chunks), expected, "{text:?} {policy} {chunks:02X?}");
            };
            if random == 0 {
                every_partition(input, compare);
            } else {
                some_partitions(input, random, compare);
            }
        }
    }
}

#[test]
fn every_partition_of_short_json_agrees_with_the_oracle() {
    let mut rng = Rng::new(42);
    for decoder in decoders() {
        for round in 0..12 {
            let mut input = json::dirty(&mut rng, 1 + round % 4, true);
            input.truncate(9);
            check(&input, decoder.clone(), 0);
        }
    }
}

#[test]
fn a_backslash_that_replaces_bytes_has_their_offset() {
    let backslash = ErrorPolicy::Substitute(Ascii::new(b'\\').expect("ASCII"));
    // The first two of three backslashes are a pair.
    check(b"\xC3\xE2\x82u", TextDecoder::new().with_error_policy(backslash), 0);
}

#[test]
fn every_cut_in_three_of_a_pair_agrees_with_the_oracle() {
    let input = br#"x\\\uD83D\uDE00\uD83D\u00e9\uDE00\u12\"#;
    let expected = json::decode(input, TextDecoder::new(), EscapePolicy::Keep, None);
    assert_eq!(expected.1.len(), 3);
    let strings = JsonStrings::new().with_escape_policy(EscapePolicy::Keep);
    for first in 0..=input.len() {
        for second in first..=input.len() {
            let chunks = [&input[..first], &input[first..second], &input[second..]];
            assert_eq!(decode(JsonDecoder::new().with_strings(strings), &chunks), expected);
        }
    }
}

#[test]
fn random_partitions_of_long_json_agree_with_the_oracle() {
    let mut rng = Rng::new(43);
    for decoder in decoders() {
        for parts in [8, 30, 70] {
            check(&json::dirty(&mut rng, parts, true), decoder.clone(), 4);
        }
    }
    // Longer than what one call of a kernel searches.
    let mut long = json::dirty(&mut rng, 900, false);
    long.extend_from_slice("a".repeat(9000).as_bytes());
    long.extend_from_slice(br"\uD800");
    let text = TextDecoder::new();
    let expected = json::decode(&long, text, EscapePolicy::Strict, None);
    for size in [1, 7, 64, 4096, long.len()] {
        assert_eq!(decode(JsonDecoder::new(), &long.chunks(size).collect::<Vec<_>>()), expected, "{size}");
    }
}

/// Escapes and errors with long text between them.
fn sparse(rng: &mut Rng, parts: usize) -> Vec<u8> {
    let part = |_| {
        let mut part = json::dirty(rng, 1, true);
        part.extend(rng.pick(&["a", "\u{E9}", "\u{20AC} a", "\u{1F4A9}"]).repeat(rng.below(800)).bytes());
        part
    };
    (0..parts).flat_map(part).collect()
}

#[test]
fn long_text_between_escapes_agrees_with_the_oracle() {
    let mut rng = Rng::new(48);
    for text in decoders() {
        for _ in 0..8 {
            let input = sparse(&mut rng, 8);
            let expected = json::decode(&input, text.clone(), EscapePolicy::Strict, None);
            for _ in 0..8 {
                let (size, first) = (600 + rng.below(input.len()), rng.below(input.len()));
                let mut chunks = vec![&input[..first]];
                chunks.extend(input[first..].chunks(size));
                assert_eq!(
                    decode(JsonDecoder::with_decoder(text.clone()), &chunks),
                    expected,
                    "{text:?} {first} {size}"
                );
            }
        }
    }
}

#[test]
fn an_iterator_dropped_after_each_piece_loses_nothing() {
    let mut rng = Rng::new(44);
    for round in 0..300 {
        let long = round % 10 == 9;
        let input = match long {
            true => sparse(&mut rng, 8),
            false => json::dirty(&mut rng, 1 + round % 20, round % 2 == 0),
        };
        for policy in [ErrorPolicy::Strict, ErrorPolicy::Escape] {
            let text = TextDecoder::new().with_error_policy(policy);
            let mut decoder = JsonDecoder::with_decoder(text.clone());
            let (mut out, mut errors) = (String::new(), Vec::new());
            for mut rest in input.chunks(1 + round % 8 + if long { 4000 } else { 0 }) {
                while !rest.is_empty() {
                    let before = decoder.offset();
                    if let Some(piece) = decoder.feed(rest).next() {
                        out.push_str(piece.text().unwrap_or_default());
                        errors.extend(piece.text().err().map(json::error));
                    }
                    rest = &rest[(decoder.offset() - before) as usize..];
                }
            }
            for piece in decoder.finish() {
                out.push_str(piece.text().unwrap_or_default());
                errors.extend(piece.text().err().map(json::error));
            }
            let mut expected = json::decode(&input, text, EscapePolicy::Strict, None);
            expected.1.retain(|error| error.3 || policy == ErrorPolicy::Strict);
            assert_eq!((out, errors), expected, "{:?}", String::from_utf8_lossy(&input));
        }
    }
}

/// A string without quotes inside, and with all escapes in the grammar or incomplete.
fn string(rng: &mut Rng) -> String {
    const PARTS: [&str; 12] = [
        r"\uD83D\uDE00",
        r"\uD83D",
        r"\uDE00",
        r"\u00E9",
        r"\u00",
        r"\\",
        r"\n",
        r"\/",
        "u",
        "D83D",
        "\u{E9}",
        "0",
    ];
    let parts: String = (0..rng.below(6)).map(|_| rng.pick(&PARTS)).collect();
    format!("\"{parts}\"")
}

#[test]
fn serde_json_decodes_the_strings_that_are_accepted_and_no_others() {
    let mut rng = Rng::new(45);
    let (mut accepted, mut rejected) = (0, 0);
    for _ in 0..5_000 {
        let string = string(&mut rng);
        let errors = decode(JsonDecoder::new(), &[string.as_bytes()]).1;
        let parsed = serde_json::from_str::<String>(&string);
        assert_eq!(parsed.is_ok(), errors.is_empty(), "{string} {errors:?} {parsed:?}");
        *(if errors.is_empty() { &mut accepted } else { &mut rejected }) += 1;
    }
    assert!(accepted > 500 && rejected > 500, "{accepted} {rejected}");
}

#[test]
fn a_replaced_string_has_the_same_length_and_serde_json_decodes_it() {
    let strings = JsonStrings::new().with_escape_policy(EscapePolicy::Replace).with_subset(&Subset::NO_NUL);
    let mut rng = Rng::new(46);
    for _ in 0..5_000 {
        let string = string(&mut rng);
        let (text, errors) = decode(JsonDecoder::new().with_strings(strings), &[string.as_bytes()]);
        assert_eq!(text.len(), string.len());
        let replaced: String = serde_json::from_str(&text).expect("every escape is a character");
        assert!(errors.is_empty() || replaced.contains(['\u{FFFD}', '?']), "{string}");
    }
}

#[test]
fn each_error_has_its_offset_length_and_words() {
    let strings = JsonStrings::new().with_subset(&Subset::I_JSON).with_escape_policy(EscapePolicy::Keep);
    let input = br#"["\uDEAD", "\uD83F\uDFFF", "C:\users"]"#;
    let mut decoder = JsonDecoder::new().with_strings(strings);
    let words: Vec<String> = decoder
        .feed(input)
        .filter_map(|piece| match piece {
            utf8_codec::TextPiece::Repaired(_, error) => Some(error.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(
        words,
        [
            "ill-formed escape at byte 2 (UnpairedSurrogate, 6 bytes)",
            "escape of a character outside the subset at byte 12 (OutsideSubset, 12 bytes)",
            "ill-formed escape at byte 30 (IncompleteEscape, 2 bytes)",
        ]
    );
    assert_eq!(decoder.counters().of(ErrorKind::IncompleteEscape), 1);
}

/// Returns the length of the start of `input` at whose last byte an error is returned, and the error.
fn first_error(input: &[u8]) -> (usize, Error) {
    let mut decoder = JsonDecoder::new();
    for at in 0..input.len() {
        if let Some(error) = decoder.feed(&input[at..=at]).find_map(|piece| piece.text().err()) {
            return (at + 1, json::error(error));
        }
    }
    let error = decoder.finish().find_map(|piece| piece.text().err()).expect("an error");
    (input.len() + 1, json::error(error))
}

#[test]
fn an_escape_is_reported_by_the_call_that_receives_the_byte_that_breaks_it() {
    use ErrorKind::{IncompleteEscape, UnpairedSurrogate};
    for (input, len, kind, error_len) in [
        (&br"\uD83D\uDE00\uDC"[..], 16, UnpairedSurrogate, 4),
        (br"\uD83Dx", 7, UnpairedSurrogate, 6),
        (br"\uD83D\n", 8, UnpairedSurrogate, 6),
        (br"\uD83D\u0", 9, UnpairedSurrogate, 6),
        (br"\uD83D\uD8", 10, UnpairedSurrogate, 6),
        (br"\uD83D\uDbFF", 10, UnpairedSurrogate, 6),
        (br"\uD83D\uDEx", 11, UnpairedSurrogate, 6),
        (br"\uD83D\uD", 10, UnpairedSurrogate, 6),
        (br"\udc", 4, UnpairedSurrogate, 4),
        (br"\uDFFF", 4, UnpairedSurrogate, 4),
        (br"\uDg", 4, IncompleteEscape, 3),
        (br"\u12x", 5, IncompleteEscape, 4),
        (br"\u123", 6, IncompleteEscape, 5),
    ] {
        let text = String::from_utf8_lossy(input);
        let offset = if kind == UnpairedSurrogate && len == 16 { 12 } else { 0 };
        assert_eq!(first_error(input), (len, (offset, kind, error_len, true)), "{text}");
    }
}

#[test]
fn the_name_of_each_policy_is_parsed() {
    for &policy in EscapePolicy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    let error = "none".parse::<EscapePolicy>().expect_err("no policy");
    assert_eq!(error.to_string(), "unknown policy for escapes; known are strict, replace, drop, keep");
}

#[test]
fn a_dropped_escape_leaves_a_string_that_serde_json_decodes() {
    let strings = JsonStrings::new().with_escape_policy(EscapePolicy::Drop).with_subset(&Subset::NO_NUL);
    let mut rng = Rng::new(47);
    for _ in 0..5_000 {
        let string = string(&mut rng);
        let (text, errors) = decode(JsonDecoder::new().with_strings(strings), &[string.as_bytes()]);
        let dropped: u64 = errors.iter().map(|error| u64::from(error.2)).sum();
        assert_eq!(text.len() as u64 + dropped, string.len() as u64);
        let decoded: String = serde_json::from_str(&text).expect("every escape is a character");
        assert!(!decoded.contains('\0'), "{string}");
    }
}

/// The deltas of `text`, as a server writes them that cuts between UTF-16 code units and escapes what is not ASCII.
fn deltas(text: &str, rng: &mut Rng) -> Vec<String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut strings = Vec::new();
    let mut rest = &units[..];
    while !rest.is_empty() {
        let (delta, next) = rest.split_at(rng.below(rest.len() + 1));
        let escaped = delta.iter().map(|&unit| match u8::try_from(unit) {
            Ok(ascii @ 0x20..0x7F) if ascii != b'"' && ascii != b'\\' => char::from(ascii).to_string(),
            _ => format!("\\u{unit:04x}"),
        });
        strings.push(format!("\"{}\"", escaped.collect::<String>()));
        rest = next;
    }
    strings
}

#[test]
fn deltas_that_are_cut_between_code_units_join_to_their_text() {
    let mut rng = Rng::new(48);
    let characters = ['a', '\\', '"', '\u{E9}', '\u{D7FF}', '\u{E000}', '\u{1F600}', '\u{10FFFF}'];
    for _ in 0..5_000 {
        let text: String = (0..1 + rng.below(6)).map(|_| characters[rng.below(characters.len())]).collect();
        let mut carry = SurrogateCarry::new();
        let mut joined = String::new();
        for delta in deltas(&text, &mut rng) {
            joined += &serde_json::from_str::<String>(&carry.join(&delta)).expect(&delta);
        }
        assert_eq!((joined, carry.finish()), (text, None));
    }
}

#[test]
fn a_half_without_the_other_one_is_kept_replaced_or_dropped() {
    let strings =
        [r#""a\ud83d""#, "null", r#""""#, r#""b\\\ude00\uD83d\ud83d""#, r#""\ud83dc""#, r#""\ude0\uD800""#];
    let each = |policy| {
        let mut carry = SurrogateCarry::new().with_escape_policy(policy);
        let joined: Vec<_> = strings.iter().map(|string| carry.join(string).into_owned()).collect();
        (joined, carry.finish())
    };
    let (kept, end) = each(EscapePolicy::Keep);
    assert_eq!(
        kept,
        [r#""a""#, "null", r#""""#, r#""\ud83db\\\ude00\uD83d""#, r#""\ud83d\ud83dc""#, r#""\ude0""#]
    );
    assert_eq!(end.as_deref(), Some(r#""\uD800""#));
    assert_eq!(each(EscapePolicy::Strict), (kept, end));
    let (replaced, end) = each(EscapePolicy::Replace);
    assert_eq!(
        replaced,
        [r#""a""#, "null", r#""""#, r#""\uFFFDb\\\uFFFD\uFFFD""#, r#""\uFFFD\uFFFDc""#, r#""\ude0""#]
    );
    assert_eq!(end.as_deref(), Some(r#""\uFFFD""#));
    let (dropped, end) = each(EscapePolicy::Drop);
    assert_eq!(dropped, [r#""a""#, "null", r#""""#, r#""b\\""#, r#""c""#, r#""\ude0""#]);
    assert_eq!(end, None);
}

#[test]
fn a_string_that_stays_as_it_is_is_not_copied() {
    let mut carry = SurrogateCarry::new();
    for string in [r#""""#, r#""text""#, r#""\ud83d\ude00\n""#, r#""\ude00""#, "null", "12"] {
        assert!(matches!(carry.join(string), Cow::Borrowed(same) if same == string), "{string}");
    }
    assert_eq!(size_of::<SurrogateCarry>(), 6);
}
