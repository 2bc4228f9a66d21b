//! `7bit`, `8bit`, `binary`: bytes that stand for themselves, under rules that differ.

use memchr::memchr;

use super::lines::LineMeter;
use super::{Fault, TransferEncoding, TransferErrorKind};

/// How much is looked at before it is lent: what was read for the rules is still near when the text is judged.
const WINDOW: usize = 16 * 1024;
/// How much is looked at after a fault: where one follows the other, little is looked at twice.
const NARROW: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Identity {
    ascii: bool,
    /// `7bit` and `8bit` have lines and no NUL.
    text: bool,
    lines: LineMeter,
    /// How much is looked at next.
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

    /// How many bytes of `rest`, which stands at `at`, are taken, and the fault after them.
    pub(super) fn decode(&mut self, rest: &[u8], at: u64) -> (usize, Option<Fault>) {
        if !self.text {
            return (rest.len(), None);
        }
        let (taken, fault) = self.look(rest, at);
        self.window = if fault.is_some() { NARROW } else { WINDOW.min(self.window * 2) };
        (taken, fault)
    }

    fn look(&mut self, rest: &[u8], at: u64) -> (usize, Option<Fault>) {
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
            return (good, Some(Fault { offset: at + good as u64, kind, len: 1 }));
        }
        let good = window.len();
        let Some(kind) = found else {
            return (good, None);
        };
        // The byte itself is text of a line, too: it may be the one too many.
        let offset = at + good as u64;
        if let Some(kind) = self.lines.check(rest[good]) {
            return (good, Some(Fault { offset, kind, len: 1 }));
        }
        self.lines.take(1);
        (good + 1, Some(Fault { offset, kind, len: 1 }))
    }

    pub(super) fn finish(&mut self) {
        self.lines.line_break();
    }

    /// Measures the lines, up to the byte that is one too many.
    fn measure(&mut self, window: &[u8]) -> Result<(), (usize, TransferErrorKind)> {
        let mut at = 0;
        while at < window.len() {
            let rest = &window[at..];
            let line = memchr(b'\n', rest).unwrap_or(rest.len());
            let fits = line.min(self.lines.room());
            self.lines.take(fits);
            at += fits;
            if fits == line {
                if line < rest.len() {
                    self.lines.line_break();
                    at += 1;
                }
                continue;
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
