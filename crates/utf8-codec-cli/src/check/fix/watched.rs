//! Detects ISO-2022-JP while a file is scanned: its bytes are those of ASCII, so it has no errors.

use std::fs::File;
use std::io::{self, Read};

use utf8_codec::detect::{Detection, Detector};

/// A file that also goes to a detector while it is read.
#[derive(Debug)]
pub(super) struct Watched<'f> {
    file: &'f File,
    detector: Option<Detector>,
}

impl<'f> Watched<'f> {
    pub(super) fn new(file: &'f File, is_watched: bool) -> Self {
        Self { file, detector: is_watched.then(Detector::new) }
    }

    /// Ends the file. Returns whether it is watched and is ISO-2022-JP by its escape sequences.
    pub(super) fn finish(mut self) -> bool {
        let detection = self.detector.as_mut().map(Detector::finish);
        matches!(detection, Some(Detection::Iso2022 { label: "ISO-2022-JP" }))
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if let Some(detector) = &mut self.detector {
            detector.push(&buffer[..read]);
        }
        Ok(read)
    }
}
