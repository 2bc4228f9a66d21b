//! The scripts of the GitHub action and of the release.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use crate::support::program::{Directory, PROGRAM, run, stdout};

const ACTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.github/action");

/// Runs the action with the program of this build, which it takes for an installed one.
fn action(directory: &Directory, args: &str) -> Output {
    let installed = directory.path("temp/utf8-codec-0.0.0");
    fs::create_dir_all(&installed).expect("a directory");
    let _ = symlink(PROGRAM, installed.join("utf8-codec"));
    let mut command = Command::new("bash");
    command.arg(format!("{ACTION}/check")).current_dir(directory.path("repository"));
    command.env("RUNNER_OS", "Linux").env("RUNNER_ARCH", "X64").env("RUNNER_TEMP", directory.path("temp"));
    command.env("INPUT_VERSION", "0.0.0").env("INPUT_ARGS", args).env("INPUT_SARIF", "report.sarif");
    run(command.env_remove("GITHUB_WORKSPACE"), b"")
}

#[test]
fn the_report_of_the_action_has_the_errors_before_a_fix() {
    for (args, is_fixed) in [
        ("--fix\n--from\nlatin1\n--backup=.orig\na\nb\n", true),
        ("--fix\n--from=latin1\n--backup\n.orig\n\n--\na\nb\n--fix\n", true),
        ("a\nb\n", false),
        ("", false),
    ] {
        let directory = Directory::new();
        for name in ["a", "b", "--fix"] {
            directory.write(&format!("repository/{name}"), b"caf\xE9\n");
        }
        let output = action(&directory, args);
        let report = String::from_utf8(directory.read("repository/report.sarif")).expect("UTF-8");
        let found = ["a", "b"].map(|name| report.contains(&format!("\"uri\":\"{name}\"")));
        assert_eq!(found, [true; 2], "{args}: {report}");
        assert_eq!(output.status.code(), Some(i32::from(!is_fixed)), "{args}: {}", stdout(&output));
        assert_eq!(directory.read("repository/b") != b"caf\xE9\n", is_fixed, "{args}");
    }
}

#[test]
fn the_action_prints_a_diff_if_its_arguments_say_so() {
    for (args, is_diff) in [
        ("--fix\n--diff\n--from\nlatin1\na\n", true),
        ("--fix\n--dry-run\n--from=latin1\na\n", true),
        ("--\na\n--diff\n", false),
    ] {
        let directory = Directory::new();
        for name in ["a", "--diff"] {
            directory.write(&format!("repository/{name}"), b"caf\xE9\n");
        }
        let output = action(&directory, args);
        // The old line of a patch has the exact bytes.
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{args}: {printed}");
        assert_eq!(printed.contains("\n+café\n"), is_diff, "{args}: {printed}");
        assert_eq!(printed.contains("::error"), !is_diff, "{args}: {printed}");
    }
}

#[test]
fn a_version_is_compared_to_its_end() {
    let directory = Directory::new();
    let files = |version: &str| {
        for (name, content) in [
            (
                "Cargo.toml",
                format!(
                    "version = \"{version}\"\npackage = \"utf8-codec-kernels\", version = \"={version}\"\n"
                ),
            ),
            ("crates/utf8-codec-cli/Cargo.toml", format!("path = \"../..\", version = \"{version}\"\n")),
            ("pyproject.toml", format!("version = \"{version}\"\n\"utf8-codec=={version}\"\n")),
            ("action.yml", format!("    default: {version}\n")),
            ("CHANGELOG.md", format!("## {version}, 2026-01-01\n")),
        ] {
            directory.write(name, content);
        }
    };
    let script =
        directory.write(".github/action/versions", fs::read(format!("{ACTION}/versions")).expect("a file"));
    let is_expected =
        |version: &str| run(Command::new("bash").arg(&script).arg(version), b"").status.success();
    files("0.1.10");
    let results = ["0.1.10", "0.1.1", "0.1", "1.10", "0.1.100", "0.1.10-rc.1", "0x1.10"].map(is_expected);
    assert_eq!(results, [true, false, false, false, false, false, false]);
    files("0.1.10-rc.1");
    assert_eq!(["0.1.10", "0.1.10-rc.1"].map(is_expected), [false, true]);
    files("0.1.1");
    directory.write("action.yml", "    default: 0.1.10\n");
    assert!(!is_expected("0.1.1"));
}
