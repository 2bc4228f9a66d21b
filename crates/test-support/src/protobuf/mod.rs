//! Serialized protobuf: an encoder, descriptors, random schemas and messages, and a model.

mod encoder;
mod model;

pub use encoder::*;
pub use model::*;
