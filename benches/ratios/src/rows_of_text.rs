//! The goals of adopted subsets and of detection.

use std::hint::black_box;

use utf8_codec::detect::{
    Designation, DesignationRecognizer, Detection, Detector, FallbackDecoder, Legacy, Scope,
};
use utf8_codec::{Subset, TextDecoder, TextPiece, Utf8Decoder};

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

const LEN: usize = 64 * 1024;

static SUBSETS: [(&str, Subset); 6] = [
    ("subset: no controls", Subset::NO_CONTROLS),
    ("subset: no NUL", Subset::NO_NUL),
    ("subset: BMP", Subset::BMP),
    ("subset: no bidi controls", Subset::NO_BIDI_CONTROLS),
    ("subset: no noncharacters", Subset::NO_NONCHARACTERS),
    (
        "subset: all of these but the BMP",
        Subset::all_of(&[
            Subset::NO_CONTROLS,
            Subset::NO_NUL,
            Subset::NO_BIDI_CONTROLS,
            Subset::NO_NONCHARACTERS,
        ]),
    ),
];

const CORPORA: [Corpus; 5] =
    [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Arabic, Corpus::Cjk];

fn decode(subset: &'static Subset, text: &str) -> u64 {
    let mut decoder = TextDecoder::new().with_subset(subset);
    let mut taken = 0;
    for piece in decoder.feed(black_box(text.as_bytes())) {
        if let TextPiece::Text(text) = piece {
            taken += text.len();
        }
    }
    taken as u64
}

fn validate(text: &str) -> u64 {
    assert!(Utf8Decoder::new().validate(black_box(text.as_bytes())).is_ok());
    text.len() as u64
}

impl Bench {
    pub fn text(&self) {
        self.subsets();
        self.detector();
        self.fallback();
        self.designation();
    }

    fn subsets(&self) {
        for &(scenario, ref subset) in &SUBSETS {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in CORPORA {
                let text = &corpus.text(LEN);
                let contenders = vec![
                    Contender::new("ours", move || decode(subset, text)),
                    Contender::new("validation", move || validate(text)),
                ];
                let race = race(contenders, self.effort);
                let of = measured(scenario, corpus.name(), text.len(), &race);
                self.note(&of, "ours", &["validation"], 0.5);
            }
            // The first two bytes of these characters do not determine that they are in the subset.
            let text = &Corpus::Cyrillic.text(LEN);
            let doubtful: &String = &text
                .chars()
                .enumerate()
                .map(|(i, character)| match i % 10 {
                    9 => ['\u{2010}', '\u{205F}', '\u{FFFC}'][i / 10 % 3],
                    _ => character,
                })
                .collect();
            let contenders = vec![Contender::new("ours", move || decode(subset, doubtful))];
            let race = race(contenders, self.effort);
            let of = measured(scenario, "one in ten near", doubtful.len(), &race);
            self.note_speed(&of, "ours", 2.0);
        }
    }

    fn detector(&self) {
        let scenario = "detector, 64 KiB";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in CORPORA {
            let text = &corpus.text(LEN);
            let contenders = vec![
                Contender::new("ours", move || {
                    let mut detector = Detector::new();
                    let detection = detector.push(black_box(text.as_bytes()));
                    assert!(matches!(detection, Detection::Ascii | Detection::Utf8 { .. }));
                    detector.offset()
                }),
                Contender::new("validation", move || validate(text)),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, corpus.name(), text.len(), &race);
            self.note(&of, "ours", &["validation"], 0.7);
        }
    }

    fn fallback(&self) {
        let scenario = "fallback by line, lines of 80 B";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic] {
            let text = &corpus.text(2 * LEN).replace('\n', " ");
            let mut lines = String::new();
            let mut column = 0;
            for character in text.chars().take_while(|_| true) {
                if lines.len() >= LEN {
                    break;
                }
                if column + character.len_utf8() > 79 {
                    lines.push('\n');
                    column = 0;
                }
                lines.push(character);
                column += character.len_utf8();
            }
            lines.push('\n');
            let mixed: &Vec<u8> = &lines
                .lines()
                .enumerate()
                .flat_map(|(i, line)| {
                    let mut line = line.as_bytes().to_vec();
                    if i % 10 == 9 {
                        line[0] = 0xE9;
                    }
                    line.push(b'\n');
                    line
                })
                .collect();
            for (name, goal, data) in
                [(corpus.name(), 5.0, lines.as_bytes()), ("one line in ten legacy", 0.0, &mixed[..])]
            {
                let mut out = String::with_capacity(4 * LEN);
                let contenders = vec![Contender::new("ours", move || {
                    out.clear();
                    let mut decoder = FallbackDecoder::new(Legacy::Windows1252, Scope::Line);
                    decoder.feed_into(black_box(data), &mut out);
                    decoder.finish_into(&mut out);
                    black_box(&out).len() as u64
                })];
                let race = race(contenders, self.effort);
                self.note_speed(&measured(scenario, name, data.len(), &race), "ours", goal);
            }
        }
    }

    fn designation(&self) {
        let scenario = "designations, 64 KiB";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
            let text = &corpus.text(LEN);
            let contenders = vec![
                Contender::new("ours", move || {
                    let mut recognizer = DesignationRecognizer::new();
                    let mut found = recognizer.feed(black_box(text.as_bytes()));
                    u64::from(found.any(|found| found.designation == Designation::Utf8))
                }),
                Contender::new("memchr", move || {
                    u64::from(memchr::memchr(0x1B, black_box(text.as_bytes())).is_some())
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, corpus.name(), text.len(), &race);
            self.note(&of, "ours", &["memchr"], 0.7);
        }
    }
}
