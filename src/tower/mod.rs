//! Layers that check the bodies of a tower service.
//!
//! For services of axum, tonic and hyper-util. [`ValidateUtf8RequestLayer`] rejects requests with ill-formed text
//! before or while their handler runs, with a problem document (RFC 9457). [`ValidateUtf8ResponseLayer`] ends or
//! replaces responses with ill-formed text. The [rules](crate::http::BodyRules) determine which bodies are text, and
//! what happens to those that cannot be checked.
//!
//! ```
//! use axum::body::Body;
//! use axum::routing::post;
//! use axum::{Router, http};
//! use tower::ServiceExt;
//! use utf8_codec::tower::ValidateUtf8RequestLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let app: Router = Router::new()
//!     .route("/", post(async |text: String| text.chars().count().to_string()))
//!     .layer(ValidateUtf8RequestLayer::new().check_query());
//!
//! let request = http::Request::post("/").body(Body::from(&b"caf\xE9"[..])).unwrap();
//! let response = app.oneshot(request).await.unwrap();
//! assert_eq!(response.status(), http::StatusCode::BAD_REQUEST);
//! # }
//! ```
//!
//! # Order of layers
//!
//! Put the check inside decompression, because compressed text is rejected, and outside of the services that read the
//! text.
//!
//! # Limits
//!
//! [`ValidateUtf8RequestLayer::new`] holds up to 2 MiB of a body and rejects longer ones with `413`.
//! [`ValidateUtf8RequestLayer::streaming`] holds nothing and has no limit. The rest of a rejected HTTP/1 body is read
//! up to 2 MiB, and awaited only as long as a [timer](ValidateUtf8RequestLayer::drain_timer) allows: the layers need no
//! runtime, so they have no timer of their own.
//!
//! # Cost
//!
//! One pass over the text. A body that is checked has two allocations, and one that is held in several frames is copied
//! once. A message without a body has none.
//!
//! # Cancel safety
//!
//! A response future that is dropped drops its request, as with any service. The bodies are cancel safe.
//!
//! Feature `tower`, which enables `http`.

#[macro_use]
mod macros;

mod body;
mod config;
mod drain;
mod fields;
mod gather;
mod report;
mod request;
mod response;

pub use body::CheckedBody;
pub use request::{ValidateUtf8Request, ValidateUtf8RequestFuture, ValidateUtf8RequestLayer};
pub use response::{ValidateUtf8Response, ValidateUtf8ResponseFuture, ValidateUtf8ResponseLayer};
