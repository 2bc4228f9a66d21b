//! Writes serialized protobuf and descriptors, for the tests, an example and the benchmarks.

// Each of them uses a part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use utf8_codec_http::protobuf::Schema;

pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn tag(out: &mut Vec<u8>, number: u32, wire_type: u8) {
    varint(out, u64::from(number) << 3 | u64::from(wire_type));
}

/// A field of wire type 0.
pub fn number(out: &mut Vec<u8>, number: u32, value: u64) {
    tag(out, number, 0);
    varint(out, value);
}

/// A field of wire type 2.
pub fn bytes(out: &mut Vec<u8>, number: u32, value: impl AsRef<[u8]>) {
    tag(out, number, 2);
    varint(out, value.as_ref().len() as u64);
    out.extend_from_slice(value.as_ref());
}

/// A message that consists of fields of wire type 2.
pub fn message<'v>(fields: impl IntoIterator<Item = (u32, &'v [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    fields.into_iter().for_each(|(number, value)| bytes(&mut out, number, value));
    out
}

/// Values of `FieldDescriptorProto.Type`.
pub const INT32: u64 = 5;
pub const STRING: u64 = 9;
pub const GROUP: u64 = 10;
pub const MESSAGE: u64 = 11;
pub const BYTES: u64 = 12;

/// A `FieldDescriptorProto`.
pub fn field(name: &str, field_number: u32, kind: u64, type_name: &str) -> Vec<u8> {
    let mut out = message([(1, name.as_bytes())]);
    number(&mut out, 3, field_number.into());
    number(&mut out, 4, 1);
    number(&mut out, 5, kind);
    if !type_name.is_empty() {
        bytes(&mut out, 6, type_name);
    }
    out
}

/// A `DescriptorProto`.
pub fn descriptor(name: &str, fields: &[Vec<u8>]) -> Vec<u8> {
    message([(1, name.as_bytes())].into_iter().chain(fields.iter().map(|field| (2, &field[..]))))
}

/// A `FileDescriptorProto`.
pub fn file(syntax: &str, package: &str, messages: &[Vec<u8>]) -> Vec<u8> {
    let messages = messages.iter().map(|message| (4, &message[..]));
    let head = [(1, &b"test.proto"[..]), (2, package.as_bytes())];
    message(head.into_iter().chain(messages).chain([(12, syntax.as_bytes())]))
}

/// The schema of one file.
pub fn schema_of(file: &[u8]) -> Schema {
    Schema::from_descriptor_set(&message([(1, file)])).unwrap()
}
