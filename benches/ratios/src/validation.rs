//! Validation: streams by the size of their chunks, short texts, errors, and the kernels that other CPUs use.

use std::hint::black_box;
use std::time::Duration;

use utf8_codec::{ErrorPolicy, Kernel, Utf8Decoder, from_utf8};
use utf8_codec::many::{repair_many, validate_many};

use crate::corpora::Corpus;
use crate::measure::{Contender, Effort, Race, Spread, race};
use crate::streaming::*;
use crate::table::{Bench, Goal, goal};

const CORPORA: [Corpus; 6] = [
    Corpus::AsciiJson,
    Corpus::EnglishHtml,
    Corpus::FrenchHtml,
    Corpus::Cyrillic,
    Corpus::Cjk,
    Corpus::Emoji,
];

/// All validators of streams. The first one is this crate.
pub fn validators(data: &[u8], chunk: usize) -> Vec<Contender<'_>> {
    vec![
        Contender::new("ours", move || stream::<Ours>(data, chunk)),
        Contender::new("ps-simdutf8", move || stream::<Carried<PsSimdutf8>>(data, chunk)),
        Contender::new("simdutf8", move || stream::<Carried<Simdutf8>>(data, chunk)),
        Contender::new("simdutf", move || stream::<Carried<Simdutf>>(data, chunk)),
        Contender::new("std", move || stream::<Carried<Std>>(data, chunk)),
        Contender::new("encoding_rs", move || stream::<Carried<EncodingRs>>(data, chunk)),
        Contender::new("bstr", move || stream::<Carried<Bstr>>(data, chunk)),
    ]
}

/// The goal beyond ASCII. A CPU without AVX-512 has no wider vectors than the peers use.
fn dense(chunk: usize) -> Goal {
    let ratio = match chunk {
        ..256 => 1.0,
        _ if Kernel::in_use().name() == "avx512" => 2.0,
        _ => 1.1,
    };
    goal(ratio).because("ps-simdutf8 also validates with vectors of 64 bytes")
}

impl Bench {
    pub fn validation(&self) {
        self.streams();
        self.memory();
        self.kernels();
        self.error_position();
        self.mixed_lengths();
        self.each_length();
        self.many();
        self.repair_many();
    }

    fn streams(&self) {
        for (scenario, chunk, len) in [
            ("stream, 64 KiB chunks", 65536, 1 << 18),
            ("stream, 1460 B chunks", 1460, 1 << 18),
            ("stream, 256 B chunks", 256, 1 << 17),
            ("stream, 64 B chunks", 64, 1 << 15),
        ] {
            for corpus in CORPORA.into_iter().filter(|_| self.is_wanted(scenario)) {
                let text = corpus.text(len);
                let goal = match corpus {
                    Corpus::AsciiJson => goal(1.0).because("both read at the speed of the L2 cache"),
                    Corpus::EnglishHtml => {
                        goal(1.0).because("each run of other characters costs a mispredicted branch")
                    }
                    _ => dense(chunk),
                };
                self.row(scenario, corpus.name(), text.len(), validators(text.as_bytes(), chunk), goal);
            }
        }
        let scenario = "stream, 1 B chunks";
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic].into_iter().filter(|_| self.is_wanted(scenario)) {
            let text = corpus.text(1 << 14);
            let data = text.as_bytes();
            let mut contenders = validators(data, 1);
            contenders.push(Contender::new("a table automaton", move || stream::<Dfa>(data, 1)));
            let goal =
                goal(1.0).because("30 instructions for a byte with its offset, an automaton 19 without");
            self.row(scenario, corpus.name(), data.len(), contenders, goal);
        }
    }

    /// Measures an input that is larger than any cache.
    fn memory(&self) {
        let scenario = "stream from memory, 512 MiB";
        for corpus in [Corpus::AsciiJson, Corpus::Cjk].into_iter().filter(|_| self.is_wanted(scenario)) {
            let data = &corpus.text(1 << 20).into_bytes().repeat(512)[..];
            let contenders = vec![
                Contender::new("ours", move || stream::<Ours>(data, 65536)),
                Contender::new("a loop that only reads", move || read(data, 65536)),
            ];
            let effort = Effort { rounds: 5, turn: Duration::ZERO };
            let goal = goal(0.9).because("fewer loads are in flight while a block is computed");
            self.row_with(effort, scenario, corpus.name(), data.len(), contenders, goal);
        }
    }

    /// Measures the kernels of CPUs without AVX-512, and without AVX2.
    fn kernels(&self) {
        for (scenario, kernel) in
            [("AVX2 kernel, 64 KiB chunks", "avx2"), ("portable kernel, 64 KiB chunks", "portable")]
        {
            for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Cjk] {
                if !self.is_wanted(scenario) {
                    continue;
                }
                let text = corpus.text(1 << 17);
                let data = text.as_bytes();
                let ours =
                    Contender::new("ours", move || with_kernel(kernel, || stream::<Ours>(data, 65536)));
                let peer = match kernel {
                    "avx2" => Contender::new("simdutf8", move || stream::<Carried<Simdutf8>>(data, 65536)),
                    _ => Contender::new("std", move || stream::<Carried<Std>>(data, 65536)),
                };
                self.row(scenario, corpus.name(), data.len(), vec![ours, peer], goal(1.0));
            }
        }
    }

    fn error_position(&self) {
        let scenario = "position of an error in 4 KiB";
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic] {
            if !self.is_wanted(scenario) {
                continue;
            }
            let texts: &Vec<Vec<u8>> = &(0..64)
                .map(|i| {
                    let mut text = corpus.text(4096).into_bytes();
                    let at = (i * 61 + 17) % text.len();
                    text[at] = 0xFF;
                    text
                })
                .collect();
            fn sum(texts: &[Vec<u8>], place: impl Fn(&[u8]) -> Result<(), u64>) -> u64 {
                texts.iter().filter_map(|text| place(text).err()).sum()
            }
            let contenders = vec![
                Contender::new("ours", move || {
                    sum(texts, |text| Utf8Decoder::new().validate(text).map_err(|error| error.offset))
                }),
                Contender::new("ps-simdutf8 (compat)", move || {
                    sum(texts, |text| {
                        ps_simdutf8::compat::from_utf8(text).map(drop).map_err(|e| e.valid_up_to() as u64)
                    })
                }),
                Contender::new("simdutf8 (compat)", move || {
                    sum(texts, |text| {
                        simdutf8::compat::from_utf8(text).map(drop).map_err(|e| e.valid_up_to() as u64)
                    })
                }),
            ];
            let goal =
                goal(1.0).because("the block with the error is searched again, and the error is classified");
            self.row(scenario, corpus.name(), 64 * 4096, contenders, goal);
        }
    }
}

/// The kinds of short texts.
const SHORT: [(Corpus, &str); 5] = [
    (Corpus::AsciiJson, "ASCII"),
    (Corpus::FrenchHtml, "French"),
    (Corpus::Cyrillic, "Cyrillic"),
    (Corpus::Cjk, "CJK"),
    (Corpus::Emoji, "emoji"),
];
const PEERS: [&str; 4] = ["smoothutf8", "std", "simdutf8", "ps-simdutf8"];
/// The functions of this crate, their scenario, the one for the slowest length, and the goal of both.
const FUNCTIONS: [(&str, &str, &str, Goal); 3] = [
    (
        "from_utf8",
        "`from_utf8`, each length from 0 to 300",
        "`from_utf8`, the slowest of these lengths",
        goal(1.0).because("branches on the length, 1 ns at most"),
    ),
    (
        "validate",
        "`validate`, each length from 0 to 300",
        "",
        goal(1.0).because("the state of the stream is loaded and stored"),
    ),
    (
        "feed",
        "`feed`, each length from 0 to 300",
        "",
        goal(0.9).because("the state is loaded and stored, and each text is returned in an `enum`"),
    ),
];
const LONGEST: usize = 300;

/// Texts that are adjacent in one buffer, so they start at any address, like the fields of a message.
struct Texts {
    buffer: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Creates texts of these lengths. If the next letter does not fit, the text is filled up with ASCII.
    fn new(corpus: Corpus, lens: impl Iterator<Item = usize>) -> Self {
        let letters = corpus.text(1 << 18);
        let mut letters = letters.chars().cycle().peekable();
        let (mut buffer, mut ends) = (Vec::new(), Vec::new());
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

    /// Creates texts whose lengths change from one to the next.
    fn mixed(corpus: Corpus, lens: core::ops::Range<usize>, count: usize) -> Self {
        let mut state = 1_u32;
        let lens = core::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            lens.start + (state >> 16) as usize % lens.len()
        });
        Self::new(corpus, lens.take(count))
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.buffer[core::mem::replace(&mut start, end)..end])
    }

    fn contenders(&self, ours: &str) -> Vec<Contender<'_>> {
        fn count<V: OneShot>(texts: &Texts) -> u64 {
            texts.iter().filter(|text| V::is_good(text)).count() as u64
        }
        let mut decoder = Utf8Decoder::new();
        vec![
            match ours {
                "from_utf8" => Contender::new("ours", || count::<OursOneShot>(self)),
                "validate" => Contender::new("ours", move || {
                    self.iter().filter(|text| decoder.validate(text).is_ok()).count() as u64
                }),
                _ => Contender::new("ours", move || {
                    let mut good = 0;
                    for text in self.iter() {
                        for piece in decoder.feed(text) {
                            black_box(piece);
                        }
                        good += 1;
                    }
                    good
                }),
            },
            Contender::new(PEERS[0], || count::<Smoothutf8>(self)),
            Contender::new(PEERS[1], || count::<Std>(self)),
            Contender::new(PEERS[2], || count::<Simdutf8>(self)),
            Contender::new(PEERS[3], || count::<PsSimdutf8>(self)),
        ]
    }
}

impl Bench {
    fn mixed_lengths(&self) {
        let scenario = "`from_utf8`, strings of 0 to 64 B";
        for (corpus, name) in SHORT.into_iter().filter(|_| self.is_wanted(scenario)) {
            let texts = Texts::mixed(corpus, 0..65, 20_000);
            self.row(scenario, name, texts.buffer.len(), texts.contenders("from_utf8"), goal(1.0));
        }
    }

    /// One row with the median of all lengths, and one with the slowest length.
    fn each_length(&self) {
        // So few texts that the branch predictor learns them, and no misprediction is measured.
        const COUNT: usize = 16;
        let effort = Effort { rounds: 5, turn: Duration::from_micros(200) };
        for (function, scenario, slowest, goal) in FUNCTIONS {
            let is_wanted = self.is_wanted(scenario) || !slowest.is_empty() && self.is_wanted(slowest);
            // All texts for `from_utf8`, ASCII and Cyrillic for the others.
            let step = if slowest.is_empty() { 2 } else { 1 };
            for (corpus, name) in
                SHORT.into_iter().step_by(step).take(5 - 3 * (step - 1)).filter(|_| is_wanted)
            {
                let races: Vec<Race> = (0..=LONGEST)
                    .map(|len| {
                        let texts = Texts::new(corpus, core::iter::repeat_n(len, COUNT));
                        race(texts.contenders(function), effort)
                    })
                    .collect();
                let ratios: Vec<f64> =
                    races.iter().map(|race| race.ratio("ours", race.best(&PEERS)).median).collect();
                let nanos: f64 = races.iter().map(|race| race.median_nanos("ours")).sum();
                let speed = (0..=LONGEST).map(|len| len * COUNT).sum::<usize>() as f64 / nanos;
                let spread = Spread::of(ratios.clone());
                self.add(scenario, name, "the fastest peer", spread.median, speed, goal);
                if slowest.is_empty() {
                    continue;
                }
                // The slowest of so many short measurements is mostly noise, so the slowest lengths are measured again.
                let mut lens: Vec<usize> = (0..=LONGEST).collect();
                lens.sort_by(|&one, &other| ratios[one].total_cmp(&ratios[other]));
                let again = lens[..5].iter().map(|&len| {
                    let texts = Texts::new(corpus, core::iter::repeat_n(len, COUNT));
                    let race = race(texts.contenders(function), self.effort);
                    let peer = race.best(&PEERS);
                    let speed = (len * COUNT) as f64 / race.median_nanos("ours");
                    (race.ratio("ours", peer).median, format!("{peer} ({len} B)"), speed)
                });
                let (ratio, peer, speed) =
                    again.min_by(|one, other| one.0.total_cmp(&other.0)).expect("five lengths");
                self.add(slowest, name, &peer, ratio, speed, goal.of(0.95));
            }
        }
    }

    /// Compares `validate_many` with loops over the strings.
    fn many(&self) {
        let scenario = "`validate_many`, strings of 8 to 40 B";
        for (corpus, name) in SHORT.into_iter().step_by(2).filter(|_| self.is_wanted(scenario)) {
            let texts = &Texts::mixed(corpus, 8..41, 4_000);
            let offsets: Vec<i32> =
                core::iter::once(0).chain(texts.ends.iter().map(|&end| end as i32)).collect();
            let contenders = vec![
                Contender::new("ours", move || {
                    u64::from(validate_many(black_box(&texts.buffer), &offsets).is_ok())
                }),
                Contender::new("a loop over std", move || {
                    u64::from(texts.iter().all(|text| core::str::from_utf8(text).is_ok()))
                }),
                Contender::new("a loop over smoothutf8", move || {
                    u64::from(texts.iter().all(smoothutf8::verify))
                }),
                Contender::new("a loop over `from_utf8`", move || {
                    u64::from(texts.iter().all(|text| from_utf8(text).is_ok()))
                }),
            ];
            self.row(scenario, name, texts.buffer.len(), contenders, goal(1.5));
        }
    }

    /// Compares `repair_many` with a loop over the strings.
    fn repair_many(&self) {
        let scenario = "`repair_many`, strings of 8 to 40 B, one in 100 ill-formed";
        for (corpus, name) in SHORT.into_iter().step_by(2).filter(|_| self.is_wanted(scenario)) {
            let mut texts = Texts::mixed(corpus, 8..41, 4_000);
            for &end in texts.ends.iter().step_by(100) {
                texts.buffer[end - 1] = 0xFF;
            }
            let texts = &texts;
            let offsets: Vec<i32> =
                core::iter::once(0).chain(texts.ends.iter().map(|&end| end as i32)).collect();
            let contenders = vec![
                Contender::new("ours", move || {
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
            self.row(scenario, name, texts.buffer.len(), contenders, goal(1.5));
        }
    }
}
