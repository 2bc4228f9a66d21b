use fastwebsockets::{FragmentCollector, Role, WebSocket, WebSocketError};
use tokio::io::AsyncWriteExt;

/// Returns the first message of a server that sends these frames.
async fn message(frames: &[&[u8]]) -> Result<Vec<u8>, WebSocketError> {
    let (mut server, client) = tokio::io::duplex(1024);
    server.write_all(&frames.concat()).await.unwrap();
    let mut socket = FragmentCollector::new(WebSocket::after_handshake(client, Role::Client));
    socket.read_frame().await.map(|frame| frame.payload.to_vec())
}

#[tokio::test]
async fn a_message_that_ends_inside_a_character_is_rejected() {
    assert_eq!(message(&[b"\x01\x02ab", b"\x80\x03c\xC3\xA9"]).await.unwrap(), "abcé".as_bytes());
    let cut = message(&[b"\x01\x02ab", b"\x80\x03c\xE2\x82"]).await;
    assert!(matches!(cut, Err(WebSocketError::InvalidUTF8)), "{cut:?}");
}

#[tokio::test]
async fn a_message_with_an_empty_last_frame_that_ends_inside_a_character_is_rejected() {
    let cut = message(&[b"\x01\x02a\xC3", b"\x80\x00"]).await;
    assert!(matches!(cut, Err(WebSocketError::InvalidUTF8)), "{cut:?}");
}
