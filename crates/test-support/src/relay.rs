//! A relay between pipes or sockets, and readers with time limits.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use utf8_codec::Utf8Error;
use utf8_codec_proxy::{Relay, RelayDirection, RelayOutcome};

pub type Reports = Arc<Mutex<Vec<(RelayDirection, Utf8Error)>>>;

/// Starts a relay between pipes of `capacity` bytes. Returns the client's end, the server's end, the reports, and the
/// outcome.
pub fn piped(
    relay: Relay,
    capacity: usize,
) -> (DuplexStream, DuplexStream, Reports, JoinHandle<RelayOutcome>) {
    let ((client, mut near), (mut far, server)) = (duplex(capacity), duplex(capacity));
    let reports = Reports::default();
    let reported = Arc::clone(&reports);
    let relayed = tokio::spawn(async move {
        relay
            .run(&mut near, &mut far, |direction, error| reported.lock().unwrap().push((direction, error)))
            .await
    });
    (client, server, reports, relayed)
}

/// Starts a relay between TCP connections. Returns the client's end, the server's end, the reports, and the outcome.
pub async fn accept_and_relay(
    relay: Relay,
    upstream: &TcpListener,
) -> (TcpStream, TcpStream, Reports, JoinHandle<RelayOutcome>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream_address = upstream.local_addr().unwrap();
    let reports = Reports::default();
    let reported = Arc::clone(&reports);
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let relayed = tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut far = TcpStream::connect(upstream_address).await.unwrap();
        relay
            .run(&mut near, &mut far, |direction, error| reported.lock().unwrap().push((direction, error)))
            .await
    });
    let (server, _) = upstream.accept().await.unwrap();
    client.set_nodelay(true).unwrap();
    (client, server, reports, relayed)
}

/// Waits until every other task waits. The test must have paused the time, which then advances only if no task is ready.
pub async fn until_idle() {
    sleep(Duration::from_millis(1)).await;
}

pub async fn read_all(from: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    timeout(Duration::from_secs(20), from.read_to_end(&mut bytes)).await.expect("an end").unwrap();
    bytes
}

pub async fn read_some(from: &mut (impl AsyncReadExt + Unpin), len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    timeout(Duration::from_secs(20), from.read_exact(&mut bytes)).await.expect("bytes").unwrap();
    bytes
}
