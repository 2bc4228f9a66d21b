//! Serialized protobuf messages.
#![allow(missing_docs)]

mod grpc;
mod messages;
mod repair;
mod schema;

use test_support as support;
