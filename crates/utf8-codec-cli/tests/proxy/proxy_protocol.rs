//! The PROXY protocol: accepted from named peers, and sent to the server.

use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use serde_json::Value;

use crate::support::program::Directory;
use crate::support::server::{Server, read_all, read_line, read_to_reset, wait_for_metric};

const V1: &[u8] = b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 25\r\n";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0C\xCB\0\x71\x07\xC0\0\x02\x01\x12\x67\0\x19";
const UNKNOWN: &[u8] = b"PROXY UNKNOWN\r\n";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

/// The log lines with this message.
fn logged(proxy: Server, message: &str) -> Vec<Value> {
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    log.into_iter().filter(|line| line["message"].as_str().is_some_and(|it| it.contains(message))).collect()
}

/// A server that reads one connection to its end.
fn upstream() -> (String, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let read = move || {
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).unwrap();
        bytes
    };
    (address, thread::spawn(read))
}

#[test]
fn the_address_in_the_header_is_logged_and_sent_on() {
    for (received, version, sent) in [(V1, "v2", V2), (V2, "v1", V1), (V1, "v1", V1), (V2, "v2", V2)] {
        let (address, server) = upstream();
        let options = ["proxy", "--accept-proxy-protocol", "127.0.0.0/8", "--send-proxy-protocol", version];
        let proxy = Server::start(&[&options[..], &["--upstream", &address]].concat());
        // In the first piece, and cut inside the header.
        let pieces = [&received[..20], &[&received[20..], b"gr\xC3"].concat(), b"\xBCn\n"];
        assert_eq!(proxy.ask(&pieces), "");
        assert_eq!(server.join().unwrap(), [sent, "grün\n".as_bytes()].concat());
        let closed = logged(proxy, "connection closed");
        assert_eq!(
            (&closed[0]["peer"], &closed[0]["request_bytes"]),
            (&"203.0.113.7:4711".into(), &6.into())
        );
    }
}

#[test]
fn offsets_count_from_the_first_byte_after_the_header() {
    let options = ["--accept-proxy-protocol", "::1,127.0.0.1", "--linger", "0.1"];
    for command in [&["proxy"][..], &["proxy", "--send-proxy-protocol", "v2"], &["serve"]] {
        let options = if command[0] == "serve" { &options[..2] } else { &options };
        let server = Server::start(&[command, options].concat());
        let mut client = server.connect();
        client.write_all(&[V1, b"ok\na\xFF\n"].concat()).unwrap();
        assert_eq!(read_line(&mut client), "line 1: 2 characters: ok\n");
        drop(client);
        let reports = server.reports();
        let seen = (&reports[0]["offset"], &reports[0]["peer"]);
        assert_eq!(seen, (&4.into(), &"203.0.113.7:4711".into()), "{command:?}");
    }
}

#[test]
fn a_header_without_addresses_leaves_those_of_the_connection() {
    let proxy = Server::start(&["proxy", "--accept-proxy-protocol", "127.0.0.1"]);
    for header in [UNKNOWN, LOCAL] {
        assert_eq!(proxy.ask(&[header, b"x\n"]), "line 1: 1 characters: x\n");
    }
    let closed = logged(proxy, "connection closed");
    assert_eq!(closed.iter().filter(|line| line["peer"].as_str().unwrap().starts_with("127.")).count(), 2);
}

#[test]
fn a_header_of_another_peer_is_text() {
    let proxy = Server::start(&["proxy", "--accept-proxy-protocol", "192.0.2.0/24,unix"]);
    let line = str::from_utf8(V1).unwrap().trim_end();
    assert_eq!(proxy.ask(&[V1]), format!("line 1: {} characters: {line}\n", line.len()));
}

#[test]
fn a_connection_without_a_valid_header_is_counted_logged_and_reset() {
    let (proxy, admin) = Server::start_with_admin(&["proxy", "--accept-proxy-protocol", "127.0.0.1"]);
    for (number, bytes) in
        [(1, &b"hello\n"[..]), (2, b"PROXY TCP4 203.0.113.7\r\n"), (3, &V2[..20]), (4, b"")]
    {
        let mut client = proxy.connect();
        client.write_all(bytes).unwrap();
        // It may be reset already.
        let _ = client.shutdown(Shutdown::Write);
        assert_eq!(read_to_reset(&mut client), "");
        wait_for_metric(&admin, &format!("utf8_codec_connections_total{{end=\"no_header\"}} {number}"));
    }
    let mut silent = proxy.connect();
    assert_eq!(read_to_reset(&mut silent), "");
    wait_for_metric(&admin, "utf8_codec_connections_total{end=\"no_header\"} 5");
    wait_for_metric(&admin, "utf8_codec_connections_open 0");
    let lines = logged(proxy, "no valid PROXY protocol header");
    let reasons = ["first bytes", "malformed", "ended inside", "ended before", "5 seconds"];
    assert_eq!(lines.len(), reasons.len(), "{lines:?}");
    for (line, reason) in lines.iter().zip(reasons) {
        assert!(line["message"].as_str().unwrap().contains(reason), "{line}");
        assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    }
}

#[test]
fn the_limit_per_source_is_that_of_the_client_in_the_header() {
    let options = ["--accept-proxy-protocol", "127.0.0.1", "--max-connections-per-source", "1"];
    let proxy = Server::start(&[&["proxy"], &options[..]].concat());
    let connect = |host: u8| {
        let mut client = proxy.connect();
        write!(client, "PROXY TCP4 203.0.113.{host} 192.0.2.1 4711 25\r\nx\n").unwrap();
        client
    };
    let mut clients: Vec<TcpStream> = (0..3).map(connect).collect();
    for client in &mut clients {
        assert_eq!(read_line(client), "line 1: 1 characters: x\n");
    }
    assert_eq!(read_to_reset(&mut connect(0)), "");
}

#[test]
fn a_signal_does_not_wait_for_a_header() {
    let proxy = Server::start(&["proxy", "--accept-proxy-protocol", "127.0.0.1", "--grace", "0.1"]);
    let mut client = proxy.connect();
    client.write_all(b"PROXY").unwrap();
    proxy.signal("TERM");
    assert_eq!(read_to_reset(&mut client), "");
    assert_eq!(proxy.wait().0.code(), Some(0));
}

#[test]
fn the_clients_of_a_unix_socket_can_be_named() {
    let directory = Directory::new();
    let path = directory.path("socket");
    let listen = format!("unix:{}", path.display());
    let proxy = Server::start(&["proxy", "--listen", &listen, "--accept-proxy-protocol", "unix"]);
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(&[V2, b"x\n"].concat()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).unwrap();
    assert_eq!(response, "line 1: 1 characters: x\n");
    assert_eq!(logged(proxy, "connection closed")[0]["peer"], "203.0.113.7:4711");
}

#[test]
fn a_client_without_an_address_is_sent_on_as_unknown() {
    let directory = Directory::new();
    let listen = format!("unix:{}", directory.path("socket").display());
    for (version, header) in [("v1", UNKNOWN), ("v2", b"\r\n\r\n\0\r\nQUIT\n\x21\0\0\0")] {
        let (address, server) = upstream();
        let options =
            ["proxy", "--listen", &listen, "--upstream", &address, "--send-proxy-protocol", version];
        let _proxy = Server::start(&options);
        let mut client = UnixStream::connect(directory.path("socket")).unwrap();
        client.write_all(b"x").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(server.join().unwrap(), [header, b"x"].concat());
    }
}

#[test]
fn a_direct_client_is_sent_on_with_its_own_address() {
    let (address, server) = upstream();
    let proxy = Server::start(&["proxy", "--upstream", &address, "--send-proxy-protocol", "v1"]);
    let mut client = proxy.connect();
    let [from, to] = [client.local_addr().unwrap(), client.peer_addr().unwrap()];
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut client), "");
    let header = format!("PROXY TCP4 127.0.0.1 127.0.0.1 {} {}\r\n", from.port(), to.port());
    assert_eq!(server.join().unwrap(), header.as_bytes());
}
