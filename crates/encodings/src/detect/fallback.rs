//! Decoding as UTF-8, with a fallback to a legacy encoding.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use kernels::{AtBoundary, TextEnd};
use utf8_codec::{ErrorPolicy, TextDecoder, from_utf8};

use crate::{Encoding, Transcoder};

/// A legacy encoding, for text that is not UTF-8. In both encodings every byte sequence is well-formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Legacy {
    /// windows-1252. On the web the label ISO 8859-1 also means windows-1252.
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
        // Both encodings map every byte to a character, so the conversion never fails.
        let result = Transcoder::new(self.encoding(), Encoding::Utf8).feed_into(bytes, out);
        debug_assert!(result.is_ok());
    }
}

/// The part of the text that is decoded as legacy text because of an ill-formed sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Only the sequence. A line that contains both encodings stays readable. Legacy text that is also well-formed
    /// UTF-8 is decoded as UTF-8.
    Sequence,
    /// The line that contains the sequence. Lines end with LF.
    Line,
    /// The whole input of [`decode_or_legacy`]. In a stream this is the same as [`Line`](Self::Line).
    ///
    /// With this scope and with [`Line`](Self::Line), text that is UTF-8 up to a cut in its last character is not
    /// legacy text if it also contains a whole character of several bytes. Some servers cut lines at a number of bytes.
    /// The cut character becomes U+FFFD.
    Frame,
}

/// Decodes a frame as UTF-8, or as legacy text if it is not UTF-8, like IRC clients do. Well-formed UTF-8 is borrowed.
///
/// ```
/// use utf8_codec_encodings::detect::{Legacy, Scope, decode_or_legacy};
///
/// let mixed = b"na\xC3\xAFve\ncaf\xE9 na\xC3\xAFve";
/// assert_eq!(decode_or_legacy(mixed, Legacy::Windows1252, Scope::Sequence), "naïve\ncafé naïve");
/// assert_eq!(decode_or_legacy(mixed, Legacy::Windows1252, Scope::Line), "naïve\ncafé naÃ¯ve");
/// assert_eq!(decode_or_legacy(mixed, Legacy::Windows1252, Scope::Frame), "naÃ¯ve\ncafé naÃ¯ve");
///
/// let cut = b"caf\xC3\xA9 na\xC3";
/// assert_eq!(decode_or_legacy(cut, Legacy::Windows1252, Scope::Frame), "café na\u{FFFD}");
/// ```
pub fn decode_or_legacy(frame: &[u8], legacy: Legacy, scope: Scope) -> Cow<'_, str> {
    if let Ok(text) = from_utf8(frame) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(frame.len() + frame.len() / 8);
    match scope {
        Scope::Sequence => append_repaired(frame, legacy, &mut out),
        Scope::Line => frame.split_inclusive(|&byte| byte == b'\n').for_each(|line| {
            append_whole(line, legacy, &mut out);
        }),
        Scope::Frame => append_whole(frame, legacy, &mut out),
    }
    Cow::Owned(out)
}

fn append_repaired(bytes: &[u8], legacy: Legacy, out: &mut String) {
    let mut decoder = TextDecoder::new().with_error_policy(legacy.policy());
    for piece in decoder.feed(bytes) {
        out.push_str(piece.text().unwrap_or_default());
    }
    if let Some(piece) = decoder.finish() {
        out.push_str(piece.text().unwrap_or_default());
    }
}

fn append_whole(line: &[u8], legacy: Legacy, out: &mut String) {
    let (content, line_break) = without_line_break(line);
    match kernels::prefix(AtBoundary::START, content) {
        (text, _) if text.len() == content.len() => out.push_str(text),
        // A single character before the end may also be legacy text: `caf\xE9`.
        (text, TextEnd::Unfinished(_)) if !text.is_ascii() => out.extend([text, "\u{FFFD}"]),
        _ => legacy.append(content, out),
    }
    out.push_str(line_break);
}

/// Returns a line without its LF, CRLF or CR, and this line break. A stream passes the line without the LF.
fn without_line_break(line: &[u8]) -> (&[u8], &'static str) {
    match line {
        [content @ .., b'\r', b'\n'] => (content, "\r\n"),
        [content @ .., b'\n'] => (content, "\n"),
        [content @ .., b'\r'] => (content, "\r"),
        _ => (line, ""),
    }
}

/// [`decode_or_legacy`] for a stream in chunks of any size.
///
/// With [`Scope::Line`] a line is buffered until it is complete, because its last byte may determine how its first
/// bytes are decoded. When a line reaches the [`with_limit`](Self::with_limit), its encoding is decided from the bytes
/// so far. If they are well-formed UTF-8, the rest of the line is decoded as UTF-8, and each ill-formed sequence in it
/// as legacy text. Otherwise the whole line is legacy text. The memory is therefore bounded, even for a line without an
/// end.
///
/// ```
/// use utf8_codec_encodings::detect::{FallbackDecoder, Legacy, Scope};
///
/// let mut decoder = FallbackDecoder::new(Legacy::Windows1252, Scope::Line);
/// let mut text = String::new();
/// for chunk in [&b"caf\xC3"[..], b"\xA9\ncaf\xE9", b"\n"] {
///     decoder.feed_into(chunk, &mut text);
/// }
/// decoder.finish_into(&mut text);
/// assert_eq!(text, "café\ncafé\n");
/// ```
#[derive(Clone, Debug)]
pub struct FallbackDecoder {
    legacy: Legacy,
    scope: Scope,
    limit: usize,
    /// The buffered part of the current line without its LF, until its encoding is decided.
    line: Vec<u8>,
    decided: Option<Decided>,
}

/// The encoding of the rest of a line that has reached the limit. With [`Scope::Sequence`] it is always `Utf8`.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for each stream")]
enum Decided {
    Utf8(TextDecoder),
    Legacy,
}

impl FallbackDecoder {
    /// The default of [`with_limit`](Self::with_limit): 64 KiB.
    pub const DEFAULT_LIMIT: usize = 64 * 1024;

    /// Creates a decoder with the [`DEFAULT_LIMIT`](Self::DEFAULT_LIMIT).
    pub const fn new(legacy: Legacy, scope: Scope) -> Self {
        let text = TextDecoder::new().with_error_policy(legacy.policy());
        let decided = match scope {
            Scope::Sequence => Some(Decided::Utf8(text)),
            Scope::Line | Scope::Frame => None,
        };
        Self { legacy, scope, limit: Self::DEFAULT_LIMIT, line: Vec::new(), decided }
    }

    /// Sets the maximum number of bytes of a line that are buffered before its encoding is decided.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Decodes the next chunk and appends the text whose encoding is decided.
    pub fn feed_into(&mut self, chunk: &[u8], out: &mut String) {
        if self.scope == Scope::Sequence {
            return self.push(chunk, out);
        }
        let mut rest = chunk;
        while !rest.is_empty() {
            // Bytes already known not to contain an LF.
            let mut searched = 0;
            if self.line.is_empty() && self.decided.is_none() {
                // Whole lines of UTF-8 are appended at once. Their text does not depend on the limit.
                let (text, _) = kernels::prefix(AtBoundary::START, rest);
                let lines = kernels::last_position(text.as_bytes(), b'\n').map_or(0, |at| at + 1);
                let mut end = lines;
                searched = text.len() - lines;
                if searched >= self.limit {
                    (end, searched) = (text.len(), 0);
                    self.decided = Some(Decided::Utf8(self.decoder()));
                }
                out.push_str(&text[..end]);
                rest = &rest[end..];
            }
            let len = kernels::first_position(&rest[searched..], b'\n').map(|at| searched + at);
            self.push(&rest[..len.unwrap_or(rest.len())], out);
            let Some(len) = len else { return };
            self.finish_into(out);
            out.push('\n');
            rest = &rest[len + 1..];
        }
    }

    /// Ends the stream and appends the last line. The decoder can then be used for another stream.
    pub fn finish_into(&mut self, out: &mut String) {
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

    /// Adds bytes to the current line.
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

    /// Returns a decoder for the rest of a line that is UTF-8 up to the limit.
    const fn decoder(&self) -> TextDecoder {
        TextDecoder::new().with_error_policy(self.legacy.policy())
    }

    /// Decides the encoding of a line that has reached the limit.
    fn decide(&mut self, out: &mut String) {
        if let (text, TextEnd::Unfinished(_)) = kernels::prefix(AtBoundary::START, &self.line) {
            out.push_str(text);
            let mut decoder = self.decoder();
            // The bytes after `text` are an unfinished character, which becomes pending.
            let unfinished = decoder.feed(&self.line[text.len()..]).next();
            debug_assert_eq!(unfinished, None);
            self.decided = Some(Decided::Utf8(decoder));
        } else {
            self.legacy.append(&self.line, out);
            self.decided = Some(Decided::Legacy);
        }
        self.line.clear();
    }
}
