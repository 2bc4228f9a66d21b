//! Text between errors that are close to each other, as in a file in another encoding.
//!
//! Most of these errors are only counted. Where they are is computed for those that are shown, and once after each block.

use core::str::Utf8Chunk;

use utf8_codec::from_utf8;

use super::*;
use crate::guess::evidence::run_len;
use crate::guess::utf8_evidence::{ascii_len, count};

/// The bytes after the last location, of which only the lines are counted.
#[derive(Debug)]
struct Passed {
    /// Where they start.
    from: usize,
    /// Where the last line of the block starts.
    last_line: usize,
    /// The errors in the last line that start with a continuation byte, and those that start with a byte from `F0` on.
    continuations: u64,
    wide: u64,
}

impl Passed {
    /// Adds errors of which each starts with one of these bytes, the first one at the position `at`.
    fn add(&mut self, at: usize, first: &[u8]) {
        let skipped = self.last_line.saturating_sub(at).min(first.len());
        self.continuations += count(&first[skipped..], |byte| byte < 0xC0);
        self.wide += count(&first[skipped..], |byte| byte >= 0xF0);
    }

    /// Starts anew at a position, which has a location.
    fn restart(&mut self, at: usize) {
        (self.from, self.continuations, self.wide) = (at, 0, 0);
    }
}

impl Findings<'_> {
    /// Whether the text after an error may be passed to [`mixed`](Self::mixed).
    pub(in crate::check::scan) fn is_mixed(&self) -> bool {
        let is_logged = tracing::enabled!(tracing::Level::DEBUG);
        !self.needs_chunks() && !self.evidence.needs_text() && !self.is_decided() && !is_logged
    }

    /// Checks the bytes after an error, up to the end of a block. Returns their number: an ill-formed or incomplete
    /// sequence at the end is left.
    pub(in crate::check::scan) fn mixed(&mut self, bytes: &[u8], window: &Window) -> usize {
        if bytes.is_empty() {
            return 0;
        }
        let Location { offset, columns: Columns { characters: column, .. }, .. } = self.locator.location();
        let start = window.position(offset);
        let max = self.checks.max_errors.map_or(u64::MAX, |max| max.get() as u64);
        let mut to_show = max.saturating_sub(self.summary.number(ILL_FORMED));
        let has_rules = self.needs_lines();
        let last_line = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        let mut passed = Passed { from: 0, last_line, continuations: 0, wide: 0 };
        let mut at = 0;
        let mut counted = 0;
        let mut leads = 0;
        while let Some(chunk) = bytes[at..].utf8_chunks().next() {
            let text = chunk.valid();
            let ill_formed = chunk.invalid();
            let is_located = to_show > 0;
            let found = if has_rules { self.search(text) } else { Vec::new() };
            if !found.is_empty() {
                self.locate(&bytes[passed.from..at]);
                passed.restart(at);
                self.violations(found, text, window);
            }
            at += text.len();
            if is_located {
                self.locator.push(text);
                passed.restart(at);
            }
            if ill_formed.is_empty() || at + ill_formed.len() == bytes.len() {
                break;
            }
            let first = ill_formed[0];
            let len = ill_formed.len();
            self.evidence.error(window.bytes(), start + at, len);
            leads += u64::from(first >= 0xC0);
            self.summary.characters += 1;
            if to_show > 0 {
                to_show -= 1;
                // With the byte that ends it.
                if let Err(error) = from_utf8(&bytes[at..=at + len]) {
                    self.ill_formed(Utf8Error::new(offset + at as u64, error.kind, error.len), window);
                }
            } else {
                counted += 1;
            }
            if is_located {
                self.locator.push_ill_formed(len as u64);
                passed.restart(at + len);
            } else {
                passed.add(at, &ill_formed[..1]);
            }
            at += len;
            if to_show > 0 || has_rules {
                continue;
            }
            // Most of the other errors are one byte, after ASCII.
            loop {
                at += ascii_len(&bytes[at..]);
                let run = run_len(&bytes[at..]);
                if run == 0 {
                    break;
                }
                self.evidence.run(window.bytes(), start + at, run);
                let run = &bytes[at..at + run];
                leads += count(run, |byte| byte >= 0xC0);
                counted += run.len() as u64;
                self.summary.characters += run.len() as u64;
                passed.add(at, run);
                at += run.len();
            }
        }
        if counted > 0 {
            self.summary.count(ILL_FORMED, counted);
        }
        let taken = &bytes[..at];
        if self.checks.wants_counts {
            // An error is counted already. In well-formed text, all bytes but these start a character.
            self.summary.characters += count(taken, |byte| !matches!(byte, 0x80..=0xBF)) - leads;
            let longest = self.summary.longest_line;
            self.summary.longest_line = longest_line(taken, column, longest, |line| {
                let characters = |chunk: Utf8Chunk<'_>| {
                    characters(chunk.valid().as_bytes()) + u64::from(!chunk.invalid().is_empty())
                };
                line.utf8_chunks().map(characters).sum()
            });
        }
        self.evidence.characters(|| count(taken, |byte| byte >= 0xC0) - leads);
        self.pass(taken, &passed);
        self.not_decoded += at as u64;
        at
    }

    /// Moves to the end of text with errors, sequence by sequence.
    fn locate(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            self.locator.push(chunk.valid());
            self.locator.push_ill_formed(chunk.invalid().len() as u64);
        }
    }

    /// Moves to the end of a block.
    fn pass(&mut self, block: &[u8], passed: &Passed) {
        let mut here = self.locator.location();
        let bytes = &block[passed.from..];
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
        if lines > 0 {
            here.line += lines;
            here.columns = Columns::default();
        }
        here.offset += bytes.len() as u64;
        let last = &block[passed.from.max(passed.last_line).min(block.len())..];
        let characters = count(last, |byte| !(0x80..0xC0).contains(&byte)) + passed.continuations;
        here.columns.bytes += last.len() as u64;
        here.columns.characters += characters;
        here.columns.utf16 += characters + count(last, |byte| byte >= 0xF0) - passed.wide;
        self.locator = Locator::with_location(here);
    }
}
