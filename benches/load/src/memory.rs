//! Memory for each held connection, and over time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::peers::{Behavior, Received, Server, exchange, open, ping};
use crate::process::Proxy;
use crate::scenario::{Row, Run, Tally, many};
use crate::streams::burst;
use crate::text::{Digest, Rng};

/// The maximum growth of memory after the warm-up, in KiB.
const GROWTH: f64 = 1024.0;

/// Opens connections that have sent one line and received the reply.
pub async fn hold(address: SocketAddr, count: u32) -> (Tally, Vec<TcpStream>) {
    many(count, 200, |id| async move {
        let mut stream = open(address, Behavior::Echo, id).await.map_err(|error| error.to_string())?;
        ping(&mut stream).await?;
        Ok(stream)
    })
    .await
}

/// Returns the memory for each of `count` held connections in KiB, and the connections.
pub async fn held_memory(proxy: &Proxy, count: u32) -> (Tally, f64, Vec<TcpStream>) {
    let before = proxy.memory();
    let (tally, streams) = hold(proxy.address, count).await;
    sleep(Duration::from_millis(500)).await;
    (tally, (proxy.memory() - before) / f64::from(count), streams)
}

pub async fn held(run: &Run) -> Row {
    let server = Server::start();
    let proxy = run.proxy(server.address, &[]);
    let count = run.scaled(9_000, 2_000);
    let (mut tally, each, mut streams) = held_memory(&proxy, count).await;
    sleep(Duration::from_secs(1)).await;
    for stream in &mut streams {
        tally.count(ping(stream).await);
    }
    Row::new(
        format!("{count} idle connections, then a line on each"),
        &tally,
        format!("{each:.1} KiB resident for each"),
    )
}

/// Opens connections of all kinds repeatedly.
pub async fn flat(run: &Run) -> Row {
    let server = Arc::new(Server::start());
    let proxy = run.proxy(server.address, &["--linger", "0.1"]);
    let address = proxy.address;
    let (mut tally, mut samples) = (Tally::default(), Vec::new());
    let mut rng = Rng::new(11);
    let start = Instant::now();
    while start.elapsed() < run.steady {
        let (bursts, _) = burst(address, 100).await;
        let pieces: Vec<_> = (0..40)
            .map(|_| {
                let len = 1 + rng.below(100_000);
                run.text.piece(&mut rng, len).as_bytes().to_vec()
            })
            .collect();
        let (streams, _) = many(40, 40, |id| {
            let piece = pieces[id as usize].clone();
            async move {
                let expected = Received { digest: Digest::of(&piece), reset: false };
                // Every fourth stream has an error, and is reset.
                if id % 4 == 0 {
                    let bytes = [&piece[..], b"\xFF"].concat();
                    let received = exchange(address, Behavior::CutEcho, id, &bytes).await?;
                    return if received.reset { Ok(()) } else { Err(format!("{received:?}, not a reset")) };
                }
                let received = exchange(address, Behavior::CutEcho, id, &piece).await?;
                if received == expected { Ok(()) } else { Err(format!("{received:?}, not {expected:?}")) }
            }
        })
        .await;
        for one in [bursts, streams] {
            tally.done += one.done;
            tally.lost += one.lost;
        }
        samples.push(proxy.memory());
        sleep(Duration::from_millis(200)).await;
    }
    // The first quarter is the warm-up.
    let median = |samples: &[f64]| {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let quarter = samples.len() / 4;
    let early = median(&samples[quarter..quarter * 2]);
    let late = median(&samples[quarter * 3..]);
    tally.check(late - early < GROWTH, || format!("memory grew from {early} to {late} KiB"));
    Row::new(
        format!("bursts, streams and rejections for {:.1} min", start.elapsed().as_secs_f64() / 60.0),
        &tally,
        format!("{:.1} MiB in the second quarter, {:.1} MiB in the last", early / 1024.0, late / 1024.0),
    )
}
