//! Replacement of a file by new content.
//!
//! The new content is in a temporary file in the same directory, which has the owner of the old file and then its mode.
//! When it is complete, it is flushed to disk and takes the name of the old file.
//!
//! If the new content is made from the old one, nothing that others write in between may be lost. The names of the two
//! files are therefore exchanged, and what then has the name of the temporary file is removed only if it is the file that
//! was read, with the same content. Otherwise the names are exchanged again. In systems without this operation the old
//! file is compared immediately before the rename.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::attributes::keep_attributes;
use crate::destination::{Destination, resolve};
use crate::directory::Directory;
use crate::files::{Opened, directory_of};
use crate::fingerprint::{Fingerprint, Fingerprinted};
use crate::identity::{Expected, changed, check_unchanged, hard_links, is_same_file};
use crate::temporary::{Temporary, exchanging};
use crate::walk::Input;

/// The new content of a regular file. The file does not change before [`commit`](Self::commit) or
/// [`commit_content`](Self::commit_content).
#[derive(Debug)]
pub(super) struct Replacement {
    temporary: Temporary,
    /// The path of the target for messages.
    path: PathBuf,
    /// The name of the target in the directory of the temporary file.
    target: OsString,
    /// The metadata of the original file, if it exists.
    replaced: Option<Metadata>,
    /// The permissions of a new file in the directory, if it does not exist.
    new_permissions: Option<Permissions>,
}

/// A step of a replacement, after which the tests change files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The new content is on the disk.
    Flushed,
    /// The old file was compared.
    Compared,
    /// The names were exchanged.
    Exchanged,
    /// The other file is not the one that was read. The names will be exchanged again.
    Rejected,
}

impl Replacement {
    /// Creates the temporary file. The last component of `path` must not be a symbolic link.
    ///
    /// Fails for a file with other hard links, because these would keep the old content.
    pub(super) fn of(path: PathBuf, replaced: Option<Metadata>) -> io::Result<Self> {
        Self::in_directory(Directory::open(directory_of(&path))?, path, replaced)
    }

    /// Prepares the replacement of a file by content that is made from its old content. Symbolic links on the command
    /// line are followed and do not change. Fails as [`of`](Self::of).
    pub(super) fn of_input(input: &Input, old: &Opened) -> io::Result<Self> {
        let (directory, path) = match input.directory() {
            Some(directory) => (directory?, input.path.clone()),
            None => match resolve(&input.path)? {
                Destination::Descriptor(_) => {
                    return Err(io::Error::other("an open descriptor cannot be replaced"));
                }
                Destination::Path(path) => (Directory::open(directory_of(&path))?, path),
            },
        };
        Self::in_directory(directory, path, Some(old.metadata.clone()))
    }

    fn in_directory(directory: Directory, path: PathBuf, replaced: Option<Metadata>) -> io::Result<Self> {
        let target = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        if let Some(replaced) = &replaced {
            let links = hard_links(replaced);
            if links > 1 {
                return Err(io::Error::other(format!(
                    "it has {links} hard links, and the others would keep the old content"
                )));
            }
            // The superuser can open a read-only file for writing, so the next check does not detect it.
            if replaced.permissions().readonly() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
            }
            // A rename only needs permission to write to the directory.
            directory.check_writable(&target)?;
        }
        let directory = Arc::new(directory);
        let new_permissions = match replaced {
            Some(_) => None,
            None => Some(permissions_in(&directory)?),
        };
        let temporary = Temporary::in_directory(directory, true)?;
        if let Some(replaced) = &replaced {
            keep_owner(temporary.file(), replaced)?;
        }
        Ok(Self { temporary, path, target, replaced, new_permissions })
    }

    /// Whether this replaces the file with this metadata. If so, the metadata is from now on that of the original file.
    pub(super) fn replaces(&mut self, input: &Metadata) -> bool {
        let is_same = self.replaced.as_ref().is_some_and(|replaced| is_same_file(replaced, input));
        if is_same {
            self.replaced = Some(input.clone());
        }
        is_same
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.temporary.file().write_all(bytes)
    }

    /// Returns the new content for reading from its start. Do not call [`write`](Self::write) afterwards: it would
    /// write at the position that the reader left.
    pub(super) fn new_content(&self) -> io::Result<&File> {
        let mut file = self.temporary.file();
        file.rewind()?;
        Ok(file)
    }

    /// Replaces the file, whatever it contains. After a power failure it has either the old content or the new content.
    pub(super) fn commit(mut self) -> io::Result<()> {
        self.flush()?;
        self.rename()
    }

    /// Replaces the file if it still is the one with the metadata of the original file and with the content that was
    /// read. With a suffix `backup`, keeps the old file under its name with that suffix, and fails if that file exists.
    pub(super) fn commit_content(&mut self, read: Fingerprint, backup: Option<&OsStr>) -> io::Result<()> {
        self.commit_in_steps(read, backup, &mut |_| {})
    }

    fn commit_in_steps(
        &mut self,
        read: Fingerprint,
        backup: Option<&OsStr>,
        after: &mut dyn FnMut(Step),
    ) -> io::Result<()> {
        let backup = backup.map(|suffix| {
            let mut name = self.target.clone();
            name.push(suffix);
            name
        });
        if let Some(name) = &backup
            && self.directory().exists(name)
        {
            let error = io::Error::new(io::ErrorKind::AlreadyExists, "File exists");
            return Err(self.cannot_keep(name, &error));
        }
        let written = self.flush()?;
        after(Step::Flushed);
        let _exchange = exchanging();
        self.compare(&self.target, Expected::Untouched)?;
        after(Step::Compared);
        match self.directory().exchange(self.temporary.name(), &self.target)? {
            true => self.finish_exchange(&written, read, backup.as_deref(), after),
            false => self.compare_and_rename(read, backup.as_deref()),
        }
    }

    /// Removes the old file, which now has the name of the temporary file, if it is the one that was read.
    fn finish_exchange(
        &mut self,
        written: &Metadata,
        read: Fingerprint,
        backup: Option<&OsStr>,
        after: &mut dyn FnMut(Step),
    ) -> io::Result<()> {
        after(Step::Exchanged);
        let finished = self.compare(self.temporary.name(), Expected::Renamed).and_then(|()| {
            // While the directory is flushed, programs that opened the old file by its name write to it.
            self.directory().sync()?;
            self.compare_content(self.temporary.name(), read)?;
            self.compare(self.temporary.name(), Expected::Renamed)?;
            match backup {
                None => self.directory().remove(self.temporary.name()),
                Some(name) => self
                    .directory()
                    .rename_new(self.temporary.name(), name)
                    .map_err(|error| self.cannot_keep(name, &error)),
            }
        });
        if let Err(error) = finished {
            after(Step::Rejected);
            self.exchange_back(written)?;
            return Err(error);
        }
        self.temporary.keep();
        if backup.is_some() { self.directory().sync() } else { Ok(()) }
    }

    /// Gives the file that came back its name again. The new content is removed with the temporary file, unless others
    /// have changed it.
    fn exchange_back(&mut self, written: &Metadata) -> io::Result<()> {
        let temporary = self.temporary.name().to_owned();
        let directory = self.temporary.directory();
        let is_back = match directory.exchange(&temporary, &self.target) {
            Ok(true) => {
                let is_back =
                    check_unchanged(written, directory.metadata(&temporary), Expected::Renamed).is_ok();
                if !is_back {
                    // The file was replaced again. The newest one keeps the name.
                    let _ = directory.exchange(&temporary, &self.target);
                }
                is_back
            }
            // It was removed after the exchange.
            _ => directory.rename_new(&temporary, &self.target).is_ok(),
        };
        if is_back {
            return Ok(());
        }
        self.temporary.keep();
        let other = self.path.with_file_name(temporary);
        let message =
            format!("it changed several times while it was replaced; {} is the other file", other.display());
        Err(io::Error::other(message))
    }

    /// For systems that cannot exchange names. What is written between the comparison and the rename is lost.
    fn compare_and_rename(&mut self, read: Fingerprint, backup: Option<&OsStr>) -> io::Result<()> {
        self.compare_content(&self.target, read)?;
        self.compare(&self.target, Expected::Untouched)?;
        let Some(name) = backup else { return self.rename() };
        self.link_or_copy(name).map_err(|error| self.cannot_keep(name, &error))?;
        let replaced = self.compare(&self.target, Expected::Linked).and_then(|()| self.rename());
        if replaced.is_err() && !self.temporary.is_kept() {
            // The file still has its old content, so the backup is not needed.
            let _ = self.directory().remove(name);
        }
        replaced
    }

    /// Creates a hard link to the target, or a copy if a link cannot be created. Fails if `name` exists.
    fn link_or_copy(&self, name: &OsStr) -> io::Result<()> {
        match self.directory().hard_link(&self.target, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Err(_) => {
                let mut old = self.directory().open_file(self.target.as_ref())?;
                let mut copy = self.directory().create(name, true)?;
                let copied = io::copy(&mut old, &mut copy)
                    .and_then(|_| keep_attributes(&old, &copy))
                    .and_then(|()| copy.set_permissions(old.metadata()?.permissions()))
                    .and_then(|()| copy.sync_all());
                if copied.is_err() {
                    let _ = self.directory().remove(name);
                }
                copied
            }
            linked => linked,
        }
    }

    /// Returns an error if the file with this name is not the original one, or if it has changed.
    fn compare(&self, name: &OsStr, expected: Expected) -> io::Result<()> {
        let Some(replaced) = &self.replaced else { return Ok(()) };
        check_unchanged(replaced, self.directory().metadata(name), expected)
    }

    fn compare_content(&self, name: &OsStr, read: Fingerprint) -> io::Result<()> {
        let file = self.directory().open_file(name.as_ref())?;
        if Fingerprinted::new(file).read_to_end()? == read { Ok(()) } else { Err(changed()) }
    }

    fn directory(&self) -> &Directory {
        self.temporary.directory()
    }

    fn cannot_keep(&self, name: &OsStr, error: &io::Error) -> io::Error {
        let path = self.path.with_file_name(name);
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    }

    /// Gives the new content the attributes and the mode of the old file, and flushes it to disk. Returns its metadata.
    fn flush(&self) -> io::Result<Metadata> {
        let file = self.temporary.file();
        if self.replaced.is_some() {
            match self.directory().open_file(self.target.as_ref()) {
                Ok(old) => keep_attributes(&old, file)?,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
                // It is gone or a link, which is found by the comparison.
                Err(_) => {}
            }
        }
        // After `keep_owner`, because a change of owner resets the set-user-ID bit.
        let permissions = self.replaced.as_ref().map(Metadata::permissions);
        if let Some(permissions) = permissions.or_else(|| self.new_permissions.clone()) {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        file.metadata()
    }

    fn rename(&mut self) -> io::Result<()> {
        self.directory().rename(self.temporary.name(), &self.target)?;
        self.temporary.keep();
        self.directory().sync()
    }
}

/// Sets the owner and the group to those of the replaced file.
#[cfg(unix)]
fn keep_owner(file: &File, replaced: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let own = file.metadata()?;
    let owner = Some(replaced.uid()).filter(|owner| *owner != own.uid());
    let group = Some(replaced.gid()).filter(|group| *group != own.gid());
    if owner.is_none() && group.is_none() {
        return Ok(());
    }
    fchown(file, owner, group).map_err(|error| {
        let whose = format!("user {} and group {}", replaced.uid(), replaced.gid());
        io::Error::new(error.kind(), format!("the file belongs to {whose}, which cannot be kept: {error}"))
    })
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Returns the permissions of a new file in a directory. They depend on the umask or, instead, on the default access control
/// list of the directory, so the system is asked, with a file that never has content.
fn permissions_in(directory: &Arc<Directory>) -> io::Result<Permissions> {
    let probe = Temporary::in_directory(Arc::clone(directory), false)?;
    Ok(probe.file().metadata()?.permissions())
}

#[cfg(all(test, unix))]
mod tests;
