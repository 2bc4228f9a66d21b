//! Operational faults: full disks, no free descriptors, servers that are down.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::peers::{Behavior, Received, Server, TIMEOUT, exchange, free_address, open, ping, receive};
use crate::process::Proxy;
use crate::scenario::{Row, Run, Tally, many, millis};
use crate::text::{Digest, Rng};

/// Opens connections while the log is not read, then sends SIGTERM.
async fn without_log(run: &Run, stderr: Stdio) -> (Tally, u32, String) {
    let server = Server::start();
    let flags = ["--on-error", "skip", "--log-rate", "100000000"];
    let mut proxy = Proxy::ours_with_stderr(&run.program, server.address, &flags, stderr);
    let (address, count) = (proxy.address, run.scaled(2_000, 300));
    let errors = [b"\xFF".repeat(200), b"through\n".to_vec()].concat();
    // Each connection logs 100 lines.
    let (mut tally, _) = many(count, 32, |id| {
        let errors = errors.clone();
        async move {
            let answer = exchange(address, Behavior::Echo, id, &errors).await?;
            let expected = Received { digest: Digest::of(b"through\n"), reset: false };
            if answer == expected { Ok(()) } else { Err(format!("{answer:?}, not {expected:?}")) }
        }
    })
    .await;
    let pipe = proxy.stderr();
    let start = Instant::now();
    proxy.terminate();
    let status = proxy.wait(Duration::from_secs(20)).await;
    tally.check(status.is_some_and(|status| status.success()), || format!("after SIGTERM: {status:?}"));
    drop(pipe);
    (tally, count, format!("SIGTERM ends it within {}", millis(start.elapsed())))
}

pub async fn unread_stderr(run: &Run) -> Row {
    let (tally, count, seen) = without_log(run, Stdio::piped()).await;
    Row::new(
        format!("{count} connections with 100 log lines each, stderr is a pipe that is not read"),
        &tally,
        seen,
    )
}

pub async fn full_disk(run: &Run) -> Row {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device of Linux");
    let (tally, count, seen) = without_log(run, full.into()).await;
    Row::new(format!("{count} connections with 100 log lines each, the log is on a full disk"), &tally, seen)
}

/// Without free descriptors, the held connections continue and the others wait until descriptors are free again.
pub async fn no_descriptors(run: &Run) -> Row {
    let server = Server::start();
    let proxy = run.proxy(server.address, &[]);
    let mut tally = Tally::default();
    let mut held = Vec::new();
    for id in 0..50 {
        let mut stream = open(proxy.address, Behavior::Echo, id).await.expect("a connection");
        tally.count(ping(&mut stream).await);
        held.push(stream);
    }
    proxy.limit_descriptors(proxy.lowest_free_descriptor());
    let address = proxy.address;
    let waiting = tokio::spawn(many(100, 100, move |id| async move {
        let mut stream =
            open(address, Behavior::Echo, 1_000 + id).await.map_err(|error| error.to_string())?;
        ping(&mut stream).await
    }));
    sleep(Duration::from_millis(500)).await;
    for stream in &mut held {
        tally.count(ping(stream).await);
    }
    tally.check(!waiting.is_finished(), || "connections without descriptors".to_owned());
    proxy.limit_descriptors(19_000);
    let (waited, _) = waiting.await.expect("no panic");
    tally.done += waited.done;
    tally.lost += waited.lost;
    Row::new(
        "50 connections held without a free descriptor, 100 more wait",
        &tally,
        "the 100 are served when there are descriptors again",
    )
}

/// Connects while there is no server. Returns the time until the reset.
async fn without_server(address: SocketAddr) -> Result<Duration, String> {
    let start = Instant::now();
    let read = async { TcpStream::connect(address).await?.read_u8().await };
    match timeout(TIMEOUT, read).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionReset => Ok(start.elapsed()),
        other => Err(format!("{other:?}, not a reset")),
    }
}

pub async fn dead_upstream(run: &Run) -> Row {
    let upstream = free_address();
    let proxy = run.proxy(upstream, &[]);
    let address = proxy.address;
    let count = run.scaled(1_000, 200);
    let (mut tally, mut times) = many(count, 50, |_| without_server(address)).await;
    times.sort();
    // The server is started again.
    let _server = Server::start_at(upstream).expect("its port");
    let (back, _) = many(50, 50, |id| async move {
        let mut stream = open(address, Behavior::Echo, id).await.map_err(|error| error.to_string())?;
        ping(&mut stream).await
    })
    .await;
    tally.done += back.done;
    tally.lost += back.lost;
    let seen = format!(
        "each is reset, the slowest after {}; then 50 are served",
        millis(*times.last().unwrap_or(&TIMEOUT))
    );
    Row::new(format!("{count} connections while nothing listens"), &tally, seen)
}

/// The listen queue of the server is full, so connects neither succeed nor fail.
pub async fn hanging_upstream(run: &Run) -> Row {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let listener = socket.listen(1).expect("a listener");
    let upstream = listener.local_addr().expect("an address");
    let mut queued = Vec::new();
    while let Ok(Ok(stream)) = timeout(Duration::from_millis(300), TcpStream::connect(upstream)).await {
        queued.push(stream);
    }
    let proxy = run.proxy(upstream, &["--connect-timeout", "0.5"]);
    let address = proxy.address;
    let (tally, mut times) = many(100, 100, |_| without_server(address)).await;
    times.sort();
    let seen = format!("each is reset, the slowest after {}", millis(*times.last().unwrap_or(&TIMEOUT)));
    Row::new("100 connections, the listen queue of the server is full, `--connect-timeout 0.5`", &tally, seen)
}

/// The server repeatedly stops and restarts. A client receives its whole echo or a reset, but never a part of the echo
/// and a normal end.
pub async fn flapping_upstream(run: &Run) -> Row {
    let upstream = free_address();
    let proxy = run.proxy(upstream, &[]);
    let (address, count) = (proxy.address, run.scaled(3_000, 500));
    let flapping = tokio::spawn(async move {
        loop {
            let server = Server::start_at(upstream);
            sleep(Duration::from_millis(60)).await;
            drop(server);
            sleep(Duration::from_millis(40)).await;
        }
    });
    let piece = run.text.piece(&mut Rng::new(5), 5_000).as_bytes().to_vec();
    let (tally, complete) = many(count, 20, |id| {
        let piece = piece.clone();
        async move {
            let received = match exchange(address, Behavior::CutEcho, id, &piece).await {
                Ok(received) => received,
                // The proxy resets before the header is written.
                Err(error) if error.contains("reset") || error.contains("pipe") => return Ok(false),
                Err(error) => return Err(error),
            };
            let complete = received == Received { digest: Digest::of(&piece), reset: false };
            if complete || received.reset { Ok(complete) } else { Err(format!("{received:?} and no reset")) }
        }
    })
    .await;
    flapping.abort();
    let _ = flapping.await;
    let complete = complete.into_iter().filter(|complete| *complete).count();
    let seen = format!("{complete} complete, {} reset, none cut short", tally.done - complete as u64);
    Row::new(format!("{count} connections to a server that is up 60 ms and down 40 ms"), &tally, seen)
}

/// Sends SIGTERM while streams are open. All of them must be completed.
pub async fn drain(run: &Run) -> Row {
    let server = Server::start();
    let mut proxy = run.proxy(server.address, &["--grace", "60"]);
    let (address, count) = (proxy.address, run.scaled(200, 100));
    let piece = run.text.piece(&mut Rng::new(6), 100_000).as_bytes().to_vec();
    let streams = tokio::spawn({
        let piece = piece.clone();
        many(count, count as usize, move |id| {
            let piece = piece.clone();
            async move {
                let mut stream =
                    open(address, Behavior::CutEcho, id).await.map_err(|error| error.to_string())?;
                let (mut read, mut write) = stream.split();
                let send = async {
                    for part in piece.chunks(piece.len() / 10) {
                        if write.write_all(part).await.is_err() {
                            return;
                        }
                        sleep(Duration::from_millis(100)).await;
                    }
                    let _ = write.shutdown().await;
                };
                let received = timeout(TIMEOUT, async { tokio::join!(send, receive(&mut read)).1 }).await;
                let expected = Received { digest: Digest::of(&piece), reset: false };
                if received == Ok(expected) { Ok(()) } else { Err(format!("{received:?}, not {expected:?}")) }
            }
        })
    });
    sleep(Duration::from_millis(400)).await;
    proxy.terminate();
    sleep(Duration::from_millis(100)).await;
    let refused = TcpStream::connect(address).await.is_err();
    let (mut tally, _) = streams.await.expect("no panic");
    tally.check(refused, || "a connection was accepted while others were drained".to_owned());
    let status = proxy.wait(Duration::from_secs(20)).await;
    tally.check(status.is_some_and(|status| status.success()), || format!("{status:?}"));
    Row::new(
        format!("SIGTERM while {count} streams are under way"),
        &tally,
        "all are completed, new ones are refused, exit 0",
    )
}
