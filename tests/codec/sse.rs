//! Server-sent events: the cases of the Web Platform Tests, a naive implementation of the standard, partitions, and
//! the encoder.

use core::time::Duration;
use std::io;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};
use utf8_codec::codec::sse::{Comment, Event, Retry};
use utf8_codec::codec::{CodecError, SseCodec};
use utf8_codec::{ErrorKind, ErrorPolicy, TextDecoder};

use crate::sse_model::{check, datas, decode, events, random_stream};
use crate::support::{Rng, every_partition, some_partitions};

#[test]
fn the_cases_of_the_web_platform_tests() {
    // eventsource/format-*.any.js and event-data.any.js. Their server appends LF LF to most messages.
    let pad = "x".repeat(2 * 1024);
    let comments = format!("data:1\r:\0\n:\r\ndata:2\n:{pad}\rdata:3\n:data:fail\r:{pad}\ndata:4\n\n");
    let cases: &[(&str, &str, &[&str])] = &[
        ("bom", "\u{FEFF}data:1\n\n\u{FEFF}data:2\n\ndata:3\n\n", &["1", "3"]),
        ("bom-2", "\u{FEFF}\u{FEFF}data:1\n\ndata:2\n\ndata:3\n\n", &["2", "3"]),
        ("comments", &comments, &["1\n2\n3\n4"]),
        ("data-before-final-empty-line", "retry:1000\ndata:test1\n\nid:test\ndata:test2", &["test1"]),
        (
            "event-data",
            "data:msg\ndata: msg\n\n:\nfalsefield:msg\n\ndata\n\ndata:end\n\n",
            &["msg\nmsg", "", "end"],
        ),
        ("field-data", "data:\n\ndata\ndata\n\ndata:test\n\n", &["", "\n", "test"]),
        ("field-event-empty", "event: \ndata:data\n\n", &["data"]),
        (
            "field-parsing",
            "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
            &["\0\n 2\n1\n3\n\n4"],
        ),
        ("field-retry-empty", "retry\ndata:test\n\n", &["test"]),
        (
            "field-unknown",
            "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n",
            &["test\n\ntest"],
        ),
        ("leading-space", "data:\ttest\rdata: \ndata:test\n\n", &["\ttest\n\ntest"]),
        ("newlines", "data:test\r\ndata\ndata:test\r\n\r", &["test\n\ntest"]),
        ("null-character", "data:\0\n\n", &["\0"]),
        ("utf-8", "data:ok\u{2026}\n\n", &["ok\u{2026}"]),
    ];
    for (name, stream, expected) in cases {
        assert_eq!(datas(stream.as_bytes()), *expected, "format-{name}");
        check(&[stream.as_bytes()]);
    }
    // field-event
    let kinds: Vec<_> =
        events(b"event:test\ndata:x\n\ndata:x\n\n").into_iter().map(|event| event.event).collect();
    assert_eq!(kinds, ["test", "message"]);
    // field-event-empty
    assert_eq!(events(b"event: \ndata:data\n\n")[0].event, "message");
    // data-before-final-empty-line: the ID of an unfinished event is not the last event ID.
    assert_eq!(events(b"retry:1000\ndata:test1\n\nid:test\ndata:test2")[0].id, None);
    // field-id-3: an ID persists, changes and resets.
    let ids = |bytes| events(bytes).into_iter().map(|event| event.id).collect::<Vec<_>>();
    assert_eq!(ids(b"id: 1\ndata: a\n\ndata: b\n\n"), [Some("1".into()), Some("1".into())]);
    assert_eq!(
        ids(b"id: 1\ndata: a\n\nid: 2\ndata: b\n\ndata: c\n\n")[1..],
        [Some("2".into()), Some("2".into())]
    );
    assert_eq!(
        ids(b"id: 1\ndata: a\n\nid:\ndata: b\n\ndata: c\n\n")[1..],
        [Some("".into()), Some("".into())]
    );
    // field-id-null
    assert_eq!(ids(b"id: 1\nid: \0\0\ndata: hello\n\n"), [Some("1".into())]);
    // field-retry, field-retry-bogus, field-retry-empty
    let retries = |bytes| events(bytes)[0].retry;
    assert_eq!(retries(b"retry:03000\ndata:x\n\n"), Some(Duration::from_secs(3)));
    assert_eq!(retries(b"retry:3000\nretry:1000x\ndata:x\n\n"), Some(Duration::from_secs(3)));
    assert_eq!(retries(b"retry\ndata:test\n\n"), None);
    assert_eq!(retries("retry:\u{0661}\ndata:test\n\n".as_bytes()), None);
}

#[test]
fn every_partition_has_the_same_events() {
    let samples: &[&[u8]] = &[
        b"data\r\n\r\ndata",
        b"\xEF\xBB\xBFdata\r\r\n",
        b"data:\xC3\xA9\r\n\n",
        b"id:1\r\rdata\n\n",
        b":\r\ndata\n\r\n\r",
        b"data\xE2\x82\r\n\r\n",
        b"\r\n\xEF\xBB\xBFdata\n\n",
        b"retry:1\n\r\n",
    ];
    for sample in samples {
        every_partition(sample, check);
    }
    let mut rng = Rng::new(17);
    for _ in 0..400 {
        let stream = random_stream(&mut rng, 40);
        some_partitions(&stream, 3, check);
    }
}

#[test]
fn a_cr_ends_an_event_without_the_next_byte() {
    let (mut codec, mut buffer) = (SseCodec::new(), BytesMut::from("data: a\r\n\r"));
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap().data, "a");
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"\ndata: b\n\r");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap().data, "b");
}

/// If the source resumes after its end, the event before the end is not continued.
#[test]
fn an_error_at_the_end_ends_the_event() {
    let ends: [&[u8]; 5] = [
        b"id: 1\ndata: a\n: \xFF\n",
        b"id: 1\ndata: \xFF\n",
        b"data: a\n\xFF",
        b"data: more than 16 bytes\n",
        b"data: more than 16 bytes",
    ];
    for end in ends {
        let mut codec =
            SseCodec::with_decoder(TextDecoder::new()).with_max_event_length(16).with_max_line_length(40);
        let mut buffer = BytesMut::from(end);
        let error = codec.decode_eof(&mut buffer).unwrap().map(Result::unwrap_err);
        assert_eq!(error.is_none(), end == b"data: more than 16 bytes");
        assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
        assert!(buffer.is_empty());
        buffer.extend_from_slice(b"data: b\n\n");
        let event = codec.decode(&mut buffer).unwrap().unwrap().map(|event| (event.data, event.id));
        assert_eq!(event, Ok(("b".into(), None)), "{}", end.escape_ascii());
    }
}

#[test]
fn a_restart_resets_the_offset_and_the_counters() {
    let mut used = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    assert_eq!(used.feed(b"\xFFa").count(), 2);
    let mut codec = SseCodec::with_decoder(used);
    assert_eq!((codec.offset(), codec.counters().total()), (2, 1));
    codec.restart();
    assert_eq!((codec.offset(), codec.counters().total()), (0, 0));
}

#[test]
fn an_id_is_kept_when_its_event_ends() {
    let (mut codec, mut buffer) = (SseCodec::new(), BytesMut::from("id: 1\ndata: a\n"));
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    assert_eq!(codec.last_event_id(), None);
    buffer.extend_from_slice(b"\nid: 2\nretry: 5\n\nid: 3\n");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap().id.as_deref(), Some("1"));
    assert!(codec.decode(&mut buffer).unwrap().is_none());
    assert_eq!(codec.last_event_id(), Some("2"), "the event without data has ended");
    assert_eq!(codec.retry(), Some(Duration::from_millis(5)));
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    assert_eq!(codec.last_event_id(), Some("2"), "the event was cut off");
    buffer.extend_from_slice(b"data: cut off");
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"data: a\n");
    assert!(codec.decode_eof(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(b"\ndata: b\n\n");
    assert_eq!(
        codec.decode(&mut buffer).unwrap().unwrap().unwrap().data,
        "b",
        "the event before the end was discarded"
    );

    codec.restart();
    assert_eq!((codec.offset(), codec.last_event_id()), (0, Some("2")));
    let after: Vec<_> =
        decode(&mut codec, &[b"\xEF\xBB\xBFdata: b\n\n"]).into_iter().map(Result::unwrap).collect();
    assert_eq!((&*after[0].data, after[0].id.as_deref(), after[0].retry), ("b", Some("2"), None));
    assert_eq!(codec.retry(), Some(Duration::from_millis(5)));
}

#[test]
fn the_last_event_may_end_without_an_empty_line() {
    let new = || SseCodec::new().with_dispatch_at_end(true);
    for (stream, expected) in [
        (&b"data: a\n\ndata: {}\n"[..], &["a", "{}"][..]),
        (b"data: a\n\ndata: {}", &["a", "{}"]),
        (b"data: a\r\n\r\ndata: b\r\ndata: c\r", &["a", "b\nc"]),
        (b"data: a\n\n", &["a"]),
        (b"data: a\n\n\n: comment", &["a"]),
        (b"data: a\n: comment", &["a"]),
        (b"data: a\nid: 1\n\nid: 2", &["a"]),
        (b"\xEF\xBB\xBFdata: \xC3\xA9\xE2\x82", &["\u{E9}\u{FFFD}"]),
        (b"\xEF\xBB\xBF", &[]),
        (b"data", &[""]),
        (b"event: e", &[]),
        (b"", &[]),
    ] {
        some_partitions(stream, 30, |chunks| {
            let got: Vec<_> =
                decode(&mut new(), chunks).into_iter().map(|event| event.unwrap().data).collect();
            assert_eq!(got, expected, "{chunks:02X?}");
        });
    }
    // The fields of the last event take effect, and the end of the stream ends it.
    let mut codec = new();
    let event = decode(&mut codec, &[b"event: e\ndata: a\nid: 7\nretry: 5"]).remove(0).unwrap();
    assert_eq!((&*event.event, event.id.as_deref()), ("e", Some("7")));
    assert_eq!((codec.last_event_id(), event.retry), (Some("7"), Some(Duration::from_millis(5))));
    let mut rest = BytesMut::from("data: b\n\n");
    assert_eq!(codec.decode(&mut rest).unwrap().unwrap().unwrap().data, "b");

    // An error in the last event discards it. An error in a comment does not, but a source that resumes ends it.
    let strict =
        || SseCodec::with_decoder(TextDecoder::new()).with_dispatch_at_end(true).with_max_event_length(6);
    for (stream, shown) in [
        (&b"data: a\ndata: b\xFF"[..], &["!"][..]),
        (b"data: a\ndata: b\xE2\x82", &["!"]),
        (b"data: 1234567", &["!"]),
        (b"data: 12\ndata: 3456\n", &["!"]),
        (b"data: a\n: \xFF", &["!", "a"]),
        (b"data: a\n: \xFF\n", &["!", "a"]),
    ] {
        some_partitions(stream, 30, |chunks| {
            let got = decode(&mut strict(), chunks);
            let got: Vec<_> = got.iter().map(|item| item.as_ref().map_or("!", |event| &event.data)).collect();
            assert_eq!(got, shown, "{chunks:02X?}");
        });
        let (mut codec, mut buffer) = (strict(), BytesMut::from(stream));
        assert!(codec.decode_eof(&mut buffer).unwrap().unwrap().is_err());
        while codec.decode_eof(&mut buffer).unwrap().is_some() {}
        buffer.extend_from_slice(b"data: b\n\n");
        assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().unwrap().data, "b");
    }
}

#[test]
fn a_comment_of_any_length_is_not_an_error() {
    let mut stream = b"data: a\n:".to_vec();
    stream.resize(9 << 20, b' ');
    stream.extend_from_slice(b"\ndata: b\n\n");
    assert_eq!(datas(&stream), ["a\nb"]);
    let mut codec = SseCodec::new();
    let chunks: Vec<_> = stream.chunks(1000).collect();
    assert_eq!(decode(&mut codec, &chunks).len(), 1);
}

#[test]
fn a_comment_after_a_bom_is_a_comment() {
    for limit in [0, 2, 3, 8] {
        let stream = b"\xEF\xBB\xBF: \xFF longer than a line\nid: 1\n\n";
        some_partitions(stream, 50, |chunks| {
            let text = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
            let got = decode(&mut SseCodec::with_decoder(text).with_max_line_length(limit), chunks);
            let expected = usize::from(limit < 5);
            assert_eq!(got.len(), expected, "only the ID is too long: {got:?}");
        });
    }
    let stream = b"\xEF\xBB\xBF: \xFF\ndata: a\n\n";
    let got = decode(&mut SseCodec::with_decoder(TextDecoder::new()), &[stream]);
    assert_eq!(got.len(), 2, "the error does not discard the event: {got:?}");
    assert_eq!(got[1].as_ref().map(|event| &*event.data), Ok("a"));
    // In a later line it is part of the name of a field.
    let stream = b"data: a\n\xEF\xBB\xBF: longer than a line\n\n";
    let got = decode(&mut SseCodec::new().with_max_line_length(8), &[stream]);
    assert!(got[0].is_err(), "the line is too long: {got:?}");
}

#[test]
fn an_ill_formed_line_discards_its_event_only_if_strict() {
    let stream =
        b"data: a\xFF\n\ndata: b\ndata: \xE2\x82\nid: 3\n\n: \xFF\ndata: c\n: \xFF\n\ndata: cut \xE2";
    assert_eq!(datas(stream), ["a\u{FFFD}", "b\n\u{FFFD}", "c"]);
    some_partitions(stream, 100, |chunks| {
        let mut codec = SseCodec::with_decoder(TextDecoder::new());
        let got = decode(&mut codec, chunks);
        let expected = [
            Err("line 1, column 8: ill-formed UTF-8 at byte 7 (InvalidLead, 1 byte)"),
            Err("line 4, column 7: ill-formed UTF-8 at byte 24 (MissingContinuation, 2 bytes)"),
            Err("line 7, column 3: ill-formed UTF-8 at byte 36 (InvalidLead, 1 byte)"),
            Err("line 9, column 3: ill-formed UTF-8 at byte 48 (InvalidLead, 1 byte)"),
            Ok("c"),
            Err("line 11, column 11: ill-formed UTF-8 at byte 61 (Truncated, 1 byte)"),
        ];
        let got: Vec<_> = got
            .iter()
            .map(|item| item.as_ref().map(|event| &*event.data).map_err(|error| &**error))
            .collect();
        assert_eq!(got, expected, "{chunks:?}");
        assert_eq!(codec.last_event_id(), Some("3"));
        assert_eq!(codec.counters().of(ErrorKind::InvalidLead), 3);
    });
}

#[test]
fn the_data_of_one_line_is_a_slice_of_the_buffer() {
    // The first line of a stream may start with a BOM, so it is copied.
    let mut buffer = BytesMut::from("\ndata: text\nid: 1\n\n");
    let memory = buffer.as_ptr_range();
    let text = buffer[7..].as_ptr();
    let event = SseCodec::new().decode(&mut buffer).unwrap().unwrap().unwrap();
    assert_eq!(event.data.as_ptr(), text);
    // The codec keeps the ID, which must not keep the memory of the buffer.
    assert!(!memory.contains(&event.id.unwrap().as_ptr()));
}

#[test]
fn decoding_reverses_encoding() {
    let mut rng = Rng::new(5);
    let text = |rng: &mut Rng| {
        let parts = ["", "a", " ", ":", "data", "\u{E9}", "\u{2028}", "\u{FEFF}", "\0", "event: x"];
        (0..rng.below(5)).map(|_| parts[rng.below(parts.len())]).collect::<String>()
    };
    for _ in 0..300 {
        let (mut codec, mut bytes) = (SseCodec::new(), BytesMut::new());
        let (mut expected, mut id, mut retry) = (Vec::new(), None, None);
        for _ in 0..rng.below(6) {
            let lines: Vec<_> = (0..1 + rng.below(3)).map(|_| text(&mut rng)).collect();
            let mut event =
                Event::new(lines.join(["\n", "\r", "\r\n"][rng.below(3)])).with_event(text(&mut rng));
            if rng.below(2) == 0 {
                event = event.with_id(text(&mut rng).replace('\0', ""));
            }
            if rng.below(3) == 0 {
                event = event.with_retry(Duration::from_millis(rng.next()));
            }
            match rng.below(4) {
                0 => codec.encode(Comment("keep-alive\r\ndata: no\n\n"), &mut bytes).unwrap(),
                1 => {
                    retry = Some(Duration::from_millis(rng.next()));
                    codec.encode(Retry(retry.unwrap()), &mut bytes).unwrap();
                }
                _ => {}
            }
            codec.encode(&event, &mut bytes).unwrap();
            // The reader returns LF for every terminator, the last ID, and a reconnection time that preceded the event.
            event.data = lines.join("\n").into();
            id = event.id.or(id);
            event.id = id.clone();
            event.retry = event.retry.or(retry.take());
            expected.push(event);
        }
        let got: Vec<_> = decode(&mut codec, &[&bytes]).into_iter().map(Result::unwrap).collect();
        assert_eq!(got, expected);
        check(&[&bytes]);
    }
}

#[test]
fn a_field_that_a_reader_would_misread_is_not_written() {
    let error = |event: Event| match event.to_bytes() {
        Err(CodecError::InvalidField { field, position }) => (field, position),
        other => panic!("{other:?}"),
    };
    assert_eq!(error(Event::new("").with_event("a\nb")), ("event", 1));
    assert_eq!(error(Event::new("").with_event("ab\r")), ("event", 2));
    assert_eq!(error(Event::new("").with_id("\n")), ("id", 0));
    assert_eq!(error(Event::new("").with_id("1\r")), ("id", 1));
    assert_eq!(error(Event::new("").with_id("12\0")), ("id", 2));

    let (mut codec, mut bytes) = (SseCodec::new(), BytesMut::from("data"));
    let error = codec.encode(Event::new("a").with_id("\0"), &mut bytes).unwrap_err();
    assert_eq!(error.to_string(), "line terminator or NUL in the field `id` at byte 0");
    assert_eq!(&bytes[..], b"data", "nothing is written");

    let mut written = |write: &mut dyn FnMut(&mut SseCodec, &mut BytesMut) -> io::Result<()>| {
        let mut bytes = BytesMut::new();
        write(&mut codec, &mut bytes).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    assert_eq!(written(&mut |codec, out| codec.encode(Event::new(""), out)), "data: \n\n");
    assert_eq!(written(&mut |codec, out| codec.encode(Event::new("a\r\n"), out)), "data: a\ndata: \n\n");
    assert_eq!(written(&mut |codec, out| codec.encode(Event::new("").with_id(""), out)), "id: \ndata: \n\n");
    assert_eq!(written(&mut |codec, out| codec.encode(Comment("a\nb"), out)), ": a\n: b\n\n");
    assert_eq!(
        written(&mut |codec, out| codec.encode(Retry(Duration::from_secs(1)), out)),
        "retry: 1000\n\n"
    );
    assert_eq!(Comment("a").to_bytes(), ": a\n\n");
    assert_eq!(Retry(Duration::from_secs(1)).to_bytes(), "retry: 1000\n\n");
}
