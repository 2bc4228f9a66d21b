//! Requests per second of an axum server with and without the layers. A request has 64 KiB of JSON. One handler
//! responds with the length of the body, another parses it and responds with the number of its items.
//!
//! `cargo bench -p integration` measures the servers alternately, so that other load on the machine
//! affects all of them, and prints the median of each and the cost of a layer. `-- SECONDS CONNECTIONS KIB` sets the
//! duration of a turn, the number of clients and the size of a body; by default 1, 16 and 64. A word measures only the
//! servers whose name contains it. On Linux it also prints the processor time and the page faults of a request and its
//! client, which do not depend on other programs.
//!
//! Two handlers without a layer check the whole body, one with this crate and one with the standard library. They show
//! the cost of the check alone.
#![allow(missing_docs)]

use core::net::SocketAddr;
use core::time::Duration;
use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::util::MapRequestLayer;
use utf8_codec::Utf8Decoder;
use utf8_codec_http::tower::ValidateUtf8RequestLayer;

const TURNS: usize = 9;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    let only = std::env::args().skip(1).find(|argument| argument.starts_with(char::is_alphabetic));
    let turn = Duration::from_secs(numbers.next().unwrap_or(1));
    let connections = numbers.next().unwrap_or(16);
    let kib = numbers.next().unwrap_or(64) as usize;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let length = || post(async |text: Bytes| text.len().to_string());
        let parse = || {
            post(async |text: Bytes| match serde_json::from_slice(&text) {
                Ok(Value::Array(items)) => items.len().to_string(),
                _ => "no list".to_owned(),
            })
        };
        let decoder = post(async |text: Bytes| match Utf8Decoder::new().validate(&text) {
            Ok(()) => text.len().to_string(),
            Err(error) => error.to_string(),
        });
        let std = post(async |text: Bytes| match core::str::from_utf8(&text) {
            Ok(text) => text.len().to_string(),
            Err(error) => error.to_string(),
        });
        let another = MapRequestLayer::new(|request: Request| request);
        let servers = [
            ("length, no layer", length()),
            ("length, a layer that does nothing", length().layer(another.clone())),
            ("length, checked by its handler", decoder),
            ("length, checked by std", std),
            ("length, holding", length().layer(ValidateUtf8RequestLayer::new())),
            ("length, streaming", length().layer(ValidateUtf8RequestLayer::streaming())),
            ("parse, no layer", parse()),
            ("parse, a layer that does nothing", parse().layer(another)),
            ("parse, holding", parse().layer(ValidateUtf8RequestLayer::new())),
            ("parse, streaming", parse().layer(ValidateUtf8RequestLayer::streaming())),
        ];
        let mut measured = Vec::new();
        let is_wanted = |name: &str| only.as_deref().is_none_or(|only| name.contains(only));
        for (name, method) in servers.into_iter().filter(|(name, _)| is_wanted(name)) {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            tokio::spawn(axum::serve(listener, Router::new().route("/", method)).into_future());
            measured.push((name, address, [Vec::new(), Vec::new(), Vec::new()]));
        }
        for _ in 0..TURNS {
            for (_, address, [rates, costs, faults]) in &mut measured {
                let before = (processor_time(), page_faults());
                let (answers, seconds) = load(*address, turn, connections, kib).await;
                rates.push(answers / seconds);
                costs.push((processor_time() - before.0) / answers);
                faults.push((page_faults() - before.1) / answers);
            }
        }
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let (mut bare, mut bare_cost) = (f64::NAN, f64::NAN);
        for (name, _, columns) in measured {
            let [rate, cost, faults] = columns.map(median);
            if name.ends_with("no layer") {
                (bare, bare_cost) = (rate, cost);
            }
            let (slower, dearer) = ((rate / bare - 1.0) * 100.0, (cost / bare_cost - 1.0) * 100.0);
            print!("{name:>34} {rate:>9.0} requests/s {slower:>+6.1} %");
            println!("{:>10.2} us of processor {dearer:>+6.1} % {faults:>6.1} page faults", cost * 1e6);
        }
    });
}

/// Returns the processor time of all threads of this program in seconds, or NaN if the system does not report it.
fn processor_time() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// Returns the page faults of this program, or NaN if the system does not report them.
fn page_faults() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return f64::NAN };
    // The first field after the name in parentheses is the third one. Minor faults are the tenth.
    text.rsplit(") ").next().and_then(|fields| fields.split(' ').nth(7)?.parse().ok()).unwrap_or(f64::NAN)
}

/// Returns the number of responses and the elapsed seconds. Each client sends its next request after the response.
async fn load(address: SocketAddr, turn: Duration, connections: u64, kib: usize) -> (f64, f64) {
    let mut json = r#"{"id":1234,"name":"Zoë","note":"naïve café","price":"9 €"},"#.repeat(kib * 1024 / 64);
    json = format!("[{}]", json.trim_end_matches(','));
    let mut request = format!(
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        json.len()
    );
    request.push_str(&json);
    let request = Bytes::from(request);
    let start = Instant::now();
    let clients: Vec<_> = (0..connections)
        .map(|_| {
            let request = request.clone();
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.expect("the server listens");
                stream.set_nodelay(true).expect("an option");
                let (mut answers, mut answer) = (0_u64, [0; 512]);
                while start.elapsed() < turn {
                    stream.write_all(&request).await.expect("the server reads");
                    let len = stream.read(&mut answer).await.expect("the server answers");
                    assert!(
                        answer[..len].starts_with(b"HTTP/1.1 200 OK"),
                        "{}",
                        answer[..len].escape_ascii()
                    );
                    answers += 1;
                }
                answers
            })
        })
        .collect();
    let mut answers = 0_u64;
    for client in clients {
        answers += client.await.expect("a client");
    }
    (answers as f64, start.elapsed().as_secs_f64())
}
