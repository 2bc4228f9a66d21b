//! What others do to a file while it is replaced, at each step.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;

const OLD: &str = "old\n";
const NEW: &str = "new\n";

/// A file that is being replaced.
struct Attempt {
    directory: TempDir,
    /// A program that had the file open before.
    writer: File,
    replacement: Replacement,
    read: Fingerprint,
}

impl Attempt {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        fs::write(&path, OLD).expect("a file");
        let writer = OpenOptions::new().append(true).open(&path).expect("a file");
        let input = Input::named(path);
        let opened = input.open_regular().expect("a file");
        let replacement = Replacement::of_input(&input, &opened).expect("it can be replaced");
        let mut content = Fingerprinted::new(&opened.file);
        content.read_to_string(&mut String::new()).expect("text");
        replacement.write(NEW.as_bytes()).expect("a temporary file");
        Self { directory, writer, replacement, read: content.fingerprint() }
    }

    /// Commits, and makes a change at some steps. Returns the error.
    fn change_at(&mut self, changes: &[(Step, &Change)]) -> Option<String> {
        let (path, mut writer) = (self.directory.path(), &self.writer);
        let result = self.replacement.commit_in_steps(self.read, None, &mut |step| {
            changes.iter().filter(|(at, _)| *at == step).for_each(|(_, change)| change(path, &mut writer));
        });
        result.err().map(|error| error.to_string())
    }

    /// Also returns the content of the file, and all names.
    fn commit(mut self, changes: &[(Step, &Change)]) -> (Option<String>, String, Vec<String>) {
        let error = self.change_at(changes);
        drop(self.replacement);
        (error, content(self.directory.path()), names(self.directory.path()))
    }
}

fn content(directory: &Path) -> String {
    fs::read_to_string(directory.join("file")).unwrap_or_else(|error| format!("{:?}", error.kind()))
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        names.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

type Change = dyn Fn(&Path, &mut &File);

fn append(directory: &Path, _: &mut &File) {
    let file = OpenOptions::new().append(true).open(directory.join("file"));
    file.expect("a file").write_all(b"appended\n").expect("it is written");
}

fn append_to_open_file(_: &Path, writer: &mut &File) {
    writer.write_all(b"appended\n").expect("it is written");
}

fn save(directory: &Path, _: &mut &File) {
    fs::write(directory.join("saved"), "saved\n").expect("a file");
    fs::rename(directory.join("saved"), directory.join("file")).expect("it is renamed");
}

fn save_again(directory: &Path, _: &mut &File) {
    fs::write(directory.join("saved"), "saved again\n").expect("a file");
    fs::rename(directory.join("saved"), directory.join("file")).expect("it is renamed");
}

/// Changes the content, but neither the length nor the time of modification.
fn edit(directory: &Path, _: &mut &File) {
    let mut file = OpenOptions::new().write(true).open(directory.join("file")).expect("a file");
    let modified = file.metadata().and_then(|metadata| metadata.modified()).expect("a time");
    file.write_all(b"OLD").and_then(|()| file.set_modified(modified)).expect("it is written");
}

fn protect(directory: &Path, _: &mut &File) {
    fs::set_permissions(directory.join("file"), Permissions::from_mode(0o400)).expect("a mode");
}

fn link(directory: &Path, _: &mut &File) {
    fs::hard_link(directory.join("file"), directory.join("link")).expect("a link");
}

fn remove(directory: &Path, _: &mut &File) {
    fs::remove_file(directory.join("file")).expect("it is removed");
}

fn replace_by_link(directory: &Path, writer: &mut &File) {
    remove(directory, writer);
    fs::write(directory.join("other"), OLD).expect("a file");
    symlink("other", directory.join("file")).expect("a link");
}

/// Before the exchange of the names, every change is noticed.
#[test]
fn a_file_that_others_change_first_is_not_replaced() {
    let changes: [(&Change, &str, &[&str]); 8] = [
        (&append, "old\nappended\n", &["file"]),
        (&append_to_open_file, "old\nappended\n", &["file"]),
        (&save, "saved\n", &["file"]),
        (&edit, "OLD\n", &["file"]),
        (&protect, OLD, &["file"]),
        (&link, OLD, &["file", "link"]),
        (&remove, "NotFound", &[]),
        (&replace_by_link, OLD, &["file", "other"]),
    ];
    for (number, (change, expected, expected_names)) in changes.into_iter().enumerate() {
        for step in [Step::Flushed, Step::Compared] {
            let (error, content, names) = Attempt::new().commit(&[(step, change)]);
            // There is nothing to exchange if the file was removed.
            let is_reported = |error: &str| error == CHANGED || error.contains("No such file");
            assert!(error.as_deref().is_some_and(is_reported), "{number} {step:?} {error:?}");
            assert_eq!(content, expected, "{number} {step:?}");
            assert_eq!(names, expected_names, "{number} {step:?}");
        }
        // Systems that cannot exchange names.
        let mut attempt = Attempt::new();
        attempt.replacement.flush().expect("it is flushed");
        change(attempt.directory.path(), &mut &attempt.writer);
        assert!(attempt.replacement.compare_and_rename(attempt.read, None).is_err(), "{number}");
        drop(attempt.replacement);
        assert_eq!(content(attempt.directory.path()), expected, "{number}");
        assert_eq!(names(attempt.directory.path()), expected_names, "{number}");
    }
}

const CHANGED: &str = "it changed while it was read";

/// After the exchange, the name is that of the new content, and changes of that are kept. A program that had the old file
/// open writes to that, which is noticed.
#[test]
fn a_file_that_others_change_after_the_exchange_keeps_the_changes() {
    let changes: [(&Change, &str); 5] = [
        (&append, "new\nappended\n"),
        (&save, "saved\n"),
        (&edit, "OLD\n"),
        (&protect, NEW),
        (&remove, "NotFound"),
    ];
    for (change, expected) in changes {
        let (error, content, names) = Attempt::new().commit(&[(Step::Exchanged, change)]);
        assert_eq!((error, &*content), (None, expected));
        assert_eq!(names.len(), usize::from(expected != "NotFound"), "{names:?}");
    }
    let (error, content, names) = Attempt::new().commit(&[(Step::Exchanged, &append_to_open_file)]);
    assert_eq!((error.as_deref(), &*content), (Some(CHANGED), "old\nappended\n"));
    assert_eq!(names, ["file"]);
}

/// The newest content keeps the name, and the other one is not removed.
#[test]
fn a_file_that_others_change_before_and_after_the_exchange_is_kept_in_both_states() {
    for (second, expected) in [(&save_again as &Change, "saved again\n"), (&append, "new\nappended\n")] {
        let mut attempt = Attempt::new();
        let error =
            attempt.change_at(&[(Step::Compared, &save), (Step::Rejected, second)]).expect("an error");
        let (path, other) = (attempt.directory.path(), attempt.replacement.temporary.name().to_owned());
        drop(attempt.replacement);
        assert!(error.contains(&*other.to_string_lossy()), "{error}");
        assert_eq!(content(path), expected);
        assert_eq!(fs::read_to_string(path.join(other)).expect("a file"), "saved\n");
    }
    let (error, content, names) =
        Attempt::new().commit(&[(Step::Compared, &save), (Step::Rejected, &remove)]);
    assert_eq!((error.as_deref(), &*content), (Some(CHANGED), "saved\n"));
    assert_eq!(names, ["file"]);
}

#[test]
fn the_old_file_is_kept_under_another_name() {
    for is_exchanged in [true, false] {
        let mut attempt = Attempt::new();
        let suffix = Some(OsStr::new(".bak"));
        let replacement = &mut attempt.replacement;
        match is_exchanged {
            true => replacement.commit_content(attempt.read, suffix),
            false => replacement.compare_and_rename(attempt.read, Some("file.bak".as_ref())),
        }
        .expect("it is replaced");
        let path = attempt.directory.path();
        assert_eq!(content(path), NEW);
        assert_eq!(fs::read_to_string(path.join("file.bak")).expect("a file"), OLD);
        assert_eq!(names(path), ["file", "file.bak"]);
    }
    // Another program uses the name meanwhile.
    for step in [Step::Flushed, Step::Exchanged] {
        let mut attempt = Attempt::new();
        let backup = attempt.directory.path().join("file.bak");
        let result = attempt.replacement.commit_in_steps(attempt.read, Some(".bak".as_ref()), &mut |at| {
            if at == step {
                fs::write(&backup, "other\n").expect("a file");
            }
        });
        assert!(result.is_err_and(|error| error.to_string().contains("file.bak: File exists")));
        drop(attempt.replacement);
        let path = attempt.directory.path();
        assert_eq!(
            (content(path), fs::read_to_string(backup).expect("a file")),
            (OLD.into(), "other\n".into())
        );
        assert_eq!(names(path), ["file", "file.bak"]);
    }
}

/// `convert` has its own name for the file that it replaces.
#[test]
fn an_output_that_is_also_the_input_is_compared() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    fs::write(&path, OLD).expect("a file");
    let other = directory.path().join("other");
    fs::write(&other, OLD).expect("a file");
    let opened = |path: &Path| Input::named(path.to_owned()).open().expect("a file");
    let input = opened(&path);
    append(directory.path(), &mut &input.file);
    let mut replacement = Replacement::of(path.clone(), Some(opened(&path).metadata)).expect("a file");
    assert!(!replacement.replaces(&opened(&other).metadata));
    assert!(replacement.replaces(&input.metadata));
    let read = Fingerprinted::new(&input.file).read_to_end().expect("text");
    let error = replacement.commit_content(read, None).expect_err("it was changed since it was opened");
    assert_eq!(error.to_string(), CHANGED);
    assert_eq!(content(directory.path()), "old\nappended\n");
}
