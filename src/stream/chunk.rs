//! The items of a stream of bytes.

use core::convert::Infallible;

use bytes::{Bytes, BytesMut};

/// An item of a stream of byte chunks: bytes or an error.
pub trait Chunk {
    /// The error of the stream; [`Infallible`] if it cannot fail.
    type Error;

    /// Returns the bytes.
    ///
    /// # Errors
    ///
    /// Returns the error of the stream.
    fn into_chunk(self) -> Result<Bytes, Self::Error>;
}

impl<B: Into<Bytes>, E> Chunk for Result<B, E> {
    type Error = E;

    fn into_chunk(self) -> Result<Bytes, E> {
        self.map(Into::into)
    }
}

macro_rules! chunk_without_error {
    ($($bytes:ty),*) => {$(
        impl Chunk for $bytes {
            type Error = Infallible;

            fn into_chunk(self) -> Result<Bytes, Infallible> {
                Ok(self.into())
            }
        }
    )*};
}

chunk_without_error!(Bytes, BytesMut, Vec<u8>, Box<[u8]>, &'static [u8]);
