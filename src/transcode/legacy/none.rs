//! The types without the feature `encoding_rs`. They have no values.

use crate::encoding::Encoding;
use crate::transcode::item::{EncodedSequence, Item};

#[derive(Clone, Copy, Debug)]
pub(in crate::transcode) enum LegacySource {}

#[derive(Clone, Copy, Debug)]
pub(in crate::transcode) enum LegacyTarget {}

impl LegacySource {
    pub(in crate::transcode) fn read(&self, _: &[u8]) -> Item {
        match *self {}
    }

    pub(in crate::transcode) fn read_last(&self, _: &[u8]) -> Item {
        match *self {}
    }

    pub(in crate::transcode) fn decode(&self, _: &[u8], _: &mut [u8]) -> (usize, usize) {
        match *self {}
    }

    pub(in crate::transcode) const fn restart(&self) {
        match *self {}
    }

    pub(in crate::transcode) fn advance(&self, _: &[u8]) {
        match *self {}
    }
}

impl LegacyTarget {
    pub(in crate::transcode) const fn of(_: Encoding) -> Option<Self> {
        None
    }

    pub(in crate::transcode) fn encode(&self, _: char) -> Option<EncodedSequence> {
        match *self {}
    }

    pub(in crate::transcode) fn encode_utf_8(&self, _: &[u8], _: &mut [u8]) -> (usize, usize) {
        match *self {}
    }

    pub(in crate::transcode) fn advance(&self, _: &[u8]) {
        match *self {}
    }

    pub(in crate::transcode) fn end(&self) -> &'static [u8] {
        match *self {}
    }
}

#[cfg(feature = "codec")]
#[derive(Debug)]
pub(crate) enum SingleByte {}

#[cfg(feature = "codec")]
impl SingleByte {
    pub(crate) const fn without_ascii(_: Encoding) -> Option<&'static Self> {
        None
    }

    pub(crate) const fn unit(&self, _: u8) -> Option<u16> {
        match *self {}
    }

    pub(crate) const fn byte(&self, _: u16) -> Option<u8> {
        match *self {}
    }
}
