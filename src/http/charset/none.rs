//! The types without the feature `encoding_rs`. No charset is supported, so they have no values.

use bytes::Bytes;

use super::super::error::Utf8BodyError;
use crate::text::TextDecoder;

#[derive(Clone, Copy, Debug)]
pub(crate) enum SourceCharset {}

#[derive(Debug)]
pub(crate) enum CharsetDecoder {}

impl SourceCharset {
    pub(crate) const fn for_label(_: &[u8]) -> Option<Self> {
        None
    }

    pub(crate) const fn for_document(_: &[u8]) -> Option<Self> {
        None
    }
}

#[expect(clippy::needless_pass_by_ref_mut, reason = "the same methods as with the feature")]
impl CharsetDecoder {
    pub(crate) const fn boxed(charset: &SourceCharset, _: TextDecoder) -> Box<Self> {
        match *charset {}
    }

    pub(crate) fn feed(&mut self, _: Bytes) {
        match *self {}
    }

    pub(crate) fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        match *self {}
    }

    pub(crate) fn finish(&mut self) {
        match *self {}
    }

    pub(crate) const fn is_clean(&self) -> bool {
        match *self {}
    }

    pub(crate) const fn held(&self) -> u64 {
        match *self {}
    }

    pub(crate) const fn offset(&self) -> u64 {
        match *self {}
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        match *self {}
    }

    pub(crate) const fn repaired(&self) -> u64 {
        match *self {}
    }

    pub(crate) const fn queued(&self) -> (u64, bool) {
        match *self {}
    }
}
