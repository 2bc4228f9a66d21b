//! Options of `check --fix`, and what it needs of the system.

use std::fs;
use std::process::Output;

use crate::support::program::{Directory, program, run, stderr, stdout};

fn fix(directory: &Directory, args: &[&str]) -> Output {
    run(program(&["check", "--fix"]).args(args).current_dir(directory.root()), b"")
}

#[test]
fn a_backup_is_not_fixed_again() {
    let directory = Directory::new();
    directory.write("a", b"caf\xE9\n");
    // No file of this run or of an earlier one has this as its backup.
    directory.write("other.orig", b"caf\xE9\n");
    let args = ["--from", "latin1", "--backup", ".orig", "."];
    assert_eq!(fix(&directory, &args).status.code(), Some(0));
    let names = ["a", "a.orig", "other.orig", "other.orig.orig"];
    assert_eq!(directory.names(), names);
    let output = fix(&directory, &args);
    assert_eq!((output.status.code(), directory.names()), (Some(0), names.map(str::to_owned).to_vec()));
    assert_eq!(directory.read("a.orig"), b"caf\xE9\n");
    // A backup that is named is a file.
    assert_eq!(fix(&directory, &["--from", "latin1", "--backup", ".old", "a.orig"]).status.code(), Some(0));
    assert_eq!(directory.read("a.orig"), "café\n".as_bytes());
}

#[test]
fn a_diff_has_no_format_and_no_statistics_and_is_not_printed_with_quiet() {
    let directory = Directory::new();
    directory.write("a", b"caf\xE9\n");
    directory.write("b", b"\xCF\xF0\xE8\xE2\xE5\xF2\n");
    for diff in [&["--diff"][..], &["--fix", "--dry-run"]] {
        let check = |args: &[&str]| {
            let args = [&["check", "--from", "latin1"], diff, args, &["a"]].concat();
            run(program(&args).current_dir(directory.root()), b"")
        };
        assert!(String::from_utf8_lossy(&check(&[]).stdout).contains("+café"));
        for args in [&["--format", "json"][..], &["--format", "github"], &["--stats"]] {
            let output = check(args);
            assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{args:?}");
        }
        let output = check(&["--quiet"]);
        let printed = (stdout(&output), stderr(&output));
        assert_eq!((output.status.code(), printed), (Some(1), (String::new(), String::new())));
        let args = [&["check", "--quiet"], diff, &["b"]].concat();
        let output = run(program(&args).current_dir(directory.root()), b"");
        assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()));
    }
}

#[test]
fn statistics_are_in_the_formats_that_have_a_place_for_them() {
    let directory = Directory::new();
    directory.write("a", "one\ntwo\n");
    let stats = |format: &str| {
        let args = ["check", "--stats", "--format", format, "a"];
        run(program(&args).current_dir(directory.root()), b"")
    };
    let expected = "bytes         8\nlines         2\ncharacters    8\nlongest line  3 characters\n";
    assert_eq!(stdout(&stats("short")), expected);
    assert!(stdout(&stats("human")).ends_with(expected));
    assert!(stdout(&stats("json")).contains("\"longest_line\":3"));
    for format in ["sarif", "github", "gitlab"] {
        let output = stats(format);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{format}");
        assert_eq!(stderr(&output), "utf8-codec: --stats has the formats human, short and json\n");
    }
}

#[test]
fn a_bom_that_a_reader_strips_is_kept() {
    let directory = Directory::new();
    directory.write("utf8-codec.toml", "bom = 'strip'\nrules = ['mojibake']\n");
    for args in [&[][..], &["--bom", "strip"]] {
        directory.write("a", "\u{FEFF}cafÃ©\n");
        assert_eq!(fix(&directory, &[args, &["a"]].concat()).status.code(), Some(0));
        assert_eq!(String::from_utf8(directory.read("a")).expect("UTF-8"), "\u{FEFF}café\n");
    }
}

/// Programs that know no better append UTF-8 to CESU-8.
#[test]
fn the_command_for_cesu_8_converts_sequences_of_four_bytes_too() {
    let (old, new) = (b"a\xED\xA0\xBD\xED\xB2\xA9 \xF0\x9F\x92\xA9\n", "a💩 💩\n");
    let directory = Directory::new();
    directory.write("a", old);
    let report = stdout(&run(program(&["check", "a"]).current_dir(directory.root()), b""));
    let command = report.split_once("to fix it: utf8-codec ").expect("a command").1.lines().next();
    let words: Vec<_> = command.expect("a line").split(' ').collect();
    let output = run(program(&words).current_dir(directory.root()), b"");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert_eq!(String::from_utf8(directory.read("a")).expect("UTF-8"), new);
    directory.write("a", old);
    assert_eq!(fix(&directory, &["a"]).status.code(), Some(0));
    assert_eq!(String::from_utf8(directory.read("a")).expect("UTF-8"), new);
}

/// A container may have no directory for temporary files.
#[test]
fn a_directory_for_temporary_files_is_needed_for_long_files_only() {
    let directory = Directory::new();
    directory.write("a", "cafÃ©\n");
    directory.write("wide", [&b"\xFF\xFE"[..], &"h\0".repeat(100).into_bytes()].concat());
    let absent = directory.path("absent");
    let check = |args: &[&str], stdin: &[u8]| {
        let args = [&["check", "--rule", "mojibake"], args].concat();
        run(program(&args).current_dir(directory.root()).env("TMPDIR", &absent), stdin)
    };
    assert!(stdout(&check(&["--format", "short", "-"], "cafÃ©\n".as_bytes())).contains("it was é"));
    let diff = stdout(&check(&["--diff", "."], b""));
    assert!(diff.contains("+café") && diff.contains("--- a/wide (utf-16)"), "{diff}");
    assert_eq!(check(&["--fix", "."], b"").status.code(), Some(0));
    // A long one needs it, and the message names it.
    let expected = format!("a temporary file in {}: No such file", absent.display());
    let long = "cafÃ©\n".to_owned() + &"plain text, and more of it\n".repeat(60_000);
    let output = check(&["-"], long.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    directory.write("a", &long);
    let output = check(&["--diff", "a"], b"");
    assert!(stderr(&output).contains(&format!("cannot fix a: {expected}")), "{}", stderr(&output));
    assert_eq!(check(&["--fix", "a"], b"").status.code(), Some(0));
    assert!(fs::metadata(absent).is_err());
}
