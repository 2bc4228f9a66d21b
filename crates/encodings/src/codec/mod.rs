//! Codecs of tokio-util for peers that use another encoding.

mod lines;
mod text;

pub use lines::TranscodeLinesCodec;
pub use text::TranscodeCodec;
