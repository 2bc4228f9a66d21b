//! Bodies in a transfer encoding: what `TransferDecoder` returns for them, and a naive decoder.

use utf8_codec_mail::{TransferDecoder, TransferEncoding, TransferErrorKind, TransferPiece};

use super::Rng;

/// Every byte with its offset on the wire, and every error with both offsets.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    pub bytes: Vec<u8>,
    pub offsets: Vec<u64>,
    pub errors: Vec<(u64, u64, TransferErrorKind, u8)>,
}

pub fn decode(encoding: TransferEncoding, lenient: bool, chunks: &[&[u8]]) -> Decoded {
    let mut decoder = TransferDecoder::new(encoding);
    if lenient {
        decoder = decoder.with_lenient(true);
    }
    let mut out = Decoded::default();
    let mut keep = |piece: TransferPiece<'_>| match piece {
        TransferPiece::Bytes(decoded) => {
            assert_eq!(decoded.offset(), out.bytes.len() as u64);
            out.bytes.extend_from_slice(decoded.bytes());
            out.offsets.extend((0..decoded.bytes().len()).map(|i| decoded.encoded_offset(i)));
        }
        TransferPiece::Error(error) => {
            out.errors.push((error.offset, error.decoded_offset, error.kind, error.len));
        }
        _ => unreachable!(),
    };
    for chunk in chunks {
        decoder.feed_with(chunk, &mut keep);
    }
    decoder.finish_with(&mut keep);
    assert_eq!(decoder.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    assert_eq!(decoder.decoded_offset(), out.bytes.len() as u64);
    out
}

pub fn bytes(encoding: TransferEncoding, body: &[u8]) -> Vec<u8> {
    decode(encoding, false, &[body]).bytes
}

/// The naive oracle for well-formed quoted-printable, line by line.
pub fn naive_quoted_printable(body: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let (mut bytes, mut offsets, mut start) = (Vec::new(), Vec::new(), 0);
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        let ending = line.len() - line.iter().rev().take_while(|byte| b"\r\n".contains(byte)).count();
        let text = line[..ending].trim_ascii_end();
        let mut at = 0;
        while at < text.len() {
            let (byte, len) = match text[at..] {
                [b'='] => break,
                [b'=', high, low, ..] => {
                    (u8::from_str_radix(core::str::from_utf8(&[high, low]).unwrap(), 16).unwrap(), 3)
                }
                _ => (text[at], 1),
            };
            bytes.push(byte);
            offsets.push((start + at) as u64);
            at += len;
        }
        if at == text.len() {
            bytes.extend_from_slice(&line[ending..]);
            offsets.extend((ending..line.len()).map(|i| (start + i) as u64));
        }
        start += line.len();
    }
    (bytes, offsets)
}

/// Inserts line breaks of every kind at random positions of base64.
pub fn fold(rng: &mut Rng, encoded: &str) -> Vec<u8> {
    let width = 1 + rng.below(80);
    let mut body = Vec::new();
    for line in encoded.as_bytes().chunks(width) {
        body.extend_from_slice(line);
        body.extend_from_slice([&b"\r\n"[..], b"\n", b" \r\n", b"\t\n", b"\n\n"][rng.below(5)]);
    }
    body
}

pub fn quoted(rng: &mut Rng, text: &[u8]) -> Vec<u8> {
    let (mut body, mut column) = (Vec::new(), 0);
    for &byte in text {
        if column > 60 + rng.below(9) {
            body.extend_from_slice([&b"=\r\n"[..], b"=\n", b"= \t\r\n"][rng.below(3)]);
            column = 0;
        }
        if byte == b'\n' {
            body.extend_from_slice([&b"\r\n"[..], b"\n", b" \r\n", b"\t \n"][rng.below(4)]);
            column = 0;
        } else if byte.is_ascii_alphanumeric() || (byte == b' ' && rng.below(2) == 0) {
            body.push(byte);
            column += 1;
        } else {
            let escape = if rng.below(2) == 0 { format!("={byte:02X}") } else { format!("={byte:02x}") };
            body.extend_from_slice(escape.as_bytes());
            column += 3;
        }
    }
    body
}
