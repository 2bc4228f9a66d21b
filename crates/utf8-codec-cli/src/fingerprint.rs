//! Recognizes content that was read before.

use core::hash::Hasher;
use std::collections::hash_map::DefaultHasher;
use std::io::{self, Read};

use crate::files::BUFFER;

/// The length and a hash of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    len: u64,
    hash: u64,
}

/// A reader of which the fingerprint is taken.
#[derive(Debug)]
pub(super) struct Fingerprinted<R> {
    input: R,
    len: u64,
    hasher: DefaultHasher,
}

impl<R: Read> Fingerprinted<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, len: 0, hasher: DefaultHasher::new() }
    }

    /// Returns the fingerprint of what was read.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint { len: self.len, hash: self.hasher.finish() }
    }

    /// Reads the rest, and returns the fingerprint.
    pub(super) fn read_to_end(mut self) -> io::Result<Fingerprint> {
        let mut buffer = vec![0; BUFFER];
        while crate::files::read(&mut self, &mut buffer)? > 0 {}
        Ok(self.fingerprint())
    }
}

impl<R: Read> Read for Fingerprinted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.len += read as u64;
        self.hasher.write(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_does_not_depend_on_the_reads() {
        let content: Vec<u8> = (0..100).collect();
        let whole = Fingerprinted::new(&content[..]).read_to_end().expect("no I/O");
        for first in 0..=100 {
            let mut cut = Fingerprinted::new(&content[..]);
            cut.read_exact(&mut vec![0; first]).expect("so many bytes");
            assert_eq!(cut.read_to_end().expect("no I/O"), whole, "{first}");
        }
        assert_ne!(Fingerprinted::new(&content[..99]).read_to_end().expect("no I/O"), whole);
        let mut other = content;
        other[50] ^= 1;
        assert_ne!(Fingerprinted::new(&other[..]).read_to_end().expect("no I/O"), whole);
    }
}
