//! Text inside formats: escapes of JSON, strings of protobuf, WebSocket frames.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use fastwebsockets::{FragmentCollector, OpCode};
use futures::executor::block_on;
use prost::Message as _;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tungstenite::protocol::{Message, Role, WebSocket};
use utf8_codec::json::JsonDecoder;
use utf8_codec::validator::Mask;
use utf8_codec_http::protobuf::{Schema, StringFilter};
use utf8_codec_proxy::websocket::{FrameEvent, FrameHeader, FrameReader, FrameSender, Opcode};

use crate::corpora::Corpus;
use crate::measure::Contender;
use crate::table::{Bench, goal};

#[path = "../../../crates/test-support/src/protobuf/encoder.rs"]
mod encoder;

use encoder::{MESSAGE, STRING, descriptor, field, file, schema_of};

impl Bench {
    pub fn formats(&self) {
        self.json();
        self.protobuf();
        self.frames();
    }

    fn json(&self) {
        let scenario = "escapes of JSON, 64 KiB chunks";
        for (input, is_escaped, corpus) in [
            ("ASCII, no escapes", false, Corpus::AsciiJson),
            ("Cyrillic, no escapes", false, Corpus::Cyrillic),
            ("Cyrillic, all of it escaped", true, Corpus::Cyrillic),
        ] {
            if !self.is_wanted(scenario) {
                continue;
            }
            let document = &document(corpus, is_escaped);
            let contenders = vec![
                Contender::new("ours", move || {
                    let mut decoder = JsonDecoder::new();
                    let chunks = black_box(document).as_bytes().chunks(64 * 1024);
                    chunks.for_each(|chunk| decoder.feed(chunk).for_each(|piece| _ = black_box(piece)));
                    document.len() as u64
                }),
                Contender::new("serde_json (IgnoredAny)", move || {
                    let parsed = serde_json::from_slice::<IgnoredAny>(black_box(document).as_bytes());
                    parsed.map_or(0, |_| document.len() as u64)
                }),
            ];
            let goal =
                goal(if is_escaped { 1.0 } else { 5.0 }).because("serde_json does not look at characters");
            self.row(scenario, input, document.len(), contenders, goal);
        }
    }

    fn protobuf(&self) {
        let schema = schema();
        let validator = &StringFilter::new(&schema, "Logs").expect("a message of the schema");
        let scenario = "protobuf logs, strings of 300 B, reads of 16 KiB";
        for corpus in [Corpus::AsciiJson, Corpus::Cyrillic].into_iter().filter(|_| self.is_wanted(scenario)) {
            let bytes = &logs(corpus)[..];
            let contenders = vec![
                Contender::new("ours", move || {
                    let mut validator = validator.clone();
                    let is_ok =
                        black_box(bytes).chunks(16 * 1024).all(|read| validator.validate(read).is_ok());
                    assert!(is_ok && validator.finish().is_ok());
                    bytes.len() as u64
                }),
                Contender::new("prost (whole message)", move || {
                    black_box(Logs::decode(black_box(bytes)).expect("well-formed"));
                    bytes.len() as u64
                }),
            ];
            self.row(scenario, corpus.name(), bytes.len(), contenders, goal(2.0));
        }
    }

    /// Reads messages, as a server does. Each reader copies the bytes out of the connection.
    fn frames(&self) {
        for (scenario, len, count) in [
            ("WebSocket frames of 40 B, masked", 40, 5_700),
            ("WebSocket frames of 16 KiB, masked", 16 * 1024, 16),
        ] {
            for corpus in
                [Corpus::AsciiJson, Corpus::Cyrillic].into_iter().filter(|_| self.is_wanted(scenario))
            {
                let texts = corpus.strings(len..=len, count);
                let stream = &texts.iter().flat_map(|text| frame(text.as_bytes())).collect::<Vec<_>>();
                let contenders = vec![
                    Contender::new("ours", {
                        let mut buffer = vec![0; READ];
                        move || {
                            let mut reader = FrameReader::new(FrameSender::Client);
                            let mut text = 0;
                            for chunk in stream.chunks(READ) {
                                let chunk_of_buffer = &mut buffer[..chunk.len()];
                                chunk_of_buffer.copy_from_slice(chunk);
                                for event in reader.feed(chunk_of_buffer) {
                                    match black_box(event).expect("well-formed") {
                                        FrameEvent::Text(part) => text += part.len() as u64,
                                        FrameEvent::Seam(part) => text += part.len() as u64,
                                        _ => {}
                                    }
                                }
                            }
                            text
                        }
                    }),
                    Contender::new("tungstenite", move || {
                        let mut socket = WebSocket::from_raw_socket(Connection(stream), Role::Server, None);
                        let mut text = 0;
                        while let Ok(message) = socket.read() {
                            if let Message::Text(part) = black_box(message) {
                                text += part.len() as u64;
                            }
                        }
                        text
                    }),
                    Contender::new("fastwebsockets", move || {
                        block_on(async {
                            let mut socket =
                                FragmentCollector::new(fastwebsockets::WebSocket::after_handshake(
                                    Connection(stream),
                                    fastwebsockets::Role::Server,
                                ));
                            let mut text = 0;
                            while let Ok(frame) = socket.read_frame().await {
                                if frame.opcode == OpCode::Text {
                                    text += black_box(frame.payload).len() as u64;
                                }
                            }
                            text
                        })
                    }),
                ];
                self.row(scenario, corpus.name(), stream.len(), contenders, goal(1.0));
            }
        }
    }
}

/// The size of a document of JSON.
const LEN: usize = 1024 * 1024;

/// An array of objects with a number and a text of 100 to 200 characters each, of which all or none are escaped.
fn document(corpus: Corpus, is_escaped: bool) -> String {
    let mut document = String::from("[{\"id\":0}");
    for (id, text) in corpus.strings(100..=200, LEN / 150).iter().enumerate() {
        document.push_str(&format!(",\n{{\"id\":{id},\"text\":\""));
        for character in text.chars().filter(|character| character.is_alphanumeric() || *character == ' ') {
            if is_escaped {
                document.push_str(&format!("\\u{:04x}", u32::from(character)));
            } else {
                document.push(character);
            }
        }
        document.push_str("\"}");
    }
    document + "]"
}

/// The messages of `opentelemetry/proto/logs/v1/logs.proto`, without fields that are rarely set.
#[derive(Clone, PartialEq, prost::Message)]
struct Logs {
    #[prost(message, repeated, tag = "1")]
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceLogs {
    #[prost(message, repeated, tag = "2")]
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeLogs {
    #[prost(message, repeated, tag = "2")]
    log_records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LogRecord {
    #[prost(fixed64, tag = "1")]
    time_unix_nano: u64,
    #[prost(fixed64, tag = "11")]
    observed_time_unix_nano: u64,
    #[prost(int32, tag = "2")]
    severity_number: i32,
    #[prost(string, tag = "3")]
    severity_text: String,
    #[prost(message, optional, tag = "5")]
    body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    attributes: Vec<KeyValue>,
    #[prost(bytes = "vec", tag = "9")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(string, tag = "1")]
    String(String),
    #[prost(int64, tag = "3")]
    Int(i64),
}

fn schema() -> Schema {
    let list = |name: &str, number, inner: &str| descriptor(name, &[field("list", number, MESSAGE, inner)]);
    schema_of(&file(
        "proto3",
        "",
        &[
            list("Logs", 1, ".ResourceLogs"),
            list("ResourceLogs", 2, ".ScopeLogs"),
            list("ScopeLogs", 2, ".LogRecord"),
            descriptor(
                "LogRecord",
                &[
                    field("severity_text", 3, STRING, ""),
                    field("body", 5, MESSAGE, ".AnyValue"),
                    field("attributes", 6, MESSAGE, ".KeyValue"),
                ],
            ),
            descriptor("KeyValue", &[field("key", 1, STRING, ""), field("value", 2, MESSAGE, ".AnyValue")]),
            descriptor("AnyValue", &[field("string_value", 1, STRING, "")]),
        ],
    ))
}

/// 1,000 log records, each with a body and two attributes of about 300 bytes, and a number.
fn logs(corpus: Corpus) -> Vec<u8> {
    let texts = corpus.strings(290..=310, 3_000);
    let string = |text: &String| Some(AnyValue { value: Some(Value::String(text.clone())) });
    let record = |(index, texts): (usize, &[String])| LogRecord {
        time_unix_nano: 1_700_000_000_000_000_000 + index as u64,
        observed_time_unix_nano: 1_700_000_000_000_000_000,
        severity_number: 9,
        severity_text: "INFO".into(),
        body: string(&texts[0]),
        attributes: vec![
            KeyValue { key: "exception.stacktrace".into(), value: string(&texts[1]) },
            KeyValue { key: "url.full".into(), value: string(&texts[2]) },
            KeyValue {
                key: "http.response.status_code".into(),
                value: Some(AnyValue { value: Some(Value::Int(200)) }),
            },
        ],
        trace_id: vec![7; 16],
        span_id: vec![7; 8],
    };
    let log_records = texts.chunks(3).enumerate().map(record).collect();
    let resource_logs = vec![ResourceLogs { scope_logs: vec![ScopeLogs { log_records }] }];
    Logs { resource_logs }.encode_to_vec()
}

/// The bytes of a read.
const READ: usize = 64 * 1024;

/// The key of masked text.
const KEY: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// Returns a masked frame.
fn frame(text: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let mut header = FrameHeader::new(Opcode::Text, text.len() as u64);
    header.mask = Some(KEY);
    header.write_to(&mut frame);
    let start = frame.len();
    frame.extend_from_slice(text);
    Mask::new(KEY).apply(&mut frame[start..]);
    frame
}

/// A connection that returns these bytes, at most [`READ`] at once, and discards what is written.
struct Connection<'b>(&'b [u8]);

impl Read for Connection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(READ);
        self.0.read(&mut buffer[..len])
    }
}

impl Write for Connection<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Connection<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self.0.split_at(self.0.len().min(buffer.remaining()).min(READ));
        buffer.put_slice(now);
        self.0 = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
