//! The text of syslog messages: the parts, the errors and their offsets.

use bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::framing::{OctetCountingCodec, SyslogError, SyslogText, SyslogValidator};

const HEADER: &[u8] = b"<165>1 2003-10-11T22:14:15.003Z mymachine evntslog - ID47 ";

/// MSG as text, or as bytes if its encoding is not known.
type Text = Option<Result<String, Vec<u8>>>;

fn check(structured: &[u8], requires_utf8: bool) -> Result<(usize, Text), String> {
    let message = [HEADER, structured].concat();
    let validator = SyslogValidator::new().with_utf8_required(requires_utf8);
    match validator.validate(&message) {
        Ok(checked) => {
            let text = match checked.text {
                SyslogText::Absent => None,
                SyslogText::Utf8(text) => Some(Ok(text.to_owned())),
                SyslogText::Undeclared(bytes) => Some(Err(bytes.to_vec())),
            };
            assert!(message.starts_with(checked.head.as_bytes()));
            Ok((checked.head.len() - HEADER.len(), text))
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(&format!("byte {}", error.offset())));
            Err(format!(
                "{} {}",
                error.offset() as i64 - HEADER.len() as i64,
                text.split(" at byte").next().unwrap()
            ))
        }
    }
}

#[test]
fn the_text_after_the_structured_data_may_be_in_any_encoding() {
    let some = |text: &str| Some(Ok(text.to_owned()));
    for (structured, end, any, utf8) in [
        (&b"-"[..], 1, None, Ok(None)),
        (b"- ", 1, Some(Err(vec![])), Ok(some(""))),
        (b"- caf\xC3\xA9", 1, Some(Err(b"caf\xC3\xA9".to_vec())), Ok(some("café"))),
        (b"- caf\xE9", 1, Some(Err(b"caf\xE9".to_vec())), Err("5 MSG: ill-formed UTF-8".to_owned())),
        (b"- \xEF\xBB\xBFcaf\xC3\xA9", 1, some("café"), Ok(some("café"))),
        (b"[a@1 b=\"\xC3\xA9\"][c@2]", 19 - 2, None, Ok(None)),
        (b"[a@1 b=\"\\]\\\"\\\\ \\n\" c=\"\"] x", 24, Some(Err(b"x".to_vec())), Ok(some("x"))),
    ] {
        let name = String::from_utf8_lossy(structured);
        assert_eq!(check(structured, false), Ok((end, any)), "{name}");
        assert_eq!(check(structured, true), utf8.map(|text| (end, text)), "{name}");
    }
}

#[test]
fn each_error_has_its_place() {
    for (structured, expected) in [
        (&b""[..], "0 invalid structured data"),
        (b"x", "0 invalid structured data"),
        (b"-x", "1 invalid structured data"),
        (b"[]", "1 invalid structured data"),
        (b"[a@1 b=\"x", "9 invalid structured data"),
        (b"[a@1 b=\"x]\"]", "9 invalid structured data"),
        (b"[a@1 b=\"x\\]", "11 invalid structured data"),
        (b"[a@1  b=\"x\"]", "5 invalid structured data"),
        (b"[a@1 b=x]", "7 invalid structured data"),
        (b"[a@1]x", "5 invalid structured data"),
        (b"[a\xC3\xA91]", "2 invalid structured data"),
        (b"[a@1 b=\"\xE9\"] ", "8 structured data: ill-formed UTF-8"),
        (b"[a@1 b=\"\xE2\x82]\"] ", "8 structured data: ill-formed UTF-8"),
        (b"[a@1 b=\"\xE2\x82", "8 structured data: ill-formed UTF-8"),
        (b"- \xEF\xBB\xBFcaf\xE9", "8 MSG: ill-formed UTF-8"),
    ] {
        assert_eq!(
            check(structured, false),
            Err(expected.to_owned()),
            "{}",
            String::from_utf8_lossy(structured)
        );
    }
    for (message, offset) in [
        (&b""[..], 0),
        (b"165>1 - - - - - -", 0),
        (b"<>1 - - - - - -", 1),
        (b"<1650>1 - - - - - -", 4),
        (b"<165>0 - - - - - -", 5),
        (b"<165>Oct 11 22:14:15 host su: text", 5),
        (b"<165>1  - - - - -", 7),
        (b"<165>1 - h\xC3\xB6st - - - -", 10),
        (b"<165>1 - - - - -", 16),
    ] {
        let error = SyslogError::InvalidHeader { offset };
        assert_eq!(
            SyslogValidator::new().validate(message),
            Err(error),
            "{}",
            String::from_utf8_lossy(message)
        );
    }
}

/// Messages of clients in two encodings on one connection.
#[test]
fn frames_of_a_connection_are_checked() {
    let mut codec = OctetCountingCodec::new();
    let mut wire = BytesMut::new();
    let messages: [&[u8]; 3] = [
        b"<1>1 - - - - - - \xEF\xBB\xBFgr\xC3\xBCn",
        b"<1>1 - - - - - - gr\xFCn",
        b"<1>1 - - - - - [a b=\"\xFC\"]",
    ];
    for message in messages {
        codec.encode(Bytes::from_static(message), &mut wire).unwrap();
    }
    let mut found = Vec::new();
    while let Some(frame) = codec.decode(&mut wire).unwrap() {
        found.push(match SyslogValidator::new().validate(&frame.unwrap()) {
            Ok(message) => format!("{:?}", message.text),
            Err(error) => error.to_string(),
        });
    }
    let value = "structured data: ill-formed UTF-8 at byte 21 (AboveMax, 1 byte)";
    assert_eq!(found, ["Utf8(\"grün\")", "Undeclared([103, 114, 252, 110])", value]);
}
