//! Codecs for `tokio_util`: text, lines, frames, server-sent events.
#![allow(missing_docs)]

mod batches;
mod cri;
mod framed;
mod frames;
mod framing;
mod json;
mod line_encoder;
mod lines;
mod reports;
mod sse;
mod sse_frames;
mod sse_limits;
mod sse_model;
mod syslog;
mod text;

use test_support as support;
