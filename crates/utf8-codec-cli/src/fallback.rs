//! `convert --from utf-8,ENCODING`: lines of UTF-8, and of a named encoding.

use core::str::FromStr;
use std::io::{self, Read};

use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{FallbackDecoder, Scope};

use crate::charset::{FromArg, NamedEncoding};
use crate::files::read;
use crate::progress::Progress;

/// The argument of `--from` of `convert`.
#[derive(Clone, Debug)]
pub(super) enum Source {
    One(FromArg),
    Fallback(Box<FallbackDecoder>),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(names: &str) -> Result<Self, Self::Err> {
        let Some((first, named)) = names.split_once(',') else {
            return Ok(Self::One(names.parse()?));
        };
        let (first, named): (NamedEncoding, NamedEncoding) = (first.parse()?, named.parse()?);
        let is_plain = |charset: NamedEncoding| charset == charset.encoding().into();
        if first != Encoding::Utf8.into() || !is_plain(named) {
            return Err("two encodings are utf-8 and one of lines that are not UTF-8".to_owned());
        }
        match FallbackDecoder::new(named.encoding(), Scope::Line) {
            Ok(decoder) => Ok(Self::Fallback(Box::new(decoder))),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Reads the text of an input as UTF-8.
pub(super) struct FallbackReader<'a> {
    input: &'a mut dyn Read,
    decoder: FallbackDecoder,
    progress: &'a Progress,
    text: String,
    /// The number of bytes of `text` that were read.
    start: usize,
    is_at_end: bool,
}

impl<'a> FallbackReader<'a> {
    pub(super) fn new(input: &'a mut dyn Read, decoder: FallbackDecoder, progress: &'a Progress) -> Self {
        Self { input, decoder, progress, text: String::new(), start: 0, is_at_end: false }
    }
}

impl Read for FallbackReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.start == self.text.len() && !self.is_at_end {
            self.text.clear();
            self.start = 0;
            let filled = read(&mut self.input, buffer)?;
            self.progress.advance(filled as u64);
            self.is_at_end = filled == 0;
            if self.is_at_end {
                self.decoder.finish_into(&mut self.text);
            } else {
                self.decoder.feed_into(&buffer[..filled], &mut self.text);
            }
        }
        let rest = &self.text.as_bytes()[self.start..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.start += len;
        Ok(len)
    }
}
