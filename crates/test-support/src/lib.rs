//! Code that the integration tests share: partitions of input, the naive oracle, tables of the standards.
#![allow(dead_code, missing_docs, unreachable_pub, unused_imports)]

pub mod attacks;
#[cfg(feature = "http")]
pub mod bodies;
pub mod cases;
#[cfg(feature = "inflate")]
pub mod compression;
#[cfg(feature = "encodings")]
pub mod encodings;
pub mod hostile;
pub mod json;
#[cfg(feature = "encodings")]
pub mod languages;
#[cfg(feature = "http")]
pub mod layers;
#[cfg(feature = "encodings")]
pub mod legacy;
#[cfg(feature = "mail")]
pub mod messages;
pub mod oracle;
pub mod outcomes;
mod partitions;
#[cfg(feature = "http")]
pub mod protobuf;
#[cfg(feature = "proxy")]
pub mod relay;
#[allow(clippy::should_implement_trait)]
#[path = "../../kernels/src/rng.rs"]
mod rng;
pub mod rows;
#[cfg(feature = "encodings")]
pub mod shifts;
#[cfg(feature = "mail")]
pub mod transfer;
pub mod verdict;
#[cfg(feature = "proxy")]
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
