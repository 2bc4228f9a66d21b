//! The times of files that are fixed.
//!
//! Several threads fix files, so a file that was older than another one could become newer, and `make` would build again
//! what was up to date.

use core::time::Duration;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::walk::Input;

/// The smallest difference that file systems keep, with a margin.
const STEP: Duration = Duration::from_micros(1);

/// The times of modification before and after a fix.
#[derive(Debug, Default)]
pub(super) struct Times(Mutex<Vec<(SystemTime, SystemTime, Input)>>);

impl Times {
    pub(super) fn add(&self, input: &Input, old: SystemTime, new: SystemTime) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((old, new, input.clone()));
    }

    /// Gives the files times in the order of the old ones. A time is only moved forward, to the end of the fixes. A file
    /// that was changed again keeps its time.
    pub(super) fn keep_order(self) {
        let mut files = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        files.sort_by_key(|&(old, ..)| old);
        let mut time = SystemTime::UNIX_EPOCH;
        for same in files.chunk_by(|(one, ..), (other, ..)| one == other) {
            let newest = same.iter().map(|&(_, new, _)| new).max().unwrap_or(time);
            time = newest.max(time + STEP);
            for (_, new, input) in same.iter().filter(|(_, new, _)| *new != time) {
                // The content is right without this, so a failure is not an error.
                let _ = set(input, *new, time);
            }
        }
    }
}

fn set(input: &Input, new: SystemTime, time: SystemTime) -> io::Result<()> {
    let opened = input.open_regular()?;
    if opened.metadata.modified()? == new { opened.file.set_modified(time) } else { Ok(()) }
}
