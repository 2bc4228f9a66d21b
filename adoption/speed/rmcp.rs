//! A peer that sends notifications with a line of text each, in reads of 8 KiB.

mod utf8_codec_texts;

use rmcp::transport::async_rw::JsonRpcMessageCodec;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::Decoder;

fn main() {
    let Some((text, rounds)) = utf8_codec_texts::from_arguments() else { return };
    let mut lines = String::new();
    for line in String::from_utf8(text).unwrap().lines() {
        lines.push_str(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":\"{line}\"}}\n"));
    }
    let (mut codec, mut buffer, mut messages) =
        (JsonRpcMessageCodec::<serde_json::Value>::new(), BytesMut::new(), 0);
    for _ in 0..rounds {
        for read in lines.as_bytes().chunks(8192) {
            buffer.extend_from_slice(read);
            while let Some(message) = codec.decode(&mut buffer).unwrap() {
                messages += usize::from(message.is_object());
            }
        }
    }
    std::hint::black_box(messages);
}
