//! Compressed messages.

use flate2::{Compress, Compression, FlushCompress};

/// Compresses messages as one sender of a WebSocket connection with `permessage-deflate`.
#[derive(Debug)]
pub struct Sender(Compress);

impl Sender {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(Compress::new(Compression::default(), false))
    }

    /// Returns the payload of a message.
    pub fn message(&mut self, text: &[u8]) -> Vec<u8> {
        if text.is_empty() {
            return vec![0];
        }
        let mut payload = compress(&mut self.0, text, FlushCompress::Sync);
        assert_eq!(payload.split_off(payload.len() - 4), [0, 0, 0xFF, 0xFF]);
        payload
    }
}

/// Returns a message of `permessage-deflate` that refers to no other.
pub fn message(text: &[u8]) -> Vec<u8> {
    Sender::new().message(text)
}

/// Returns the same, with a block that has BFINAL (RFC 7692 §7.2.3.4).
pub fn message_with_last_block(text: &[u8]) -> Vec<u8> {
    let mut payload =
        compress(&mut Compress::new(Compression::default(), false), text, FlushCompress::Finish);
    payload.push(0);
    payload
}

pub fn gzip(text: &[u8]) -> Vec<u8> {
    compress(&mut Compress::new_gzip(Compression::default(), 15), text, FlushCompress::Finish)
}

pub fn zlib(text: &[u8]) -> Vec<u8> {
    compress(&mut Compress::new(Compression::default(), true), text, FlushCompress::Finish)
}

fn compress(compress: &mut Compress, text: &[u8], flush: FlushCompress) -> Vec<u8> {
    // More than deflate adds, so one call is enough.
    let mut data = Vec::with_capacity(text.len() + text.len() / 8 + 64);
    compress.compress_vec(text, &mut data, flush).unwrap();
    data
}
