//! Files that git does not store as the text that they contain, patches, and files whose editors read another encoding.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use crate::support::program::{Directory, program, run, stderr, stdout};

fn check(directory: &Directory, args: &[&str]) -> Output {
    run(program(&["check", "--format", "short"]).args(args).current_dir(directory.root()), b"")
}

/// Returns the errors of all files.
fn errors(directory: &Directory) -> Vec<String> {
    stdout(&check(directory, &["."])).lines().map(str::to_owned).collect()
}

/// What Git for Windows users report about resource scripts (git#550).
const UTF_16: &[u8] = b"\xFF\xFEa\0\r\0\n\0";

#[test]
fn text_that_git_converts_is_checked_in_its_encoding_and_never_converted() {
    let lines = "*.rc working-tree-encoding=UTF-16LE-BOM eol=crlf\n*.u working-tree-encoding=UTF-16\n\
                 *.le working-tree-encoding=UTF-16LE\n*.l1 text working-tree-encoding=ISO-8859-1\n";
    for (name, content, found) in [
        ("a.rc", UTF_16, &[][..]),
        ("a.rc", b"\xFE\xFF\0a", &[":1:1: the BOM is that of utf-16be, and the encoding should be utf-16le"]),
        ("a.rc", b"a\0", &[":1:1: there is no BOM"]),
        ("a.u", UTF_16, &[]),
        ("a.u", b"\xFE\xFF\0a", &[]),
        ("a.u", b"abc\r\n", &[":1:1: there is no BOM", ":1:3: the input ends inside a code unit of utf-16"]),
        ("a.le", b"a\0", &[]),
        ("a.le", UTF_16, &[":1:1: there is a BOM"]),
        ("a.l1", b"caf\xE9", &[]),
        ("a.txt", b"caf\xE9", &[":1:4: the input ends inside a character"]),
    ] {
        let directory = Directory::new();
        directory.write(".gitattributes", lines);
        directory.write(name, content);
        let found: Vec<_> = found.iter().map(|error| format!("./{name}{error}")).collect();
        assert_eq!(errors(&directory), found, "{name} {}", content.escape_ascii());
        if name == "a.txt" {
            continue;
        }
        for args in [&[][..], &["--encoding", "utf-8", "--from", "windows-1252"], &["--bom", "strip"]] {
            let output = check(&directory, &[&["--fix", name], args].concat());
            assert!(output.status.code() < Some(2), "{}", stderr(&output));
            assert_eq!(directory.read(name), content);
        }
    }
}

#[test]
fn the_report_says_why_and_has_no_command() {
    let directory = Directory::new();
    directory.write(".gitattributes", "*.rc working-tree-encoding=UTF-16LE-BOM\n");
    directory.write("a.rc", UTF_16);
    let output =
        run(program(&["check", "--fix", "--encoding", "utf-8", "a.rc"]).current_dir(directory.root()), b"");
    let report = stdout(&output);
    assert!(report.contains("git converts it to UTF-16LE-BOM itself, as .gitattributes says"), "{report}");
    assert!(!report.contains("to fix it"), "{report}");
    directory.write(".gitattributes", "*.rc working-tree-encoding=UTF-9\n");
    let output = check(&directory, &["."]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), String::new()));
    let errors = stderr(&output);
    assert!(errors.contains("./a.rc: the working-tree-encoding UTF-9 is not known\n"));
    directory.write("a.rc", b"caf\xE9\n");
    let explicit = |args: &[&str]| {
        let output = check(&directory, args);
        assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()), "{args:?}");
        assert!(stdout(&output).starts_with("./a.rc:1:4: "), "{}", stdout(&output));
    };
    explicit(&["--encoding", "utf-8", "."]);
    directory.write("utf8-codec.toml", "encoding = \"utf-8\"\n");
    explicit(&["."]);
}

#[test]
fn files_that_are_no_text_are_skipped_as_binary() {
    let directory = Directory::new();
    directory.write(".gitattributes", "*.dat binary\n*.bin -text\n/sub/odd.dat text\n*.all text\n* -text\n");
    for name in ["a.dat", "a.bin", "a.txt", "sub/odd.dat", "sub/b.dat", "a.all"] {
        directory.write(name, b"caf\xE9\n");
    }
    let names = |args: &[&str]| -> Vec<String> {
        let output = stdout(&check(&directory, args));
        output.lines().map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
    };
    // The last line is about the ends of lines.
    assert_eq!(names(&["."]), ["./a.all", "./a.txt", "./sub/odd.dat"]);
    let summary = stdout(&run(program(&["check"]).current_dir(directory.root()), b""));
    assert!(summary.ends_with("3 errors in 3 files, 3 binary files skipped\n"), "{summary}");
    // A file that is named is checked, unless a hook names it, and never fixed.
    assert_eq!(names(&["a.dat"]), ["a.dat"]);
    assert_eq!(names(&["--force-exclude", "a.dat", "a.txt"]), ["a.txt"]);
    let output =
        run(program(&["check", "--fix", "--from", "latin1", "a.dat"]).current_dir(directory.root()), b"");
    assert!(stdout(&output).contains("a.dat is not fixed: it is not text, as .gitattributes says"));
    assert_eq!(directory.read("a.dat"), b"caf\xE9\n");
}

/// The attributes of git itself and of the program are the same.
#[test]
#[ignore = "requires git"]
fn attributes_are_those_of_git() {
    let directory = Directory::new();
    let git = |args: &[&str]| run(Command::new("git").args(args).current_dir(directory.root()), b"");
    assert!(git(&["init", "-q"]).status.success());
    directory.write(
        ".gitattributes",
        "[attr]win working-tree-encoding=UTF-16LE-BOM\n\"a b.txt\" win\n*.rc win\nsub/** -text\n\
         /root.rc !working-tree-encoding\n*.bin binary\n[a-b]?.txt -text\n{x,y} binary\n",
    );
    directory.write("sub/.gitattributes", "[attr]win -text\n*.rc binary\nkeep.* text\n/deep/*.txt win\n");
    directory.write(".git/info/attributes", "*.info -text\nsub/other.rc text\n");
    let names = [
        "a b.txt",
        "a.rc",
        "root.rc",
        "x.bin",
        "ax.txt",
        "axx.txt",
        "x",
        "sub/a.rc",
        "sub/keep.rc",
        "sub/keep.txt",
        "sub/deep/a.txt",
        "sub/deep/b.rc",
        "sub/other.rc",
        "x.info",
        "sub/x.info",
    ];
    for name in names {
        directory.write(name, b"\xFF\xFFa");
    }
    let checked = |name: &str| {
        let output = check(&directory, &["."]);
        let report = stdout(&output);
        let line = report.lines().find(|line| line.starts_with(&format!("./{name}:")));
        line.map(|line| line.contains("no BOM") || line.contains("code unit"))
    };
    for name in names {
        let output = git(&["check-attr", "text", "working-tree-encoding", "--", name]);
        let attributes = stdout(&output);
        let is_wide = attributes.contains("working-tree-encoding: UTF-16LE-BOM");
        let is_binary = attributes.contains("text: unset");
        let expected = if is_wide { Some(true) } else { (!is_binary).then_some(false) };
        assert_eq!(checked(name), expected, "{attributes}");
    }
    // In a linked working tree the file is in the repository.
    let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
    assert!(git(&[&author[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat()).status.success());
    assert!(git(&["worktree", "add", "-q", "tree"]).status.success());
    directory.write("tree/x.info", b"\xFF");
    let output = run(program(&["check", "--format", "short", "tree"]).current_dir(directory.root()), b"");
    assert_eq!(stdout(&output), "");
}

/// What `git add` stores is the text, before and after a fix.
#[test]
#[ignore = "requires git"]
fn a_fix_leaves_what_git_add_stores() {
    let directory = Directory::new();
    let git = |args: &[&str]| run(Command::new("git").args(args).current_dir(directory.root()), b"");
    assert!(git(&["init", "-q"]).status.success());
    directory.write(".gitattributes", "*.rc working-tree-encoding=UTF-16LE-BOM eol=crlf\n");
    directory.write("a.rc", UTF_16);
    assert_eq!(check(&directory, &["--fix", "."]).status.code(), Some(0));
    assert!(git(&["add", "a.rc"]).status.success());
    assert_eq!(git(&["cat-file", "-p", ":a.rc"]).stdout, b"a\n");
}

#[test]
fn attributes_are_read_from_regular_files_of_a_limited_length() {
    let directory = Directory::new();
    directory.write("text", b"\xFF");
    directory.write("attributes", "* binary\n");
    symlink("attributes", directory.path(".gitattributes")).expect("a link");
    assert_eq!(errors(&directory).len(), 1, "git does not follow the link");
    fs::remove_file(directory.path(".gitattributes")).expect("a link");
    directory.write(".gitattributes", "#".repeat((1 << 20) + 1));
    let output = check(&directory, &["text"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(".gitattributes: it is longer than 1 MiB"), "{}", stderr(&output));
}

#[test]
fn patches_are_reported_and_never_converted() {
    let diff = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-caf\xE9\n+caf\xC3\xA9\n";
    let mail = b"From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\n\ncaf\xE9\n";
    let marked = b"\xEF\xBB\xBF--- a/x\n+++ b/x\n@@ -1 +1 @@\n caf\xC3\x83\xC2\xA9\n";
    for (name, content) in [
        ("x.patch", &b"caf\xE9\n"[..]),
        ("x.DIFF", b"caf\xE9\n"),
        ("debian/patches/fix-encoding", diff),
        ("0001", mail),
        ("x.patch", marked),
    ] {
        let directory = Directory::new();
        directory.write(name, content);
        let args =
            ["check", "--fix", "--from", "windows-1252", "--bom", "reject", "--rule", "mojibake", name];
        let output = run(program(&args).current_dir(directory.root()), b"");
        assert_eq!(output.status.code(), Some(1), "{name}");
        let report = stdout(&output);
        assert!(report.contains("is not fixed: it is a patch"), "{report}");
        let report = stdout(&run(program(&["check", name]).current_dir(directory.root()), b""));
        assert!(!report.contains("to fix it"), "{report}");
        assert_eq!(directory.read(name), content);
    }
}

#[test]
fn what_the_files_beside_an_input_declare_decides() {
    let directory = Directory::new();
    directory.write(".gitattributes", "*.l2 working-tree-encoding=ISO-8859-2\n");
    directory.write(".editorconfig", "root = true\n[*.l1]\ncharset = latin1\n[*.txt]\ncharset = utf-8\n");
    let auto = |name: &str| {
        let output = run(program(&["convert", "--from", "auto", name]).current_dir(directory.root()), b"");
        (output.status.code(), stdout(&output))
    };
    for (name, expected) in [("a.l1", "caf\u{E9} \u{B1}\n"), ("a.l2", "caf\u{E9} \u{105}\n")] {
        directory.write(name, b"caf\xE9 \xB1\n");
        assert_eq!(auto(name), (Some(0), expected.to_owned()), "{name}");
    }
    directory.write("a.txt", b"caf\xE9 \xB1\n");
    assert_eq!(auto("a.txt"), (Some(1), String::new()));
}

/// Editors would read UTF-8 in the encoding that it names.
#[test]
fn a_file_with_another_charset_in_editorconfig_is_not_converted() {
    for (charset, content, is_fixed) in [
        ("latin1", &b"caf\xE9\n"[..], false),
        ("utf-16le", UTF_16, false),
        ("utf-8", b"caf\xE9\n", true),
        ("utf-8-bom", b"caf\xE9\n", true),
        ("unset", b"caf\xE9\n", true),
    ] {
        let directory = Directory::new();
        directory.write(".editorconfig", format!("root = true\n[*.txt]\ncharset = {charset}\n"));
        directory.write("a.txt", content);
        let report = stdout(&run(program(&["check", "a.txt"]).current_dir(directory.root()), b""));
        assert_eq!(report.contains("to fix it"), is_fixed, "{charset}: {report}");
        let args = ["check", "--fix", "--from", "latin1", "a.txt"];
        let report = stdout(&run(program(&args).current_dir(directory.root()), b""));
        assert_eq!(directory.read("a.txt") != content, is_fixed, "{charset}: {report}");
        let reason = format!("its charset in .editorconfig is {charset}, which --fix does not change");
        assert_eq!(report.contains(&reason), !is_fixed, "{report}");
    }
}
