//! WebSocket over HTTP/2 (RFC 8441) through the gateway, between a client and a server of the crate `h2`.

mod support;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::ext::Protocol;
use h2::{Reason, RecvStream, SendStream};
use http::{Method, Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use self::support::{Gateway, PATIENCE};

/// A message that is well-formed and one that is not, from a client. The key of the mask is 0.
const ILL_FORMED: &[u8] = b"\x81\x86\0\0\0\0na\xC3\xAFve\x81\x87\0\0\0\0caf\xED\xA0\x80!";
const GOOD: &[u8] = b"\x81\x86\0\0\0\0na\xC3\xAFve\x88\x82\0\0\0\0\x03\xE8";
/// The same from a server.
const ILL_FORMED_OF_SERVER: &[u8] = b"\x81\x06na\xC3\xAFve\x81\x07caf\xED\xA0\x80!";
const CLOSE_OF_SERVER: &[u8] = b"\x88\x02\x03\xE8";

/// Returns the text of all messages, and the code of the close frame.
fn parse(mut data: &[u8]) -> (String, Option<u16>) {
    let mut text = Vec::new();
    while let [first, second, rest @ ..] = data {
        let key_len = if second & 0x80 == 0 { 0 } else { 4 };
        let len = usize::from(second & 0x7F);
        assert!(len < 126, "a short frame");
        let Some((content, rest)) = rest.split_at_checked(key_len + len) else { break };
        let (key, payload) = content.split_at(key_len);
        let key = if key.is_empty() { &[0; 4][..] } else { key };
        let payload: Vec<u8> = payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
        if first & 0xF == 8 {
            return (String::from_utf8(text).unwrap(), Some(u16::from_be_bytes([payload[0], payload[1]])));
        }
        text.extend(payload);
        data = rest;
    }
    (String::from_utf8_lossy(&text).into_owned(), None)
}

/// Reads up to the close frame or the end.
async fn read(stream: &mut RecvStream, data: &mut Vec<u8>) {
    while parse(data).1.is_none()
        && let Some(Ok(bytes)) = stream.data().await
    {
        let _ = stream.flow_control().release_capacity(bytes.len());
        data.extend_from_slice(&bytes);
    }
}

/// A server that accepts WebSocket connections, sends `frames`, and reports what it receives. For the path `/late` it
/// responds after it has received a close frame.
async fn server(frames: &'static [u8]) -> (SocketAddr, UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, frames, sender.clone()));
        }
    });
    (address, receiver)
}

async fn serve(stream: TcpStream, frames: &'static [u8], received: UnboundedSender<Vec<u8>>) {
    let mut builder = h2::server::Builder::new();
    let mut connection = builder.enable_connect_protocol().handshake::<_, Bytes>(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let received = received.clone();
        tokio::spawn(async move {
            let is_late = request.uri().path() == "/late";
            assert_eq!(request.extensions().get::<Protocol>().map(Protocol::as_str), Some("websocket"));
            let (mut stream, mut data) = (request.into_body(), Vec::new());
            if is_late {
                read(&mut stream, &mut data).await;
            }
            let Ok(mut body) = respond.send_response(Response::new(()), false) else { return };
            for byte in frames.chunks(1) {
                let _ = body.send_data(Bytes::from_static(byte), false);
            }
            read(&mut stream, &mut data).await;
            let _ = body.send_data(Bytes::from_static(CLOSE_OF_SERVER), true);
            let _ = received.send(data);
        });
    }
}

async fn client(gateway: &Gateway) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(gateway.address).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Sends `CONNECT` and these pieces, after the response if it does not come from `/late`. Returns the status and the data
/// of the response, and the open stream.
async fn connect(
    client: &SendRequest<Bytes>,
    path: &str,
    protocol: Option<&'static str>,
    pieces: &[&'static [u8]],
) -> Result<(u16, Vec<u8>, SendStream<Bytes>), h2::Error> {
    let uri = if protocol.is_some() { format!("http://a{path}") } else { "a:80".to_owned() };
    let mut request = Request::builder().method(Method::CONNECT).uri(uri).body(()).unwrap();
    if let Some(protocol) = protocol {
        request.extensions_mut().insert(Protocol::from(protocol));
    }
    let mut client = client.clone().ready().await?;
    let (mut response, mut body) = client.send_request(request, false)?;
    let is_late = path == "/late";
    let early = if is_late { None } else { Some((&mut response).await?) };
    for piece in pieces {
        // The stream may have ended.
        let _ = body.send_data(Bytes::from_static(piece), false);
        sleep(Duration::from_millis(2)).await;
    }
    let response = match early {
        Some(response) => response,
        None => response.await?,
    };
    let (status, mut data) = (response.status().as_u16(), Vec::new());
    let mut stream = response.into_body();
    if status == 200 {
        read(&mut stream, &mut data).await;
    }
    Ok((status, data, body))
}

async fn next(received: &mut UnboundedReceiver<Vec<u8>>) -> (String, Option<u16>) {
    parse(&timeout(PATIENCE, received.recv()).await.expect("the server received a close frame").unwrap())
}

fn gateway(upstream: SocketAddr) -> Gateway {
    Gateway::with_arguments(&["--upstream-http2"], upstream)
}

#[tokio::test]
async fn well_formed_messages_pass_in_both_directions() {
    let (upstream, mut received) = server(b"\x81\x06na\xC3\xAFve").await;
    let gateway = gateway(upstream);
    let client = client(&gateway).await;
    for path in ["/", "/late"] {
        for cut in 1..GOOD.len() {
            let (head, tail) = GOOD.split_at(cut);
            let (status, data, _stream) =
                connect(&client, path, Some("websocket"), &[head, tail]).await.unwrap();
            assert_eq!((status, parse(&data)), (200, ("naïve".to_owned(), Some(1000))), "{path} {cut}");
            assert_eq!(next(&mut received).await, ("naïve".to_owned(), Some(1000)), "{path} {cut}");
        }
    }
}

#[tokio::test]
async fn an_ill_formed_message_of_a_client_closes_both_directions() {
    let (upstream, mut received) = server(b"").await;
    let gateway = gateway(upstream);
    let client = client(&gateway).await;
    for cut in 1..ILL_FORMED.len() {
        let (head, tail) = ILL_FORMED.split_at(cut);
        let (status, data, _stream) = connect(&client, "/", Some("websocket"), &[head, tail]).await.unwrap();
        assert_eq!((status, parse(&data)), (200, (String::new(), Some(1007))), "{cut}");
        assert_eq!(next(&mut received).await, ("naïvecaf".to_owned(), Some(1007)), "{cut}");
    }
}

#[tokio::test]
async fn an_ill_formed_message_of_a_server_closes_both_directions() {
    let (upstream, mut received) = server(ILL_FORMED_OF_SERVER).await;
    let gateway = gateway(upstream);
    let client = client(&gateway).await;
    let (status, data, mut stream) = connect(&client, "/", Some("websocket"), &[]).await.unwrap();
    assert_eq!((status, parse(&data)), (200, ("naïvecaf".to_owned(), Some(1007))));
    // The server receives its close frame in place of what the client sends next.
    stream.send_data(Bytes::from_static(GOOD), false).unwrap();
    assert_eq!(next(&mut received).await.1, Some(1007));
}

#[tokio::test]
async fn an_ill_formed_message_before_the_response_is_rejected() {
    let (upstream, _received) = server(b"").await;
    let gateway = gateway(upstream);
    let client = client(&gateway).await;
    for cut in 1..ILL_FORMED.len() {
        let (head, tail) = ILL_FORMED.split_at(cut);
        let (status, ..) = connect(&client, "/late", Some("websocket"), &[head, tail]).await.unwrap();
        assert_eq!(status, 400, "{cut}");
    }
}

#[tokio::test]
async fn other_tunnels_are_rejected() {
    let (upstream, _received) = server(b"").await;
    let gateway = gateway(upstream);
    let client = client(&gateway).await;
    for (protocol, status) in [(None, 405), (Some("connect-udp"), 501)] {
        assert_eq!(connect(&client, "/", protocol, &[]).await.unwrap().0, status);
    }
    assert!(client.is_extended_connect_protocol_enabled());
}

#[tokio::test]
async fn websocket_over_http2_is_not_offered_for_a_server_of_http_1() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let gateway = Gateway::new("{}", listener.local_addr().unwrap());
    let client = client(&gateway).await;
    assert_eq!(connect(&client, "/", None, &[]).await.unwrap().0, 405);
    // The response came after the settings.
    assert!(!client.is_extended_connect_protocol_enabled());
    let error = connect(&client, "/", Some("websocket"), &[]).await.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::PROTOCOL_ERROR));
}
