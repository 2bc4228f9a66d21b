//! Serialized protobuf messages.
#![allow(missing_docs)]

#[cfg(feature = "inflate")]
mod compressed;
mod grpc;
mod messages;
mod repair;
mod schema;

use test_support as support;
