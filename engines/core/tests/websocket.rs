//! Both directions of a WebSocket connection, cut at every byte.
#![allow(missing_docs)]

use utf8_codec_engines::config::{FilterKind, Settings};
use utf8_codec_engines::plan::{Outcome, Verdict};
use utf8_codec_engines::websocket::{Extensions, WebSocket, extensions, is_handshake};
use utf8_codec_engines::{MessageKind, Reason, Rejection};
use utf8_codec_proxy::websocket::{FrameEvent, FrameHeader, FrameReader, FrameSender, Opcode};

const KEY: [u8; 4] = [7, 0, 255, 13];

fn settings(json: &str) -> Settings {
    Settings::parse(json.as_bytes(), FilterKind::Http).unwrap()
}

fn websocket(json: &str) -> WebSocket {
    WebSocket::new(&settings(json)).unwrap()
}

/// Frames of a sender.
fn frames(sender: FrameSender, parts: &[(Opcode, bool, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (opcode, is_final, payload) in parts {
        let mask = (sender == FrameSender::Client).then_some(KEY);
        let mut header = FrameHeader::new(*opcode, payload.len() as u64);
        (header.mask, header.is_final) = (mask, *is_final);
        header.write_to(&mut bytes);
        let key = mask.unwrap_or_default();
        bytes.extend(payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
    }
    bytes
}

fn content(slices: &[&[u8]], outcome: &Outcome) -> Vec<u8> {
    [outcome.head.as_slice(), &slices.concat()[..outcome.kept], &outcome.tail].concat()
}

/// What a receiver reads: the text, the number of other frames, and the code of the close frame.
fn read(sender: FrameSender, mut bytes: Vec<u8>) -> (String, usize, Option<u16>) {
    let (mut text, mut others, mut code) = (String::new(), 0, None);
    for event in FrameReader::new(sender).feed(&mut bytes) {
        match event.unwrap() {
            FrameEvent::Text(part) => text.push_str(part),
            FrameEvent::Close(frame) => code = frame.map(|frame| frame.code()),
            _ => others += 1,
        }
    }
    (text, others, code)
}

#[test]
fn both_peers_get_1007_at_the_first_impossible_byte() {
    for sender in [FrameSender::Client, FrameSender::Server] {
        let other = if sender == FrameSender::Client { FrameSender::Server } else { FrameSender::Client };
        let stream = frames(
            sender,
            &[
                (Opcode::Text, false, b"na\xC3"),
                (Opcode::Ping, true, b"\xFF"),
                (Opcode::Continuation, true, b"\xAF"),
                (Opcode::Text, true, b"x\xF0\x9F(more"),
            ],
        );
        for cut in 0..=stream.len() {
            let mut connection = websocket("{}");
            let (mut forwarded, mut rejected) = (Vec::new(), 0);
            for slices in [[&stream[..cut / 2], &stream[cut / 2..cut]], [&stream[cut..], b"\x81"]] {
                let outcome = connection.feed(sender, &slices, false);
                if let Verdict::Rejected(Reason::Frame(error)) = &outcome.verdict {
                    assert_eq!((error.close_code(), error.message_offset), (1007, 1));
                    rejected += 1;
                }
                forwarded.extend_from_slice(&content(&slices, &outcome));
            }
            assert_eq!(rejected, 1, "{cut}");
            let (text, others, code) = read(sender, forwarded);
            assert_eq!((text.as_str(), code), ("naïx", Some(1007)), "{cut}");
            assert!(others >= 2, "the ping, and the end of the first message");

            let more = frames(other, &[(Opcode::Text, true, b"an answer")]);
            let outcome = connection.feed(other, &[&more], false);
            assert_eq!(read(other, content(&[&more], &outcome)), (String::new(), 0, Some(1007)));
            assert_eq!(content(&[&more], &connection.feed(other, &[&more], true)), b"");
        }
    }
}

/// A frame that a client sends before the response is rejected with a response.
#[test]
fn the_problem_document_has_the_position_in_the_message() {
    let stream =
        frames(FrameSender::Client, &[(Opcode::Text, false, b"na"), (Opcode::Continuation, true, b"\xFFx")]);
    for (stream, expected) in [
        (
            stream.as_slice(),
            r#""detail":"frame error at byte 14: ill-formed UTF-8 at byte 2 (InvalidLead, 1 byte)","kind":"InvalidLead","offset":2,"len":1}"#,
        ),
        (b"\x83", r#""detail":"frame error at byte 0: reserved opcode","kind":"Frame","offset":0,"len":0}"#),
    ] {
        let outcome = websocket("{}").feed(FrameSender::Client, &[stream], false);
        let Verdict::Rejected(reason) = outcome.verdict else { panic!("{outcome:?}") };
        let rejection = Rejection::new(MessageKind::Request, reason);
        let start = r#"{"type":"about:blank","title":"Bad Request","status":400,"#;
        assert_eq!(rejection.problem_json(), format!("{start}{expected}"));
    }
}

#[test]
fn frames_without_an_error_pass_and_whole_ones_unchanged() {
    let stream = frames(
        FrameSender::Client,
        &[(Opcode::Text, true, "naïve".as_bytes()), (Opcode::Binary, true, b"\xFF")],
    );
    assert!(websocket("{}").feed(FrameSender::Client, &[&stream], false).is_unchanged());
    for cut in 0..=stream.len() {
        let mut connection = websocket("{}");
        let slices = [&stream[..cut], &stream[cut..]];
        let forwarded: Vec<_> = slices
            .iter()
            .flat_map(|slice| content(&[slice], &connection.feed(FrameSender::Client, &[slice], false)))
            .collect();
        assert_eq!(read(FrameSender::Client, forwarded).0, "naïve", "{cut}");
    }
}

#[test]
fn a_report_changes_nothing() {
    let mut connection = websocket(r#"{"action": "report"}"#);
    let stream = frames(FrameSender::Server, &[(Opcode::Text, true, b"\xFF\xFF")]);
    let outcome = connection.feed(FrameSender::Server, &[&stream[..1], &stream[1..]], false);
    assert!(outcome.is_unchanged() && matches!(outcome.verdict, Verdict::Reported(Reason::Frame(_))));
    assert_eq!(connection.feed(FrameSender::Server, &[&stream], false).verdict, Verdict::Pass);
}

#[test]
fn a_direction_that_is_not_checked_passes_until_the_other_is_rejected() {
    let mut connection = websocket(r#"{"direction": "request"}"#);
    assert!(connection.feed(FrameSender::Server, &[b"\xFF"], false).is_unchanged());
    let stream = frames(FrameSender::Client, &[(Opcode::Text, true, b"\xFF")]);
    assert!(matches!(connection.feed(FrameSender::Client, &[&stream], false).verdict, Verdict::Rejected(_)));
    assert_eq!(content(&[b"\xFF"], &connection.feed(FrameSender::Server, &[b"\xFF"], false)), b"");
}

#[test]
fn settings_select_the_repair_and_the_limit_and_pass() {
    let text = frames(FrameSender::Server, &[(Opcode::Text, true, b"a\xFFb")]);
    let outcome = websocket(r#"{"on_error": "substitute=?"}"#).feed(FrameSender::Server, &[&text], false);
    assert_eq!(
        (read(FrameSender::Server, content(&[&text], &outcome)).0.as_str(), outcome.repaired),
        ("a?b", 1)
    );
    let outcome = websocket(r#"{"max_websocket_message": 2}"#).feed(FrameSender::Server, &[&text], false);
    assert_eq!(read(FrameSender::Server, content(&[&text], &outcome)).2, Some(1009));
    assert!(WebSocket::new(&settings(r#"{"websocket": "pass"}"#)).is_none());
}

#[test]
fn compression_is_removed_from_the_handshake_unless_it_passes() {
    const DEFLATE: &str = "permessage-deflate";
    let offer = [
        (&b"Sec-WebSocket-Extensions"[..], &b"x-mux"[..]),
        (b"sec-websocket-extensions", DEFLATE.as_bytes()),
    ];
    let run = |json, count: usize| extensions(&settings(json), offer[2 - count..].iter().copied());
    assert_eq!(run("{}", 2), Extensions::Removed);
    assert_eq!(run("{}", 0), Extensions::Unchanged);
    assert_eq!(run(r#"{"action": "report"}"#, 2), Extensions::Unchanged);
    let passes = r#"{"websocket_compression": "pass"}"#;
    assert_eq!(
        (run(passes, 1), run(passes, 2)),
        (Extensions::Unchanged, Extensions::Changed(DEFLATE.into()))
    );

    let negotiated = |json: &str| {
        let mut connection = websocket(json);
        connection.set_extensions(&settings(json), offer.into_iter());
        connection
    };
    let compressed = b"\xC1\x02\xFF\xFF";
    for json in [passes, r#"{"action": "report"}"#] {
        assert!(negotiated(json).feed(FrameSender::Server, &[compressed], false).is_unchanged(), "{json}");
    }
    for mut connection in [websocket("{}"), websocket(passes), negotiated("{}")] {
        let verdict = connection.feed(FrameSender::Server, &[compressed], false).verdict;
        assert!(matches!(verdict, Verdict::Rejected(_)));
    }
}

#[test]
fn compressed_messages_are_inflated_for_the_check() {
    let fields = [(&b"sec-websocket-extensions"[..], &b"permessage-deflate; server_no_context_takeover"[..])];
    let connection = |json: &str| {
        let mut connection = websocket(json);
        connection.set_extensions(&settings(json), fields.into_iter());
        connection
    };
    // "Hello", a reference to it, and the byte FF.
    let hello = b"\xC1\x07\xF2\x48\xCD\xC9\xC9\x07\0";
    let (again, ill_formed) = (b"\xC1\x05\xF2\0\x11\0\0", b"\xC1\x03\xFA\x0F\0");
    let strict = r#"{"websocket_compression": "inflate"}"#;
    assert_eq!(extensions(&settings(strict), fields.into_iter()), Extensions::Unchanged);
    assert!(connection(strict).feed(FrameSender::Server, &[hello, hello], false).is_unchanged());
    for stream in [&[&hello[..], again].concat(), &[&hello[..], ill_formed].concat()] {
        let outcome = connection(strict).feed(FrameSender::Server, &[stream], false);
        assert_eq!((outcome.kept, &outcome.tail[2..4]), (hello.len(), &1007_u16.to_be_bytes()[..]));
    }
    let limited = r#"{"websocket_compression": "inflate", "max_websocket_message": 4}"#;
    let outcome = connection(limited).feed(FrameSender::Server, &[hello], false);
    assert_eq!(outcome.tail[2..4], 1009_u16.to_be_bytes());
    let repairs = r#"{"websocket_compression": "inflate", "on_error": "substitute=?"}"#;
    let stream = [&hello[..], ill_formed].concat();
    let outcome = connection(repairs).feed(FrameSender::Server, &[&stream], false);
    assert_eq!((content(&[&stream], &outcome), outcome.repaired), (b"\x81\x05Hello\x81\x01?".to_vec(), 1));
    let reports = r#"{"websocket_compression": "inflate", "action": "report"}"#;
    let outcome = connection(reports).feed(FrameSender::Server, &[ill_formed], false);
    assert!(matches!(outcome.verdict, Verdict::Reported(_)));
}

#[test]
fn a_handshake_names_the_protocol() {
    for (name, value, expected) in [
        ("Upgrade", "h2c, WebSocket", true),
        (":protocol", "websocket", true),
        ("upgrade", "websockets", false),
        ("x-upgrade", "websocket", false),
    ] {
        assert_eq!(
            is_handshake([(name.as_bytes(), value.as_bytes())].into_iter()),
            expected,
            "{name} {value}"
        );
    }
}
