//! JSON-RPC over the base protocol of the Language Server Protocol: one method, `count`, which returns the number of
//! characters of a text.
//!
//! Without arguments it starts on a free port, calls itself, and exits. `--listen ADDR` serves until it is interrupted;
//! the client of VS Code can call it (`vscode-jsonrpc` from npm, `SocketMessageReader` and `SocketMessageWriter`).

use core::error::Error;
use std::io::Write as _;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::Framed;
use utf8_codec::codec::framing::{ContentLengthCodec, FramingError};
use utf8_codec::codec::{ErrorsAsItems, Utf8FramesCodec, Utf8FramesError};

type Messages = Framed<TcpStream, ErrorsAsItems<Utf8FramesCodec<ContentLengthCodec>>>;

fn messages(socket: TcpStream) -> Messages {
    let codec = Utf8FramesCodec::new(ContentLengthCodec::new().with_max_length(1 << 20));
    Framed::new(socket, ErrorsAsItems::new(codec))
}

/// Serves one client. The response to a message that is ill-formed or too long is an error, and the session continues.
async fn converse(socket: TcpStream) -> Result<(), Utf8FramesError<FramingError>> {
    let mut messages = messages(socket);
    while let Some(message) = messages.next().await {
        let answer = match message? {
            Ok(message) => answer(&message),
            Err(error) => Some(failure(Value::Null, -32700, &error.to_string())),
        };
        if let Some(answer) = answer {
            messages.send(answer.to_string()).await.map_err(Utf8FramesError::Inner)?;
        }
    }
    Ok(())
}

/// Returns the response to a request. A notification has none.
fn answer(message: &str) -> Option<Value> {
    let Ok(request) = serde_json::from_str::<Value>(message) else {
        return Some(failure(Value::Null, -32700, "not JSON"));
    };
    let id = request.get("id")?.clone();
    Some(match (request["method"].as_str(), request["params"]["text"].as_str()) {
        (Some("count"), Some(text)) => {
            json!({"jsonrpc": "2.0", "id": id, "result": {"text": text, "characters": text.chars().count()}})
        }
        (Some("count"), None) => failure(id, -32602, "the parameter `text` is missing"),
        _ => failure(id, -32601, "the method is unknown"),
    })
}

fn failure(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
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
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (address, is_demonstration) = match &arguments[..] {
        [] => ("127.0.0.1:0", true),
        [flag, address] if flag == "--listen" => (&address[..], false),
        _ => return Err("usage: language_server [--listen ADDR]".into()),
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    if is_demonstration {
        tokio::spawn(serve(listener));
        return demonstrate(TcpStream::connect(address).await?).await;
    }
    Ok(serve(listener).await?)
}

async fn demonstrate(socket: TcpStream) -> Result<(), Box<dyn Error>> {
    let mut messages = messages(socket);
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "count", "params": {"text": "na\u{EF}ve \u{1F980}"}});
    messages.send(request.to_string()).await?;
    let answer: Value = serde_json::from_str(&messages.next().await.ok_or("no answer")???)?;
    assert_eq!(answer["result"]["characters"], 7);

    // The text is ill-formed. The session continues.
    messages.get_mut().write_all(b"Content-Length: 3\r\n\r\n\"\xFF\"").await?;
    let answer: Value = serde_json::from_str(&messages.next().await.ok_or("no answer")???)?;
    assert_eq!(answer["error"]["message"], "frame 1: ill-formed UTF-8 at byte 1 (InvalidLead, 1 byte)");
    messages.send(json!({"jsonrpc": "2.0", "id": 2, "method": "other"}).to_string()).await?;
    let answer: Value = serde_json::from_str(&messages.next().await.ok_or("no answer")???)?;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(-32601)));
    println!("3 answers, one of them to an ill-formed message");
    Ok(())
}
