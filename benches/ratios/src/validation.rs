//! Validation: streams by the size of their chunks, short texts, and the kernels that other CPUs use.

use std::hint::black_box;
use std::time::Duration;

use utf8_codec::many::validate_many;
use utf8_codec::{Kernel, from_utf8};

use crate::corpora::{Corpus, Rng, TEXTS};
use crate::measure::{Contender, Effort};
use crate::streaming::*;
use crate::table::{Bench, Goal, goal};

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
        self.short();
        self.many();
    }

    fn streams(&self) {
        for (scenario, chunk, corpora) in [
            ("stream, 64 KiB chunks", 65536, &TEXTS[..]),
            ("stream, 1460 B chunks", 1460, &TEXTS[..]),
            ("stream, 64 B chunks", 64, &[Corpus::AsciiJson, Corpus::Cyrillic][..]),
        ] {
            for &corpus in corpora.iter().filter(|_| self.is_wanted(scenario)) {
                let text = corpus.text(4 * chunk.max(1 << 13));
                let goal = match corpus {
                    Corpus::AsciiJson => goal(1.0).because("both read at the speed of the L2 cache"),
                    _ => dense(chunk),
                };
                self.row(scenario, corpus.name(), text.len(), validators(text.as_bytes(), chunk), goal);
            }
        }
    }

    /// Measures an input that is larger than any cache.
    fn memory(&self) {
        let scenario = "stream from memory, 512 MiB";
        for corpus in [Corpus::AsciiJson, Corpus::Cjk].into_iter().filter(|_| self.is_wanted(scenario)) {
            let data = &corpus.text(1 << 20).into_bytes().repeat(512)[..];
            let contenders = vec![
                Contender::new("ours", move || stream::<Ours>(data, 65536)),
                Contender::new("memchr for an absent byte", move || {
                    data.chunks(65536)
                        .filter(|chunk| memchr::memchr(0xFF, chunk).is_none())
                        .map(<[u8]>::len)
                        .sum::<usize>() as u64
                }),
            ];
            let effort = Effort { rounds: 3, turn: Duration::ZERO };
            let goal = goal(0.9).because("fewer loads are in flight while a block is computed");
            self.row_with(effort, scenario, corpus.name(), data.len(), contenders, goal);
        }
    }

    /// Measures the kernels of CPUs without AVX-512, and without AVX2.
    fn kernels(&self) {
        for (scenario, kernel) in
            [("AVX2 kernel, 64 KiB chunks", "avx2"), ("portable kernel, 64 KiB chunks", "portable")]
        {
            for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
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
}

/// Texts that are adjacent in one buffer, so they start at any address, like the fields of a message.
struct Texts {
    buffer: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Creates texts whose lengths change from one to the next. If the next letter does not fit, the text is filled up
    /// with ASCII.
    fn mixed(corpus: Corpus, lens: core::ops::Range<usize>, count: usize) -> Self {
        let mut rng = Rng::new(1);
        let letters = corpus.text(1 << 18);
        let mut letters = letters.chars().cycle().peekable();
        let (mut buffer, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let end = buffer.len() + lens.start + rng.below(lens.len());
            while let Some(letter) = letters.next_if(|letter| buffer.len() + letter.len_utf8() <= end) {
                buffer.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            buffer.resize(end, b'x');
            ends.push(end);
        }
        Self { buffer, ends }
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.buffer[core::mem::replace(&mut start, end)..end])
    }

    fn contenders(&self) -> Vec<Contender<'_>> {
        fn count<V: OneShot>(texts: &Texts) -> u64 {
            texts.iter().filter(|text| V::is_good(text)).count() as u64
        }
        vec![
            Contender::new("ours", || count::<OursOneShot>(self)),
            Contender::new("smoothutf8", || count::<Smoothutf8>(self)),
            Contender::new("std", || count::<Std>(self)),
            Contender::new("simdutf8", || count::<Simdutf8>(self)),
            Contender::new("ps-simdutf8", || count::<PsSimdutf8>(self)),
        ]
    }
}

impl Bench {
    fn short(&self) {
        let scenario = "`from_utf8`, strings of 0 to 64 B";
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic, Corpus::Cjk] {
            if self.is_wanted(scenario) {
                let texts = Texts::mixed(corpus, 0..65, 20_000);
                self.row(scenario, corpus.name(), texts.buffer.len(), texts.contenders(), goal(1.0));
            }
        }
    }

    /// Compares `validate_many` with loops over the strings.
    fn many(&self) {
        let scenario = "`validate_many`, strings of 8 to 40 B";
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic].into_iter().filter(|_| self.is_wanted(scenario)) {
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
            self.row(scenario, corpus.name(), texts.buffer.len(), contenders, goal(1.5));
        }
    }
}
