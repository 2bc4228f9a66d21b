//! The goals, each with the race that measures it.

use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use utf8_codec::{Kernel, Utf8Decoder};

use crate::allocations;
use crate::corpora::Corpus;
use crate::cpu;
use crate::framed;
use crate::measure::{Clock, Contender, Effort, Race, Spread, race};
use crate::streaming::*;

/// A goal: a scenario and the ratio to reach.
pub struct Row {
    pub scenario: &'static str,
    pub input: String,
    pub against: String,
    pub ratio: Spread,
    pub goal: f64,
    /// Our throughput in bytes per nanosecond.
    pub speed: f64,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match self.goal {
            0.0 => "limit",
            goal if self.ratio.median < goal => "**missed**",
            _ => "met",
        }
    }
}

/// A race with its scenario and input.
pub struct Measured<'r> {
    pub scenario: &'static str,
    pub input: &'r str,
    pub bytes: usize,
    pub race: &'r Race,
}

pub fn measured<'r>(scenario: &'static str, input: &'r str, bytes: usize, race: &'r Race) -> Measured<'r> {
    Measured { scenario, input, bytes, race }
}

/// The options.
pub struct Bench {
    pub effort: Effort,
    pub only: Option<String>,
    pub runtime: Runtime,
}

/// The validators of whole texts.
pub const PEERS: [&str; 5] = ["simdutf8", "simdutf (C++)", "std", "encoding_rs", "bstr"];
const ALL: &[&str] = &PEERS;

/// Returns the goal of a row on this CPU: with AVX-512, or without. Without it, the goal is that of the rows that force
/// the AVX2 kernel.
fn goal(with_avx512: f64, without: f64) -> f64 {
    if Kernel::in_use().name() == "avx2" { without } else { with_avx512 }
}

pub fn validators(data: &[u8], chunk: usize) -> Vec<Contender<'_>> {
    vec![
        Contender::new("ours", move || stream::<Ours>(data, chunk)),
        Contender::new("simdutf8", move || stream::<Carried<Simdutf8>>(data, chunk)),
        Contender::new("simdutf (C++)", move || stream::<Carried<Simdutf>>(data, chunk)),
        Contender::new("std", move || stream::<Carried<Std>>(data, chunk)),
        Contender::new("encoding_rs", move || stream::<Carried<EncodingRs>>(data, chunk)),
        Contender::new("bstr", move || stream::<Carried<Bstr>>(data, chunk)),
    ]
}

impl Bench {
    pub(crate) fn is_wanted(&self, scenario: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only.split('|').any(|only| scenario.contains(only)))
    }

    /// Adds a row: the speed of `ours` relative to the fastest of `peers`. A goal of 0 means that the peer is an upper
    /// bound, not a contender.
    pub(crate) fn note(&self, of: &Measured<'_>, ours: &str, peers: &[&str], goal: f64) {
        let best = of.race.best(peers);
        let row = Row {
            scenario: of.scenario,
            input: of.input.to_owned(),
            against: if peers.len() > 1 { format!("best peer: {best}") } else { best.to_owned() },
            ratio: of.race.ratio(ours, best),
            goal,
            speed: of.bytes as f64 / of.race.median_nanos(ours),
        };
        self.add(&row);
    }

    /// Adds a row: the throughput of `ours` relative to a goal in bytes per nanosecond. A goal of 0 means that there is
    /// no goal.
    pub(crate) fn note_speed(&self, of: &Measured<'_>, ours: &str, goal: f64) {
        let speed = of.bytes as f64 / of.race.median_nanos(ours);
        let per_goal = if goal > 0.0 { goal } else { 1.0 };
        self.add(&Row {
            scenario: of.scenario,
            input: of.input.to_owned(),
            against: format!("{per_goal} GB/s"),
            ratio: of.race.speed(ours, of.bytes as f64 / per_goal),
            goal: if goal > 0.0 { 1.0 } else { 0.0 },
            speed,
        });
    }

    pub(crate) fn add(&self, row: &Row) {
        let Row { scenario, input, against, ratio, goal, speed } = row;
        let goal = if *goal > 0.0 { format!("{goal:.2}") } else { String::new() };
        println!(
            "| {scenario} | {input} | {speed:.2} | {against} | {:.2} | {:.2}-{:.2} | {goal} | {} |",
            ratio.median,
            ratio.low,
            ratio.high,
            row.verdict()
        );
    }

    /// Measures the rows and prints each as soon as it is measured.
    pub fn run(&self) {
        println!("{}, kernel {}\n", cpu::model(), Kernel::in_use().name());
        println!("| scenario | input | GB/s | against | ratio | quartiles | goal | |");
        println!("|---|---|---:|---|---:|---|---:|---|");
        self.bulk();
        self.small();
        self.one_shot();
        self.short();
        self.frames();
        self.memory();
        self.error_position();
        self.avx2();
        self.portable();
        self.repair();
        self.framed_text();
        self.loopback();
        self.lines();
        self.json();
        self.encoder();
        self.events();
        self.counts();
        self.mail();
        self.conversions();
        self.legacy();
        self.text();
        self.protobuf();
    }

    fn streaming(&self, corpus: Corpus, len: usize, chunk: usize) -> (usize, Race) {
        let text = corpus.text(len);
        let data = text.as_bytes();
        let mut contenders = validators(data, chunk);
        if chunk == 1 {
            contenders.push(Contender::new("DFA", move || stream::<Dfa>(data, chunk)));
        }
        let mut copy = vec![0; chunk];
        if chunk >= 65536 {
            contenders.push(Contender::new("plain read", move || read(data, chunk)));
            contenders.push(Contender::new("memcpy", move || copied(data, &mut copy)));
        }
        (data.len(), race(contenders, self.effort))
    }

    fn bulk(&self) {
        for chunk in [8192, 65536] {
            let scenario = if chunk == 8192 { "8 KiB chunks" } else { "64 KiB chunks" };
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in Corpus::ALL {
                let (len, race) = self.streaming(corpus, 1 << 18, chunk);
                let of = measured(scenario, corpus.name(), len, &race);
                match corpus {
                    Corpus::AsciiJson => {
                        self.note(&of, "ours", ALL, if chunk > 8192 { goal(1.5, 1.0) } else { 1.0 });
                        if chunk > 8192 {
                            self.note(&of, "ours", &["plain read"], 0.95);
                            self.note(&of, "ours", &["memcpy"], 1.0);
                        }
                    }
                    Corpus::EnglishHtml => self.note(&of, "ours", ALL, goal(1.3, 1.0)),
                    _ => {
                        self.note(&of, "ours", &["simdutf8"], goal(2.0, 1.15));
                        self.note(&of, "ours", ALL, goal(1.6, 1.15));
                    }
                }
            }
        }
        if self.is_wanted("1460 B chunks") {
            for corpus in Corpus::ALL {
                let (len, race) = self.streaming(corpus, 1 << 18, 1460);
                let of = measured("1460 B chunks", corpus.name(), len, &race);
                if matches!(corpus, Corpus::AsciiJson | Corpus::EnglishHtml) {
                    self.note(&of, "ours", ALL, 1.0);
                } else {
                    self.note(&of, "ours", &["simdutf8"], goal(2.0, 1.0));
                    self.note(&of, "ours", ALL, goal(1.5, 1.0));
                }
            }
        }
    }

    fn small(&self) {
        for (scenario, chunk) in
            [("256 B chunks", 256), ("64 B chunks", 64), ("16 B chunks", 16), ("1 B chunks", 1)]
        {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in Corpus::ALL {
                let (len, race) = self.streaming(corpus, if chunk == 256 { 1 << 17 } else { 1 << 15 }, chunk);
                let is_ascii = matches!(corpus, Corpus::AsciiJson | Corpus::EnglishHtml);
                let (peers, goal): (&[&str], f64) = match (chunk, is_ascii) {
                    (1, _) => (&["DFA"], 1.0),
                    (16, true) => (ALL, 1.2),
                    (64, true) => (ALL, 1.5),
                    (256, true) => (ALL, 1.0),
                    (256, false) => (&["simdutf8"], goal(2.0, 1.0)),
                    _ => (ALL, 3.0),
                };
                self.note(&measured(scenario, corpus.name(), len, &race), "ours", peers, goal);
            }
        }
    }

    fn one_shot(&self) {
        let scenario = "one-shot strings, 16-40 B";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Cjk, Corpus::Emoji] {
            let (len, race) = self.strings(corpus, 16..=40);
            if corpus == Corpus::AsciiJson {
                self.note(&measured(scenario, "ASCII", len, &race), "ours", &["std"], 1.2);
            } else {
                self.note(
                    &measured(scenario, corpus.name(), len, &race),
                    "ours",
                    &["simdutf8"],
                    goal(4.0, 2.5),
                );
            }
        }
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Cjk, Corpus::Emoji] {
            let (len, race) = self.strings(corpus, 8..=140);
            self.note(&measured("one-shot strings, 8-140 B", corpus.name(), len, &race), "ours", ALL, 1.0);
        }
    }

    fn strings(&self, corpus: Corpus, lens: core::ops::RangeInclusive<usize>) -> (usize, Race) {
        fn good<V: OneShot>(strings: &[String]) -> u64 {
            strings.iter().filter(|string| V::is_good(string.as_bytes())).count() as u64
        }
        let strings = &corpus.strings(lens, 500);
        let contenders = vec![
            Contender::new("ours", move || good::<OursOneShot>(strings)),
            Contender::new("ours (AVX2)", move || with_kernel("avx2", || good::<OursOneShot>(strings))),
            Contender::new("simdutf8", move || good::<Simdutf8>(strings)),
            Contender::new("simdutf (C++)", move || good::<Simdutf>(strings)),
            Contender::new("std", move || good::<Std>(strings)),
            Contender::new("encoding_rs", move || good::<EncodingRs>(strings)),
            Contender::new("bstr", move || good::<Bstr>(strings)),
        ];
        (strings.iter().map(String::len).sum(), race(contenders, self.effort))
    }

    /// Measures an input that is larger than any cache.
    fn memory(&self) {
        let scenario = "512 MiB, 64 KiB chunks";
        if !self.is_wanted(scenario) {
            return;
        }
        let part = Corpus::FrenchHtml.text(1 << 20);
        let mut data = Vec::with_capacity(512 << 20);
        while data.len() + part.len() <= 512 << 20 {
            data.extend_from_slice(part.as_bytes());
        }
        let data = &data[..];
        let contenders = vec![
            Contender::new("ours", move || stream::<Ours>(data, 65536)),
            Contender::new("simdutf8", move || stream::<Carried<Simdutf8>>(data, 65536)),
            Contender::new("simdutf (C++)", move || stream::<Carried<Simdutf>>(data, 65536)),
            Contender::new("encoding_rs", move || stream::<Carried<EncodingRs>>(data, 65536)),
            Contender::new("plain read", move || read(data, 65536)),
        ];
        let effort = Effort { rounds: self.effort.rounds.min(9), turn: Duration::ZERO, ..self.effort };
        let race = race(contenders, effort);
        self.note(&measured(scenario, "French HTML", data.len(), &race), "ours", &["plain read"], 0.95);
        self.note(
            &measured(scenario, "French HTML", data.len(), &race),
            "ours",
            &["simdutf8", "simdutf (C++)", "encoding_rs"],
            1.4,
        );
    }

    fn error_position(&self) {
        let scenario = "error position in 4 KiB";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic] {
            let texts: &Vec<Vec<u8>> = &(0..64)
                .map(|i| {
                    let mut text = corpus.text(4096).into_bytes();
                    let at = (i * 61 + 17) % text.len();
                    text[at] = 0xFF;
                    text
                })
                .collect();
            let contenders = vec![
                Contender::new("ours", move || {
                    let place =
                        |text: &Vec<u8>| Utf8Decoder::new().validate(text).map_or_else(|e| e.offset, |()| 0);
                    texts.iter().map(place).sum()
                }),
                Contender::new("ours (AVX2)", move || {
                    let place =
                        |text: &Vec<u8>| Utf8Decoder::new().validate(text).map_or_else(|e| e.offset, |()| 0);
                    with_kernel("avx2", || texts.iter().map(place).sum())
                }),
                Contender::new("simdutf8 compat", move || {
                    let place = |text: &Vec<u8>| {
                        simdutf8::compat::from_utf8(text).map_or_else(|e| e.valid_up_to() as u64, |_| 0)
                    };
                    texts.iter().map(place).sum()
                }),
                Contender::new("std", move || {
                    let place = |text: &Vec<u8>| {
                        core::str::from_utf8(text).map_or_else(|e| e.valid_up_to() as u64, |_| 0)
                    };
                    texts.iter().map(place).sum()
                }),
            ];
            let race = race(contenders, self.effort);
            self.note(
                &measured(scenario, corpus.name(), 64 * 4096, &race),
                "ours",
                &["simdutf8 compat"],
                1.0,
            );
            self.note(
                &measured("AVX2: error position in 4 KiB", corpus.name(), 64 * 4096, &race),
                "ours (AVX2)",
                &["simdutf8 compat"],
                1.0,
            );
        }
    }

    fn avx2(&self) {
        for (scenario, chunk) in
            [("AVX2: 64 KiB chunks", 65536), ("AVX2: 1460 B chunks", 1460), ("AVX2: 64 B chunks", 64)]
        {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in Corpus::ALL {
                let text = corpus.text(1 << 17);
                let data = text.as_bytes();
                let contenders = vec![
                    Contender::new("ours", move || with_kernel("avx2", || stream::<Ours>(data, chunk))),
                    Contender::new("simdutf8", move || stream::<Carried<Simdutf8>>(data, chunk)),
                ];
                let race = race(contenders, self.effort);
                let is_ascii = matches!(corpus, Corpus::AsciiJson | Corpus::EnglishHtml);
                let goal = if chunk == 65536 && !is_ascii { 1.15 } else { 1.0 };
                self.note(&measured(scenario, corpus.name(), data.len(), &race), "ours", &["simdutf8"], goal);
            }
        }
        let scenario = "AVX2: one-shot strings, 16-40 B";
        if self.is_wanted(scenario) {
            for corpus in
                [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Cjk, Corpus::Emoji]
            {
                let (len, race) = self.strings(corpus, 16..=40);
                let goal = if corpus == Corpus::AsciiJson { 1.0 } else { 2.5 };
                self.note(&measured(scenario, corpus.name(), len, &race), "ours (AVX2)", &["simdutf8"], goal);
            }
        }
    }

    /// Compares the portable kernel with the standard library.
    fn portable(&self) {
        for (scenario, chunk) in [("portable: 64 KiB chunks", 65536), ("portable: 64 B chunks", 64)] {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in Corpus::ALL {
                let text = corpus.text(1 << 16);
                let data = text.as_bytes();
                let contenders = vec![
                    Contender::new("ours", move || with_kernel("portable", || stream::<Ours>(data, chunk))),
                    Contender::new("std", move || stream::<Carried<Std>>(data, chunk)),
                ];
                let race = race(contenders, self.effort);
                self.note(&measured(scenario, corpus.name(), data.len(), &race), "ours", &["std"], 1.0);
            }
        }
    }

    fn framed_text(&self) {
        let scenario = "FramedRead text, in memory";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::FrenchHtml, Corpus::Cyrillic] {
            // The input stays in the L2 cache, so that memory bandwidth is not measured.
            let text = corpus.text(1 << 20);
            let (data, runtime) = (text.as_bytes(), &self.runtime);
            let contenders = vec![
                Contender::new("ours", move || runtime.block_on(framed::text_ours(data)).0),
                Contender::new("simdutf8 codec", move || runtime.block_on(framed::text_simdutf8(data)).0),
                Contender::new("std codec", move || runtime.block_on(framed::text_std(data)).0),
                Contender::new("no codec", move || runtime.block_on(framed::text_unseen(data)).0),
            ];
            let race = race(contenders, self.effort);
            let ((_, frames), count) = allocations::during(|| runtime.block_on(framed::text_ours(data)));
            eprintln!("    {count} allocations for {frames} frames");
            self.note(
                &measured(scenario, corpus.name(), data.len(), &race),
                "ours",
                &["simdutf8 codec"],
                1.8,
            );
            self.note(&measured(scenario, corpus.name(), data.len(), &race), "ours", &["std codec"], 15.0);
            let limit = race.ratio("no codec", "simdutf8 codec").median;
            eprintln!("    to copy and not to look at anything is {limit:.2} times a simdutf8 codec");
        }
    }

    fn loopback(&self) {
        let scenario = "FramedRead over loopback TCP";
        if !self.is_wanted(scenario) {
            return;
        }
        let text = Corpus::FrenchHtml.text(64 << 20);
        let data: &'static [u8] = Box::leak(text.into_boxed_str().into_boxed_bytes());
        let runtime = &self.runtime;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        // This thread sends the text over every connection.
        let listener = listener.into_std().expect("a listener");
        listener.set_nonblocking(false).expect("blocking");
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let _ = std::io::Write::write_all(&mut connection.expect("a connection"), data);
            }
        });
        let connect = move || async move { TcpStream::connect(address).await.expect("a connection") };
        let contenders = vec![
            Contender::new("ours", move || {
                runtime.block_on(async { framed::text_ours(connect().await).await.0 })
            }),
            Contender::new("simdutf8 codec", move || {
                runtime.block_on(async { framed::text_simdutf8(connect().await).await.0 })
            }),
            Contender::new("std codec", move || {
                runtime.block_on(async { framed::text_std(connect().await).await.0 })
            }),
            Contender::new("raw read", move || {
                runtime.block_on(async { framed::raw(connect().await).await.0 })
            }),
        ];
        let race = race(contenders, Effort { turn: Duration::ZERO, clock: Clock::Wall, ..self.effort });
        self.note(&measured(scenario, "French HTML", data.len(), &race), "ours", &["raw read"], 0.95);
    }
}
