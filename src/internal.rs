//! What the other crates of the family need of this one, and no user does. It may change in every version: those crates
//! depend on the exact version of this one. The same holds for methods and macros that the documentation hides.

pub use crate::budget::Budget;
#[cfg(feature = "codec")]
pub use crate::codec::ErrorOffset;
pub use crate::error::ByteCount;
#[cfg(feature = "std")]
pub use crate::find::chain;
#[cfg(feature = "std")]
pub use crate::io::parts as io;
#[cfg(feature = "bytes")]
pub use crate::joiner::{Chunk, Frame, Joiner};
pub use crate::json::Escapes;
pub use crate::policy::{First, Policies};
#[cfg(feature = "alloc")]
pub use crate::text::{Sink, put};
pub use crate::validator::validate_masked;
