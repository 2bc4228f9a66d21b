//! Mail: transfer encodings and whole messages.

use std::hint::black_box;

use quoted_printable::ParseMode;
use simdutf::{Base64Options, LastChunkHandlingOptions};
use utf8_codec_mail::{MessageValidator, TransferDecoder, TransferEncoding, TransferPiece};

use crate::corpora::{Corpus, lines};
use crate::measure::Contender;
use crate::table::{Bench, goal};

/// The size of the decoded text.
const LEN: usize = 48 * 1024;

/// A contender that decodes a body to its end.
fn ours(encoding: TransferEncoding, body: &[u8]) -> Contender<'_> {
    Contender::new("ours", move || {
        let (mut decoder, mut len) = (TransferDecoder::new(encoding), 0);
        let mut count = |piece: TransferPiece<'_>| {
            if let TransferPiece::Bytes(decoded) = piece {
                len += black_box(decoded).bytes().len() as u64;
            }
        };
        decoder.feed_with(black_box(body), &mut count);
        decoder.finish_with(&mut count);
        len
    })
}

impl Bench {
    pub fn mail(&self) {
        self.base64();
        self.quoted_printable();
        self.messages();
    }

    fn base64(&self) {
        let text = Corpus::Cyrillic.text(LEN);
        let unwrapped = base64(text.as_bytes());
        let lines: Vec<_> = unwrapped.chunks(76).collect();
        let reason = "decoded in pieces of bounded size with their offsets; simdutf writes the whole output";
        for (scenario, body, goal) in [
            ("base64 without line breaks, 64 KiB", &unwrapped, goal(0.9).because(reason)),
            ("base64 in lines of 76, 64 KiB", &lines.join(&b"\r\n"[..]), goal(1.0).because(reason)),
        ] {
            let mut out = vec![0; LEN + 64];
            let simdutf = Contender::new("simdutf", move || {
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
            });
            if self.is_wanted(scenario) {
                let contenders = vec![ours(TransferEncoding::Base64, body), simdutf];
                self.row(scenario, "any text", body.len(), contenders, goal);
            }
        }
    }

    fn quoted_printable(&self) {
        let scenario = "quoted-printable, 64 KiB";
        if self.is_wanted(scenario) {
            let corpus = Corpus::FrenchHtml;
            let body = &quoted(&corpus.text(LEN));
            let peer = Contender::new("quoted_printable", move || {
                let decoded = quoted_printable::decode(black_box(body), ParseMode::Robust);
                decoded.map_or(0, |decoded| decoded.len() as u64)
            });
            let contenders = vec![ours(TransferEncoding::QuotedPrintable, body), peer];
            self.row(scenario, corpus.name(), body.len(), contenders, goal(1.5));
        }
    }

    fn messages(&self) {
        let scenario = "8-bit mail, 64 KiB";
        for corpus in [Corpus::AsciiJson, Corpus::FrenchHtml].into_iter().filter(|_| self.is_wanted(scenario))
        {
            let message = &[
                "Content-Type: multipart/mixed; boundary=\"=_1\"\r\n\r\n--=_1\r\n",
                "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n",
                &lines(&corpus.text(64 * 1024), 76, "\r\n"),
                "--=_1--\r\n",
            ]
            .concat();
            let contenders = vec![
                Contender::new("ours", move || {
                    let mut validator = MessageValidator::new();
                    validator.push(black_box(message).as_bytes());
                    let verdict = validator.finish();
                    assert!(verdict.is_ok(), "{verdict:?}");
                    verdict.bytes
                }),
                Contender::new("simdutf8 and memchr for the lines", move || {
                    let message = black_box(message).as_bytes();
                    assert!(simdutf8::basic::from_utf8(message).is_ok());
                    black_box(memchr::memchr_iter(b'\n', message).fold(0, |sum, at| sum ^ at));
                    message.len() as u64
                }),
            ];
            let goal = goal(1.0).because("the start of each line is compared with the boundary");
            self.row(scenario, corpus.name(), message.len(), contenders, goal);
        }
    }
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
