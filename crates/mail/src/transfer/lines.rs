//! The length of the lines of an encoded body.

use super::error::TransferErrorKind;

/// The maximum length of a line in a message, without its line break (RFC 5322 §2.1.1, RFC 2045 §2.7).
const MAX: usize = 998;
/// The maximum length of a line that an encoder may write (RFC 2045 §6.7, §6.8).
const MAX_ENCODED: usize = 76;

/// Counts the bytes of a line, and reports each limit that it exceeds once.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineMeter {
    len: usize,
    /// The next limit that the line may exceed.
    bound: usize,
    /// The first limit of each line.
    first: usize,
    /// The limit above which a line is an error. Above a smaller limit there is a warning.
    max: usize,
}

impl LineMeter {
    /// Creates a meter for `7bit` and `8bit`.
    pub(super) const fn plain() -> Self {
        Self { len: 0, bound: MAX, first: MAX, max: MAX }
    }

    /// Creates a meter for `quoted-printable`. A line break that a transport inserts into a long line becomes text, so
    /// a line above [`MAX`] is an error.
    pub(super) const fn encoded() -> Self {
        Self { bound: MAX_ENCODED, first: MAX_ENCODED, ..Self::plain() }
    }

    /// Creates a meter for `base64`. A line break that a transport inserts into a long line has no effect, so a long
    /// line is only a warning.
    pub(super) const fn any_break() -> Self {
        Self { max: usize::MAX, ..Self::encoded() }
    }

    /// Creates a meter for `binary`, which has no lines.
    pub(super) const fn unbounded() -> Self {
        Self { bound: usize::MAX, first: usize::MAX, max: usize::MAX, ..Self::plain() }
    }

    /// Sets the limit above which a line is an error, if the encoding has one.
    pub(super) fn set_max(&mut self, max: usize) {
        if self.max != usize::MAX {
            self.first = if self.first == self.max { max } else { self.first.min(max) };
            self.bound = self.first;
            self.max = max;
        }
    }

    /// Returns the number of bytes of the line so far.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) const fn is_at_start(&self) -> bool {
        self.len == 0
    }

    /// Whether the line exceeds its next limit by a CR that no LF has followed.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        self.len > self.bound
    }

    /// Returns the number of bytes that can be read without a call of [`check`](Self::check), if none of them is a line
    /// break.
    #[inline]
    pub(super) const fn room(&self) -> usize {
        self.bound.saturating_sub(self.len)
    }

    /// Returns the number of bytes that can be read without a call of [`check`](Self::check), if the line breaks among
    /// them are counted only after them.
    #[inline]
    pub(super) const fn room_of_lines(&self) -> usize {
        let room = self.room();
        let first = self.first;
        if room < first { room } else { first }
    }

    /// Returns an error if this byte exceeds a limit. The CR of a line break may follow the last byte that is allowed.
    #[inline]
    pub(super) fn check(&mut self, byte: u8) -> Option<TransferErrorKind> {
        if self.len < self.bound || byte == b'\n' || (byte == b'\r' && self.len == self.bound) {
            return None;
        }
        if self.bound < self.max {
            self.bound = self.max;
            Some(TransferErrorKind::LongLine)
        } else {
            self.bound = usize::MAX;
            Some(TransferErrorKind::LineTooLong)
        }
    }

    #[inline]
    pub(super) const fn take(&mut self, bytes: usize) {
        self.len = self.len.saturating_add(bytes);
    }

    #[inline]
    pub(super) const fn line_break(&mut self) {
        self.len = 0;
        self.bound = self.first;
    }
}
