//! Files that `--fix` never changes, whatever their errors are.

use std::path::Path;

/// Why a patch is not changed.
pub(super) const PATCH: &str =
    "it is a patch, whose lines have the encodings of the files that it changes: it would no longer apply";

/// The length of the start of a file in which a patch begins. A description may precede it.
const START: usize = 4096;

/// Whether a file is a patch by its name.
pub(super) fn is_patch(path: &Path) -> bool {
    // Finding the extension of each file would take longer.
    let name = path.as_os_str().as_encoded_bytes();
    has_end(name, b".patch") || has_end(name, b".diff")
}

fn has_end(name: &[u8], end: &[u8]) -> bool {
    name.len() > end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// Whether a file that starts with these bytes is a patch: a mail of `git format-patch`, or a unified or context diff.
pub(super) fn starts_patch(start: &[u8]) -> bool {
    let start = &start[..start.len().min(START)];
    is_mail(start) || memchr::memchr2_iter(b'@', b'*', start).any(|at| is_third_line(start, at))
}

/// Whether the first line is that of a mail of `git format-patch`, whose date is always the same.
fn is_mail(start: &[u8]) -> bool {
    let Some(line) = start.strip_prefix(b"From ") else { return false };
    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    digits >= 40 && line.trim_ascii_end().ends_with(b" Mon Sep 17 00:00:00 2001")
}

/// Whether the third line of a diff starts at a position, after the lines with the names of the files.
fn is_third_line(text: &[u8], at: usize) -> bool {
    let (before, line) = text.split_at(at);
    let Some(before) = before.strip_suffix(b"\n") else { return false };
    let (first, second) = match line {
        _ if line.starts_with(b"@@ -") => (b"--- ", b"+++ "),
        _ if line.starts_with(b"***************") => (b"*** ", b"--- "),
        _ => return false,
    };
    let mut lines = before.rsplit(|&byte| byte == b'\n');
    lines.next().is_some_and(|line| line.starts_with(second))
        && lines.next().is_some_and(|line| {
            // A BOM may precede the first line.
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).starts_with(first)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_recognized_by_their_start() {
        let mail = "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\n";
        for (start, is_patch) in [
            (mail, true),
            ("From 0123456789abcdef0123456789abcdef01234567 Tue Sep 18 00:00:00 2001\n", false),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", true),
            ("Description: a patch of Debian\n\n--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n", true),
            ("*** x\n--- y\n***************\n", true),
            ("\u{FEFF}--- a/x\n+++ b/x\n@@ -1 +1 @@\n", true),
            ("+++ b/x\n@@ -1 +1 @@\n", false),
            ("@@ -1 +1 @@\n", false),
            ("--- a/x\n+++ b/x\n", false),
            ("---\ntitle: front matter\n---\n", false),
            ("", false),
        ] {
            assert_eq!(starts_patch(start.as_bytes()), is_patch, "{start}");
        }
    }
}
