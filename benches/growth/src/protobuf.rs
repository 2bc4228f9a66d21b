//! Serialized protobuf messages.

use core::hint::black_box;

use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{GrpcFilter, StringFilter};

use crate::inputs::Input;
use crate::row::Row;

#[path = "../../../crates/test-support/src/protobuf/encoder.rs"]
mod encoder;

use encoder::{GROUP, MESSAGE, STRING, bytes, descriptor, field, file, message, schema_of};

/// Strings with an ill-formed byte, alone or at the end of 100 messages, and levels that open and close.
const MESSAGES: [Input; 5] = [
    Input { name: "ill-formed string", bytes: |size| message([(1, &b"a\xFF".repeat(size / 2)[..])]) },
    Input { name: "ill-formed strings", bytes: |size| b"\x0A\x01\xFF".repeat(size / 3) },
    Input { name: "empty messages", bytes: |size| b"\x12\0".repeat(size / 2) },
    Input { name: "nested messages", bytes: |size| nested().repeat(size / nested().len()) },
    Input { name: "nested groups", bytes: |size| [[0x1B; 100], [0x1C; 100]].concat().repeat(size / 200) },
];

/// Empty messages of gRPC, and messages with an ill-formed byte.
const GRPC: [Input; 2] = [
    Input { name: "empty messages", bytes: |size| vec![0; size] },
    Input { name: "ill-formed strings", bytes: |size| b"\0\0\0\0\x03\x0A\x01\xFF".repeat(size / 8) },
];

fn nested() -> Vec<u8> {
    (0..100).fold(b"\x0A\x01\xFF".to_vec(), |inner, _| {
        let mut out = Vec::new();
        bytes(&mut out, 2, inner);
        out
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let fields = [field("s", 1, STRING, ""), field("m", 2, MESSAGE, ".M"), field("g", 3, GROUP, ".M")];
    let schema = schema_of(&file("proto3", "", &[descriptor("M", &fields)]));
    let policies =
        [("strict", ErrorPolicy::Strict), ("substitute", ErrorPolicy::Substitute(Ascii::QUESTION_MARK))];
    let of = |policy| {
        let decoder = TextDecoder::new().with_error_policy(policy);
        StringFilter::with_decoder(&schema, "M", decoder).expect("the message")
    };
    let mut rows = Vec::new();
    for (name, policy) in policies {
        let message = of(policy);
        let body = GrpcFilter::new(message.clone());
        rows.push(Row::new(format!("StringFilter, {name}"), MESSAGES, move |input, chunk| {
            let mut validator = message.clone();
            for chunk in input.chunks(chunk) {
                let _ = validator.feed_with(chunk, |edit| drop(black_box(edit)));
            }
            let _ = black_box(validator.finish());
        }));
        rows.push(Row::new(format!("GrpcFilter, {name}"), GRPC, move |input, chunk| {
            let mut validator = body.clone();
            for chunk in input.chunks(chunk) {
                let _ = validator.feed_with(chunk, |edit| drop(black_box(edit)));
            }
            let _ = black_box(validator.finish());
        }));
    }
    let message = of(ErrorPolicy::Replace);
    let body = GrpcFilter::new(message.clone());
    let repair = move |input: &[u8], _| drop(black_box(message.repair(input)));
    rows.push(Row::new("StringFilter::repair", MESSAGES, repair).whole_only());
    let repair = move |input: &[u8], _| drop(black_box(body.repair(input)));
    rows.push(Row::new("GrpcFilter::repair", GRPC, repair).whole_only());
    rows
}
