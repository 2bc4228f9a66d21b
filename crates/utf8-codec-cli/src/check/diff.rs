//! Unified diffs of a file before and after a fix, in the format of `patch -p1` and `git apply`.
//!
//! The fixes do not add, remove or move line breaks, so each old line corresponds to the new line with the same number,
//! and no search is needed. A file in UTF-16 or UTF-32 is an exception: its whole content is replaced.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::path::Path;

use crate::charset::NamedEncoding;

/// The number of unchanged lines before and after a change.
const CONTEXT: usize = 3;

/// The maximum length in bytes of a line and of a diff. The diff is kept in memory, because a hunk starts with its
/// number of lines.
const MAX_LEN: usize = 64 << 20;

/// How the lines of the two files correspond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffLines {
    /// Each old line corresponds to the new line with the same number.
    Same,
    /// No lines correspond.
    Replaced,
}

/// Returns the lines with the names of a file before and after a fix. `encoding` is the old one, if it is shown.
pub(super) fn names(path: &Path, encoding: Option<NamedEncoding>) -> (Vec<u8>, bool) {
    let (old, new) = match encoding {
        Some(encoding) => (format!("\t({encoding})\n"), "\t(utf-8)\n"),
        None => ("\n".to_owned(), "\n"),
    };
    let lines =
        [b"--- ", &*file_name("a", path), old.as_bytes(), b"+++ ", &file_name("b", path), new.as_bytes()];
    (lines.concat(), encoding.is_some())
}

/// Returns the diff of two files, or an empty vector if they are equal and `names` shows no encodings.
pub(super) fn unified(
    (names, has_encodings): &(Vec<u8>, bool),
    old: &mut dyn BufRead,
    new: &mut dyn BufRead,
    lines: DiffLines,
) -> io::Result<Vec<u8>> {
    let mut diff = Diff { out: Vec::new(), line: [0; 2], context: VecDeque::new(), hunk: None };
    match lines {
        DiffLines::Same => loop {
            match (line_of(old)?, line_of(new)?) {
                (None, None) => break,
                (Some(old), Some(new)) if old == new => diff.unchanged(old)?,
                (old, new) => diff.changed(old, new)?,
            }
        },
        DiffLines::Replaced => {
            while let Some(line) = line_of(old)? {
                diff.changed(Some(line), None)?;
            }
            while let Some(line) = line_of(new)? {
                diff.changed(None, Some(line))?;
            }
        }
    }
    diff.end_hunk()?;
    if diff.out.is_empty() && !has_encodings {
        return Ok(diff.out);
    }
    Ok([&**names, &diff.out].concat())
}

struct Diff {
    out: Vec<u8>,
    /// The number of lines of the old file and of the new file so far.
    line: [u64; 2],
    /// The last unchanged lines before the next hunk, at most [`CONTEXT`].
    context: VecDeque<Vec<u8>>,
    hunk: Option<Hunk>,
}

/// An incomplete hunk.
struct Hunk {
    /// The number of lines before the hunk, in the old file and in the new file.
    before: [u64; 2],
    body: Vec<u8>,
    /// The removed lines after the body. They are appended to it before the added lines.
    removed: Vec<u8>,
    added: Vec<u8>,
    /// Unchanged lines after the changed ones.
    after: Vec<Vec<u8>>,
    len: [u64; 2],
}

impl Diff {
    fn unchanged(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.line = self.line.map(|lines| lines + 1);
        match &mut self.hunk {
            Some(hunk) => {
                hunk.after.push(line);
                if hunk.after.len() > 2 * CONTEXT {
                    self.end_hunk()?;
                }
            }
            None => self.remember(line),
        }
        Ok(())
    }

    fn changed(&mut self, old: Option<Vec<u8>>, new: Option<Vec<u8>>) -> io::Result<()> {
        let context = &mut self.context;
        let line = self.line;
        let hunk = self.hunk.get_or_insert_with(|| {
            let len = context.len() as u64;
            let mut body = Vec::new();
            context.drain(..).for_each(|line| push(&mut body, b' ', &line));
            Hunk {
                before: line.map(|lines| lines - len),
                body,
                removed: Vec::new(),
                added: Vec::new(),
                after: Vec::new(),
                len: [len; 2],
            }
        });
        if !hunk.after.is_empty() {
            hunk.take_changes();
            for line in core::mem::take(&mut hunk.after) {
                hunk.push_context(&line);
            }
        }
        if let Some(old) = old {
            push(&mut hunk.removed, b'-', &old);
            hunk.len[0] += 1;
            self.line[0] += 1;
        }
        if let Some(new) = new {
            push(&mut hunk.added, b'+', &new);
            hunk.len[1] += 1;
            self.line[1] += 1;
        }
        if hunk.body.len() + hunk.removed.len() + hunk.added.len() + self.out.len() > MAX_LEN {
            return Err(io::Error::other(format!("the diff is longer than {} MiB", MAX_LEN >> 20)));
        }
        Ok(())
    }

    fn end_hunk(&mut self) -> io::Result<()> {
        let Some(mut hunk) = self.hunk.take() else { return Ok(()) };
        hunk.take_changes();
        let after = core::mem::take(&mut hunk.after);
        for line in after.iter().take(CONTEXT) {
            hunk.push_context(line);
        }
        after.into_iter().skip(CONTEXT).for_each(|line| self.remember(line));
        // The line number of an empty range is that of the line before it.
        let [old, new] = [0, 1].map(|side| hunk.before[side] + u64::from(hunk.len[side] > 0));
        let header = format!("@@ -{old},{} +{new},{} @@\n", hunk.len[0], hunk.len[1]);
        self.out.extend_from_slice(header.as_bytes());
        self.out.append(&mut hunk.body);
        Ok(())
    }

    fn remember(&mut self, line: Vec<u8>) {
        self.context.push_back(line);
        if self.context.len() > CONTEXT {
            self.context.pop_front();
        }
    }
}

impl Hunk {
    fn take_changes(&mut self) {
        self.body.append(&mut self.removed);
        self.body.append(&mut self.added);
    }

    fn push_context(&mut self, line: &[u8]) {
        push(&mut self.body, b' ', line);
        self.len = self.len.map(|lines| lines + 1);
    }
}

fn push(out: &mut Vec<u8>, sign: u8, line: &[u8]) {
    out.push(sign);
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// Returns the next line with its LF, or `None` at the end.
fn line_of(input: &mut dyn BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    // The length is limited, because a file without line breaks would otherwise be read into memory completely.
    let read = io::Read::take(&mut *input, MAX_LEN as u64).read_until(b'\n', &mut line)?;
    match read {
        0 => Ok(None),
        MAX_LEN => Err(io::Error::other(format!("a line is longer than {} MiB", MAX_LEN >> 20))),
        _ => Ok(Some(line)),
    }
}

/// Returns the name of a file for `---` and `+++`. It is quoted as in git if it contains special characters.
fn file_name(side: &str, path: &Path) -> Vec<u8> {
    let mut name = path.as_os_str().as_encoded_bytes();
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    let name = [side.as_bytes(), if name.starts_with(b"/") { b"" } else { b"/" }, name].concat();
    if name.iter().any(|byte| matches!(byte, ..b' ' | b'"' | b'\\' | 0x7F..)) {
        let mut quoted = vec![b'"'];
        for byte in name {
            match byte {
                b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', byte]),
                b' '..=b'~' => quoted.push(byte),
                _ => quoted.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            }
        }
        quoted.push(b'"');
        return quoted;
    }
    // A TAB terminates a name that contains spaces.
    let tab: &[u8] = if name.contains(&b' ') { b"\t" } else { b"" };
    [&*name, tab].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> String {
        let names = names(Path::new("./f"), None);
        let out = unified(&names, &mut old.as_bytes(), &mut new.as_bytes(), DiffLines::Same);
        String::from_utf8(out.expect("no I/O")).expect("UTF-8")
    }

    #[test]
    fn hunks_have_three_lines_of_context() {
        let old = "1\n2\n3\n4\nx\n6\n7\n8\n9\n10\n11\n12\n13\ny";
        let expected = "\
--- a/f
+++ b/f
@@ -2,7 +2,7 @@
 2
 3
 4
-x
+X
 6
 7
 8
@@ -11,4 +11,4 @@
 11
 12
 13
-y
\\ No newline at end of file
+Y
\\ No newline at end of file
";
        assert_eq!(diff(old, &old.replace('x', "X").replace('y', "Y")), expected);
        assert_eq!(diff(old, old), "");
    }

    #[test]
    fn changes_that_are_near_are_in_one_hunk() {
        let old = "x\n2\n3\n4\n5\n6\n7\nx\n";
        let out = diff(old, &old.replace('x', "X"));
        assert_eq!(out.matches("@@ -").count(), 1, "{out}");
        assert!(out.contains("@@ -1,8 +1,8 @@\n-x\n+X\n 2\n"), "{out}");
        assert_eq!(
            diff("\u{FEFF}", ""),
            "--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-\u{FEFF}\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn special_names_are_quoted() {
        assert_eq!(file_name("a", Path::new("./x")), b"a/x");
        assert_eq!(file_name("a", Path::new("/x y")), b"a/x y\t");
        assert_eq!(file_name("b", Path::new("\"é\n")), b"\"b/\\\"\\303\\251\\012\"");
    }
}
