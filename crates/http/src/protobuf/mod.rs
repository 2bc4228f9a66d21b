//! Validation of the strings in serialized protobuf messages.
//!
//! For gateways and collectors. Most readers reject a whole message because of one ill-formed `string`, and a batch of
//! OpenTelemetry has thousands. This module finds or repairs the string while the message streams, without parsing it into
//! objects.
//!
//! | input | use |
//! |---|---|
//! | what `protoc --include_imports --descriptor_set_out` writes | [`Schema`] |
//! | a serialized message in chunks of any size | [`StringFilter`] |
//! | the body of a gRPC request or response, also of gRPC-Web, and a stream of Connect | [`GrpcFilter`] |
//! | a whole message or body, with a repair that changes lengths | [`StringFilter::repair`], [`GrpcFilter::repair`] |
//! | HTTP bodies in general | [`BodyRules::with_protobuf_types`](crate::BodyRules::with_protobuf_types) |
//!
//! ```
//! # // message M { string s = 1; } in a file with the syntax proto3
//! # let bytes = b"\x0A\x1B\x0A\x01f\x22\x0E\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09b\x06proto3";
//! use utf8_codec_http::protobuf::{StringEdit, Schema, StringFilter};
//! use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};
//!
//! let schema = Schema::from_descriptor_set(bytes)?;
//! let policy = ErrorPolicy::Substitute(Ascii::QUESTION_MARK);
//! let decoder = TextDecoder::new().with_error_policy(policy);
//! let mut message = StringFilter::with_decoder(&schema, "M", decoder)?;
//!
//! let mut forwarded = Vec::new();
//! for chunk in [&b"\x0A\x06caf\xC3"[..], b"\xA9\xFF"] {
//!     message.feed_with(chunk, |edit| match edit {
//!         StringEdit::Pass(range) => forwarded.extend_from_slice(&chunk[range]),
//!         StringEdit::Insert(bytes) => forwarded.extend_from_slice(bytes),
//!         StringEdit::IllFormed(error, field) => assert_eq!((error.offset, field.to_string()), (7, "s".into())),
//!         _ => {}
//!     })?;
//! }
//! message.finish()?;
//! assert_eq!(forwarded, "\u{A}\u{6}café?".as_bytes());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Which strings
//!
//! | field | checked |
//! |---|---|
//! | `string` of proto3, and of editions with `utf8_validation = VERIFY`, which is their default | yes |
//! | `string` of a file with `java_string_check_utf8`, and of editions with `features.(pb.java).utf8_validation = VERIFY`, which readers in Java reject | yes |
//! | other `string` of proto2, and of editions with `utf8_validation = NONE` | with [`StringFilter::with_unverified_strings`] |
//! | a field of a `oneof`, an element of a repeated field, a key or value of a map, an extension | as any other |
//! | each occurrence of a field that occurs again, of which a reader keeps the last one or merges all | yes |
//! | `bytes`, numbers, packed fields, fields that the schema does not know | no |
//! | the content of a `google.protobuf.Any`, and of a `MessageSet` | no |
//!
//! While a message streams, a policy that repairs must keep the length, because the lengths of all messages around a string
//! precede it: [`StringFilter::with_decoder`].
//!
//! # Errors
//!
//! [`ProtobufError`] has the offset, the kind and the path of the field. A message that cannot be parsed is an error under
//! every policy, at the first byte that shows it. A reader may accept some of these messages: C++ and Python skip a
//! field with another wire type, and drop the bits of a varint above the 64th, which prost and Go reject.
//!
//! # Limits
//!
//! A message is nested in at most 100 others, and a message or field is at most 2 GiB long. A descriptor set has at
//! most 64 MiB, and the full names in it together also at most 64 MiB.
//!
//! # Cost
//!
//! A string that is whole in its chunk is validated in place; other bytes of fields are not read. The state is 24 bytes
//! for each level and the bytes of one unfinished character. Only nesting levels and error paths are allocated. A
//! repair of a whole message reads it three times, and holds its output and at most 24 bytes for each message around an
//! error.

mod descriptor;
mod edit;
mod error;
mod grpc;
mod schema;
mod strings;
mod tables;
mod varint;
mod wire;

pub use descriptor::SchemaError;
pub use edit::StringEdit;
pub use error::{FieldPath, ProtobufError, ProtobufErrorKind, UnknownMessage};
pub(crate) use grpc::WebTextFilter;
pub use grpc::{GrpcFilter, GrpcProtocol};
pub use schema::{GrpcMethod, Schema};
pub use strings::StringFilter;

/// The maximum number of a field ("Language Guide", "Assigning Field Numbers").
const MAX_FIELD_NUMBER: u32 = (1 << 29) - 1;
