//! Validation of the text of HTTP bodies while they stream.
//!
//! For servers, clients and gateways based on `http_body::Body`: hyper, axum, tonic, reqwest. A program that decodes a
//! body with replacement stores U+FFFD instead of the bytes that the client sent. A program that does not decode it
//! forwards ill-formed text to a database, a log or another parser. This module checks each body once, as it arrives.
//! Ill-formed text is rejected with the offset of the first error, or repaired.
//!
//! - [`Utf8Body`] is a body that wraps another body.
//! - [`BodyRules`] determine which bodies are text and in which charset. [`BodyRules::apply`] wraps a body accordingly.
//!   By default text that cannot be checked is rejected; each exception is a setting. Other types pass, and so do gRPC and
//!   Connect, whose messages have a length before them ([`BodyRules::with_length_prefixed`] rejects them). The strings of
//!   protobuf are checked with a schema, also in gRPC, gRPC-Web and Connect (`BodyRules::with_protobuf_types`).
//! - [`Rejection`] is the reason to reject a message, with its problem document (RFC 9457).
//! - [`BodyRules::decide`], [`BodyFilter`] and [`Rejection::problem_json`] do the same without a body type, for other
//!   engines ([below](#without-a-body-type)).
//!
//! The layers of [`tower`](crate::tower) apply the rules to every message of a service.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::{BodyExt, Full};
//! use utf8_codec_http::{BodyRules, MessageKind, Rejection};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let request = http::Request::post("/").header("content-type", "application/json");
//! let (mut head, body) = request.body(Full::<Bytes>::from(&b"\"caf\xE9\""[..]))?.into_parts();
//!
//! let body = BodyRules::new().apply(MessageKind::Request, &mut head.headers, body)?;
//! let error = body.collect().await.unwrap_err();
//! let response = Rejection::from_error(&*error).expect("the text is ill-formed").to_response();
//! assert_eq!(response.status(), http::StatusCode::BAD_REQUEST);
//! let problem = response.into_body().collect().await?.to_bytes();
//! assert!(problem.ends_with(br#""kind":"MissingContinuation","offset":4,"len":1}"#));
//! # Ok(())
//! # }
//! ```
//!
//! # Without a body type
//!
//! An engine that has header fields and slices of its own buffers can use the same rules. Text in UTF-8, the most
//! frequent case, is checked with a [`proxy::Filter`](crate::proxy::Filter), which reports ranges of the slice. Forms,
//! and documents that may declare their encoding, are checked with a [`BodyFilter`].
//!
//! ```
//! use utf8_codec_http::{BodyKind, BodyRules, ContentFields, MessageKind, Reason, Rejection};
//! use utf8_codec_proxy::{Edit, Filter, Verdict};
//!
//! let mut fields = ContentFields::new();
//! fields.add("content-type", b"text/plain; charset=utf-8");
//! let plan = BodyRules::new().decide(&fields)?;
//! assert_eq!(plan.kind(), BodyKind::Text);
//!
//! let mut filter = Filter::with_decoder(*plan.decoder());
//! assert_eq!(filter.feed_with("café".as_bytes(), |edit| assert_eq!(edit, Edit::Pass(0..5))), Verdict::Pass);
//! let Verdict::Reject(error) = filter.feed_with(b"\xFF", |_| {}) else { unreachable!() };
//! let rejection = Rejection::new(MessageKind::Request, Reason::Body(error));
//! assert_eq!(rejection.status(), 400);
//! assert!(rejection.problem_json().ends_with(r#""kind":"InvalidLead","offset":5,"len":1}"#));
//! # Ok::<(), Reason>(())
//! ```
//!
//! # Limits
//!
//! Content codings are not decoded: apply the check after decompression. Text inside files, archives and images is not
//! checked, and neither are the files of a form. The length of a body is not limited here.
//!
//! # Cost
//!
//! The text is read once. In plain text only characters that are split between frames are copied. Between two frames a
//! body keeps at most 3 bytes. An XML, HTML or CSS document without a `charset` parameter keeps up to 1,024 bytes of
//! its start until its encoding is known. A multipart form also keeps its last character and up to 16 KiB of the header
//! of one part, and a urlencoded form up to 11 bytes of an escaped character. JSON whose escapes are checked keeps up to 11
//! bytes of an escape, and a protobuf message its last byte. gRPC-Web in base64 is decoded in blocks of 192 bytes.
//! Plain text in whole characters needs no allocation. Forms, transcoded bodies and trailers do.
//!
//! # Feature
//!
//! `http-rules` enables the parts without a body type: rules, plans, filters, and problem documents. It compiles for
//! wasm, and needs neither `http-body` nor a runtime. `http` adds [`Utf8Body`] and the counters. `encoding_rs` adds
//! other charsets ([`OtherCharset`]), `tower` the layers, and `tracing` an event with the offset, the kind and the
//! length of each error.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "body")]
pub(crate) mod body;
mod charset;
#[cfg(feature = "body")]
pub(crate) mod counters;
// Without the feature `http`, the items that only bodies and layers use are unused.
#[cfg_attr(not(feature = "body"), allow(dead_code))]
pub(crate) mod error;
pub(crate) mod fields;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
pub(crate) mod filter;
mod options;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
pub(crate) mod plan;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
pub mod protobuf;
pub(crate) mod protobuf_types;
pub(crate) mod rejection;
#[cfg(feature = "body")]
pub(crate) mod response;
#[cfg_attr(not(feature = "body"), allow(dead_code))]
pub(crate) mod rules;
#[cfg(feature = "tower")]
pub mod tower;

#[cfg(feature = "body")]
pub use body::Utf8Body;
#[cfg(feature = "body")]
pub use counters::{HttpCounters, HttpCounts};
pub use error::{BoxError, FormField, MultipartError, Utf8BodyError};
pub use fields::{ContentFields, check_field};
pub use filter::BodyFilter;
pub use options::{MissingCharset, MissingContentType, OtherCharset, UncheckablePolicy};
pub use plan::{BodyKind, BodyPlan};
pub use protobuf_types::ProtobufTypes;
pub use rejection::{MessageKind, Reason, Rejection};
#[cfg(feature = "body")]
pub use response::ProblemBody;
pub use rules::BodyRules;
