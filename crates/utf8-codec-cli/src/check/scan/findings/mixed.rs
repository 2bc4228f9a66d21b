//! Text between errors that are close to each other, as in a file in another encoding.
//!
//! Most of these errors are only counted, many at a time. Where they are is computed for those that are shown, and once after
//! each block.

use utf8_codec::from_utf8;

use super::*;
use crate::guess::ill_formed::{self, STEP, complete_len, steps};
use crate::guess::utf8_evidence::count;

impl Findings<'_> {
    /// Whether the text after an error may be passed to [`mixed`](Self::mixed).
    pub(in crate::check::scan) fn is_mixed(&self) -> bool {
        let is_logged = tracing::enabled!(tracing::Level::DEBUG);
        !self.needs_chunks() && !self.evidence.needs_text() && !self.is_decided() && !is_logged
    }

    /// Checks the bytes after an error, up to the end of a block. Returns their number: a sequence at the end that may be
    /// incomplete is left.
    pub(in crate::check::scan) fn mixed(&mut self, bytes: &[u8], window: &Window) -> usize {
        let len = complete_len(bytes);
        let start = self.locator.clone();
        self.show_all(bytes, len, window);
        self.locator = start;
        let bytes = &bytes[..len];
        self.count_all(bytes, window);
        self.not_decoded += bytes.len() as u64;
        bytes.len()
    }

    /// Reports the errors up to the limit and what violates rules, sequence by sequence. They are not counted. `len` is the
    /// number of bytes without an incomplete sequence at the end.
    fn show_all(&mut self, bytes: &[u8], len: usize, window: &Window) {
        let start = self.locator.location().offset;
        let max = self.checks.max_errors.map_or(u64::MAX, |max| max.get() as u64);
        let mut to_show = max.saturating_sub(self.summary.number(ILL_FORMED));
        let mut texts = bytes[..len].utf8_chunks().map(|chunk| chunk.valid()).filter(|text| !text.is_empty());
        let has_found = self.needs_lines() && texts.any(|text| !self.search(text).is_empty());
        let mut at = 0;
        for chunk in bytes[..len].utf8_chunks() {
            if to_show == 0 && !has_found {
                break;
            }
            let text = chunk.valid();
            let ill_formed = chunk.invalid();
            if has_found {
                let found = self.search(text);
                self.violations(found, text, window);
            }
            self.locator.push(text);
            at += text.len();
            // With the byte that ends it.
            let end = bytes.len().min(at + ill_formed.len() + 1);
            if to_show > 0
                && !ill_formed.is_empty()
                && let Err(error) = from_utf8(&bytes[at..end])
            {
                to_show -= 1;
                self.show_ill_formed(error.with_offset(start + at as u64), window);
            }
            self.locator.push_ill_formed(ill_formed.len() as u64);
            at += ill_formed.len();
        }
    }

    /// Counts the errors, the lines and the characters.
    fn count_all(&mut self, bytes: &[u8], window: &Window) {
        let mut here = self.locator.location();
        let start = window.position(here.offset);
        let last_line = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
        let mut errors = 0;
        let mut inside = 0;
        let mut inside_last = 0;
        let mut wide_last = 0;
        steps(bytes, |at, step| {
            self.evidence.step(window.bytes(), start + at, step);
            errors += u64::from(step.errors.count_ones());
            if self.checks.wants_counts {
                inside += u64::from(step.inside.count_ones());
            }
            if at + STEP > last_line {
                let is_last = u64::MAX << last_line.saturating_sub(at);
                inside_last += u64::from((step.inside & is_last).count_ones());
                wide_last += u64::from((step.wide & is_last).count_ones());
            }
        });
        if errors > 0 {
            self.summary.count(ILL_FORMED, errors);
        }
        if self.checks.wants_counts {
            self.summary.characters += bytes.len() as u64 - inside;
            let column = here.columns.characters;
            let longest = self.summary.longest_line;
            self.summary.longest_line = longest_line(bytes, column, longest, ill_formed::characters);
        }
        if last_line > 0 {
            here.line += count(bytes, |byte| byte == b'\n');
            here.columns = Columns::default();
        }
        let rest = (bytes.len() - last_line) as u64;
        here.offset += bytes.len() as u64;
        here.columns.bytes += rest;
        here.columns.characters += rest - inside_last;
        here.columns.utf16 += rest - inside_last + wide_last;
        self.locator = Locator::with_location(here);
    }
}
