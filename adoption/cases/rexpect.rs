use std::io::Cursor;

use rexpect::reader::{NBReader, Options, ReadUntil};

fn reader(output: &'static [u8]) -> NBReader {
    NBReader::new(Cursor::new(output), Options::new().timeout_ms(Some(5000)))
}

#[test]
fn text_is_read_as_utf_8() {
    let (_, all) = reader("naïve 日本語\n".as_bytes()).read_until(&ReadUntil::EOF).unwrap();
    assert_eq!(all, "naïve 日本語\n");
}

#[test]
fn ill_formed_bytes_are_replaced() {
    let (_, all) = reader(b"a\xFFb\xE2\x82").read_until(&ReadUntil::EOF).unwrap();
    assert_eq!(all, "a\u{FFFD}b\u{FFFD}");
}

#[test]
fn a_number_of_bytes_does_not_end_inside_a_character() {
    let (_, bytes) = reader("aé".as_bytes()).read_until(&ReadUntil::NBytes(2)).unwrap();
    assert_eq!(bytes, "a");
}
