//! The number of terminators in a chunk, and the last one.

use kernels::count;

use crate::line_ending::LineEnding;

/// The block size of the search for the last terminator. Terminators are counted in each block, and only the block that
/// contains the last one is searched by groups.
const BLOCK: usize = 1024;

/// The group size of the search for the last terminator. The bytes of a group are tested together.
const GROUP: usize = 32;

impl LineEnding {
    /// Returns the number of lines that end in a chunk, and the position at which the last line starts. If no line
    /// ends, this is 0, or 1 if the chunk starts with an LF whose CR was already counted.
    #[inline]
    pub(super) fn count_lines(self, after_cr: bool, bytes: &[u8]) -> (usize, usize) {
        let ends = self.count_ends(after_cr, bytes);
        (ends, self.start_of_rest(after_cr, bytes, ends))
    }

    /// Same as [`count_lines`](Self::count_lines), but only for the ASCII at the start of the bytes. Returns the length
    /// of the ASCII, the number of lines that end in it, and the position at which the last line starts.
    #[inline]
    pub(super) fn count_ascii(self, after_cr: bool, bytes: &[u8]) -> (usize, usize, usize) {
        let (len, found) = count::ascii(bytes, self.last_byte());
        let text = &bytes[..len];
        let ends = match self {
            Self::LfOrCrLf | Self::Lf | Self::Ascii(_) => found,
            Self::CrLf | Self::Any => self.count_ends(after_cr, text),
        };
        (len, ends, self.start_of_rest(after_cr, text, ends))
    }

    /// Returns the position at which the last line starts. The chunk contains `ends` terminators.
    #[inline]
    fn start_of_rest(self, after_cr: bool, bytes: &[u8], ends: usize) -> usize {
        match ends {
            // This skips an LF whose CR was already counted as the terminator.
            0 => usize::from(self == Self::Any && after_cr && bytes.first() == Some(&b'\n')),
            _ => self.last_end(after_cr, bytes),
        }
    }

    #[inline]
    fn count_ends(self, after_cr: bool, bytes: &[u8]) -> usize {
        let seam = usize::from(after_cr && bytes.first() == Some(&b'\n'));
        match self {
            Self::LfOrCrLf | Self::Lf | Self::Ascii(_) => count::byte(bytes, self.last_byte()),
            Self::CrLf => seam + count::pair(bytes, b'\r', b'\n'),
            Self::Any => {
                let pairs = seam + count::pair(bytes, b'\r', b'\n');
                count::byte(bytes, b'\n') + count::byte(bytes, b'\r') - pairs
            }
        }
    }

    /// Returns the position after the last terminator. The chunk must contain one.
    #[inline]
    fn last_end(self, after_cr: bool, bytes: &[u8]) -> usize {
        let last = self.last_byte();
        // Under `Any`, CR also ends a line.
        let other = if self == Self::Any { b'\r' } else { last };
        let is_end = |at: usize| match self {
            Self::LfOrCrLf | Self::Lf | Self::Ascii(_) => bytes[at] == last,
            Self::CrLf => bytes[at] == last && if at == 0 { after_cr } else { bytes[at - 1] == b'\r' },
            Self::Any => matches!(bytes[at], b'\n' | b'\r'),
        };
        let mut end = bytes.len();
        while end > 0 {
            let start = end.saturating_sub(BLOCK);
            let block = &bytes[start..end];
            let may_hold = count::byte(block, last) > 0 || (other != last && count::byte(block, other) > 0);
            if may_hold {
                let mut groups = block.rchunks_exact(GROUP);
                for group in &mut groups {
                    // There is no branch for each byte, so that the loop is vectorized.
                    let may_hold =
                        group.iter().fold(false, |any, &byte| any | (byte == last) | (byte == other));
                    if may_hold {
                        if let Some(at) = (end - GROUP..end).rev().find(|&at| is_end(at)) {
                            return at + 1;
                        }
                    }
                    end -= GROUP;
                }
                if let Some(at) = (start..end).rev().find(|&at| is_end(at)) {
                    return at + 1;
                }
            }
            end = start;
        }
        0
    }
}
