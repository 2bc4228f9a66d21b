//! The rules for a frame: headers, lengths, limits, close frames.

use utf8_codec_proxy::websocket::{
    CloseFrame, CompressionPolicy, FrameErrorKind, FrameEvent, FrameFilter, FrameHeader, FrameReader,
    FrameSender, Opcode,
};

use crate::support::websocket::{Error, Rules, SENDERS, facts, frame, read};

/// Returns the error of a reader and of a filter, which must be the same.
fn error_of(stream: &[u8], rules: Rules) -> Option<Error> {
    let mut filter = FrameFilter::new(rules.sender)
        .with_max_frame_length(rules.max_frame)
        .with_max_message_length(rules.max_message)
        .with_compression(if rules.compressed { CompressionPolicy::Pass } else { CompressionPolicy::Remove });
    let by_filter = filter.feed_with(stream, |_| {}).err().map(facts);
    if !rules.compressed {
        let mut reader = FrameReader::new(rules.sender)
            .with_max_frame_length(rules.max_frame)
            .with_max_message_length(rules.max_message);
        let by_reader = reader.feed(&mut stream.to_vec()).find_map(Result::err).map(facts);
        assert_eq!(by_reader, by_filter, "{stream:02X?}");
    }
    by_filter
}

#[test]
fn every_first_two_bytes_have_the_verdict_of_the_model() {
    for sender in SENDERS {
        let key = (sender == FrameSender::Client).then_some([0; 4]);
        for before in [vec![], frame(0x01, b"a", key)] {
            for compressed in [false, true] {
                let rules = Rules { compressed, ..Rules::new(sender) };
                for start in 0..=u16::MAX {
                    let stream = [&before[..], &start.to_be_bytes()].concat();
                    assert_eq!(error_of(&stream, rules), read(&stream, rules).error, "{stream:02X?}");
                }
            }
        }
    }
}

#[test]
fn a_length_has_its_shortest_form() {
    let rules = Rules { max_frame: u64::MAX, max_message: u64::MAX, ..Rules::new(FrameSender::Server) };
    for length in [0_u64, 1, 125, 126, 127, 0xFFFF, 0x1_0000, 1 << 47, i64::MAX as u64, 1 << 63, u64::MAX] {
        let mut written = Vec::new();
        FrameHeader::new(Opcode::Binary, length.min(i64::MAX as u64)).write_to(&mut written);
        assert_eq!(error_of(&written, rules), None, "{length}");
        let mut forms = vec![[&[0x82, 127][..], &length.to_be_bytes()].concat()];
        if let Ok(length) = u16::try_from(length) {
            forms.push([&[0x82, 126][..], &length.to_be_bytes()].concat());
        }
        for form in forms {
            let error = error_of(&form, rules);
            assert_eq!(error, read(&form, rules).error, "{form:02X?}");
            assert_eq!(error.is_none(), form == written, "{form:02X?}");
        }
    }
}

#[test]
fn a_header_is_written_as_the_model_writes_it() {
    for len in [0, 5, 125, 126, 0xFFFF, 0x1_0000] {
        for mask in [None, Some([1, 2, 3, 4])] {
            for (first, is_final, is_compressed, opcode) in [
                (0x81, true, false, Opcode::Text),
                (0x42, false, true, Opcode::Binary),
                (0x00, false, false, Opcode::Continuation),
                (0x8A, true, false, Opcode::Pong),
            ] {
                let mut written = Vec::new();
                let mut header = FrameHeader::new(opcode, len);
                (header.is_final, header.is_compressed, header.mask) = (is_final, is_compressed, mask);
                header.write_to(&mut written);
                let whole = frame(first, &vec![0; len as usize], mask);
                assert_eq!(written, whole[..whole.len() - len as usize]);
            }
        }
    }
}

#[test]
fn limits_apply_to_the_announced_length() {
    let rules = Rules { max_frame: 5, max_message: 8, ..Rules::new(FrameSender::Server) };
    let cases = [
        (frame(0x82, b"12345", None), None),
        (frame(0x82, b"123456", None), Some((1, 0, FrameErrorKind::FrameTooLong(5)))),
        ([frame(0x02, b"1234", None), frame(0x80, b"1234", None)].concat(), None),
        (
            [frame(0x02, b"1234", None), frame(0x80, b"12345", None)].concat(),
            Some((7, 4, FrameErrorKind::MessageTooLong(8))),
        ),
        (frame(0x89, b"123456789", None), None),
    ];
    for (stream, expected) in cases {
        assert_eq!(error_of(&stream, rules), expected, "{stream:02X?}");
        assert_eq!(read(&stream, rules).error, expected);
    }
    let default = Rules::new(FrameSender::Server);
    let announced = b"\x82\x7F\0\0\0\0\x01\0\0\x01";
    assert_eq!(error_of(announced, default), Some((1, 0, FrameErrorKind::FrameTooLong(16 << 20))));
}

#[test]
fn every_close_code_has_the_verdict_of_the_model() {
    let rules = Rules::new(FrameSender::Server);
    for code in 0..=u16::MAX {
        let stream = frame(0x88, &code.to_be_bytes(), None);
        for end in [3, 4] {
            assert_eq!(error_of(&stream[..end], rules), read(&stream[..end], rules).error, "{code}");
        }
    }
}

#[test]
fn a_close_frame_is_read_as_it_was_written() {
    for (sender, key) in [(FrameSender::Client, Some([9, 8, 7, 6])), (FrameSender::Server, None)] {
        for (reason, kept) in [("", ""), ("grün", "grün"), (&"é".repeat(99), &"é".repeat(61))] {
            let mut written = Vec::new();
            CloseFrame::new(1000, reason).write_to(key, &mut written);
            assert_eq!(
                FrameReader::new(sender).feed(&mut written).next(),
                Some(Ok(FrameEvent::Close(Some(CloseFrame::new(1000, kept).into()))))
            );
            assert_eq!(CloseFrame::new(1000, reason).reason(), kept);
        }
    }
}

#[test]
fn an_error_has_its_close_code_and_no_payload() {
    let cases = [
        (
            frame(0x81, b"secret\xFF", None),
            1007,
            "frame error at byte 8: ill-formed UTF-8 at byte 6 (InvalidLead, 1 byte)",
        ),
        (
            frame(0x88, b"\x03\xE8\xFF", None),
            1007,
            "frame error at byte 4: close reason: ill-formed UTF-8 at byte 0 (InvalidLead, 1 byte)",
        ),
        (frame(0x83, b"secret", None), 1002, "frame error at byte 0: reserved opcode"),
        (frame(0x88, b"\x03\xEDsecret", None), 1002, "frame error at byte 2: invalid close code 1005"),
        (b"\x88\x0Es".to_vec(), 1002, "frame error at byte 2: invalid first byte of a close code"),
        (
            b"\x82\x7F\0\0\0\0\x7F\0\0\0".to_vec(),
            1009,
            "frame error at byte 1: frame longer than 16777216 bytes",
        ),
    ];
    for (mut stream, code, text) in cases {
        let error = FrameReader::new(FrameSender::Server).feed(&mut stream).find_map(Result::err).unwrap();
        assert_eq!((error.close_code(), &*error.to_string()), (code, text));
        assert_eq!((error.close_frame().code(), error.close_frame().reason()), (code, text));
        assert!(!format!("{error:?}{:?}", error.close_frame()).contains("secret"));
    }
}
