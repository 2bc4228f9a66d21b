//! The example `axum_gateway`, run as a program, with HTTP/1, HTTP/2, curl and Python as clients.

use std::io::{BufReader, Write};
use std::process::{Command, Stdio};

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::example::{Answer, Server, read_answer};
use crate::support::cases::cases;
use crate::support::rows::{self, UTF_8};
use crate::support::{Rng, oracle};

fn gateway() -> Server {
    Server::start("axum_gateway", &[])
}

/// The number of characters, or offset, kind and length of the error.
type Verdict = Result<usize, (u64, String, u64)>;

fn verdict(status: StatusCode, text: &[u8]) -> Verdict {
    if status == StatusCode::OK {
        return Ok(str::from_utf8(text).unwrap().trim().parse().unwrap());
    }
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let problem: Value = serde_json::from_slice(text).expect("JSON");
    assert_eq!((&problem["type"], &problem["status"]), (&"about:blank".into(), &400.into()));
    assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
    let number = |member: &str| problem[member].as_u64().expect(member);
    Err((number("offset"), problem["kind"].as_str().expect("kind").to_owned(), number("len")))
}

fn expected(bytes: &[u8]) -> Verdict {
    let (text, errors) = oracle::decode(bytes);
    match errors.first() {
        None => Ok(text.chars().count()),
        Some((offset, kind, len)) => Err((*offset, kind.to_string(), u64::from(*len))),
    }
}

type Chunks =
    StreamBody<futures::stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, core::convert::Infallible>>>>;

fn chunked(chunks: &[&[u8]]) -> Chunks {
    let frames = chunks.iter().filter(|chunk| !chunk.is_empty());
    let frames: Vec<_> = frames.map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk)))).collect();
    StreamBody::new(futures::stream::iter(frames))
}

/// Sends bodies one after the other over persistent connections.
async fn send_all(gateway: &Server, version: Version, bodies: &[Vec<Vec<u8>>]) -> Vec<Verdict> {
    let is_http2 = version == Version::HTTP_2;
    let client = Client::builder(TokioExecutor::new()).http2_only(is_http2).build_http::<Chunks>();
    let mut answers = Vec::new();
    for chunks in bodies {
        let slices: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
        let request = Request::post(gateway.url("/text")).body(chunked(&slices)).unwrap();
        let response = client.request(request).await.expect("an answer");
        assert_eq!(response.version(), version);
        let status = response.status();
        if status != StatusCode::OK {
            assert_eq!(response.headers()["content-type"], "application/problem+json");
        }
        answers.push(verdict(status, &response.into_body().collect().await.expect("a body").to_bytes()));
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_class_of_input_has_its_verdict() {
    let gateway = gateway();
    let bodies: Vec<Vec<Vec<u8>>> = cases()
        .iter()
        .enumerate()
        .map(|(number, body)| body.chunks(1 + number % 4).map(<[u8]>::to_vec).collect())
        .collect();
    let answers = send_all(&gateway, Version::HTTP_11, &bodies).await;
    for (chunks, answer) in bodies.iter().zip(answers) {
        let body = chunks.concat();
        let errors = rows::decode(&UTF_8, &body).errors_of_stream(body.len());
        assert_eq!(answer, expected(&body), "{chunks:02X?}");
        assert_eq!(answer.err().map(|error| error.0), errors.first().map(|error| error.0), "{chunks:02X?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_has_the_same_verdicts() {
    let gateway = gateway();
    let mut rng = Rng::new(9113);
    let bodies: Vec<Vec<Vec<u8>>> = (0..120)
        .map(|round| rng.dirty_text(1 + round % 40).chunks(1 + round % 5).map(<[u8]>::to_vec).collect())
        .collect();
    let answers = send_all(&gateway, Version::HTTP_2, &bodies).await;
    for (chunks, answer) in bodies.iter().zip(answers) {
        assert_eq!(answer, expected(&chunks.concat()), "{chunks:02X?}");
    }
}

#[test]
fn pipelined_requests_have_responses_in_order() {
    let gateway = gateway();
    let mut stream = gateway.connect();
    let mut requests = Vec::new();
    for text in ["é", "€€", ""] {
        let head = format!("POST /text HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", text.len());
        requests.extend_from_slice(head.as_bytes());
        requests.extend_from_slice(text.as_bytes());
    }
    // `Content-Length` ends inside a character. The bytes of the next request do not complete it.
    requests.extend_from_slice(b"POST /text HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nab\xE2\x82");
    requests.extend_from_slice(b"POST /text HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nz");
    stream.write_all(&requests).expect("the server reads");
    let mut stream = BufReader::new(stream);
    let mut next = || {
        let Answer { status, text, .. } = read_answer(&mut stream);
        verdict(status, &text)
    };
    assert_eq!((next(), next(), next()), (Ok(1), Ok(2), Ok(0)));
    assert_eq!(next(), Err((2, "Truncated".into(), 2)));
    assert_eq!(next(), Ok(1), "the connection stays open");
}

#[test]
fn bytes_that_arrive_one_by_one_are_joined() {
    let gateway = gateway();
    let stream = gateway.connect();
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    let mut stream = stream;
    for bytes in ["aé€🦀".as_bytes(), b"a\xF0\x9F\xA6!", b"\xED\xA0\x80"] {
        stream.write_all(b"POST /note HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
        for byte in bytes {
            stream.write_all(&[b"1\r\n", &[*byte][..], b"\r\n"].concat()).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        let Answer { status, text, .. } = read_answer(&mut reader);
        match expected(bytes) {
            Ok(characters) => assert_eq!(text, format!("noted {characters} characters").as_bytes()),
            wrong => assert_eq!(verdict(status, &text), wrong),
        }
    }
}

#[test]
fn other_charsets_and_contradictions_are_rejected() {
    let gateway = gateway();
    let mut stream = gateway.connect();
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    for (content_type, status) in [
        ("text/plain; charset=\"UTF8\"", 200),
        ("text/plain", 200),
        ("text/plain; charset=iso-8859-1", 415),
        ("text/plain; charset=utf-8; charset=iso-8859-1", 400),
        ("text/plain; charset = utf-8", 400),
    ] {
        let request = format!(
            "POST /text HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\ncontent-length: 1\r\n\r\nx"
        );
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(read_answer(&mut reader).status, status, "{content_type}");
    }
}

#[test]
#[cfg_attr(not(has_curl), ignore = "curl is not installed")]
fn curl_sends_characters_in_pieces() {
    let gateway = gateway();
    let url = gateway.url("/text");
    let curl = |bytes: &[u8], arguments: &[&str]| {
        let mut curl = Command::new("curl")
            .args(["--silent", "--max-time", "20", "--write-out", "\n%{http_code}", "--data-binary", "@-"])
            .args(arguments)
            .arg(&url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("curl starts");
        curl.stdin.take().expect("a pipe").write_all(bytes).expect("curl reads");
        let out = curl.wait_with_output().expect("curl ends").stdout;
        let (text, status) = out.split_at(out.iter().rposition(|byte| *byte == b'\n').expect("a status"));
        verdict(StatusCode::from_bytes(&status[1..]).expect("a status"), text)
    };
    for bytes in ["naïve €".as_bytes(), b"na\xEFve", b"ends \xF0\x9F"] {
        for arguments in [&["-H", "transfer-encoding: chunked"][..], &[], &["--http2-prior-knowledge"]] {
            assert_eq!(curl(bytes, arguments), expected(bytes), "{bytes:02X?} {arguments:?}");
        }
    }
}

#[test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
fn python_sends_characters_in_pieces() {
    let gateway = gateway();
    let script = r#"
import gzip, http.client, json, sys, time
host, port = sys.argv[1].rsplit(":", 1)
def post(chunks, headers={}):
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    def slowly():
        for chunk in chunks:
            yield chunk
            time.sleep(0.01)
    connection.request("POST", "/text", body=slowly(), headers=headers, encode_chunked="Content-Length" not in headers)
    answer = connection.getresponse()
    text = answer.read()
    return (200, int(text)) if answer.status == 200 else (answer.status, json.loads(text)["offset"])
euro = "€".encode()
assert post([b"a", euro[:1], euro[1:2], euro[2:]]) == (200, 2)
assert post([b"a", euro[:1], euro[1:2]]) == (400, 1)
assert post([b"abc", b"\xed", b"\xa0", b"\x80"]) == (400, 3)
assert post([euro[:2]], {"Content-Length": "2"}) == (400, 0)
packed = {"Content-Encoding": "gzip"}
assert post([gzip.compress(euro * 1000)], packed) == (200, 1000)
assert post([gzip.compress(euro * 1000 + b"\xff")], packed) == (400, 3000)
print("done")
"#;
    let out = Command::new("python3").args(["-c", script, &gateway.address.to_string()]).output().unwrap();
    assert_eq!(out.stdout, b"done\n", "{}", String::from_utf8_lossy(&out.stderr));
}

/// Streams `bytes` bytes of text and counts them.
fn stream_through(gateway: &Server, bytes: usize) -> (Verdict, u64) {
    let mut stream = gateway.connect();
    stream.write_all(b"POST /text HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    // Characters of every length; each chunk starts inside one.
    let text = "aé€🦀 text ".repeat(5_000);
    let mut chunk = format!("{:x}\r\n", text.len()).into_bytes();
    chunk.extend_from_slice(&text.as_bytes()[2..]);
    chunk.extend_from_slice(&text.as_bytes()[..2]);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(b"2\r\na\xC3\r\n").unwrap();
    let rounds = bytes / text.len();
    let mut most = 0;
    for round in 0..rounds {
        stream.write_all(&chunk).unwrap();
        if round % 64 == 0 {
            most = most.max(gateway.resident().unwrap_or(0));
        }
    }
    stream.write_all(b"1\r\n\xA9\r\n0\r\n\r\n").unwrap();
    let Answer { status, text: text_of_it, .. } = read_answer(&mut BufReader::new(stream));
    let characters = rounds * text.chars().count() + 2;
    assert_eq!(verdict(status, &text_of_it), Ok(characters));
    (Ok(characters), most)
}

#[test]
fn a_gibibyte_needs_no_more_memory_than_a_short_body() {
    let gateway = gateway();
    let short = stream_through(&gateway, 4 << 20).1;
    let long = stream_through(&gateway, 1 << 30).1;
    assert!(long < short + (4 << 20), "{short} bytes for 4 MiB, {long} for 1 GiB");
}

#[test]
fn a_client_that_announces_a_body_and_stops_gets_a_response() {
    let gateway = gateway();
    for path in ["/text", "/note"] {
        let mut stream = gateway.connect();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\n");
        stream.write_all(&[head.as_bytes(), b"bad: \xFF!"].concat()).unwrap();
        let answer = read_answer(&mut BufReader::new(stream));
        assert_eq!(answer.headers["connection"], "close", "the wait for the rest is bounded");
        assert_eq!(verdict(answer.status, &answer.text), Err((5, "InvalidLead".into(), 1)));
    }
}

#[test]
fn trailers_are_checked_too() {
    let gateway = gateway();
    let mut stream = gateway.connect();
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    for path in ["/text", "/note"] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"1\r\na\r\n0\r\nx-sum: ab\xFF\r\n\r\n").unwrap();
        let answer = read_answer(&mut reader);
        assert_eq!(verdict(answer.status, &answer.text), Err((2, "InvalidLead".into(), 1)), "{path}");
    }
}

#[test]
fn every_rejected_request_has_a_problem_document() {
    let gateway = gateway();
    let mut stream = gateway.connect();
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    for (fields, status, kind) in [
        ("content-encoding: nonsense", 415, "ContentCoding"),
        ("content-encoding: br", 415, "ContentCoding"),
        ("content-type: text/plain; charset=latin1", 415, "UnsupportedCharset"),
        ("content-range: x", 400, "ContentRange"),
        ("content-type: text", 400, "ContentType"),
        ("content-type: application/x-www-form-urlencoded", 400, "Truncated"),
    ] {
        for path in ["/text", "/note"] {
            let head =
                format!("POST {path} HTTP/1.1\r\nhost: x\r\n{fields}\r\ncontent-length: 5\r\n\r\na=%E9");
            stream.write_all(head.as_bytes()).unwrap();
            let answer = read_answer(&mut reader);
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{fields}");
            let problem: Value = serde_json::from_slice(&answer.text).expect("JSON");
            assert_eq!((answer.status.as_u16(), &problem["kind"]), (status, &kind.into()), "{path} {fields}");
        }
    }
}
