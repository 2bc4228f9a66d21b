//! The goals of conversions between encodings.

use std::hint::black_box;

use utf8_codec::transcode::{Encoding, Status, Transcoder};
use utf8_codec::{ErrorPolicy, Utf8Decoder};

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

/// The size of the input in UTF-8.
const LEN: usize = 64 * 1024;

/// A function of simdutf that reads code units and returns the number of code units written.
type Simdutf = fn(&[u8], &mut [u8]) -> usize;

/// Wraps a function of simdutf that reads `$from` and writes `$to`.
macro_rules! simdutf {
    ($name:ident, $from:ty, $to:ty) => {
        |input, output| {
            let len = input.len() / size_of::<$from>();
            // SAFETY: the output has room for the longest conversion. x86-64 reads and writes at any address.
            let units = unsafe { simdutf::$name(input.as_ptr().cast(), len, output.as_mut_ptr().cast()) };
            units * size_of::<$to>()
        }
    };
}

const TEXTS: &[Corpus] = &[
    Corpus::AsciiJson,
    Corpus::EnglishHtml,
    Corpus::FrenchHtml,
    Corpus::Cyrillic,
    Corpus::Cjk,
    Corpus::Emoji,
];
const LATIN: &[Corpus] = &[Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::GermanHtml];

/// The conversions that simdutf also has.
#[rustfmt::skip]
const CONVERSIONS: [(&str, Encoding, Encoding, Simdutf, &[Corpus]); 15] = {
    use Encoding::{Latin1, Utf8, Utf16Be, Utf16Le, Utf32Le};
    [
        ("UTF-8 to UTF-16LE", Utf8, Utf16Le, simdutf!(convert_utf8_to_utf16le, u8, u16), TEXTS),
        ("UTF-8 to UTF-16BE", Utf8, Utf16Be, simdutf!(convert_utf8_to_utf16be, u8, u16), TEXTS),
        ("UTF-16LE to UTF-8", Utf16Le, Utf8, simdutf!(convert_utf16le_to_utf8, u16, u8), TEXTS),
        ("UTF-16BE to UTF-8", Utf16Be, Utf8, simdutf!(convert_utf16be_to_utf8, u16, u8), TEXTS),
        ("UTF-8 to UTF-32LE", Utf8, Utf32Le, simdutf!(convert_utf8_to_utf32, u8, u32), TEXTS),
        ("UTF-32LE to UTF-8", Utf32Le, Utf8, simdutf!(convert_utf32_to_utf8, u32, u8), TEXTS),
        ("UTF-16LE to UTF-32LE", Utf16Le, Utf32Le, simdutf!(convert_utf16le_to_utf32, u16, u32), TEXTS),
        ("UTF-16BE to UTF-32LE", Utf16Be, Utf32Le, simdutf!(convert_utf16be_to_utf32, u16, u32), TEXTS),
        ("UTF-32LE to UTF-16LE", Utf32Le, Utf16Le, simdutf!(convert_utf32_to_utf16le, u32, u16), TEXTS),
        ("UTF-32LE to UTF-16BE", Utf32Le, Utf16Be, simdutf!(convert_utf32_to_utf16be, u32, u16), TEXTS),
        ("ISO 8859-1 to UTF-8", Latin1, Utf8, simdutf!(convert_latin1_to_utf8, u8, u8), LATIN),
        ("UTF-8 to ISO 8859-1", Utf8, Latin1, simdutf!(convert_utf8_to_latin1, u8, u8), LATIN),
        ("ISO 8859-1 to UTF-16LE", Latin1, Utf16Le, simdutf!(convert_latin1_to_utf16le, u8, u16), LATIN),
        ("UTF-16LE to ISO 8859-1", Utf16Le, Latin1, simdutf!(convert_utf16le_to_latin1, u16, u8), LATIN),
        ("UTF-32LE to ISO 8859-1", Utf32Le, Latin1, simdutf!(convert_utf32_to_latin1, u32, u8), LATIN),
    ]
};

/// Converts all of the input. Returns the number of bytes written.
fn convert(mut transcoder: Transcoder, input: &[u8], output: &mut [u8]) -> u64 {
    let progress = transcoder.feed_into_slice(black_box(input), output);
    assert_eq!(progress.status, Status::InputEmpty);
    black_box(output);
    progress.written as u64
}

/// Returns the text in an encoding that contains all of its characters.
fn encoded(text: &str, to: Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    Transcoder::new(Encoding::Utf8, to).feed_into(text.as_bytes(), &mut out).expect("every character exists");
    out
}

/// Returns text in which every third character is `other`.
fn every_third(text: &str, other: char) -> String {
    let mixed: Vec<char> =
        text.chars().enumerate().map(|(i, c)| if i % 3 == 2 { other } else { c }).collect();
    let mut out = String::new();
    for character in mixed {
        if out.len() + character.len_utf8() > LEN {
            break;
        }
        out.push(character);
    }
    out
}

impl Bench {
    pub fn conversions(&self) {
        self.unicode();
        self.windows_1252();
        self.copies();
        self.dialects();
        self.same_under_a_policy();
    }

    fn unicode(&self) {
        for (scenario, from, to, peer, corpora) in CONVERSIONS {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in corpora {
                let input = &encoded(&corpus.text(LEN), from);
                let (mut ours, mut theirs) = (vec![0; 4 * LEN + 64], vec![0; 4 * LEN + 64]);
                let contenders = vec![
                    Contender::new("ours", move || convert(Transcoder::new(from, to), input, &mut ours)),
                    Contender::new("simdutf (C++)", move || {
                        let written = peer(black_box(input), &mut theirs);
                        black_box(&theirs);
                        written as u64
                    }),
                ];
                let race = race(contenders, self.effort);
                self.note(
                    &measured(scenario, corpus.name(), input.len(), &race),
                    "ours",
                    &["simdutf (C++)"],
                    1.0,
                );
            }
        }
    }

    fn windows_1252(&self) {
        use Encoding::{Utf8, Windows1252};
        for (scenario, from, to) in
            [("windows-1252 to UTF-8", Windows1252, Utf8), ("UTF-8 to windows-1252", Utf8, Windows1252)]
        {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in [Corpus::AsciiJson, Corpus::EnglishHtml, Corpus::FrenchHtml, Corpus::GermanHtml] {
                let input = &encoded(&corpus.text(LEN), from);
                let (mut ours, mut theirs) = (vec![0; 4 * LEN], vec![0; 4 * LEN]);
                let contenders = vec![
                    Contender::new("ours", move || convert(Transcoder::new(from, to), input, &mut ours)),
                    Contender::new("encoding_rs", move || {
                        let input = black_box(input);
                        let written = if from == Windows1252 {
                            let mut decoder = encoding_rs::WINDOWS_1252.new_decoder_without_bom_handling();
                            decoder.decode_to_utf8(input, &mut theirs, true).2
                        } else {
                            let mut encoder = encoding_rs::WINDOWS_1252.new_encoder();
                            let text = std::str::from_utf8(input).expect("well-formed");
                            encoder.encode_from_utf8(text, &mut theirs, true).2
                        };
                        black_box(&theirs);
                        written as u64
                    }),
                ];
                let race = race(contenders, self.effort);
                // For ASCII both contenders only copy.
                let goal = if corpus == Corpus::AsciiJson { 1.0 } else { 4.0 };
                let of = measured(scenario, corpus.name(), input.len(), &race);
                self.note(&of, "ours", &["encoding_rs"], goal);
            }
        }
    }

    fn dialects(&self) {
        use Encoding::{Cesu8, ModifiedUtf8, Utf8, Utf8Ucs4, Utf8b, Wtf8};
        for (scenario, from, to) in [
            ("UTF-8 to CESU-8", Utf8, Cesu8),
            ("CESU-8 to UTF-8", Cesu8, Utf8),
            ("UTF-8 to Modified UTF-8", Utf8, ModifiedUtf8),
            ("Modified UTF-8 to UTF-8", ModifiedUtf8, Utf8),
            ("UTF-8 to WTF-8", Utf8, Wtf8),
            ("WTF-8 to UTF-8", Wtf8, Utf8),
            ("UTF-8 to UTF-8B", Utf8, Utf8b),
            ("UTF-8B to UTF-8", Utf8b, Utf8),
            ("UTF-8 to RFC 2279", Utf8, Utf8Ucs4),
            ("RFC 2279 to UTF-8", Utf8Ucs4, Utf8),
        ] {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Cjk] {
                let text = &corpus.text(LEN);
                let input = &encoded(text, from);
                let mut out = vec![0; 4 * LEN];
                let contenders = vec![
                    Contender::new("ours", move || convert(Transcoder::new(from, to), input, &mut out)),
                    Contender::new("validation", move || {
                        assert!(Utf8Decoder::new().validate(black_box(text.as_bytes())).is_ok());
                        text.len() as u64
                    }),
                ];
                let race = race(contenders, self.effort);
                let of = measured(scenario, corpus.name(), input.len(), &race);
                self.note(&of, "ours", &["validation"], 0.5);
            }
            if !matches!((from, to), (Cesu8 | ModifiedUtf8, _) | (_, Cesu8 | ModifiedUtf8)) {
                continue;
            }
            let mut samples = vec![
                ("a third emoji", every_third(&Corpus::Cjk.text(2 * LEN), '💩')),
                ("all emoji", Corpus::Emoji.text(LEN)),
            ];
            if matches!(from, ModifiedUtf8) || matches!(to, ModifiedUtf8) {
                samples.push(("a third NUL", every_third(&Corpus::Cyrillic.text(2 * LEN), '\0')));
            }
            for (name, text) in samples {
                let input = &encoded(&text, from);
                let mut out = vec![0; 4 * LEN];
                let contenders =
                    vec![Contender::new("ours", move || convert(Transcoder::new(from, to), input, &mut out))];
                let race = race(contenders, self.effort);
                self.note_speed(&measured(scenario, name, input.len(), &race), "ours", 2.0);
            }
        }
    }

    /// The speed of a copy, which is a limit for conversions that change nothing.
    fn copies(&self) {
        let scenario = "copy of UTF-8";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
            let text = corpus.text(LEN);
            let input = text.as_bytes();
            let mut out = vec![0; 4 * LEN];
            let contenders = vec![
                Contender::new("copy", move || {
                    let input = black_box(input);
                    // Longer pieces are copied with `rep movsb`, whose speed depends on the addresses.
                    for (from, to) in input.chunks(2048).zip(out.chunks_mut(2048)) {
                        to[..from.len()].copy_from_slice(from);
                    }
                    black_box(&mut out);
                    input.len() as u64
                }),
                Contender::new("validation", move || {
                    assert!(Utf8Decoder::new().validate(black_box(input)).is_ok());
                    input.len() as u64
                }),
            ];
            let race = race(contenders, self.effort);
            self.note(&measured(scenario, corpus.name(), input.len(), &race), "copy", &["validation"], 0.0);
        }
    }

    fn same_under_a_policy(&self) {
        let scenario = "UTF-8 to UTF-8, Replace";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in TEXTS {
            let text = corpus.text(LEN);
            let input = text.as_bytes();
            let (mut ours, mut theirs, mut copy) =
                (vec![0; 2 * LEN], vec![0; 4 * LEN], String::with_capacity(2 * LEN));
            let transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
            let contenders = vec![
                Contender::new("ours", move || convert(transcoder, input, &mut ours)),
                Contender::new("encoding_rs", move || {
                    let mut decoder = encoding_rs::UTF_8.new_decoder_without_bom_handling();
                    let written = decoder.decode_to_utf8(black_box(input), &mut theirs, true).2;
                    black_box(&theirs);
                    written as u64
                }),
                Contender::new("simdutf8 and a copy", move || {
                    copy.clear();
                    copy.push_str(simdutf8::compat::from_utf8(black_box(input)).unwrap_or_default());
                    black_box(&copy).len() as u64
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, corpus.name(), input.len(), &race);
            self.note(&of, "ours", &["encoding_rs", "simdutf8 and a copy"], 1.0);
        }
    }
}
