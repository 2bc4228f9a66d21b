//! The goals of protobuf messages, compared with prost, which parses them into objects.

use std::hint::black_box;

use prost::Message;
use utf8_codec::protobuf::{Schema, StringValidator};

use crate::corpora::Corpus;
use crate::measure::{Contender, race};
use crate::rows::{Bench, measured};

#[path = "../../../tests/support/protobuf/encoder.rs"]
mod encoder;

use encoder::{MESSAGE, STRING, descriptor, field, file, schema_of};

/// The messages of `opentelemetry/proto/logs/v1/logs.proto`, without fields that are rarely set.
#[derive(Clone, PartialEq, Message)]
struct Logs {
    #[prost(message, repeated, tag = "1")]
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceLogs {
    #[prost(message, repeated, tag = "2")]
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeLogs {
    #[prost(message, repeated, tag = "2")]
    log_records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, Message)]
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

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
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

impl Bench {
    pub fn protobuf(&self) {
        let schema = schema();
        let validator = StringValidator::new(&schema, "Logs").unwrap();
        for (scenario, chunk) in [
            ("protobuf logs of 300 B strings, whole", usize::MAX),
            ("protobuf logs of 300 B strings, 16 KiB reads", 16 * 1024),
        ] {
            if !self.is_wanted(scenario) {
                continue;
            }
            for corpus in [Corpus::AsciiJson, Corpus::Cyrillic] {
                let bytes = &logs(corpus)[..];
                let contenders = vec![
                    Contender::new("ours", || {
                        let mut validator = validator.clone();
                        for chunk in black_box(bytes).chunks(chunk) {
                            validator.validate(chunk).unwrap();
                        }
                        validator.finish().unwrap();
                        bytes.len() as u64
                    }),
                    Contender::new("prost", || {
                        black_box(Logs::decode(black_box(bytes)).unwrap());
                        bytes.len() as u64
                    }),
                ];
                let race = race(contenders, self.effort);
                let of = measured(scenario, corpus.name(), bytes.len(), &race);
                self.note(&of, "ours", &["prost"], 3.0);
                self.note_speed(&of, "ours", 1.0);
            }
        }
    }
}
