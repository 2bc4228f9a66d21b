//! Short texts: every length from 0 to 300, and lengths that change from call to call.

use std::hint::black_box;

use utf8_codec::{ErrorPolicy, Utf8Decoder, from_utf8, repair_many, validate_many};

use crate::corpora::Corpus;
use crate::measure::{Contender, Effort, Race, Spread, race};
use crate::rows::{Bench, Row, measured};
use crate::streaming::{OneShot, OursOneShot, Simdutf8, Smoothutf8, Std};

const PEERS: [&str; 3] = ["smoothutf8", "std", "simdutf8"];
/// The contenders of this crate, and the scenario of each.
const OURS: [(&str, &str); 3] = [
    ("from_utf8", "one-shot, each length from 0 to 300"),
    ("validate", "`validate`, each length from 0 to 300"),
    ("feed", "`feed`, each length from 0 to 300"),
];
const CORPORA: [(Corpus, &str); 5] = [
    (Corpus::AsciiJson, "ASCII"),
    (Corpus::FrenchHtml, "Latin"),
    (Corpus::Cyrillic, "Cyrillic"),
    (Corpus::Cjk, "CJK"),
    (Corpus::Emoji, "emoji"),
];
const LONGEST: usize = 300;
/// The number of texts of each length. It is so small that the branch predictor learns them, and no misprediction is
/// measured.
const COUNT: usize = 16;

/// The texts of a race. They are adjacent in one buffer, so they start at any address, like the fields of a message.
struct Texts {
    buffer: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Creates texts of these lengths. If the next letter does not fit, the text is filled up with ASCII.
    fn new(corpus: Corpus, lens: impl Iterator<Item = usize>) -> Self {
        let letters = corpus.text(1 << 18);
        let (mut letters, mut buffer, mut ends) =
            (letters.chars().cycle().peekable(), Vec::new(), Vec::new());
        for len in lens {
            let end = buffer.len() + len;
            while let Some(letter) = letters.next_if(|letter| buffer.len() + letter.len_utf8() <= end) {
                buffer.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            buffer.resize(end, b'x');
            ends.push(end);
        }
        Self { buffer, ends }
    }

    /// Creates 4,000 texts of 8 to 40 bytes.
    fn of_column(corpus: Corpus) -> Self {
        let mut state = 1_u32;
        let lens = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            8 + (state >> 16) as usize % 33
        });
        Self::new(corpus, lens.take(4_000))
    }

    fn offsets(&self) -> Vec<i32> {
        std::iter::once(0).chain(self.ends.iter().map(|&end| end as i32)).collect()
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.buffer[core::mem::replace(&mut start, end)..end])
    }

    fn race(&self, effort: Effort) -> Race {
        fn count<V: OneShot>(texts: &Texts) -> u64 {
            texts.iter().filter(|text| V::is_good(text)).count() as u64
        }
        let contenders = vec![
            Contender::new("from_utf8", || count::<OursOneShot>(self)),
            Contender::new("validate", {
                let mut decoder = Utf8Decoder::new();
                move || self.iter().filter(|text| decoder.validate(text).is_ok()).count() as u64
            }),
            Contender::new("feed", {
                let mut decoder = Utf8Decoder::new();
                move || {
                    let mut good = 0;
                    for text in self.iter() {
                        for piece in decoder.feed(text) {
                            black_box(piece);
                        }
                        good += 1;
                    }
                    good
                }
            }),
            Contender::new("smoothutf8", || count::<Smoothutf8>(self)),
            Contender::new("std", || count::<Std>(self)),
            Contender::new("simdutf8", || count::<Simdutf8>(self)),
        ];
        race(contenders, effort)
    }
}

impl Bench {
    pub fn short(&self) {
        self.mixed_lengths();
        self.many();
        self.repair_many();
        if OURS.iter().any(|(_, scenario)| self.is_wanted(scenario)) {
            self.each_length();
        }
    }

    fn mixed_lengths(&self) {
        let scenario = "one-shot, 0-64 B mixed";
        if !self.is_wanted(scenario) {
            return;
        }
        for (corpus, name) in CORPORA {
            let mut state = 1_u32;
            let lens = std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16) as usize % 65
            });
            let texts = Texts::new(corpus, lens.take(20_000));
            let race = texts.race(self.effort);
            let of = measured(scenario, name, texts.buffer.len(), &race);
            self.note(&of, "from_utf8", &PEERS, 1.0);
        }
    }

    /// Compares `validate_many` with loops over the strings.
    fn many(&self) {
        let scenario = "many strings of 8-40 B in one buffer";
        if !self.is_wanted(scenario) {
            return;
        }
        for (corpus, name) in CORPORA {
            let texts = &Texts::of_column(corpus);
            let offsets = texts.offsets();
            let contenders = vec![
                Contender::new("validate_many", move || {
                    u64::from(validate_many(black_box(&texts.buffer), &offsets).is_ok())
                }),
                Contender::new("a loop over from_utf8", move || {
                    u64::from(texts.iter().all(|text| from_utf8(text).is_ok()))
                }),
                Contender::new("a loop over std", move || {
                    u64::from(texts.iter().all(|text| core::str::from_utf8(text).is_ok()))
                }),
                Contender::new("a loop over smoothutf8", move || {
                    u64::from(texts.iter().all(smoothutf8::verify))
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, name, texts.buffer.len(), &race);
            self.note(&of, "validate_many", &["a loop over from_utf8"], 1.5);
            self.note(&of, "validate_many", &["a loop over std", "a loop over smoothutf8"], 1.5);
        }
    }

    /// Compares `repair_many` with a loop over the strings.
    fn repair_many(&self) {
        let scenario = "repair of many strings of 8-40 B, one in 100 ill-formed";
        if !self.is_wanted(scenario) {
            return;
        }
        for (corpus, name) in CORPORA {
            let mut texts = Texts::of_column(corpus);
            for &end in texts.ends.iter().step_by(100) {
                texts.buffer[end - 1] = 0xFF;
            }
            let (texts, offsets) = (&texts, texts.offsets());
            let contenders = vec![
                Contender::new("repair_many", move || {
                    let repaired = repair_many(black_box(&texts.buffer), &offsets, ErrorPolicy::Replace);
                    repaired.map_or(0, |(values, _)| values.len() as u64)
                }),
                Contender::new("a loop over std", move || {
                    let mut values = String::with_capacity(texts.buffer.len());
                    let mut offsets = vec![0_i32];
                    for text in black_box(texts).iter() {
                        values.push_str(&String::from_utf8_lossy(text));
                        offsets.push(values.len() as i32);
                    }
                    values.len() as u64 + u64::from(offsets.len() == 1)
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, name, texts.buffer.len(), &race);
            self.note(&of, "repair_many", &["a loop over std"], 1.5);
        }
    }

    /// One row for each text, with the median of all lengths.
    fn each_length(&self) {
        let effort = Effort { rounds: self.effort.rounds.min(7), ..self.effort };
        let races: Vec<Vec<Race>> = CORPORA
            .iter()
            .map(|&(corpus, _)| {
                let texts = |len| Texts::new(corpus, std::iter::repeat_n(len, COUNT));
                (0..=LONGEST).map(|len| texts(len).race(effort)).collect()
            })
            .collect();
        for (ours, scenario) in OURS {
            for (races, (_, name)) in races.iter().zip(CORPORA) {
                let ratios: Vec<f64> = races.iter().map(|race| ratio(race, ours)).collect();
                let nanos: f64 = races.iter().map(|race| race.median_nanos(ours)).sum();
                let slower = ratios.iter().filter(|&&ratio| ratio < 0.97).count();
                self.add(&Row {
                    scenario,
                    input: (*name).to_owned(),
                    against: format!("best peer; slower at {slower} lengths"),
                    ratio: Spread::of(ratios),
                    goal: 1.0,
                    speed: (0..=LONGEST).map(|len| len * COUNT).sum::<usize>() as f64 / nanos,
                });
            }
        }
    }
}

fn ratio(race: &Race, ours: &str) -> f64 {
    race.ratio(ours, race.best(&PEERS)).median
}
