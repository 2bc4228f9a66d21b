//! The items of a source of bytes.

use core::convert::Infallible;

use bytes::{Bytes, BytesMut};

/// Bytes or an error: an item of a stream of byte chunks, or of a codec for frames of bytes.
///
/// It is implemented for `Result<B, E>` where `B` converts into [`Bytes`], and for bytes of a source that cannot fail.
pub trait Chunk: sealed::Sealed {
    /// The error of the source; [`Infallible`] if it cannot fail.
    type Error;

    #[doc(hidden)]
    fn into_chunk(self) -> Result<Bytes, Self::Error>;
}

mod sealed {
    pub trait Sealed {}
}

impl<B: Into<Bytes>, E> sealed::Sealed for Result<B, E> {}

impl<B: Into<Bytes>, E> Chunk for Result<B, E> {
    type Error = E;

    fn into_chunk(self) -> Result<Bytes, E> {
        self.map(Into::into)
    }
}

macro_rules! chunk_without_error {
    ($($bytes:ty),*) => {$(
        impl sealed::Sealed for $bytes {}

        impl Chunk for $bytes {
            type Error = Infallible;

            fn into_chunk(self) -> Result<Bytes, Infallible> {
                Ok(self.into())
            }
        }
    )*};
}

chunk_without_error!(Bytes, BytesMut, Vec<u8>, Box<[u8]>, &'static [u8]);
