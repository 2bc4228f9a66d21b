//! The goals of decoding with repair.

use utf8_codec::{ErrorPolicy, TextDecoder};

use crate::corpora::{Corpus, with_errors};
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

impl Bench {
    pub fn repair(&self) {
        for (scenario, one_in) in [
            ("repair, 0.01 % ill-formed", 10_000),
            ("repair, 1 % ill-formed", 100),
            ("repair, 10 % ill-formed", 10),
        ] {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic] {
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
                    Contender::new("bstr (whole)", move || {
                        c.clear();
                        for part in bstr::ByteSlice::utf8_chunks(&input[..]) {
                            c.extend_from_slice(part.valid().as_bytes());
                            if !part.invalid().is_empty() {
                                c.extend_from_slice("\u{FFFD}".as_bytes());
                            }
                        }
                        c.len() as u64
                    }),
                    Contender::new("std (whole)", move || String::from_utf8_lossy(input).len() as u64),
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
                let race = race(contenders, self.effort);
                let peers = &["encoding_rs", "bstr (whole)", "std (whole)", "utf8-zero"];
                self.note(&measured(scenario, corpus.name(), input.len(), &race), "ours", peers, 1.0);
            }
        }
    }
}
