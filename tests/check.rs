//! `utf8-codec check`, as a shell sees it.
#![cfg(all(feature = "cli", unix))]
#![allow(missing_docs)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs the program to its end.
fn run(args: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_utf8-codec"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn check_says_where_input_is_ill_formed() {
    let input = "é\nab\u{1F4A9}".bytes().chain(*b"\xFFc\xC3").collect::<Vec<_>>();
    let check = |args: &[&str]| {
        let Output { status, stdout, .. } = run(&[&["check"], args].concat(), &input);
        (status.code(), String::from_utf8(stdout).unwrap())
    };
    assert_eq!(check(&[]), (Some(1), "-:2:4: byte 9: InvalidLead\n".to_owned()));
    let all = "-:2:4: byte 9: InvalidLead\n-:2:6: byte 11: Truncated\n";
    assert_eq!(check(&["--all", "-"]), (Some(1), all.to_owned()));
    assert_eq!(check(&["--quiet"]), (Some(1), String::new()));
    let (_, json) = check(&["--format", "json"]);
    let finding: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&finding["line"], &finding["column"]), (&Value::from(2), &Value::from(4)));
    assert_eq!(
        (&finding["offset"], &finding["kind"], &finding["len"]),
        (&Value::from(9), &Value::from("InvalidLead"), &Value::from(1))
    );
}

#[test]
fn check_goes_on_behind_a_file_that_cannot_be_read() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let good = run(&["check", manifest], b"");
    assert_eq!((good.status.code(), good.stdout.len()), (Some(0), 0));
    let missing = run(&["check", "no such file", "-", manifest], b"\xFF");
    assert_eq!(missing.status.code(), Some(2));
    assert_eq!(missing.stdout, b"-:1:1: byte 0: InvalidLead\n");
    assert_eq!(String::from_utf8(missing.stderr).unwrap().lines().count(), 1);
}

#[test]
fn a_file_name_cannot_forge_a_line_of_the_report() {
    let name =
        std::env::temp_dir().join(format!("utf8-codec-check-{}\nforged:1:1: byte 0", std::process::id()));
    std::fs::write(&name, b"\xFF").unwrap();
    let name = name.to_str().unwrap();
    for command in ["check", "detect"] {
        let report = run(&[command, name], b"");
        assert_eq!(String::from_utf8(report.stdout).unwrap().lines().count(), 1, "{command}");
    }
    std::fs::remove_file(name).unwrap();
}
