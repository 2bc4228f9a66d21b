//! The command line, the reports and the hooks of `check`, `detect` and `mail`.

use core::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::program::{Directory, PROGRAM, program, run, stderr, stdout};

/// Runs the program in a directory below the root of `directory`, without the variables of a CI service.
fn run_in(directory: &Directory, below: &str, args: &[&str], stdin: &[u8]) -> Output {
    let mut command = program(args);
    run(command.current_dir(directory.path(below)).env_remove("GITHUB_WORKSPACE"), stdin)
}

/// Returns the paths of the annotations of a report.
fn annotated(format: &str, report: &str) -> Vec<String> {
    if format == "sarif" {
        let log: Value = serde_json::from_str(report).expect("JSON");
        let results = log["runs"][0]["results"].as_array().expect("results");
        let uri = |result: &Value| {
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().map(String::from)
        };
        results.iter().filter_map(uri).collect()
    } else {
        let file = |line: &str| line.split("file=").nth(1)?.split(',').next().map(String::from);
        report.lines().filter_map(file).collect()
    }
}

// pre-commit 2896, git-hooks.nix 303, avoid-ai-writing 300
#[test]
fn the_hooks_check_files_whose_names_look_like_options() {
    let hooks = include_str!("../linked/.pre-commit-hooks.yaml");
    let values = |key: &str| -> Vec<&str> {
        hooks.lines().filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": ")).collect()
    };
    let (entries, args) = (values("entry"), values("args"));
    assert_eq!((entries.len(), args.len()), (values("- id").len(), values("- id").len()));
    let names = ["-weird.txt", "--encoding=latin1", "--quiet", "-q", "good.txt"];
    let directory = Directory::new();
    for name in names {
        directory.write(name, if name == "good.txt" { &b"a\n"[..] } else { b"\xE9\n" });
    }
    for (entry, args) in entries.iter().zip(args) {
        let args = args.trim_matches(['[', ']']).split(", ").chain(names);
        let words: Vec<&str> = entry.split(' ').skip(1).chain(args).collect();
        let output = run_in(&directory, "", &words, b"");
        assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()), "{entry}");
        for name in &names[..4] {
            assert!(stdout(&output).contains(&format!(" --> {name}:1:1 ")), "{name}: {}", stdout(&output));
        }
    }
    // The command that the report names works.
    directory.write("-q", b"Die Stra\xDFe f\xFChrt \xFCber die Br\xFCcke nach M\xFCnchen.\n");
    let report = stdout(&run_in(&directory, "", &["check", "--", "-q"], b""));
    let hint =
        report.lines().find_map(|line| line.trim().strip_prefix("to fix it: utf8-codec ")).expect("a hint");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("\"$0\" {hint}"), PROGRAM]).current_dir(directory.root());
    assert_eq!(stderr(&run(&mut shell, b"")), "");
    assert_eq!(directory.read("-q"), "Die Straße führt über die Brücke nach München.\n".as_bytes());
}

// codeql-action 2829, typos 1496, ruff 17435, jscpd 827
#[test]
fn the_paths_of_annotations_are_relative_to_the_repository() {
    let directory = Directory::new();
    directory.write("work/repository/.git/HEAD", "");
    directory.write("work/repository/sub/deep/x.txt", b"\xFF");
    directory.write("work/linked/.git", "gitdir: elsewhere\n");
    directory.write("work/linked/y.txt", b"\xFF");
    directory.write("work/outside.txt", b"\xFF");
    std::os::unix::fs::symlink("repository", directory.path("work/alias")).expect("a link");
    let root = directory.root().display();
    let workspace = &*format!("{root}/work");
    let by_link = &*format!("{root}/work/alias");
    let absolute = &*format!("{root}/work//repository/./sub/deep/x.txt");
    let outside = &*format!("{root}/work/outside.txt");
    let other = &*format!("{root}/none");
    for (below, workspace, path, relative) in [
        ("work/repository", None, ".", "sub/deep/x.txt"),
        ("work/repository", None, "./sub//deep", "sub/deep/x.txt"),
        ("work/repository", None, "sub/deep/../deep/x.txt", "sub/deep/x.txt"),
        ("work/repository", None, absolute, "sub/deep/x.txt"),
        ("work/repository/sub", None, ".", "sub/deep/x.txt"),
        ("work/repository/sub", None, "deep/x.txt", "sub/deep/x.txt"),
        ("work/repository/sub/deep", None, "..", "sub/deep/x.txt"),
        ("work/repository/sub", Some(workspace), "deep//x.txt", "repository/sub/deep/x.txt"),
        ("work/repository/sub", Some(by_link), "deep/x.txt", "sub/deep/x.txt"),
        ("work", None, "alias/sub/deep/x.txt", "sub/deep/x.txt"),
        // A workspace that does not contain the file, and one that is not absolute.
        ("work/repository/sub", Some(other), "deep/x.txt", "sub/deep/x.txt"),
        ("work/repository/sub", Some(""), "deep/x.txt", "sub/deep/x.txt"),
        // The current directory is in no repository, or in another one.
        ("", None, absolute, "sub/deep/x.txt"),
        ("work", None, "outside.txt", "outside.txt"),
        ("work/repository", None, "../linked", "y.txt"),
        ("work/repository", None, "../outside.txt", outside),
    ] {
        for command in ["check", "detect"] {
            for format in ["github", "sarif"] {
                let mut program = program(&[command, "--format", format, path]);
                program.current_dir(directory.path(below)).env_remove("GITHUB_WORKSPACE");
                workspace.map(|workspace| program.env("GITHUB_WORKSPACE", workspace));
                let report = stdout(&run(&mut program, b""));
                let expected = match format {
                    "sarif" if relative.starts_with('/') => format!("file://{relative}"),
                    _ => relative.to_owned(),
                };
                let case = (command, format, below, workspace, path);
                assert_eq!(annotated(format, &report), [expected], "{case:?}");
            }
        }
    }
    // Standard input has no path.
    let report = run_in(&directory, "work/repository/sub", &["check", "--format", "github", "-"], b"\xFF");
    assert_eq!(annotated("github", &stdout(&report)), ["-"]);
}

/// Returns the command for a copy of the program that cannot read a directory of mode 0: as another user, if this is
/// root.
fn unprivileged(directory: &Directory) -> Command {
    let copy = directory.path("program");
    // Not `fs::copy`: a process that another test starts at that moment would inherit the open file, which then cannot be
    // executed.
    assert!(Command::new("cp").arg(PROGRAM).arg(&copy).status().expect("cp").success());
    let mut command = Command::new(copy);
    if fs::read_dir(directory.path("tree/closed")).is_ok() {
        command.uid(65_534).gid(65_534);
    }
    command
}

// sarif-sdk 2704
#[test]
fn a_directory_that_cannot_be_read_is_in_every_report() {
    let directory = Directory::new();
    directory.write("tree/a.txt", "good\n");
    directory.write("tree/closed/b.txt", b"\xFF");
    fs::set_permissions(directory.path("tree/closed"), fs::Permissions::from_mode(0o000))
        .expect("permissions");
    fs::set_permissions(directory.root(), fs::Permissions::from_mode(0o755)).expect("permissions");
    let reason = "Permission denied (os error 13)";
    for command in ["check", "detect"] {
        let report = |format: &str| {
            let mut program = unprivileged(&directory);
            program.args([command, "--format", format, "tree"]).current_dir(directory.root());
            let output = run(program.env_remove("GITHUB_WORKSPACE"), b"");
            assert_eq!(output.status.code(), Some(2), "{command} {format}");
            assert_eq!(stderr(&output), format!("utf8-codec: cannot read tree/closed: {reason}\n"));
            stdout(&output)
        };
        let objects: Vec<Value> =
            report("json").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(objects.len(), 2, "{objects:?}");
        // In the order of the names.
        assert_eq!((&objects[0]["file"], &objects[0]["unreadable"]), (&"tree/a.txt".into(), &Value::Null));
        assert_eq!((&objects[1]["file"], &objects[1]["unreadable"]), (&"tree/closed".into(), &reason.into()));

        let sarif: Value = serde_json::from_str(&report("sarif")).expect("JSON");
        let invocation = &sarif["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        let notification = &invocation["toolExecutionNotifications"][0];
        let location = &notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!((&notification["level"], location), (&"error".into(), &"tree/closed".into()));
        assert_eq!(notification["message"]["text"], format!("cannot be read: {reason}"));

        let github = report("github");
        assert!(
            github.ends_with(&format!("::error file=tree/closed::cannot be read: {reason}\n")),
            "{github}"
        );
        let human = report("human");
        assert!(command == "detect" || human.ends_with("no errors, 1 path could not be read\n"), "{human}");
    }
    fs::set_permissions(directory.path("tree/closed"), fs::Permissions::from_mode(0o755))
        .expect("permissions");

    // A file that cannot be read, and a run without failures.
    for (path, is_read) in [("absent", false), ("tree/a.txt", true)] {
        let output = run_in(&directory, "", &["check", "--format", "sarif", path], b"");
        let sarif: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let invocation = &sarif["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], is_read);
        assert_eq!(
            invocation["toolExecutionNotifications"].as_array().map_or(0, Vec::len),
            usize::from(!is_read)
        );
    }
}

#[test]
fn without_a_path_the_current_directory_is_read() {
    let directory = Directory::new();
    directory.write("sub/bad.txt", b"\xFF");
    for stdin in [&b""[..], b"text\n"] {
        let output = run_in(&directory, "", &["check"], stdin);
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        assert!(stdout(&output).ends_with("1 file checked: 1 error in 1 file\n"), "{}", stdout(&output));
        let output = run_in(&directory, "", &["detect", "--format", "short"], stdin);
        assert_eq!((output.status.code(), &*stdout(&output)), (Some(1), "./sub/bad.txt: unknown\n"));
    }
    let fixed = run_in(&directory, "", &["check", "--fix", "--from", "latin1"], b"");
    assert_eq!((fixed.status.code(), directory.read("sub/bad.txt")), (Some(0), "ÿ".as_bytes().to_vec()));
}

#[test]
fn the_summary_names_standard_input() {
    let directory = Directory::new();
    directory.write("a.txt", "good\n");
    for (args, stdin, status, summary) in [
        (&["-"][..], &b""[..], 0, "empty standard input checked: no errors\n"),
        (&["-"], b"good", 0, "standard input checked: no errors\n"),
        (&["-"], b"\xFF", 1, "standard input checked: 1 error\n"),
        (&["a.txt", "-"], b"", 0, "1 file and empty standard input checked: no errors\n"),
        (&["-", "a.txt", "./a.txt"], b"\xFF", 1, "2 files and standard input checked: 1 error in 1 file\n"),
        (&["a.txt"], b"\xFF", 0, "1 file checked: no errors\n"),
    ] {
        let output = run_in(&directory, "", &[&["check"], args].concat(), stdin);
        assert_eq!(output.status.code(), Some(status), "{args:?}");
        assert!(stdout(&output).ends_with(summary), "{args:?}: {}", stdout(&output));
    }
    // `mail` reads standard input by default, but an empty one is not a message without errors.
    let output = run_in(&directory, "", &["mail"], b"");
    assert_eq!((output.status.code(), &*stdout(&output)), (Some(2), ""));
    assert!(stderr(&output).contains("there is no FILE, and standard input is empty"), "{}", stderr(&output));
    for (args, stdin) in [(&["mail"][..], &b"A: b\n\ntext\n"[..]), (&["mail", "-"], b"")] {
        assert_eq!(run_in(&directory, "", args, stdin).status.code(), Some(0), "{args:?}");
    }
}

/// GitHub Actions executes a line of output that starts with `::COMMAND::`, after white space, and one that contains
/// `##[COMMAND]`; Azure Pipelines one that contains `##vso[COMMAND]`.
#[test]
fn a_report_contains_no_command_of_a_ci_service() {
    let names = [
        "::set-output name=i::1",
        " ::stop-commands::x",
        "\u{A0}\u{3000}::add-mask::x",
        ":",
        "\n::debug::x",
        "##[error]x",
        "##vso[task.complete result=Failed]",
    ];
    let directory = Directory::new();
    let mut content = b"\xE9 ##[add-path]/evil ##vso[task.setvariable]x\n".to_vec();
    content.extend_from_slice(b"::stop-commands::x \xE9\n\xE9\n");
    for name in names {
        directory.write(name, &content);
    }
    let is_command = |line: &str| {
        let azure = line
            .split("##")
            .skip(1)
            .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('['));
        line.trim_start().starts_with("::") || azure
    };
    assert!(names.iter().all(|name| name.lines().any(is_command) || *name == ":"), "of the test itself");
    // The annotations of GitHub are commands themselves.
    let is_foreign = |line: &str| {
        let own = line.strip_prefix("::error file=").or_else(|| line.strip_prefix("::notice file="));
        own.map_or_else(|| is_command(line), |values| values.contains("::##") || is_command(values))
    };
    for format in ["human", "short", "json", "sarif", "github", "gitlab"] {
        for command in [
            &["check", "--max-errors", "1"][..],
            &["check"],
            &["check", "--fix"],
            &["check", "--color", "always"],
        ] {
            let report =
                run_in(&directory, "", &[command, &["--format", format, "--"], &names].concat(), b"");
            for line in stdout(&report).lines().chain(stderr(&report).lines()) {
                assert!(!is_foreign(line), "{command:?} {format}: {line}");
            }
            assert_eq!(report.status.code(), Some(1), "{}", stderr(&report));
        }
        if format != "gitlab" {
            let detected =
                run_in(&directory, "", &[&["detect", "--format", format], &names[..]].concat(), b"");
            assert!(!stdout(&detected).lines().any(is_foreign), "{}", stdout(&detected));
        }
    }
    // Text of a file in a message, and lines around a change.
    directory.write("twice", " ::error::x\n::error::y\n\u{C3}\u{A9} ##vso[task.complete]\n");
    directory.write("declared.xml", "<?xml version='1.0' encoding='##vso[x]'?>\n\u{C3}\u{A9}\n");
    for args in [
        &["--format", "sarif"][..],
        &["--format", "gitlab"],
        &["--format", "github"],
        &["--fix"],
        &["--diff"],
    ] {
        let args = [&["check", "--rule", "mojibake"], args, &["twice", "declared.xml"]].concat();
        let report = run_in(&directory, "", &args, b"");
        for line in stdout(&report).lines().chain(stderr(&report).lines()) {
            assert!(!is_foreign(line), "{args:?}: {line}");
        }
        directory.write("twice", " ::error::x\n::error::y\n\u{C3}\u{A9} ##vso[task.complete]\n");
    }
    let diff = stdout(&run_in(&directory, "", &["check", "--rule", "mojibake", "--diff", "twice"], b""));
    assert!(diff.contains("\n  <U+003A>:error::x\n <U+003A>:error::y\n"), "{diff}");
    let message = b"Content-Type: ##vso[task.complete]/##[error]x; charset=\"##[error]\"\n\n\xFF\n";
    for format in ["text", "json"] {
        let mail = run_in(&directory, "", &["mail", "--format", format], message);
        assert!(!stdout(&mail).lines().any(is_command), "{}", stdout(&mail));
    }
    for format in ["text", "json"] {
        let mail = run_in(&directory, "", &[&["mail", "--format", format], &names[..]].concat(), b"");
        assert!(!stdout(&mail).lines().any(is_command), "{}", stdout(&mail));
    }
    // Messages on stderr.
    let absent = names.map(|name| format!("{name}.absent"));
    let args: Vec<&str> = ["check"].into_iter().chain(absent.iter().map(String::as_str)).collect();
    let output = run_in(&directory, "", &args, b"");
    assert_eq!(stderr(&output).lines().count(), names.len());
    assert!(!stderr(&output).lines().any(is_command), "{}", stderr(&output));
    // JSON is escaped in its own notation: the name is exact.
    let json = run_in(&directory, "", &["check", "--format", "json", "##[error]x"], b"");
    let first: Value = serde_json::from_str(stdout(&json).lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["file"], "##[error]x");
}

#[test]
fn control_characters_in_names_are_escaped_as_code_points() {
    let directory = Directory::new();
    let name = "a\tb\u{7F}\u{85}c";
    directory.write(name, b"\xFF");
    let shown = "a<U+0009>b<U+007F><U+0085>c";
    let report = |format| stdout(&run_in(&directory, "", &["check", "--format", format, name], b""));
    assert_eq!(report("short"), format!("{shown}:1:1: FF is never part of UTF-8\n"));
    // GitHub decodes no notation for TAB in a name.
    let name_there = shown.replace("<U+0009>", "\t");
    assert!(
        report("github").starts_with(&format!("::error file={name_there},line=1,")),
        "{}",
        report("github")
    );
    assert!(report("human").contains(&format!("--> {shown}:1:1 ")), "{}", report("human"));
    let mail = stdout(&run_in(&directory, "", &["mail", name], b""));
    assert!(mail.starts_with(&format!("{shown}: ")), "{mail}");
}

#[test]
fn a_negative_number_is_reported_as_a_number() {
    for (command, option, why) in [
        ("check", "--max-errors", "cannot be negative"),
        ("check", "--jobs", "must be at least 1"),
        ("detect", "-j", "must be at least 1"),
        ("proxy", "--max-connections", "must be at least 1"),
        ("proxy", "--max-connections-per-source", "cannot be negative"),
        ("proxy", "--backlog", "cannot be negative"),
        ("proxy", "--max-line", "must be at least 1"),
        ("proxy", "--min-rate", "cannot be negative"),
        ("proxy", "--linger", "a time cannot be negative"),
        ("serve", "--max-line", "cannot be negative"),
        ("serve", "--log-rate", "must be at least 1"),
    ] {
        let output = run(&mut program(&[command, option, "-1"]), b"");
        let mut expected = String::from("utf8-codec: invalid value '-1' for '");
        let message = stderr(&output);
        assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
        write!(expected, "{}", if option == "-j" { "--jobs" } else { option }).expect("a string");
        assert!(message.starts_with(&expected) && message.trim_end().ends_with(why), "{message}");
    }
    for upstream in ["127.0.0.1:0", "localhost:0", "[::1]:00"] {
        let output = run(&mut program(&["proxy", "--listen", "127.0.0.1:0", "--upstream", upstream]), b"");
        assert_eq!((output.status.code(), &*stdout(&output)), (Some(2), ""));
        assert!(stderr(&output).contains("a server has no port 0"), "{}", stderr(&output));
    }
}
