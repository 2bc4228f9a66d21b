//! A codec that ends at the first error.

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};

/// A codec that returns the errors of another codec of this crate as errors of the stream, which ends there. Its items are
/// the text alone: `Result<ByteString, io::Error>` in `FramedRead`.
///
/// For protocols in which nothing after an error counts. Without this adapter an error is an item, and the stream
/// continues. [`Utf8Error::find`](crate::Utf8Error::find) returns the [`Utf8Error`](crate::Utf8Error) inside the
/// `io::Error`.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec::Utf8Error;
/// use utf8_codec::codec::{FailFast, Utf8LinesCodec};
///
/// # tokio_test::block_on(async {
/// let socket = &b"one\ntw\xFF\nthree\n"[..];
/// let mut lines = FramedRead::new(socket, FailFast::new(Utf8LinesCodec::new()));
/// assert_eq!(lines.next().await.unwrap()?, "one");
/// let error = lines.next().await.unwrap().unwrap_err();
/// assert_eq!(Utf8Error::find(&error).map(|error| error.offset), Some(6));
/// assert!(lines.next().await.is_none());
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
#[doc(alias("strict", "stop"))]
pub struct FailFast<C> {
    codec: C,
}

impl<C> FailFast<C> {
    /// Wraps a codec.
    pub const fn new(codec: C) -> Self {
        Self { codec }
    }

    inner_accessors!(codec: C, "inner codec");
}

impl<C, T, E> Decoder for FailFast<C>
where
    C: Decoder<Item = Result<T, E>, Error: From<E>>,
{
    type Item = T;
    type Error = C::Error;

    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<T>, C::Error> {
        Ok(self.codec.decode(src)?.transpose()?)
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<T>, C::Error> {
        Ok(self.codec.decode_eof(src)?.transpose()?)
    }
}

impl<C: Encoder<Item>, Item> Encoder<Item> for FailFast<C> {
    type Error = C::Error;

    fn encode(&mut self, item: Item, dst: &mut BytesMut) -> Result<(), C::Error> {
        self.codec.encode(item, dst)
    }
}
