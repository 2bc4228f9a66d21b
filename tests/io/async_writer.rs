//! `Utf8Writer`: whole characters after every call, under tokio and futures-io.

use std::io;

use futures::executor::block_on;
use utf8_codec::io::Utf8Writer;
use utf8_codec::{ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};

use crate::support::Rng;
use crate::support::hostile::HostileWriter;
use crate::support::outcomes::{CRAB, check_inner_errors, check_partitions, utf8_error, whole};

/// Writes the chunks and ends the text. Returns the inner writer, and the error.
fn by_tokio_write(
    inner: HostileWriter,
    decoder: TextDecoder,
    chunks: &[&[u8]],
) -> (HostileWriter, Option<Utf8Error>) {
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
                        let error = utf8_error(&error);
                        let repeated = writer.write(b"more").await.unwrap_err();
                        assert_eq!(utf8_error(&repeated), error, "an error is returned again");
                        while writer.shutdown().await.is_err() {}
                        assert!(writer.get_ref().closed);
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
        assert!(writer.get_ref().closed);
        (writer.into_inner(), error.as_ref().map(utf8_error))
    })
}

fn by_futures_write(
    inner: HostileWriter,
    decoder: TextDecoder,
    chunks: &[&[u8]],
) -> (HostileWriter, Option<Utf8Error>) {
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
        assert!(writer.get_ref().closed);
        (writer.into_inner(), error.or(closed).as_ref().map(utf8_error))
    })
}

#[test]
fn a_writer_forwards_the_same_for_every_short_write() {
    check_partitions(by_tokio_write);
    check_partitions(by_futures_write);
}

#[test]
fn writing_continues_after_an_inner_error_at_every_operation() {
    check_inner_errors(by_tokio_write);
}

#[test]
fn flush_forwards_whole_characters_only() {
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
async fn a_dropped_write_accepts_no_bytes() {
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

/// A call that accepts no byte leaves the text as it was, even if its first byte makes the bytes before it ill-formed.
#[test]
fn bytes_that_are_not_accepted_have_no_effect() {
    use core::pin::Pin;
    use core::task::{Context, Poll, Waker};
    use tokio::io::AsyncWrite;
    let mut context = Context::from_waker(Waker::noop());
    let mut rng = Rng::new(7);
    for step in [1, 3, 100] {
        let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
        let mut writer = Utf8Writer::with_decoder(HostileWriter::new(step), replace);
        let mut accepted = Vec::new();
        for _ in 0..500 {
            // A write that is pending is dropped, and the next one has other bytes.
            let bytes = [&b"ab"[..], b"\xE2\x82", b"\xAC!", b"\xE2\x82ab", b"\xFF\xAC"][rng.below(5)];
            if let Poll::Ready(taken) = Pin::new(&mut writer).poll_write(&mut context, bytes) {
                accepted.extend_from_slice(&bytes[..taken.unwrap()]);
            }
        }
        block_on(tokio::io::AsyncWriteExt::shutdown(&mut writer)).unwrap();
        assert_eq!(whole(&writer.get_ref().written), String::from_utf8_lossy(&accepted));
    }
}
