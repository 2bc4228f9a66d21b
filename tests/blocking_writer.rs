//! `Utf8Writer` with the traits of std: whole characters after every call, and nothing is lost when a call is interrupted,
//! would block or fails.
#![cfg(feature = "std")]
#![allow(missing_docs)]

mod support;

use std::io::{self, ErrorKind, Write};

use support::hostile::{HostileWriter, again};
use support::outcomes::{CRAB, Outcome, check_written, outcomes_under, strict_outcomes, utf8_error, whole};
use support::policies;
use utf8_codec::io::Utf8Writer;
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder, Utf8Error};

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
                    return (writer.into_inner(), Some(error));
                }
            }
            assert!(writer.decoder().pending().len() <= 3);
        }
    }
    let error = again(|| writer.finish()).err();
    assert!(writer.finish().is_ok(), "reported once");
    assert_eq!(writer.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
    (writer.into_inner(), error.as_ref().map(utf8_error))
}

fn check_writer(chunks: &[&[u8]], decoder: TextDecoder, expected: &Outcome) {
    for at_most in [1, 2, 3, usize::MAX] {
        let (inner, error) = by_write(HostileWriter::new(at_most), decoder, chunks);
        check_written(&inner, &expected.0, at_most == usize::MAX);
        assert_eq!((error, inner.flushes), (expected.1, 1), "{at_most} {chunks:02X?}");
    }
}

#[test]
fn a_writer_forwards_the_same_for_every_partition_and_every_short_write() {
    strict_outcomes(150, 0, |chunks, _, expected| check_writer(chunks, TextDecoder::new(), expected));
    for policy in policies() {
        let decoder = TextDecoder::new().on_error(policy).bom(BomPolicy::Strip);
        outcomes_under(decoder, 20, |chunks, decoder, _, expected| check_writer(chunks, decoder, expected));
    }
}

#[test]
fn writing_continues_after_an_inner_error_at_every_operation() {
    let chunks: Vec<_> = CRAB.as_bytes().chunks(2).collect();
    for at_most in [1, 3] {
        for operation in 0..16 {
            let inner = HostileWriter::new(at_most).fails_at(operation);
            let (inner, error) = by_write(inner, TextDecoder::new(), &chunks);
            assert_eq!((whole(&inner.written), error), (CRAB, None), "{operation}");
        }
    }
}

#[test]
fn write_all_and_flush_forward_whole_characters_and_finish_reports_a_truncated_one() {
    let mut writer = Utf8Writer::new(Vec::new());
    writer.write_all(b"ab\xE2\x82").unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.get_ref(), b"ab");
    assert_eq!(writer.decoder().pending(), b"\xE2\x82");
    let error = utf8_error(&writer.finish().unwrap_err());
    assert_eq!((error.offset, error.kind, error.len), (2, utf8_codec::ErrorKind::Truncated, 2));
    assert!(writer.finish().is_ok());
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
fn a_writer_that_returns_an_invalid_length_does_not_hang_or_panic() {
    let mut writer = Utf8Writer::new(BadWriter(0));
    assert_eq!(writer.write_all("\u{20AC}".as_bytes()).unwrap_err().kind(), ErrorKind::WriteZero);
    let mut writer =
        Utf8Writer::with_decoder(BadWriter(0), TextDecoder::new().on_error(ErrorPolicy::Replace));
    writer.write_all(b"\xE2").unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::WriteZero);
    let mut writer =
        Utf8Writer::with_decoder(BadWriter(9), TextDecoder::new().on_error(ErrorPolicy::Replace));
    writer.write_all(b"a\xFF\xE2").unwrap();
    writer.finish().unwrap();
}
