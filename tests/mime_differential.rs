//! `MessageValidator` and `TransferDecoder` against Python's `email`, `quopri` and `base64`.
#![allow(missing_docs)]

mod support;

use std::process::Command;

use serde_json::Value;
use support::conformance::unhex;
use support::some_partitions;
use utf8_codec::mime::{
    MessageValidator, MessageVerdict, MimeLayer, TransferDecoder, TransferEncoding, TransferPiece,
};

/// What Python generated, and how it reads that; `None`, with a message, where there is no Python.
fn made_by_python() -> Option<Vec<Value>> {
    let output = match Command::new("python3").args(["-c", include_str!("support/mail.py")]).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: python3 does not start: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("JSON");
    Some(lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

fn validate(chunks: &[&[u8]]) -> MessageVerdict {
    let mut validator = MessageValidator::new();
    for chunk in chunks {
        validator.feed(chunk);
    }
    validator.finish()
}

fn check_message(message: &[u8], expected: &[Value]) {
    let verdict = validate(&[message]);
    some_partitions(message, 5, |chunks| assert_eq!(validate(chunks), verdict));

    let shown = String::from_utf8_lossy(message);
    let parts: Vec<_> = verdict.notable().collect();
    assert_eq!(parts.len(), expected.len(), "{verdict:#?}\n{shown}");
    for (part, expected) in parts.into_iter().zip(expected) {
        assert_eq!(part.path.to_string(), expected["path"], "{shown}");
        assert_eq!(part.content_type, expected["type"]);
        assert_eq!(part.charset.as_deref(), Some("utf-8"));
        assert_eq!(part.encoding.expect("known").as_str(), expected["encoding"]);
        assert_eq!(part.decoded_bytes, expected["bytes"].as_u64().unwrap(), "{part:?}\n{shown}");
        assert_eq!(part.lines, expected["lines"].as_u64().unwrap(), "{part:?}\n{shown}");
        let first = part.errors().iter().find(|error| error.kind.layer() == MimeLayer::Text);
        assert_eq!(
            first.and_then(|error| error.decoded_offset),
            expected["error"].as_u64(),
            "{part:?}\n{shown}"
        );
        if let Some(characters) = expected["characters"].as_u64() {
            assert_eq!((part.characters, part.is_ok()), (Some(characters), true), "{part:?}\n{shown}");
        }
        assert_eq!(part.is_ok(), expected["error"].is_null(), "{part:?}");
    }
}

fn check_body(encoding: TransferEncoding, body: &[u8], expected: &[u8]) {
    some_partitions(body, 5, |chunks| {
        let (mut decoder, mut bytes) = (TransferDecoder::new(encoding), Vec::new());
        let mut keep = |piece: TransferPiece<'_>| {
            if let TransferPiece::Bytes(decoded) = piece {
                bytes.extend_from_slice(decoded.bytes());
            }
        };
        for chunk in chunks {
            decoder.feed(chunk, &mut keep);
        }
        decoder.finish(&mut keep);
        assert_eq!(bytes, expected, "{encoding} {:?}", String::from_utf8_lossy(body));
    });
}

#[test]
fn python_decodes_the_same_bytes_and_finds_the_same_errors() {
    let Some(cases) = made_by_python() else { return };
    let (mut messages, mut bad) = (0, 0);
    for case in cases {
        let bytes = |member: &str| unhex(case[member].as_str().expect("hexadecimal"));
        if let Some(parts) = case["parts"].as_array() {
            check_message(&bytes("message"), parts);
            messages += 1;
            bad += parts.iter().filter(|part| !part["error"].is_null()).count();
        } else {
            let name = case["encoding"].as_str().expect("a name");
            let encoding = TransferEncoding::of_name(name.as_bytes()).expect("an encoding");
            check_body(encoding, &bytes("body"), &bytes("decoded"));
        }
    }
    assert!(messages >= 40 && bad >= 10, "{messages} messages, {bad} bad parts");
}
