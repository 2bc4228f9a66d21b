//! `proxy` and `serve` on Unix sockets.

use core::time::Duration;
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use crate::support::program::{Directory, program, run, stderr};
use crate::support::server::{Server, wait_for_metric};

fn connect(path: &Path) -> UnixStream {
    let client = UnixStream::connect(path).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client
}

/// Sends these bytes and half-closes. Returns the response, and whether it ended normally.
fn ask(path: &Path, bytes: &[u8]) -> (String, bool) {
    let mut client = connect(path);
    client.write_all(bytes).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let ended = client.read_to_end(&mut answer).is_ok();
    (String::from_utf8(answer).unwrap(), ended)
}

fn address(path: &Path) -> String {
    format!("unix:{}", path.display())
}

/// Starts a line server for one connection, which replies to each line with `got LINE`.
fn upstream(path: &Path) -> thread::JoinHandle<()> {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut text = String::new();
        peer.read_to_string(&mut text).unwrap();
        for line in text.lines() {
            writeln!(peer, "got {line}").unwrap();
        }
    })
}

#[test]
fn both_sides_of_a_proxy_can_be_unix_sockets() {
    let directory = Directory::new();
    let (near, far) = (directory.path("near"), directory.path("far"));
    let server = upstream(&far);
    let proxy = Server::start(&["proxy", "--listen", &address(&near), "--upstream", &address(&far)]);
    assert_eq!(proxy.address, address(&near));
    assert_eq!(
        ask(&near, "eins\nz\u{1F4A9}ei\n".as_bytes()),
        ("got eins\ngot z\u{1F4A9}ei\n".to_owned(), true)
    );
    server.join().unwrap();
    proxy.signal("TERM");
    let (status, log) = proxy.wait();
    assert_eq!(status.code(), Some(0));
    let closed =
        log.iter().find(|line| line["message"] == "connection closed").expect("a line about the end");
    assert_eq!((&closed["request_bytes"], &closed["end"]), (&13.into(), &"closed".into()));
    let peer = closed["peer"].as_str().unwrap();
    assert!(peer.starts_with("unix:uid=") && peer.contains(&format!("pid={}", std::process::id())), "{peer}");
}

#[test]
fn a_connection_waits_while_the_queue_of_the_server_is_full() {
    let directory = Directory::new();
    let (near, far) = (directory.path("near"), directory.path("far"));
    let listener = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    listener.bind(&socket2::SockAddr::unix(&far).unwrap()).unwrap();
    listener.listen(0).unwrap();
    let queued = UnixStream::connect(&far).unwrap();
    // Without a limit for the time to connect.
    let options = ["--connect-timeout", "0", "--upstream", &address(&far)];
    let listen = ["proxy", "--listen", &address(&near)];
    let (_proxy, admin) = Server::start_with_admin(&[&listen[..], &options].concat());
    let mut client = connect(&near);
    client.write_all(b"x").unwrap();
    wait_for_metric(&admin, "utf8_codec_connections_open 1");
    drop(listener.accept().unwrap());
    let (mut peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut read = [0];
    peer.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"x");
    drop(queued);
}

#[test]
fn a_client_that_leaves_while_the_server_hangs_frees_its_slot() {
    let directory = Directory::new();
    let far = directory.path("far");
    let listener = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    listener.bind(&socket2::SockAddr::unix(&far).unwrap()).unwrap();
    listener.listen(0).unwrap();
    let _queued = UnixStream::connect(&far).unwrap();
    // Without a limit for the time to connect.
    let options = ["--connect-timeout", "0", "--max-connections", "1", "--upstream", &address(&far)];
    let (proxy, admin) = Server::start_with_admin(&[&["proxy"], &options[..]].concat());
    let leave: [&dyn Fn(std::net::TcpStream); 3] =
        [&|client| drop(client), &|mut client| client.write_all(b"x").unwrap(), &|client| {
            socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap()
        }];
    for (left, leave) in (1..).zip(leave) {
        let client = proxy.connect();
        wait_for_metric(&admin, "utf8_codec_connections_open 1");
        leave(client);
        wait_for_metric(&admin, &format!("utf8_codec_connections_total{{end=\"unreachable\"}} {left}"));
    }
    // A client that stays waits on.
    let _client = proxy.connect();
    wait_for_metric(&admin, "utf8_codec_connections_open 1");
    thread::sleep(Duration::from_millis(1500));
    wait_for_metric(&admin, "utf8_codec_connections_open 1");
}

/// A lost SYN to the server is sent again after a second.
#[test]
fn a_client_that_has_ended_its_stream_is_served_by_a_slow_server() {
    let directory = Directory::new();
    let (near, far) = (directory.path("near"), directory.path("far"));
    let listener = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    listener.bind(&socket2::SockAddr::unix(&far).unwrap()).unwrap();
    listener.listen(0).unwrap();
    let queued = UnixStream::connect(&far).unwrap();
    let proxy = Server::start(&["proxy", "--listen", &address(&near), "--upstream", &address(&far)]);
    assert_eq!(proxy.address, address(&near));
    let client = thread::spawn(move || ask(&near, b"request"));
    thread::sleep(Duration::from_secs(2));
    drop((queued, listener.accept().unwrap()));
    let (mut peer, _) = listener.accept().unwrap();
    let mut request = String::new();
    peer.read_to_string(&mut request).unwrap();
    peer.write_all(request.as_bytes()).unwrap();
    drop(peer);
    assert_eq!(client.join().unwrap(), ("request".to_owned(), true));
}

#[test]
fn an_ill_formed_request_over_a_unix_socket_ends_the_connection() {
    let directory = Directory::new();
    let near = directory.path("near");
    let proxy = Server::start(&["proxy", "--listen", &address(&near), "--linger", "0.1"]);
    let (answer, _) = ask(&near, b"good\n\xFFbad\n");
    assert_eq!(answer, "line 1: 4 characters: good\n");
    let reports = proxy.reports();
    assert_eq!((reports[0]["offset"].as_u64(), reports[0]["kind"].as_str()), (Some(5), Some("InvalidLead")));
}

#[test]
fn limits_per_source_do_not_apply_to_a_unix_socket() {
    let directory = Directory::new();
    let path = directory.path("socket");
    let _proxy = Server::start(&["proxy", "--listen", &address(&path), "--max-connections-per-source", "1"]);
    let mut clients = [(); 5].map(|()| connect(&path));
    for client in &mut clients {
        client.write_all(b"x\n").unwrap();
        let mut answer = [0; 24];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"line 1: 1 characters: x\n");
    }
}

#[test]
fn the_file_is_removed_at_the_end_and_a_stale_one_is_replaced() {
    let directory = Directory::new();
    let path = directory.path("socket");
    for _ in 0..2 {
        let server = Server::start(&["serve", "--listen", &address(&path)]);
        assert_eq!(ask(&path, b"x\n").0, "line 1: 1 characters: x\n");
        server.signal("TERM");
        assert_eq!(server.wait().0.code(), Some(0));
        assert!(!path.exists(), "removed at the end");
        // Dropping a listener leaves its file, as a process that is killed does.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
    }
}

#[test]
fn a_file_that_replaced_the_socket_is_not_removed() {
    let directory = Directory::new();
    let path = directory.path("socket");
    let server = Server::start(&["serve", "--listen", &address(&path)]);
    fs::remove_file(&path).unwrap();
    let _successor = UnixListener::bind(&path).unwrap();
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(0));
    assert!(path.exists(), "it belongs to another process");
}

/// Returns the error message of a start that fails.
fn error(args: &[&str]) -> String {
    let output = run(&mut program(args), b"");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    stderr(&output)
}

#[test]
fn a_path_that_is_in_use_is_not_replaced() {
    let directory = Directory::new();
    let (socket, file) = (directory.path("socket"), directory.write("file", "content"));
    let _listener = UnixListener::bind(&socket).unwrap();
    assert!(error(&["serve", "--listen", &address(&socket)]).contains("another process listens on it"));
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert!(error(&["serve", "--listen", &address(&file)]).contains("is not a socket"));
    assert_eq!(directory.read("file"), b"content");
    let missing = directory.path("missing/socket");
    assert!(error(&["serve", "--listen", &address(&missing)]).contains("cannot listen on unix:"));
}

#[test]
fn the_mode_of_the_file_is_set() {
    let directory = Directory::new();
    let path = directory.path("socket");
    let _server = Server::start(&["serve", "--listen", &address(&path), "--socket-mode", "620"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o620);
}

#[test]
fn a_unix_socket_cannot_be_its_own_upstream() {
    let directory = Directory::new();
    let (path, link) = (directory.path("socket"), directory.path("link"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for upstream in [&path, &link] {
        let message = error(&["proxy", "--listen", &address(&path), "--upstream", &address(upstream)]);
        assert!(message.contains("is this proxy"), "{message}");
        assert!(!path.exists());
    }
}

#[test]
fn a_missing_upstream_socket_ends_only_the_connection() {
    let directory = Directory::new();
    let (near, far) = (directory.path("near"), directory.path("far"));
    let proxy = Server::start(&["proxy", "--listen", &address(&near), "--upstream", &address(&far)]);
    assert_eq!(ask(&near, b"").0, "");
    drop(UnixListener::bind(&far).unwrap());
    assert_eq!(ask(&near, b"").0, "");
    fs::remove_file(&far).unwrap();
    let server = upstream(&far);
    assert_eq!(ask(&near, b"now\n"), ("got now\n".to_owned(), true));
    server.join().unwrap();
    proxy.signal("TERM");
    let (_, log) = proxy.wait();
    assert_eq!(
        log.iter().filter(|line| line["message"] == "cannot reach the upstream").count(),
        2,
        "{log:?}"
    );
}

#[test]
fn the_admin_listener_can_be_a_unix_socket() {
    let directory = Directory::new();
    let path = directory.path("admin");
    let proxy = Server::start(&["proxy", "--admin", &address(&path), "--socket-mode", "600"]);
    let (response, _) = ask(&path, b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("ok\n"), "{response}");
    proxy.signal("TERM");
    assert_eq!(proxy.wait().0.code(), Some(0));
    assert!(!path.exists());
}
