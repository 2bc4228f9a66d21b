//! Layers that check the bodies of a tower service.
//!
//! For services of axum, tonic and hyper-util. [`ValidateUtf8RequestLayer`] rejects requests with ill-formed text
//! before or while their handler runs, with a problem document (RFC 9457). [`ValidateUtf8ResponseLayer`] truncates or
//! replaces responses with ill-formed text. The [rules](crate::BodyRules) determine which bodies are text, and
//! what happens to bodies that cannot be checked.
//!
//! ```
//! use axum::body::Body;
//! use axum::routing::post;
//! use axum::{Router, http};
//! use tower::ServiceExt;
//! use utf8_codec_http::tower::ValidateUtf8RequestLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let app: Router = Router::new()
//!     .route("/", post(async |text: String| text.chars().count().to_string()))
//!     .layer(ValidateUtf8RequestLayer::new().with_query_check(true));
//!
//! let request = http::Request::post("/").body(Body::from(&b"caf\xE9"[..])).unwrap();
//! let response = app.oneshot(request).await.unwrap();
//! assert_eq!(response.status(), http::StatusCode::BAD_REQUEST);
//! # }
//! ```
//!
//! # Order of layers
//!
//! Apply the check after decompression, because compressed text is rejected, and before the services that read the
//! text.
//!
//! # gRPC
//!
//! A rejected request with the type `application/grpc` has a response with the status `200`, `grpc-status: 3` and
//! `grpc-message`, without a body ([`Rejection::grpc_fields`](crate::Rejection::grpc_fields)), because a client of
//! gRPC does not read a problem document. The messages are not checked, because each has a binary length before it
//! ([`BodyRules::with_length_prefixed`](crate::BodyRules::with_length_prefixed)), unless the rules have the schema
//! of their protobuf (`BodyRules::with_protobuf_types`).
//!
//! # Errors
//!
//! A rejected message becomes a response, never an error of the service: 400, 413 or 415 for a request, 502 for a
//! response whose head was not sent. A body that is already streaming ends with a
//! [`RejectReason`](crate::RejectReason).
//!
//! # Limits
//!
//! [`ValidateUtf8RequestLayer::new`] holds up to 2 MiB of a body and rejects longer ones with `413`.
//! [`ValidateUtf8RequestLayer::streaming`] holds nothing and has no limit. Up to 2 MiB of the rest of a rejected HTTP/1
//! body are read. The layers depend on no runtime and have no timer, so they wait for more bytes only if a
//! [timer](ValidateUtf8RequestLayer::with_drain_timer) is set.
//!
//! # Cost
//!
//! The text is read once. A checked body needs two allocations. A held body of several frames is copied once. A message
//! without a body needs no allocation.
//!
//! # Cancel safety
//!
//! Dropping a response future drops its request, as with any service. The bodies are cancel safe.
//!
//! # Feature
//!
//! `tower`, which is on by default.

mod body;
mod config;
mod drain;
mod gather;
mod request;
mod response;

pub use body::CheckedBody;
pub use request::{ValidateUtf8Request, ValidateUtf8RequestFuture, ValidateUtf8RequestLayer};
pub use response::{ValidateUtf8Response, ValidateUtf8ResponseFuture, ValidateUtf8ResponseLayer};
