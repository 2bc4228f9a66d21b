//! `proxy` and `serve` in operation: unread logs, limits, signals, misbehaving peers.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Instant;

use crate::support::program::{Directory, PROGRAM, program, run, stderr};
use crate::support::server::{Server, get, read_all, read_line, read_to_reset};

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
        (String::from_utf8(bytes).unwrap(), reset)
    });
    (address, server)
}

#[test]
fn a_rejected_stream_resets_the_connection_to_the_server() {
    for (flags, read, reset) in [
        (&[][..], "ls\nrm /home", true),
        (&["--on-rejection", "close"], "ls\nrm /home", false),
        (&["--hold", "lines"], "ls\n", true),
        (&["--hold", "lines", "--on-rejection", "close"], "ls\n", false),
    ] {
        let (address, server) = ledger();
        let proxy = Server::start(&[&["proxy", "--upstream", &address, "--linger", "0.1"], flags].concat());
        let mut client = proxy.connect();
        client.write_all(b"ls\nrm /home\xFF/b\n").unwrap();
        assert_eq!(server.join().unwrap(), (read.to_owned(), reset), "{flags:?}");
    }
}

#[test]
fn a_reset_by_the_client_is_forwarded_as_a_reset() {
    let (address, server) = ledger();
    let proxy = Server::start(&["proxy", "--upstream", &address]);
    let mut client = proxy.connect();
    client.write_all(b"DELETE FROM t").unwrap();
    sleep(Duration::from_millis(200));
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
    let (proxy, admin) = with_admin(&["--max-connections-per-source", "2"]);
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
    sleep(Duration::from_millis(300));
    assert_eq!(proxy.ask(&[b"y\n"]), "line 1: 1 characters: y\n");
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
    sleep(Duration::from_millis(100));
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

/// Starts a server that writes to one connection until it is reset, and then sends to the channel.
fn flood() -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (ended, has_ended) = mpsc::channel();
    thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        while peer.write_all(&[b'x'; 64 * 1024]).is_ok() {}
        ended.send(()).unwrap();
    });
    (address, has_ended)
}

#[test]
fn a_reset_does_not_wait_for_a_peer_that_has_reset() {
    let (address, has_ended) = flood();
    let proxy = Server::start(&["proxy", "--upstream", &address, "--linger", "0.1"]);
    let mut client = proxy.connect();
    sleep(Duration::from_secs(1));
    client.write_all(b"\xFF").unwrap();
    // The linger time is over, and the proxy waits until the client reads.
    sleep(Duration::from_secs(1));
    assert_eq!(has_ended.try_recv(), Err(mpsc::TryRecvError::Empty));
    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(has_ended.recv_timeout(Duration::from_secs(30)), Ok(()));
}

fn a_reset_does_not_wait_beyond(limit: [&str; 2]) {
    let (address, has_ended) = flood();
    let proxy = Server::start(&["proxy", "--upstream", &address, limit[0], limit[1], "--linger", "0.1"]);
    // The client does not read, so most of the responses are never acknowledged.
    let mut client = proxy.connect();
    sleep(Duration::from_secs(1));
    client.write_all(b"\xFF").unwrap();
    assert_eq!(
        has_ended.recv_timeout(Duration::from_secs(30)),
        Ok(()),
        "{limit:?}: the connection to the server is reset"
    );
}

#[test]
fn a_rejected_bom_is_not_counted_as_repaired() {
    let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let options = ["--admin", &admin, "--linger", "0.1", "--on-error", "replace", "--bom", "reject"];
    let proxy = Server::start(&[&["proxy"], &options[..]].concat());
    assert_eq!(proxy.ask(&[b"a\xFF\n"]), "line 1: 2 characters: a\u{FFFD}\n");
    proxy.ask_and_be_reset(&["\u{FEFF}a\n".as_bytes()]);
    let (_, metrics) = get(&admin, "/metrics");
    for line in [
        "utf8_codec_repaired_total{direction=\"requests\"} 1",
        "utf8_codec_rejected_total{direction=\"requests\"} 1",
        "utf8_codec_ill_formed_total{direction=\"requests\",kind=\"UnexpectedBom\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
}

/// Starts a proxy with an admin listener, and returns the address of the latter.
fn with_admin(flags: &[&str]) -> (Server, String) {
    let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    (Server::start(&[&["proxy", "--admin", &admin], flags].concat()), admin)
}

#[test]
fn each_rejected_stream_is_counted_and_listed_with_its_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        sleep(Duration::from_millis(300));
        peer.write_all(b"no\xFF").unwrap();
        sleep(Duration::from_secs(10));
    });
    let (proxy, admin) = with_admin(&["--upstream", &address, "--linger", "2"]);
    let mut client = proxy.connect();
    client.write_all(b"a\xC0").unwrap();
    assert_eq!(read_to_reset(&mut client), "no");
    assert_eq!(listed(&admin), [("responses", 2.into(), "InvalidLead"), ("requests", 1.into(), "Overlong")]);
    let metrics = get(&admin, "/metrics").1;
    for direction in ["requests", "responses"] {
        let line = format!("utf8_codec_rejected_total{{direction=\"{direction}\"}} 1");
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }

    let (proxy, admin) = with_admin(&["--mode", "report", "--direction", "requests"]);
    proxy.ask(&[b"abc\xFF\n"]);
    assert_eq!(listed(&admin), [("requests", 3.into(), "InvalidLead")]);

    let (proxy, admin) = with_admin(&["--hold", "lines", "--max-line", "3", "--linger", "0.1"]);
    proxy.ask_and_be_reset(&[b"abcd\n"]);
    assert_eq!(listed(&admin), [("requests", serde_json::Value::Null, "TooLong")]);
}

/// Returns the direction, the offset and the kind of each rejection that the admin listener lists.
fn listed(admin: &str) -> Vec<(&'static str, serde_json::Value, &'static str)> {
    let rejections: Vec<serde_json::Value> = serde_json::from_str(&get(admin, "/rejections").1).unwrap();
    let text = |value: &serde_json::Value| -> &'static str { value.as_str().unwrap().to_owned().leak() };
    rejections
        .iter()
        .map(|rejection| {
            (text(&rejection["direction"]), rejection["offset"].clone(), text(&rejection["kind"]))
        })
        .collect()
}

#[test]
fn a_connection_to_the_admin_listener_has_one_request() {
    let (_proxy, admin) = with_admin(&[]);
    let mut client = TcpStream::connect(&admin).unwrap();
    // Less than the time limit of a connection.
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let answer = read_all(&mut client);
    assert!(answer.contains("connection: close\r\n") && answer.ends_with("ready\n"), "{answer}");
}

#[test]
fn idle_admin_connections_do_not_delay_a_health_check() {
    let (_proxy, admin) = with_admin(&[]);
    let start = Instant::now();
    let _idle: Vec<_> = (0..50).map(|_| TcpStream::connect(&admin).unwrap()).collect();
    assert_eq!(get(&admin, "/readyz"), (200, "ready\n".to_owned()));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn the_admin_listener_serves_metrics_and_readiness() {
    let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let proxy = Server::start(&["proxy", "--admin", &admin, "--linger", "0.1", "--grace", "20"]);
    assert_eq!(get(&admin, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&admin, "/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(proxy.ask(&[b"good\n"]), "line 1: 4 characters: good\n");
    proxy.ask_and_be_reset(&[b"secret\n\xED\xA0\x80"]);
    let mut open = proxy.connect();
    open.write_all(b"open\n").unwrap();
    read_line(&mut open);
    open.write_all(b"\xE2\x82").unwrap();
    sleep(Duration::from_millis(300));

    let (status, metrics) = get(&admin, "/metrics");
    assert_eq!(status, 200);
    for line in [
        "utf8_codec_connections_open 1",
        "utf8_codec_connections_total{end=\"closed\"} 1",
        "utf8_codec_connections_total{end=\"rejected\"} 1",
        "utf8_codec_connections_total{end=\"unreachable\"} 0",
        "utf8_codec_bytes_read_total{direction=\"requests\"} 22",
        "utf8_codec_bytes_written_total{direction=\"requests\"} 17",
        "utf8_codec_ill_formed_total{direction=\"requests\",kind=\"Surrogate\"} 1",
        "utf8_codec_rejected_total{direction=\"requests\"} 1",
        "utf8_codec_repaired_total{direction=\"requests\"} 0",
        "utf8_codec_held_bytes{direction=\"requests\"} 2",
        "utf8_codec_held_bytes{direction=\"responses\"} 0",
        "utf8_codec_log_lines_dropped_total 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
    let (_, rejections) = get(&admin, "/rejections");
    let rejections: serde_json::Value = serde_json::from_str(&rejections).unwrap();
    assert_eq!((&rejections[0]["offset"], &rejections[0]["kind"]), (&7.into(), &"Surrogate".into()));
    assert!(!rejections.to_string().contains("secret"));
    assert!(get(&admin, "/").1.contains("Last rejections"));
    assert_eq!(get(&admin, "/nothing").0, 404);

    proxy.signal("TERM");
    sleep(Duration::from_millis(200));
    assert_eq!(get(&admin, "/readyz"), (503, "draining\n".to_owned()));
    assert_eq!(get(&admin, "/healthz").0, 200);
}

#[test]
fn the_format_of_the_metrics_is_the_one_that_accept_asks_for() {
    let (_proxy, admin) = with_admin(&[]);
    let metrics = |accept: &str| {
        let mut client = TcpStream::connect(&admin).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(client, "GET /metrics HTTP/1.1\r\nhost: x\r\n{accept}\r\n").unwrap();
        let response = read_all(&mut client);
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let content_type = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap();
        (content_type.to_owned(), body.to_owned())
    };
    for accept in ["", "accept: */*\r\n", "accept: text/plain\r\n", "accept: text/plain; version=0.0.4\r\n"] {
        let (content_type, text) = metrics(accept);
        assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8", "{accept}");
        // What `promtool check metrics` checks: a counter has the name of its samples and a help text.
        assert!(!text.contains("# EOF"));
        let described = |kind: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(kind));
            lines.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
        };
        assert_eq!(described("HELP"), described("TYPE"));
        let sampled = text.lines().filter(|line| !line.starts_with('#'));
        let mut sampled: Vec<&str> = sampled.map(|line| line.split(['{', ' ']).next().unwrap()).collect();
        sampled.dedup();
        let has_samples = |name: &&String| *name != "utf8_codec_ill_formed_total";
        assert!(described("TYPE").iter().filter(has_samples).eq(&sampled), "{text}");
        assert!(text.lines().filter(|line| line.ends_with(" counter")).all(|line| line.contains("_total ")));
    }
    let prometheus = "accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2\r\n";
    for accept in [prometheus, "accept: application/openmetrics-text\r\n"] {
        let (content_type, text) = metrics(accept);
        assert_eq!(content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(
            text.contains("# TYPE utf8_codec_connections counter\n") && text.ends_with("# EOF\n"),
            "{text}"
        );
    }
}

#[test]
fn the_admin_page_has_words_for_every_metric() {
    let (_proxy, admin) = with_admin(&[]);
    let (metrics, page) = (get(&admin, "/metrics").1, get(&admin, "/").1);
    let names = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE utf8_codec_")?.split(' ').next());
    let missing: Vec<&str> = names.filter(|name| !page.contains(&format!(" {name}: \""))).collect();
    assert_eq!(missing, [""; 0]);
}
