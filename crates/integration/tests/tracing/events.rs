//! There is one event for each ill-formed sequence, and no event contains payload.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::io;
use std::sync::{Arc, Mutex};

use bytes::BytesMut;
use tokio_util::codec::Decoder;
use utf8_codec::codec::{Utf8Codec, Utf8LinesCodec};
use utf8_codec::io::Utf8Writer;
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the log of `run` at `level` and above.
pub(crate) fn log_of(level: tracing_subscriber::filter::LevelFilter, run: impl FnOnce()) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, run);
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn drain<C: Decoder<Error = io::Error>>(mut codec: C, input: &[u8]) {
    let mut buffer = BytesMut::from(input);
    while !matches!(codec.decode_eof(&mut buffer), Ok(None)) {}
}

const INPUT: &[u8] = b"geheim\xFFwort\n\xE2\x82";

#[test]
fn an_ill_formed_sequence_is_one_debug_event() {
    let level = tracing_subscriber::filter::LevelFilter::DEBUG;
    let expected = [
        r#"DEBUG utf8_codec::text: ill-formed offset=6 kind="InvalidLead" len=1"#,
        r#"DEBUG utf8_codec::text: ill-formed offset=12 kind="Truncated" len=2"#,
    ];
    let repairing = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    for log in [
        log_of(level, || drain(Utf8Codec::new(), INPUT)),
        log_of(level, || drain(Utf8Codec::with_decoder(repairing.clone()), INPUT)),
        log_of(level, || drain(Utf8LinesCodec::new(), INPUT)),
        log_of(level, || drain(Utf8LinesCodec::with_decoder(repairing), INPUT)),
    ] {
        assert_eq!(log.lines().map(str::trim).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn an_error_after_text_that_is_copied_is_one_event() {
    static NO_NUL: Subset = Subset::NO_NUL;
    let level = tracing_subscriber::filter::LevelFilter::DEBUG;
    for decoder in
        [TextDecoder::new().with_bom_policy(BomPolicy::Strip), TextDecoder::new().with_subset(&NO_NUL)]
    {
        let log = log_of(level, || drain(Utf8Codec::with_decoder(decoder), INPUT));
        assert_eq!(log.lines().count(), 2, "{log}");
    }
}

#[test]
fn no_event_contains_payload() {
    let level = tracing_subscriber::filter::LevelFilter::TRACE;
    let log = log_of(level, || {
        drain(Utf8Codec::new(), INPUT);
        drain(Utf8LinesCodec::new().with_max_length(3), INPUT);
    });
    assert!(log.contains("TRACE") && log.contains("line too long"), "{log}");
    for payload in ["geheim", "wort", "67", "0xff", "\\xff"] {
        assert!(!log.contains(payload), "{payload} in {log}");
    }
}

/// An inner writer that is not ready at first, and then accepts one byte at a time.
struct Slow {
    pending: usize,
    written: Vec<u8>,
}

impl tokio::io::AsyncWrite for Slow {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.pending > 0 {
            self.pending -= 1;
            return Poll::Pending;
        }
        self.pending = 3;
        self.written.extend_from_slice(&bytes[..1]);
        Poll::Ready(Ok(1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_repair_that_waits_for_the_inner_writer_is_one_event() {
    use tokio::io::AsyncWrite;

    for parts in [&[&b"a\xFFb\xE2\x82c\xFE\xFEd"[..]][..], &[b"a\xFF", b"b\xE2", b"\x82", b"c\xFE\xFEd"]] {
        let level = tracing_subscriber::filter::LevelFilter::DEBUG;
        let log = log_of(level, || {
            let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
            let mut writer = Utf8Writer::with_decoder(Slow { pending: 3, written: Vec::new() }, decoder);
            let mut poll = Context::from_waker(Waker::noop());
            for part in parts {
                let mut rest = *part;
                while !rest.is_empty() {
                    match Pin::new(&mut writer).poll_write(&mut poll, rest) {
                        Poll::Ready(taken) => rest = &rest[taken.unwrap()..],
                        Poll::Pending => {}
                    }
                }
            }
            while Pin::new(&mut writer).poll_shutdown(&mut poll).is_pending() {}
            assert_eq!(writer.decoder().counters().total(), 4);
            assert_eq!(writer.get_ref().written, "a\u{FFFD}b\u{FFFD}c\u{FFFD}\u{FFFD}d".as_bytes());
        });
        let offsets: Vec<_> =
            log.lines().filter_map(|line| line.split("offset=").nth(1)?.split(' ').next()).collect();
        assert_eq!(offsets, ["1", "3", "6", "7"], "{log}");
    }
}

#[test]
fn a_character_outside_a_subset_that_waits_for_the_inner_writer_is_one_event() {
    use tokio::io::AsyncWrite;

    static BMP: Subset = Subset::BMP;
    let input = "a\u{1F980}b\u{1F980}\u{1F980}".as_bytes();
    let log = log_of(tracing_subscriber::filter::LevelFilter::DEBUG, || {
        let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_subset(&BMP);
        let mut writer = Utf8Writer::with_decoder(Slow { pending: 3, written: Vec::new() }, decoder);
        let mut poll = Context::from_waker(Waker::noop());
        let mut rest = input;
        while !rest.is_empty() {
            match Pin::new(&mut writer).poll_write(&mut poll, rest) {
                Poll::Ready(taken) => rest = &rest[taken.unwrap()..],
                Poll::Pending => {}
            }
        }
        while Pin::new(&mut writer).poll_shutdown(&mut poll).is_pending() {}
        assert_eq!(writer.get_ref().written, "a\u{FFFD}b\u{FFFD}\u{FFFD}".as_bytes());
    });
    assert_eq!(log.lines().count(), 3, "{log}");
}
