//! The example `reverse_proxy`, run as a program between a client and an upstream that records the requests.

use core::time::Duration;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::example::{Answer, Server, read_answer};

/// The bodies of the complete requests, and the heads of all requests.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<(Vec<Vec<u8>>, usize)>>);

impl Received {
    fn bodies(&self) -> Vec<Vec<u8>> {
        core::mem::take(&mut self.0.lock().unwrap().0)
    }

    fn requests(&self) -> usize {
        core::mem::take(&mut self.0.lock().unwrap().1)
    }
}

/// Starts an upstream that responds to every request with `head` and `text`, and closes the connection.
fn upstream(received: &Received, head: &'static str, text: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let received = received.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("an option");
            let (mut reader, mut length, mut line) = (BufReader::new(&stream), None, String::new());
            while reader.read_line(&mut line).is_ok_and(|len| len > 2) {
                let field = line.to_ascii_lowercase();
                if let Some(value) = field.strip_prefix("content-length: ") {
                    length = Some(value.trim().parse().expect("a number"));
                } else if field.starts_with("transfer-encoding: ") {
                    length = None;
                }
                line.clear();
            }
            received.0.lock().unwrap().1 += 1;
            let mut body = vec![0; length.unwrap_or(0)];
            if reader.read_exact(&mut body).is_ok() {
                received.0.lock().unwrap().0.push(body);
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\n{head}content-length: {}\r\nconnection: close\r\n\r\n",
                text.len()
            );
            let _ = stream.write_all(&[head.as_bytes(), text].concat());
        }
    });
    address
}

/// Sends a request with a body of a known length.
fn send(proxy: &Server, line: &str, fields: &str, body: &[u8]) -> Answer {
    let head = format!("{line} HTTP/1.1\r\nhost: x\r\n{fields}content-length: {}\r\n\r\n", body.len());
    send_bytes(proxy, &[head.as_bytes(), body].concat())
}

fn send_bytes(proxy: &Server, bytes: &[u8]) -> Answer {
    let mut stream = proxy.connect();
    stream.write_all(bytes).expect("the proxy reads");
    read_answer(&mut BufReader::new(stream))
}

#[test]
fn rejected_requests_do_not_reach_the_upstream() {
    const JSON: &str = "content-type: application/json\r\n";
    const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";
    let received = Received::default();
    let upstream = upstream(&received, "content-type: text/plain\r\n", b"fine");
    let proxy = Server::start("reverse_proxy", &["--upstream", &upstream]);
    let json = |field: &str| format!("{JSON}{field}\r\n");
    let multipart = b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n\xFF\r\n--x--\r\n";
    for (line, fields, body, status, kind) in [
        ("POST /", JSON, &b"\"\xE9\""[..], 400, "MissingContinuation"),
        ("POST /", &json("content-range: x"), b"\xFF", 400, "ContentRange"),
        ("POST /", &json("content-range: bytes 0-1/2"), b"ok", 400, "ContentRange"),
        ("POST /", &json("content-encoding: nonsense"), b"\xFF", 415, "ContentCoding"),
        ("POST /", &json("content-encoding: gzip"), b"\x1F\x8B", 415, "ContentCoding"),
        ("POST /", &json("content-type: image/png"), b"\xFF", 400, "ConflictingCharset"),
        ("POST /", "content-type: text/plain charset=utf-8\r\n", b"\xFF", 400, "ContentType"),
        ("POST /", "content-type: text/plain; charset=latin1\r\n", b"\xE9", 415, "UnsupportedCharset"),
        ("POST /", "", b"\xFF", 400, "InvalidLead"),
        ("POST /", FORM, b"a=%E9", 400, "Truncated"),
        ("POST /", "content-type: multipart/form-data; boundary=x\r\n", multipart, 400, "InvalidLead"),
        ("POST /%FF", "", b"", 400, "InvalidLead"),
        ("GET /?q=%C3", "", b"", 400, "Truncated"),
    ] {
        let answer = send(&proxy, line, fields, body);
        let problem: Value = serde_json::from_slice(&answer.text).expect("a problem document");
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(
            (answer.status.as_u16(), &problem["kind"], &problem["status"]),
            (status, &kind.into(), &status.into()),
            "{line} {fields}"
        );
    }
    let trailer = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ntrailer: x-sum\r\n\
        transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-sum: \xFF\r\n\r\n";
    let answer = send_bytes(&proxy, trailer);
    let problem: Value = serde_json::from_slice(&answer.text).expect("a problem document");
    assert_eq!(problem["detail"], "trailer x-sum: ill-formed UTF-8 at byte 0 (InvalidLead, 1 byte)");
    assert_eq!(received.requests(), 0, "the upstream has received nothing");

    let good = multipart.iter().map(|&byte| if byte == 0xFF { b'a' } else { byte }).collect::<Vec<_>>();
    for (line, fields, body) in [
        ("POST /", JSON, "\"\u{E9}\"".as_bytes()),
        ("POST /", "", "caf\u{E9}".as_bytes()),
        ("POST /", FORM, b"a=%C3%A9&b=100%"),
        ("POST /", "content-type: multipart/form-data; boundary=x\r\n", &good),
        ("PUT /%C3%A9?q=%C3%A9", "content-type: image/png\r\ncontent-encoding: gzip\r\n", b"\xFF\xFE"),
        ("GET /", "", b""),
    ] {
        let answer = send(&proxy, line, fields, body);
        assert_eq!((answer.status.as_u16(), &answer.text[..]), (200, &b"fine"[..]), "{line} {fields}");
        assert_eq!((received.requests(), received.bodies()), (1, vec![body.to_vec()]), "{line} {fields}");
    }
}

#[test]
fn an_ill_formed_response_ends_before_its_error() {
    let upstream = upstream(&Received::default(), "content-type: text/plain\r\n", b"all is well \xC3\x28");
    let proxy = Server::start("reverse_proxy", &["--upstream", &upstream]);
    let mut stream = proxy.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").expect("the proxy reads");
    let mut all = Vec::new();
    // The connection is reset or closed, in both cases before the announced length.
    let _ = stream.read_to_end(&mut all);
    let body =
        all.windows(4).position(|window| window == b"\r\n\r\n").map_or(&b""[..], |end| &all[end + 4..]);
    assert!(b"all is well ".starts_with(body), "{}", all.escape_ascii());
}
