//! tokio-util codecs: text in chunks, text in lines, errors as items.
//!
//! The unfinished tail waits in the read buffer, so that a sequence is contiguous when it is whole, nothing is
//! copied, and `Framed::into_parts` hands on every byte that was not given out as text. A caller may pass any
//! buffer to `decode`; so nothing is called text because an earlier call saw it, only because this call did.

mod batches;
mod chunks;
mod ending;
mod error;
mod errors_as_items;
mod frame;
mod frames;
mod line_reader;
mod lines;
#[cfg(feature = "transcode")]
mod transcode;

pub use batches::{Lines, LinesIter, Utf8LineBatchesCodec};
pub use chunks::Utf8Codec;
pub use ending::LineEnding;
pub use error::{CodecError, LineStart, Recoverable};
pub use errors_as_items::ErrorsAsItems;
pub use frames::{Fragment, FrameError, Utf8FragmentsCodec, Utf8FramesCodec};
pub use lines::Utf8LinesCodec;
#[cfg(feature = "transcode")]
pub use transcode::TranscodeCodec;
