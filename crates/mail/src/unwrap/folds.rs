//! Folded lines.

use kernels::Positions;

/// Removes the folds of lines: a line break followed by a space or a TAB (RFC 5545 §3.1, RFC 6350 §3.2).
///
/// The standards allow a fold inside a character. A line break is CRLF, or LF alone, which many programs write. Other line
/// breaks remain.
///
/// ```
/// use utf8_codec_mail::unwrap::Unfolder;
///
/// let (mut unfolder, mut text) = (Unfolder::new(), Vec::new());
/// let mut offsets = Vec::new();
/// unfolder.feed_with(b"NOTE:long\r\n er\r\nEND", |offset, bytes| {
///     offsets.push(offset);
///     text.extend_from_slice(bytes);
/// });
/// assert_eq!((text.as_slice(), offsets), (&b"NOTE:longer\r\nEND"[..], vec![0, 12]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfolder {
    /// The number of bytes fed.
    offset: u64,
    held: Held,
}

/// A line break, or the start of one, that a fold may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    #[default]
    Nothing,
    Cr,
    Lf,
    CrLf,
}

impl Held {
    const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Nothing => b"",
            Self::Cr => b"\r",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

impl Unfolder {
    /// Creates an unfolder at the start of a stream.
    pub const fn new() -> Self {
        Self { offset: 0, held: Held::Nothing }
    }

    /// Removes the folds of the next chunk. Calls `f` with each remaining part of it, never empty, and its offset in the
    /// stream. A line break at the end of the chunk is held until the next call.
    pub fn feed_with(&mut self, chunk: &[u8], mut f: impl FnMut(u64, &[u8])) {
        let offset = self.offset;
        // The start of the text that was not passed on.
        let mut start = match (self.held, chunk) {
            (_, []) => return,
            (Held::Lf | Held::CrLf, [b' ' | b'\t', ..]) => 1,
            // The LF is the first of the line breaks below.
            (Held::Cr, [b'\n', b' ' | b'\t', ..] | [b'\n']) => 0,
            _ => {
                self.finish_with(&mut f);
                0
            }
        };
        let before = core::mem::take(&mut self.held);
        let mut positions = Positions::START;
        while let Some(lf) = positions.next(chunk, b'\n') {
            let next = chunk.get(lf + 1);
            if matches!(next, None | Some(b' ' | b'\t')) {
                let text = &chunk[start..lf];
                let without_cr = text.strip_suffix(b"\r");
                let text = without_cr.unwrap_or(text);
                if !text.is_empty() {
                    f(offset.wrapping_add(start as u64), text);
                }
                start = chunk.len().min(lf + 2);
                if next.is_none() {
                    let has_cr = without_cr.is_some() || (lf == 0 && before == Held::Cr);
                    self.held = if has_cr { Held::CrLf } else { Held::Lf };
                }
            }
        }
        let mut text = &chunk[start..];
        if let Some(without_cr) = text.strip_suffix(b"\r") {
            text = without_cr;
            self.held = Held::Cr;
        }
        if !text.is_empty() {
            f(offset.wrapping_add(start as u64), text);
        }
        self.offset = offset.wrapping_add(chunk.len() as u64);
    }

    /// Ends the stream. Calls `f` with the line break that is held, if there is one. The unfolder can then be used for
    /// another stream; its offset continues.
    pub fn finish_with(&mut self, mut f: impl FnMut(u64, &[u8])) {
        let held = core::mem::take(&mut self.held).bytes();
        if !held.is_empty() {
            f(self.offset.wrapping_sub(held.len() as u64), held);
        }
    }

    /// Returns the offset in the stream: the number of bytes fed.
    pub const fn offset(&self) -> u64 {
        self.offset
    }
}
