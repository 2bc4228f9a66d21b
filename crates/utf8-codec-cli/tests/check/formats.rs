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
        let args = ["--max-errors", "0", "--format", format, "a.txt", "absent"];
        serde_json::from_str(&stdout(&check(&directory, &args))).expect("JSON")
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
fn every_format_has_three_errors_of_a_rule_and_the_number_of_the_others() {
    let input = "\u{E9}\u{1B}\u{E9}\n".repeat(1000).into_bytes();
    let input = [&input[..], &b"\xFF\n".repeat(500)].concat();
    for (format, separator, more) in [
        ("human", "error: ", "-: and 1494 more errors: --max-errors 0 shows all\n"),
        ("short", "-:", "-: and 1494 more errors: --max-errors 0 shows all\n"),
        ("json", "\"type\":\"error\"", "\"max_errors\":3,\"ok\":false,"),
        ("json", "\"type\":\"error\"", "\"unreported\":1494"),
        ("sarif", "\"ruleId\":", "\"1494 more errors are not in this log: --max-errors 0 shows all\""),
        ("github", "::error ", "::notice file=-::and 1494 more errors: --max-errors 0 shows all\n"),
        ("gitlab", "\"check_name\":", "\"and 1494 more errors: --max-errors 0 shows all\""),
    ] {
        let (_, report) = check_stdin(&["--format", format, "--rule", "control"], &input);
        // The line and the issue with the number look like an error.
        let is_like_errors = matches!(format, "short" | "gitlab");
        assert_eq!(report.matches(separator).count(), 6 + usize::from(is_like_errors), "{format}: {report}");
        assert!(report.contains(more), "{format}: {report}");
        let (_, all) = check_stdin(&["--format", format, "--rule", "control", "--max-errors", "0"], &input);
        assert_eq!(all.matches(separator).count(), 1500, "{format}");
        let limit = if format == "json" { "\"max_errors\":0" } else { "" };
        assert!(all.contains(limit) && !all.contains("more error"), "{format}");
    }
}

#[test]
fn a_sarif_log_has_at_most_25000_results() {
    let (status, log) = check_stdin(&["--format", "sarif", "--max-errors", "0"], &b"\xFF\n".repeat(25_007));
    let log: Value = serde_json::from_str(&log).expect("JSON");
    assert_eq!((status, log["runs"][0]["results"].as_array().map(Vec::len)), (Some(1), Some(25_000)));
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], true);
    let text = &invocation["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(text, "7 more errors are not in this log");
}

/// Text in other encodings: its name, its bytes, and what the diagnosis says.
fn foreign() -> [(&'static str, Vec<u8>, &'static str); 5] {
    let german = "Die Straße führt über die Brücke nach München.\n".repeat(300);
    let latin1 = german.chars().filter_map(|character| u8::try_from(character).ok()).collect();
    let wide =
        [&b"\xFF\xFE"[..], &german.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()].concat();
    let koi8: Vec<u8> = b"\xF3\xDF\xC5\xDB\xD8 \xD6\xC5 \xC5\xDD\xA3 \xDC\xD4\xC9\xC8\n".repeat(300);
    let words = &koi8[..15];
    let declared = [b"<?xml version='1.0' encoding='koi8-r'?>\n<a>", words, b"</a>\n"].concat();
    [
        ("latin1.txt", latin1, "probably ISO 8859-1 text"),
        ("wide.txt", wide, "probably UTF-16LE with a BOM"),
        ("koi8.txt", koi8, "in an unknown encoding"),
        ("declared.xml", declared, "probably koi8-r, as it declares"),
        ("named.png", b"\x89PNG\r\n\x1A\n\0\xFF".to_vec(), "binary"),
    ]
}

#[test]
fn errors_with_one_cause_are_one_result() {
    let directory = Directory::new();
    for (name, content, diagnosis) in foreign() {
        directory.write(name, content);
        for (format, separator) in [
            ("short", ":1:"),
            ("github", "::error "),
            ("sarif", "\"ruleId\":"),
            ("gitlab", "\"check_name\":"),
        ] {
            let report = |args: &[&str]| {
                stdout(&check(
                    &directory,
                    &[&["--format", format], args, &["--rule", "control", name]].concat(),
                ))
            };
            let one = report(&[]);
            assert!(one.contains(&format!("not UTF-8: {diagnosis}")), "{name} {format}: {one}");
            let line_of_place = if name == "declared.xml" { ":2:" } else { separator };
            let separator = if format == "short" { line_of_place } else { separator };
            assert_eq!(one.matches(separator).count(), 1, "{name} {format}: {one}");
            let all = report(&["--max-errors", "0"]);
            assert!(all.matches(if format == "short" { name } else { separator }).count() > 1, "{all}");
            assert!(!all.contains("not UTF-8: "), "{all}");
        }
    }
    // The command is left out if `--fix` would refuse the file: the other declaration would remain.
    for (name, start, has_command) in [
        ("good.py", "# coding: latin-1\n", true),
        ("two.py", "# coding: latin-1 vim: fileencoding=latin-1\n", false),
    ] {
        directory.write(name, [start.as_bytes(), &b"x = 'caf\xE9'\n".repeat(9)].concat());
        for format in ["human", "short", "github", "sarif", "gitlab"] {
            let report = stdout(&check(&directory, &["--format", format, name]));
            assert!(report.contains("latin-1, as it declares"), "{name} {format}: {report}");
            assert_eq!(report.contains("to fix it"), has_command, "{name} {format}: {report}");
        }
    }
    // A service recognizes the result even if there are more errors than before.
    let identity = |lines: usize| {
        directory.write("more.txt", b"\xF3\xDF\xC5\n".repeat(lines));
        let report = stdout(&check(&directory, &["--format", "gitlab", "more.txt"]));
        let issues: Value = serde_json::from_str(&report).expect("JSON");
        issues[0]["fingerprint"].to_string()
    };
    assert_eq!(identity(3), identity(30));
    // The violations of rules in such a file are others, and some places in UTF-8 have no common cause.
    directory.write("both.txt", b"\xF3\xDF\xC5\xDB\xD8\n\x1B\n");
    directory.write(
        "places.txt",
        "żółty\n".repeat(3).into_bytes().into_iter().chain(*b"\xFF\n\xFF\n").collect::<Vec<_>>(),
    );
    for (name, places) in
        [("both.txt", [":1:1: not UTF-8", ":2:1: control"]), ("places.txt", [":4:1: FF", ":5:1: FF"])]
    {
        let report = stdout(&check(&directory, &["--format", "short", "--rule", "control", name]));
        let starts: Vec<bool> = report
            .lines()
            .zip(places)
            .map(|(line, place)| line.starts_with(&format!("{name}{place}")))
            .collect();
        assert_eq!((starts, report.lines().count()), (vec![true; 2], 2), "{report}");
    }
}

#[test]
fn a_report_for_people_has_the_diagnosis_first_and_three_places() {
    let directory = Directory::new();
    for (name, content, diagnosis) in foreign() {
        directory.write(name, content);
        let report = stdout(&check(&directory, &["--rule", "control", name]));
        assert!(report.starts_with(&format!("{name} is {diagnosis}")), "{report}");
        assert!(report.lines().count() < 60, "{report}");
        assert!(name != "wide.txt" || !report.contains("<U+0000>"), "{report}");
        let places = if name == "named.png" { 2 } else { 3 };
        assert_eq!(report.matches("[ill-formed]").count(), places, "{report}");
        // In UTF-16 and in binary files, they mean nothing.
        assert_eq!(report.matches("[control]").count(), 0, "{report}");
        let more = "latin1.txt: and 1497 more errors: --max-errors 0 shows all\n";
        assert_eq!(report.contains(more), name == "latin1.txt", "{report}");
    }
}

#[test]
fn the_number_of_fixable_errors_is_the_one_that_is_fixed() {
    let directory = Directory::new();
    let files: Vec<(&str, Vec<u8>, u64)> = foreign()
        .into_iter()
        .map(|(name, content, _)| (name, content, u64::from(name == "declared.xml" || name == "wide.txt")))
        .chain([
            ("twice.txt", "Beyonc\u{C3}\u{A9} \u{1B}\n".into(), 1),
            ("start.ps1", "\u{E9}\n".into(), 1),
            // The text is not in the encoding that it declares.
            ("false.xml", b"<?xml version='1.0' encoding='euc-jp'?>\n<a>\xFF\xFF</a>\n".to_vec(), 0),
        ])
        .collect();
    let mut total = 0;
    for (name, content, some) in &files {
        directory.write(name, content);
        let args = ["--format", "json", "--rule", "mojibake", "--rule", "control", "--rule", "bom"];
        let summary = |more: &[&str]| {
            objects(&stdout(&check(&directory, &[&args[..], more, &[*name]].concat())))
                .pop()
                .expect("a summary")
        };
        let before = summary(&[]);
        assert_eq!((&directory.read(name), &before["schema"]), (content, &1.into()));
        let fixable = before["fixable"].as_u64().expect("a number");
        total += fixable;
        let after = summary(&["--fix"]);
        assert_eq!(fixable, after["fixed"].as_u64().unwrap_or(0), "{name}: {before} {after}");
        assert_eq!(fixable > 0, *some == 1, "{name}: {before}");
        directory.write(name, content);
    }
    let names: Vec<&str> = files.iter().map(|(name, ..)| *name).collect();
    let args = [&["--rule", "mojibake", "--rule", "control", "--rule", "bom"][..], &names].concat();
    let report = stdout(&check(&directory, &args));
    assert!(report.ends_with(&format!(" in 8 files, {total} fixable with --fix\n")), "{report}");
    // The command would be refused.
    assert!(!report.contains("check --fix false.xml"), "{report}");
}

#[test]
fn every_rule_is_explained() {
    let directory = Directory::new();
    let sarif: Value =
        serde_json::from_str(&stdout(&check(&directory, &["--format", "sarif", "."]))).expect("JSON");
    for rule in sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules") {
        let name = rule["id"].as_str().expect("a name");
        let output = check(&directory, &["--explain", name]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
        let text = stdout(&output);
        assert!(text.starts_with(&format!("{name}: ")), "{text}");
        let help = rule["help"]["text"].as_str().expect("a help");
        assert!(text.replace('\n', " ").contains(help), "{text}");
        let is_page = |line: &str| line.starts_with("https://");
        assert!(text.lines().all(|line| line.chars().count() <= 80 || is_page(line)), "{text}");
    }
    let unknown = check(&directory, &["--explain", "nonsense"]);
    assert_eq!((unknown.status.code(), stdout(&unknown)), (Some(2), String::new()));
    assert!(stderr(&unknown).contains("possible values: ill-formed, mojibake, "), "{}", stderr(&unknown));
}
