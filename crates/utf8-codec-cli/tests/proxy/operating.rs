//! `proxy` and `serve` in operation: unread logs, limits, signals, misbehaving peers.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::{self, sleep};
use std::time::Instant;

use crate::support::program::{Directory, PROGRAM, program, run, stderr};
use crate::support::server::{Server, get, read_all, read_line, read_to_reset, wait_for_metric};
use crate::support::wait::{wait_until, wait_until_constant};

#[test]
fn an_unread_stderr_blocks_neither_traffic_nor_signals() {
    for command in ["proxy", "serve"] {
        let mut server = Server::start_unread(&[command, "--on-error", "skip"]);
        // A pipe holds 64 KiB. The 100 reports of one connection are 15 KiB.
        for _ in 0..20 {
            let mut client = server.connect();
            client.write_all(&[b"\xFF".repeat(200), b"through\n".to_vec()].concat()).unwrap();
            assert_eq!(read_line(&mut client), "line 1: 7 characters: through\n", "{command}");
        }
        server.signal("TERM");
        assert_eq!(server.wait_for_exit().code(), Some(0), "{command}");
    }
}

/// Starts an upstream server that reads one connection to its end. It returns the bytes, and whether the connection was
/// reset.
fn ledger() -> (String, thread::JoinHandle<(String, bool)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut bytes = Vec::new();
        let reset = peer.read_to_end(&mut bytes).is_err();
        (String::from_utf8_lossy(&bytes).into_owned(), reset)
    });
    (address, server)
}

#[test]
fn a_rejected_stream_resets_the_connection_to_the_server() {
    for (flags, read, reset) in [
        (&[][..], "ls\nrm /home", true),
        (&["--on-rejection", "close"], "ls\nrm /home", false),
        (&["--hold", "nothing"], "ls\nrm /home\u{FFFD}", true),
        (&["--hold", "lines"], "ls\n", true),
        (&["--hold", "lines", "--on-rejection", "close"], "ls\n", false),
    ] {
        let (address, server) = ledger();
        let proxy = Server::start(&[&["proxy", "--upstream", &address, "--linger", "0.1"], flags].concat());
        let mut client = proxy.connect();
        client.write_all(b"ls\nrm /home\xC3/b\n").unwrap();
        assert_eq!(server.join().unwrap(), (read.to_owned(), reset), "{flags:?}");
    }
}

#[test]
fn a_reset_by_the_client_is_forwarded_as_a_reset() {
    let (address, server) = ledger();
    let (proxy, admin) = Server::start_with_admin(&["proxy", "--upstream", &address]);
    let mut client = proxy.connect();
    client.write_all(b"DELETE FROM t").unwrap();
    wait_for_metric(&admin, "utf8_codec_bytes_written_total{direction=\"requests\"} 13");
    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(server.join().unwrap(), ("DELETE FROM t".to_owned(), true));

    let (address, server) = ledger();
    let proxy = Server::start(&["proxy", "--upstream", &address]);
    assert_eq!(proxy.ask(&[b"DELETE FROM t WHERE a = 1"]), "");
    assert_eq!(server.join().unwrap(), ("DELETE FROM t WHERE a = 1".to_owned(), false));
}

#[test]
fn a_slow_server_receives_all_bytes_before_the_reset() {
    const GOOD: usize = 3_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let proxy = Server::start(&["proxy", "--upstream", &address, "--linger", "0"]);
    let mut client = proxy.connect();
    let writer = thread::spawn(move || {
        let _ = client.write_all(&[&[b'g'; GOOD][..], b"\xFF"].concat());
        client
    });
    let (mut peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut read, mut bytes) = (0, vec![0; 100_000]);
    // The linger time of 0 ends long before the server has read everything.
    while let Ok(1..) = peer.read(&mut bytes).inspect(|now| read += now) {
        sleep(Duration::from_millis(20));
    }
    assert_eq!(read, GOOD);
    drop(writer.join().unwrap());
}

#[test]
fn an_ill_formed_line_drops_only_the_line() {
    let answer = "{\"error\":\"line {line}, byte {offset}: {kind}\"}";
    let proxy = Server::start(&["proxy", "--framing", "lines", "--max-line", "30", "--answer", answer]);
    let mut client = proxy.connect();
    client.write_all(b"one\ntw\xFFo\n").unwrap();
    // The error reply may arrive before the responses of the server.
    let mut lines = [read_line(&mut client), read_line(&mut client)];
    lines.sort();
    assert_eq!(lines, ["line 1: 3 characters: one\n", "{\"error\":\"line 2, byte 6: InvalidLead\"}\n"]);
    client.write_all(&[b'x'; 40]).unwrap();
    assert_eq!(read_line(&mut client), "{\"error\":\"line 3, byte : TooLong\"}\n");
    client.write_all(b"\nfour\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut client), "line 2: 4 characters: four\n");
    let output = run(&mut program(&["proxy", "--answer", "x"]), b"");
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(2), "utf8-codec: --answer needs --framing lines\n")
    );
}

#[test]
fn a_connect_timeout_of_0_is_no_limit() {
    let proxy = Server::start(&["proxy", "--connect-timeout", "0"]);
    assert_eq!(proxy.ask(&[b"one\n"]), "line 1: 3 characters: one\n");
}

#[test]
fn report_mode_forwards_every_byte() {
    let proxy = Server::start(&["proxy", "--mode", "report"]);
    let answer = proxy.ask(&[b"a\xFFb\n", b"good\n"]);
    assert_eq!(
        answer,
        "line 1: ill-formed UTF-8 at byte 1 (InvalidLead, 1 byte)\nline 2: 4 characters: good\n"
    );
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    assert!(log.iter().any(|line| line["message"] == "the connection would have been rejected"), "{log:?}");
    assert!(log.iter().any(|line| line["end"] == "closed"), "{log:?}");
}

#[test]
fn a_burst_of_connections_waits_in_the_listen_queue() {
    let proxy = Server::start(&["proxy", "--max-connections", "1"]);
    let mut first = proxy.connect();
    first.write_all(b"one\n").unwrap();
    read_line(&mut first);
    // None of these is accepted. When the queue is full, the kernel drops the SYN, and a connect is retried after a
    // second.
    let address: SocketAddr = proxy.address.parse().unwrap();
    let burst: Vec<_> = (0..600)
        .map(|n| {
            TcpStream::connect_timeout(&address, Duration::from_millis(700)).unwrap_or_else(|_| panic!("{n}"))
        })
        .collect();
    assert_eq!(burst.len(), 600);
    drop((first, burst));
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    let full = log.iter().filter(|line| line["max_connections"] == 1).count();
    assert_eq!(full, 1, "a warning about the limit, at most every ten seconds");
}

#[test]
fn connections_are_limited_per_address() {
    let (proxy, admin) = Server::start_with_admin(&["proxy", "--max-connections-per-source", "2"]);
    let mut clients = [(); 2].map(|()| proxy.connect());
    for client in &mut clients {
        client.write_all(b"x\n").unwrap();
        read_line(client);
    }
    assert_eq!(read_to_reset(&mut proxy.connect()), "");
    let metrics = get(&admin, "/metrics").1;
    assert!(metrics.contains("utf8_codec_connections_total{end=\"too_many\"} 1\n"), "{metrics}");
    let [first, _second] = clients;
    drop(first);
    wait_until("the end of the first connection", || {
        let (mut client, mut answer) = (proxy.connect(), String::new());
        let asked = client.write_all(b"y\n").and_then(|()| client.shutdown(Shutdown::Write));
        asked.and(client.read_to_string(&mut answer)).is_ok_and(|_| answer == "line 1: 1 characters: y\n")
    });
}

#[test]
fn the_log_is_limited_per_address_and_counts_suppressed_lines() {
    let proxy = Server::start(&["proxy", "--on-error", "skip", "--log-rate", "10"]);
    for _ in 0..30 {
        assert_eq!(proxy.ask(&[&b"\xFF".repeat(200), b"\n"]), "line 1: 0 characters: \n");
    }
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    // The test runs for 10 seconds at one line per second. Without the limit, 30 connections would log 3,060 lines.
    let lines = log.iter().filter(|line| line.get("connection").is_some()).count();
    assert!((10..40).contains(&lines), "{lines}");
    let held_back: u64 = log.iter().filter_map(|line| line["lines"].as_u64()).sum();
    assert!(held_back > 2_900, "{held_back}: {log:?}");
}

#[test]
fn unlogged_lines_do_not_count_towards_the_limit() {
    let mut command = program(&["proxy", "--linger", "0.1", "--log-rate", "10"]);
    command.env("RUST_LOG", "warn");
    let proxy = Server::start_command(command);
    // The limit is one line per second. Each connection has a line of the level `info` at its end.
    for _ in 0..20 {
        assert_eq!(proxy.ask(&[b"a\n"]), "line 1: 1 characters: a\n");
    }
    proxy.ask_and_be_reset(&[b"\xFF"]);
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    let messages: Vec<_> = log.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["ill-formed UTF-8 at byte 0 (InvalidLead, 1 byte)"]);
}

#[test]
fn a_proxy_that_is_its_own_upstream_does_not_start() {
    let free = TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port();
    for (listen, upstream) in
        [("0.0.0.0", "127.0.0.1"), ("0.0.0.0", "127.0.0.2"), ("[::]", "127.0.0.1"), ("[::]", "[::1]")]
    {
        let (listen, upstream) = (format!("{listen}:{free}"), format!("{upstream}:{free}"));
        let output = run(&mut program(&["proxy", "--listen", &listen, "--upstream", &upstream]), b"");
        assert_eq!(output.status.code(), Some(2), "{listen} {upstream}");
        assert!(stderr(&output).contains("is this proxy"), "{}", stderr(&output));
    }
}

/// Runs `COMMAND` in a shell with limits on open files.
fn limited(limits: &str, flags: &str) -> String {
    let command =
        format!("{limits}; exec timeout -s TERM 1 {PROGRAM} proxy --listen 127.0.0.1:0 --log json {flags}");
    let output = Command::new("bash").args(["-c", &command]).stdout(Stdio::null()).output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_limit_of_open_files_limits_connections() {
    assert!(!limited("ulimit -S -n 256", "--max-connections 1024").contains("fewer connections"));
    let log = limited("ulimit -n 1024", "--max-connections 1024");
    assert!(log.contains("\"max_connections\":320") && log.contains("\"asked\":1024"), "{log}");
}

#[test]
fn sighup_does_not_end_the_program() {
    let directory = Directory::new();
    let path = directory.path("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut command = program(&["proxy"]);
    command.env("NOTIFY_SOCKET", &path);
    let proxy = Server::start_command(command);
    let state = || {
        let mut state = [0; 64];
        let len = manager.recv(&mut state).unwrap();
        String::from_utf8(state[..len].to_vec()).unwrap()
    };
    assert_eq!(state(), "READY=1");
    proxy.signal("HUP");
    assert_eq!(proxy.ask(&[b"alive\n"]), "line 1: 5 characters: alive\n");
    proxy.signal("TERM");
    assert_eq!(state(), "STOPPING=1");
    let address = proxy.address.clone();
    let (status, log) = proxy.wait();
    assert_eq!(status.code(), Some(0));
    let start =
        log.iter().find(|line| line["message"] == "accepting connections").expect("a line at the start");
    assert_eq!(start["listen"], *address);
    assert_eq!(log.last().unwrap()["message"], "stopped");
}

#[test]
fn connections_in_the_listen_queue_are_served_after_sigterm() {
    let proxy = Server::start(&["proxy"]);
    // The proxy is stopped while the kernel establishes the connections.
    proxy.signal("STOP");
    let clients: Vec<_> = (0..50).map(|_| proxy.connect()).collect();
    proxy.signal("TERM");
    proxy.signal("CONT");
    for mut client in clients {
        client.write_all(b"x\n").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_all(&mut client), "line 1: 1 characters: x\n");
    }
    assert_eq!(proxy.wait().0.code(), Some(0));
}

#[test]
fn serve_closes_only_idle_connections() {
    let server = Server::start(&["serve", "--idle-timeout", "1"]);
    let mut client = server.connect();
    // The total time exceeds the timeout, but no pause does.
    for _ in 0..8 {
        client.write_all(b"x").unwrap();
        sleep(Duration::from_millis(250));
    }
    client.write_all(b"\n").unwrap();
    assert_eq!(read_line(&mut client), "line 1: 8 characters: xxxxxxxx\n");
    let start = Instant::now();
    assert_eq!(read_all(&mut client), "");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn sessions_that_are_too_long_or_too_slow_are_reset() {
    let proxy = Server::start(&["proxy", "--max-session", "0.3"]);
    let mut client = proxy.connect();
    client.write_all(b"one\n").unwrap();
    assert_eq!(read_to_reset(&mut client), "line 1: 3 characters: one\n");
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    assert!(log.iter().any(|line| line["end"] == "too long"), "{log:?}");
}

#[test]
fn the_limits_apply_while_a_reset_waits_for_a_peer() {
    thread::scope(|scope| {
        // The minimum rate is measured over 10 seconds.
        for limit in [["--max-session", "2"], ["--min-rate", "1000"]] {
            scope.spawn(move || a_reset_does_not_wait_beyond(limit));
        }
    });
}

/// Starts a server that writes to one connection until it is reset, and then sends to the channel. Returns the number
/// of its writes, too.
fn flood() -> (String, Arc<AtomicU64>, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (ended, has_ended) = mpsc::channel();
    let writes = Arc::<AtomicU64>::default();
    let count = Arc::clone(&writes);
    thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        while peer.write_all(&[b'x'; 64 * 1024]).is_ok() {
            count.fetch_add(1, Relaxed);
        }
        ended.send(()).unwrap();
    });
    (address, writes, has_ended)
}

#[test]
fn a_reset_does_not_wait_for_a_peer_that_has_reset() {
    let (address, writes, has_ended) = flood();
    let proxy = Server::start(&["proxy", "--upstream", &address, "--linger", "0.1"]);
    let mut client = proxy.connect();
    wait_until_constant("the pipes to fill up", || writes.load(Relaxed));
    client.write_all(b"\xFF").unwrap();
    // After the linger time the proxy waits until the client reads.
    assert_eq!(has_ended.recv_timeout(Duration::from_secs(1)), Err(mpsc::RecvTimeoutError::Timeout));
    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(has_ended.recv_timeout(Duration::from_secs(30)), Ok(()));
}

fn a_reset_does_not_wait_beyond(limit: [&str; 2]) {
    let (address, writes, has_ended) = flood();
    let proxy = Server::start(&["proxy", "--upstream", &address, limit[0], limit[1], "--linger", "0.1"]);
    // The client does not read, so most of the responses are never acknowledged.
    let mut client = proxy.connect();
    wait_until_constant("the pipes to fill up", || writes.load(Relaxed));
    client.write_all(b"\xFF").unwrap();
    assert_eq!(
        has_ended.recv_timeout(Duration::from_secs(30)),
        Ok(()),
        "{limit:?}: the connection to the server is reset"
    );
}
