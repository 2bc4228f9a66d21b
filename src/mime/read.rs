//! Reads a message from an `AsyncRead` of tokio.

use core::future::poll_fn;
use core::pin::Pin;
use std::io;

use tokio::io::{AsyncRead, ReadBuf};

use super::message::MessageValidator;
use super::verdict::MessageVerdict;

/// The maximum number of bytes of one read.
const CHUNK: usize = 16 * 1024;

impl MessageValidator {
    /// Reads a message from a reader up to its end, and returns the verdict.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use utf8_codec::mime::MessageValidator;
    ///
    /// let mut mail = &b"Content-Type: text/plain; charset=utf-8\r\n\r\ncaf\xC3\r\n"[..];
    /// let verdict = MessageValidator::new().read(&mut mail).await?;
    /// assert_eq!(verdict.first_error().expect("half a character").1.offset, 46);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of the reader, except `Interrupted`, after which it reads again. The bytes that were already
    /// read are kept, and another call continues after them.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: all bytes that were read are in the validator, and the next call continues after them.
    pub async fn read<R>(&mut self, reader: &mut R) -> io::Result<MessageVerdict>
    where
        R: AsyncRead + Unpin + ?Sized,
    {
        let mut chunk = vec![0; CHUNK];
        loop {
            let mut read = ReadBuf::new(&mut chunk);
            match poll_fn(|cx| Pin::new(&mut *reader).poll_read(cx, &mut read)).await {
                Ok(()) if read.filled().is_empty() => return Ok(self.finish()),
                Ok(()) => self.push(read.filled()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
