//! The codecs for length-prefixed frames and for JSON text sequences: the same frames for every partition, their
//! limits, and text codecs over them.

use core::fmt::Debug;
use std::io;

use bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::framing::{ContentLengthCodec, FramingError, JsonSequenceCodec, OctetCountingCodec};
use utf8_codec::codec::{Utf8FramesCodec, Utf8FramesError};

use crate::support::{Rng, every_partition, some_partitions};

type Items = Vec<Result<String, String>>;
type Frame = Result<Bytes, FramingError>;

/// Returns the error of a header, which ends the stream.
fn fatal(decoded: io::Result<Option<Frame>>) -> FramingError {
    decoded.unwrap_err().downcast().expect("an error of the framing")
}

fn decode<C>(mut codec: C, chunks: &[&[u8]]) -> Items
where
    C: Decoder<Item = Frame, Error = io::Error>,
{
    let (mut buffer, mut items) = (BytesMut::new(), Vec::new());
    let mut take = |found: io::Result<Option<Frame>>| match found {
        Ok(None) => false,
        Ok(Some(frame)) => {
            let payload = frame.map(|payload| String::from_utf8_lossy(&payload).into_owned());
            items.push(payload.map_err(|error| error.to_string()));
            true
        }
        Err(error) => {
            items.push(Err(error.to_string()));
            true
        }
    };
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while take(codec.decode(&mut buffer)) {}
    }
    while take(codec.decode_eof(&mut buffer)) {}
    assert!(buffer.is_empty(), "everything is consumed");
    items
}

/// Checks a stream as one chunk and in many partitions. An item that starts with `!` is an error.
fn check<C>(codec: impl Fn() -> C, stream: &[u8], expected: &[&str])
where
    C: Decoder<Item = Frame, Error = io::Error>,
{
    let compare = |chunks: &[&[u8]]| {
        let got: Vec<_> = decode(codec(), chunks)
            .into_iter()
            .map(|item| item.unwrap_or_else(|e| format!("!{e}")))
            .collect();
        assert_eq!(got, expected, "{chunks:?}");
    };
    some_partitions(stream, 30, compare);
    if stream.len() <= 12 {
        every_partition(stream, compare);
    }
}

/// Decodes a stream of two frames. Asserts that `offset` returns the number of bytes that were read.
fn check_offset<C>(mut codec: C, stream: &[u8], offset: fn(&C) -> u64)
where
    C: Decoder<Item = Frame, Error = io::Error>,
{
    let mut buffer = BytesMut::from(stream);
    assert_eq!(offset(&codec), 0);
    for _ in 0..2 {
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "ab");
        assert_eq!(offset(&codec), (stream.len() - buffer.len()) as u64);
    }
}

#[test]
fn the_offset_counts_the_bytes_that_were_read() {
    check_offset(OctetCountingCodec::new(), b"2 ab2 ab2 ", OctetCountingCodec::offset);
    let stream = b"Content-Length: 2\r\n\r\nab".repeat(2);
    check_offset(ContentLengthCodec::new(), &stream, ContentLengthCodec::offset);
    check_offset(JsonSequenceCodec::new(), b"\x1Eab\n\x1Eab\n\x1E", JsonSequenceCodec::offset);
}

#[test]
fn a_frame_after_an_error_is_returned_at_the_end() {
    let mut codec = OctetCountingCodec::new().with_max_length(5);
    let mut buffer = BytesMut::from(&b"6 abcdef1 x"[..]);
    assert!(codec.decode_eof(&mut buffer).unwrap().unwrap().is_err(), "the frame is too long");
    assert_eq!(codec.decode_eof(&mut buffer).unwrap().unwrap().unwrap(), "x");
}

#[test]
fn the_default_limit_of_a_frame_is_documented() {
    // 8 MiB, and 64 KiB for a message of syslog.
    for (length, is_within) in [(8_388_608, true), (8_388_609, false)] {
        let header = format!("Content-Length: {length}\r\n\r\n");
        assert_eq!(
            ContentLengthCodec::new().decode(&mut (&*header).into()).unwrap().is_none(),
            is_within,
            "{header}"
        );
    }
    for (header, is_within) in [("65536 ", true), ("65537 ", false)] {
        assert_eq!(
            OctetCountingCodec::new().decode(&mut header.into()).unwrap().is_none(),
            is_within,
            "{header}"
        );
    }
}

#[test]
fn octet_counting() {
    let codec = || OctetCountingCodec::new().with_max_length(8);
    check(codec, b"3 <1>8 <2>a\nb c", &["<1>", "<2>a\nb c"]);
    check(codec, b"0 1 a", &["!invalid frame header at byte 0"]);
    check(codec, b"1 a01 b", &["a", "!invalid frame header at byte 3"]);
    check(codec, b"<1>a\n", &["!invalid frame header at byte 0"]);
    check(codec, b"9 <1>456789", &["!the frame at byte 0 is longer than 8 bytes"]);
    check(codec, b"9 <1>4567891 a", &["!the frame at byte 0 is longer than 8 bytes", "a"]);
    check(codec, b"1 a5 <1>", &["a", "!the frame at byte 3 is cut off"]);
    check(codec, b"2", &["!the frame at byte 0 is cut off"]);
    check(codec, b"9 <1>", &["!the frame at byte 0 is longer than 8 bytes"]);
    check(codec, b"1 a-1 b", &["a", "!invalid frame header at byte 3"]);
    check(codec, b"1 a 1 b", &["a", "!invalid frame header at byte 3"]);
    check(codec, b"9999999999999999999 ", &["!the frame at byte 0 is longer than 8 bytes"]);
    check(codec, b"99999999999999999999 ", &["!the header of the frame at byte 0 is longer than 19 bytes"]);
}

#[test]
fn lines_of_syslog() {
    let codec = || OctetCountingCodec::new().with_max_length(8).with_line_frames(true);
    check(codec, b"3 <1>1 a", &["<1>", "a"]);
    check(codec, b"", &[]);
    check(codec, b"<1>a\n<2>b\n", &["<1>a", "<2>b"]);
    // A digit after an LF is text, not a length.
    check(codec, b"<1>a\n99 b\n<2>", &["<1>a", "99 b", "<2>"]);
    check(
        codec,
        b"<1>456789\n<2>\n<1>45678\n",
        &["!the frame at byte 0 is longer than 8 bytes", "<2>", "<1>45678"],
    );
    check(codec, b"<1>456789", &["!the frame at byte 0 is longer than 8 bytes"]);
    // RFC 6587 section 3.4.2: a trailer is LF, NUL, or CR and LF. Other CRs are text. Empty messages are skipped.
    check(codec, b"<1>a\r\n<2>b\r\n", &["<1>a", "<2>b"]);
    check(codec, b"<1>a\0<2>b\0\n", &["<1>a", "<2>b"]);
    check(codec, b"<1>a\r\0\n\r\n<2>\rb\r", &["<1>a", "<2>\rb"]);
    check(codec, b"\n\r\n1 a\0", &["1 a"]);
    check(codec, b"\r", &[]);
    check(codec, b"<1>45678\r\n<1>45678\r", &["<1>45678", "<1>45678"]);
    check(codec, b"<1>45678\r-\0<2>\n", &["!the frame at byte 0 is longer than 8 bytes", "<2>"]);
    check(codec, b"<1>456789\r", &["!the frame at byte 0 is longer than 8 bytes"]);
}

#[test]
fn a_trailer_after_a_counted_message_is_skipped() {
    for or_lines in [false, true] {
        let codec = || {
            let codec = OctetCountingCodec::new().with_max_length(8);
            codec.with_line_frames(or_lines)
        };
        check(codec, b"1 a\n2 \nb\n", &["a", "\nb"]);
        check(codec, b"1 a\r\n1 b\r\n", &["a", "b"]);
        check(codec, b"1 a\x001 b\0\n", &["a", "b"]);
        check(codec, b"9 <1>456789\n1 b", &["!the frame at byte 0 is longer than 8 bytes", "b"]);
        check(codec, b"1 a\n 1 b", &["a", "!invalid frame header at byte 4"]);
        check(codec, b"1 a\n1", &["a", "!the frame at byte 4 is cut off"]);
        check(codec, b"1 a\n1\n", &["a", "!invalid frame header at byte 5"]);
    }
    // A stream does not start with a trailer.
    check(OctetCountingCodec::new, b"\n1 a", &["!invalid frame header at byte 0"]);
}

#[test]
fn content_length() {
    let codec = || ContentLengthCodec::new().with_max_length(6);
    check(codec, b"Content-Length: 2\r\n\r\n{}content-length:1\r\n\r\n1", &["{}", "1"]);
    check(
        codec,
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH:\t6 \r\n\r\n\"gr\xC3\xBC\"",
        &["\"gr\u{FC}\""],
    );
    check(codec, b"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1", &["", "1"]);
    check(
        codec,
        b"Content-Length: 7\r\n\r\n1234567Content-Length: 1\r\n\r\n1",
        &["!the frame at byte 0 is longer than 6 bytes", "1"],
    );
    check(codec, b"Content-Length: 2\r\n\r\n1", &["!the frame at byte 0 is cut off"]);
    check(codec, b"Content-Length: 2\r\n", &["!the frame at byte 0 is cut off"]);
    check(codec, b"Content-Length: 2\r\n\r", &["!the frame at byte 0 is cut off"]);
    check(codec, b"\r\n{}", &["!invalid frame header at byte 0"]);
    check(codec, b"A: b\r\n\r\n{}", &["!invalid frame header at byte 6"]);
    check(codec, b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n1", &["!invalid frame header at byte 19"]);
    for value in ["", "+1", "-1", "1,1", "0x1", "1 1", "99999999999999999999", "1\n"] {
        let stream = format!("A: b\r\nContent-Length: {value}\r\n\r\n1");
        check(codec, stream.as_bytes(), &["!invalid frame header at byte 6"]);
    }
    check(codec, b"{\"jsonrpc\"\r\n", &["!invalid frame header at byte 0"]);
    // Line breaks between two messages are skipped.
    let message = b"Content-Length: 2\r\n\r\n{}";
    for line_break in ["\r\n", "\n", "\r\n\r\n"] {
        let stream = [message, line_break.as_bytes(), message, line_break.as_bytes()].concat();
        check(codec, &stream, &["{}", "{}"]);
    }
    check(codec, &[message, &b" \r\n"[..]].concat(), &["{}", "!invalid frame header at byte 23"]);
    check(codec, &[b"\n", &message[..]].concat(), &["!invalid frame header at byte 0"]);
}

/// Otherwise both peers would wait.
#[test]
fn a_header_line_without_crlf_is_an_error_at_once() {
    let invalid = &["!invalid frame header at byte 0"];
    check(ContentLengthCodec::new, b"Content-Length: 2\n\n{}", invalid);
    check(ContentLengthCodec::new, b"{\"jsonrpc\":\"2.0\"}\n", invalid);
    check(ContentLengthCodec::new, b"Content-Length: 2\r\r\n\r\n{}", invalid);
    check(ContentLengthCodec::new, b"A: b\r\nC\n", &["!invalid frame header at byte 6"]);
    let mut buffer = BytesMut::from("Content-Length: 2");
    let mut codec = ContentLengthCodec::new();
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"\n");
    assert_eq!(fatal(codec.decode(&mut buffer)), FramingError::InvalidHeader { offset: 0 });
    // At the limit of a header the error is the same for every partition.
    for len in 4094..=4098 {
        for end in ["\n", "\n\n", "\r", "\r-", "\r\n", ""] {
            let stream = [&vec![b'a'; len][..], end.as_bytes(), b"more"].concat();
            let whole = decode(ContentLengthCodec::new(), &[&stream]);
            let bytes: Vec<_> = stream.chunks(1).collect();
            assert_eq!(decode(ContentLengthCodec::new(), &bytes), whole, "{len} {end:?}");
        }
    }
}

#[test]
fn a_header_may_have_4096_bytes() {
    let codec = ContentLengthCodec::new;
    let header = |len: usize| {
        let last = b"\r\nContent-Length: 1\r\n\r\n";
        [b"A: ", &*vec![b'b'; len - 3 - last.len()], last].concat()
    };
    let error = "!the header of the frame at byte 0 is longer than 4096 bytes";
    check(codec, &[&header(4096)[..], b"1"].concat(), &["1"]);
    assert_eq!(decode(codec(), &[&header(4097)]), [Err(error[1..].to_owned())]);
    // A field without an end is an error as soon as it is too long.
    let mut codec = codec();
    let mut buffer = BytesMut::from(&*vec![b'a'; 4096]);
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"a");
    assert_eq!(fatal(codec.decode(&mut buffer)), FramingError::HeaderTooLong { offset: 0, limit: 4096 });
}

#[test]
fn a_header_that_is_too_long_is_one_error_for_every_partition() {
    let codec = || ContentLengthCodec::new().with_max_length(6);
    // A header without an end is an error at the same length for every partition.
    let error = "!the header of the frame at byte 0 is longer than 4096 bytes";
    let long = [b"A: ".to_vec(), vec![b'b'; 4090], b"\r\n\r\n".to_vec()].concat();
    let chunks: Vec<_> = long.chunks(100).collect();
    for chunks in [&chunks[..], &[&long]] {
        assert_eq!(decode(codec(), chunks), [Err(error[1..].to_owned())]);
    }
    let fields = b"A: b\r\n".repeat(1000);
    assert_eq!(decode(codec(), &[&fields]), [Err(error[1..].to_owned())]);
    // The error is returned as soon as the header is too long, even inside a field.
    let mut buffer = BytesMut::from(&fields[..4092]);
    buffer.extend_from_slice(b"A: bc");
    let error_at_once = fatal(codec().decode(&mut buffer));
    assert_eq!(error_at_once, FramingError::HeaderTooLong { offset: 0, limit: 4096 });
    let chunks: Vec<_> = fields.chunks(1).collect();
    assert_eq!(decode(codec(), &chunks), [Err(error[1..].to_owned())]);
}

#[test]
fn json_sequences() {
    let codec = || JsonSequenceCodec::new().with_max_length(4);
    check(codec, b"\x1E[]\n\x1E{}\n", &["[]", "{}"]);
    check(codec, b"\x1E[\n]\n\x1E\x1E1\n\x1E", &["[\n]", "1"]);
    check(codec, b"\x1E12\x1E3\n", &["!the frame at byte 1 is cut off", "3"]);
    check(codec, b"\x1E3\n\x1E12", &["3", "!the frame at byte 4 is cut off"]);
    check(codec, b"2]\n\x1E3\n", &["!the frame at byte 0 is cut off", "3"]);
    check(codec, b"\x1E12345\n\x1E1234\n", &["!the frame at byte 1 is longer than 4 bytes", "1234"]);
    check(codec, b"\x1E123456", &["!the frame at byte 1 is longer than 4 bytes"]);
    check(codec, b"\x1E12345", &["!the frame at byte 1 is cut off"]);
    check(codec, b"", &[]);
}

/// RFC 7464 section 2.4: white space must follow a number or a literal. Other values end where they are closed.
#[test]
fn a_json_text_is_complete_without_lf_if_its_value_is() {
    let codec = || JsonSequenceCodec::new().with_max_length(9);
    check(codec, b"\x1E{}\x1Etrue\n", &["{}", "true"]);
    check(codec, b"\x1E[1]\x1E\"a\"\x1E{}", &["[1]", "\"a\"", "{}"]);
    check(codec, b"\x1E1 \x1E2\t\x1E3\r\x1E4\r\n\x1E5 ", &["1 ", "2\t", "3\r", "4\r", "5 "]);
    for cut in ["1", "true", "false", "null", "{", "[", "\"", "[\"]\"", "\"\\\"", "[{}", "{\"\":1", " "] {
        check(codec, format!("\x1E{cut}\x1E1\n").as_bytes(), &["!the frame at byte 1 is cut off", "1"]);
        check(codec, format!("\x1E{cut}").as_bytes(), &["!the frame at byte 1 is cut off"]);
    }
    for open in ["[", "[\n\n", "\"", "{\"a\":\n"] {
        check(codec, format!("\x1E{open}\n\x1E1\n").as_bytes(), &["!the frame at byte 1 is cut off", "1"]);
    }
    // Brackets and LFs in strings, and escaped quotation marks.
    check(codec, b"\x1E[\"]\\\"\n\"]\x1E\"\\\\\"\n", &["[\"]\\\"\n\"]", "\"\\\\\""]);
    check(codec, b"\x1E\n{\n}\n\x1E \n1\n", &["\n{\n}", " \n1"]);
    // The parser rejects these.
    check(codec, b"\x1E[}\x1E{} x\x1E1 2\n\x1E\n\x1E]\n", &["[}", "{} x", "1 2", "", "]"]);
    // The limit does not count the LF.
    check(codec, b"\x1E\"2345678\"\n\x1E\"2345678\"\x1E\"2345678\"", &["\"2345678\""; 3]);
    let too_long = "!the frame at byte 1 is longer than 9 bytes";
    for long in ["\"23456789\"", "\"2345678\" ", "\"23456789\"0", "123456789 "] {
        check(codec, format!("\x1E{long}\n\x1E1\n").as_bytes(), &[too_long, "1"]);
        check(codec, format!("\x1E{long}\x1E1\n").as_bytes(), &[too_long, "1"]);
        check(codec, format!("\x1E{long}").as_bytes(), &[too_long]);
    }
}

#[test]
fn a_json_text_is_returned_when_its_lf_arrives() {
    let mut codec = JsonSequenceCodec::new();
    let mut buffer = BytesMut::from("\x1E{\"a\":[1,\n2]}");
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"\n");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap(), "{\"a\":[1,\n2]}");
    let codec = JsonSequenceCodec::new;
    check(codec, b"\n \x1E1\n\r\n\t\x1E\x1E2\n", &["1", "2"]);
    // Bytes between two texts, whose RS is missing, are one error.
    check(codec, b"\x1E1\n 2\n3\n\x1E4\n", &["1", "!the frame at byte 4 is cut off", "4"]);
}

#[test]
fn the_rest_of_a_json_text_is_not_a_text_if_the_stream_resumes() {
    let mut codec = JsonSequenceCodec::new();
    let mut buffer = BytesMut::from("\x1E12");
    assert_eq!(codec.decode_eof(&mut buffer).unwrap(), Some(Err(FramingError::Truncated { offset: 1 })));
    assert_eq!(codec.decode_eof(&mut buffer).unwrap(), None);
    buffer.extend_from_slice(b"3\n\x1E4\n\x1E");
    assert_eq!(codec.decode(&mut buffer).unwrap(), Some(Err(FramingError::Truncated { offset: 3 })));
    assert_eq!(codec.decode(&mut buffer).unwrap(), Some(Ok("4".into())));
}

/// Asserts that the decoder returns the frames that the encoder wrote, also as text and for every partition.
fn round_trip<C>(codec: impl Fn() -> C, shortest: usize)
where
    C: Decoder<Item = Frame, Error = io::Error> + Encoder<Bytes, Error = io::Error>,
{
    let mut rng = Rng::new(6587);
    for _ in 0..50 {
        let texts: Vec<String> = (0..rng.below(5))
            .map(|_| {
                let parts =
                    ["a", "\u{E9}", "\u{1F980}", "\n", "\r\n", ",", "1 ", "Content-Length: 3\r\n\r\n"];
                let text: String =
                    (0..shortest + rng.below(5)).map(|_| parts[rng.below(parts.len())]).collect();
                // A text of JSON, and in the other formats of anything.
                format!("[{text}]")
            })
            .collect();
        let (mut text, mut bytes) = (Utf8FramesCodec::new(codec()), BytesMut::new());
        for part in &texts {
            text.encode(&**part, &mut bytes).unwrap();
        }
        some_partitions(&bytes, 5, |chunks| {
            let got: Vec<_> = decode(codec(), chunks).into_iter().map(Result::unwrap).collect();
            assert_eq!(got, texts);
        });
        let mut got = Vec::new();
        while let Some(item) = text.decode_eof(&mut bytes).unwrap() {
            got.push(item.unwrap().to_string());
        }
        assert_eq!(got, texts);
    }
}

#[test]
fn decoding_reverses_encoding() {
    round_trip(OctetCountingCodec::new, 1);
    round_trip(|| OctetCountingCodec::new().with_line_frames(true), 1);
    round_trip(ContentLengthCodec::new, 0);
    round_trip(JsonSequenceCodec::new, 0);
}

#[test]
fn a_frame_that_no_reader_accepts_is_not_written() {
    let mut out = BytesMut::new();
    let rejected = |error: io::Error| -> FramingError {
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.downcast().expect("an error of the framing")
    };
    let error = OctetCountingCodec::new().encode(Bytes::new(), &mut out).unwrap_err();
    assert_eq!(rejected(error), FramingError::InvalidPayload { position: 0 });
    let error = JsonSequenceCodec::new().encode(Bytes::from_static(b"12\x1E"), &mut out).unwrap_err();
    assert_eq!(rejected(error), FramingError::InvalidPayload { position: 2 });
    assert!(out.is_empty());
}

#[test]
fn an_ill_formed_frame_and_a_long_one_do_not_end_the_stream() {
    let mut codec = Utf8FramesCodec::new(OctetCountingCodec::new().with_max_length(3));
    let mut buffer = BytesMut::from(&b"1 \xFF4 long2 ok1;"[..]);
    let mut next = || codec.decode(&mut buffer);
    assert_eq!(next().unwrap().unwrap().unwrap_err().utf8_error().unwrap().offset, 0);
    assert!(matches!(
        next().unwrap().unwrap(),
        Err(Utf8FramesError::Inner(FramingError::FrameTooLong { offset: 3, limit: 3 }))
    ));
    assert_eq!(next().unwrap().unwrap().unwrap(), "ok");
    let error = next().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.get_ref().unwrap().is::<FramingError>());
}

/// The call that receives the first invalid byte returns the error.
#[test]
fn an_invalid_header_is_reported_at_once() {
    fn fails<C: Decoder<Item = Frame, Error: Debug>>(mut codec: C, good: &[u8], bad: u8) {
        let mut buffer = BytesMut::from(good);
        assert!(matches!(codec.decode(&mut buffer), Ok(None)));
        buffer.extend_from_slice(&[bad]);
        assert!(!matches!(codec.decode(&mut buffer), Ok(None | Some(Ok(_)))));
    }
    fails(OctetCountingCodec::new(), b"", b'<');
    fails(OctetCountingCodec::new(), b"", b'0');
    fails(OctetCountingCodec::new().with_max_length(9), b"10", b' ');
    fails(OctetCountingCodec::new(), b"12", b'<');
    fails(ContentLengthCodec::new(), b"\r", b'\n');
    fails(JsonSequenceCodec::new(), b"", b'[');
}

/// The announced length of a frame does not cause an allocation.
#[test]
fn memory_grows_with_the_bytes_that_arrive() {
    let mut buffer = BytesMut::from("Content-Length: 8388608\r\n\r\n");
    assert!(ContentLengthCodec::new().decode(&mut buffer).unwrap().is_none());
    assert!(buffer.capacity() < 1024, "{}", buffer.capacity());
}
