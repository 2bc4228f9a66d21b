//! `Utf8Writer`: whole characters after every call, under tokio and futures-io.
#![allow(missing_docs)]

mod support;

use std::io;

use futures::executor::block_on;
use support::hostile::HostileWriter;
use support::outcomes::{CRAB, Outcome, check_written, outcomes_under, strict_outcomes, utf8_error, whole};
use utf8_codec::io::Utf8Writer;
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder};

/// Writes the chunks and ends the text. Returns the bytes in the inner writer, and the error.
fn by_tokio_write(
    inner: HostileWriter,
    decoder: TextDecoder,
    chunks: &[&[u8]],
) -> (HostileWriter, Option<io::Error>) {
    use tokio::io::AsyncWriteExt;
    block_on(async {
        let mut writer = Utf8Writer::with_decoder(inner, decoder);
        for chunk in chunks {
            let mut rest = *chunk;
            while !rest.is_empty() {
                match writer.write(rest).await {
                    Ok(taken) => rest = &rest[taken..],
                    Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                    Err(error) => {
                        let again = writer.write(b"more").await.unwrap_err();
                        assert_eq!(utf8_error(&again), utf8_error(&error), "an error is returned again");
                        while writer.shutdown().await.is_err() {}
                        return (writer.into_inner(), Some(error));
                    }
                }
                assert!(writer.decoder().pending().len() <= 3);
            }
        }
        let mut error = writer.shutdown().await.err();
        while error.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            error = writer.shutdown().await.err();
        }
        assert!(writer.shutdown().await.is_ok(), "reported once");
        let after = writer.write(b"more").await.unwrap_err();
        assert_eq!(after.kind(), io::ErrorKind::BrokenPipe);
        (writer.into_inner(), error)
    })
}

fn by_futures_write(
    inner: HostileWriter,
    decoder: TextDecoder,
    chunks: &[&[u8]],
) -> (HostileWriter, Option<io::Error>) {
    use futures::io::AsyncWriteExt;
    block_on(async {
        let mut writer = Utf8Writer::with_decoder(inner, decoder);
        let mut error = None;
        for chunk in chunks {
            if let Err(failed) = writer.write_all(chunk).await {
                error = Some(failed);
                break;
            }
        }
        let closed = writer.close().await.err();
        (writer.into_inner(), error.or(closed))
    })
}

fn check_writer(chunks: &[&[u8]], decoder: TextDecoder, expected: &Outcome) {
    for at_most in [1, 2, 3, usize::MAX] {
        for by in [by_tokio_write, by_futures_write] {
            let (inner, error) = by(HostileWriter::new(at_most), decoder, chunks);
            check_written(&inner, &expected.0, at_most == usize::MAX);
            assert_eq!(error.as_ref().map(utf8_error), expected.1, "{at_most} {chunks:02X?}");
            assert!(inner.closed);
        }
    }
}

#[test]
fn a_writer_forwards_the_same_for_every_partition_and_every_short_write() {
    strict_outcomes(150, 0, |chunks, _, expected| check_writer(chunks, TextDecoder::new(), expected));
    for policy in [ErrorPolicy::Replace, ErrorPolicy::Escape, ErrorPolicy::Skip] {
        let decoder = TextDecoder::new().on_error(policy).bom(BomPolicy::Strip);
        outcomes_under(decoder, 40, |chunks, decoder, _, expected| check_writer(chunks, decoder, expected));
    }
}

#[test]
fn writing_continues_after_an_inner_error_at_every_operation() {
    let chunks: Vec<_> = CRAB.as_bytes().chunks(2).collect();
    for at_most in [1, 3] {
        for operation in 0..16 {
            let inner = HostileWriter::new(at_most).fails_at(operation);
            let (inner, error) = by_tokio_write(inner, TextDecoder::new(), &chunks);
            assert_eq!(whole(&inner.written), CRAB, "{operation}");
            assert!(error.is_none() && inner.closed);
        }
    }
}

#[test]
fn flush_forwards_whole_characters_and_shutdown_reports_a_truncated_one() {
    use tokio::io::AsyncWriteExt;
    block_on(async {
        let mut writer = Utf8Writer::new(HostileWriter::new(1));
        writer.write_all(b"ab\xE2\x82").await.unwrap();
        writer.flush().await.unwrap();
        assert_eq!(writer.get_ref().written, b"ab");
        assert_eq!(writer.get_ref().flushes, 1);
        assert_eq!(writer.decoder().pending(), b"\xE2\x82");
        let error = utf8_error(&writer.shutdown().await.unwrap_err());
        assert_eq!((error.offset, error.kind, error.len), (2, ErrorKind::Truncated, 2));
        assert!(writer.get_ref().closed, "the inner writer was shut down too");
    });
}

#[tokio::test]
async fn a_write_that_select_drops_at_any_await_point_accepts_no_bytes() {
    use tokio::io::AsyncWriteExt;
    for yields in 0..3 {
        let mut writer = Utf8Writer::new(HostileWriter::new(2));
        let mut rest = CRAB.as_bytes();
        while !rest.is_empty() {
            let timeout = async {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                taken = writer.write(&rest[..rest.len().min(5)]) => rest = &rest[taken.unwrap()..],
                () = timeout => {}
            }
        }
        writer.shutdown().await.unwrap();
        assert_eq!(whole(&writer.get_ref().written), CRAB);
    }
}
