//! The goals of the line codec, for decoding and encoding.

use bytes::BytesMut;
use tokio_util::codec::LinesCodec;
use utf8_codec::codec::Utf8LinesCodec;

use crate::allocations;
use crate::corpora::Corpus;
use crate::framed;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

impl Bench {
    pub fn lines(&self) {
        let scenario = "lines, one owned item per line";
        if !self.is_wanted(scenario) {
            return;
        }
        for (corpus, goal) in [(Corpus::AsciiJson, 1.25), (Corpus::FrenchHtml, 2.5), (Corpus::Cyrillic, 4.5)]
        {
            // The input stays in the L2 cache, so that memory bandwidth is not measured.
            let mut text = corpus.text(1 << 20);
            text.push('\n');
            let (data, runtime) = (text.as_bytes(), &self.runtime);
            let contenders = vec![
                Contender::new("ours", move || runtime.block_on(framed::lines_ours(data))),
                Contender::new("ours (batches)", move || runtime.block_on(framed::lines_in_batches(data))),
                Contender::new("LinesCodec", move || runtime.block_on(framed::lines_codec(data))),
                Contender::new("AsyncBufReadExt", move || runtime.block_on(framed::lines_tokio(data))),
                Contender::new("memchr + simdutf8", move || runtime.block_on(framed::lines_by_hand(data))),
            ];
            let race = race(contenders, self.effort);
            let lines = data.iter().filter(|&&byte| byte == b'\n').count();
            let (_, count) = allocations::during(|| runtime.block_on(framed::lines_ours(data)));
            eprintln!("    {count} allocations for {lines} lines");
            self.note(&measured(scenario, corpus.name(), data.len(), &race), "ours", &["LinesCodec"], goal);
            self.note(
                &measured(scenario, corpus.name(), data.len(), &race),
                "ours",
                &["AsyncBufReadExt"],
                1.0,
            );
            let scenario = "lines, one item per region";
            self.note(
                &measured(scenario, corpus.name(), data.len(), &race),
                "ours (batches)",
                &["LinesCodec"],
                8.0,
            );
            self.note(
                &measured(scenario, corpus.name(), data.len(), &race),
                "ours (batches)",
                &["memchr + simdutf8"],
                3.0,
            );
        }
    }

    /// Measures encoding of lines of 8 to 140 bytes into one buffer.
    pub fn encoder(&self) {
        let scenario = "encoder, lines of 8-140 B";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
            let lines = &corpus.strings(8..=140, 500);
            let bytes = lines.iter().map(|line| line.len() + 1).sum();
            let buffer = || BytesMut::with_capacity(bytes);
            let (mut a, mut b, mut c, mut d) = (buffer(), buffer(), buffer(), buffer());
            let contenders = vec![
                Contender::new("ours", move || framed::encoded(Utf8LinesCodec::new(), lines, &mut a)),
                Contender::new("memchr + LinesCodec", move || framed::looked_at_and_encoded(lines, &mut b)),
                Contender::new("LinesCodec, which does not look", move || {
                    framed::encoded(LinesCodec::new(), lines, &mut c)
                }),
                Contender::new("extend_from_slice", move || framed::appended(lines, &mut d)),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, corpus.name(), bytes, &race);
            self.note(&of, "ours", &["memchr + LinesCodec"], 1.0);
            self.note(&of, "ours", &["LinesCodec, which does not look"], 0.0);
            self.note(&of, "ours", &["extend_from_slice"], 0.0);
        }
    }
}
