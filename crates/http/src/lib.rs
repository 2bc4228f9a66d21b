#![doc = include_str!("../README.md")]
// Pages of this crate link to items that exist only if their features are enabled.
#![cfg_attr(not(feature = "tower"), allow(rustdoc::broken_intra_doc_links))]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "body")]
mod body;
mod charset;
#[cfg(feature = "body")]
mod counters;
// Without the feature `body`, the items that only bodies and layers use are unused.
#[cfg_attr(not(feature = "body"), allow(dead_code))]
mod error;
mod fields;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
mod filter;
mod options;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
mod plan;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
pub mod protobuf;
mod protobuf_types;
mod reason;
mod rejection;
#[cfg(feature = "body")]
mod response;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
mod rules;
#[cfg(feature = "tower")]
pub mod tower;

#[cfg(feature = "body")]
pub use body::Utf8Body;
#[cfg(feature = "body")]
pub use counters::{HttpCounters, HttpCounts};
pub use error::{BoxError, FormField, MultipartError};
pub use fields::{ContentFields, check_field};
pub use filter::BodyFilter;
pub use options::{MissingCharset, MissingContentType, Uncheckable};
pub use plan::{BodyKind, BodyPlan};
pub use protobuf_types::ProtobufTypes;
pub use reason::RejectReason;
pub use rejection::{MessageKind, Rejection};
#[cfg(feature = "body")]
pub use response::ProblemBody;
pub use rules::BodyRules;
