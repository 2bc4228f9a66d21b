//! `instructions NAME COUNT` runs a benchmark COUNT times. Under valgrind, which has no AVX-512, it uses the AVX2
//! kernel.

#[allow(dead_code)]
#[path = "../../ratios/src/corpora.rs"]
mod corpora;

use std::hint::black_box;
use std::io::Read;

use corpora::{Corpus, with_errors};
use utf8_codec::io::Utf8Reader;
use utf8_codec::json::JsonDecoder;
use utf8_codec::many::validate_many;
use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder, Utf8Decoder, from_utf8};
use utf8_codec_encodings::detect::{DesignationRecognizer, Detector, FallbackDecoder, Scope};
use utf8_codec_encodings::{Encoding, Transcoder};
use utf8_codec_mail::{MessageValidator, TransferDecoder, TransferEncoding, TransferPiece};

fn stream(data: &[u8], chunk: usize) {
    let mut decoder = Utf8Decoder::new();
    for chunk in data.chunks(chunk) {
        black_box(decoder.validate(chunk).is_ok());
    }
}

/// Runs simdutf8 on the input of the `-bulk` benchmarks, which is one chunk, so no wrapper is needed.
fn whole_with_simdutf8(data: &[u8]) {
    black_box(simdutf8::compat::from_utf8(data).is_ok());
}

/// Measures the cost of a call: text in small chunks, with policies that examine every character.
fn pieces(data: &[u8], chunk: usize) {
    let mut decoder =
        TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Strip);
    for chunk in data.chunks(chunk) {
        for piece in decoder.feed(chunk) {
            black_box(piece.text().is_ok());
        }
    }
}

fn transfer(encoding: TransferEncoding, body: &[u8]) {
    let mut decoder = TransferDecoder::new(encoding);
    let mut keep = |piece: TransferPiece<'_>| {
        black_box(&piece);
    };
    decoder.feed_with(body, &mut keep);
    decoder.finish_with(&mut keep);
}

fn append(data: &[u8], text: &mut String) {
    text.clear();
    let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    black_box(decoder.feed_into(data, text).is_ok());
}

fn transcode(mut transcoder: Transcoder, data: &[u8], chunk: usize, out: &mut Vec<u8>) {
    out.clear();
    for chunk in data.chunks(chunk) {
        black_box(transcoder.feed_into(chunk, out).is_ok());
    }
    black_box(transcoder.finish_into(out).is_ok());
}

/// Converts text in chunks of 4 KiB.
fn convert(corpus: Corpus, from: Encoding, to: Encoding) -> Box<dyn FnMut()> {
    let (mut data, mut out) = (Vec::new(), Vec::new());
    let text = corpus.text(1 << 15);
    Transcoder::new(Encoding::Utf8, from)
        .with_error_policy(ErrorPolicy::Skip)
        .feed_into(text.as_bytes(), &mut data)
        .expect("repaired");
    let transcoder = Transcoder::new(from, to).with_error_policy(ErrorPolicy::Skip);
    Box::new(move || transcode(transcoder.clone(), &data, 1 << 12, &mut out))
}

/// Validates 500 strings of 8 to 40 bytes in one buffer.
fn many(corpus: Corpus) -> Box<dyn FnMut()> {
    let strings = corpus.strings(8..=40, 500);
    let ends = strings.iter().scan(0, |end, string| {
        *end += string.len() as i32;
        Some(*end)
    });
    let (offsets, bytes): (Vec<i32>, _) = (std::iter::once(0).chain(ends).collect(), strings.concat());
    Box::new(move || {
        black_box(validate_many(bytes.as_bytes(), &offsets).is_ok());
    })
}

/// JSON in one chunk, and whether its escapes are those of characters.
fn json(data: String) -> Box<dyn FnMut()> {
    Box::new(move || {
        let mut decoder = JsonDecoder::new();
        for piece in decoder.feed(data.as_bytes()) {
            black_box(piece.text().is_ok());
        }
    })
}

/// The payload of a WebSocket frame.
fn masked(data: String) -> Box<dyn FnMut()> {
    let mut data = data.into_bytes();
    let mask = Mask::new([0x37, 0xFA, 0x21, 0x3D]);
    { mask }.apply(&mut data);
    Box::new(move || {
        black_box(Utf8Validator::new().validate_masked(&data, &mut { mask }).is_ok());
    })
}

/// Returns the benchmark with a name such as `cyrillic-utf-8-utf-16le`: the text, the encoding of the input, and that of the
/// output.
fn named_conversion(name: &str) -> Option<Box<dyn FnMut()>> {
    let corpora = [
        ("ascii", Corpus::AsciiJson),
        ("french", Corpus::FrenchHtml),
        ("cyrillic", Corpus::Cyrillic),
        ("cjk", Corpus::Cjk),
        ("emoji", Corpus::Emoji),
    ];
    let encodings = [
        ("utf-8", Encoding::Utf8),
        ("utf-16le", Encoding::Utf16Le),
        ("utf-16be", Encoding::Utf16Be),
        ("latin-1", Encoding::Latin1),
        ("windows-1252", Encoding::Windows1252),
        ("cesu-8", Encoding::Cesu8),
        ("modified-utf-8", Encoding::ModifiedUtf8),
    ];
    let (corpus, name) = corpora.into_iter().find_map(|(start, it)| Some((it, name.strip_prefix(start)?)))?;
    let mut parts = encodings
        .into_iter()
        .filter_map(|(part, it)| Some((it, name.strip_prefix('-')?.strip_prefix(part)?)));
    let (from, name) = parts.next()?;
    let (to, _) = encodings
        .into_iter()
        .map(|(part, it)| (it, part))
        .find(|(_, part)| name.strip_prefix('-') == Some(part))?;
    Some(convert(corpus, from, to))
}

/// Returns UTF-16LE in which every hundredth code unit is an unpaired surrogate.
fn utf_16_with_errors(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().enumerate();
    units.flat_map(|(i, unit)| if i % 100 == 0 { [0, 0xD8] } else { unit.to_le_bytes() }).collect()
}

/// Returns French in ISO 8859-1, which is ill-formed at every letter with an accent.
fn latin_1() -> Vec<u8> {
    let text = Corpus::FrenchHtml.text(1 << 15);
    text.chars().filter_map(|character| u8::try_from(character).ok()).collect()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(count)) = (arguments.next(), arguments.next().and_then(|count| count.parse().ok()))
    else {
        eprintln!("instructions NAME COUNT");
        std::process::exit(2);
    };
    let text = |corpus: Corpus| corpus.text(1 << 15).into_bytes();
    let mut run: Box<dyn FnMut()> = match &*name {
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
        "strings-short" => {
            let strings = Corpus::AsciiJson.strings(0..=32, 500);
            Box::new(move || {
                for string in &strings {
                    black_box(from_utf8(string.as_bytes()).is_ok());
                }
            })
        }
        "strings-many" => many(Corpus::FrenchHtml),
        "strings-many-ascii" => many(Corpus::AsciiJson),
        "json" => json(Corpus::AsciiJson.text(1 << 15)),
        "json-escapes" => json(Corpus::AsciiJson.text(1 << 15).replace(' ', "\\u0020")),
        "masked-ascii" => masked(Corpus::AsciiJson.text(1 << 15)),
        "masked-cyrillic" => masked(Corpus::Cyrillic.text(1 << 15)),
        "error-position" => {
            let mut data = text(Corpus::Cyrillic);
            data.truncate(4000);
            data.push(0xFF);
            Box::new(move || {
                black_box(from_utf8(&data).is_ok());
            })
        }
        "detector" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || {
                let mut detector = Detector::new();
                black_box(detector.push(&data));
                black_box(detector.finish());
            })
        }
        "fallback-by-line" => {
            let characters: Vec<char> = Corpus::Cyrillic.text(1 << 15).chars().collect();
            let mut data = Vec::new();
            for (i, line) in characters.chunks(40).enumerate() {
                if i % 10 == 9 {
                    data.push(0xE9);
                }
                data.extend(line.iter().collect::<String>().bytes());
                data.push(b'\n');
            }
            let mut out = String::new();
            Box::new(move || {
                out.clear();
                let mut decoder =
                    FallbackDecoder::new(Encoding::Windows1252, Scope::Line).expect("it has ASCII");
                decoder.feed_into(&data, &mut out);
                decoder.finish_into(&mut out);
            })
        }
        "designations" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || {
                let mut recognizer = DesignationRecognizer::new();
                black_box(recognizer.feed(&data).count());
            })
        }
        "base64-lines" => {
            let body = [&b"QmFzZTY0".repeat(10)[..76], b"\r\n"].concat().repeat(400);
            Box::new(move || transfer(TransferEncoding::Base64, &body))
        }
        "quoted-printable" => {
            let body = b"caf=C3=A9 au lait, s'il vous pla=C3=AEt ; et des g=C3=A2teaux=\r\n".repeat(400);
            Box::new(move || transfer(TransferEncoding::QuotedPrintable, &body))
        }
        "message-8bit" => {
            let header = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n";
            let message =
                [header, &"a line of 8-bit text, na\u{EF}ve and caf\u{E9}\r\n".repeat(800)].concat();
            Box::new(move || {
                let mut validator = MessageValidator::new();
                validator.push(message.as_bytes());
                black_box(validator.finish().is_ok());
            })
        }
        "repair" => {
            let data = with_errors(&Corpus::Cyrillic.text(1 << 15), 100);
            Box::new(move || {
                let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
                for piece in decoder.feed(&data) {
                    black_box(piece.text().is_ok());
                }
            })
        }
        "pieces-64" => {
            let data = text(Corpus::Cyrillic);
            Box::new(move || pieces(&data, 64))
        }
        "append" => {
            let (data, mut out) = (text(Corpus::Cyrillic), String::new());
            Box::new(move || append(&data, &mut out))
        }
        "append-repair" => {
            let (data, mut out) = (with_errors(&Corpus::Cyrillic.text(1 << 15), 10), String::new());
            Box::new(move || append(&data, &mut out))
        }
        "append-latin-1" => {
            let data = latin_1();
            let mut out = String::new();
            Box::new(move || append(&data, &mut out))
        }
        "reader-latin-1" => {
            let data = latin_1();
            let mut out = Vec::with_capacity(1 << 17);
            Box::new(move || {
                out.clear();
                let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
                black_box(Utf8Reader::with_decoder(&*data, decoder).read_to_end(&mut out).is_ok());
            })
        }
        "json-latin-1" => {
            let data = latin_1();
            let mut out = String::new();
            Box::new(move || {
                out.clear();
                let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
                black_box(JsonDecoder::with_decoder(decoder).feed_into(&data, &mut out).is_ok());
            })
        }
        "transcoder-latin-1" => {
            let data = latin_1();
            let mut out = Vec::new();
            let transcoder =
                Transcoder::new(Encoding::Utf8, Encoding::Utf16Le).with_error_policy(ErrorPolicy::Replace);
            Box::new(move || transcode(transcoder.clone(), &data, 1 << 12, &mut out))
        }
        "utf-16-to-utf-8" => {
            let data = utf_16_with_errors(&Corpus::Cyrillic.text(1 << 15));
            let (transcoder, mut out) = (Transcoder::new(Encoding::Utf16Le, Encoding::Utf8), Vec::new());
            let transcoder = transcoder.with_error_policy(ErrorPolicy::Replace);
            Box::new(move || transcode(transcoder.clone(), &data, 1 << 15, &mut out))
        }
        "utf-8-to-utf-16" => {
            let (data, mut out) = (text(Corpus::Cyrillic), Vec::new());
            let transcoder = Transcoder::new(Encoding::Utf8, Encoding::Utf16Le);
            Box::new(move || transcode(transcoder.clone(), &data, 1 << 12, &mut out))
        }
        "windows-1252" => {
            let data = text(Corpus::Cyrillic);
            let (transcoder, mut out) = (Transcoder::new(Encoding::Windows1252, Encoding::Utf8), Vec::new());
            Box::new(move || transcode(transcoder.clone(), &data, 1 << 12, &mut out))
        }
        "utf-8-to-latin-1" => convert(Corpus::FrenchHtml, Encoding::Utf8, Encoding::Latin1),
        "latin-1-to-utf-8" => convert(Corpus::FrenchHtml, Encoding::Latin1, Encoding::Utf8),
        "utf-8-to-cesu-8" => convert(Corpus::Emoji, Encoding::Utf8, Encoding::Cesu8),
        "cesu-8-to-utf-8" => convert(Corpus::Emoji, Encoding::Cesu8, Encoding::Utf8),
        "subset" => {
            // The quotes have the first two bytes of bidi controls.
            let (data, mut out) = (Corpus::FrenchHtml.text(1 << 15).replace('"', "\u{201D}"), String::new());
            Box::new(move || {
                out.clear();
                let mut decoder = TextDecoder::new().with_subset(&Subset::NO_BIDI_CONTROLS);
                black_box(decoder.feed_into(data.as_bytes(), &mut out).is_ok());
            })
        }
        _ => named_conversion(&name).unwrap_or_else(|| {
            eprintln!("no benchmark has the name {name}");
            std::process::exit(2);
        }),
    };
    for _ in 0..count {
        run();
    }
}
