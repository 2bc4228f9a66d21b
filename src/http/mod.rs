//! HTTP bodies whose text is checked while they stream.
//!
//! For servers, clients and gateways on `http_body::Body`: hyper, axum, tonic, reqwest. A program that decodes a body
//! with replacement stores U+FFFD in place of the bytes that its client sent. A program that does not decode it
//! forwards ill-formed text to a database, a log or another parser. With this module each body is checked once, as it
//! arrives, and rejected with the offset of the first error, or repaired.
//!
//! - [`Utf8Body`] is a body around another body.
//! - [`BodyRules`] determine which bodies are text and in which charset; [`BodyRules::apply`] wraps a body
//!   accordingly. By default a body that cannot be checked is rejected; each exception is a setting.
//! - [`Refusal`] is the reason to reject a message, with its problem document (RFC 9457).
//! - [`BodyRules::decide`], [`BodyFilter`] and [`Refusal::problem_json`] do the same without a body type, for other
//!   engines.
//!
//! The layers of [`tower`](crate::tower) apply them to every message of a service.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::{BodyExt, Full};
//! use utf8_codec::http::{BodyRules, Message, Refusal};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let request = http::Request::post("/").header("content-type", "application/json");
//! let (mut head, body) = request.body(Full::<Bytes>::from(&b"\"caf\xE9\""[..]))?.into_parts();
//!
//! let body = BodyRules::new().apply(Message::Request, &mut head.headers, body)?;
//! let error = body.collect().await.unwrap_err();
//! let response = Refusal::from_error(&error).expect("the text is ill-formed").to_response();
//! assert_eq!(response.status(), http::StatusCode::BAD_REQUEST);
//! let problem = response.into_body().collect().await?.to_bytes();
//! assert!(problem.ends_with(br#""kind":"MissingContinuation","offset":4,"len":1}"#));
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! Content codings are not decoded: put the check inside decompression. Text inside files, archives and images is not
//! checked, nor are the files of a form. A body has no limit on its length here.
//!
//! # Cost
//!
//! One pass over the text. Only characters that are cut by the end of a frame are copied. Between two frames a body
//! keeps at most 3 bytes; a form keeps up to 16 KiB of the header of one part, and up to 11 bytes of an escaped
//! character. Forms, transcoded bodies and trailers need one allocation for a body, plain text none.
//!
//! # Features
//!
//! `http`; `encoding_rs` for other charsets ([`OtherCharset`]); `tower` for the layers; `tracing` for an event with
//! offset, kind and length of each error.

mod apply;
pub(crate) mod body;
mod charset;
mod content_fields;
pub(crate) mod counters;
pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod integrity;
pub(crate) mod observer;
pub(crate) mod plan;
pub(crate) mod refusal;
pub(crate) mod response;
pub(crate) mod rules;

pub use body::Utf8Body;
pub use content_fields::ContentFields;
pub use counters::{HttpCounters, HttpCounts};
pub use error::{BoxError, MultipartError, Undecodable, Utf8BodyError};
pub use filter::BodyFilter;
pub use plan::{BodyKind, BodyPlan};
pub use refusal::{Message, Reason, Refusal};
pub use response::ProblemBody;
pub use rules::{BodyRules, MissingCharset, MissingContentType, OtherCharset, Uncheckable, is_text_type};
