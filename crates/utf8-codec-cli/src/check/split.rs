//! Splitting of large files into parts, and distribution of files and parts to threads.
//!
//! The parts of a file do not depend on the number of threads, so the report does not depend on it either.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::files::read;
use crate::guess::declaration;
use crate::guess::mojibake::is_inside;

/// The default length of a part. The overhead of a part is a few small reads, less than 50 microseconds.
pub(super) const PART: u64 = 32 << 20;

/// The length of the range after each multiple of the part length in which a boundary is searched.
const WINDOW: usize = 64 * 1024;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilePart {
    /// The number of the part in the file, counted from 0.
    pub(super) number: usize,
    pub(super) start: u64,
    /// The offset of the next part. `None` for the last part, which also contains bytes that are appended to the file
    /// during the scan.
    pub(super) end: Option<u64>,
}

impl FilePart {
    /// The only part of a file that is not split.
    pub(super) const WHOLE: Self = Self { number: 0, start: 0, end: None };

    pub(super) fn is_last(&self) -> bool {
        self.end.is_none()
    }
}

/// Splits a file into parts of about `len` bytes, at line breaks if possible. Changes the position of the file.
/// Only at line breaks if `needs_lines`.
pub(super) fn parts(file: &mut File, len: u64, needs_lines: bool) -> io::Result<Vec<FilePart>> {
    let file_len = file.metadata()?.len();
    let mut parts = vec![FilePart::WHOLE];
    let mut window = vec![0; WINDOW.min(len as usize)];
    let mut at = len;
    while at + len < file_len {
        file.seek(SeekFrom::Start(at))?;
        let mut filled = 0;
        while filled < window.len() {
            match read(file, &mut window[filled..])? {
                0 => break,
                more => filled += more,
            }
        }
        let line = || memchr::memchr(b'\n', &window[..filled]).map(|at| at + 1);
        if let Some(position) = if needs_lines { line() } else { border(&window[..filled]) } {
            let start = at + position as u64;
            if let Some(last) = parts.last_mut() {
                last.end = Some(start);
            }
            parts.push(FilePart { number: parts.len(), start, end: None });
        }
        at += len;
    }
    Ok(parts)
}

/// Returns a position that is between two characters, whatever precedes `bytes`. The first choice is after a line
/// break, the second after another ASCII character (mojibake contains none), the third after a whole non-ASCII
/// character.
fn border(bytes: &[u8]) -> Option<usize> {
    let after = |at: usize| at + 1;
    memchr::memchr(b'\n', bytes)
        .or_else(|| bytes.iter().position(u8::is_ascii))
        .map(after)
        .or_else(|| {
            // A byte that is not a continuation byte starts a character or an ill-formed sequence.
            let first = bytes.iter().position(|byte| !(0x80..0xC0).contains(byte))?;
            let (mut at, mut fallback) = (first, None);
            for chunk in bytes[first..].utf8_chunks() {
                let characters = chunk.valid().char_indices().map(|(from, character)| (at + from, character));
                let (starts, next) = (characters.clone(), characters.skip(1));
                fallback = fallback.or(starts.map(|(from, character)| from + character.len_utf8()).next());
                // Not in a sequence that is mojibake.
                if let Some((from, _)) = next.into_iter().find(|&(_, character)| !is_inside(character)) {
                    return Some(from);
                }
                at += chunk.valid().len() + chunk.invalid().len();
            }
            fallback
        })
        .filter(|&at| at < bytes.len())
}

/// A reader of a part. All parts of a file are read from one descriptor, because another file may get its name during
/// the scan.
#[derive(Debug)]
pub(super) struct PartReader<'f> {
    file: &'f File,
    /// The offset of the next byte.
    pub(super) at: u64,
    end: u64,
}

impl<'f> PartReader<'f> {
    /// The reader starts up to `history` bytes before the part and ends up to `history` bytes after it. A reader of the
    /// first part contains the start of the file that decides about the whole file.
    pub(super) fn new(file: &'f File, part: FilePart, history: u64) -> Self {
        let end = part.end.map_or(u64::MAX, |end| (end + history).max(declaration::PREFIX as u64));
        Self { file, at: part.start.saturating_sub(history), end }
    }
}

impl Read for PartReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        use std::os::unix::fs::FileExt;
        #[cfg(not(unix))]
        use std::os::windows::fs::FileExt;

        let len = buffer.len().min(usize::try_from(self.end - self.at).unwrap_or(usize::MAX));
        #[cfg(unix)]
        let read = self.file.read_at(&mut buffer[..len], self.at)?;
        #[cfg(not(unix))]
        let read = self.file.seek_read(&mut buffer[..len], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The next work of a thread.
#[derive(Debug)]
pub(super) enum Work {
    /// Open this file, call [`Queue::opened`], and scan its first part.
    File(usize),
    /// Scan another part of a file.
    Part(usize, FilePart, Arc<File>),
}

/// Distributes the work in the order of the report, so that the part that is reported next is always scanned by a
/// thread. If it were not, the other threads could wait for their turn forever.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    next: usize,
    files: usize,
    /// The number of files that [`Queue::next`] returned and that were not yet passed to [`Queue::opened`].
    opening: usize,
    /// The number of waiting threads. If it is 0, no wake-up is needed.
    waiting: usize,
    parts: BTreeMap<(usize, usize), (FilePart, Arc<File>)>,
}

impl Queue {
    pub(super) fn new(files: usize) -> Self {
        let state = State { next: 0, files, opening: 0, waiting: 0, parts: BTreeMap::new() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next work, or `None` at the end. Waits while a file that another thread opens may still be split.
    pub(super) fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if let Some(((file, _), (part, opened))) = state.parts.pop_first() {
                return Some(Work::Part(file, part, opened));
            }
            if state.next < state.files {
                state.next += 1;
                state.opening += 1;
                return Some(Work::File(state.next - 1));
            }
            if state.opening == 0 {
                return None;
            }
            state.waiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    /// Adds the parts of a file after the first one. There may be none.
    pub(super) fn opened(&self, file: usize, parts: &[FilePart], opened: Option<&Arc<File>>) {
        let mut state = self.lock();
        state.opening -= 1;
        if let Some(opened) = opened {
            let part = |&part: &FilePart| ((file, part.number), (part, Arc::clone(opened)));
            state.parts.extend(parts.iter().map(part));
        }
        if state.waiting > 0 && (state.opening == 0 || !parts.is_empty()) {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn parts_of(content: &[u8], len: u64) -> Vec<FilePart> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(content).expect("it is writable");
        parts(&mut file, len, false).expect("it is readable")
    }

    #[test]
    fn the_parts_cover_the_file() {
        for line in ["0123456789\n", "no line end ", "ěščř", "日本語", "🦀"] {
            let content = line.repeat(1000);
            let parts = parts_of(content.as_bytes(), 1000);
            assert!(parts.len() > 2, "{line}");
            let mut end = 0;
            for (number, part) in parts.iter().enumerate() {
                assert_eq!((part.number, part.start), (number, end));
                assert!(content.is_char_boundary(part.start as usize));
                assert!(
                    !line.ends_with('\n') || content[..part.start as usize].ends_with('\n') || number == 0
                );
                end = part.end.unwrap_or(content.len() as u64);
            }
            assert_eq!(end, content.len() as u64);
        }
    }

    #[test]
    fn a_border_is_never_in_an_ill_formed_sequence() {
        assert_eq!(border(b"\x80\x80\xE2\x82\xF0\x9F\xE2\x82\xAC\x80"), Some(9));
        assert_eq!(border(b"\x80\x80\x80"), None);
        assert_eq!(border(b"\xE2\x82\xAC"), None);
        assert_eq!(parts_of(&[0x80; 5000], 1000), [FilePart::WHOLE]);
        assert_eq!(parts_of(b"small", 1000), [FilePart::WHOLE]);
    }

    #[test]
    fn work_comes_in_order() {
        let queue = Queue::new(2);
        let next = || match queue.next()? {
            Work::File(file) => Some((file, 0)),
            Work::Part(file, part, _) => Some((file, part.number)),
        };
        assert_eq!(next(), Some((0, 0)));
        let part = |number| FilePart { number, start: 0, end: None };
        let opened = Arc::new(tempfile::tempfile().expect("a file"));
        queue.opened(0, &[part(1), part(2)], Some(&opened));
        assert_eq!(next(), Some((0, 1)));
        assert_eq!(next(), Some((0, 2)));
        assert_eq!(next(), Some((1, 0)));
        queue.opened(1, &[], None);
        assert_eq!(next(), None);
    }
}
