//! Text: repair, subsets, mixed encodings and counts.

use std::hint::black_box;

use utf8_codec::locate::{Columns, Locator};
use utf8_codec::{ErrorPolicy, Subset, TextDecoder, TextPiece, Utf8Decoder};
use utf8_codec_encodings::detect::{FallbackDecoder, Legacy, Scope};

use crate::corpora::{Corpus, lines, with_errors};
use crate::measure::Contender;
use crate::table::{Bench, goal};

const LEN: usize = 64 * 1024;

static SUBSETS: [(&str, Subset); 2] =
    [("`NO_CONTROLS`", Subset::NO_CONTROLS), ("`NO_BIDI_CONTROLS`", Subset::NO_BIDI_CONTROLS)];

/// Validation by this crate, for rows of what is done in addition.
fn validation(text: &[u8]) -> Contender<'_> {
    Contender::new("our validation", move || {
        assert!(Utf8Decoder::new().validate(black_box(text)).is_ok());
        text.len() as u64
    })
}

impl Bench {
    pub fn text(&self) {
        self.repair();
        self.subsets();
        self.fallback();
        self.counts();
    }

    fn repair(&self) {
        for (scenario, one_in) in [("repair, 0.01 % ill-formed", 10_000), ("repair, 1 % ill-formed", 100)] {
            for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic] {
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
        let scenario = "text of a subset, 64 KiB";
        let french = Corpus::FrenchHtml.text(LEN).replace("e ", "e\u{202F}\u{2019}").replace('"', "\u{201C}");
        let texts = [
            ("ASCII JSON", Corpus::AsciiJson.text(LEN)),
            ("French, typographic quotes", french),
            ("CJK", Corpus::Cjk.text(LEN)),
        ];
        for (subset_name, subset) in SUBSETS.iter().filter(|_| self.is_wanted(scenario)) {
            for (name, text) in &texts {
                let decode = Contender::new("ours", move || {
                    let mut decoder = TextDecoder::new().with_subset(subset);
                    let text_len = |piece: TextPiece<'_>| piece.text().map_or(0, str::len);
                    decoder.feed(black_box(text.as_bytes())).map(text_len).sum::<usize>() as u64
                });
                let contenders = vec![decode, validation(text.as_bytes())];
                let goal = goal(0.5).because("the text is validated and then searched");
                self.row(scenario, &format!("{subset_name}, {name}"), text.len(), contenders, goal);
            }
        }
    }

    /// Text in which a line may be in a legacy encoding.
    fn fallback(&self) {
        let corpora = [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cjk].map(|corpus| (corpus, true));
        for (corpus, has_lines) in corpora.into_iter().chain([(Corpus::Cjk, false)]) {
            let scenario = if has_lines {
                "`FallbackDecoder`, lines of 80 B"
            } else {
                "`FallbackDecoder`, a line of 64 KiB"
            };
            if !self.is_wanted(scenario) {
                continue;
            }
            let text = corpus.text(LEN);
            let text = if has_lines { lines(&text, 79, "\n") } else { text.replace('\n', " ") };
            let (data, mut out) = (text.as_bytes(), String::with_capacity(2 * LEN));
            let decode = Contender::new("ours", move || {
                out.clear();
                let mut decoder = FallbackDecoder::new(Legacy::Windows1252, Scope::Line);
                decoder.feed_into(black_box(data), &mut out);
                decoder.finish_into(&mut out);
                black_box(&out).len() as u64
            });
            let goal = goal(0.4).because("each line is found, validated and copied");
            self.row(scenario, corpus.name(), data.len(), vec![decode, validation(data)], goal);
        }
    }

    fn counts(&self) {
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic] {
            let text = &corpus.text(LEN);
            let data = text.as_bytes();
            let scenario = "lines counted, 64 KiB";
            if self.is_wanted(scenario) {
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
                let goal = goal(1.0);
                self.row(scenario, corpus.name(), data.len(), contenders, goal);
            }
            let scenario = "characters and UTF-16 units counted, 64 KiB";
            if self.is_wanted(scenario) {
                let contenders = vec![
                    Contender::new("ours", move || {
                        let columns = Columns::of(black_box(text));
                        black_box(columns.utf16);
                        columns.characters
                    }),
                    Contender::new("simdutf", move || {
                        let data = black_box(data);
                        black_box(simdutf::utf16_length_from_utf8(data));
                        simdutf::count_utf8(data) as u64
                    }),
                ];
                self.row(scenario, corpus.name(), data.len(), contenders, goal(1.0));
            }
        }
    }
}
