//! `instructions NAME COUNT` does one kind of work so often. Under valgrind, which has no AVX-512, the AVX2 kernel
//! is the one in use.

#[allow(dead_code)]
#[path = "../../ratios/src/corpora.rs"]
mod corpora;

use std::hint::black_box;

use corpora::{Corpus, soiled};
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Decoder, from_utf8};

fn stream(data: &[u8], chunk: usize) {
    let mut decoder = Utf8Decoder::new();
    for chunk in data.chunks(chunk) {
        black_box(decoder.validate(chunk).is_ok());
    }
}

/// The peer of the `-bulk` works. They are one chunk long, so that it needs no wrapper for what a chunk leaves unfinished.
fn whole_with_simdutf8(data: &[u8]) {
    black_box(simdutf8::compat::from_utf8(data).is_ok());
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(count)) = (arguments.next(), arguments.next().and_then(|count| count.parse().ok()))
    else {
        eprintln!("instructions NAME COUNT");
        std::process::exit(2);
    };
    let text = |corpus: Corpus| corpus.text(1 << 15).into_bytes();
    let mut work: Box<dyn FnMut()> = match &*name {
        "ascii-bulk" => {
            let data = text(Corpus::AsciiJson);
            Box::new(move || stream(&data, 1 << 15))
        }
        "html-bulk" => {
            let data = text(Corpus::EnglishHtml);
            Box::new(move || stream(&data, 1 << 15))
        }
        "cyrillic-bulk" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || stream(&data, 1 << 15))
        }
        "simdutf8-ascii-bulk" => {
            let data = text(Corpus::AsciiJson);
            Box::new(move || whole_with_simdutf8(&data))
        }
        "simdutf8-html-bulk" => {
            let data = text(Corpus::EnglishHtml);
            Box::new(move || whole_with_simdutf8(&data))
        }
        "simdutf8-cyrillic-bulk" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || whole_with_simdutf8(&data))
        }
        "cyrillic-256" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || stream(&data, 256))
        }
        "cyrillic-16" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || stream(&data, 16))
        }
        "ascii-16" => {
            let data = text(Corpus::AsciiJson);
            Box::new(move || stream(&data, 16))
        }
        "cyrillic-1" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || stream(&data, 1))
        }
        "strings" => {
            let strings = Corpus::FrenchHtml.strings(16..=40, 500);
            Box::new(move || {
                for string in &strings {
                    black_box(from_utf8(string.as_bytes()).is_ok());
                }
            })
        }
        "repair" => {
            let data = soiled(&Corpus::Cyrillic.text(1 << 15), 100);
            Box::new(move || {
                let mut decoder = TextDecoder::new().on_error(ErrorPolicy::Replace);
                for piece in decoder.feed(&data) {
                    black_box(piece.text().is_ok());
                }
            })
        }
        _ => {
            eprintln!("no work is called {name}");
            std::process::exit(2);
        }
    };
    for _ in 0..count {
        work();
    }
}
