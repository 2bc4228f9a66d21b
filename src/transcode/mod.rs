//! From any encoding to any other, in chunks of any size.

mod bulk;
mod carry;
#[cfg(feature = "alloc")]
mod growing;
mod run;
mod source;
mod switches;
mod target;
mod transcoder;

pub use crate::encoding::{Encoding, UnknownEncoding};
#[cfg(feature = "alloc")]
pub use growing::Output;
pub use run::Status;
pub use switches::Switches;
pub use transcoder::{Progress, Transcoder};
