//! Output that grows.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Status, Transcoder};
use crate::error::{ErrorKind, Utf8Error};

/// Where a [`Transcoder`] can write without bounds: `Vec<u8>` and `String`.
///
/// A `String` takes UTF-8 only. Under another target encoding nothing is taken, and the error is
/// [`ErrorKind::Unmappable`] with length 0.
pub trait Output: sealed::Sealed {}

impl Output for Vec<u8> {}
impl Output for String {}

mod sealed {
    use alloc::string::String;
    use alloc::vec::Vec;

    use crate::encoding::Encoding;

    pub trait Sealed {
        /// Whether it can hold bytes of that encoding.
        fn takes(&self, encoding: Encoding) -> bool;

        /// Lets `write` append bytes of an encoding that it takes, whole characters only.
        fn append<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T;
    }

    impl Sealed for Vec<u8> {
        fn takes(&self, _: Encoding) -> bool {
            true
        }

        fn append<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
            write(self)
        }
    }

    impl Sealed for String {
        fn takes(&self, encoding: Encoding) -> bool {
            encoding == Encoding::Utf8
        }

        fn append<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
            // SAFETY: `write` is this module's `grow`, which appends what a `Transcoder` to UTF-8 wrote. That is whole
            // characters: `Target::encode` writes no surrogate and nothing above 10FFFF for `Encoding::Utf8`, and what is
            // copied in bulk was found well-formed. `takes` was asked for the encoding.
            #[allow(unsafe_code)]
            unsafe {
                write(self.as_mut_vec())
            }
        }
    }
}

/// What the output grows by at a time: short enough to stay in the nearest cache.
const STEP: usize = 8 * 1024;

impl Transcoder {
    /// Takes the next chunk and appends to `out` what it completes.
    ///
    /// # Errors
    ///
    /// The first error that the policy does not repair. What was good before it is in `out`. The transcoder stands
    /// after the error, the bytes after it are not taken, and the next call goes on there:
    /// `&chunk[(transcoder.offset() - offset_before) as usize..]`.
    pub fn feed(&mut self, chunk: &[u8], out: &mut impl Output) -> Result<(), Utf8Error> {
        let mut rest = chunk;
        self.grow(chunk.len(), out, |transcoder, room| {
            let progress = transcoder.feed_into(rest, room);
            rest = &rest[progress.read..];
            (progress.status, progress.written)
        })
    }

    /// Ends the stream, and appends to `out` what that completes. The transcoder can then be fed again: its
    /// [`offset`](Self::offset) goes on counting, and a BOM is only looked for at offset 0.
    ///
    /// # Errors
    ///
    /// An error that the policy does not repair: [`ErrorKind::Truncated`] if the stream ended inside a sequence.
    /// Exactly once, a second call finds nothing.
    pub fn finish(&mut self, out: &mut impl Output) -> Result<(), Utf8Error> {
        self.grow(0, out, |transcoder, room| {
            let progress = transcoder.finish_into(room);
            (progress.status, progress.written)
        })
    }

    /// Makes room and writes, until the input is empty.
    fn grow(
        &mut self,
        input: usize,
        out: &mut impl Output,
        mut write: impl FnMut(&mut Self, &mut [u8]) -> (Status, usize),
    ) -> Result<(), Utf8Error> {
        if !out.takes(self.to()) {
            return Err(Utf8Error::new(self.offset(), ErrorKind::Unmappable, 0));
        }
        out.append(|bytes| {
            let mut step = STEP.min(input.max(Self::MIN_OUTPUT * 4));
            loop {
                let start = bytes.len();
                bytes.resize(start + step, 0);
                let (status, written) = write(self, &mut bytes[start..]);
                bytes.truncate(start + written);
                match status {
                    Status::InputEmpty => return Ok(()),
                    Status::OutputFull => step = STEP,
                    Status::IllFormed(error) => return Err(error),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;

    #[test]
    fn a_string_takes_nothing_but_utf_8() {
        for to in Encoding::ALL {
            let mut text = String::new();
            let fed = Transcoder::new(Encoding::Latin1, to).feed(b"\xE9", &mut text);
            if to == Encoding::Utf8 {
                assert_eq!((fed, text.as_str()), (Ok(()), "é"));
            } else {
                assert_eq!(fed.map_err(|error| (error.kind, error.len)), Err((ErrorKind::Unmappable, 0)));
                assert_eq!(text, "");
            }
        }
    }
}
