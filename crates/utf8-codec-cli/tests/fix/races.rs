//! `utf8-codec check --fix`, while others change the files.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::{Command, Output, Stdio};
use std::thread;

use crate::support::program::{Directory, program, run, stderr};

/// Runs a check of the directory `tree`, and calls `change` when the program has read the names of its files and has
/// opened none: it then reads its configuration, which is a FIFO.
fn check_and_change(directory: &Directory, args: &[&str], change: impl FnOnce()) -> Output {
    let fifo = directory.path("config");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let mut command = program(&["check", "--config", "config"]);
    command.args(args).arg("tree").current_dir(directory.root());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    // Waits until the program opens it.
    let config = OpenOptions::new().write(true).open(&fifo).expect("a FIFO");
    change();
    drop(config);
    let output = child.wait_with_output().expect("the program ends");
    fs::remove_file(fifo).expect("a FIFO");
    output
}

/// What is in place of a file or of its directory must not be followed: somebody else may have put it there so that a
/// privileged user reads or rewrites another file.
#[test]
fn a_symbolic_link_that_is_put_into_a_directory_is_not_followed() {
    for args in [&["--fix", "--from", "latin1"][..], &["--fix", "--from", "latin1", "--dry-run"], &[]] {
        for replaced in ["tree/d/f", "tree/d"] {
            let directory = Directory::new();
            directory.write("tree/d/f", b"inside \xE9\n");
            directory.write("tree/e", b"other \xE9\n");
            let target = if replaced.ends_with('f') { "outside/f" } else { "outside" };
            directory.write("outside/f", b"outside \xE9\n");
            let output = check_and_change(&directory, args, || {
                fs::rename(directory.path(replaced), directory.path("moved")).expect("it is moved");
                symlink(directory.path(target), directory.path(replaced)).expect("a link");
            });
            let errors = stderr(&output);
            let reason = "cannot read tree/d/f: a symbolic link has taken its place\n";
            assert!(errors.contains(reason), "{args:?} {replaced}: {errors}");
            assert_eq!(output.status.code(), Some(2));
            let report = String::from_utf8_lossy(&output.stdout);
            assert!(!report.contains("outside"), "{report}");
            assert_eq!(directory.read("outside/f"), b"outside \xE9\n");
            let moved = if replaced.ends_with('f') { "moved" } else { "moved/f" };
            assert_eq!(directory.read(moved), b"inside \xE9\n");
            // The other file is handled as usual.
            let is_fixed = args.len() == 3;
            assert_eq!(
                directory.read("tree/e"),
                if is_fixed { "other é\n".as_bytes() } else { b"other \xE9\n" }
            );
            assert_eq!(fs::read_dir(directory.path("outside")).expect("a directory").count(), 1);
        }
    }
}

/// A FIFO would let the program wait.
#[test]
fn a_fifo_that_is_put_into_a_directory_is_not_opened() {
    for args in [&["--fix", "--from", "latin1"][..], &[]] {
        let directory = Directory::new();
        directory.write("tree/f", b"caf\xE9\n");
        let output = check_and_change(&directory, args, || {
            fs::remove_file(directory.path("tree/f")).expect("a file");
            assert!(Command::new("mkfifo").arg(directory.path("tree/f")).status().expect("mkfifo").success());
        });
        assert_eq!(stderr(&output), "utf8-codec: cannot read tree/f: it is not a regular file\n");
        assert_eq!(output.status.code(), Some(2));
    }
}

/// Appends a line, like a shell with `>>`. A line that was written to a file that had been replaced before is written
/// again: the program cannot see this, and a writer can.
fn append(directory: &Directory, line: &[u8]) {
    loop {
        let file = OpenOptions::new().append(true).open(directory.path("file"));
        let mut file = file.expect("the file always exists");
        file.write_all(line).expect("it is written");
        if file.metadata().expect("metadata").nlink() > 0 {
            return;
        }
    }
}

/// Saves all lines, like an editor.
fn save(directory: &Directory, lines: &[u8]) {
    directory.write(".saved", lines);
    fs::rename(directory.path(".saved"), directory.path("file")).expect("it is renamed");
}

/// The programs that run at the same time as one writer.
const RUNS: usize = 60;

#[test]
fn lines_that_are_written_during_a_fix_are_not_lost() {
    for is_editor in [false, true] {
        let directory = Directory::new();
        directory.write("file", b"caf\xE9\n");
        let is_running = AtomicBool::new(true);
        let lines = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut all = b"caf\xE9\n".to_vec();
                for number in 0..20_000 {
                    if !is_running.load(Ordering::Relaxed) {
                        return number;
                    }
                    let line = [format!("line {number} ").as_bytes(), b"\xE9\n"].concat();
                    all.extend_from_slice(&line);
                    if is_editor {
                        save(&directory, &all)
                    } else {
                        append(&directory, &line)
                    }
                    thread::yield_now();
                }
                20_000
            });
            for _ in 0..RUNS {
                let args = ["check", "--fix", "--from", "latin1", "--max-errors", "1", "file"];
                let output = run(program(&args).current_dir(directory.root()), b"");
                let errors = stderr(&output);
                let is_known = errors.is_empty() || errors.contains("it changed");
                assert!(is_known && output.status.code().is_some(), "{errors}");
            }
            is_running.store(false, Ordering::Relaxed);
            writer.join().expect("no panic")
        });
        // If both states of the file were changed, the other one is kept.
        let names = directory.names();
        let content: Vec<u8> = names.iter().flat_map(|name| directory.read(name)).collect();
        let content = String::from_utf8_lossy(&content);
        let found: std::collections::HashSet<_> =
            content.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        let lost: Vec<_> = (0..lines).filter(|number| !found.contains(&*number.to_string())).collect();
        assert!(
            lost.is_empty(),
            "{is_editor}: {} of {lines} lines are lost: {lost:?}; {names:?}",
            lost.len()
        );
    }
}
