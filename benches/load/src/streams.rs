//! Loads of many connections. All bytes of one side must reach the other side, for all chunks, delays and
//! kinds of end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Barrier;
use tokio::time::{sleep, timeout};

use crate::peers::{self, Behavior, Received, Server, TIMEOUT, exchange, open, ping};
use crate::scenario::{Row, Run, Tally, many, millis, percentile};
use crate::text::{Digest, Rng};

/// Sends `bytes` to an echo server. The echo must be `expected`.
async fn echo(address: SocketAddr, id: u32, bytes: Vec<u8>, expected: (u64, u64)) -> Result<(), String> {
    let received = exchange(address, Behavior::CutEcho, id, &bytes).await?;
    let expected = Received { digest: expected, reset: false };
    if received == expected { Ok(()) } else { Err(format!("{received:?} came back, not {expected:?}")) }
}

/// Opens connections at the same time. Returns the time that each waited for the reply to its first line.
pub async fn burst(address: SocketAddr, count: u32) -> (Tally, Vec<Duration>) {
    let barrier = Arc::new(Barrier::new(count as usize));
    many(count, count as usize, |id| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            let start = Instant::now();
            let opened = timeout(TIMEOUT, open(address, Behavior::Echo, id)).await;
            let mut stream = opened.map_err(|_| "no connection")?.map_err(|error| error.to_string())?;
            ping(&mut stream).await?;
            Ok(start.elapsed())
        }
    })
    .await
}

pub async fn bursts(run: &Run) -> Row {
    let server = Server::start();
    let proxy = run.proxy(server.address, &[]);
    let (rounds, count) = (run.scaled(20, 4), 500);
    let (mut tally, mut times) = (Tally::default(), Vec::new());
    for _ in 0..rounds {
        let (one, waited) = burst(proxy.address, count).await;
        tally.done += one.done;
        tally.lost += one.lost;
        times.extend(waited);
    }
    times.sort();
    let (half, most) = (percentile(&times, 0.5), percentile(&times, 0.99));
    let seen = format!("connect and first answer: p50 {}, p99 {}", millis(half), millis(most));
    Row::new(format!("{rounds} x {count} connects at once"), &tally, seen)
}

pub async fn churn(run: &Run) -> Row {
    let server = Server::start();
    let proxy = run.proxy(server.address, &[]);
    let (address, count) = (proxy.address, run.scaled(20_000, 3_000));
    let start = Instant::now();
    let (tally, _) = many(count, 64, |id| async move {
        let mut stream = open(address, Behavior::Echo, id).await.map_err(|error| error.to_string())?;
        let line = format!("connection {id} \u{1F4A9}\n");
        let talk = async {
            stream.write_all(line.as_bytes()).await?;
            stream.shutdown().await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        match timeout(TIMEOUT, talk).await {
            Ok(Ok(answer)) if answer == line => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    let rate = f64::from(count) / start.elapsed().as_secs_f64();
    Row::new(format!("{count} short connections, 64 at a time"), &tally, format!("{rate:.0} connections/s"))
}

pub async fn cuts(run: &Run) -> Row {
    let server = Server::start();
    let proxy = run.proxy(server.address, &[]);
    let count = run.scaled(5_000, 400);
    let (address, mut bytes) = (proxy.address, 0);
    let mut rng = Rng::new(7);
    let pieces: Vec<_> = (0..count)
        .map(|_| {
            let len = [100, 20_000, 200_000][rng.below(3)];
            let len = 1 + rng.below(len);
            run.text.piece(&mut rng, len).as_bytes().to_vec()
        })
        .inspect(|piece| bytes += piece.len())
        .collect();
    let (tally, _) = many(count, 100, |id| {
        let piece = pieces[id as usize].clone();
        let expected = Digest::of(&piece);
        echo(address, id, piece, expected)
    })
    .await;
    let load = format!("{count} streams of text, random cuts and pauses on both sides");
    Row::new(load, &tally, format!("{:.0} MB each way, every hash equal", bytes as f64 / 1e6))
}

pub async fn repairs(run: &Run) -> Row {
    let server = Server::start();
    let proxy = run.proxy(server.address, &["--on-error", "replace"]);
    let (address, count) = (proxy.address, run.scaled(2_000, 200));
    let mut rng = Rng::new(8);
    let pieces: Vec<_> = (0..count)
        .map(|_| {
            let len = 1 + rng.below(50_000);
            run.text.piece_with_errors(&mut rng, len)
        })
        .collect();
    let (tally, _) = many(count, 100, |id| {
        let piece = pieces[id as usize].clone();
        let expected = Digest::of(String::from_utf8_lossy(&piece).as_bytes());
        echo(address, id, piece, expected)
    })
    .await;
    let load = format!("{count} streams with errors, `--on-error replace`, random cuts");
    Row::new(load, &tally, "equal to `String::from_utf8_lossy`")
}

/// Ends streams in each way, and checks that each side receives the correct bytes and the correct end.
pub async fn ends(run: &Run) -> Row {
    let server = Arc::new(Server::start());
    let proxy = run.proxy(server.address, &["--linger", "0.2"]);
    let (address, count) = (proxy.address, run.scaled(4_000, 400));
    let mut rng = Rng::new(9);
    let pieces: Vec<_> = (0..count)
        .map(|_| {
            let len = 100 + rng.below(100_000);
            run.text.piece(&mut rng, len).as_bytes().to_vec()
        })
        .collect();
    let (tally, _) = many(count, 100, |id| {
        let (server, piece) = (Arc::clone(&server), pieces[id as usize].clone());
        async move {
            match id % 4 {
                0 => half_close(address, id, &server, &piece).await,
                1 => client_reset(address, id, &server, &piece).await,
                2 => ill_formed(address, id, &server, piece).await,
                _ => server_reset(address, id, &piece).await,
            }
        }
    })
    .await;
    let load = format!("{count} streams: half-close, reset by the client, ill-formed, reset by the server");
    Row::new(load, &tally, "a reset arrives as a reset, an end as an end, all good bytes before it")
}

async fn half_close(address: SocketAddr, id: u32, server: &Server, piece: &[u8]) -> Result<(), String> {
    let answer = exchange(address, Behavior::Record, id, piece).await?;
    let record = server.record(id).await.ok_or("no record")?;
    let expected = Received { digest: Digest::of(piece), reset: false };
    let empty = Received { digest: Digest::of(b""), reset: false };
    if record == expected && answer == empty {
        Ok(())
    } else {
        Err(format!("{record:?} and {answer:?} at a half-close"))
    }
}

async fn client_reset(address: SocketAddr, id: u32, server: &Server, piece: &[u8]) -> Result<(), String> {
    let sent = async {
        let mut stream = open(address, Behavior::Record, id).await?;
        stream.write_all(piece).await?;
        // The header is not recorded if the reset arrives before it.
        sleep(Duration::from_millis(100)).await;
        peers::reset(&stream);
        std::io::Result::Ok(())
    };
    timeout(TIMEOUT, sent).await.map_err(|_| "blocked")?.map_err(|error| error.to_string())?;
    let record = server.record(id).await.ok_or("no record")?;
    let (len, hash) = record.digest;
    let is_prefix = piece.get(..len as usize).is_some_and(|prefix| Digest::of(prefix).1 == hash);
    if record.reset && is_prefix {
        Ok(())
    } else {
        Err(format!("{record:?} of {} bytes before a reset", piece.len()))
    }
}

async fn ill_formed(address: SocketAddr, id: u32, server: &Server, piece: Vec<u8>) -> Result<(), String> {
    let good = Digest::of(&piece);
    let rest = b"\xFFthe rest of the stream, which must not arrive".repeat(id as usize % 50);
    let bytes = [piece, b"\xFF".to_vec(), rest].concat();
    let answer = exchange(address, Behavior::Record, id, &bytes).await?;
    let record = server.record(id).await.ok_or("no record")?;
    let expected = Received { digest: good, reset: true };
    if record == expected && answer.reset {
        Ok(())
    } else {
        Err(format!("{record:?} and {answer:?}, not {expected:?}"))
    }
}

async fn server_reset(address: SocketAddr, id: u32, piece: &[u8]) -> Result<(), String> {
    let after = piece.len() as u64 / 2;
    let answer = exchange(address, Behavior::Reset(after), id, piece).await?;
    let (len, hash) = answer.digest;
    let is_prefix = piece.get(..len as usize).is_some_and(|prefix| Digest::of(prefix).1 == hash);
    if answer.reset && is_prefix && len <= after {
        Ok(())
    } else {
        Err(format!("{answer:?} before a reset by the server"))
    }
}

pub async fn late_readers(run: &Run) -> Row {
    let server = Arc::new(Server::start());
    let proxy = run.proxy(server.address, &[]);
    let (address, count) = (proxy.address, run.scaled(64, 16));
    let before = proxy.memory();
    let piece = Arc::new(run.text.piece(&mut Rng::new(3), 2_000_000).as_bytes().to_vec());
    let during = async {
        sleep(Duration::from_millis(800)).await;
        proxy.memory()
    };
    let streams = many(count, count as usize, |id| {
        let (server, piece) = (Arc::clone(&server), Arc::clone(&piece));
        async move {
            let mut stream =
                open(address, Behavior::RecordLate, id).await.map_err(|error| error.to_string())?;
            let send = async {
                stream.write_all(&piece).await?;
                stream.shutdown().await
            };
            timeout(TIMEOUT, send).await.map_err(|_| "blocked")?.map_err(|error| error.to_string())?;
            let record = server.record(id).await.ok_or("no record")?;
            let expected = Received { digest: Digest::of(&piece), reset: false };
            if record == expected { Ok(()) } else { Err(format!("{record:?}, not {expected:?}")) }
        }
    });
    let (during, (tally, _)) = tokio::join!(during, streams);
    let each = (during - before).max(0.0) / f64::from(count);
    Row::new(
        format!("{count} streams of 2 MB to servers that do not read for 1 s"),
        &tally,
        format!("{each:.0} KiB resident for each while it waits"),
    )
}

/// Measures the time of an echo while other clients send only errors.
pub async fn neighbors(run: &Run) -> Row {
    let server = Server::start();
    let proxy = run.proxy(server.address, &["--on-error", "replace"]);
    let address = proxy.address;
    let floods: Vec<_> = (0..4)
        .map(|id| {
            tokio::spawn(async move {
                let mut stream = open(address, Behavior::Record, id).await?;
                let errors = [0xFF; 64 * 1024];
                // At most 1 GB each, if they are not stopped.
                for _ in 0..16 * 1024 {
                    stream.write_all(&errors).await?;
                }
                std::io::Result::Ok(())
            })
        })
        .collect();
    sleep(Duration::from_millis(300)).await;
    let (mut tally, mut times) = (Tally::default(), Vec::new());
    let count = run.scaled(1_000, 200);
    match open(address, Behavior::Echo, 100).await {
        Ok(mut stream) => {
            for _ in 0..count {
                let start = Instant::now();
                if tally.count(ping(&mut stream).await).is_none() {
                    break;
                }
                times.push(start.elapsed());
                sleep(Duration::from_millis(2)).await;
            }
        }
        Err(error) => tally.check(false, || error.to_string()),
    }
    let flooding = floods.iter().filter(|flood| !flood.is_finished()).count();
    floods.iter().for_each(tokio::task::JoinHandle::abort);
    tally.check(flooding == 4, || "the flood ended too early".to_owned());
    times.sort();
    let (half, most) = (percentile(&times, 0.5), percentile(&times, 0.99));
    Row::new(
        format!("{count} echoes beside 4 clients that send only `FF`, under repair"),
        &tally,
        format!("echo: p50 {}, p99 {}", millis(half), millis(most)),
    )
}
