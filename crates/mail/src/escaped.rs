//! Text in which each byte is written as itself or as an escape.

use alloc::boxed::Box;

use utf8_codec::{Utf8Decoder, Utf8Error};

use super::charset::CharsetText;
use super::error::{MimeError, MimeErrorKind};
use super::transfer::TransferErrorKind;

/// Checks the text that escapes encode, one byte at a time.
pub(super) struct EscapedText {
    decoder: Utf8Decoder,
    /// The offsets in the message of the pending bytes and of the next byte.
    offsets: [u64; 4],
    /// The decoder of text in another charset.
    charset: Option<Box<CharsetText>>,
}

impl EscapedText {
    pub(super) const fn new(charset: Option<Box<CharsetText>>) -> Self {
        Self { decoder: Utf8Decoder::new(), offsets: [0; 4], charset }
    }

    /// Sets the charset of the next text.
    pub(super) fn set_charset(&mut self, charset: Option<Box<CharsetText>>) {
        self.charset = charset;
    }

    /// Checks the next byte, which is written at the offset `at` of the message.
    pub(super) fn push(&mut self, byte: u8, at: u64, each: &mut impl FnMut(MimeError)) {
        let mut rest = core::slice::from_ref(&byte);
        if let Some(charset) = &mut self.charset {
            return charset.feed(rest, |_| at, &mut |piece: Result<&str, MimeError>| {
                piece.err().into_iter().for_each(&mut *each)
            });
        }
        while !rest.is_empty() {
            let before = self.decoder.offset();
            let pending = self.decoder.pending().len();
            self.offsets[pending] = at;
            if let Err(error) = self.decoder.validate(rest) {
                each(self.text_error(error));
            }
            rest = &rest[(self.decoder.offset() - before) as usize..];
        }
    }

    /// Ends the text. The next text may follow.
    pub(super) fn finish(&mut self, each: &mut impl FnMut(MimeError)) {
        if let Some(charset) = &mut self.charset {
            return charset
                .finish(&mut |piece: Result<&str, MimeError>| piece.err().into_iter().for_each(&mut *each));
        }
        if let Err(error) = self.decoder.finish() {
            each(self.text_error(error));
        }
    }

    /// Creates the error for a malformed byte at the offset `at` of the message.
    pub(super) fn transfer_error(&self, kind: TransferErrorKind, at: u64) -> MimeError {
        let decoded = self.charset.as_ref().map_or(self.decoder.offset(), |charset| charset.offset());
        MimeError::new(at, Some(decoded), MimeErrorKind::Transfer(kind), 1)
    }

    const fn text_error(&self, error: Utf8Error) -> MimeError {
        MimeError::text(self.offsets[0], Some(error.offset), error)
    }
}
