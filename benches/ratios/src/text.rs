//! Text: repair and subsets.

use std::hint::black_box;

use utf8_codec::{ErrorPolicy, Subset, TextDecoder, TextPiece, Utf8Decoder};

use crate::corpora::{Corpus, with_errors};
use crate::measure::Contender;
use crate::table::{Bench, goal};

const LEN: usize = 64 * 1024;

impl Bench {
    pub fn text(&self) {
        self.repair();
        self.subsets();
    }

    fn repair(&self) {
        for (scenario, one_in) in [("repair, 0.01 % ill-formed", 10_000), ("repair, 1 % ill-formed", 100)] {
            for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
                if !self.is_wanted(scenario) {
                    continue;
                }
                let input = &with_errors(&corpus.text(1 << 17), one_in);
                let room = || String::with_capacity(3 * input.len());
                let (mut a, mut b, mut c, mut d) =
                    (room(), room(), Vec::with_capacity(3 * input.len()), room());
                let contenders = vec![
                    Contender::new("ours", move || {
                        a.clear();
                        let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
                        for chunk in input.chunks(8192) {
                            decoder.feed_into(chunk, &mut a).expect("repaired");
                        }
                        if let Some(piece) = decoder.finish() {
                            a.push_str(piece.text().expect("repaired"));
                        }
                        a.len() as u64
                    }),
                    Contender::new("encoding_rs", move || {
                        b.clear();
                        let mut decoder = encoding_rs::UTF_8.new_decoder_without_bom_handling();
                        for chunk in input.chunks(8192) {
                            let _ = decoder.decode_to_string(chunk, &mut b, false);
                        }
                        let _ = decoder.decode_to_string(b"", &mut b, true);
                        b.len() as u64
                    }),
                    Contender::new("bstr (whole text)", move || {
                        c.clear();
                        for part in bstr::ByteSlice::utf8_chunks(&input[..]) {
                            c.extend_from_slice(part.valid().as_bytes());
                            if !part.invalid().is_empty() {
                                c.extend_from_slice("\u{FFFD}".as_bytes());
                            }
                        }
                        c.len() as u64
                    }),
                    Contender::new("std (whole text)", move || String::from_utf8_lossy(input).len() as u64),
                    Contender::new("utf8-zero", move || {
                        d.clear();
                        let mut decoder = utf8_zero::LossyDecoder::new(|text: &str| d.push_str(text));
                        for chunk in input.chunks(8192) {
                            decoder.feed(chunk);
                        }
                        drop(decoder);
                        d.len() as u64
                    }),
                ];
                let goal =
                    goal(1.0).because("bstr gets the whole text, and counts neither offsets nor kinds");
                self.row(scenario, corpus.name(), input.len(), contenders, goal);
            }
        }
    }

    fn subsets(&self) {
        static SUBSET: Subset = Subset::NO_CONTROLS;
        let scenario = "text without controls, 64 KiB";
        for corpus in [Corpus::AsciiJson, Corpus::Cjk].into_iter().filter(|_| self.is_wanted(scenario)) {
            let text = &corpus.text(LEN);
            let ours = Contender::new("ours", move || {
                let mut decoder = TextDecoder::new().with_subset(&SUBSET);
                let text_len = |piece: TextPiece<'_>| piece.text().map_or(0, str::len);
                decoder.feed(black_box(text.as_bytes())).map(text_len).sum::<usize>() as u64
            });
            let alone = Contender::new("our validation", move || {
                assert!(Utf8Decoder::new().validate(black_box(text.as_bytes())).is_ok());
                text.len() as u64
            });
            let goal = goal(0.5).because("the text is validated and then searched");
            self.row(scenario, corpus.name(), text.len(), vec![ours, alone], goal);
        }
    }
}
