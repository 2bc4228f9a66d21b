//! The types without the feature `encoding_rs`. No charset is supported, so they have no values.

use bytes::Bytes;

use super::super::error::Utf8BodyError;
use super::super::filter::kind::KindFilter;
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

    fn finish(&mut self) {
        match *self {}
    }

    fn is_clean(&self) -> bool {
        match *self {}
    }

    fn offset(&self) -> u64 {
        match *self {}
    }

    fn repaired(&self) -> u64 {
        match *self {}
    }

    fn held(&self) -> u64 {
        match *self {}
    }

    fn queued(&self) -> (u64, bool) {
        match *self {}
    }

    fn min_output(&self, _: u64) -> u64 {
        match *self {}
    }

    fn max_output(&self, _: u64) -> Option<u64> {
        match *self {}
    }
}
