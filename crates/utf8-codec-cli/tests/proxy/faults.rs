//! `proxy` under faults: no free descriptors, a full disk, servers that stop and restart, slow and hostile peers.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, sleep};

use crate::support::server::{Server, read_line, read_to_reset};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use socket2::{Domain, Socket, Type};

/// Sets the soft limit of open files of a running server.
fn limit_descriptors(server: &Server, soft: u64) {
    // The program has inherited the hard limit of this process.
    let limits = Rlimit { current: Some(soft), maximum: getrlimit(Resource::Nofile).maximum };
    prlimit(Pid::from_raw(server.id() as i32), Resource::Nofile, limits).unwrap();
}

/// Returns the lowest descriptor that is not open. With this value as the limit, no descriptor can be opened.
fn lowest_free_descriptor(server: &Server) -> u64 {
    let is_free = |n: &u64| fs::symlink_metadata(format!("/proc/{}/fd/{n}", server.id())).is_err();
    (0..).find(is_free).unwrap()
}

#[test]
fn without_free_descriptors_only_new_connections_wait() {
    let proxy = Server::start(&["proxy"]);
    let mut held = [(); 10].map(|()| proxy.connect());
    for client in &mut held {
        client.write_all(b"x\n").unwrap();
        assert_eq!(read_line(client), "line 1: 1 characters: x\n");
    }
    limit_descriptors(&proxy, lowest_free_descriptor(&proxy));
    let mut waiting = [(); 10].map(|()| proxy.connect());
    for client in &mut waiting {
        client.write_all(b"later\n").unwrap();
    }
    for client in &mut held {
        client.write_all(b"y\n").unwrap();
        assert_eq!(read_line(client), "line 2: 1 characters: y\n");
    }
    waiting[0].set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let early = waiting[0].read(&mut [0]).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::WouldBlock, "there is no descriptor for it");
    waiting[0].set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The closed connections free descriptors for the waiting ones.
    drop(held);
    for client in &mut waiting {
        assert_eq!(read_line(client), "line 1: 5 characters: later\n");
    }
    proxy.signal("TERM");
    drop(waiting);
    let (status, log) = proxy.wait();
    assert_eq!(status.code(), Some(0));
    let warnings = log.iter().filter(|line| line["message"] == "cannot accept a connection").count();
    assert!((1..100).contains(&warnings), "{warnings} lines: a loop that does not pause");
}

#[test]
fn a_log_on_a_full_disk_blocks_neither_traffic_nor_shutdown() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut proxy =
        Server::start_with_stderr(&["proxy", "--on-error", "skip", "--log-rate", "1000000"], full);
    for _ in 0..20 {
        assert_eq!(proxy.ask(&[&b"\xFF".repeat(200), b"through\n"]), "line 1: 7 characters: through\n");
    }
    proxy.signal("TERM");
    assert_eq!(proxy.wait_for_exit().code(), Some(0));
}

/// Starts an echo server that repeatedly accepts connections for some milliseconds, resets them, and closes its
/// listener for some milliseconds.
fn flapping(address: SocketAddr, stop: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            listener.set_reuse_address(true).unwrap();
            listener.bind(&address.into()).unwrap();
            listener.listen(128).unwrap();
            listener.set_nonblocking(true).unwrap();
            let mut peers: Vec<TcpStream> = Vec::new();
            for _ in 0..30 {
                while let Ok((peer, _)) = listener.accept() {
                    // Dropping the socket then resets the connection.
                    peer.set_linger(Some(Duration::ZERO)).unwrap();
                    peer.set_nonblocking(true).unwrap();
                    peers.push(peer.into());
                }
                peers.retain_mut(|peer| {
                    let mut bytes = [0; 1000];
                    match peer.read(&mut bytes) {
                        Ok(0) => {
                            socket2::SockRef::from(&*peer).set_linger(None).unwrap();
                            false
                        }
                        Ok(read) => peer.write_all(&bytes[..read]).is_ok(),
                        Err(error) => error.kind() == ErrorKind::WouldBlock,
                    }
                });
                sleep(Duration::from_millis(1));
            }
            drop((listener, peers));
            sleep(Duration::from_millis(10));
        }
    })
}

#[test]
fn a_flapping_server_gives_a_whole_reply_or_a_reset() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stop = Arc::<AtomicBool>::default();
    let server = flapping(address, Arc::clone(&stop));
    let proxy = Server::start(&["proxy", "--upstream", &address.to_string()]);
    let text = "größer \u{1F4A9}\n".repeat(2_000);
    let (mut complete, mut reset) = (0, 0);
    for _ in 0..200 {
        let mut client = match proxy.try_connect() {
            Ok(client) => client,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                reset += 1;
                continue;
            }
        };
        let written = client.write_all(text.as_bytes()).and_then(|()| client.shutdown(Shutdown::Write));
        let mut answer = Vec::new();
        // The system reports a reset only once, either to the write or to the read.
        match written.and(client.read_to_end(&mut answer)) {
            Ok(_) => {
                assert!(answer == text.as_bytes(), "{} bytes and a normal end", answer.len());
                complete += 1;
            }
            Err(error) => {
                use ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
                assert!(matches!(error.kind(), ConnectionReset | BrokenPipe | NotConnected), "{error}");
                assert!(text.as_bytes().starts_with(&answer));
                reset += 1;
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    server.join().unwrap();
    assert!(complete > 0 && reset > 0, "{complete} complete, {reset} reset");
}

/// Returns the resident memory in KiB.
fn resident(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
fn memory_does_not_grow_with_the_number_of_connections() {
    let proxy = Server::start(&["proxy", "--linger", "0.05"]);
    let round = |count| {
        let mut clients: Vec<_> = (0..count).map(|_| proxy.connect()).collect();
        for (n, client) in clients.iter_mut().enumerate() {
            let bytes = if n % 5 == 0 { &b"bad \xFF\n"[..] } else { b"good\n" };
            client.write_all(bytes).unwrap();
        }
        for (n, client) in clients.iter_mut().enumerate() {
            if n % 5 == 0 {
                read_to_reset(client);
            } else {
                assert_eq!(read_line(client), "line 1: 4 characters: good\n");
            }
        }
    };
    // Connections of one round may still be open when the next round begins. These rounds open more at a time than the
    // later ones, so the heap is near its maximum size.
    (0..10).for_each(|_| round(100));
    // The heap, the stacks, and the buffers of the log grow and shrink by some 100 KiB. Their minimum changes less.
    let minimum = || {
        let after = |_| {
            (0..10).for_each(|_| round(50));
            resident(&proxy)
        };
        (0..8).map(after).min().unwrap()
    };
    let (before, after) = (minimum(), minimum());
    // 1,024 KiB is 1/4 KiB for each of 4,000 connections.
    assert!(after < before + 1024, "{after} KiB, {before} KiB 4,000 connections before");
}

#[test]
fn a_connection_below_the_minimum_rate_is_reset() {
    let proxy = Server::start(&["proxy", "--min-rate", "100"]);
    let mut fast = proxy.connect();
    let mut slow = proxy.connect();
    slow.write_all(b"slow\n").unwrap();
    // The rate is measured over 10 seconds.
    for n in 1..=24 {
        fast.write_all(&[b'x'; 1000]).unwrap();
        fast.write_all(b"\n").unwrap();
        assert!(read_line(&mut fast).starts_with(&format!("line {n}: 1000 characters")));
        sleep(Duration::from_millis(500));
    }
    assert_eq!(read_to_reset(&mut slow), "line 1: 4 characters: slow\n");
    proxy.signal("TERM");
    drop(fast);
    let (_, log) = proxy.wait();
    let slow = log.iter().filter(|line| line["end"] == "too slow").count();
    assert_eq!(slow, 1, "{log:?}");
}

#[test]
fn many_errors_of_one_client_do_not_delay_the_echo_of_another() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // The first byte selects an echo, or a flood that is read and dropped.
    thread::spawn(move || {
        for peer in listener.incoming() {
            let mut peer = peer.unwrap();
            peer.set_nodelay(true).unwrap();
            thread::spawn(move || {
                let mut bytes = [0; 64 * 1024];
                let mut echoes = None;
                while let Ok(read @ 1..) = peer.read(&mut bytes) {
                    if *echoes.get_or_insert(bytes[0] == b'e') && peer.write_all(&bytes[..read]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let proxy = Server::start(&["proxy", "--upstream", &address, "--on-error", "replace"]);
    let (sent, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
    let floods = [(); 4].map(|()| {
        let (mut client, sent, stop) = (proxy.connect(), Arc::clone(&sent), Arc::clone(&stop));
        client.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        thread::spawn(move || {
            client.write_all(b"f").unwrap();
            // At most 1 GB.
            for _ in 0..16 * 1024 {
                if stop.load(Ordering::Relaxed) {
                    return true;
                }
                client.write_all(&[0xFF; 64 * 1024]).unwrap();
                sent.fetch_add(64 * 1024, Ordering::Relaxed);
            }
            false
        })
    });
    let mut client = proxy.connect();
    let mut passed = Vec::new();
    for _ in 0..50 {
        let before = sent.load(Ordering::Relaxed);
        client.write_all(b"echo\n").unwrap();
        assert_eq!(read_line(&mut client), "echo\n");
        passed.push(sent.load(Ordering::Relaxed) - before);
    }
    stop.store(true, Ordering::Relaxed);
    assert!(floods.into_iter().all(|flood| flood.join().unwrap()), "the flood ended before the echoes");
    // The limit is what four connections transfer in a few polls of the relay. Without a budget per poll, the relay
    // would empty their socket buffers first.
    passed.sort_unstable();
    let median = passed[passed.len() / 2];
    assert!(median < 16 << 20, "{median} bytes of errors during an echo");
}
