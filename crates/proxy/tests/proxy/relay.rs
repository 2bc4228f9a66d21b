//! `Relay` over duplex pipes and sockets.

use core::cell::Cell;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use utf8_codec::{ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};
use utf8_codec_proxy::{
    ForwardPolicy, LineFilter, RejectedLine, RejectionPolicy, Relay, RelayDirection, RelayEnd, RelayObserver,
};

use crate::support::every_partition;
use crate::support::relay::{accept_and_relay, piped, read_all, read_some, until_idle};

#[tokio::test(start_paused = true)]
async fn a_relay_forwards_whole_characters_as_they_arrive() {
    let (mut client, mut server, _, relayed) = piped(Relay::new(), 64);
    client.write_all(b"h\xC3").await.unwrap();
    assert_eq!(read_some(&mut server, 1).await, b"h");
    let early = timeout(Duration::from_millis(50), server.read_u8()).await;
    assert!(early.is_err(), "half a character is not forwarded: {early:?}");
    client.write_all(b"\xA9\n").await.unwrap();
    assert_eq!(read_some(&mut server, 3).await, "é\n".as_bytes());

    for byte in "\u{1F4A9}".bytes() {
        server.write_all(&[byte]).await.unwrap();
        until_idle().await;
    }
    assert_eq!(read_some(&mut client, 4).await, "\u{1F4A9}".as_bytes());
    drop((client, server));
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Closed));
}

#[tokio::test]
async fn a_relay_delivers_and_reports_the_same_for_every_partition() {
    let input = b"a\xC3\xA9\xF0\x9F\xFF!";
    let expected = (RelayDirection::Requests, Utf8Error::new(3, ErrorKind::MissingContinuation, 2));
    let mut partitions = Vec::new();
    every_partition(input, |chunks| partitions.push(chunks.iter().map(|c| c.to_vec()).collect::<Vec<_>>()));
    let policies = [(ForwardPolicy::Characters, 3), (ForwardPolicy::Bytes, 5)];
    for (chunks, (policy, forwarded)) in
        partitions.iter().flat_map(|chunks| policies.map(|policy| (chunks, policy)))
    {
        let relay = Relay::new().with_linger(Duration::from_millis(10)).with_forward_policy(policy);
        let (mut client, mut server, reports, relayed) = piped(relay, 64);
        for chunk in chunks {
            // The other side may be closed already.
            let _ = client.write_all(chunk).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(read_all(&mut server).await, &input[..forwarded], "{chunks:02X?} {policy}");
        drop((client, server));
        let outcome = relayed.await.unwrap();
        assert_eq!(*reports.lock().unwrap(), [expected], "{chunks:02X?}");
        assert!(
            matches!(outcome.end, RelayEnd::IllFormed(direction, error) if (direction, error) == expected)
        );
    }
}

#[tokio::test]
async fn half_close_is_kept_in_each_direction() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut client, mut server, _, mut relayed) = accept_and_relay(Relay::new(), &upstream).await;
    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"question");
    assert!(timeout(Duration::from_millis(50), &mut relayed).await.is_err(), "it waits for the reply");
    server.write_all("späte Antwort".as_bytes()).await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_all(&mut client).await, "späte Antwort".as_bytes());
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, RelayEnd::Closed));
    assert_eq!((outcome.requests.read, outcome.requests.written, outcome.responses.written), (8, 8, 14));

    let (mut client, mut server, _, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    server.write_all(b"bye").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_all(&mut client).await, b"bye");
    client.write_all(b"still talking").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"still talking");
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Closed));
}

#[tokio::test]
async fn replies_arrive_before_a_rejected_connection_closes() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::new().with_rejection_policy(RejectionPolicy::Close);
    let (mut client, mut server, reports, relayed) = accept_and_relay(relay, &upstream).await;
    client.write_all(b"good\n\xFF").await.unwrap();
    // Many bytes follow the error. Closing the socket without reading them would reset the connection.
    client.write_all(&[b'x'; 300_000]).await.unwrap();
    assert_eq!(read_all(&mut server).await, b"good\n");
    server.write_all(b"answer\n").await.unwrap();
    drop(server);
    assert_eq!(read_all(&mut client).await, b"answer\n");
    drop(client);
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::IllFormed(RelayDirection::Requests, _)));
    assert_eq!(reports.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_rejected_connection_closes_even_if_neither_peer_closes() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay =
        Relay::new().with_linger(Duration::from_millis(50)).with_rejection_policy(RejectionPolicy::Close);
    let (mut client, mut server, reports, relayed) = accept_and_relay(relay, &upstream).await;
    server.write_all(b"good \xED\xA0\x80").await.unwrap();
    assert_eq!(read_all(&mut client).await, b"good ");
    assert_eq!(read_all(&mut server).await, b"");
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, RelayEnd::IllFormed(RelayDirection::Responses, _)));
    assert!(outcome.reset, "the requests have not ended");
    let expected = Utf8Error::new(5, ErrorKind::Surrogate, 1);
    assert_eq!(*reports.lock().unwrap(), [(RelayDirection::Responses, expected)]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_receives_all_bytes_before_the_rejection() {
    let (mut client, mut server, _, relayed) = piped(Relay::new().with_linger(Duration::from_millis(1)), 64);
    let good = vec![b'g'; 10_000];
    let sent = [&good[..], b"\xFF"].concat();
    let writer = tokio::spawn(async move { client.write_all(&sent).await });
    for chunk in good.chunks(1_000) {
        sleep(Duration::from_secs(60)).await;
        assert_eq!(read_some(&mut server, chunk.len()).await, chunk);
    }
    writer.await.unwrap().unwrap();
    assert_eq!(read_all(&mut server).await, b"");
    drop(server);
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::IllFormed(..)));
}

#[tokio::test]
async fn an_end_inside_a_character_precedes_the_half_close() {
    let cut = (RelayDirection::Requests, Utf8Error::new(3, ErrorKind::Truncated, 2));
    let replace = Relay::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    for (relay, expected) in [(Relay::new(), "end"), (replace, "end\u{FFFD}")] {
        let (mut client, mut server, reports, relayed) =
            piped(relay.with_rejection_policy(RejectionPolicy::Close), 64);
        client.write_all(b"end\xE2\x82").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut server).await, expected.as_bytes());
        server.write_all(b"noted").await.unwrap();
        drop(server);
        assert_eq!(read_all(&mut client).await, b"noted");
        let _ = relayed.await.unwrap();
        assert_eq!(*reports.lock().unwrap(), [cut]);
    }
}

#[tokio::test]
async fn skipped_bytes_are_left_out_between_parts_of_one_read() {
    let relay = Relay::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Skip));
    let (mut client, mut server, _, relayed) = piped(relay, 64);
    client.write_all(b"a\xFFb\xFF\xFFcd").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"abcd");
    drop((client, server));
    assert_eq!(relayed.await.unwrap().requests.ill_formed, 3);
}

#[tokio::test]
async fn the_direction_that_is_not_filtered_is_forwarded_unchanged() {
    let (mut client, mut server, reports, relayed) =
        piped(Relay::new().with_only(RelayDirection::Responses), 64);
    client.write_all(b"\xFF\xC3").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"\xFF\xC3");
    server.write_all(b"ok\xC0").await.unwrap();
    assert_eq!(read_all(&mut client).await, b"ok");
    drop(server);
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::IllFormed(RelayDirection::Responses, _)));
    assert_eq!(reports.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_not_read_from() {
    // With this policy, the output may be four times as long as the input.
    let relay = Relay::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Escape));
    let (mut client, mut server, _, relayed) = piped(relay, 1024);
    let mut sent = 0;
    while let Ok(written) = timeout(Duration::from_millis(100), client.write(&[0xFF; 1000])).await {
        sent += written.unwrap();
    }
    assert!(sent <= 1024 + 64 * 1024, "{sent} bytes were taken from a client whose server reads nothing");
    drop(client);
    assert_eq!(read_all(&mut server).await, br"\xff".repeat(sent));
    drop(server);
    let outcome = relayed.await.unwrap();
    assert_eq!((outcome.requests.ill_formed, outcome.requests.read), (sent as u64, sent as u64));
}

#[tokio::test]
async fn both_directions_are_relayed_concurrently_without_loss() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (client, server, _, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    let text = "grün 绿 \u{1F49A} ".repeat(200_000).into_bytes();
    let exchange = |stream: TcpStream, text: Vec<u8>| async move {
        let (mut read, mut write) = stream.into_split();
        let writer = tokio::spawn(async move { write.write_all(&text).await });
        let received = read_all(&mut read).await;
        writer.await.unwrap().unwrap();
        received
    };
    let (at_client, at_server) = tokio::join!(exchange(client, text.clone()), exchange(server, text.clone()));
    assert!(at_client == text && at_server == text);
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Closed));
}

#[tokio::test]
async fn a_relay_in_report_mode_forwards_every_byte() {
    for lines in [false, true] {
        let mut relay = Relay::new().with_report_only(true);
        if lines {
            relay = relay.with_line_filter(LineFilter::new());
        }
        let (mut client, mut server, reports, relayed) = piped(relay, 64);
        client.write_all(b"a\xFFb\xC3").await.unwrap();
        assert_eq!(read_some(&mut server, 4).await, b"a\xFFb\xC3", "nothing is held");
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut server).await, b"");
        drop(server);
        let outcome = relayed.await.unwrap();
        assert!(matches!(outcome.end, RelayEnd::Closed) && !outcome.reset);
        assert_eq!(
            reports.lock().unwrap()[0],
            (RelayDirection::Requests, Utf8Error::new(1, ErrorKind::InvalidLead, 1))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_outcome_is_that_of_the_first_direction_to_stop() {
    for first in [RelayDirection::Requests, RelayDirection::Responses] {
        let relay = Relay::new().with_linger(Duration::from_secs(20));
        let (mut client, mut server, reports, relayed) = piped(relay, 64);
        let peers = match first {
            RelayDirection::Requests => [&mut client, &mut server],
            RelayDirection::Responses => [&mut server, &mut client],
        };
        for (count, peer) in peers.into_iter().enumerate() {
            peer.write_all(b"\xFF").await.unwrap();
            until_idle().await;
            assert_eq!(reports.lock().unwrap().len(), count + 1);
        }
        drop((client, server));
        let outcome = relayed.await.unwrap();
        assert!(matches!(outcome.end, RelayEnd::IllFormed(stopped, _) if stopped == first), "{outcome:?}");
    }
}

/// An observer of the numbers of held bytes.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Vec<usize>>>);

impl RelayObserver for Held {
    fn held(&mut self, _: RelayDirection, bytes: usize) {
        self.0.lock().unwrap().push(bytes);
    }
}

#[tokio::test]
async fn the_observer_receives_each_number_of_held_bytes() {
    for (relay, expected) in [(Relay::new(), &[2, 0][..]), (Relay::new().with_report_only(true), &[])] {
        let ((mut client, mut near), (mut far, mut server)) = (duplex(64), duplex(64));
        let held = Held::default();
        let observer = held.clone();
        let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
        for (sent, is_whole) in [(&b"a"[..], true), (b"b\xE2\x82", false), (b"\xACc", true), (b"d", true)] {
            client.write_all(sent).await.unwrap();
            if is_whole {
                let last = *sent.last().unwrap();
                while read_some(&mut server, 1).await != [last] {}
            } else {
                assert_eq!(read_some(&mut server, 1).await, b"b");
            }
        }
        assert_eq!(*held.0.lock().unwrap(), expected);
    }
}

/// A relay is for any number of connections, so it uses only the policies of a decoder or filter.
#[tokio::test]
async fn a_decoder_that_was_used_before_does_not_affect_a_connection() {
    let mut used = TextDecoder::new();
    assert_eq!(used.feed(b"a\xE2\x82").count(), 1);
    let mut lines = LineFilter::with_decoder(used.clone());
    lines.feed_with(b"held", |_| {}).unwrap();
    for relay in [Relay::with_decoder(used), Relay::new().with_line_filter(lines)] {
        let relay = relay.with_rejection_policy(RejectionPolicy::Close);
        let (mut client, mut server, reports, relayed) = piped(relay, 64);
        client.write_all(b"b\n").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut server).await, b"b\n");
        drop(server);
        assert!(matches!(relayed.await.unwrap().end, RelayEnd::Closed));
        assert!(reports.lock().unwrap().is_empty());
    }
}

/// A peer that sends a chunk with each read. It records the room of the buffers.
#[derive(Default)]
struct Chunks {
    chunks: Vec<Vec<u8>>,
    rooms: Vec<usize>,
}

impl AsyncRead for Chunks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.rooms.len();
        self.rooms.push(to.remaining());
        to.put_slice(self.chunks.get(read).map_or(&[], Vec::as_slice));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Chunks {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A peer that sends one ill-formed byte, then as many bytes as there is room for, and counts them.
#[derive(Default)]
struct Endless {
    read: usize,
}

impl AsyncRead for Endless {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.read += to.remaining();
        to.initialize_unfilled().fill(0xFF);
        to.set_filled(to.capacity());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Endless {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn one_poll_discards_a_bounded_number_of_bytes() {
    for policy in [RejectionPolicy::Reset, RejectionPolicy::Close] {
        let (mut client, (mut server, _open)) = (Endless::default(), duplex(64));
        let relay = Relay::new().with_rejection_policy(policy);
        let mut relayed = Box::pin(relay.run(&mut client, &mut server, |_, _| {}));
        let mut context = Context::from_waker(core::task::Waker::noop());
        for _ in 0..3 {
            assert!(relayed.as_mut().poll(&mut context).is_pending());
        }
        drop(relayed);
        // The work of a poll, and the read that exceeds it.
        assert!(client.read <= 3 * (256 * 1024 + BIG), "{policy:?}: {} bytes", client.read);
        assert!(client.read >= 3 * 256 * 1024, "{policy:?}: {} bytes", client.read);
    }
}

/// An observer that replies to every rejected line.
struct Replying;

impl RelayObserver for Replying {
    fn rejected_line(&mut self, _: RelayDirection, _: RejectedLine) -> Option<Vec<u8>> {
        Some(b"rejected\n".to_vec())
    }
}

const SMALL: usize = 16 * 1024;
const BIG: usize = 256 * 1024;

/// Returns text with this number of ill-formed bytes, at equal distances.
fn with_errors(len: usize, errors: usize) -> Vec<u8> {
    let mut bytes = vec![b'x'; len];
    for n in 0..errors {
        bytes[n * len / errors] = 0xFF;
    }
    bytes
}

#[tokio::test]
async fn a_buffer_is_big_while_the_peer_fills_it_with_few_errors() {
    let replace = Relay::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let mut client = Chunks::default();
    // The length of each chunk, its number of errors, and the room of the next read.
    let reads = [
        (SMALL - 1, 0, SMALL),
        (SMALL, 0, BIG),
        (SMALL, 0, BIG),
        (SMALL - 1, 0, SMALL),
        (SMALL, SMALL / 16, BIG),
        (BIG, BIG / 16, BIG),
        (BIG, BIG / 16 + 1, SMALL),
        (SMALL, SMALL / 16 + 1, SMALL),
        (SMALL, 1, BIG),
    ];
    client.chunks = reads.iter().map(|&(len, errors, _)| with_errors(len, errors)).collect();
    let _ = replace.run(&mut client, &mut Chunks::default(), |_, _| {}).await;
    assert_eq!(client.rooms[0], SMALL);
    assert_eq!(client.rooms[1..], reads.map(|(.., room)| room));

    // With replies, only a part of a read is filtered at once. Here a quarter of its bytes are ill-formed.
    let mut client = Chunks { chunks: vec![b"ab\xFF\n".repeat(SMALL / 4)], rooms: Vec::new() };
    let lines = Relay::new().with_line_filter(LineFilter::new());
    let _ = lines
        .run(&mut client, &mut Chunks { chunks: vec![b"\n".to_vec()], rooms: Vec::new() }, Replying)
        .await;
    assert_eq!(client.rooms, [SMALL, SMALL]);
}

#[tokio::test]
async fn one_poll_repairs_a_bounded_number_of_errors() {
    let replace = Relay::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let mut client = Chunks { chunks: vec![with_errors(SMALL, 0), vec![0xFF; BIG]], rooms: Vec::new() };
    let mut server = Chunks::default();
    let errors = Cell::new(0);
    {
        let report = |_, _| errors.set(errors.get() + 1);
        let mut relayed = Box::pin(replace.run(&mut client, &mut server, report));
        let mut context = Context::from_waker(core::task::Waker::noop());
        let mut before = 0;
        while relayed.as_mut().poll(&mut context).is_pending() {
            // A piece of 16 KiB, and the errors before it that do not use up the work of the poll.
            assert!(errors.get() - before <= 2 * SMALL, "{} errors", errors.get() - before);
            before = errors.get();
        }
    }
    assert_eq!(errors.get(), BIG);
    assert_eq!(client.rooms, [SMALL, BIG, SMALL]);
}
