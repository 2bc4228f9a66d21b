//! Recognizes a file that was opened before, and its changes.

use std::fs::Metadata;
use std::io;

/// Returns an error if the metadata is not that of the old file, or if the file has changed.
pub(super) fn check_unchanged(
    old: &Metadata,
    now: io::Result<Metadata>,
    expected: Expected,
) -> io::Result<()> {
    match now {
        Ok(now) if Identity::of(&now).is_same(&Identity::of(old), expected) => Ok(()),
        _ => Err(changed()),
    }
}

pub(super) fn changed() -> io::Error {
    io::Error::other("it changed while it was read")
}

/// What was done to a file since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Untouched,
    /// It was renamed, which changes the time of the last change.
    Renamed,
    /// It may have got a hard link.
    Linked,
}

/// The values by which a file is recognized, and its changes.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    file: (u64, u64),
    len: u64,
    mode: u32,
    owner: (u32, u32),
    links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[cfg(unix)]
impl Identity {
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self {
            file: (metadata.dev(), metadata.ino()),
            len: metadata.len(),
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            links: metadata.nlink(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn is_same(&self, old: &Self, expected: Expected) -> bool {
        *self
            == match expected {
                Expected::Untouched => *old,
                Expected::Renamed => Self { changed: self.changed, ..*old },
                Expected::Linked => Self { changed: self.changed, links: self.links, ..*old },
            }
    }
}

#[cfg(not(unix))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    len: u64,
    is_readonly: bool,
    modified: Option<std::time::SystemTime>,
}

#[cfg(not(unix))]
impl Identity {
    fn of(metadata: &Metadata) -> Self {
        let is_readonly = metadata.permissions().readonly();
        Self { len: metadata.len(), is_readonly, modified: metadata.modified().ok() }
    }

    fn is_same(&self, old: &Self, _: Expected) -> bool {
        self == old
    }
}

#[cfg(unix)]
pub(super) fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    Identity::of(a).file == Identity::of(b).file
}

/// Without numbers of files, a file is recognized by its times and its length.
#[cfg(not(unix))]
pub(super) fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    a.created().ok() == b.created().ok() && Identity::of(a) == Identity::of(b)
}

#[cfg(unix)]
pub(super) fn hard_links(metadata: &Metadata) -> u64 {
    Identity::of(metadata).links
}

#[cfg(not(unix))]
pub(super) fn hard_links(_: &Metadata) -> u64 {
    1
}
