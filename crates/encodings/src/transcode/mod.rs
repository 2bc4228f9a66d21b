//! Conversion between encodings.

mod bulk;
mod carry;
mod growing;
mod item;
mod legacy;
mod pairs;
mod pivot;
mod run;
mod source;
mod switches;
mod target;
mod transcoder;
mod unmappable;

pub use growing::Output;
#[cfg(feature = "codec")]
pub(crate) use legacy::SingleByte;
pub use run::Status;
pub use switches::Switches;
pub use transcoder::{Progress, Transcoder};
pub use unmappable::UnmappablePolicy;
