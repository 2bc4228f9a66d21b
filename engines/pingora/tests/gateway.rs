//! Runs the gateway as a program between a client and a server. All traffic is on loopback.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use utf8_codec::from_utf8;

use self::support::{Gateway, PATIENCE};

impl Gateway {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request with a chunked body, pausing after each chunk, and returns the response.
    fn post(&self, content_type: &str, chunks: &[&[u8]]) -> Message {
        let mut stream = self.connect();
        write!(
            stream,
            "POST /a HTTP/1.1\r\nhost: a\r\ncontent-type: {content_type}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        .unwrap();
        for chunk in chunks {
            thread::sleep(Duration::from_millis(3));
            let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
            if stream.write_all(&framed).is_err() {
                // The gateway has responded and closed the connection.
                break;
            }
        }
        let _ = stream.write_all(b"0\r\n\r\n");
        Message::read(&mut stream)
    }
}

/// A received message.
#[derive(Debug)]
struct Message {
    head: String,
    body: Vec<u8>,
    /// Whether the body ended as declared in its header.
    is_complete: bool,
}

impl Message {
    fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            if let Some(message) = Self::parse(&bytes)
                && message.is_complete
            {
                return message;
            }
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(len) => bytes.extend_from_slice(&buffer[..len]),
            }
        }
        Self::parse(&bytes).unwrap_or(Self { head: String::new(), body: Vec::new(), is_complete: false })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let rest = &bytes[end + 4..];
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let (body, is_complete) = if field("transfer-encoding:") == Some("chunked") {
            unchunk(rest)
        } else {
            let len = field("content-length:").map_or(0, |len| len.parse().unwrap());
            (rest.to_vec(), rest.len() >= len)
        };
        Some(Self { head, body, is_complete })
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let len = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if len == 0 {
            return (body, true);
        }
        let Some(chunk) = rest[end + 2..].get(..len) else { break };
        body.extend_from_slice(chunk);
        rest = rest[end + 2 + len..].get(2..).unwrap_or(&[]);
    }
    (body, false)
}

/// Starts a server that calls `respond` for each connection, in a thread of its own. `respond` reports the request.
fn listen(
    respond: impl Fn(TcpStream, &Sender<Message>) + Clone + Send + 'static,
) -> (SocketAddr, Receiver<Message>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, sender, respond) = (stream.unwrap(), sender.clone(), respond.clone());
            stream.set_nodelay(true).unwrap();
            let _ = stream.set_read_timeout(Some(PATIENCE));
            thread::spawn(move || respond(stream, &sender));
        }
    });
    (address, receiver)
}

/// Starts a server that responds with the given bytes in pieces, with a pause after each.
fn server(response: &'static [&'static [u8]]) -> (SocketAddr, Receiver<Message>) {
    listen(move |mut stream, requests| {
        let message = Message::read(&mut stream);
        let is_complete = message.is_complete;
        let _ = requests.send(message);
        if is_complete {
            for piece in response {
                let _ = stream.write_all(piece);
                thread::sleep(Duration::from_millis(20));
            }
            let _ = stream.shutdown(Shutdown::Both);
        }
    })
}

/// Starts a server that accepts the `Upgrade` of a request, and sends back what it receives from then on. With `is_early`,
/// it does not wait for the end of the request, and does not report it.
fn upgrading_server(is_early: bool) -> (SocketAddr, Receiver<Message>) {
    listen(move |mut stream, requests| {
        let mut buffer = [0; 4096];
        if is_early {
            let _ = stream.read(&mut buffer);
        } else {
            let _ = requests.send(Message::read(&mut stream));
        }
        // Pingora 0.9 may close the connection if it reads 101 before it has processed the end of the request.
        thread::sleep(Duration::from_millis(100));
        let _ = stream.write_all(SWITCH);
        while let Ok(len @ 1..) = stream.read(&mut buffer) {
            let _ = stream.write_all(&buffer[..len]);
        }
    })
}

const SWITCH: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";

const OK: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"];

/// Texts with every class of error, after well-formed characters of every length.
const ILL_FORMED: [&[u8]; 12] = [
    b"na\x80",
    b"na\xC0\xAF",
    b"\xC3\xA9\xC3(",
    b"\xE2\x82\xAC\xE2\x82(",
    b"\xE0\x80\xAF",
    b"na\xED\xA0\x80",
    b"\xF0\x9F\x98\x80\xF0\x8F\xBF\xBF",
    b"na\xF4\x90\x80\x80",
    b"na\xF5\x80",
    b"na\xFF",
    b"na\xF0\x9F\x98",
    b"\xEF\xBB\xBFna\xC3",
];

#[test]
fn a_character_over_four_chunks_does_not_end_the_request() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new("{}", upstream);
    let response = gateway.post("text/plain", &[b"na\xF0", b"\x9F", b"\x98", b"\x80x"]);
    assert!(response.head.starts_with("http/1.1 200"), "{response:?}");
    let request = received.recv_timeout(PATIENCE).unwrap();
    assert!(request.is_complete);
    assert_eq!(request.text(), "na😀x");
}

#[test]
fn every_class_of_error_is_rejected_with_its_offset_however_it_is_cut() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new("{}", upstream);
    for text in ILL_FORMED {
        let error = from_utf8(text).unwrap_err();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        for chunks in [&[text][..], &bytes] {
            let response = gateway.post("text/plain; charset=utf-8", chunks);
            assert!(response.head.starts_with("http/1.1 400"), "{text:02X?}: {response:?}");
            assert!(response.head.contains("content-type: application/problem+json"));
            let position = format!(
                r#""kind":"{}","offset":{},"len":{}}}"#,
                error.kind.as_str(),
                error.offset,
                error.len
            );
            assert!(response.text().ends_with(&position), "{text:02X?}: {}", response.text());
        }
    }
    // No request was complete.
    while let Ok(request) = received.try_recv() {
        assert!(!request.is_complete, "{request:?}");
    }
}

#[test]
fn a_request_that_is_sent_again_is_checked_from_its_start() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let gateway = Gateway::new("{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let keep = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let (mut first, _) = listener.accept().unwrap();
        first.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(Message::read(&mut first).text(), "naïve");
        first.write_all(keep).unwrap();
        // The connection is reused, and ends without a response.
        assert_eq!(Message::read(&mut first).text(), "naïve");
        drop(first);
        let (mut second, _) = listener.accept().unwrap();
        second.set_read_timeout(Some(PATIENCE)).unwrap();
        let again = Message::read(&mut second);
        second.write_all(keep).unwrap();
        again
    });
    for _ in 0..2 {
        let mut stream = gateway.connect();
        let head = "PUT /a HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\n";
        stream.write_all([head.as_bytes(), "naïve".as_bytes()].concat().as_slice()).unwrap();
        assert!(Message::read(&mut stream).head.starts_with("http/1.1 200"));
    }
    let again = server.join().unwrap();
    assert!(again.is_complete);
    assert_eq!(again.text(), "naïve");
}

#[test]
fn a_repaired_request_has_a_length_of_its_own() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new(r#"{"on_error": "replace"}"#, upstream);
    let mut stream = gateway.connect();
    stream
        .write_all(
            b"POST /a HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nna\xFFx",
        )
        .unwrap();
    assert!(Message::read(&mut stream).head.starts_with("http/1.1 200"));
    let request = received.recv_timeout(PATIENCE).unwrap();
    assert!(request.is_complete && !request.head.contains("content-length"), "{request:?}");
    assert_eq!(request.text(), "na\u{FFFD}x");
}

#[test]
fn a_buffered_request_is_forwarded_whole_or_not_at_all() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new(r#"{"mode": "buffered"}"#, upstream);
    assert!(gateway.post("text/plain", &[b"na\xC3", b"\xAF", b"ve"]).head.starts_with("http/1.1 200"));
    assert_eq!(received.recv_timeout(PATIENCE).unwrap().text(), "naïve");
    assert!(gateway.post("text/plain", &[b"good text ", b"\xFF"]).head.starts_with("http/1.1 400"));
    let response = gateway.post("text/plain", &[&[b'a'; 600], &[b'b'; 600]]);
    assert!(response.head.starts_with("http/1.1 413"), "{response:?}");
    while let Ok(request) = received.recv_timeout(Duration::from_millis(200)) {
        assert!(request.body.is_empty() && !request.is_complete, "{request:?}");
    }
}

#[test]
fn forms_are_checked_after_decoding_and_other_types_pass() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new("{}", upstream);
    let form = "application/x-www-form-urlencoded";
    assert!(gateway.post(form, &[b"a=caf%C", b"3%A9"]).head.starts_with("http/1.1 200"));
    assert_eq!(received.recv_timeout(PATIENCE).unwrap().text(), "a=caf%C3%A9");
    assert!(gateway.post(form, &[b"a=caf%C", b"3%28"]).head.starts_with("http/1.1 400"));
    assert!(gateway.post("text/plain; charset=latin1", &[b"caf\xE9"]).head.starts_with("http/1.1 415"));
    while received.try_recv().is_ok() {}
    assert!(gateway.post("image/png", &[b"\x89PNG\xFF"]).head.starts_with("http/1.1 200"));
    assert_eq!(received.recv_timeout(PATIENCE).unwrap().body, b"\x89PNG\xFF");
}

#[test]
fn an_ill_formed_request_passes_where_it_is_only_reported() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new(r#"{"action": "report"}"#, upstream);
    assert!(gateway.post("text/plain", &[b"na\xF0", b"\x9Fx"]).head.starts_with("http/1.1 200"));
    assert_eq!(received.recv_timeout(PATIENCE).unwrap().body, b"na\xF0\x9Fx");
}

#[test]
fn a_long_ill_formed_request_passes_whole_where_buffered_bodies_are_only_reported() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new(r#"{"mode": "buffered", "action": "report"}"#, upstream);
    let long = [b'a'; 1200];
    let response = gateway.post("text/plain", &[b"good ", b"\xFFx ", &long, b"rest"]);
    assert!(response.head.starts_with("http/1.1 200"), "{response:?}");
    let request = received.recv_timeout(PATIENCE).unwrap();
    assert!(request.is_complete);
    assert_eq!(request.body, [b"good \xFFx ", &long[..], b"rest"].concat());

    let response = gateway.post("text/plain", &[&long, b"rest"]);
    assert!(response.head.starts_with("http/1.1 200"), "{response:?}");
    assert_eq!(received.recv_timeout(PATIENCE).unwrap().body, [&long[..], b"rest"].concat());
}

#[test]
fn the_body_of_a_request_with_upgrade_is_checked() {
    let (upstream, received) = server(OK);
    let gateway = Gateway::new("{}", upstream);
    for fields in ["upgrade: x", "connection: upgrade\r\nupgrade: websocket"] {
        for (content, body, status) in [
            ("text/plain", &b"caf\xFF"[..], 400),
            ("text/plain; charset=latin1", b"caf\xE9", 415),
            ("text/plain", "café".as_bytes(), 200),
        ] {
            let mut stream = gateway.connect();
            let len = body.len();
            write!(
                stream,
                "POST /a HTTP/1.1\r\nhost: a\r\n{fields}\r\ncontent-type: {content}\r\ncontent-length: {len}\r\n\r\n"
            )
            .unwrap();
            stream.write_all(body).unwrap();
            let response = Message::read(&mut stream);
            assert!(response.head.starts_with(&format!("http/1.1 {status}")), "{fields}: {response:?}");
        }
        let is_complete = |request: &Message| request.is_complete;
        let complete: Vec<_> = received.try_iter().filter(is_complete).map(|request| request.body).collect();
        assert_eq!(complete, ["café".as_bytes()]);
    }
}

const UPGRADE: &str = "host: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n";

#[test]
fn bytes_pass_both_ways_after_an_upgrade_without_a_check() {
    let (upstream, received) = upgrading_server(false);
    for settings in [
        r#"{"websocket": "pass"}"#,
        r#"{"websocket": "pass", "mode": "buffered"}"#,
        r#"{"websocket": "pass", "on_error": "replace"}"#,
    ] {
        let gateway = Gateway::new(settings, upstream);
        let get = format!("GET /a HTTP/1.1\r\n{UPGRADE}\r\n");
        let post =
            format!("POST /a HTTP/1.1\r\n{UPGRADE}content-type: text/plain\r\ncontent-length: 5\r\n\r\ncafé");
        for (request, body) in [(get, ""), (post, "café")] {
            let mut stream = gateway.connect();
            stream.write_all(request.as_bytes()).unwrap();
            let response = Message::read(&mut stream);
            assert!(response.head.starts_with("http/1.1 101"), "{settings}: {request:?}: {response:?}");
            assert_eq!(received.recv_timeout(PATIENCE).unwrap().text(), body);
            for bytes in [&b"\xFFab"[..], b"caf\xC3", b"\x00\xA9\xFE"] {
                stream.write_all(bytes).unwrap();
                let mut echo = vec![0; bytes.len()];
                stream
                    .read_exact(&mut echo)
                    .unwrap_or_else(|error| panic!("{settings}: {request:?}: {error}"));
                assert_eq!(echo, bytes);
            }
        }
    }
}

#[test]
fn bytes_that_are_no_frame_close_a_websocket_connection_with_1002() {
    let (upstream, _received) = upgrading_server(false);
    let gateway = Gateway::new("{}", upstream);
    let mut stream = gateway.connect();
    write!(stream, "GET /a HTTP/1.1\r\n{UPGRADE}\r\n").unwrap();
    let response = Message::read(&mut stream);
    assert!(response.head.starts_with("http/1.1 101"), "{response:?}");
    stream.write_all(b"\xFFab").unwrap();
    let mut close = [0; 4];
    stream.read_exact(&mut close).unwrap();
    assert_eq!((close[0], u16::from_be_bytes([close[2], close[3]])), (0x88, 1002));
}

#[test]
fn an_upgrade_before_the_end_of_a_text_ends_the_connection() {
    let (upstream, _received) = upgrading_server(true);
    let gateway = Gateway::new("{}", upstream);
    let mut stream = gateway.connect();
    stream
        .write_all(b"POST /a HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\n")
        .unwrap();
    let response = Message::read(&mut stream);
    assert!(response.head.starts_with("http/1.1 101"), "{response:?}");
    let _ = stream.write_all(b"a\xFFb");
    let end = stream.read(&mut [0; 16]).map_err(|error| error.kind());
    assert!(matches!(end, Ok(0) | Err(ErrorKind::ConnectionReset)), "{end:?}");
}

#[test]
fn a_response_is_forwarded_over_any_cut() {
    const PIECES: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\nna\xF0\r\n",
        b"1\r\n\x9F\r\n",
        b"1\r\n\x98\r\n",
        b"2\r\n\x80x\r\n",
        b"0\r\n\r\n",
    ];
    let (upstream, _received) = server(PIECES);
    let gateway = Gateway::new("{}", upstream);
    let response = gateway.post("text/plain", &[b"a"]);
    assert!(response.is_complete, "{response:?}");
    assert_eq!(response.text(), "na😀x");
}

#[test]
fn an_ill_formed_response_never_ends_properly() {
    const LATE: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\ngood\r\n",
        b"5\r\n text\r\n",
        b"3\r\na\xFFb\r\n",
        b"4\r\nlate\r\n",
        b"0\r\n\r\n",
    ];
    let (upstream, _received) = server(LATE);
    let gateway = Gateway::new("{}", upstream);
    let response = gateway.post("text/plain", &[b"a"]);
    assert!(!response.is_complete, "{response:?}");
    assert_eq!(response.text(), "good texta");

    const AT_ONCE: &[&[u8]] =
        &[b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\nconnection: close\r\n\r\na\xFFb"];
    let (upstream, _received) = server(AT_ONCE);
    let gateway = Gateway::new("{}", upstream);
    let response = gateway.post("text/plain", &[b"a"]);
    assert!(response.head.starts_with("http/1.1 502") || !response.is_complete, "{response:?}");
    assert!(!response.body.contains(&0xFF));
}

#[test]
fn a_wrong_setting_ends_the_program_with_its_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_utf8-codec-pingora"))
        .args([
            "--listen",
            "127.0.0.1:1",
            "--upstream",
            "127.0.0.1:2",
            "--settings",
            r#"{"on_eror": "strict"}"#,
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown field `on_eror`"));
}

#[test]
fn a_rejected_request_of_grpc_has_a_grpc_status() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let gateway = Gateway::new(r#"{"length_prefixed": "reject"}"#, server.local_addr().unwrap());
    let response = gateway.post("application/grpc+json", &[b"\0\0\0\0\x80"]);
    assert!(response.head.starts_with("http/1.1 200") && response.is_complete, "{response:?}");
    for field in ["content-type: application/grpc", "grpc-status: 3", "grpc-message: messages with a length"]
    {
        assert!(response.head.contains(field), "{response:?}");
    }
    assert!(response.body.is_empty(), "{response:?}");
}
