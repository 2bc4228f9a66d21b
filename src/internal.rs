//! Items for the other crates of the family, not for users. They may change in every version: those crates depend on
//! the exact version of this one. The same holds for methods and macros that the documentation hides.

pub use crate::budget::Budget;
#[cfg(feature = "codec")]
pub use crate::codec::error::{ErrorOffset, ill_formed, line_start, line_too_long};
pub use crate::error::{ByteCount, in_encoding};
#[cfg(feature = "std")]
pub use crate::find::chain;
#[cfg(feature = "bytes")]
pub use crate::joiner::{Chunk, Frame, Joiner};
pub use crate::json::Escapes;
pub use crate::policy::{First, Policies};
pub use crate::text::{Part, Run};
#[cfg(feature = "alloc")]
pub use crate::text::{Sink, put, put_run};
pub use crate::validator::validate_masked;

/// Items for the readers and writers of the other encodings.
#[cfg(feature = "std")]
pub mod io {
    pub use crate::io::blocking::{fill_blocking, ready, uninterrupted};
    #[cfg(any(feature = "futures-io", feature = "tokio-io"))]
    pub use crate::io::pinned::poll_ready;
    pub use crate::io::reader::{Input, ReadState};
    #[cfg(feature = "tokio-io")]
    pub use crate::io::tokio::poll_read_tokio;
    pub use crate::io::writer::{State, drain};
}
