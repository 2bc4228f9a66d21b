//! The goals of the line codec, out and in.

use bytes::BytesMut;
use tokio_util::codec::LinesCodec;
use utf8_codec::Utf8LinesCodec;

use crate::allocations;
use crate::corpora::Corpus;
use crate::framed;
use crate::measure::{Contender, race};
use crate::rows::Bench;

impl Bench {
    pub fn lines(&mut self) {
        let scenario = "lines, one owned item per line";
        if !self.is_wanted(scenario) {
            return;
        }
        for (corpus, goal) in [(Corpus::AsciiJson, 1.25), (Corpus::FrenchHtml, 2.5), (Corpus::Cyrillic, 4.5)]
        {
            // Stays in the L2, so that the memory of the machine is not what is measured.
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
            let lines = data.iter().filter(|&&octet| octet == b'\n').count();
            let (_, count) = allocations::during(|| runtime.block_on(framed::lines_ours(data)));
            println!("    {count} allocations for {lines} lines");
            self.note(scenario, corpus.name(), data.len(), &race, "ours", &["LinesCodec"], goal);
            self.note(scenario, corpus.name(), data.len(), &race, "ours", &["AsyncBufReadExt"], 1.0);
            let scenario = "lines, one item per region";
            self.note(scenario, corpus.name(), data.len(), &race, "ours (batches)", &["LinesCodec"], 8.0);
            self.note(
                scenario,
                corpus.name(),
                data.len(),
                &race,
                "ours (batches)",
                &["memchr + simdutf8"],
                3.0,
            );
        }
    }

    /// Lines of 8 to 140 octets into one buffer.
    pub fn encoder(&mut self) {
        let scenario = "encoder, lines of 8-140 B";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
            let lines = &corpus.strings(8..=140, 500);
            let octets = lines.iter().map(|line| line.len() + 1).sum();
            let buffer = || BytesMut::with_capacity(octets);
            let (mut a, mut b, mut c) = (buffer(), buffer(), buffer());
            let contenders = vec![
                Contender::new("ours", move || framed::encoded(Utf8LinesCodec::new(), lines, &mut a)),
                Contender::new("LinesCodec", move || framed::encoded(LinesCodec::new(), lines, &mut b)),
                Contender::new("extend_from_slice", move || framed::appended(lines, &mut c)),
            ];
            let race = race(contenders, self.effort);
            for peer in ["LinesCodec", "extend_from_slice"] {
                self.note(scenario, corpus.name(), octets, &race, "ours", &[peer], 1.0);
            }
        }
    }
}
