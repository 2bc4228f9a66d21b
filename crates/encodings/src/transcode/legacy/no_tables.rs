//! The types without `std`. Only the code pages that `encoding_rs` does not have are here, one character at a time.

use crate::encoding::{Encoding, pages};

/// A code page.
#[derive(Debug)]
pub(super) struct SingleByte(Encoding);

impl SingleByte {
    pub(super) fn of(encoding: Encoding) -> Option<Self> {
        pages::character(encoding, 0).map(|_| Self(encoding))
    }

    pub(super) fn unit(&self, byte: u8) -> Option<u16> {
        pages::character(self.0, byte).map(|character| character as u16)
    }

    pub(super) fn byte(&self, unit: u16) -> Option<u8> {
        (0..=255).find(|&byte| self.unit(byte) == Some(unit))
    }

    pub(super) fn decode(&self, _: &[u8], _: &mut [u8]) -> (usize, usize) {
        (0, 0)
    }

    pub(super) fn encode(&self, _: &[u8], _: &mut [u8]) -> (usize, usize) {
        (0, 0)
    }
}

/// Without the tables there is no value of this type.
#[derive(Debug)]
pub(super) enum DoubleByte {}

impl DoubleByte {
    pub(super) const fn of(_: Encoding) -> Option<Self> {
        None
    }

    pub(super) fn sequence<'s>(&self, _: &'s [u8]) -> Option<(u16, &'s [u8])> {
        match *self {}
    }

    pub(super) fn decode(&self, _: &[u8], _: &mut [u8]) -> (usize, usize) {
        match *self {}
    }
}
