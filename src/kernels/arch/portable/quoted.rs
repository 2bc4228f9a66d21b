//! Splits quoted-printable into segments. The kernels supply a bit for each byte of a window; the rest is the same for
//! all of them.

use crate::kernels::functions::Segment;

/// The number of bytes of a window in which a unit of a segment may start. A unit is an escape, a soft break, a line
/// break or a byte that is encoded as itself; it has at most 3 bytes, so it ends in the window.
const STARTS: u32 = 62;

/// Classes of the bytes of a window of 64 bytes. The lowest bit is for the first byte.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Window {
    /// `=`
    pub(in crate::kernels) signs: u64,
    pub(in crate::kernels) digits: u64,
    pub(in crate::kernels) crs: u64,
    pub(in crate::kernels) lfs: u64,
    /// Space and tab.
    pub(in crate::kernels) blanks: u64,
    /// Bytes that cannot occur in quoted-printable: control characters other than tab, CR and LF, and bytes that are
    /// not ASCII.
    pub(in crate::kernels) stops: u64,
}

impl Window {
    /// Returns the segment at the start of the window, and a bit for the `=` of each of its escapes.
    ///
    /// Returns `None` if the bytes must be read one by one: there is an error, white space at the end of a line, or
    /// white space from the end of the segment to the end of the window.
    #[inline(always)]
    pub(in crate::kernels) const fn segment(self) -> Option<(Segment, u64)> {
        let starts = u64::MAX >> (64 - STARTS);
        let Self { signs, digits, crs, lfs, blanks, stops } = self;
        let pairs = crs & lfs >> 1;
        let breaks = crs | lfs;
        let escapes = signs & digits >> 1 & digits >> 2;
        let long_soft = signs & pairs >> 1;
        let soft = signs & lfs >> 1 | long_soft;

        let trailing = blanks & breaks >> 1;
        // The segment ends with white space, and the bytes after it do not show whether the line ends.
        let undecided = blanks & blanks >> 1 & (blanks | breaks) >> 2 & 1 << (STARTS - 1);
        let others = signs & !(escapes | soft) | crs & !pairs | trailing | stops;
        if others & starts | undecided != 0 {
            return None;
        }

        let (escapes, soft, long_soft) = (escapes & starts, soft & starts, long_soft & starts);
        let third = (escapes | long_soft) << 2;
        let not_first = (escapes | soft | pairs & starts) << 1 | third;
        let len = STARTS + (not_first >> STARTS).count_ones();
        let whole = u64::MAX >> (64 - len);
        let feeds = lfs & whole;
        let segment = Segment {
            kept: whole & !(soft | (escapes | soft) << 1 | third),
            ends: feeds & !(crs << 1) | feeds >> 1 & crs,
            feeds,
            len: len as u8,
        };
        Some((segment, escapes))
    }
}
