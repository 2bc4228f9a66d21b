//! HTTP bodies.

mod body;
mod checked;
mod config;
mod counters;
mod error;
mod fields;
mod filter;
mod gather;
mod integrity;
mod joint;
mod multipart;
mod part;
mod refusal;
#[cfg(feature = "tower")]
mod request;
#[cfg(feature = "tower")]
mod response;
mod rules;
#[cfg(feature = "encoding_rs")]
mod transcode;
#[cfg(not(feature = "encoding_rs"))]
#[path = "transcode_none.rs"]
mod transcode;
mod watch;

pub use body::Utf8Body;
pub use checked::CheckedBody;
pub use counters::{HttpCounters, HttpCounts};
pub use error::{BoxError, Undecodable, Utf8BodyError};
pub use multipart::MultipartError;
pub use refusal::{Message, Reason, Refusal};
#[cfg(feature = "tower")]
pub use request::{ValidateUtf8Request, ValidateUtf8RequestFuture, ValidateUtf8RequestLayer};
#[cfg(feature = "tower")]
pub use response::{ValidateUtf8Response, ValidateUtf8ResponseFuture, ValidateUtf8ResponseLayer};
pub use rules::{BodyRules, ContentCodings, MissingCharset, OtherCharset, is_text_type};
