//! The output of `convert`. Regular files are replaced when the output is complete.
//!
//! Pipes, devices and open descriptors are written to directly.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::destination::{Destination, duplicate, resolve};
use crate::files::is_standard;
use crate::fingerprint::Fingerprint;
use crate::replacement::Replacement;

/// The output of a command.
#[derive(Debug)]
pub(super) enum OutputFile {
    Stdout(io::Stdout),
    Stderr(io::Stderr),
    /// A pipe, a device, or an open descriptor.
    Stream(File),
    File(Box<Replacement>),
}

impl OutputFile {
    /// Opens the output. `-` is stdout. If the path is a symbolic link, its target is replaced, and the link does not
    /// change.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if is_standard(path) {
            return Ok(Self::Stdout(io::stdout()));
        }
        match resolve(path)? {
            Destination::Descriptor(1) => Ok(Self::Stdout(io::stdout())),
            Destination::Descriptor(2) => Ok(Self::Stderr(io::stderr())),
            Destination::Descriptor(number) => duplicate(number).map(Self::Stream),
            Destination::Path(path) => match fs::metadata(&path) {
                Ok(metadata) if !metadata.is_file() => {
                    OpenOptions::new().write(true).open(path).map(Self::Stream)
                }
                Ok(metadata) => Replacement::of(path, Some(metadata)).map(Box::new).map(Self::File),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Replacement::of(path, None).map(Box::new).map(Self::File)
                }
                Err(error) => Err(error),
            },
        }
    }

    pub(super) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout(_))
    }

    /// Whether the output replaces the file with this metadata.
    pub(super) fn replaces(&mut self, input: &Metadata) -> bool {
        match self {
            Self::File(replacement) => replacement.replaces(input),
            Self::Stdout(_) | Self::Stderr(_) | Self::Stream(_) => false,
        }
    }

    /// Writes the bytes. Stdout is flushed, so that its reader receives text while the conversion is running.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Self::Stderr(stream) => stream.write_all(bytes),
            Self::Stream(stream) => stream.write_all(bytes),
            Self::File(replacement) => replacement.write(bytes),
        }
    }

    /// Replaces the file, if the output is a regular file. Other outputs are already written. If the input is this file,
    /// it must still have the content that was read.
    pub(super) fn commit(self, input: Option<Fingerprint>) -> io::Result<()> {
        match (self, input) {
            (Self::Stdout(_) | Self::Stderr(_) | Self::Stream(_), _) => Ok(()),
            (Self::File(replacement), None) => replacement.commit(),
            (Self::File(mut replacement), Some(read)) => replacement.commit_content(read, None),
        }
    }
}
