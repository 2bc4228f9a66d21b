//! Codecs of tokio-util for peers that use another encoding.

mod fallback;
mod lines;
mod text;

pub use fallback::FallbackLinesCodec;
pub use lines::TranscodeLinesCodec;
pub use text::TranscodeCodec;
