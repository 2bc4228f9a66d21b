//! Output that grows.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Status, Transcoder};
use crate::error::{ErrorKind, Utf8Error};
use sealed::Token;

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

    /// Sealing a trait hides its name, not its methods: generic code reaches them through the bound `Output`. The
    /// method therefore takes a [`Token`], which only this file can make.
    ///
    /// ```compile_fail,E0599
    /// use utf8_codec::transcode::Output;
    ///
    /// fn forge(text: &mut impl Output) {
    ///     text.append(|bytes: &mut Vec<u8>| bytes.push(0xFF));
    /// }
    /// ```
    ///
    /// ```compile_fail,E0277
    /// use utf8_codec::transcode::{Encoding, Output};
    ///
    /// fn forge(text: &mut impl Output) {
    ///     drop(text.grow(Encoding::Utf8, Default::default()));
    /// }
    /// ```
    pub trait Sealed {
        /// Takes the bytes out of the output to append to them. `None` if it cannot hold that encoding.
        fn grow(&mut self, encoding: Encoding, token: Token) -> Option<Growing<'_>>;
    }

    /// Proof that the caller is this file.
    #[derive(Debug)]
    pub struct Token(pub(super) ());

    /// An output whose bytes are being appended to.
    ///
    /// They come back when this is dropped, also while a panic unwinds (a `tracing` subscriber may panic at any event):
    /// up to the last [`commit`](Self::commit). Until then the output is empty, so that no `String` ever holds bytes
    /// that were not checked.
    #[derive(Debug)]
    pub struct Growing<'o> {
        bytes: Vec<u8>,
        /// Bytes before the room.
        end: usize,
        committed: usize,
        output: Kind<'o>,
    }

    #[derive(Debug)]
    enum Kind<'o> {
        Bytes(&'o mut Vec<u8>),
        Text(&'o mut String),
    }

    impl Growing<'_> {
        /// Room for `len` bytes.
        pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
            self.bytes.truncate(self.end);
            self.bytes.resize(self.end + len, 0);
            &mut self.bytes[self.end..]
        }

        /// Appends the first `written` bytes of the room: whole characters of the encoding.
        pub(super) fn keep(&mut self, written: usize) {
            self.end = self.bytes.len().min(self.end + written);
        }

        /// Makes what was appended stay.
        pub(super) fn commit(mut self) {
            self.committed = self.end;
        }
    }

    impl Drop for Growing<'_> {
        fn drop(&mut self) {
            let mut bytes = core::mem::take(&mut self.bytes);
            bytes.truncate(self.committed);
            match &mut self.output {
                Kind::Bytes(output) => **output = bytes,
                // SAFETY: the bytes are those of the `String`, and after them what a `Transcoder` to UTF-8 wrote and
                // returned: `Target::encode` writes no surrogate and nothing above 10FFFF for `Encoding::Utf8`, what is
                // copied in bulk was found well-formed, and both write whole characters only. Only this file can call
                // `keep`: `Transcoder::append` does so, with the number of bytes that were written.
                #[allow(unsafe_code)]
                Kind::Text(output) => **output = unsafe { String::from_utf8_unchecked(bytes) },
            }
        }
    }

    impl Sealed for Vec<u8> {
        fn grow(&mut self, _: Encoding, _: Token) -> Option<Growing<'_>> {
            let bytes = core::mem::take(self);
            Some(Growing { end: bytes.len(), committed: bytes.len(), bytes, output: Kind::Bytes(self) })
        }
    }

    impl Sealed for String {
        fn grow(&mut self, encoding: Encoding, _: Token) -> Option<Growing<'_>> {
            if encoding != Encoding::Utf8 {
                return None;
            }
            let bytes = core::mem::take(self).into_bytes();
            Some(Growing { end: bytes.len(), committed: bytes.len(), bytes, output: Kind::Text(self) })
        }
    }
}

/// What the output grows by at a time: short enough to stay in the nearest cache.
const STEP: usize = 8 * 1024;

/// What it grows by first. Room is zeroed, and an error may come after the first byte.
const FIRST_STEP: usize = 256;

impl Transcoder {
    /// Takes the next chunk and appends to `out` what it completes.
    ///
    /// # Errors
    ///
    /// The first error that the policy does not repair. What was good before it is in `out`. The transcoder is positioned
    /// after the error, the bytes after it are not taken, and the next call goes on there:
    /// `&chunk[(transcoder.offset() - offset_before) as usize..]`.
    pub fn feed(&mut self, chunk: &[u8], out: &mut impl Output) -> Result<(), Utf8Error> {
        let mut rest = chunk;
        self.append(chunk.len(), out, |transcoder, room| {
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
        self.append(0, out, |transcoder, room| {
            let progress = transcoder.finish_into(room);
            (progress.status, progress.written)
        })
    }

    /// Makes room and writes, until the input is empty. A panic leaves the transcoder and the output as they were.
    fn append(
        &mut self,
        input: usize,
        out: &mut impl Output,
        mut write: impl FnMut(&mut Self, &mut [u8]) -> (Status, usize),
    ) -> Result<(), Utf8Error> {
        let Some(mut out) = out.grow(self.to(), Token(())) else {
            return Err(self.conversion.error(ErrorKind::Unmappable, 0));
        };
        let mut transcoder = *self;
        let mut step = FIRST_STEP.min(input.max(Self::MIN_OUTPUT * 4));
        let result = loop {
            let (status, written) = write(&mut transcoder, out.room(step));
            out.keep(written);
            match status {
                Status::InputEmpty => break Ok(()),
                Status::OutputFull => step = STEP.min(8 * step),
                Status::IllFormed(error) => break Err(error),
            }
        };
        out.commit();
        *self = transcoder;
        result
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
