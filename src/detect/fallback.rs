//! UTF-8, or else legacy text.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Utf8Error;
use crate::policy::ErrorPolicy;
use crate::text::TextDecoder;
use crate::transcode::{Encoding, Transcoder};

/// The encoding of text that is not UTF-8. Any bytes are text in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Legacy {
    /// windows-1252, as the web reads what is called ISO 8859-1 too.
    #[default]
    Windows1252,
    /// ISO 8859-1.
    Latin1,
}

impl Legacy {
    const fn policy(self) -> ErrorPolicy {
        match self {
            Self::Windows1252 => ErrorPolicy::Windows1252,
            Self::Latin1 => ErrorPolicy::Latin1,
        }
    }

    const fn encoding(self) -> Encoding {
        match self {
            Self::Windows1252 => Encoding::Windows1252,
            Self::Latin1 => Encoding::Latin1,
        }
    }

    fn append(self, bytes: &[u8], out: &mut String) {
        // Every byte is a character of both, and UTF-8 has every character.
        let result: Result<(), Utf8Error> = Transcoder::new(self.encoding(), Encoding::Utf8).feed(bytes, out);
        debug_assert!(result.is_ok());
    }
}

/// How much of the text is read as legacy text because of one ill-formed sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Its own bytes only. Lines in both encodings stay readable, but legacy text of which a part is well-formed UTF-8
    /// is not read as one.
    Sequence,
    /// The line that it is in, whose terminator is LF.
    Line,
    /// All of the frame: the whole input of [`decode_or_legacy`]. A stream has no frames, and takes it as
    /// [`Line`](Self::Line).
    Frame,
}

/// Decodes a frame as UTF-8, else as legacy text: what IRC clients do. Text that is UTF-8 is borrowed.
///
/// ```
/// use utf8_codec::detect::{Legacy, Scope, decode_or_legacy};
///
/// let mixed = b"na\xC3\xAFve\ncaf\xE9 na\xC3\xAFve";
/// assert_eq!(decode_or_legacy(mixed, Legacy::Windows1252, Scope::Sequence), "naïve\ncafé naïve");
/// assert_eq!(decode_or_legacy(mixed, Legacy::Windows1252, Scope::Line), "naïve\ncafé naÃ¯ve");
/// assert_eq!(decode_or_legacy(mixed, Legacy::Windows1252, Scope::Frame), "naÃ¯ve\ncafé naÃ¯ve");
/// ```
pub fn decode_or_legacy(frame: &[u8], legacy: Legacy, scope: Scope) -> Cow<'_, str> {
    if let Ok(text) = core::str::from_utf8(frame) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(frame.len() + frame.len() / 8);
    match scope {
        Scope::Sequence => append_repaired(frame, legacy, &mut out),
        Scope::Line => frame.split_inclusive(|&byte| byte == b'\n').for_each(|line| {
            append_whole(line, legacy, &mut out);
        }),
        Scope::Frame => legacy.append(frame, &mut out),
    }
    Cow::Owned(out)
}

fn append_repaired(bytes: &[u8], legacy: Legacy, out: &mut String) {
    let mut decoder = TextDecoder::new().on_error(legacy.policy());
    for piece in decoder.feed(bytes) {
        out.push_str(piece.text().unwrap_or_default());
    }
    if let Some(piece) = decoder.finish() {
        out.push_str(piece.text().unwrap_or_default());
    }
}

fn append_whole(line: &[u8], legacy: Legacy, out: &mut String) {
    match core::str::from_utf8(line) {
        Ok(text) => out.push_str(text),
        Err(_) => legacy.append(line, out),
    }
}

/// [`decode_or_legacy`] for a stream in chunks of any size.
///
/// With [`Scope::Line`] a line is kept until its end has come, because its last byte may decide what its first ones
/// are. A line that reaches [`DEFAULT_LIMIT`](Self::DEFAULT_LIMIT) bytes without an end is decided by those: if they
/// are well-formed, the rest of the line is repaired sequence by sequence; else the whole line is legacy text. So a peer
/// that never ends a line cannot fill the memory.
///
/// ```
/// use utf8_codec::detect::{FallbackDecoder, Legacy, Scope};
///
/// let mut decoder = FallbackDecoder::new(Legacy::Windows1252, Scope::Line);
/// let mut text = String::new();
/// for chunk in [&b"caf\xC3"[..], b"\xA9\ncaf\xE9", b"\n"] {
///     decoder.feed(chunk, &mut text);
/// }
/// decoder.finish(&mut text);
/// assert_eq!(text, "café\ncafé\n");
/// ```
#[derive(Clone, Debug)]
pub struct FallbackDecoder {
    legacy: Legacy,
    scope: Scope,
    limit: usize,
    /// The line so far, while it is not decided, without the LF that ends it.
    line: Vec<u8>,
    decided: Option<Decided>,
}

/// What a line is that is longer than the limit.
#[derive(Clone, Copy, Debug)]
enum Decided {
    Utf8(TextDecoder),
    Legacy,
}

impl FallbackDecoder {
    /// 64 KiB.
    pub const DEFAULT_LIMIT: usize = 64 * 1024;

    /// A decoder with the [`DEFAULT_LIMIT`](Self::DEFAULT_LIMIT).
    pub const fn new(legacy: Legacy, scope: Scope) -> Self {
        let text = TextDecoder::new().on_error(legacy.policy());
        let decided = match scope {
            Scope::Sequence => Some(Decided::Utf8(text)),
            Scope::Line | Scope::Frame => None,
        };
        Self { legacy, scope, limit: Self::DEFAULT_LIMIT, line: Vec::new(), decided }
    }

    /// Sets how many bytes of a line are kept at most.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Takes the next chunk, and appends what is decided by now.
    pub fn feed(&mut self, chunk: &[u8], out: &mut String) {
        if self.scope == Scope::Sequence {
            return self.push(chunk, out);
        }
        for part in chunk.split_inclusive(|&byte| byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(end) => {
                    self.push(end, out);
                    self.finish(out);
                    out.push('\n');
                }
                None => self.push(part, out),
            }
        }
    }

    /// Ends the stream, and appends the line that it ended in. The decoder is then as new.
    pub fn finish(&mut self, out: &mut String) {
        match &mut self.decided {
            Some(Decided::Utf8(text)) => {
                if let Some(piece) = text.finish() {
                    out.push_str(piece.text().unwrap_or_default());
                }
            }
            Some(Decided::Legacy) => {}
            None => append_whole(&self.line, self.legacy, out),
        }
        self.line.clear();
        if self.scope != Scope::Sequence {
            self.decided = None;
        }
    }

    /// Takes more bytes of the line.
    fn push(&mut self, bytes: &[u8], out: &mut String) {
        let mut rest = bytes;
        if self.decided.is_none() {
            let (kept, after) = rest.split_at(rest.len().min(self.limit - self.line.len().min(self.limit)));
            self.line.extend_from_slice(kept);
            rest = after;
            if self.line.len() >= self.limit {
                self.decide(out);
            }
        }
        match &mut self.decided {
            None => {}
            Some(Decided::Legacy) => self.legacy.append(rest, out),
            Some(Decided::Utf8(text)) => {
                for piece in text.feed(rest) {
                    out.push_str(piece.text().unwrap_or_default());
                }
            }
        }
    }

    /// The line has reached the limit.
    fn decide(&mut self, out: &mut String) {
        let mut text = TextDecoder::new();
        let well_formed = text.feed(&self.line).all(|piece| piece.text().is_ok());
        if well_formed {
            let mut text = TextDecoder::new().on_error(self.legacy.policy());
            for piece in text.feed(&self.line) {
                out.push_str(piece.text().unwrap_or_default());
            }
            self.decided = Some(Decided::Utf8(text));
        } else {
            self.legacy.append(&self.line, out);
            self.decided = Some(Decided::Legacy);
        }
        self.line.clear();
    }
}
