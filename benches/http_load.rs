//! Requests per second of an axum server with and without the layers: 16 KiB of JSON in; out comes its
//! length, by a handler that does next to nothing, or the number of its items, by one that parses it.
//!
//! `cargo bench --features tower --bench http_load` measures in turns, so that what else the machine does meets all
//! of them, and prints the median of each and what a layer costs. `-- SECONDS CONNECTIONS` sets how long each turn
//! takes and how many clients there are; by default 1 and 16.
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
use utf8_codec::ValidateUtf8RequestLayer;

const TURNS: usize = 9;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    let turn = Duration::from_secs(numbers.next().unwrap_or(1));
    let connections = numbers.next().unwrap_or(16);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let length = || post(async |text: Bytes| text.len().to_string());
        let parse = || {
            post(async |text: Bytes| match serde_json::from_slice(&text) {
                Ok(Value::Array(items)) => items.len().to_string(),
                _ => "no list".to_owned(),
            })
        };
        let another = MapRequestLayer::new(|request: Request| request);
        let servers = [
            ("length, no layer", length()),
            ("length, a layer that does nothing", length().layer(another.clone())),
            ("length, holding", length().layer(ValidateUtf8RequestLayer::new())),
            ("length, streaming", length().layer(ValidateUtf8RequestLayer::streaming())),
            ("parse, no layer", parse()),
            ("parse, a layer that does nothing", parse().layer(another)),
            ("parse, holding", parse().layer(ValidateUtf8RequestLayer::new())),
            ("parse, streaming", parse().layer(ValidateUtf8RequestLayer::streaming())),
        ];
        let mut measured = Vec::new();
        for (name, method) in servers {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            tokio::spawn(axum::serve(listener, Router::new().route("/", method)).into_future());
            measured.push((name, address, Vec::new()));
        }
        for _ in 0..TURNS {
            for (_, address, rates) in &mut measured {
                rates.push(load(*address, turn, connections).await);
            }
        }
        let median = |rates: &mut Vec<f64>| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        };
        let mut bare = f64::NAN;
        for (name, _, mut rates) in measured {
            let rate = median(&mut rates);
            if name.ends_with("no layer") {
                bare = rate;
            }
            println!("{name:>34} {rate:>9.0} requests/s {:>+6.1} %", (rate / bare - 1.0) * 100.0);
        }
    });
}

/// Requests per second, of clients that send the next request when they have the answer.
async fn load(address: SocketAddr, turn: Duration, connections: u64) -> f64 {
    let mut json = r#"{"id":1234,"name":"Zoë","note":"naïve café","price":"9 €"},"#.repeat(16 * 1024 / 60);
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
    let mut answers = 0;
    for client in clients {
        answers += client.await.expect("a client");
    }
    answers as f64 / start.elapsed().as_secs_f64()
}
