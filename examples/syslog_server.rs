//! A syslog server over TCP that reads both framings of RFC 6587, and continues after ill-formed messages.
//!
//! Without arguments it starts on a free port, sends itself messages in chunks, and exits. `--listen ADDR` prints the
//! messages of every client until it is interrupted:
//!
//! ```sh
//! cargo run --example syslog_server -- --listen 127.0.0.1:6514
//! logger --tcp --octet-count --server 127.0.0.1 --port 6514 "$(printf 'gr\303\274n')"
//! logger --tcp --server 127.0.0.1 --port 6514 'a line that ends with LF'
//! ```

use core::error::Error;
use core::time::Duration;
use std::io::Write as _;

use futures::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, FramedWrite};
use utf8_codec::codec::framing::{FramingError, OctetCountingCodec};
use utf8_codec::codec::{ErrorsAsItems, Utf8FramesCodec, Utf8FramesError};

fn codec() -> Utf8FramesCodec<OctetCountingCodec> {
    Utf8FramesCodec::new(OctetCountingCodec::new().with_max_length(8 * 1024).with_line_frames(true))
}

/// Forwards the messages and errors of one client to the log.
async fn receive(socket: TcpStream, log: mpsc::Sender<String>) -> Result<(), Utf8FramesError<FramingError>> {
    let mut messages = FramedRead::new(socket, ErrorsAsItems::new(codec()));
    while let Some(message) = messages.next().await {
        let line = match message? {
            Ok(message) => format!("message: {}", message.escape_debug()),
            Err(error) => format!("error: {error}"),
        };
        if log.send(line).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn serve(listener: TcpListener, log: mpsc::Sender<String>) -> std::io::Result<()> {
    loop {
        let (socket, peer) = listener.accept().await?;
        let log = log.clone();
        tokio::spawn(async move {
            if let Err(error) = receive(socket, log).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (address, is_demonstration) = match &arguments[..] {
        [] => ("127.0.0.1:0", true),
        [flag, address] if flag == "--listen" => (&address[..], false),
        _ => return Err("usage: syslog_server [--listen ADDR]".into()),
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    let (log, mut lines) = mpsc::channel(16);
    tokio::spawn(serve(listener, log));
    if is_demonstration {
        return demonstrate(TcpStream::connect(address).await?, lines).await;
    }
    while let Some(line) = lines.recv().await {
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    Ok(())
}

async fn demonstrate(client: TcpStream, mut lines: mpsc::Receiver<String>) -> Result<(), Box<dyn Error>> {
    client.set_nodelay(true)?;
    let mut messages = FramedWrite::new(client, codec());
    messages.send("<13>two\nlines").await?;
    // A message that is split inside its length and inside a character.
    let client = messages.get_mut();
    for piece in [&b"1"[..], b"0 <13>gr\xC3", b"\xBCn!", b"5 <13>\xFF"] {
        client.write_all(piece).await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    messages.send("<13>end").await?;
    let expected = [
        "message: <13>two\\nlines",
        "message: <13>gr\u{FC}n!",
        "error: frame 2: ill-formed UTF-8 at byte 4 (InvalidLead, 1 byte)",
        "message: <13>end",
    ];
    for expected in expected {
        let line = lines.recv().await.ok_or("the server has stopped")?;
        assert_eq!(line, expected);
        println!("{line}");
    }
    Ok(())
}
