//! Code that the integration tests share: partitions of input, the naive oracle, tables of the standards.
#![allow(dead_code, missing_docs, unreachable_pub, unused_imports)]

#[cfg(feature = "http")]
pub mod bodies;
pub mod cases;
#[cfg(feature = "transcode")]
pub mod encodings;
pub mod hostile;
pub mod json;
#[cfg(feature = "transcode")]
pub mod languages;
#[cfg(feature = "tower")]
pub mod layers;
#[cfg(feature = "encoding_rs")]
pub mod legacy;
#[cfg(feature = "mime")]
pub mod messages;
pub mod oracle;
#[cfg(feature = "std")]
pub mod outcomes;
mod partitions;
#[cfg(feature = "protobuf")]
pub mod protobuf;
#[cfg(feature = "relay")]
pub mod relay;
#[path = "../../src/rng.rs"]
mod rng;
pub mod rows;
#[cfg(feature = "codec")]
pub mod sse;
#[cfg(feature = "mime")]
pub mod transfer;
pub mod verdict;
#[cfg(feature = "websocket")]
pub mod websocket;

pub use partitions::{every_partition, some_partitions};
pub use rng::Rng;
use utf8_codec::{Ascii, ErrorPolicy};

/// Every error policy. Those with a parameter occur more than once.
pub fn policies() -> [ErrorPolicy; 9] {
    [
        ErrorPolicy::Strict,
        ErrorPolicy::Replace,
        ErrorPolicy::ReplaceWith('#'),
        ErrorPolicy::ReplaceAsJava,
        ErrorPolicy::Substitute(Ascii::QUESTION_MARK),
        ErrorPolicy::Escape,
        ErrorPolicy::Latin1,
        ErrorPolicy::Windows1252,
        ErrorPolicy::Skip,
    ]
}
