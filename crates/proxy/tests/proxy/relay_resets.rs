//! `Relay` with peers that reset the connection or fail, and the resets that it asks for.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex};
use tokio::net::TcpListener;
use tokio::time::timeout;
use utf8_codec::{ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};
use utf8_codec_proxy::{RejectionPolicy, Relay, RelayDirection, RelayEnd, RelayObserver};

use crate::support::relay::{accept_and_relay, piped, read_all, read_some};

#[tokio::test]
async fn a_reset_inside_a_character_is_reported() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let replace = Relay::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    for relay in [Relay::new(), replace] {
        let (mut client, mut server, reports, relayed) = accept_and_relay(relay, &upstream).await;
        client.write_all(b"ok \xC3").await.unwrap();
        assert_eq!(read_some(&mut server, 3).await, b"ok ");
        // Closing a socket with unread bytes resets the connection. The relay has read the last byte before that.
        server.write_all(b"unread").await.unwrap();
        client.peek(&mut [0]).await.unwrap();
        drop(client);
        assert_eq!(read_all(&mut server).await, b"", "no repair: it did not end cleanly");
        drop(server);
        let outcome = relayed.await.unwrap();
        assert!(matches!(outcome.end, RelayEnd::Failed(RelayDirection::Requests, _)), "{outcome:?}");
        let cut = (RelayDirection::Requests, Utf8Error::new(3, ErrorKind::Truncated, 1));
        assert_eq!(*reports.lock().unwrap(), [cut]);
    }
}

#[tokio::test]
async fn a_reset_by_the_server_ends_a_waiting_client() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::new().with_linger(Duration::from_millis(50));
    let (mut client, mut server, _, relayed) = accept_and_relay(relay, &upstream).await;
    server.write_all(b"partial").await.unwrap();
    assert_eq!(read_some(&mut client, 7).await, b"partial");
    client.write_all(b"unread").await.unwrap();
    server.peek(&mut [0]).await.unwrap();
    drop(server);
    assert_eq!(read_all(&mut client).await, b"");
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Failed(RelayDirection::Responses, _)));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_resets_the_connection() {
    let (mut client, mut server, _, relayed) = piped(Relay::new(), 64);
    client.write_all(b"rm /home\xFF/b").await.unwrap();
    assert_eq!(read_some(&mut server, 8).await, b"rm /home");
    let early = timeout(Duration::from_millis(900), server.read_u8()).await;
    assert!(early.is_err(), "no end is passed on: {early:?}");
    // The replies of the server to the text before the error still arrive.
    server.write_all(b"answer").await.unwrap();
    assert_eq!(read_some(&mut client, 6).await, b"answer");
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, RelayEnd::IllFormed(RelayDirection::Requests, _)));
    assert!(outcome.reset);

    let (mut client, mut server, _, relayed) =
        piped(Relay::new().with_rejection_policy(RejectionPolicy::Close), 64);
    client.write_all(b"rm /home\xFF/b").await.unwrap();
    assert_eq!(read_all(&mut server).await, b"rm /home");
    drop(server);
    assert!(!relayed.await.unwrap().reset);
}

/// Under `RejectionPolicy::Close`, only what was delivered to its end is closed cleanly.
#[tokio::test(start_paused = true)]
async fn a_direction_cut_after_a_rejection_is_a_reset() {
    let relay = Relay::new().with_rejection_policy(RejectionPolicy::Close);
    for ends in [false, true] {
        let (mut client, mut server, _, relayed) = piped(relay.clone(), 64);
        client.write_all(b"list\xFF").await.unwrap();
        assert_eq!(read_all(&mut server).await, b"list");
        server.write_all(b"1 of 2").await.unwrap();
        if ends {
            server.shutdown().await.unwrap();
        }
        assert_eq!(read_some(&mut client, 6).await, b"1 of 2");
        // Neither peer closes, so the linger time passes.
        let outcome = relayed.await.unwrap();
        assert!(matches!(outcome.end, RelayEnd::IllFormed(RelayDirection::Requests, _)), "{outcome:?}");
        assert_eq!(outcome.reset, !ends);
        assert_eq!(read_all(&mut client).await, b"");
    }

    // The server does not read the bytes before the error.
    let ((mut client, mut near), (mut far, _server)) = (duplex(256), duplex(16));
    client.write_all(&[&[b'g'; 60][..], b"\xFF"].concat()).await.unwrap();
    let outcome = relay.with_idle_timeout(Duration::from_secs(9)).run(&mut near, &mut far, |_, _| {}).await;
    assert!(outcome.reset && outcome.requests.written == 16, "{outcome:?}");
}

#[tokio::test]
async fn every_end_except_an_orderly_one_is_a_reset() {
    let (client, server, _, relayed) = piped(Relay::new(), 64);
    drop((client, server));
    assert!(!relayed.await.unwrap().reset);

    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut client, mut server, _, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    client.write_all(b"DELETE FROM t").await.unwrap();
    assert_eq!(read_some(&mut server, 13).await, b"DELETE FROM t");
    // Closing a socket with unread bytes resets the connection.
    server.write_all(b"unread").await.unwrap();
    client.peek(&mut [0]).await.unwrap();
    drop(client);
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, RelayEnd::Failed(RelayDirection::Requests, _)), "{outcome:?}");
    assert!(outcome.reset);
}

/// A peer that sent some bytes and reset the connection. The first write fails.
struct ResetPeer {
    sent: &'static [u8],
    written: bool,
    fails: std::io::ErrorKind,
}

impl AsyncRead for ResetPeer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if !self.written {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        to.put_slice(core::mem::take(&mut self.sent));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ResetPeer {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<std::io::Result<usize>> {
        self.written = true;
        Poll::Ready(Err(self.fails.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_that_a_write_detects_is_no_normal_end() {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};

    // `BrokenPipe` follows a normal end: the peer had ended its direction before it reset the connection.
    for (fails, ends) in [(ConnectionReset, false), (BrokenPipe, true)] {
        let (mut client, mut near) = duplex(64);
        client.write_all(b"request").await.unwrap();
        let mut upstream = ResetPeer { sent: b"part of an answer", written: false, fails };
        let relayed = tokio::spawn(async move {
            let outcome = Relay::new().run(&mut near, &mut upstream, |_, _| {}).await;
            (near, outcome)
        });
        assert_eq!(read_some(&mut client, 17).await, b"part of an answer");
        let end = timeout(Duration::from_millis(500), client.read_u8()).await;
        assert_eq!(end.is_ok(), ends, "{fails:?}: {end:?}");
        let (_near, outcome) = relayed.await.unwrap();
        assert!(outcome.reset);
        assert!(matches!(outcome.end, RelayEnd::Failed(RelayDirection::Requests, _)), "{outcome:?}");
        assert_eq!(outcome.responses.written, 17);
    }
}

/// A peer that sends some bytes, whose next reads fail or return the end, and whose shutdown fails or succeeds.
struct Failing {
    sent: &'static [u8],
    read: Option<std::io::ErrorKind>,
    shutdown: Option<std::io::ErrorKind>,
}

impl AsyncRead for Failing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if !self.sent.is_empty() {
            to.put_slice(core::mem::take(&mut self.sent));
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(self.read.map_or(Ok(()), |kind| Err(kind.into())))
    }
}

impl AsyncWrite for Failing {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(self.shutdown.map_or(Ok(()), |kind| Err(kind.into())))
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_may_fail_only_on_a_closed_connection() {
    use std::io::ErrorKind::{NotConnected, TimedOut};

    for (fails, closed) in [(NotConnected, true), (TimedOut, false)] {
        let (client, mut near) = duplex(64);
        drop(client);
        let mut upstream = Failing { sent: b"", read: None, shutdown: Some(fails) };
        let outcome = Relay::new().run(&mut near, &mut upstream, |_, _| {}).await;
        assert_eq!(matches!(outcome.end, RelayEnd::Closed), closed, "{outcome:?}");
        assert_eq!(
            matches!(outcome.end, RelayEnd::Failed(RelayDirection::Requests, _)),
            !closed,
            "{outcome:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_read_ends_the_connection_at_once() {
    let relay = Relay::new().with_linger(Duration::from_secs(3600));
    let start = tokio::time::Instant::now();
    let (_client, mut near) = duplex(64);
    let mut upstream = Failing { sent: b"", read: Some(std::io::ErrorKind::ConnectionReset), shutdown: None };
    let outcome = relay.run(&mut near, &mut upstream, |_, _| {}).await;
    assert!(matches!(outcome.end, RelayEnd::Failed(RelayDirection::Responses, _)), "{outcome:?}");

    // After a rejection too: the client must not assume that it has the whole response.
    for on_rejection in [RejectionPolicy::Close, RejectionPolicy::Reset] {
        let (mut client, mut near) = duplex(64);
        client.write_all(b"\xFF").await.unwrap();
        let relay = relay.clone().with_rejection_policy(on_rejection);
        let outcome = relay.run(&mut near, &mut upstream, |_, _| {}).await;
        assert!(
            outcome.reset && matches!(outcome.end, RelayEnd::IllFormed(RelayDirection::Requests, _)),
            "{outcome:?}"
        );
    }
    assert!(start.elapsed() < Duration::from_secs(1));
}

/// An observer of the directions that are rejected.
#[derive(Clone, Default)]
struct Rejected(Arc<Mutex<Vec<RelayDirection>>>);

impl RelayObserver for Rejected {
    fn rejected(&mut self, direction: RelayDirection) {
        self.0.lock().unwrap().push(direction);
    }
}

#[tokio::test(start_paused = true)]
async fn a_character_cut_by_a_failed_peer_is_not_a_rejection() {
    for (read, expected) in
        [(None, &[RelayDirection::Responses][..]), (Some(std::io::ErrorKind::TimedOut), &[])]
    {
        let (_client, mut near) = duplex(64);
        let mut upstream = Failing { sent: b"ok \xC3", read, shutdown: None };
        let observer = Rejected::default();
        let outcome = Relay::new().run(&mut near, &mut upstream, observer.clone()).await;
        assert_eq!((outcome.responses.read, outcome.responses.ill_formed), (4, 1));
        assert_eq!(*observer.0.lock().unwrap(), expected);
    }
}
