//! Server-sent events: the limits of a line, an event and an ID.

use utf8_codec::codec::SseCodec;

use crate::sse_model::{decode, events};
use crate::support::some_partitions;

#[test]
fn limits_discard_one_event_for_every_partition() {
    let stream = b"data: 1\n\nid: 7\ndata: 12345\ndata: 6\nevent: e\n\ndata: 2\n\nevent: 1234567\ndata\n\n\
        data: a line that is too long\ndata: 3\nid: 8\n\n: a comment that is too long\ndata: 4\n\ndata: 12345\n\n\
        event: 12\ndata: 1234\n\ndata: 56\n\ndata: 12\ndata: 345\n\ndata: 123\ndata: 456\n\nevent: 12\ndata: 12345\n\n";
    let expected = [
        Ok("1"),
        Err("event at line 3, byte 9, or its ID, is longer than 6 bytes"),
        Ok("2"),
        Err("event at line 10, byte 54, or its ID, is longer than 6 bytes"),
        Err("line 13 at byte 75 is longer than 16 bytes"),
        Ok("4"),
        Ok("12345"),
        Ok("1234"),
        Ok("56"),
        Ok("12\n345"),
        Err("event at line 30, byte 223, or its ID, is longer than 6 bytes"),
        Err("event at line 33, byte 244, or its ID, is longer than 6 bytes"),
    ];
    some_partitions(stream, 200, |chunks| {
        let mut codec = SseCodec::new().with_max_event_length(6).with_max_line_length(16);
        let got = decode(&mut codec, chunks);
        let got: Vec<_> = got
            .iter()
            .map(|item| item.as_ref().map(|event| &*event.data).map_err(|error| &**error))
            .collect();
        assert_eq!(got, expected, "{chunks:?}");
        assert_eq!(codec.last_event_id(), Some("8"), "the fields of a discarded event count");
    });
}

#[test]
fn the_limit_of_a_line_applies_to_data_of_an_event() {
    some_partitions(b"data: 1\n\ndata: 23\n\ndata: 4\n\n", 200, |chunks| {
        let too_long = "line 3 at byte 9 is longer than 7 bytes".to_owned();
        let expected = [Ok("1".to_owned()), Err(too_long), Ok("4".to_owned())];
        let got = decode(&mut SseCodec::new().with_max_line_length(7), chunks);
        let got: Vec<_> = got.into_iter().map(|item| item.map(|event| event.data.to_string())).collect();
        assert_eq!(got, expected, "{chunks:?}");
    });
    some_partitions(b"data: 1\n\ndata: 2345678\n\ndata: 9\n\n", 200, |chunks| {
        let got = decode(&mut SseCodec::new().with_max_event_length(6), chunks);
        assert_eq!(
            got[1],
            Err("event at line 3, byte 9, or its ID, is longer than 6 bytes".to_owned()),
            "{chunks:?}"
        );
        assert!(matches!(&got[2..], [Ok(event)] if event.data == "9"), "{chunks:?}");
    });
    // An LF between two lines counts.
    for stream in [&b"data: 1\ndata: 2\ndata: 3\n\n"[..], b"data: 1\ndata\ndata: 23\n\n"] {
        assert!(decode(&mut SseCodec::new().with_max_event_length(5), &[stream])[0].is_ok());
        assert!(decode(&mut SseCodec::new().with_max_event_length(4), &[stream])[0].is_err());
    }
}

const MIB: usize = 1024 * 1024;

/// Whether an event with a `data` line of `length` bytes is returned.
fn fits(mut codec: SseCodec, length: usize) -> bool {
    let stream = format!("data:{}\n\ndata: end\n\n", "a".repeat(length - "data:".len()));
    let got = decode(&mut codec, &[stream.as_bytes()]);
    assert!(matches!(&got[..], [_, Ok(end)] if end.data == "end"), "{length}");
    got[0].is_ok()
}

#[test]
fn a_line_and_an_event_have_at_most_8_mib_by_default() {
    assert!(fits(SseCodec::new(), 8 * MIB));
    assert!(!fits(SseCodec::new(), 8 * MIB + 1));
    let lines = format!("data: {}\n", "a".repeat(4 * MIB));
    let event = |rest: &str| decode(&mut SseCodec::new(), &[(lines.clone() + rest).as_bytes()]).remove(0);
    assert!(event(&format!("data: {}\n\n", "b".repeat(4 * MIB - 1))).is_ok());
    assert!(event(&format!("data: {}\n\n", "b".repeat(4 * MIB))).is_err());
}

#[test]
fn a_limit_above_the_default_raises_the_one_that_is_not_set() {
    let new = SseCodec::new;
    for codec in [new().with_max_line_length(9 * MIB), new().with_max_event_length(9 * MIB - "data:".len())] {
        assert!(fits(codec.clone(), 9 * MIB));
        assert!(!fits(codec, 9 * MIB + 1));
    }
    assert!(fits(new().with_max_line_length(usize::MAX), 20 * MIB));
    // A limit that is set is not changed, in any order.
    assert!(!fits(new().with_max_event_length(6).with_max_line_length(9 * MIB), 12));
    assert!(!fits(new().with_max_line_length(9 * MIB).with_max_event_length(6), 12));
    assert!(!fits(new().with_max_line_length(12).with_max_event_length(9 * MIB), 13));
    assert!(fits(new().with_max_line_length(9 * MIB).with_max_line_length(12), 12));
}

#[test]
fn an_id_above_its_limit_is_an_error_for_its_event() {
    let id = |length| format!("id: 1\ndata: a\n\nid: {}\ndata: b\n\ndata: c\n\n", "i".repeat(length));
    let stream = id(SseCodec::MAX_ID_LENGTH);
    assert_eq!(events(stream.as_bytes())[1].id.as_deref().map(str::len), Some(65_536));
    let stream = id(SseCodec::MAX_ID_LENGTH + 1);
    for chunks in [&[stream.as_bytes()][..], &stream.as_bytes().chunks(1000).collect::<Vec<_>>()] {
        let mut codec = SseCodec::new();
        let got = decode(&mut codec, chunks);
        assert_eq!(got[1], Err("event at line 4, byte 15, or its ID, is longer than 65536 bytes".to_owned()));
        assert!(matches!(&got[2..], [Ok(event)] if event.id.as_deref() == Some("1")));
    }
}

#[test]
fn the_limit_of_an_event_applies_to_a_type_after_the_data() {
    let results = |stream: &[u8]| -> Vec<_> {
        let got = decode(&mut SseCodec::new().with_max_event_length(6), &[stream]);
        got.into_iter().map(|item| item.map(|event| event.data.to_string())).collect()
    };
    let too_long = "event at line 1, byte 0, or its ID, is longer than 6 bytes".to_owned();
    assert_eq!(results(b"data: 123\nevent: 456\n\n"), [Ok("123".to_owned())]);
    assert_eq!(results(b"data: 123\nevent: 4567\n\n"), [Err(too_long.clone())]);
    assert_eq!(results(b"data: 123456\nevent: 7\n\n"), [Err(too_long.clone())]);
    // The event is already discarded.
    assert_eq!(results(b"data: 1234567\nevent: 1234567\ndata: 1234567\n\n"), [Err(too_long)]);
}
