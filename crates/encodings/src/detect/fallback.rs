//! Decoding as UTF-8, with a fallback to a named encoding.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::{fmt, mem};

use kernels::grammar::{Sequence, UTF_8};
use kernels::{AtBoundary, TextEnd};
use utf8_codec::{ErrorPolicy, TextDecoder, from_utf8};

use crate::{Encoding, Transcoder};

/// The part of the text that is decoded by the named encoding because of an ill-formed sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Only the sequence. A line that contains both encodings stays readable. Text in the named encoding that is also
    /// well-formed UTF-8 is decoded as UTF-8. Only for encodings of one byte per character.
    Sequence,
    /// The line that contains the sequence. Lines end with LF.
    Line,
    /// The whole input of [`FallbackDecoder::decode`]. In a stream this is the same as [`Line`](Self::Line).
    ///
    /// With this scope and with [`Line`](Self::Line), text that is UTF-8 up to a cut in its last character is still UTF-8
    /// if it also contains a whole character of several bytes. Some servers cut lines at a number of bytes. The cut
    /// character becomes U+FFFD.
    Frame,
}

/// The error for an encoding that [`FallbackDecoder`] does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UnsupportedFallback {
    /// The encoding.
    pub encoding: Encoding,
    /// The scope.
    pub scope: Scope,
}

impl fmt::Display for UnsupportedFallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = if is_supported(self.encoding, Scope::Line) {
            "for single sequences: it has characters of several bytes"
        } else {
            "for UTF-8: its ASCII characters have other bytes, or a state"
        };
        write!(f, "{} cannot be the fallback {reason}", self.encoding.title())
    }
}

impl core::error::Error for UnsupportedFallback {}

fn is_supported(encoding: Encoding, scope: Scope) -> bool {
    use Encoding as E;
    match encoding {
        E::Utf16Le | E::Utf16Be | E::Utf32Le | E::Utf32Be => false,
        E::Ibm037 | E::Ibm500 | E::Ibm1047 => false,
        E::Utf7 | E::Iso2022Jp | E::Iso2022Kr => false,
        // NUL has two bytes.
        E::ModifiedUtf8 => false,
        E::Utf8 | E::Utf8Ucs4 | E::Cesu8 | E::Wtf8 | E::Utf8b => scope != Scope::Sequence,
        E::Gbk | E::Gb18030 | E::Big5 | E::EucJp | E::ShiftJis | E::EucKr => scope != Scope::Sequence,
        _ => true,
    }
}

/// Decodes UTF-8, and from a named encoding what is not UTF-8. Use it for chat and for the output of a child process, a
/// terminal or a serial line: a program may write UTF-8 while a program that it starts writes the code page of the
/// console.
///
/// A part of the input, selected by the [`Scope`], is UTF-8 if it is well-formed. Otherwise all of it is decoded by the named
/// encoding. Bytes that have no character in that encoding become U+FFFD. Nothing is decided before it must be, and the
/// text does not depend on how the stream is split into chunks:
///
/// - The ASCII characters at the start of a line are appended at once: they are the same in both encodings.
/// - After an ill-formed sequence the line is in the named encoding. It is appended as it arrives.
/// - Characters of UTF-8 are buffered until the line is complete, because its last byte may still decide. For a prompt
///   without a line end there is [`flush_into`](Self::flush_into).
///
/// Input that starts with `FF FE` is UTF-16LE, which PowerShell writes. This BOM is removed.
///
/// # Limits
///
/// A line of which [`with_limit`](Self::with_limit) bytes are buffered is taken as UTF-8. Ill-formed sequences in the
/// rest of this line become U+FFFD. The memory is therefore bounded, even for a line without an end. Two encodings that
/// are not UTF-8 are not distinguished from each other, and text in the named encoding that is also well-formed UTF-8
/// is decoded as UTF-8.
///
/// ```
/// use utf8_codec_encodings::Encoding;
/// use utf8_codec_encodings::detect::{FallbackDecoder, Scope};
///
/// let mut decoder = FallbackDecoder::new(Encoding::Ibm866, Scope::Line)?;
/// let mut text = String::new();
/// for chunk in [&b"\xD0\x9F\xD1"[..], b"\x80\n\x8F", b"\xE0\n> \x8F"] {
///     decoder.feed_into(chunk, &mut text);
/// }
/// assert_eq!(text, "Пр\nПр\n> П");
/// decoder.finish_into(&mut text);
/// # Ok::<(), utf8_codec_encodings::detect::UnsupportedFallback>(())
/// ```
#[derive(Clone)]
pub struct FallbackDecoder {
    encoding: Encoding,
    scope: Scope,
    limit: usize,
    start: Start,
    /// The buffered part of the current line, from its first byte that is not ASCII, until its encoding is decided. With
    /// [`Scope::Sequence`], an unfinished character.
    line: Vec<u8>,
    /// The number of bytes at the start of `line` that are whole characters.
    valid: usize,
    state: State,
}

/// The search for the BOM of UTF-16LE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Nothing,
    /// After `FF`, which is not buffered.
    Half,
    Over,
}

/// The encoding of the rest of a line, or of the stream.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for each stream")]
enum State {
    Undecided,
    Utf8(TextDecoder),
    Named(Transcoder),
    Utf16(Transcoder),
}

impl fmt::Debug for FallbackDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackDecoder")
            .field("encoding", &self.encoding)
            .field("scope", &self.scope)
            .field("limit", &self.limit)
            .field("buffered", &self.line.len())
            .finish_non_exhaustive()
    }
}

impl FallbackDecoder {
    /// The default of [`with_limit`](Self::with_limit): 64 KiB.
    pub const DEFAULT_LIMIT: usize = 64 * 1024;

    /// Creates a decoder with the [`DEFAULT_LIMIT`](Self::DEFAULT_LIMIT).
    ///
    /// # Errors
    ///
    /// Returns an error for an encoding in which ASCII text has other bytes, or in which it depends on the bytes before it:
    /// UTF-16, UTF-32, EBCDIC, UTF-7, ISO-2022-JP, ISO-2022-KR and Modified UTF-8. With [`Scope::Sequence`], also for one
    /// that has characters of several bytes.
    pub fn new(encoding: Encoding, scope: Scope) -> Result<Self, UnsupportedFallback> {
        if is_supported(encoding, scope) {
            Ok(Self::fresh(encoding, scope, Self::DEFAULT_LIMIT))
        } else {
            Err(UnsupportedFallback { encoding, scope })
        }
    }

    const fn fresh(encoding: Encoding, scope: Scope, limit: usize) -> Self {
        Self {
            encoding,
            scope,
            limit,
            start: Start::Nothing,
            line: Vec::new(),
            valid: 0,
            state: State::Undecided,
        }
    }

    /// Sets the maximum number of bytes of a line that are buffered before its encoding is decided.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Decodes a whole input, such as a message of IRC. Well-formed UTF-8 is borrowed. The state of the stream and the limit
    /// are not used.
    ///
    /// ```
    /// use utf8_codec_encodings::Encoding;
    /// use utf8_codec_encodings::detect::{FallbackDecoder, Scope};
    ///
    /// let mixed = b"na\xC3\xAFve\ncaf\xE9 na\xC3\xAFve";
    /// for (scope, text) in [
    ///     (Scope::Sequence, "naïve\ncafé naïve"),
    ///     (Scope::Line, "naïve\ncafé naÃ¯ve"),
    ///     (Scope::Frame, "naÃ¯ve\ncafé naÃ¯ve"),
    /// ] {
    ///     assert_eq!(FallbackDecoder::new(Encoding::Windows1252, scope)?.decode(mixed), text);
    /// }
    ///
    /// let decoder = FallbackDecoder::new(Encoding::ShiftJis, Scope::Frame)?;
    /// assert_eq!(decoder.decode(b"\x83e\x83X\x83g"), "テスト");
    /// assert_eq!(decoder.decode(b"caf\xC3\xA9 na\xC3"), "café na\u{FFFD}");
    /// # Ok::<(), utf8_codec_encodings::detect::UnsupportedFallback>(())
    /// ```
    pub fn decode<'a>(&self, input: &'a [u8]) -> Cow<'a, str> {
        if let Ok(text) = from_utf8(input) {
            return Cow::Borrowed(text);
        }
        let mut decoder = Self::fresh(self.encoding, self.scope, usize::MAX);
        let mut out = String::with_capacity(input.len() + input.len() / 8);
        let rest = decoder.skip_bom(input, &mut out);
        if self.scope == Scope::Frame && matches!(decoder.state, State::Undecided) {
            decoder.feed_frame(rest, &mut out);
        } else {
            decoder.feed_text(rest, &mut out);
        }
        decoder.finish_into(&mut out);
        Cow::Owned(out)
    }

    /// Decodes one line inside a stream, without its LF or CRLF if it has one.
    #[cfg(feature = "codec")]
    pub(crate) fn decode_line(&self, line: &[u8], is_terminated: bool) -> String {
        let mut decoder = Self { start: Start::Over, ..Self::fresh(self.encoding, Scope::Line, usize::MAX) };
        let mut out = String::with_capacity(line.len() + line.len() / 8);
        decoder.feed_text(line, &mut out);
        if is_terminated {
            // A CR at the end of `line` is not a part of the line break.
            decoder.feed_text(b"\r", &mut out);
        }
        decoder.finish_into(&mut out);
        if is_terminated {
            out.pop();
        }
        out
    }

    /// Decodes the next chunk and appends the text that no later byte can change.
    pub fn feed_into(&mut self, chunk: &[u8], out: &mut String) {
        let rest = self.skip_bom(chunk, out);
        self.feed_text(rest, out);
    }

    /// Decides that the current line is UTF-8 if its bytes so far are, and appends its whole characters. For a prompt, which
    /// has no line end: call it when nothing has arrived for some time. If the rest of the line is not UTF-8, it contains
    /// U+FFFD, as after the limit.
    ///
    /// ```
    /// use utf8_codec_encodings::Encoding;
    /// use utf8_codec_encodings::detect::{FallbackDecoder, Scope};
    ///
    /// let mut decoder = FallbackDecoder::new(Encoding::Windows1252, Scope::Line)?;
    /// let mut text = String::new();
    /// decoder.feed_into("Schlüssel: ".as_bytes(), &mut text);
    /// assert_eq!(text, "Schl");
    /// decoder.flush_into(&mut text);
    /// assert_eq!(text, "Schlüssel: ");
    /// # Ok::<(), utf8_codec_encodings::detect::UnsupportedFallback>(())
    /// ```
    pub fn flush_into(&mut self, out: &mut String) {
        if self.valid > 0 {
            self.decide_utf_8(out);
        }
    }

    /// Ends the stream and appends the last line. The decoder can then be used for another stream.
    pub fn finish_into(&mut self, out: &mut String) {
        if self.start == Start::Half {
            self.start = Start::Over;
            self.feed_text(b"\xFF", out);
        }
        if self.scope == Scope::Sequence && matches!(self.state, State::Undecided) {
            let unfinished = mem::take(&mut self.line);
            named_into(&mut self.named(), &unfinished, out);
        }
        self.end_line(out);
        self.start = Start::Nothing;
    }

    /// Searches for the BOM of UTF-16LE at the start of the stream. Returns the rest of the chunk.
    fn skip_bom<'c>(&mut self, chunk: &'c [u8], out: &mut String) -> &'c [u8] {
        let (start, rest) = match (self.start, chunk) {
            (Start::Over, _) | (_, []) => return chunk,
            (Start::Nothing, [0xFF]) => (Start::Half, &[][..]),
            (Start::Nothing, [0xFF, 0xFE, rest @ ..]) | (Start::Half, [0xFE, rest @ ..]) => {
                self.state = State::Utf16(replacing(Encoding::Utf16Le));
                (Start::Over, rest)
            }
            (Start::Nothing, _) => (Start::Over, chunk),
            (Start::Half, _) => {
                self.start = Start::Over;
                self.feed_text(b"\xFF", out);
                (Start::Over, chunk)
            }
        };
        self.start = start;
        rest
    }

    fn feed_text(&mut self, chunk: &[u8], out: &mut String) {
        match (&mut self.state, self.scope) {
            (State::Utf16(units), _) => named_into(units, chunk, out),
            (_, Scope::Sequence) => self.feed_sequences(chunk, out),
            _ => self.feed_lines(chunk, out),
        }
    }

    fn feed_sequences(&mut self, chunk: &[u8], out: &mut String) {
        let mut rest = chunk;
        while !self.line.is_empty() {
            let Some((&byte, after)) = rest.split_first() else { return };
            self.line.push(byte);
            rest = after;
            let unfinished = self.sequences_into(&self.line, out);
            self.line.drain(..self.line.len() - unfinished);
        }
        let unfinished = self.sequences_into(rest, out);
        self.line.extend_from_slice(&rest[rest.len() - unfinished..]);
    }

    /// Decodes UTF-8, and its ill-formed sequences by the named encoding. Returns the number of bytes at the end that may
    /// start a character.
    fn sequences_into(&self, bytes: &[u8], out: &mut String) -> usize {
        let mut rest = bytes;
        loop {
            let (text, end) = kernels::prefix(AtBoundary::START, rest);
            out.push_str(text);
            rest = &rest[text.len()..];
            if let TextEnd::Unfinished(_) = end {
                return rest.len();
            }
            let mut ill_formed = 0;
            while ill_formed < rest.len()
                && let Sequence::IllFormed { len, .. } = UTF_8.sequence(&rest[ill_formed..])
            {
                ill_formed += len;
            }
            named_into(&mut self.named(), &rest[..ill_formed], out);
            rest = &rest[ill_formed..];
        }
    }

    fn feed_lines(&mut self, chunk: &[u8], out: &mut String) {
        let mut rest = chunk;
        while !rest.is_empty() {
            // Bytes already known not to contain an LF.
            let mut searched = 0;
            if self.line.is_empty() && matches!(self.state, State::Undecided) {
                // Whole lines of UTF-8 and the ASCII characters after them are appended at once. Their text does not
                // depend on the limit.
                let (text, _) = kernels::prefix(AtBoundary::START, rest);
                let lines = kernels::last_position(text.as_bytes(), b'\n').map_or(0, |at| at + 1);
                let end = lines + ascii_prefix(&text.as_bytes()[lines..]);
                out.push_str(&text[..end]);
                searched = text.len() - end;
                rest = &rest[end..];
            }
            let len = kernels::first_position(&rest[searched..], b'\n').map(|at| searched + at);
            self.push(&rest[..len.unwrap_or(rest.len())], out);
            let Some(len) = len else { return };
            self.end_line(out);
            out.push('\n');
            rest = &rest[len + 1..];
        }
    }

    /// Decodes a whole frame as one line.
    fn feed_frame(&mut self, frame: &[u8], out: &mut String) {
        let content = frame.strip_suffix(b"\n").unwrap_or(frame);
        let (ascii, rest) = content.split_at(ascii_prefix(content));
        out.push_str(from_utf8(ascii).unwrap_or_default());
        self.push(rest, out);
        self.end_line(out);
        if content.len() < frame.len() {
            out.push('\n');
        }
    }

    /// Adds bytes to the current line.
    fn push(&mut self, bytes: &[u8], out: &mut String) {
        let mut rest = bytes;
        if let State::Undecided = self.state {
            let room = self.limit.saturating_sub(self.line.len());
            let (kept, after) = rest.split_at(rest.len().min(room));
            self.line.extend_from_slice(kept);
            rest = after;
            self.decide(out);
        }
        match &mut self.state {
            State::Undecided => {}
            State::Utf8(decoder) => utf_8_into(decoder, rest, out),
            State::Named(transcoder) | State::Utf16(transcoder) => named_into(transcoder, rest, out),
        }
    }

    /// Decides the encoding of the current line if no later byte can change it, or at the limit.
    fn decide(&mut self, out: &mut String) {
        let is_full = self.line.len() >= self.limit;
        let (text, end) = kernels::prefix(AtBoundary::START, &self.line[self.valid..]);
        self.valid += text.len();
        match end {
            // A CR after a cut character is a part of the line break if an LF follows.
            TextEnd::IllFormed([cut @ .., b'\r']) if !is_full && is_unfinished(cut) => {}
            TextEnd::IllFormed(_) => {
                let mut transcoder = self.named();
                named_into(&mut transcoder, &self.line, out);
                self.decided(State::Named(transcoder));
            }
            TextEnd::Unfinished(_) if is_full => self.decide_utf_8(out),
            TextEnd::Unfinished(_) => {}
        }
    }

    fn decide_utf_8(&mut self, out: &mut String) {
        let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
        utf_8_into(&mut decoder, &self.line, out);
        self.decided(State::Utf8(decoder));
    }

    fn decided(&mut self, state: State) {
        self.state = state;
        self.line.clear();
        self.valid = 0;
    }

    /// Appends the rest of the current line, which has ended.
    fn end_line(&mut self, out: &mut String) {
        match mem::replace(&mut self.state, State::Undecided) {
            State::Utf8(mut decoder) => {
                if let Some(piece) = decoder.finish() {
                    out.push_str(piece.text().unwrap_or_default());
                }
            }
            State::Named(mut transcoder) | State::Utf16(mut transcoder) => {
                end_named(&mut transcoder, out);
            }
            State::Undecided => {
                let (text, cut) = self.line.split_at(self.valid);
                if text.is_empty() {
                    // One cut character without another of several bytes may be in the named encoding: `caf\xE9`.
                    let mut transcoder = self.named();
                    named_into(&mut transcoder, cut, out);
                    end_named(&mut transcoder, out);
                } else {
                    out.push_str(from_utf8(text).unwrap_or_default());
                    if !cut.is_empty() {
                        out.push('\u{FFFD}');
                    }
                    if cut.ends_with(b"\r") {
                        out.push('\r');
                    }
                }
            }
        }
        self.line.clear();
        self.valid = 0;
    }

    const fn named(&self) -> Transcoder {
        replacing(self.encoding)
    }
}

const fn replacing(encoding: Encoding) -> Transcoder {
    Transcoder::new(encoding, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace)
}

fn named_into(transcoder: &mut Transcoder, bytes: &[u8], out: &mut String) {
    // No error is left by this policy.
    let result = transcoder.feed_into(bytes, out);
    debug_assert!(result.is_ok());
}

/// Appends an unfinished sequence. Most lines have none.
fn end_named(transcoder: &mut Transcoder, out: &mut String) {
    if !transcoder.pending().is_empty() {
        let result = transcoder.finish_into(out);
        debug_assert!(result.is_ok());
    }
}

fn utf_8_into(decoder: &mut TextDecoder, bytes: &[u8], out: &mut String) {
    for piece in decoder.feed(bytes) {
        out.push_str(piece.text().unwrap_or_default());
    }
}

fn ascii_prefix(bytes: &[u8]) -> usize {
    encoding_rs::Encoding::ascii_valid_up_to(bytes)
}

/// Whether these bytes start a character and do not complete it.
fn is_unfinished(bytes: &[u8]) -> bool {
    !bytes.is_empty() && matches!(UTF_8.sequence(bytes), Sequence::Unfinished)
}
