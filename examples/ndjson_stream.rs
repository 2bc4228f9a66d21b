//! Reads NDJSON from a socket in batches of lines. Each line is validated separately: an ill-formed line is reported,
//! and reading continues.

use futures::StreamExt;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio_util::codec::FramedRead;
use utf8_codec::codec::{CodecError, Utf8LinesCodec};
use utf8_codec::{BomPolicy, TextDecoder};

/// The results of a session.
#[derive(Debug, Default)]
struct Session {
    users: Vec<String>,
    batches: usize,
    not_text: Vec<u64>,
    too_long: usize,
    not_json: usize,
}

impl Session {
    fn record(&mut self, line: &str) {
        match serde_json::from_str::<Value>(line) {
            Ok(record) => self.users.push(record["user"].as_str().unwrap_or_default().to_owned()),
            Err(_) if line.is_empty() => {}
            Err(_) => self.not_json += 1,
        }
    }

    fn error(&mut self, error: &CodecError) {
        match error.utf8_error() {
            Some(error) => self.not_text.push(error.offset),
            None => self.too_long += 1,
        }
    }
}

async fn read(socket: impl tokio::io::AsyncRead + Unpin) -> std::io::Result<Session> {
    let text = TextDecoder::new().with_bom_policy(BomPolicy::Strip);
    let lines = Utf8LinesCodec::with_decoder(text).with_max_length(1_000).into_batches();
    let mut batches = FramedRead::new(socket, lines);
    let mut session = Session::default();
    while let Some(batch) = batches.next().await {
        // Only an error of the socket ends the session.
        match batch? {
            Ok(lines) => {
                session.batches += 1;
                lines.iter().for_each(|line| session.record(line));
            }
            Err(error) => session.error(&error),
        }
    }
    Ok(session)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    const RECORDS: usize = 10_000;
    let mut bytes = b"\xEF\xBB\xBF".to_vec();
    let mut bad_at = 0;
    for number in 0..RECORDS {
        match number {
            // One byte of Latin-1 in a field, as written by some legacy programs.
            2_000 => {
                bytes.extend_from_slice(b"{\"user\":\"M");
                bad_at = bytes.len() as u64;
                bytes.extend_from_slice(b"\xFCller\"}\n");
            }
            4_000 => bytes.extend_from_slice(format!("{{\"user\":\"{}\"}}\n", "x".repeat(2_000)).as_bytes()),
            6_000 => bytes.extend_from_slice(b"{\"user\":\r\n"),
            _ => {
                bytes.extend_from_slice(format!("{{\"user\":\"\u{1F980}\u{2028}{number}\"}}\r\n").as_bytes())
            }
        }
    }
    let (mut peer, socket) = tokio::io::duplex(8_192);
    let sender = tokio::spawn(async move {
        for chunk in bytes.chunks(4_099) {
            peer.write_all(chunk).await?;
        }
        std::io::Result::Ok(bytes.len())
    });
    let session = read(socket).await?;
    let sent = sender.await??;

    assert_eq!(session.users.len(), RECORDS - 3);
    assert_eq!(session.users[RECORDS - 4], format!("\u{1F980}\u{2028}{}", RECORDS - 1));
    assert_eq!(session.not_text, [bad_at]);
    assert_eq!((session.too_long, session.not_json), (1, 1));
    assert!(session.batches < RECORDS / 10, "{} batches", session.batches);
    println!(
        "{sent} bytes: {} records in {} batches; not text at {:?}, too long {}, not JSON {}",
        session.users.len(),
        session.batches,
        session.not_text,
        session.too_long,
        session.not_json
    );
    Ok(())
}
