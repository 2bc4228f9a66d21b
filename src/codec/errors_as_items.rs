//! Recoverable errors as items.

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};

use super::error::Recoverable;

/// A codec that returns the recoverable errors of another codec as items, so that one ill-formed line does not end the
/// stream.
///
/// `FramedRead` yields `None` after an `Err` of its codec, even if more frames are buffered, so `while let Some(..)`
/// ends there. With this adapter an item is a `Result`. Only errors that are not recoverable are an `Err` of the
/// stream: those of the transport, and those after which a codec for frames cannot find the next frame.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec::codec::{ErrorsAsItems, Utf8LinesCodec};
///
/// # tokio_test::block_on(async {
/// let socket = &b"one\ntw\xFF\nthree\n"[..];
/// let mut lines = FramedRead::new(socket, ErrorsAsItems::new(Utf8LinesCodec::new()));
/// let (mut texts, mut offsets) = (Vec::new(), Vec::new());
/// while let Some(line) = lines.next().await {
///     match line? {
///         Ok(line) => texts.push(line),
///         Err(error) => offsets.push(error.utf8_error().map(|error| error.offset)),
///     }
/// }
/// assert_eq!(texts, ["one", "three"]);
/// assert_eq!(offsets, [Some(6)]);
/// # Ok::<(), utf8_codec::codec::CodecError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct ErrorsAsItems<C> {
    codec: C,
}

impl<C> ErrorsAsItems<C> {
    /// Wraps a codec.
    pub const fn new(codec: C) -> Self {
        Self { codec }
    }

    inner_accessors!(codec: C, "inner codec");
}

#[inline]
fn as_item<T, E: Recoverable>(decoded: Result<Option<T>, E>) -> Result<Option<Result<T, E>>, E> {
    match decoded {
        Ok(item) => Ok(item.map(Ok)),
        Err(error) if error.is_recoverable() => Ok(Some(Err(error))),
        Err(error) => Err(error),
    }
}

impl<C: Decoder<Error: Recoverable>> Decoder for ErrorsAsItems<C> {
    type Item = Result<C::Item, C::Error>;
    type Error = C::Error;

    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, C::Error> {
        as_item(self.codec.decode(src))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, C::Error> {
        as_item(self.codec.decode_eof(src))
    }
}

impl<C: Encoder<Item>, Item> Encoder<Item> for ErrorsAsItems<C> {
    type Error = C::Error;

    fn encode(&mut self, item: Item, dst: &mut BytesMut) -> Result<(), C::Error> {
        self.codec.encode(item, dst)
    }
}
