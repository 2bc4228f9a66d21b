//! The middleware that checks requests.

mod future;
mod layer;
mod service;

pub use future::ValidateUtf8RequestFuture;
pub use layer::ValidateUtf8RequestLayer;
pub use service::ValidateUtf8Request;
