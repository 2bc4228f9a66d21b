//! The policies of a decoder and their state.

use core::num::NonZeroU64;

use kernels::ShortStr;

use super::counters::Counters;
use super::on_error::{BomPolicy, ErrorPolicy};
use crate::error::{ErrorKind, Utf8Error};
use crate::subset::Subset;

/// The policies of a decoder, whether the BOM policy was applied, and the error counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    pub on_error: ErrorPolicy,
    pub bom: BomPolicy,
    pub subset: Option<&'static Subset>,
    counters: Counters,
    start: Start,
    /// The offset of the second byte of the last surrogate, under a policy that replaces it as one sequence.
    in_surrogate: Option<NonZeroU64>,
}

/// Whether the first character of the stream was decoded. The offset does not show this, because offsets wrap to 0 at
/// 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Start {
    #[default]
    Ahead,
    /// No character was decoded, but the empty stream has ended once, and the missing BOM was reported.
    Missed,
    Passed,
}

/// The result of the BOM policy for the first character of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The character is text.
    Text,
    /// The character is a BOM, which is removed.
    Strip,
    /// The character is a BOM, which is an error.
    UnexpectedBom,
    /// The character is not a BOM, but a BOM is required. The error is reported before the character.
    MissingBom,
}

impl Policies {
    pub const fn new() -> Self {
        Self {
            on_error: ErrorPolicy::Strict,
            bom: BomPolicy::Keep,
            subset: None,
            counters: Counters::ZERO,
            start: Start::Ahead,
            in_surrogate: None,
        }
    }

    /// Returns the same policies for another stream. `at_start` is whether that stream is decoded from its start. If
    /// not, the BOM policy does not apply to it.
    pub const fn restarted(self, at_start: bool) -> Self {
        let start = if at_start { Start::Ahead } else { Start::Passed };
        Self { counters: Counters::ZERO, start, in_surrogate: None, ..self }
    }

    /// Starts another text. The counters continue. Without a BOM policy the first character is like any other.
    pub const fn restart(&mut self) {
        self.start = if matches!(self.bom, BomPolicy::Keep) { Start::Passed } else { Start::Ahead };
        self.in_surrogate = None;
    }

    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether the BOM policy is still to be applied: [`first`](Self::first), [`repair`](Self::repair) and
    /// [`pass_start`](Self::pass_start) have not been called for the stream.
    #[inline]
    pub const fn is_at_start(&self) -> bool {
        !matches!(self.start, Start::Passed)
    }

    /// Marks the start as passed without applying the BOM policy.
    #[inline]
    pub const fn pass_start(&mut self) {
        self.start = Start::Passed;
    }

    /// Applies the BOM policy to the first character. If the result is an error, the caller reports it with
    /// [`reject`](Self::reject).
    pub const fn first(&mut self, is_bom: bool) -> First {
        let start = self.start;
        self.pass_start();
        match (self.bom, is_bom) {
            (BomPolicy::Strip | BomPolicy::Require, true) => First::Strip,
            (BomPolicy::Reject, true) => First::UnexpectedBom,
            (BomPolicy::Require, false) if matches!(start, Start::Ahead) => First::MissingBom,
            _ => First::Text,
        }
    }

    /// Applies the error policy to a sequence. Returns the text that replaces its bytes, or the error. If a BOM is
    /// required and the stream starts with an ill-formed sequence, the error is the missing BOM.
    #[inline]
    pub fn repair(&mut self, error: Utf8Error, bytes: &[u8]) -> Result<ShortStr, Utf8Error> {
        if self.is_at_start() && matches!(self.first(false), First::MissingBom) {
            return Err(self.reject(Utf8Error::new(error.offset, ErrorKind::MissingBom, error.len)));
        }
        self.count(error);
        self.replace(error, bytes).ok_or(error)
    }

    /// Returns the text that replaces the bytes of an error, or `None` under [`ErrorPolicy::Strict`].
    #[inline]
    pub fn replace(&mut self, error: Utf8Error, bytes: &[u8]) -> Option<ShortStr> {
        if self.on_error == ErrorPolicy::ReplaceAsJava && self.continues_surrogate(error) {
            return Some(ShortStr::EMPTY);
        }
        if let Some(character) = self.on_error.replacement() {
            return Some(character.into());
        }
        (self.on_error != ErrorPolicy::Strict).then(|| self.on_error.byte_by_byte(bytes))
    }

    /// Calls `push` with each character that replaces the bytes of an error.
    #[inline(always)]
    pub fn push_replacement(&mut self, error: Utf8Error, bytes: &[u8], push: impl FnMut(char)) {
        if self.on_error != ErrorPolicy::ReplaceAsJava || !self.continues_surrogate(error) {
            self.on_error.replace(bytes, push);
        }
    }

    /// Calls `put` with the parts of well-formed text, and with the replacement of each character outside the subset.
    pub fn put_within_subset(&mut self, text: &str, put: &mut impl FnMut(&str)) {
        let mut rest = text;
        while let Some((at, character)) = self.subset.and_then(|subset| subset.first_outside(rest)) {
            let after = at + character.len_utf8();
            let outside = rest.get(at..after).unwrap_or_default();
            put(rest.get(..at).unwrap_or_default());
            let error = Utf8Error::new(0, ErrorKind::OutsideSubset, outside.len() as u8);
            put(&self.replace(error, outside.as_bytes()).unwrap_or(ShortStr::EMPTY));
            rest = rest.get(after..).unwrap_or_default();
        }
        put(rest);
    }

    /// Whether the error is one of the continuation bytes of a surrogate, which has three bytes.
    fn continues_surrogate(&mut self, error: Utf8Error) -> bool {
        if error.kind == ErrorKind::Surrogate && error.len == 1 {
            self.in_surrogate = NonZeroU64::new(error.offset.wrapping_add(1));
        }
        let after_second = self.in_surrogate.map(|second| error.offset.wrapping_sub(second.get()));
        error.kind == ErrorKind::UnexpectedContinuation && matches!(after_second, Some(0 | 1))
    }

    /// Returns the replacement of every error, if it does not depend on the error.
    pub fn only_replacement(&self) -> Option<char> {
        self.on_error.replacement().filter(|_| self.on_error != ErrorPolicy::ReplaceAsJava)
    }

    /// Counts an error that no policy repairs, and returns it.
    pub fn reject(&mut self, error: Utf8Error) -> Utf8Error {
        self.count(error);
        error
    }

    /// Whether a required BOM is missing at the end of an empty stream. Returns `true` only once. If the stream resumes
    /// after that, it may still start with a BOM.
    pub fn misses_bom(&mut self) -> bool {
        let misses = self.start == Start::Ahead && self.bom == BomPolicy::Require;
        if misses {
            self.start = Start::Missed;
        }
        misses
    }

    /// Counts an error and emits a `tracing` event.
    #[inline]
    pub fn count(&mut self, error: Utf8Error) {
        log(error);
        self.counters.count(error.kind, 1);
    }

    /// Counts errors of one kind, which were logged.
    #[inline]
    pub const fn count_logged(&mut self, kind: ErrorKind, errors: u64) {
        self.counters.count(kind, errors);
    }
}

/// Emits a `tracing` event.
#[inline]
pub(crate) fn log(error: Utf8Error) {
    debug!(
        target: "utf8_codec::text",
        offset = error.offset,
        kind = error.kind.as_str(),
        len = error.len,
        "ill-formed"
    );
    let _ = error;
}
