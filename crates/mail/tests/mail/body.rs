//! `BodyDecoder`: the text of a body in a transfer encoding, and its errors with both offsets.

use utf8_codec::ErrorKind;
use utf8_codec_mail::TransferEncoding::{Base64, Binary, QuotedPrintable};
use utf8_codec_mail::{BodyDecoder, BodyPiece, MimeErrorKind, TransferEncoding};

use crate::support::transfer::{bytes, decode, fold};
use crate::support::{Rng, oracle, some_partitions};

type Text = (String, Vec<(u64, Option<u64>, MimeErrorKind, u8)>);

fn decode_text(encoding: TransferEncoding, chunks: &[&[u8]]) -> Text {
    let (mut body, mut out) = (BodyDecoder::new(encoding), Text::default());
    let mut keep = |piece: BodyPiece<'_>| match piece {
        BodyPiece::Text(text) => out.0.push_str(text),
        BodyPiece::Seam(character) => out.0.push(character),
        BodyPiece::Error(e) => out.1.push((e.offset, e.decoded_offset, e.kind, e.len)),
        _ => unreachable!(),
    };
    for chunk in chunks {
        body.feed_with(chunk, &mut keep);
    }
    body.finish_with(&mut keep);
    out
}

#[test]
fn text_errors_have_offsets_on_the_wire_and_in_the_text() {
    let mut rng = Rng::new(2049);
    for round in 0..300 {
        // Some bodies are longer than one block.
        let text = rng.dirty_text(if round % 50 == 0 { 20_000 } else { 1 + round });
        let (good, expected) = oracle::decode(&text);
        for (encoding, body) in [
            (Binary, text.clone()),
            (Base64, fold(&mut rng, &data_encoding::BASE64.encode(&text))),
            (QuotedPrintable, quoted_printable::encode(&text)),
        ] {
            let offsets = decode(encoding, false, &[&body]).offsets;
            let decoded = bytes(encoding, &body);
            let (good, expected) = if encoding == QuotedPrintable {
                oracle::decode(&decoded)
            } else {
                (good.clone(), expected.clone())
            };
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(at, kind, len)| (offsets[at as usize], Some(at), MimeErrorKind::Text(kind), len))
                .collect();
            let check = |chunks: &[&[u8]]| {
                let (text, errors) = decode_text(encoding, chunks);
                assert_eq!(text, good);
                let errors: Vec<_> = errors.into_iter().filter(|error| !error.2.is_warning()).collect();
                assert_eq!(errors, expected, "{encoding}");
            };
            check(&[&body]);
            check(&body.chunks(1).collect::<Vec<_>>());
            check(&body.chunks(1 + rng.below(40)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_character_across_a_line_break_is_decoded_as_one() {
    // "né" in base64 with a line break inside the character, and in quoted-printable with a soft line break.
    some_partitions(b"bsO\r\np\r\n", 50, |chunks| {
        assert_eq!(decode_text(Base64, chunks), ("né".into(), vec![]))
    });
    some_partitions(b"n=C3=\r\n=A9", 50, |chunks| {
        assert_eq!(decode_text(QuotedPrintable, chunks), ("né".into(), vec![]));
    });
    // A hard line break truncates the character.
    some_partitions(b"n=C3\r\n=A9", 50, |chunks| {
        let (text, errors) = decode_text(QuotedPrintable, chunks);
        assert_eq!(text, "n\r\n");
        let kinds =
            [ErrorKind::MissingContinuation, ErrorKind::UnexpectedContinuation].map(MimeErrorKind::Text);
        assert_eq!(errors, [(1, Some(1), kinds[0], 1), (6, Some(4), kinds[1], 1)]);
    });
}

#[test]
fn a_body_decoder_counts_encoded_and_decoded_bytes() {
    let mut decoder = BodyDecoder::with_offset(Base64, 100);
    decoder.feed_with(b"YWI=", |_| {});
    decoder.finish_with(|_| {});
    assert_eq!((decoder.offset(), decoder.decoded_offset()), (104, 2));
}
