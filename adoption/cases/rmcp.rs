use rmcp::RoleServer;
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, JsonRpcMessageCodec};
use serde_json::Value;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::Decoder;

const IGNORED: &str = "{\"method\":\"notifications/stderr\",\"params\":{}}\n";
const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

type Request = rmcp::service::RxJsonRpcMessage<RoleServer>;

fn id(message: Request) -> Value {
    serde_json::to_value(message).unwrap()["id"].clone()
}

#[test]
fn a_request_after_an_ignored_notification_is_returned_at_once() {
    let mut codec = JsonRpcMessageCodec::<Request>::new();
    let mut buffer = BytesMut::from(format!("{IGNORED}{PING}\n").as_str());
    assert_eq!(codec.decode(&mut buffer).unwrap().map(id), Some(1.into()));
}

#[test]
fn a_line_without_an_end_is_an_error_in_bounded_memory() {
    let mut codec = JsonRpcMessageCodec::<Request>::new();
    let mut buffer = BytesMut::zeroed(17 * 1024 * 1024);
    assert!(codec.decode(&mut buffer).is_err());
}

#[tokio::test]
async fn a_last_message_without_a_line_feed_is_delivered() {
    let input: &'static [u8] = PING.as_bytes();
    let mut transport = AsyncRwTransport::<RoleServer, _, _>::new(input, tokio::io::sink());
    assert_eq!(transport.receive().await.map(id), Some(1.into()));
}
