//! In the place of `transcode` without the feature `encoding_rs`: nothing can be transcoded, so there is no transcoder.

use bytes::Bytes;

use super::error::Utf8BodyError;
use super::rules::OtherCharset;
use crate::policy::ErrorPolicy;

#[derive(Debug)]
pub(crate) enum Transcoder {}

#[expect(clippy::needless_pass_by_ref_mut, reason = "the other one needs it")]
impl Transcoder {
    pub(crate) const fn choose(_: OtherCharset, _: &[u8], _: ErrorPolicy) -> Option<Self> {
        None
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

    pub(crate) const fn repaired(&self) -> u64 {
        match *self {}
    }

    pub(crate) const fn queued(&self) -> (u64, bool) {
        match *self {}
    }
}
