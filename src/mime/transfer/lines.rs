//! How long the lines of an encoded body are.

use super::TransferErrorKind;

/// The longest line of a message, without its line break (RFC 5322 §2.1.1, RFC 2045 §2.7).
const MAX: usize = 998;
/// The longest line that an encoder may write (RFC 2045 §6.7, §6.8).
const MAX_ENCODED: usize = 76;

/// Counts the octets of a line, and tells each bound that it passes once.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineMeter {
    len: usize,
    /// The bound that was not passed yet.
    bound: usize,
    first_bound: usize,
}

impl LineMeter {
    /// For `7bit` and `8bit`.
    pub(super) const fn plain() -> Self {
        Self::bounded(MAX)
    }

    /// For `quoted-printable` and `base64`.
    pub(super) const fn encoded() -> Self {
        Self::bounded(MAX_ENCODED)
    }

    /// For `binary`, which has no lines.
    pub(super) const fn unbounded() -> Self {
        Self::bounded(usize::MAX)
    }

    const fn bounded(bound: usize) -> Self {
        Self { len: 0, bound, first_bound: bound }
    }

    /// How many octets, none of them a line break, can be taken without [`check`](Self::check).
    #[inline]
    pub(super) const fn room(&self) -> usize {
        self.bound.saturating_sub(self.len)
    }

    /// Whether this octet is the one too many. The CR of a line break may stand behind the bound.
    #[inline]
    pub(super) fn check(&mut self, octet: u8) -> Option<TransferErrorKind> {
        if self.len < self.bound || octet == b'\n' || (octet == b'\r' && self.len == self.bound) {
            return None;
        }
        if self.bound == MAX_ENCODED {
            self.bound = MAX;
            Some(TransferErrorKind::LongLine)
        } else {
            self.bound = usize::MAX;
            Some(TransferErrorKind::LineTooLong)
        }
    }

    #[inline]
    pub(super) const fn take(&mut self, octets: usize) {
        self.len = self.len.saturating_add(octets);
    }

    #[inline]
    pub(super) const fn line_break(&mut self) {
        self.len = 0;
        self.bound = self.first_bound;
    }
}
