//! The goals of mail: transfer encodings and whole messages.

use std::hint::black_box;

use simdutf::{Base64Options, LastChunkHandlingOptions};
use utf8_codec::Utf8Decoder;
use utf8_codec::mime::{MessageValidator, TransferDecoder, TransferEncoding, TransferPiece};

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};
use crate::streaming::with_kernel;

/// The size of the decoded text.
const LEN: usize = 48 * 1024;
const CORPORA: [Corpus; 3] = [Corpus::AsciiJson, Corpus::FrenchHtml, Corpus::Cyrillic];

impl Bench {
    pub fn mail(&self) {
        self.base64();
        self.quoted_printable();
        self.messages();
    }

    fn base64(&self) {
        for (scenario, width, goal) in [
            ("base64, unwrapped, 64 KiB", usize::MAX, 0.7),
            ("base64, 76 columns with CRLF, 64 KiB", 76, 1.0),
        ] {
            if !self.is_wanted(scenario) {
                continue;
            }
            let text = Corpus::Cyrillic.text(LEN);
            let body = &wrapped(&base64(text.as_bytes()), width);
            let mut out = vec![0; LEN + 64];
            let contenders = vec![
                Contender::new("ours", move || {
                    let (mut decoder, mut len) = (TransferDecoder::new(TransferEncoding::Base64), 0);
                    let mut count = |piece: TransferPiece<'_>| {
                        if let TransferPiece::Bytes(decoded) = piece {
                            len += black_box(decoded).bytes().len() as u64;
                        }
                    };
                    decoder.feed_with(black_box(body), &mut count);
                    decoder.finish_with(&mut count);
                    len
                }),
                Contender::new("simdutf (C++)", move || {
                    let body = black_box(body);
                    // SAFETY: the output has enough capacity for all of the text.
                    let result = unsafe {
                        simdutf::base64_to_binary(
                            body.as_ptr(),
                            body.len(),
                            out.as_mut_ptr(),
                            Base64Options::Default,
                            LastChunkHandlingOptions::Strict,
                        )
                    };
                    black_box(&out);
                    result.count as u64
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, "any text", body.len(), &race);
            self.note(&of, "ours", &["simdutf (C++)"], goal);
        }
    }

    fn quoted_printable(&self) {
        // `None` is the best kernel of this CPU. The portable kernel has no goal.
        for (scenario, kernel, goal) in [
            ("quoted-printable, 64 KiB", None, 2.0),
            ("quoted-printable, 64 KiB, AVX2", Some("avx2"), 2.0),
            ("quoted-printable, 64 KiB, portable", Some("portable"), 0.0),
        ] {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in CORPORA {
                let body = &quoted(&corpus.text(LEN));
                let mut copy = vec![0; body.len()];
                let contenders = vec![
                    Contender::new("ours", move || match kernel {
                        Some(kernel) => with_kernel(kernel, || decode_quoted(body)),
                        None => decode_quoted(body),
                    }),
                    Contender::new("copy", move || {
                        copy.copy_from_slice(black_box(body));
                        black_box(&copy).len() as u64
                    }),
                ];
                let race = race(contenders, self.effort);
                let of = measured(scenario, corpus.name(), body.len(), &race);
                self.note(&of, "ours", &["copy"], 0.0);
                if goal > 0.0 {
                    self.note_speed(&of, "ours", goal);
                }
            }
        }
    }

    fn messages(&self) {
        let scenario = "8-bit mail, 64 KiB";
        if !self.is_wanted(scenario) {
            return;
        }
        for corpus in CORPORA {
            let mut message = b"Content-Type: multipart/mixed; boundary=\"=_1\"\r\n\r\n--=_1\r\n\
                Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
                .to_vec();
            message.extend(lines(&corpus.text(64 * 1024)));
            message.extend_from_slice(b"--=_1--\r\n");
            let message = &message;
            let contenders = vec![
                Contender::new("ours", move || {
                    let mut validator = MessageValidator::new();
                    validator.push(black_box(message));
                    let verdict = validator.finish();
                    assert!(verdict.is_ok(), "{verdict:?}");
                    verdict.bytes
                }),
                Contender::new("validation and line ends", move || {
                    let message = black_box(message);
                    assert!(Utf8Decoder::new().validate(message).is_ok());
                    black_box(memchr::memchr_iter(b'\n', message).fold(0, |sum, at| sum ^ at));
                    message.len() as u64
                }),
            ];
            let race = race(contenders, self.effort);
            let of = measured(scenario, corpus.name(), message.len(), &race);
            self.note(&of, "ours", &["validation and line ends"], 0.4);
        }
    }
}

fn decode_quoted(body: &[u8]) -> u64 {
    let mut decoder = TransferDecoder::new(TransferEncoding::QuotedPrintable);
    let mut keep = |piece: TransferPiece<'_>| {
        black_box(&piece);
    };
    decoder.feed_with(black_box(body), &mut keep);
    decoder.finish_with(&mut keep);
    decoder.offset()
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0; bytes.len().div_ceil(3) * 4];
    // SAFETY: the output has enough capacity: 4 symbols for each 3 bytes.
    let len = unsafe {
        simdutf::binary_to_base64(bytes.as_ptr(), bytes.len(), out.as_mut_ptr(), Base64Options::Default)
    };
    assert_eq!(len, out.len());
    out
}

fn wrapped(symbols: &[u8], width: usize) -> Vec<u8> {
    let lines: Vec<_> = symbols.chunks(width.min(symbols.len())).collect();
    lines.join(&b"\r\n"[..])
}

/// Returns the text in lines of at most 76 bytes, as mail programs write it.
fn lines(text: &str) -> Vec<u8> {
    let (mut out, mut column) = (Vec::new(), 0);
    for character in text.chars().filter(|character| !matches!(character, '\r' | '\n')) {
        if column + character.len_utf8() > 76 {
            out.extend_from_slice(b"\r\n");
            column = 0;
        }
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        column += character.len_utf8();
    }
    out.extend_from_slice(b"\r\n");
    out
}

fn quoted(text: &str) -> Vec<u8> {
    let (mut out, mut column) = (Vec::new(), 0);
    for &byte in text.as_bytes() {
        let escaped = format!("={byte:02X}");
        let (written, len): (&[u8], _) = match byte {
            b' '..=b'~' if byte != b'=' => (&[byte], 1),
            _ => (escaped.as_bytes(), 3),
        };
        if column + len > 75 {
            out.extend_from_slice(b"=\r\n");
            column = 0;
        }
        out.extend_from_slice(written);
        column += len;
    }
    out
}
