//! `Utf8Codec`, lines, batches, and their variants for other encodings: the same items for every partition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8_codec::codec::{LineBatch, Utf8Codec, Utf8LinesCodec};
use utf8_codec::{Ascii, BomPolicy, ErrorPolicy, LineEnding};
use utf8_codec_encodings::codec::TranscodeCodec;
use utf8_codec_encodings::{Encoding, Transcoder};
use utf8_codec_fuzz::{Input, decode, items};

const ENDINGS: [LineEnding; 5] =
    [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, LineEnding::Any, LineEnding::Ascii(Ascii::NUL)];

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let (chunks, decoder) = (input.chunks(), input.decoder());

    let (text, errors) = decode(decoder.clone(), &[input.bytes]);
    let found = items(&mut Utf8Codec::with_decoder(decoder.clone()), &chunks);
    assert_eq!(found.iter().filter(|item| item.is_err()).count(), errors.len());
    assert_eq!(found.into_iter().flatten().map(String::from).collect::<String>(), text);

    let (ending, max) = (input.pick(5, &ENDINGS), input.pick(6, &[0, 1, 7, 60, 1000, usize::MAX]));
    let max_text = input.pick(4, &[usize::MAX, 5, 70]);
    let lines = Utf8LinesCodec::with_decoder(decoder)
        .with_line_ending(ending)
        .with_max_length(max)
        .with_max_text_length(max_text);
    let expected = items(&mut lines.clone(), &[input.bytes]);
    assert_eq!(items(&mut lines.clone(), &chunks), expected);
    let batched =
        items(&mut lines.clone().into_batches(), &chunks).into_iter().flat_map(|batch| match batch {
            Ok(batch) => texts(&batch).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
    assert_eq!(
        batched.collect::<Vec<_>>(),
        expected.into_iter().map(|line| line.map(String::from)).collect::<Vec<_>>()
    );

    let encoding = input.pick(7, Encoding::ALL);
    let policies: Vec<ErrorPolicy> = test_support::policies().into();
    let bom = input.pick(1, &[BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject]);
    let transcoded = || {
        let reading = Transcoder::new(encoding, Encoding::Utf8).with_error_policy(input.pick(0, &policies));
        let reading = reading.with_bom_policy(bom).with_sniffing(input.pick(2, &[false, true]));
        TranscodeCodec::with_transcoders(reading, Transcoder::new(Encoding::Utf8, encoding))
    };
    let whole = items(&mut transcoded(), &[input.bytes]);
    let cut = items(&mut transcoded(), &chunks);
    for errors in [false, true] {
        let of = |items: &[Result<_, String>]| joined(items, errors);
        assert_eq!(of(&cut), of(&whole));
    }
    let lines = || {
        transcoded().into_lines().with_line_ending(ending).with_max_length(max).with_max_text_length(max_text)
    };
    assert_eq!(items(&mut lines(), &chunks), items(&mut lines(), &[input.bytes]));
});

fn texts(batch: &LineBatch) -> Vec<String> {
    batch.iter().map(|line| String::from(&line[..])).collect()
}

/// Returns all texts, or all errors.
fn joined(items: &[Result<bytestring::ByteString, String>], errors: bool) -> Vec<String> {
    let texts = items.iter().filter_map(|item| item.as_ref().ok().map(|text| &text[..]));
    if errors { items.iter().cloned().filter_map(Result::err).collect() } else { vec![texts.collect()] }
}
