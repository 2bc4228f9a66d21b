//! The interface that the codecs for text share.

use bytes::BytesMut;

use super::error::CodecError;

/// A codec for text that continues after every error. `Decoder` is implemented with it, and so are the streams of the module
/// `stream`.
pub trait Items {
    /// Text, an event, or several lines.
    type Item;

    /// Starts another stream.
    fn start(&mut self) {}

    /// Returns the next item of the buffer.
    fn next_item(&mut self, src: &mut BytesMut) -> Option<Result<Self::Item, CodecError>>;

    /// Returns the next item of the buffer after the end of the stream.
    fn next_at_end(&mut self, src: &mut BytesMut) -> Option<Result<Self::Item, CodecError>>;
}

/// Implements `Decoder`. It never fails: the errors are items.
macro_rules! impl_decoder {
    ($codec:ty) => {
        impl Decoder for $codec {
            type Item = Result<<Self as Items>::Item, CodecError>;
            type Error = std::io::Error;

            #[inline]
            fn decode(&mut self, src: &mut BytesMut) -> std::io::Result<Option<Self::Item>> {
                Ok(self.next_item(src))
            }

            fn decode_eof(&mut self, src: &mut BytesMut) -> std::io::Result<Option<Self::Item>> {
                Ok(self.next_at_end(src))
            }
        }
    };
}
