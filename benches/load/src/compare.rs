//! Compares the proxy with others: throughput, CPU time, latency, memory. Rounds are interleaved and medians are used,
//! because other work on the machine disturbs single rounds.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::memory::{held_memory, hold};
use crate::peers::{Behavior, Server, ping};
use crate::process::{self, Proxy};
use crate::scenario::{Run, Tally, percentile};
use crate::streams::burst;

/// HAProxy is the second, and the others are compared with it. `before` is an earlier build, if one is given.
const NAMES: [&str; 6] = ["utf8-codec", "HAProxy", "nginx", "socat", "tokio", "before"];

/// The number of simultaneous connects in a burst.
const BURST: u32 = 500;

/// The least throughput of one connection, relative to HAProxy, without a warning.
const LEAST: f64 = 0.9;

/// A load of bulk connections.
struct Bulk {
    name: &'static str,
    connections: usize,
    /// The length of a segment of the client, as on Ethernet. On loopback it is 64 KiB.
    segment: Option<u32>,
}

const BULK: [Bulk; 4] = [
    Bulk { name: "1 connection", connections: 1, segment: None },
    Bulk { name: "8 connections", connections: 8, segment: None },
    Bulk { name: "64 connections", connections: 64, segment: None },
    Bulk { name: "1 connection, segments of 1,448 bytes", connections: 1, segment: Some(1448) },
];

/// The measurements of one proxy: a value for each round.
#[derive(Debug, Default)]
struct Measured {
    /// GB/s and CPU seconds per GB of each bulk load.
    bulk: [[Vec<f64>; 2]; BULK.len()],
    /// The resident memory at most, in MiB.
    peak: Vec<f64>,
    /// CPU microseconds of an echo of 5 bytes.
    echo_cpu: Vec<f64>,
    /// The 99th percentiles of the time of an echo in microseconds.
    echo: Vec<f64>,
    echo_beside_bulk: Vec<f64>,
    half: Vec<f64>,
    most: Vec<f64>,
    memory: Option<f64>,
}

fn start(run: &Run, name: &str, upstream: SocketAddr) -> Option<Proxy> {
    match name {
        "utf8-codec" => Some(run.proxy(upstream, &[])),
        "before" => Some(Proxy::ours(run.before.as_ref()?, upstream, &[])),
        name => Proxy::other(name, upstream, &run.directory),
    }
}

/// Returns the indices of the proxies for a round. The order is reversed in every second round.
fn order(round: u32) -> Vec<usize> {
    let mut order: Vec<_> = (0..NAMES.len()).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
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

fn connect(address: SocketAddr, segment: Option<u32>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if let Some(segment) = segment {
        socket.set_tcp_mss(segment)?;
    }
    socket.connect(&address.into())?;
    Ok(socket.into())
}

/// Sends text through a proxy, `times` times in total. Returns the time, and the number of connections that lost bytes.
fn send(text: &'static [u8], address: SocketAddr, bulk: &'static Bulk, times: usize) -> (Duration, Tally) {
    let times = times / bulk.connections;
    let start = Instant::now();
    let sender = move || {
        let mut stream = connect(address, bulk.segment)?;
        stream.set_read_timeout(Some(crate::peers::TIMEOUT))?;
        stream.set_write_timeout(Some(crate::peers::TIMEOUT))?;
        for chunk in (0..times).flat_map(|_| text.chunks(256 * 1024)) {
            stream.write_all(chunk)?;
        }
        stream.shutdown(Shutdown::Write)?;
        let mut count = [0; 16];
        stream.read_exact(&mut count)?;
        io::Result::Ok(String::from_utf8_lossy(&count).into_owned())
    };
    let senders: Vec<_> = (0..bulk.connections).map(|_| thread::spawn(sender)).collect();
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
        for n in order(round) {
            let Some(proxy) = &proxies[n] else { continue };
            for (bulk, [rates, cpus]) in BULK.iter().zip(&mut measured[n].bulk) {
                let before = proxy.cpu();
                let address = proxy.address;
                let sent = tokio::task::spawn_blocking(move || send(text, address, bulk, times));
                let (time, tally) = sent.await.expect("no panic");
                cpus.push((proxy.cpu() - before).as_secs_f64() / gigabytes);
                rates.push(gigabytes / time.as_secs_f64());
                lost += lost_by(NAMES[n], tally);
            }
            measured[n].peak = vec![proxy.peak_memory() / 1024.0];
        }
    }
    drop(proxies);

    let server = Server::start();
    // socat is not measured, because it starts a process for each connection.
    let start = |name: &&str| if *name == "socat" { None } else { start(run, name, server.address) };
    let proxies: Vec<_> = NAMES.iter().map(start).collect();
    for round in 0..run.scaled(10, 4) {
        eprintln!("bursts and echoes, round {}", round + 1);
        for n in order(round) {
            let Some(proxy) = &proxies[n] else { continue };
            let measured = &mut measured[n];
            let (tally, mut times) = burst(proxy.address, BURST).await;
            lost += lost_by(NAMES[n], tally);
            times.sort();
            measured.half.push(percentile(&times, 0.5).as_secs_f64() * 1e3);
            measured.most.push(percentile(&times, 0.99).as_secs_f64() * 1e3);
            let count = run.scaled(40_000, 10_000);
            let before = proxy.cpu();
            let (tally, _) = echoes(proxy.address, 32, count, Duration::ZERO).await;
            measured.echo_cpu.push((proxy.cpu() - before).as_secs_f64() * 1e6 / f64::from(count));
            lost += lost_by(NAMES[n], tally);
            let (tally, most) = echoes(proxy.address, 8, count / 4, Duration::ZERO).await;
            measured.echo.push(most);
            lost += lost_by(NAMES[n], tally);
            let flood = Flood::start(proxy.address, text);
            let (tally, most) = echoes(proxy.address, 8, count / 20, Duration::from_millis(1)).await;
            drop(flood);
            measured.echo_beside_bulk.push(most);
            lost += lost_by(NAMES[n], tally);
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

/// Sends echoes on some connections at the same time, with a pause after each. Returns the 99th percentile of their times
/// in microseconds.
async fn echoes(address: SocketAddr, connections: u32, count: u32, pause: Duration) -> (Tally, f64) {
    let (mut tally, streams) = hold(address, connections).await;
    let mut tasks = tokio::task::JoinSet::new();
    for mut stream in streams {
        tasks.spawn(async move {
            let mut times = Vec::new();
            for _ in 0..count / connections {
                let start = Instant::now();
                ping(&mut stream).await?;
                times.push(start.elapsed());
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
            Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        times.extend(tally.count(ended.expect("no panic")).unwrap_or_default());
    }
    times.sort();
    (tally, percentile(&times, 0.99).as_secs_f64() * 1e6)
}

/// A connection that sends text without a pause until it is dropped.
struct Flood {
    stream: TcpStream,
    sender: Option<thread::JoinHandle<()>>,
}

impl Flood {
    fn start(address: SocketAddr, text: &'static [u8]) -> Self {
        let stream = connect(address, None).expect("a connection");
        let mut sending = stream.try_clone().expect("a descriptor");
        let sender = thread::spawn(move || {
            let _ = sending.write_all(Behavior::Record.header(u32::MAX).as_bytes());
            while sending.write_all(text).is_ok() {}
        });
        Self { stream, sender: Some(sender) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        self.sender.take().map(thread::JoinHandle::join);
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn print(measured: &[Measured]) {
    // A column for each proxy that was measured.
    let shown: Vec<_> = (0..NAMES.len()).filter(|&n| measured[n].memory.is_some()).collect();
    let names: Vec<_> = shown.iter().map(|&n| NAMES[n]).collect();
    println!("| | {} |\n|---|{}", names.join(" | "), "--:|".repeat(names.len()));
    let row = |name: &str, digits: usize, value: &dyn Fn(&Measured) -> Option<f64>| {
        let cell =
            |&n: &usize| value(&measured[n]).map_or("-".to_owned(), |value| format!("{value:.digits$}"));
        let cells: Vec<_> = shown.iter().map(cell).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    // The row, and the medians of the ratios of each round to HAProxy.
    let compared = |name: &str, digits: usize, values: &dyn Fn(&Measured) -> &Vec<f64>| {
        row(name, digits, &|one| median(values(one)));
        row("- relative to HAProxy", 2, &|one| relative(values(one), values(&measured[1])));
    };
    for (n, bulk) in BULK.iter().enumerate() {
        compared(&format!("GB/s, {}", bulk.name), 2, &|one| &one.bulk[n][0]);
        compared(&format!("CPU seconds per GB, {}", bulk.name), 2, &|one| &one.bulk[n][1]);
    }
    compared("CPU microseconds per echo, 32 connections", 1, &|one| &one.echo_cpu);
    compared("p99 of an echo in microseconds, 8 connections", 0, &|one| &one.echo);
    compared("- beside a connection at full speed", 0, &|one| &one.echo_beside_bulk);
    row("500 connects at once, first answer, p50 ms", 0, &|one| median(&one.half));
    compared("- p99 ms", 0, &|one| &one.most);
    row("KiB for each held idle connection", 1, &|one| one.memory);
    row("MiB at most, in the bulk rows", 1, &|one| median(&one.peak));
    let single = relative(&measured[0].bulk[0][0], &measured[1].bulk[0][0]);
    if let Some(ratio) = single.filter(|&ratio| ratio < LEAST) {
        println!(
            "\n**Warning:** one connection has {ratio:.2} of the throughput of HAProxy, less than {LEAST}."
        );
    }
}

/// Returns the median of the ratios of each round.
fn relative(values: &[f64], haproxy: &[f64]) -> Option<f64> {
    let ratios: Vec<_> = values.iter().zip(haproxy).map(|(one, haproxy)| one / haproxy).collect();
    median(&ratios)
}
