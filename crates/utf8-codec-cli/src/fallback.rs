//! Lines of UTF-8, and of a named encoding: `convert --from utf-8,ENCODING` and `proxy --on-error fallback:ENCODING`.

use core::str::FromStr;
use std::ffi::OsStr;
use std::io::{self, Read};

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{FallbackDecoder, Scope};

use crate::args::error_policy;
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
        let first: NamedEncoding = first.parse()?;
        if first != Encoding::Utf8.into() {
            return Err(NOT_A_PAIR.to_owned());
        }
        Ok(Self::Fallback(Box::new(decoder(named)?)))
    }
}

const NOT_A_PAIR: &str = "two encodings are utf-8 and one of lines that are not UTF-8";

/// Returns the decoder for lines that are not UTF-8, by the name of their encoding.
fn decoder(name: &str) -> Result<FallbackDecoder, String> {
    let named: NamedEncoding = name.parse()?;
    if named != named.encoding().into() {
        return Err(NOT_A_PAIR.to_owned());
    }
    FallbackDecoder::new(named.encoding(), Scope::Line).map_err(|error| error.to_string())
}

/// The argument of `--on-error` of `proxy`.
#[derive(Clone, Debug)]
pub(super) enum OnError {
    Policy(ErrorPolicy),
    Fallback(LineDecoder),
}

impl OnError {
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        OnErrorParser
    }
}

/// Decodes single lines of a stream, apart from those that are UTF-8.
#[derive(Clone, Debug)]
pub(super) struct LineDecoder(Box<FallbackDecoder>);

impl LineDecoder {
    fn new(name: &str) -> Result<Self, String> {
        // The caller limits the length of a line.
        let mut decoder = decoder(name)?.with_limit(usize::MAX);
        // Past the start of a stream, where `FF FE` would be a BOM.
        decoder.feed_into(b"\n", &mut String::new());
        Ok(Self(Box::new(decoder)))
    }

    /// Returns the text of a line, with its terminator if it has one.
    pub(super) fn decode(&self, line: &[u8]) -> String {
        let mut text = String::with_capacity(line.len() + line.len() / 2);
        let mut decoder = self.0.clone();
        decoder.feed_into(line, &mut text);
        decoder.finish_into(&mut text);
        text
    }
}

#[derive(Clone)]
struct OnErrorParser;

impl TypedValueParser for OnErrorParser {
    type Value = OnError;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<OnError, clap::Error> {
        let Some(name) = value.to_str().and_then(|value| value.strip_prefix("fallback:")) else {
            return error_policy().map(OnError::Policy).parse_ref(command, arg, value);
        };
        let parser = |name: &str| LineDecoder::new(name).map(OnError::Fallback);
        parser.parse_ref(command, arg, name.as_ref())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let fallback = PossibleValue::new("fallback:ENCODING")
            .help("decode the line in this encoding, such as cp866; requires --framing lines");
        let policies: Vec<_> = error_policy().possible_values()?.collect();
        Some(Box::new(policies.into_iter().chain([fallback])))
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
