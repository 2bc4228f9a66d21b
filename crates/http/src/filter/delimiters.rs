//! `--boundary` where RFC 2046 §5.1.1 has no delimiter, but some readers find one.

use memchr::memmem::Finder;

/// Searches for `--boundary` in bytes that come in pieces. The work is linear (Knuth, Morris and Pratt).
#[derive(Debug)]
pub(super) struct DashedSearch {
    finder: Finder<'static>,
    /// For each prefix, the length of its longest border: a shorter prefix that is also its suffix.
    borders: Box<[usize]>,
}

impl DashedSearch {
    /// `dashed` is `--boundary`.
    pub(super) fn new(dashed: &[u8]) -> Self {
        let finder = Finder::new(dashed).into_owned();
        let mut this = Self { finder, borders: vec![0; dashed.len()].into() };
        let mut border = 0;
        for (at, &byte) in dashed.iter().enumerate().skip(1) {
            border = this.step(border, byte);
            this.borders[at] = border;
        }
        this
    }

    pub(super) fn dashed(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Returns the position of the first `--boundary` in the bytes.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<usize> {
        self.finder.find(bytes)
    }

    /// Reads the next bytes, which have no whole `--boundary`. Before the call, `matched` is the number of bytes of a
    /// `--boundary` at the end of the earlier bytes; after the call, at the end of these. Returns the position of the
    /// byte that completes one.
    pub(super) fn find_across(&self, matched: &mut usize, bytes: &[u8]) -> Option<usize> {
        let longest = self.dashed().len() - 1;
        if *matched > 0 {
            for (at, &byte) in bytes.iter().take(longest).enumerate() {
                *matched = self.step(*matched, byte);
                if *matched > longest {
                    *matched = 0;
                    return Some(at);
                }
            }
            if bytes.len() <= longest {
                return None;
            }
        }
        let end = &bytes[bytes.len().saturating_sub(longest)..];
        let start = memchr::memchr(b'-', end).unwrap_or(end.len());
        *matched = end[start..].iter().fold(0, |matched, &byte| self.step(matched, byte));
        None
    }

    /// Returns the number of matched bytes after the next byte. `matched` is less than the length of `--boundary`.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        loop {
            if self.dashed().get(matched) == Some(&byte) {
                return matched + 1;
            }
            let Some(last) = matched.checked_sub(1) else { return 0 };
            matched = self.borders[last];
        }
    }
}

/// `--boundary` that is in the output of a text but not in the input: repairs have completed or uncovered it. The
/// sender chooses the boundary, so a replacement may be a part of it.
#[derive(Debug, Default)]
pub(super) struct MadeDelimiter {
    /// The number of bytes of `--boundary` at the end of the output.
    pub(super) matched: usize,
    /// The offset of the last repair.
    pub(super) repair: u64,
}

/// Searches for header fields in the bytes before the first delimiter or after the last one. By RFC 2046 §5.1.1 these
/// bytes are ignored, but Django reads them as a part: fields up to the first empty line, then content.
#[derive(Debug)]
pub(super) struct FieldsSearch {
    /// The number of bytes of CRLF CRLF at the end of what was read. 4 if the search has ended.
    matched: usize,
    has_colon: bool,
}

impl FieldsSearch {
    /// `is_after_break` is whether CRLF precedes the first byte.
    pub(super) const fn new(is_after_break: bool) -> Self {
        Self { matched: if is_after_break { 2 } else { 0 }, has_colon: false }
    }

    /// Reads the next bytes. Returns the position of the last byte of an empty line after fields.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.matched == 4 {
                return None;
            }
            self.has_colon |= byte == b':';
            self.matched = match (byte, self.matched) {
                (b'\r', 2) | (b'\n', 1 | 3) => self.matched + 1,
                (b'\r', _) => 1,
                _ => 0,
            };
            if self.matched == 4 && self.has_colon {
                return Some(at);
            }
        }
        None
    }
}

/// Returns the length of the common prefix of two slices.
pub(super) fn common_prefix(one: &[u8], two: &[u8]) -> usize {
    one.iter().zip(two).take_while(|(a, b)| a == b).count()
}
