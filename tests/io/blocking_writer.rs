//! `Utf8Writer` with the traits of std: whole characters after every call, and nothing is lost when a call is interrupted,
//! would block or fails.

use std::io::{self, ErrorKind, Write};

use utf8_codec::io::Utf8Writer;
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Error};

use crate::support::hostile::{HostileWriter, again};
use crate::support::outcomes::{check_inner_errors, check_partitions, utf8_error};

/// Writes the chunks and ends the text. Returns the inner writer, and the error.
fn by_write(
    inner: HostileWriter,
    decoder: TextDecoder,
    chunks: &[&[u8]],
) -> (HostileWriter, Option<Utf8Error>) {
    let mut writer = Utf8Writer::with_decoder(inner, decoder);
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            match again(|| writer.write(rest)) {
                Ok(taken) => rest = &rest[taken..],
                Err(error) => {
                    let error = utf8_error(&error);
                    let repeated = writer.write(b"more").unwrap_err();
                    assert_eq!(utf8_error(&repeated), error, "an error is returned again");
                    again(|| writer.finish()).expect("the error was reported");
                    assert_eq!(writer.get_ref().flushes, 1);
                    return (writer.into_inner(), Some(error));
                }
            }
            assert!(writer.decoder().pending().len() <= 3);
        }
    }
    let error = again(|| writer.finish()).err();
    assert!(writer.finish().is_ok(), "reported once");
    assert_eq!(writer.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(writer.get_ref().flushes, 1);
    (writer.into_inner(), error.as_ref().map(utf8_error))
}

#[test]
fn a_writer_forwards_the_same_for_every_short_write() {
    check_partitions(by_write);
}

#[test]
fn writing_continues_after_an_inner_error_at_every_operation() {
    check_inner_errors(by_write);
}

#[test]
fn write_all_and_flush_forward_whole_characters_only() {
    let mut writer = Utf8Writer::new(Vec::new());
    writer.write_all(b"ab\xE2\x82").unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.get_ref(), b"ab");
    assert_eq!(writer.decoder().pending(), b"\xE2\x82");
    let error = utf8_error(&writer.finish().unwrap_err());
    assert_eq!((error.offset, error.kind, error.len), (2, utf8_codec::ErrorKind::Truncated, 2));
    assert!(writer.finish().is_ok());
}

#[test]
fn an_unfinished_character_is_accepted_with_its_text() {
    let mut writer = Utf8Writer::new(Vec::new());
    assert_eq!(writer.write(b"ab\xE2\x82").unwrap(), 4);
    assert_eq!((writer.get_ref().as_slice(), writer.decoder().pending()), (&b"ab"[..], &b"\xE2\x82"[..]));
}

/// A writer that returns 0, or more than the length of the buffer.
struct BadWriter(usize);

impl Write for BadWriter {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Ok(self.0)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_invalid_length_does_not_hang_or_panic() {
    let mut writer = Utf8Writer::new(BadWriter(0));
    assert_eq!(writer.write_all("\u{20AC}".as_bytes()).unwrap_err().kind(), ErrorKind::WriteZero);
    let mut writer =
        Utf8Writer::with_decoder(BadWriter(0), TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    writer.write_all(b"\xE2").unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::WriteZero);
    let mut writer =
        Utf8Writer::with_decoder(BadWriter(9), TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    writer.write_all(b"a\xFF\xE2").unwrap();
    writer.finish().unwrap();
}
