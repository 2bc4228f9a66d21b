//! The middleware that checks responses.

mod future;
mod layer;
mod service;

pub use future::ValidateUtf8ResponseFuture;
pub use layer::ValidateUtf8ResponseLayer;
pub use service::ValidateUtf8Response;
