//! The rule `json-escapes` and its fix.

use crate::support::program::{Directory, program, run, stdout};

fn check(directory: &Directory, args: &[&str]) -> (Option<i32>, String) {
    let args = [&["check", "--rule", "json-escapes"], args].concat();
    let output = run(program(&args).current_dir(directory.root()), b"");
    (output.status.code(), stdout(&output))
}

#[test]
fn half_of_a_pair_is_reported_and_replaced() {
    let directory = Directory::new();
    directory.write("a.json", "{\"a\":\"\\\\uD83D\",\n\"b\":\"\\uD83D\\uDE00\\uDE00\"}\n");
    let (code, report) = check(&directory, &["a.json"]);
    assert_eq!(code, Some(1));
    assert!(report.contains("a.json:2:18") && report.contains("json-escapes"), "{report}");
    assert_eq!(check(&directory, &["--fix", "a.json"]).0, Some(0));
    let fixed = String::from_utf8(directory.read("a.json")).expect("UTF-8");
    assert_eq!(fixed, "{\"a\":\"\\\\uD83D\",\n\"b\":\"\\uD83D\\uDE00\\uFFFD\"}\n");
}

#[test]
fn an_escape_without_digits_is_reported_and_kept() {
    let directory = Directory::new();
    let text = "{\"path\":\"C:\\users\"}\n";
    directory.write("a.ndjson", text);
    let (code, report) = check(&directory, &["--fix", "a.ndjson"]);
    assert_eq!(code, Some(1));
    assert!(report.contains("a.ndjson:1:12"), "{report}");
    assert_eq!(directory.read("a.ndjson"), text.as_bytes());
}

#[test]
fn other_rules_apply_to_characters_that_are_escaped() {
    let directory = Directory::new();
    let text = r#"["\u0000 \\u0000 \uFFFF", "\uD83F\uDFFE \u0007 \u202E"]"#;
    directory.write("a.json", text);
    let rules = ["--rule", "nul", "--rule", "noncharacter", "--rule", "bidi"];
    let (code, report) = check(&directory, &[&rules[..], &["--format", "short", "a.json"]].concat());
    assert_eq!(code, Some(1));
    let found = "a.json:1:3: NUL, as an escape of JSON
a.json:1:18: U+FFFF is a noncharacter, as an escape of JSON
a.json:1:28: U+1FFFE is a noncharacter, as an escape of JSON
";
    assert_eq!(report, found);
    assert_eq!(check(&directory, &["--rule", "nul", "--fix", "."]).0, Some(1));
    assert_eq!(directory.read("a.json"), text.as_bytes());
}

#[test]
fn only_files_of_json_are_checked() {
    let directory = Directory::new();
    directory.write("a.rs", "\"\\uD83D\"\n");
    assert_eq!(check(&directory, &["."]).0, Some(0));
}

#[test]
fn every_file_of_json_is_checked() {
    for extension in
        ["avsc", "code-workspace", "gltf", "jsonld", "SARIF", "tfstate", "topojson", "webmanifest"]
    {
        let directory = Directory::new();
        let name = format!("a.{extension}");
        directory.write(&name, r#"{"a":"\uD83D"}"#);
        let (code, report) = check(&directory, &["--format", "short", &name]);
        assert_eq!((code, report), (Some(1), format!("{name}:1:7: a lone surrogate is not a character\n")));
    }
}

/// A comment has no escapes. What looks like one in a string has.
#[test]
fn comments_have_no_escapes() {
    let text = concat!(
        "// C:\\users\n{ /* C:\\users\n \\uD83D **/ \"a\": \"// \\uD83D\\\" /* \\uD83D\", // \\uD83D\n",
        "\"é\": \"\\uD83D\" / \"//\", // é\n\"open: \\uD83D\n// \\u\n/*/ \\u */\"\\uD83D\"}"
    );
    let fixed = concat!(
        "// C:\\users\n{ /* C:\\users\n \\uD83D **/ \"a\": \"// \\uFFFD\\\" /* \\uFFFD\", // \\uD83D\n",
        "\"é\": \"\\uFFFD\" / \"//\", // é\n\"open: \\uFFFD\n// \\u\n/*/ \\u */\"\\uFFFD\"}"
    );
    let directory = Directory::new();
    for name in ["a.jsonc", "a.code-workspace"] {
        directory.write(name, text);
        let (code, report) = check(&directory, &["--format", "short", "--max-errors", "0", name]);
        assert_eq!((code, report.lines().count()), (Some(1), 5), "{report}");
        assert_eq!(check(&directory, &["--fix", name]).0, Some(0));
        assert_eq!(String::from_utf8(directory.read(name)).expect("UTF-8"), fixed);
    }
    // JSON has no comments.
    directory.write("a.json", "// C:\\users\n");
    assert_eq!(check(&directory, &["a.json"]).0, Some(1));
}

#[test]
fn an_escape_is_found_wherever_a_long_line_is_split() {
    let directory = Directory::new();
    for len in 262_100..262_120 {
        let text = "x".repeat(len) + &r"\uD83D\uDE00".repeat(30) + r"\uD83D" + &"x".repeat(1000);
        directory.write("a.json", &text);
        let (code, report) = check(&directory, &["a.json"]);
        assert_eq!(code, Some(1), "{len}");
        assert!(report.contains(&format!("a.json:1:{}", len + 361)), "{len} {report}");
        assert_eq!(report.matches("json-escapes").count(), 1, "{len} {report}");
        assert_eq!(check(&directory, &["--fix", "a.json"]).0, Some(0), "{len}");
        assert_eq!(directory.read("a.json").len(), text.len());
    }
}
