//! The formats of a report.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use super::files::{check, check_stdin, objects};
use crate::support::program::{Directory, stderr, stdout};

#[test]
fn control_characters_are_escaped_on_the_terminal() {
    let directory = Directory::new();
    let name = OsStr::from_bytes(b"n\x1B[31m\xE2\x80\xAEx\ny\xFF");
    std::fs::write(directory.root().join(name), b"a\x1B]0;owned\x07\xE2\x80\xAE\xFF\xC2\x9B\n")
        .expect("a file");
    for format in ["human", "short", "github"] {
        let report =
            stdout(&check(&directory, &["--format", format, "--rule", "bidi", "--rule", "control", "."]));
        // GitHub needs the exact name of the file, also with bidirectional controls.
        let is_raw = |c: char| {
            (c.is_control() && c != '\n') || (format != "github" && ('\u{202A}'..='\u{202E}').contains(&c))
        };
        assert!(!report.contains(is_raw), "{format}: {report:?}");
    }
    let short = stdout(&check(&directory, &["--format", "short", "."]));
    assert_eq!(short, "./n<U+001B>[31m<U+202E>x<U+000A>y\\xFF:1:13: FF is never part of UTF-8\n");
    let github = stdout(&check(&directory, &["--format", "github", "."]));
    assert!(github.starts_with("::error file=n<U+001B>[31m\u{202E}x%0Ay\u{FFFD},line=1,"), "{github:?}");
    // Control characters are escaped in messages on stderr as well.
    let absent = check(&directory, &["absent\u{1B}[31m\u{202E}"]);
    assert_eq!(
        stderr(&absent),
        "utf8-codec: cannot read absent\\u{1b}[31m\\u{202e}: No such file or directory (os error 2)\n"
    );
    // The machine-readable formats contain the exact name.
    let json = objects(&stdout(&check(&directory, &["--format", "json", "."])));
    assert_eq!(json[0]["file_hex"], "2e2f6e1b5b33316de280ae780a79ff");
    let sarif: Value =
        serde_json::from_str(&stdout(&check(&directory, &["--format", "sarif", "."]))).expect("JSON");
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "n%1B%5B31m%E2%80%AEx%0Ay%FF");
}

#[test]
fn colors_are_printed_only_on_request() {
    let (_, plain) = check_stdin(&[], b"\xFF");
    let (_, colored) = check_stdin(&["--color", "always"], b"\xFF");
    assert!(!plain.contains('\x1B') && colored.contains("\x1B[1;31merror"));
}

#[test]
fn github_and_sarif_contain_the_location() {
    let directory = Directory::new();
    directory.write("a,b", "x\n🦀\u{202E}\n");
    let github = stdout(&check(&directory, &["--format", "github", "--rule", "bidi", "a,b"]));
    assert_eq!(
        github,
        "::error file=a%2Cb,line=2,endLine=2,col=2,endColumn=3,title=bidi::U+202E changes the order of the text on a screen\n"
    );
    for files in [&["a,b"][..], &["a,b", "a,b"], &[]] {
        let args = [&["--format", "sarif", "--rule", "bidi", "--files-from", "list"][..], files].concat();
        directory.write("list", "");
        let sarif: Value = serde_json::from_str(&stdout(&check(&directory, &args))).expect("JSON");
        assert_eq!(
            (&sarif["version"], &sarif["runs"][0]["columnKind"]),
            (&"2.1.0".into(), &"utf16CodeUnits".into())
        );
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        assert_eq!(results.len(), files.len());
        for result in results {
            let region = &result["locations"][0]["physicalLocation"]["region"];
            let number = |name: &str| region[name].as_u64().expect(name);
            assert_eq!(["startLine", "startColumn", "endColumn", "byteOffset"].map(number), [2, 3, 4, 6]);
        }
    }
}

#[test]
fn sarif_and_gitlab_recognize_an_error_that_moved() {
    let directory = Directory::new();
    let report = |format: &str, content: &[u8]| -> Value {
        directory.write("a.txt", content);
        serde_json::from_str(&stdout(&check(&directory, &["--format", format, "a.txt", "absent"])))
            .expect("JSON")
    };
    let identities = |content: &[u8]| {
        let sarif = report("sarif", content);
        let driver = &sarif["runs"][0]["tool"]["driver"];
        assert!(driver["informationUri"].as_str().expect("a page").starts_with("https://"));
        let rules = driver["rules"].as_array().expect("rules");
        assert!(rules.iter().all(|rule| rule["help"]["text"].as_str().is_some_and(|text| text.len() > 20)));
        let results = sarif["runs"][0]["results"].as_array().expect("results").clone();
        assert!(results.iter().all(|result| rules.iter().any(|rule| rule["id"] == result["ruleId"])));
        let gitlab = report("gitlab", content);
        let (failed, issues) = gitlab.as_array().expect("an array").split_last().expect("a file is absent");
        assert_eq!(
            (&failed["location"]["path"], &failed["check_name"]),
            (&"absent".into(), &"failed".into())
        );
        for (issue, result) in issues.iter().zip(&results) {
            let region = &result["locations"][0]["physicalLocation"]["region"];
            assert_eq!(issue["location"]["lines"]["begin"], region["startLine"]);
            assert_eq!(issue["fingerprint"], result["partialFingerprints"]["utf8Codec/v1"]);
        }
        let of = |result: &Value| result["partialFingerprints"]["utf8Codec/v1"].to_string();
        results.iter().map(of).collect::<Vec<_>>()
    };
    let before = identities(b"one \xFF\ntwo \xFF\none \xFF\n");
    assert!(before.iter().enumerate().all(|(at, each)| !before[..at].contains(each)), "{before:?}");
    assert_eq!(identities(b"\n\none \xFF\ntwo \xFF\none \xFF\n"), before);
    assert_eq!(identities(b"two \xFF\n"), before[1..2]);
}

#[test]
fn a_sarif_log_has_at_most_25000_results() {
    let (status, log) = check_stdin(&["--format", "sarif"], &b"\xFF\n".repeat(25_007));
    let log: Value = serde_json::from_str(&log).expect("JSON");
    assert_eq!((status, log["runs"][0]["results"].as_array().map(Vec::len)), (Some(1), Some(25_000)));
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], true);
    let text = &invocation["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(text, "7 more errors are not in this log");
}
