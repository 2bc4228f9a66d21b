//! Serialized protobuf messages.
#![allow(missing_docs)]

mod grpc;
mod messages;
mod repair;
mod schema;

#[path = "../support/mod.rs"]
mod support;
