//! Delimiters that are not those of the input: made by a repair, or found only by some readers.

use memchr::{memmem, memrchr, memrchr2};

/// A delimiter in the output of a text that is not one in the input: repairs have completed or uncovered it, or a BOM
/// before it was removed. The sender chooses the boundary, so a replacement may be a part of it.
#[derive(Debug)]
pub(super) struct MadeDelimiter {
    /// The number of bytes of a delimiter at the end of the output.
    matched: usize,
    /// The offset of the last repair.
    pub(super) repair: u64,
}

impl MadeDelimiter {
    /// At the start of a text, after a line break.
    pub(super) const START: Self = Self { matched: 2, repair: 0 };

    /// Reads the next text of the output. Returns the position of its byte that completes a delimiter.
    pub(super) fn find(&mut self, delimiter: &[u8], text: &[u8]) -> Option<usize> {
        let more = common_prefix(&delimiter[self.matched..], text);
        if self.matched + more == delimiter.len() {
            return more.checked_sub(1);
        }
        if more == text.len() {
            self.matched += more;
            return None;
        }
        // A delimiter has a CR only at its start. None is complete in the text, as it would be one in the input.
        let end = &text[text.len().saturating_sub(delimiter.len() - 1)..];
        let start = memrchr(b'\r', end).map(|at| &end[at..]);
        self.matched = start.filter(|start| delimiter.starts_with(start)).map_or(0, <[u8]>::len);
        None
    }
}

/// A delimiter after a bare CR or LF in a content. By RFC 2046 §5.1.1 it is content, but Werkzeug and PHP find a
/// delimiter there.
#[derive(Debug, Default)]
pub(super) struct BareDelimiter {
    /// The number of bytes of a bare line break and `--boundary` at the end of what was read.
    matched: usize,
}

impl BareDelimiter {
    /// Reads the next bytes of a content, which has no delimiter after CRLF. `dashed` is `--boundary`. Returns the
    /// position of the byte that completes a delimiter.
    pub(super) fn find(&mut self, dashed: &[u8], bytes: &[u8]) -> Option<usize> {
        if let Some(matched) = self.matched.checked_sub(1) {
            let rest = &dashed[matched..];
            let more = common_prefix(rest, bytes);
            if more == rest.len() {
                return more.checked_sub(1);
            }
            if more == bytes.len() {
                self.matched += more;
                return None;
            }
        }
        let is_after_break = |at: &usize| *at > 0 && matches!(bytes[at - 1], b'\r' | b'\n');
        if let Some(at) = memmem::find_iter(bytes, dashed).find(is_after_break) {
            return Some(at + dashed.len() - 1);
        }
        let end = &bytes[bytes.len().saturating_sub(dashed.len())..];
        let start = memrchr2(b'\r', b'\n', end).map(|at| &end[at..]);
        self.matched = start.filter(|start| dashed.starts_with(&start[1..])).map_or(0, <[u8]>::len);
        None
    }
}

/// Returns the length of the common prefix of two slices.
pub(super) fn common_prefix(one: &[u8], two: &[u8]) -> usize {
    one.iter().zip(two).take_while(|(a, b)| a == b).count()
}
