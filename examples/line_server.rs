//! A line server that continues after ill-formed lines.
//!
//! Without arguments it runs a server on a free port and a client that splits characters between its writes, and exits.
//! With `--listen ADDR` it only serves.

use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::Framed;
use utf8_codec::codec::Utf8LinesCodec;

/// Responds to every line of a connection, including ill-formed ones.
async fn converse(socket: TcpStream) -> std::io::Result<()> {
    let mut lines = Framed::new(socket, Utf8LinesCodec::new().with_max_length(1024));
    while let Some(line) = lines.next().await {
        let answer = match line? {
            Ok(line) => format!("{} characters", line.chars().count()),
            Err(error) => error.to_string(),
        };
        lines.send(answer).await?;
    }
    Ok(())
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (socket, peer) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = converse(socket).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut args = std::env::args().skip(1);
    if let Some(flag) = args.next() {
        let (true, Some(addr)) = (flag == "--listen", args.next()) else {
            return Err("usage: [--listen ADDR]".into());
        };
        let listener = TcpListener::bind(addr).await?;
        println!("listening on {}", listener.local_addr()?);
        return Ok(serve(listener).await?);
    }

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    let server = tokio::spawn(serve(listener));

    let mut client = TcpStream::connect(addr).await?;
    client.set_nodelay(true)?;
    for byte in "smörgås\nb\u{0}d\n".as_bytes() {
        // One write for each byte, so that characters are split.
        client.write_all(&[*byte]).await?;
    }
    client.write_all(b"b\xFFd\ngood again\ncut off \xE2\x82").await?;
    client.shutdown().await?;
    let mut answers = String::new();
    client.read_to_string(&mut answers).await?;
    assert_eq!(
        answers.lines().collect::<Vec<_>>(),
        [
            "7 characters",
            "3 characters",
            "line 3, column 2: ill-formed UTF-8 at byte 15 (InvalidLead, 1 byte)",
            "10 characters",
            "line 5, column 9: ill-formed UTF-8 at byte 37 (Truncated, 2 bytes)",
        ]
    );
    print!("{answers}");
    server.abort();
    Ok(())
}
