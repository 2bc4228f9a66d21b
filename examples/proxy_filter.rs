//! Three uses of `utf8-codec-proxy`: a filter in a body hook, a filter in an engine's own buffer, and the relay as a
//! complete proxy.
//!
//! Without arguments it runs all three on loopback and exits. With `--listen ADDR [UPSTREAM]` it runs as a proxy.
//! Without UPSTREAM it starts an echo server.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use utf8_codec::{Ascii, ErrorPolicy, TextDecoder, Utf8Error};
use utf8_codec_proxy::{Edit, Filter, Relay, RelayDirection, RelayEnd};

/// The state of a request: `CTX` in pingora, the HTTP context in proxy-wasm.
struct Context {
    body: Filter,
}

/// Pingora's `request_body_filter` without the session: the chunk is replaced by the bytes to send to the server.
///
/// In pingora `None` ends a body, so the filter returns it only at the end.
fn request_body_filter(
    body: &mut Option<Bytes>,
    end_of_stream: bool,
    context: &mut Context,
) -> Result<(), Utf8Error> {
    // After an error the engine responds with 400 if it has not sent a response yet, and closes the connection otherwise.
    context.body.rewrite(body, end_of_stream)
}

fn body_hooks() {
    let mut context = Context { body: Filter::new() };
    let chunks = [(&b"{\"name\":\"Bj\xC3"[..], false), (b"\xB6", false), (b"", false), (b"rn\"}", true)];
    let mut sent = Vec::new();
    for (chunk, end_of_stream) in chunks {
        let mut body = Some(Bytes::from_static(chunk));
        assert_eq!(request_body_filter(&mut body, end_of_stream, &mut context), Ok(()));
        sent.extend_from_slice(&body.expect("only the end leaves none"));
    }
    assert_eq!(sent, "{\"name\":\"Björn\"}".as_bytes());

    let mut context = Context { body: Filter::new() };
    let mut body = Some(Bytes::from_static(b"../\xC0\xAF"));
    let error = request_body_filter(&mut body, false, &mut context).unwrap_err();
    assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 3 (Overlong, 1 byte)");

    // A replacement of the same length, so `Content-Length` stays correct.
    let substitute = ErrorPolicy::Substitute(Ascii::QUESTION_MARK);
    let mut context =
        Context { body: Filter::with_decoder(TextDecoder::new().with_error_policy(substitute)) };
    let mut body = Some(Bytes::from_static(b"caf\xE9 \xF0\x9F"));
    assert_eq!(request_body_filter(&mut body, true, &mut context), Ok(()));
    assert_eq!(body.as_deref(), Some(&b"caf? ??"[..]));
    println!(
        "body hooks: a split character is held, an overlong slash is rejected, a replacement can keep the length"
    );
}

/// An engine with its own buffer, a chain of slices, which is changed only where necessary.
fn engine_buffer() {
    let mut filter = Filter::new();
    let mut unchanged = 0;
    let mut sent = Vec::new();
    for slice in [&b"na\xC3\xAFve "[..], b"\xF0\x9F\xA6", b"\x80 crab"] {
        let before = sent.len();
        let result = filter.feed_with(slice, |edit| match edit {
            Edit::Pass(range) if range == (0..slice.len()) && sent.len() == before => {
                unchanged += 1;
                sent.extend_from_slice(slice);
            }
            Edit::Pass(range) => sent.extend_from_slice(&slice[range]),
            Edit::Insert(bytes) => sent.extend_from_slice(bytes),
            edit => panic!("{edit:?}"),
        });
        assert_eq!(result, Ok(()));
    }
    assert_eq!((sent, unchanged), ("naïve \u{1F980} crab".as_bytes().to_vec(), 1));
    println!("engine buffer: a slice of well-formed text is sent unchanged");
}

/// Relays each connection to `upstream`, and prints the errors.
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
            if let RelayEnd::IllFormed(RelayDirection::Requests, _) = outcome.end {
                println!("{peer}: {} of {} bytes delivered", outcome.requests.written, outcome.requests.read);
            }
        });
    }
}

/// Echoes the bytes that it receives.
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
    engine_buffer();

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(proxy(listener, upstream));

    let mut client = TcpStream::connect(address).await?;
    client.set_nodelay(true)?;
    for byte in "byte by byte: \u{1F980}".as_bytes() {
        client.write_all(&[*byte]).await?;
    }
    // The text before the error is delivered and echoed, then the connection is closed.
    client.write_all(b" and then \xFF what follows is not delivered").await?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await?;
    assert_eq!(answer, "byte by byte: \u{1F980} and then ");
    println!("relay: {answer:?} came back");
    Ok(())
}
