//! The goals of the escapes in JSON, compared with a decoder that does not read them and with a parser.

use std::hint::black_box;

use serde::de::IgnoredAny;
use utf8_codec::json::JsonDecoder;
use utf8_codec::{TextDecoder, TextPiece};

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

/// The size of a document, and of its chunks.
const LEN: usize = 1024 * 1024;
const CHUNK: usize = 64 * 1024;

impl Bench {
    pub fn json(&self) {
        let scenario = "escapes of JSON, 64 KiB chunks";
        if !self.is_wanted(scenario) {
            return;
        }
        for (input, one_in, corpus) in [
            ("ASCII, no escapes", None, Corpus::AsciiJson),
            ("Cyrillic, no escapes", None, Corpus::Cyrillic),
            ("ASCII, 5 % of the characters escaped", Some(20), Corpus::AsciiJson),
            ("Cyrillic, all of it escaped", Some(1), Corpus::Cyrillic),
        ] {
            let document = &document(corpus, one_in);
            let race = race(contenders(document.as_bytes()), self.effort);
            let of = measured(scenario, input, document.len(), &race);
            match one_in {
                None => self.note(&of, "ours", &["TextDecoder"], 0.7),
                Some(20) => self.note_speed(&of, "ours", 2.0),
                _ => self.note_speed(&of, "ours", 0.0),
            }
            self.note(&of, "ours", &["serde_json"], if one_in == Some(1) { 0.0 } else { 5.0 });
        }
    }
}

/// An array of objects with a number and a text of 100 to 200 bytes each. One in `one_in` characters is escaped.
fn document(corpus: Corpus, one_in: Option<usize>) -> String {
    let mut document = String::from("[{\"id\":0}");
    for (id, text) in corpus.strings(100..=200, LEN / 150).iter().enumerate() {
        document.push_str(&format!(",\n{{\"id\":{id},\"text\":\""));
        let characters = text.chars().filter(|character| character.is_alphanumeric() || *character == ' ');
        for (at, character) in characters.enumerate() {
            match one_in {
                Some(one_in) if at % one_in == 0 => {
                    document.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                _ => document.push(character),
            }
        }
        document.push_str("\"}");
    }
    document + "]"
}

fn contenders(document: &[u8]) -> Vec<Contender<'_>> {
    let len_of = |piece: TextPiece<'_>| piece.text().map_or(0, |text| black_box(text).len() as u64);
    vec![
        Contender::new("ours", move || {
            let mut decoder = JsonDecoder::new();
            black_box(document).chunks(CHUNK).map(|chunk| decoder.feed(chunk).map(len_of).sum::<u64>()).sum()
        }),
        Contender::new("TextDecoder", move || {
            let mut decoder = TextDecoder::new();
            black_box(document).chunks(CHUNK).map(|chunk| decoder.feed(chunk).map(len_of).sum::<u64>()).sum()
        }),
        Contender::new("serde_json", move || {
            let parsed = serde_json::from_slice::<IgnoredAny>(black_box(document));
            parsed.map_or(0, |_| document.len() as u64)
        }),
    ]
}
