//! Layers that check the bodies of a tower service: axum, tonic, hyper-util.

mod config;
mod request;
mod response;

pub use request::{ValidateUtf8Request, ValidateUtf8RequestFuture, ValidateUtf8RequestLayer};
pub use response::{ValidateUtf8Response, ValidateUtf8ResponseFuture, ValidateUtf8ResponseLayer};
