//! Serialized protobuf messages.

use core::hint::black_box;

use utf8_codec::protobuf::StringValidator;
use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};

use crate::Row;
use crate::inputs::Input;

#[path = "../../../tests/support/protobuf/encoder.rs"]
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
    let row = |(name, policy)| {
        let decoder = TextDecoder::new().with_error_policy(policy);
        let validator = StringValidator::with_decoder(&schema, "M", decoder).expect("the message");
        Row::new(format!("StringValidator, {name}"), MESSAGES, move |input, chunk| {
            let mut validator = validator.clone();
            for chunk in input.chunks(chunk) {
                let _ = validator.feed_with(chunk, |edit| drop(black_box(edit)));
            }
            let _ = black_box(validator.finish());
        })
    };
    policies.into_iter().map(row).collect()
}
