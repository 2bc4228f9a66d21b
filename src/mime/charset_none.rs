//! The type without the feature `transcode`. No other charset is decoded, so it has no values.

use alloc::boxed::Box;

use super::error::MimeError;
use super::transfer::TransferPiece;

#[derive(Clone, Debug)]
pub(super) enum CharsetText {}

impl CharsetText {
    pub(super) const fn for_label(_: &[u8]) -> Option<Box<Self>> {
        None
    }

    pub(super) fn restarted(&self) -> Box<Self> {
        match *self {}
    }

    pub(super) const fn offset(&self) -> u64 {
        match *self {}
    }

    pub(super) fn decode(&self, _: TransferPiece<'_>, _: &mut impl FnMut(Result<&str, MimeError>)) {
        match *self {}
    }

    pub(super) fn feed(
        &self,
        _: &[u8],
        _: impl Fn(usize) -> u64,
        _: &mut impl FnMut(Result<&str, MimeError>),
    ) {
        match *self {}
    }

    pub(super) fn finish(&self, _: &mut impl FnMut(Result<&str, MimeError>)) {
        match *self {}
    }
}
