//! Compares streaming transfer decoding and validation with whole-slice decoding and std. Throughput is in encoded
//! bytes.
#![allow(missing_docs)]

use core::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data_encoding::BASE64_MIME;
use quoted_printable::ParseMode;
use utf8_codec::mime::{BodyDecoder, BodyPiece, TransferEncoding};

/// The size of one read from a socket.
const CHUNK: usize = 16 * 1024;

fn texts() -> [(&'static str, String); 3] {
    let repeat = |line: &str| line.repeat((1 << 20) / line.len());
    [
        ("english", repeat("The quick brown fox jumps over the lazy dog, and nobody minds it at all.\r\n")),
        ("french", repeat("Voilà un été où l'on a dégusté des crêpes près de l'hôtel à Besançon, déjà.\r\n")),
        ("japanese", repeat("いろはにほへとちりぬるをわかよたれそつねならむうゐのおくやまけふこえて。\r\n")),
    ]
}

/// Feeds the body in chunks, and counts its errors.
fn stream(encoding: TransferEncoding, body: &[u8]) -> usize {
    let (mut decoder, mut errors) = (BodyDecoder::new(encoding), 0);
    for chunk in body.chunks(CHUNK) {
        decoder.validate_with(chunk, |_| errors += 1);
    }
    decoder.finish_with(|piece| errors += usize::from(matches!(piece, BodyPiece::Error(_))));
    errors
}

fn base64(c: &mut Criterion) {
    let mut group = c.benchmark_group("base64");
    for (name, text) in texts() {
        let body = BASE64_MIME.encode(text.as_bytes());
        let body = body.as_bytes();
        assert_eq!(stream(TransferEncoding::Base64, body), 0);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_with_input(BenchmarkId::new("data-encoding+std", name), body, |b, body| {
            b.iter(|| String::from_utf8(BASE64_MIME.decode(black_box(body)).unwrap()).unwrap().len());
        });
        group.bench_with_input(BenchmarkId::new("utf8-codec", name), body, |b, body| {
            b.iter(|| stream(TransferEncoding::Base64, black_box(body)));
        });
    }
}

fn quoted_printable(c: &mut Criterion) {
    let mut group = c.benchmark_group("quoted-printable");
    for (name, text) in texts() {
        let body = quoted_printable::encode(text.as_bytes());
        assert_eq!(stream(TransferEncoding::QuotedPrintable, &body), 0);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_with_input(BenchmarkId::new("quoted_printable+std", name), &body, |b, body| {
            b.iter(|| {
                let bytes = quoted_printable::decode(black_box(body), ParseMode::Strict).unwrap();
                String::from_utf8(bytes).unwrap().len()
            });
        });
        group.bench_with_input(BenchmarkId::new("utf8-codec", name), &body, |b, body| {
            b.iter(|| stream(TransferEncoding::QuotedPrintable, black_box(body)));
        });
    }
}

criterion_group!(benches, base64, quoted_printable);
criterion_main!(benches);
