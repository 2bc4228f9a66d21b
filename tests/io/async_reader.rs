//! `Utf8Reader`: whole characters after every call, under tokio and futures-io.

use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};
use std::io;
use std::sync::Arc;
use std::task::Wake;

use futures::executor::block_on;
use utf8_codec::io::Utf8Reader;
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};

use crate::support::Rng;
use crate::support::hostile::{HostileReader, Step, steps};
use crate::support::outcomes::{CRAB, Outcome, outcomes_under, strict_outcomes, utf8_error, whole};

/// Checks that every read returns whole characters if every buffer has space for one.
fn check_read(rooms: &[usize], read: &[u8]) {
    if rooms.iter().all(|&room| room >= 4) {
        whole(read);
    }
}

macro_rules! by_library {
    ($library:ident, $by_read:ident, $by_fill:ident) => {
        fn $by_read(inner: HostileReader, decoder: TextDecoder, rooms: &[usize]) -> Outcome {
            use $library::io::AsyncReadExt;
            block_on(async {
                let mut reader = Utf8Reader::with_decoder(inner, decoder);
                let mut out = Vec::new();
                let mut buffer = [0; 64];
                for &room in rooms.iter().cycle() {
                    match reader.read(&mut buffer[..room]).await {
                        Ok(0) => break,
                        Ok(read) => {
                            check_read(rooms, &buffer[..read]);
                            out.extend_from_slice(&buffer[..read]);
                        }
                        Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                        Err(error) => {
                            assert_eq!(reader.read(&mut buffer).await.unwrap(), 0, "an error ends the text");
                            return (whole(&out).to_owned(), Some(utf8_error(&error)));
                        }
                    }
                }
                assert_eq!(reader.read(&mut buffer).await.unwrap(), 0, "the end is final");
                (whole(&out).to_owned(), None)
            })
        }

        /// Consumes the buffer in steps of whole characters and at most `bite` bytes.
        fn $by_fill(mut reader: impl $library::io::AsyncBufRead + Unpin, bite: usize) -> Outcome {
            use $library::io::{AsyncBufRead, AsyncBufReadExt};
            block_on(async {
                let mut out = String::new();
                loop {
                    let taken = match reader.fill_buf().await {
                        Ok([]) => break,
                        Ok(filled) => {
                            let taken = utf8_codec::boundary::truncate(whole(filled), bite.max(4));
                            out.push_str(taken);
                            taken.len()
                        }
                        Err(error) if error.kind() == io::ErrorKind::TimedOut => continue,
                        Err(error) => {
                            assert!(reader.fill_buf().await.unwrap().is_empty(), "an error ends the text");
                            return (out, Some(utf8_error(&error)));
                        }
                    };
                    AsyncBufRead::consume(Pin::new(&mut reader), taken);
                }
                assert!(reader.fill_buf().await.unwrap().is_empty(), "the end is final");
                (out, None)
            })
        }
    };
}

by_library!(tokio, by_tokio_read, by_tokio_fill);
by_library!(futures, by_futures_read, by_futures_fill);

/// Alternates between `read` and `fill_buf` at random, from a seed.
fn by_both(mut reader: impl tokio::io::AsyncBufRead + Unpin, seed: u64) -> Outcome {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt};
    block_on(async {
        let mut rng = Rng::new(seed);
        let (mut out, mut buffer) = (Vec::new(), [0; 64]);
        loop {
            let room = 1 + rng.below(9);
            let got = if rng.below(2) == 0 {
                match reader.read(&mut buffer[..room]).await {
                    Ok(read) => Ok((buffer[..read].to_vec(), 0)),
                    Err(error) => Err(error),
                }
            } else {
                // A caller may consume part of a character.
                reader
                    .fill_buf()
                    .await
                    .map(|filled| (filled[..filled.len().min(room)].to_vec(), filled.len().min(room)))
            };
            match got {
                Ok((bytes, _)) if bytes.is_empty() => return (whole(&out).to_owned(), None),
                Ok((bytes, consumed)) => {
                    out.extend_from_slice(&bytes);
                    reader.consume(consumed);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => return (whole(&out).to_owned(), Some(utf8_error(&error))),
            }
        }
    })
}

fn every_way(chunks: &[&[u8]], decoder: TextDecoder, seed: u64, expected: &Outcome) {
    let inner = || HostileReader::new(steps(chunks));
    for rooms in [&[64][..], &[1], &[4, 2, 7, 3], &[5]] {
        assert_eq!(by_tokio_read(inner(), decoder.clone(), rooms), *expected, "{rooms:?} {chunks:02X?}");
        assert_eq!(
            by_futures_read(inner().at_most(2), decoder.clone(), rooms),
            *expected,
            "{rooms:?} {chunks:02X?}"
        );
    }
    let own = || Utf8Reader::with_decoder(inner(), decoder.clone());
    let short = || Utf8Reader::with_decoder(inner().at_most(3), decoder.clone());
    for bite in [64, 4, 5] {
        assert_eq!(by_tokio_fill(own(), bite), *expected, "{bite} {chunks:02X?}");
        assert_eq!(by_tokio_fill(short(), bite), *expected, "{bite} {chunks:02X?}");
        assert_eq!(by_futures_fill(own(), bite), *expected, "{bite} {chunks:02X?}");
        assert_eq!(by_futures_fill(short(), bite), *expected, "{bite} {chunks:02X?}");
    }
    assert_eq!(by_both(own(), seed), *expected, "{seed} {chunks:02X?}");
    assert_eq!(by_both(short(), seed), *expected, "{seed} {chunks:02X?}");
}

#[test]
fn a_reader_returns_the_same_for_every_way_of_reading() {
    strict_outcomes(120, 40, |chunks, seed, expected| every_way(chunks, TextDecoder::new(), seed, expected));
}

#[test]
fn a_reader_repairs_the_same_for_every_way_of_reading() {
    for policy in [ErrorPolicy::Replace, ErrorPolicy::Escape, ErrorPolicy::Latin1, ErrorPolicy::Skip] {
        outcomes_under(
            TextDecoder::new().with_error_policy(policy).with_bom_policy(BomPolicy::Strip),
            40,
            every_way,
        );
    }
}

#[test]
fn reading_continues_after_an_inner_error_at_every_position() {
    for cut in 0..=CRAB.len() {
        let inner = || {
            HostileReader::new([
                Step::Chunk(CRAB.as_bytes()[..cut].to_vec()),
                Step::Fail(io::ErrorKind::TimedOut),
                Step::Chunk(CRAB.as_bytes()[cut..].to_vec()),
            ])
        };
        let expected = (CRAB.to_owned(), None);
        assert_eq!(by_tokio_read(inner(), TextDecoder::new(), &[64]), expected);
        assert_eq!(by_futures_read(inner(), TextDecoder::new(), &[3]), expected);
        assert_eq!(by_tokio_fill(Utf8Reader::new(inner()), 64), expected);
        assert_eq!(by_futures_fill(Utf8Reader::new(inner()), 4), expected);
    }
}

#[test]
fn adapters_for_readers_work_on_a_utf8_reader() {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
    block_on(async {
        let bytes: Vec<&[u8]> = "eins\r\nzw\u{F6}lf\nend".as_bytes().chunks(1).collect();
        let inner = || HostileReader::new(steps(&bytes));

        let mut text = String::new();
        assert_eq!(Utf8Reader::new(inner()).read_to_string(&mut text).await.unwrap(), 16);
        assert_eq!(text, "eins\r\nzw\u{F6}lf\nend");

        let mut lines = Utf8Reader::new(inner()).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("eins"));
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("zw\u{F6}lf"));
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("end"));
        assert_eq!(lines.next_line().await.unwrap(), None);

        let mut copy = Vec::new();
        tokio::io::copy(&mut Utf8Reader::new(inner()), &mut copy).await.unwrap();
        assert_eq!(whole(&copy), text);

        // First `read_line`, then `read`, with more bytes in the buffer than one read returns.
        let long = format!("first\n{}", "\u{20AC}".repeat(10_000));
        let mut reader = Utf8Reader::new(BufReader::with_capacity(64 * 1024, long.as_bytes()));
        let (mut line, mut rest) = (String::new(), String::new());
        reader.read_line(&mut line).await.unwrap();
        reader.read_to_string(&mut rest).await.unwrap();
        assert_eq!(line + &rest, long);
    });
}

/// An unbuffered `AsyncRead` with a fixed number of bytes.
struct Unbuffered(tokio::io::Take<tokio::io::Repeat>);

impl tokio::io::AsyncRead for Unbuffered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

fn unbuffered(byte: u8, count: u64) -> Unbuffered {
    use tokio::io::AsyncReadExt;
    Unbuffered(tokio::io::repeat(byte).take(count))
}

#[test]
fn utf8_reader_adds_a_buffer_to_an_unbuffered_reader() {
    use tokio::io::AsyncBufReadExt;
    block_on(async {
        let mut lines = Utf8Reader::new(unbuffered(b'\n', 20_000)).lines();
        let mut count = 0;
        while let Some(line) = lines.next_line().await.unwrap() {
            assert_eq!(line, "");
            count += 1;
        }
        assert_eq!(count, 20_000);
    });
}

/// Polls until there is a result. Returns it with the number of polls. Every pending poll must wake the task.
fn polls<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> (T, u64) {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    for count in 1.. {
        match poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return (result, count),
            Poll::Pending => assert_eq!(woken.0.load(Ordering::Relaxed), count, "a pending poll wakes"),
        }
    }
    unreachable!()
}

#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_poll_of_a_reader_is_bounded_when_all_input_is_skipped() {
    const COUNT: u64 = 1 << 18;
    let skip = TextDecoder::new().with_error_policy(ErrorPolicy::Skip);
    let least = COUNT / (64 * 1024);

    let mut reader = Utf8Reader::with_decoder(unbuffered(0xFF, COUNT), skip.clone());
    let (end, count) =
        polls(|cx| tokio::io::AsyncBufRead::poll_fill_buf(Pin::new(&mut reader), cx).map_ok(<[u8]>::len));
    assert_eq!(end.unwrap(), 0);
    assert!(count > least, "{count}");

    let mut reader = Utf8Reader::with_decoder(unbuffered(0xFF, COUNT), skip.clone());
    let mut room = [0; 64];
    let (end, count) = polls(|cx| {
        let mut room = tokio::io::ReadBuf::new(&mut room);
        let read = tokio::io::AsyncRead::poll_read(Pin::new(&mut reader), cx, &mut room);
        read.map_ok(|()| room.filled().len())
    });
    assert_eq!(end.unwrap(), 0);
    assert!(count > least, "{count}");

    let bytes = vec![0xFF; COUNT as usize];
    let mut reader = Utf8Reader::with_decoder(futures::io::Cursor::new(&bytes), skip);
    let (end, count) =
        polls(|cx| futures::io::AsyncBufRead::poll_fill_buf(Pin::new(&mut reader), cx).map_ok(<[u8]>::len));
    assert_eq!(end.unwrap(), 0);
    assert!(count > least, "{count}");
}

#[test]
fn a_read_into_an_empty_buffer_reads_nothing() {
    use tokio::io::AsyncReadExt;
    block_on(async {
        let mut reader = Utf8Reader::new(HostileReader::new(steps(&[b"a"])));
        assert_eq!(reader.read(&mut []).await.unwrap(), 0);
        assert_eq!(reader.read_u8().await.unwrap(), b'a');
    });
}

/// A reader that returns a length greater than that of the buffer.
struct InvalidLength;

impl futures::io::AsyncRead for InvalidLength {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len() + 1))
    }
}

#[test]
fn a_length_greater_than_that_of_the_buffer_is_an_error() {
    use futures::io::AsyncReadExt;
    let error = block_on(Utf8Reader::new(InvalidLength).read(&mut [0; 8])).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Other);
}

#[tokio::test]
async fn no_text_is_lost_when_select_drops_a_read_at_any_await_point() {
    use tokio::io::AsyncBufReadExt;
    for yields in 0..4 {
        let bytes: Vec<_> = "eins\nzw\u{F6}lf\n\u{1F980}".as_bytes().chunks(1).collect();
        let mut lines = Utf8Reader::new(HostileReader::new(steps(&bytes))).lines();
        let mut got = Vec::new();
        loop {
            let timeout = async {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                line = lines.next_line() => match line.unwrap() {
                    Some(line) => got.push(line),
                    None => break,
                },
                () = timeout => {}
            }
        }
        assert_eq!(got, ["eins", "zw\u{F6}lf", "\u{1F980}"]);
    }
}

#[test]
fn writes_pass_through_to_the_inner_stream() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    block_on(async {
        let (near, mut far) = tokio::io::duplex(64);
        let mut reader = Utf8Reader::new(near);
        assert!(tokio::io::AsyncWrite::is_write_vectored(&reader));
        reader.write_all(b"\xFF\0").await.unwrap();
        let written = reader.write_vectored(&[io::IoSlice::new(b"a"), io::IoSlice::new(b"b")]).await.unwrap();
        assert_eq!(written, 2);
        reader.shutdown().await.unwrap();
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        assert_eq!(read, b"\xFF\0ab");
    });
    block_on(async {
        use futures::io::AsyncWriteExt;

        let mut reader = Utf8Reader::new(futures::io::AllowStdIo::new(io::Cursor::new(Vec::new())));
        AsyncWriteExt::write_all(&mut reader, b"\xFF").await.unwrap();
        AsyncWriteExt::close(&mut reader).await.unwrap();
        assert_eq!(reader.into_inner().into_inner().into_inner(), b"\xFF");
    });
}

/// A line, then binary data: for every partition no byte is lost, neither of those that were read nor of the others.
#[test]
fn the_parts_have_every_byte_that_was_not_returned() {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt};

    let input = b"gr\xC3\xBC\n\xFF\xC3\xA9\xE2\x82";
    crate::support::every_partition(input, |chunks| {
        block_on(async {
            let mut socket = tokio_test::io::Builder::new();
            chunks.iter().for_each(|chunk| _ = socket.read(chunk));
            let mut reader = Utf8Reader::new(socket.build());
            let mut line = String::new();
            reader.read_line(&mut line).await.unwrap();
            assert_eq!(line, "gr\u{FC}\n");
            let (mut inner, mut rest) = reader.into_parts();
            inner.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest, input[5..], "{chunks:02X?}");
        });
    });
}
