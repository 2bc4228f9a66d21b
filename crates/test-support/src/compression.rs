//! Compressed messages.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

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

/// Reads messages as the receiver.
#[derive(Debug)]
pub struct Receiver {
    stream: Decompress,
    /// Whether the message has input after its last stream of blocks.
    is_inside: bool,
}

impl Receiver {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { stream: Decompress::new(false), is_inside: false }
    }

    /// Appends the text of a part of a message. Returns whether all of it is deflate.
    pub fn read(&mut self, mut part: &[u8], text: &mut Vec<u8>) -> bool {
        while !part.is_empty() {
            text.reserve(64 * 1024);
            let before = self.stream.total_in();
            let Ok(status) = self.stream.decompress_vec(part, text, FlushDecompress::None) else {
                return false;
            };
            part = &part[(self.stream.total_in() - before) as usize..];
            self.is_inside = status != Status::StreamEnd;
            if !self.is_inside {
                self.stream.reset(false);
            }
        }
        true
    }

    /// Ends a message. Returns whether it ends with what the sender adds to it.
    pub fn finish(&mut self) -> bool {
        let before = self.stream.total_in();
        let mut text = Vec::with_capacity(9);
        let result = self.stream.decompress_vec(&[0, 0, 0xFF, 0xFF], &mut text, FlushDecompress::None);
        let is_read = self.stream.total_in() - before == 4 && text.is_empty();
        if let Ok(Status::StreamEnd) = result {
            self.stream.reset(false);
        }
        core::mem::take(&mut self.is_inside) && result.is_ok() && is_read
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
