//! The types without the feature `encoding_rs`. No charset is supported, so they have no values.

use bytes::Bytes;

use super::error::Utf8BodyError;
use super::filter::kind::KindFilter;
use crate::text::TextDecoder;

#[derive(Clone, Copy, Debug)]
pub(crate) enum SourceCharset {}

#[derive(Debug)]
pub(crate) enum CharsetDecoder {}

impl SourceCharset {
    pub(crate) const fn for_label(_: &[u8]) -> Option<Self> {
        None
    }
}

impl CharsetDecoder {
    pub(crate) const fn boxed(charset: &SourceCharset, _: TextDecoder) -> Box<Self> {
        match *charset {}
    }
}

impl KindFilter for CharsetDecoder {
    fn feed(&mut self, _: Bytes) {
        match *self {}
    }

    fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        match *self {}
    }

    fn is_clean(&self) -> bool {
        match *self {}
    }

    fn offset(&self) -> u64 {
        match *self {}
    }
}
