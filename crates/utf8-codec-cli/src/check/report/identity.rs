//! Identities of errors, by which services recognize an error after the file has changed elsewhere.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::check::diagnostic::Diagnostic;

/// The identities of the errors of one file at a time.
#[derive(Debug, Default)]
pub(super) struct Identities {
    path: PathBuf,
    /// How often each value occurred.
    seen: HashMap<u64, u32>,
}

impl Identities {
    /// Returns the identity of an error: a hash of its rule, the path and the text around it, and the number of the error
    /// among those with this hash. It does not depend on the number of the line.
    pub(super) fn of(&mut self, path: &Path, diagnostic: &Diagnostic) -> String {
        if self.path != path {
            *self = Self { path: path.to_owned(), seen: HashMap::new() };
        }
        let line = diagnostic.context.as_ref().map_or(&[][..], |context| &context.line);
        let name = diagnostic.problem.name().as_bytes();
        let parts = [name, path.as_os_str().as_encoded_bytes(), line.trim_ascii()];
        let hash = parts.join(&0).into_iter().fold(0xCBF2_9CE4_8422_2325, fnv);
        let number = self.seen.entry(hash).or_insert(0);
        *number += 1;
        format!("{hash:016x}:{number}")
    }
}

/// A step of FNV-1a. The hashes of std may change between versions.
fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
}
