use std::io::BufReader;

use quick_xml::encoding::DecodingReader;
use quick_xml::events::Event;
use quick_xml::reader::Reader;

const XML: &[u8] = b"<a>text</a><b>caf\xE9</b>";

/// Returns the number of events before the error, and the error.
fn read(capacity: usize) -> (usize, String) {
    let input = DecodingReader::new(BufReader::with_capacity(capacity, XML));
    let mut reader = Reader::from_reader(input);
    let mut buffer = Vec::new();
    for events in 0.. {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) => panic!("no error"),
            Ok(_) => {}
            Err(error) => return (events, error.to_string()),
        }
    }
    unreachable!()
}

#[test]
fn the_events_before_an_ill_formed_byte_are_the_same_for_every_buffer_size() {
    for capacity in [1, 7, 8192] {
        assert_eq!(read(capacity).0, 4, "<a>, text, </a> and <b>, with reads of {capacity} bytes");
    }
}

#[test]
fn the_error_has_its_offset() {
    let (_, error) = read(8192);
    assert!(error.contains("byte 17"), "{error}");
}
