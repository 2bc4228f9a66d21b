//! Text only, please: the filter in a proxy's body hook, and the relay as a proxy of its own.
//!
//! Without arguments it drives itself on loopback and ends. With `--listen ADDR [UPSTREAM]` it is a proxy,
//! to an echo server of its own if no other is named.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use utf8_codec::proxy::{Direction, End, Filter, Relay, Verdict};
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Error};

/// What a proxy keeps for each request: pingora calls it `CTX`, proxy-wasm the HTTP context.
struct Context {
    body: Filter,
}

/// The parameters of pingora's `request_body_filter`, but for the session: the chunk is replaced by what goes on to
/// the upstream server. In proxy-wasm the same three lines stand between `get_http_request_body` and
/// `set_http_request_body`.
fn request_body_filter(
    body: &mut Option<Bytes>,
    end_of_stream: bool,
    context: &mut Context,
) -> Result<(), Utf8Error> {
    match context.body.filter(body, end_of_stream) {
        Verdict::Pass | Verdict::Repaired(_) => Ok(()),
        // A proxy that has sent nothing yet answers 400; one that has can only close.
        Verdict::Refuse(error) => Err(error),
    }
}

fn body_hooks() {
    let mut context = Context { body: Filter::new() };
    let mut body = Some(Bytes::from_static(b"{\"name\":\"Bj\xC3"));
    assert_eq!(request_body_filter(&mut body, false, &mut context), Ok(()));
    assert_eq!(body.as_deref(), Some(&b"{\"name\":\"Bj"[..]), "half a character waits");
    let mut body = Some(Bytes::from_static(b"\xB6rn\"}"));
    assert_eq!(request_body_filter(&mut body, true, &mut context), Ok(()));
    assert_eq!(body.as_deref(), Some("örn\"}".as_bytes()));

    let mut context = Context { body: Filter::new() };
    let mut body = Some(Bytes::from_static(b"../\xC0\xAF"));
    let refused = request_body_filter(&mut body, false, &mut context).unwrap_err();
    assert_eq!(refused.to_string(), "ill-formed UTF-8 at byte 3 (Overlong, 1 byte)");

    // A repair that keeps the length keeps `Content-Length` true.
    let substitute = ErrorPolicy::Substitute(utf8_codec::Ascii::QUESTION_MARK);
    let mut context = Context { body: Filter::with_decoder(TextDecoder::new().on_error(substitute)) };
    let mut body = Some(Bytes::from_static(b"caf\xE9 \xF0\x9F"));
    assert_eq!(request_body_filter(&mut body, true, &mut context), Ok(()));
    assert_eq!(body.as_deref(), Some(&b"caf? ??"[..]));
    println!("body hooks: a cut character waits, an overlong slash is refused, a repair can keep the length");
}

/// Relays each connection to `upstream`, and says what was ill-formed.
async fn proxy(listener: TcpListener, upstream: String) -> std::io::Result<()> {
    let relay = Arc::new(Relay::new());
    loop {
        let (mut client, peer) = listener.accept().await?;
        let (relay, upstream) = (Arc::clone(&relay), upstream.clone());
        tokio::spawn(async move {
            let mut server = match TcpStream::connect(&upstream).await {
                Ok(server) => server,
                Err(error) => return eprintln!("{peer}: {upstream}: {error}"),
            };
            let report = |direction, error| println!("{peer}: {direction}: {error}");
            let outcome = relay.run(&mut client, &mut server, report).await;
            if let End::IllFormed(Direction::Requests, _) = outcome.end {
                println!("{peer}: {} of {} bytes delivered", outcome.requests.written, outcome.requests.read);
            }
        });
    }
}

/// Answers with what it got.
async fn echo(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (mut peer, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut read, mut write) = peer.split();
            tokio::io::copy(&mut read, &mut write).await
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut args = std::env::args().skip(1);
    let listen = match (args.next().as_deref(), args.next()) {
        (None, _) => None,
        (Some("--listen"), Some(listen)) => Some(listen),
        _ => return Err("usage: [--listen ADDR [UPSTREAM]]".into()),
    };
    let echo_server = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = args.next().unwrap_or(echo_server.local_addr()?.to_string());
    tokio::spawn(echo(echo_server));
    if let Some(listen) = listen {
        let listener = TcpListener::bind(listen).await?;
        println!("listening on {}", listener.local_addr()?);
        return Ok(proxy(listener, upstream).await?);
    }

    body_hooks();

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(proxy(listener, upstream));

    let mut client = TcpStream::connect(address).await?;
    client.set_nodelay(true)?;
    for byte in "byte by byte: \u{1F980}".as_bytes() {
        client.write_all(&[*byte]).await?;
    }
    // All of this is delivered and answered, then the connection is closed.
    client.write_all(b" and then \xFF what follows is not delivered").await?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await?;
    assert_eq!(answer, "byte by byte: \u{1F980} and then ");
    println!("relay: {answer:?} came back");
    Ok(())
}
