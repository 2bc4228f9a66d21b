//! Compares the proxy with others: throughput, CPU time, latency, memory. Rounds are interleaved and medians are used,
//! because other work on the machine disturbs single rounds.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::memory::{held_memory, hold};
use crate::peers::{Server, ping};
use crate::process::{self, Proxy};
use crate::scenario::{Run, Tally, percentile};
use crate::streams::burst;

const NAMES: [&str; 5] = ["utf8-codec", "HAProxy", "nginx", "socat", "tokio"];

/// The number of simultaneous connects in a burst.
const BURST: u32 = 500;

/// The measurements of one proxy: a value for each round.
#[derive(Debug, Default)]
struct Measured {
    /// The throughput of one connection in GB/s.
    single: Vec<f64>,
    /// The throughput of 8 connections in GB/s.
    several: Vec<f64>,
    /// CPU seconds per GB, of one and of 8 connections.
    single_cpu: Vec<f64>,
    several_cpu: Vec<f64>,
    /// CPU microseconds of an echo of 5 bytes.
    echo_cpu: Vec<f64>,
    half: Vec<f64>,
    most: Vec<f64>,
    memory: Option<f64>,
}

fn start(run: &Run, name: &str, upstream: SocketAddr) -> Option<Proxy> {
    match name {
        "utf8-codec" => Some(run.proxy(upstream, &[])),
        name => Proxy::other(name, upstream, &run.directory),
    }
}

/// Starts a server that counts the bytes of each connection and responds with the number. It uses threads without a
/// runtime, so that most of the time is that of the proxy.
fn counting_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            thread::spawn(move || {
                let (mut buffer, mut count) = (vec![0; 256 * 1024], 0_u64);
                while let Ok(read @ 1..) = stream.read(&mut buffer) {
                    count += read as u64;
                }
                // A client that only tested the port has disconnected.
                let _ = write!(stream, "{count:016}");
            });
        }
    });
    address
}

/// Sends text through a proxy, `times` times in each of `connections` connections. Returns the time, and the number of
/// connections that lost bytes.
fn send(text: &'static [u8], address: SocketAddr, connections: usize, times: usize) -> (Duration, Tally) {
    let start = Instant::now();
    let sender = move || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(crate::peers::TIMEOUT))?;
        stream.set_write_timeout(Some(crate::peers::TIMEOUT))?;
        for chunk in (0..times).flat_map(|_| text.chunks(256 * 1024)) {
            stream.write_all(chunk)?;
        }
        stream.shutdown(Shutdown::Write)?;
        let mut count = [0; 16];
        stream.read_exact(&mut count)?;
        std::io::Result::Ok(String::from_utf8_lossy(&count).into_owned())
    };
    let senders: Vec<_> = (0..connections).map(|_| thread::spawn(sender)).collect();
    let expected = format!("{:016}", text.len() * times);
    let mut tally = Tally::default();
    for sender in senders {
        let count = sender.join().expect("no panic");
        tally.count(match count {
            Ok(count) if count == expected => Ok(()),
            count => Err(format!("{count:?} bytes of {expected}")),
        });
    }
    (start.elapsed(), tally)
}

/// Measures all proxies and prints the table. Returns the number of losses of our proxy.
pub async fn table(run: &Run) -> u64 {
    let mut lost = 0;
    let mut measured: Vec<Measured> = NAMES.iter().map(|_| Measured::default()).collect();
    let text: &'static [u8] = leaked(run);
    let times = run.scaled(256, 64) as usize;
    let gigabytes = (times * text.len()) as f64 / 1e9;
    let rounds = run.scaled(7, 3);

    let sink = counting_server();
    let proxies: Vec<_> = NAMES.iter().map(|name| start(run, name, sink)).collect();
    for (name, proxy) in NAMES.iter().zip(&proxies) {
        if proxy.is_none() {
            eprintln!("{name} is not installed");
        }
    }
    for round in 0..rounds {
        eprintln!("throughput, round {} of {rounds}", round + 1);
        for (n, proxy) in proxies.iter().enumerate() {
            let Some(proxy) = proxy else { continue };
            for connections in [1, 8_usize] {
                let before = proxy.cpu();
                let address = proxy.address;
                let sent = tokio::task::spawn_blocking(move || {
                    send(text, address, connections, times / connections)
                });
                let (time, tally) = sent.await.expect("no panic");
                let cpu = (proxy.cpu() - before).as_secs_f64() / gigabytes;
                let rate = gigabytes / time.as_secs_f64();
                let one = &mut measured[n];
                let (rates, cpus) = match connections {
                    1 => (&mut one.single, &mut one.single_cpu),
                    _ => (&mut one.several, &mut one.several_cpu),
                };
                rates.push(rate);
                cpus.push(cpu);
                lost += lost_by(NAMES[n], tally);
            }
        }
    }
    drop(proxies);

    let server = Server::start();
    // socat is not measured, because it starts a process for each connection.
    let start = |name: &&str| if *name == "socat" { None } else { start(run, name, server.address) };
    let proxies: Vec<_> = NAMES.iter().map(start).collect();
    for round in 0..run.scaled(10, 4) {
        eprintln!("bursts and echoes, round {}", round + 1);
        for (n, proxy) in proxies.iter().enumerate() {
            let Some(proxy) = proxy else { continue };
            let (tally, mut times) = burst(proxy.address, BURST).await;
            lost += lost_by(NAMES[n], tally);
            times.sort();
            measured[n].half.push(percentile(&times, 0.5).as_secs_f64() * 1e3);
            measured[n].most.push(percentile(&times, 0.99).as_secs_f64() * 1e3);
            let (tally, cpu) = echoes(proxy, run.scaled(40_000, 10_000)).await;
            lost += lost_by(NAMES[n], tally);
            measured[n].echo_cpu.push(cpu);
        }
    }
    drop(proxies);
    for (n, name) in NAMES.iter().enumerate() {
        let Some(proxy) = start(name) else { continue };
        let (tally, memory, _streams) = held_memory(&proxy, run.scaled(4_000, 1_000)).await;
        lost += lost_by(name, tally);
        measured[n].memory = Some(memory);
    }
    print(&measured);
    println!();
    NAMES.iter().filter_map(|name| process::version(name)).for_each(|version| println!("- {version}"));
    lost
}

/// Returns the losses that count: only those of our proxy.
fn lost_by(name: &str, tally: Tally) -> u64 {
    if tally.lost > 0 {
        eprintln!("  {name}: {} of {} lost", tally.lost, tally.lost + tally.done);
    }
    if name == NAMES[0] { tally.lost } else { 0 }
}

/// Returns the text with a `'static` lifetime, for the threads that send it.
fn leaked(run: &Run) -> &'static [u8] {
    Box::leak(run.text.all().to_vec().into_boxed_slice())
}

/// Sends echoes on 32 connections at the same time. Returns the CPU microseconds for each echo.
async fn echoes(proxy: &Proxy, count: u32) -> (Tally, f64) {
    let (mut tally, streams) = hold(proxy.address, 32).await;
    let before = proxy.cpu();
    let mut tasks = tokio::task::JoinSet::new();
    for mut stream in streams {
        tasks.spawn(async move {
            for _ in 0..count / 32 {
                ping(&mut stream).await?;
            }
            Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        tally.count(ended.expect("no panic"));
    }
    (tally, (proxy.cpu() - before).as_secs_f64() * 1e6 / f64::from(count))
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn print(measured: &[Measured]) {
    println!("| | {} |\n|---|{}", NAMES.join(" | "), "--:|".repeat(NAMES.len()));
    let row = |name: &str, digits: usize, value: &dyn Fn(&Measured) -> Option<f64>| {
        let cell = |one| value(one).map_or("-".to_owned(), |value| format!("{value:.digits$}"));
        let cells: Vec<_> = measured.iter().map(cell).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    // The result is the median of the ratios of each round.
    let relative = |name: &str, values: &dyn Fn(&Measured) -> &Vec<f64>| {
        let haproxy = values(&measured[1]).clone();
        row(name, 2, &|one| {
            let ratios: Vec<_> =
                values(one).iter().zip(&haproxy).map(|(one, haproxy)| one / haproxy).collect();
            median(&ratios)
        });
    };
    row("throughput of 1 connection, GB/s", 2, &|one| median(&one.single));
    relative("- relative to HAProxy", &|one| &one.single);
    row("throughput of 8 connections, GB/s", 2, &|one| median(&one.several));
    relative("- relative to HAProxy", &|one| &one.several);
    row("CPU seconds per GB, 1 connection", 2, &|one| median(&one.single_cpu));
    relative("- relative to HAProxy", &|one| &one.single_cpu);
    row("CPU seconds per GB, 8 connections", 2, &|one| median(&one.several_cpu));
    relative("- relative to HAProxy", &|one| &one.several_cpu);
    row("CPU microseconds per echo, 32 connections", 1, &|one| median(&one.echo_cpu));
    relative("- relative to HAProxy", &|one| &one.echo_cpu);
    row("500 connects at once, first answer, p50 ms", 0, &|one| median(&one.half));
    row("- p99 ms", 0, &|one| median(&one.most));
    relative("- p99 relative to HAProxy", &|one| &one.most);
    row("KiB for each held idle connection", 1, &|one| one.memory);
}
