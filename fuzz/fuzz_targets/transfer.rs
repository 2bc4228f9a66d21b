//! `TransferDecoder` and `BodyDecoder`: the same bytes, text, errors and offsets for every partition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use test_support::oracle;
use utf8_codec_fuzz::Input;
use utf8_codec_mail::{
    BodyDecoder, BodyPiece, MimeError, TransferDecoder, TransferEncoding, TransferError, TransferPiece,
};

const ENCODINGS: [TransferEncoding; 5] = [
    TransferEncoding::SevenBit,
    TransferEncoding::EightBit,
    TransferEncoding::Binary,
    TransferEncoding::QuotedPrintable,
    TransferEncoding::Base64,
];

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, encoding) = (input.chunks(), input.pick(5, &ENCODINGS));
    let (lenient, max) = (input.pick(6, &[false, true]), input.pick(7, &[998, 0, 5, 76]));
    let transfer = TransferDecoder::new(encoding).with_max_line_length(max);
    let transfer = transfer.with_lenient(lenient);
    let body = BodyDecoder::new(encoding).with_max_line_length(max);
    let body = body.with_lenient(lenient);

    let whole = decoded(transfer.clone(), &[input.bytes]);
    assert_eq!(decoded(transfer, &chunks), whole);
    let (text, errors) = texts(body.clone(), &[input.bytes]);
    let (text_of_chunks, errors_of_chunks) = texts(body, &chunks);
    assert_eq!((&text_of_chunks, &errors_of_chunks), (&text, &errors));
    assert_eq!(text, oracle::decode(&whole.0).0);
});

fn decoded(mut decoder: TransferDecoder, chunks: &[&[u8]]) -> (Vec<u8>, Vec<u64>, Vec<TransferError>) {
    let (mut bytes, mut offsets, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut keep = |piece: TransferPiece<'_>| match piece {
        TransferPiece::Bytes(decoded) => {
            assert_eq!(decoded.offset(), bytes.len() as u64);
            bytes.extend_from_slice(decoded.bytes());
            offsets.extend((0..decoded.bytes().len()).map(|index| decoded.encoded_offset(index)));
        }
        TransferPiece::Error(error) => errors.push(error),
        other => panic!("an unknown piece: {other:?}"),
    };
    chunks.iter().for_each(|chunk| decoder.feed_with(chunk, &mut keep));
    decoder.finish_with(&mut keep);
    assert!(offsets.is_sorted());
    (bytes, offsets, errors)
}

fn texts(mut decoder: BodyDecoder, chunks: &[&[u8]]) -> (String, Vec<MimeError>) {
    let (mut text, mut errors) = (String::new(), Vec::new());
    let mut keep = |piece: BodyPiece<'_>| match piece {
        BodyPiece::Text(part) => text.push_str(part),
        BodyPiece::Seam(character) => text.push(character),
        other => errors.extend(error_of(other)),
    };
    chunks.iter().for_each(|chunk| decoder.feed_with(chunk, &mut keep));
    decoder.finish_with(&mut keep);
    (text, errors)
}

fn error_of(piece: BodyPiece<'_>) -> Option<MimeError> {
    if let BodyPiece::Error(error) = piece { Some(error) } else { None }
}
