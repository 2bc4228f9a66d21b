//! Directories as paths, for systems without descriptors of directories.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        fs::canonicalize(path).map(Self)
    }

    pub(super) fn subdirectory(&self, path: &Path) -> io::Result<Self> {
        Ok(Self(self.0.join(path)))
    }

    pub(super) fn open_file(&self, path: &Path) -> io::Result<File> {
        File::open(self.0.join(path))
    }

    pub(super) fn metadata(&self, name: &OsStr) -> io::Result<Metadata> {
        fs::symlink_metadata(self.0.join(name))
    }

    pub(super) fn exists(&self, name: &OsStr) -> bool {
        self.metadata(name).is_ok()
    }

    pub(super) fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.0.join(name)).map(drop)
    }

    pub(super) fn create(&self, name: &OsStr, _: bool) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.0.join(name))
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    pub(super) fn hard_link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::hard_link(self.0.join(from), self.0.join(to))
    }

    pub(super) fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.hard_link(from, to)?;
        self.remove(from)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
