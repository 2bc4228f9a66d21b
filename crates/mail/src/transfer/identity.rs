//! The encodings `7bit`, `8bit` and `binary`. Each byte is decoded as itself. They differ in the bytes and lines that
//! are allowed.

use memchr::{memchr, memrchr};

use super::encoding::TransferEncoding;
use super::error::{TransferErrorKind, WireError};
use super::lines::LineMeter;

/// The number of bytes that are checked at once. They are still in the cache when the text layer reads them.
const WINDOW: usize = 16 * 1024;
/// The number of bytes that are checked at once after an error. It is small, so that frequent errors cause little
/// repeated work.
const NARROW: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Identity {
    ascii: bool,
    /// Whether the encoding has lines and no NUL: `7bit` and `8bit`.
    text: bool,
    lines: LineMeter,
    /// The number of bytes that are checked next.
    window: usize,
}

impl Identity {
    pub(super) fn new(encoding: TransferEncoding) -> Self {
        let text = encoding != TransferEncoding::Binary;
        Self {
            ascii: encoding == TransferEncoding::SevenBit,
            text,
            lines: if text { LineMeter::plain() } else { LineMeter::unbounded() },
            window: WINDOW,
        }
    }

    pub(super) fn set_max_line(&mut self, max: usize) {
        self.lines.set_max(max);
    }

    /// Returns the number of bytes of `rest` that were read, and an error in the last of them or in the byte after
    /// them. `rest` has the offset `at`.
    pub(super) fn decode(&mut self, rest: &[u8], at: u64) -> (usize, Option<WireError>) {
        if !self.text {
            return (rest.len(), None);
        }
        let (taken, error) = self.check(rest, at);
        self.window = if error.is_some() { NARROW } else { WINDOW.min(self.window * 2) };
        (taken, error)
    }

    fn check(&mut self, rest: &[u8], at: u64) -> (usize, Option<WireError>) {
        let mut window = &rest[..rest.len().min(self.window)];
        let mut found = None;
        if self.ascii && !window.is_ascii() {
            let good = window.iter().take_while(|byte| byte.is_ascii()).count();
            found = Some(TransferErrorKind::EightBit);
            window = &window[..good];
        }
        if let Some(good) = memchr(0, window) {
            found = Some(TransferErrorKind::Nul);
            window = &window[..good];
        }
        if let Err((good, kind)) = self.measure(window) {
            return (good, Some(WireError { offset: at + good as u64, kind, len: 1 }));
        }
        let good = window.len();
        let Some(kind) = found else {
            return (good, None);
        };
        // The byte is counted in its line, which it may make too long.
        let offset = at + good as u64;
        if let Some(kind) = self.lines.check(rest[good]) {
            return (good, Some(WireError { offset, kind, len: 1 }));
        }
        self.lines.take(1);
        (good + 1, Some(WireError { offset, kind, len: 1 }))
    }

    pub(super) fn finish(&mut self) {
        self.lines.line_break();
    }

    /// Counts the bytes of the lines. Returns the position of the first byte that exceeds a limit as an error.
    ///
    /// Most line breaks are not searched for: if one of them is among the next bytes that fit in a line, the lines up to
    /// the last of these line breaks fit too.
    fn measure(&mut self, window: &[u8]) -> Result<(), (usize, TransferErrorKind)> {
        let mut at = 0;
        while at < window.len() {
            let rest = &window[at..];
            let fits = rest.len().min(self.lines.room_of_lines());
            // The line break may be the byte after the last one that fits.
            if let Some(last) = memrchr(b'\n', &rest[..rest.len().min(fits + 1)]) {
                self.lines.line_break();
                at += last + 1;
                continue;
            }
            self.lines.take(fits);
            at += fits;
            if fits == rest.len() {
                break;
            }
            if let Some(kind) = self.lines.check(window[at]) {
                return Err((at, kind));
            }
            self.lines.take(1);
            at += 1;
        }
        Ok(())
    }
}
