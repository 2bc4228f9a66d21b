//! Mail in UTF-7 and ISO-2022-KR against Python's `email` and its codecs.

use std::process::Command;

use serde_json::Value;
use utf8_codec_encodings::Encoding;
use utf8_codec_mail::{
    BodyDecoder, BodyPiece, MessageValidator, MimeLayer, MimeSettings, PartKind, TransferEncoding,
};

use crate::run;
use crate::support::{some_partitions, unhex};

/// Returns the text of a body, or `None` if it is ill-formed.
fn text(encoding: TransferEncoding, charset: Encoding, chunks: &[&[u8]]) -> Option<String> {
    let mut decoder = BodyDecoder::new(encoding).with_charset(charset);
    let mut text = String::new();
    let mut is_ok = true;
    let mut take = |piece: BodyPiece<'_>| match piece {
        BodyPiece::Text(piece) => text.push_str(piece),
        BodyPiece::Seam(character) => text.push(character),
        BodyPiece::Error(error) => is_ok &= error.kind.layer() != MimeLayer::Text,
        other => panic!("{other:?}"),
    };
    chunks.iter().for_each(|chunk| decoder.feed_with(chunk, &mut take));
    decoder.finish_with(&mut take);
    is_ok.then_some(text)
}

#[test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
fn python_decodes_the_same_text() {
    let output = run(Command::new("python3").args(["-c", include_str!("old_mail.py")]), String::new());
    let mut good = 0;
    let mut bad = 0;
    for line in output.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let message = unhex(case["message"].as_str().expect("hexadecimal"));
        let mut settings = MimeSettings::default();
        settings.other_charsets = true;
        let mut validator = MessageValidator::with_settings(settings);
        validator.push(&message);
        let verdict = validator.finish();
        let parts: Vec<_> = verdict.parts.iter().filter(|part| part.kind == PartKind::Text).collect();
        let expected = case["parts"].as_array().expect("parts");
        assert_eq!(parts.len(), expected.len(), "{verdict:#?}");
        for ((part, expected), charset) in
            parts.iter().zip(expected).zip([Encoding::Utf7, Encoding::Iso2022Kr])
        {
            let is_ok = !part.errors().iter().any(|error| error.kind.layer() == MimeLayer::Text);
            let name = expected["encoding"].as_str().expect("a name");
            let encoding = TransferEncoding::for_name(name.as_bytes()).expect("an encoding");
            let body = unhex(expected["body"].as_str().expect("hexadecimal"));
            let shown = String::from_utf8_lossy(&body);
            let expected = expected["text"].as_str();
            some_partitions(&body, 3, |chunks| {
                assert_eq!(text(encoding, charset, chunks).as_deref(), expected, "{charset} {shown}");
            });
            assert_eq!(is_ok, expected.is_some(), "{charset} {shown}");
            match expected {
                Some(text) => {
                    assert_eq!(part.characters, Some(text.chars().count() as u64), "{charset} {shown}");
                    good += 1;
                }
                None => bad += 1,
            }
        }
    }
    assert!(good >= 150 && bad >= 40, "{good} good parts, {bad} ill-formed parts");
}
