//! The goals of the locator: lines, characters and UTF-16 units.

use std::hint::black_box;

use utf8_codec::locate::{Columns, Locator};

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

impl Bench {
    pub fn counts(&self) {
        let scenario = "lines counted, 64 KiB";
        if self.is_wanted(scenario) {
            for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic] {
                let text = &corpus.text(64 * 1024);
                let data = text.as_bytes();
                let contenders = vec![
                    Contender::new("ours", move || {
                        let mut locator = Locator::new();
                        locator.push(black_box(text));
                        locator.location().line
                    }),
                    Contender::new("bytecount", move || bytecount::count(black_box(data), b'\n') as u64),
                    Contender::new("memchr", move || {
                        memchr::memchr_iter(b'\n', black_box(data)).count() as u64
                    }),
                ];
                let race = race(contenders, self.effort);
                let of = measured(scenario, corpus.name(), data.len(), &race);
                self.note(&of, "ours", &["bytecount"], 0.8);
                self.note(&of, "ours", &["memchr"], 1.0);
            }
        }
        let scenario = "characters and UTF-16 units counted, 64 KiB";
        if self.is_wanted(scenario) {
            for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic, Corpus::Emoji] {
                let text = &corpus.text(64 * 1024);
                let data = text.as_bytes();
                let contenders = vec![
                    Contender::new("ours", move || {
                        let columns = Columns::of(black_box(text));
                        black_box(columns.utf16);
                        columns.characters
                    }),
                    Contender::new("bytecount, characters only", move || {
                        bytecount::num_chars(black_box(data)) as u64
                    }),
                    Contender::new("simdutf (C++), both", move || {
                        let data = black_box(data);
                        black_box(simdutf::utf16_length_from_utf8(data));
                        simdutf::count_utf8(data) as u64
                    }),
                    Contender::new("std, both", move || {
                        let text = black_box(text);
                        black_box(text.encode_utf16().count());
                        text.chars().count() as u64
                    }),
                ];
                let race = race(contenders, self.effort);
                let of = measured(scenario, corpus.name(), data.len(), &race);
                self.note(&of, "ours", &["simdutf (C++), both"], 0.7);
                self.note(&of, "ours", &["bytecount, characters only"], 0.0);
                self.note(&of, "ours", &["std, both"], 4.0);
            }
        }
    }
}
