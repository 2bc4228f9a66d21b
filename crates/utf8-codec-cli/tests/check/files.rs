//! `utf8-codec check`, run as a program.

use std::process::{Command, Output};

use crate::support::program::{Directory, PROGRAM, program, run, stderr, stdout};
use serde_json::Value;
use test_support::Rng;

/// Runs `check` in a directory.
pub(super) fn check(directory: &Directory, args: &[&str]) -> Output {
    run(program(&["check"]).args(args).current_dir(directory.root()), b"")
}

/// Checks stdin.
pub(super) fn check_stdin(args: &[&str], input: &[u8]) -> (Option<i32>, String) {
    let output = run(program(&["check"]).args(args).arg("-"), input);
    (output.status.code(), stdout(&output))
}

pub(super) fn objects(output: &str) -> Vec<Value> {
    output.lines().map(|line| serde_json::from_str(line).expect("an object on each line")).collect()
}

#[test]
fn an_error_has_a_line_and_a_column_in_three_units() {
    let input = "é\nab\u{1F4A9}".bytes().chain(*b"\xFFc\xC3").collect::<Vec<_>>();
    let (status, short) = check_stdin(&["--format", "short"], &input);
    assert_eq!(status, Some(1));
    assert_eq!(short, "-:2:4: FF is never part of UTF-8\n-:2:6: the input ends inside a character\n");
    let (_, json) = check_stdin(&["--format", "json"], &input);
    let objects = objects(&json);
    let members = ["offset", "len", "line", "column", "byte_column", "utf16_column"];
    let numbers = |object: &Value| members.map(|name| object[name].as_u64().expect(name));
    assert_eq!(numbers(&objects[0]), [9, 1, 2, 4, 7, 5]);
    assert_eq!((&objects[0]["kind"], &objects[0]["type"]), (&"InvalidLead".into(), &"error".into()));
    assert_eq!(numbers(&objects[1]), [11, 1, 2, 6, 9, 7]);
    assert_eq!((&objects[2]["type"], &objects[2]["errors"]), (&"summary".into(), &2.into()));
    assert_eq!(check_stdin(&["--quiet"], &input), (Some(1), String::new()));
    assert_eq!(check_stdin(&["--quiet"], b"good"), (Some(0), String::new()));
}

/// The errors are at the ends of the buffer, between characters of every length. Some lines are longer than the buffer.
#[test]
fn errors_in_a_long_input_have_the_right_locations() {
    for line in ["plain text, and more of it\n", "žluťoučký kůň €🦀\n", "一二三四五六七"] {
        let mut text = line.repeat((1 << 20) / line.len());
        text.push_str("\nend\n");
        let mut input = Vec::new();
        let mut expected = Vec::new();
        let (mut from, mut lines, mut column) = (0, 1, [1; 3]);
        for at in [256 * 1024 - 2, 256 * 1024 + 40, 700_000, text.len() - 3] {
            let at = (0..=at).rev().find(|&at| text.is_char_boundary(at)).expect("the start");
            for character in text[from..at].chars() {
                column = match character {
                    '\n' => {
                        lines += 1;
                        [1; 3]
                    }
                    _ => [
                        column[0] + 1,
                        column[1] + character.len_utf8() as u64,
                        column[2] + character.len_utf16() as u64,
                    ],
                };
            }
            input.extend_from_slice(&text.as_bytes()[from..at]);
            expected.push((input.len() as u64, lines, column));
            input.push(0xFF);
            column = column.map(|units| units + 1);
            from = at;
        }
        input.extend_from_slice(&text.as_bytes()[from..]);
        let directory = Directory::new();
        directory.write("file", &input);
        directory.write("other", "x\n");
        let outputs = ["1", "2"].map(|jobs| {
            let args = ["--format", "json", "--max-errors", "0", "--jobs", jobs, "file", "other", "file"];
            stdout(&check(&directory, &args))
        });
        assert_eq!(outputs[0], outputs[1]);
        let found: Vec<_> = objects(&outputs[0])
            .iter()
            .filter(|object| object["type"] == "error")
            .map(|object| {
                let number = |name: &str| object[name].as_u64().expect(name);
                let column = [number("column"), number("byte_column"), number("utf16_column")];
                (number("offset"), number("line"), column)
            })
            .collect();
        assert_eq!(found, [&expected[..], &expected].concat(), "{line}");
    }
}

/// Without rules and statistics, ASCII is validated and counted in one pass. The locations of errors must be the same as
/// with statistics.
#[test]
fn a_line_longer_than_the_buffer_is_checked_to_its_end() {
    for short in [0, 1, 255, 256, 257, 300_000] {
        let mut input = vec![b'a'; short];
        input.push(b'\n');
        input.resize(700_000, b'b');
        input.push(0xFF);
        let expected = format!("-:2:{}: FF is never part of UTF-8\n", 700_000 - short);
        for rule in [&[][..], &["--rule", "nul"]] {
            let args = [&["--format", "short"][..], rule].concat();
            assert_eq!(check_stdin(&args, &input), (Some(1), expected.clone()), "{short}");
        }
    }
}

/// Before, the comments of the whole buffer were searched for each violation, which took minutes.
#[test]
fn many_violations_take_linear_time() {
    let args = ["--quiet", "--rule", "control"];
    assert_eq!(check_stdin(&args, &b"\x01\xFF".repeat(1 << 18)).0, Some(1));
    assert_eq!(check_stdin(&args, &b"\x01utf8-codec: allow nul ".repeat(1 << 14)).0, Some(1));
}

#[test]
fn errors_have_the_same_locations_with_statistics() {
    let mut rng = Rng::new(1);
    let mut next = |below| rng.below(below);
    let words = [&b"plain text and nothing else "[..], b"\n", b"\r\n", "žluť ".as_bytes(), "🦀".as_bytes()];
    let ill_formed = [&b"\xFF"[..], b"\xC3", b"\xE2\x82", b"\xF0\x9F\xA6", b"\xED\xA0\x80"];
    let mut input = Vec::new();
    // The input is larger than the buffer.
    while input.len() < 600_000 {
        let word = match next(400) {
            0 => ill_formed[next(ill_formed.len())],
            1..4 => words[next(words.len())],
            _ => words[next(20) / 19],
        };
        input.extend_from_slice(word);
    }
    input.extend_from_slice(b"\xF0\x9F");
    let directory = Directory::new();
    directory.write("file", &input);
    let errors = |args: &[&str]| {
        let output = check(&directory, &[&["--format", "short", "--max-errors", "0", "file"], args].concat());
        stdout(&output).lines().filter(|line| line.starts_with("file:")).map(String::from).collect::<Vec<_>>()
    };
    let expected = errors(&["--stats"]);
    assert!(expected.len() > 50, "{}", expected.len());
    assert_eq!(errors(&[]), expected);
}

/// Files of different lengths end in another order than they are reported in.
#[test]
fn the_report_does_not_depend_on_the_number_of_threads() {
    let lines = "plain\nžluťoučký kůň €🦀\nCafÃ© and \u{202E}text\n";
    let dense = "一二三四五六七".repeat(40);
    let directory = Directory::new();
    let mut names = Vec::new();
    for (number, (text, planted)) in [
        (lines.repeat(1000), &b"\xFF"[..]),
        (dense.repeat(80), b"\xE2\x82"),
        (String::new(), b"plain"),
        ("no line end at all, ".repeat(3200), b"\xED\xA0\xBD\xED\xB2\xA9"),
        ([&dense, "\n"].concat(), b"\xC0\x80"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut input = text.into_bytes();
        for tenth in [9, 7, 5, 3, 1] {
            let at = input.len() / 10 * tenth;
            input.splice(at..at, planted.iter().copied());
        }
        let name = number.to_string();
        directory.write(&name, &input);
        names.extend([name.clone(), name]);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for format in ["human", "json", "short", "gitlab"] {
        let report = |jobs: &str| {
            let args = ["--format", format, "--jobs", jobs, "--max-errors", "300", "--rule", "bidi"];
            stdout(&check(&directory, &[&args[..], &["--rule", "mojibake"], &names].concat()))
        };
        let one = report("1");
        assert!(one.len() > 10_000, "{format}");
        for jobs in ["2", "5"] {
            assert!(report(jobs) == one, "{format}, {jobs} threads");
        }
    }
}

#[test]
fn the_human_report_shows_location_bytes_and_command() {
    let directory = Directory::new();
    directory.write("menu.txt", b"tea\ncaf\xE9 \x93noir\x94\n");
    let output = check(&directory, &["menu.txt"]);
    assert_eq!(output.status.code(), Some(1));
    let report = stdout(&output);
    let expected = "\
menu.txt is probably windows-1252 text, or UTF-8 with some of it
  to fix it: utf8-codec convert --on-error windows-1252 menu.txt -o menu.txt

error: the second byte after E9 must be 80..BF, but is 20 [ill-formed]
 --> menu.txt:2:4 (byte 7)
  |
2 | caf\\xE9 \\x93noir\\x94
  |    ^^^^
  = 000000: 74 65 61 0A 63 61 66[E9] 20 93 6E 6F 69 72 94 0A
";
    assert!(report.starts_with(expected), "{report}");
    let end = "
1 file checked: 3 errors in 1 file
";
    assert!(report.ends_with(end), "{report}");
    // The suggested command fixes the file.
    let command = "\"$0\" convert --on-error windows-1252 menu.txt -o menu.txt";
    let mut shell = Command::new("sh");
    shell.args(["-c", command, PROGRAM]).current_dir(directory.root());
    assert!(run(&mut shell, b"").status.success());
    assert_eq!(directory.read("menu.txt"), "tea\ncafé “noir”\n".as_bytes());
    assert_eq!(check(&directory, &["menu.txt"]).status.code(), Some(0));
}

#[test]
fn a_report_names_the_probable_encoding() {
    for (input, guess) in [
        (&b"\xFF\xFEh\0i\0"[..], "UTF-16LE with a BOM"),
        (b"\0h\0i\0 \0\xE9\0\xE8\0a", "UTF-16BE without a BOM"),
        (b"\xFF\xFE\0\0a\0\0\0", "UTF-32LE with a BOM"),
        (b"a\xED\xA0\xBD\xED\xB2\xA9b", "CESU-8"),
        (b"a\xC0\x80b", "Java's modified UTF-8"),
        (b"cut \xE2\x82", "cut in the middle"),
        (b"caf\xE9 \x80 5", "windows-1252"),
        (b"caf\xE9 noir", "ISO 8859-1"),
    ] {
        let (status, report) = check_stdin(&[], input);
        assert_eq!(status, Some(1));
        assert!(report.contains(&format!("- is probably {guess}")) || report.contains(guess), "{report}");
    }
}

#[test]
fn ignored_hidden_and_binary_files_in_directories_are_skipped() {
    let directory = Directory::new();
    for (name, content) in [
        ("b.txt", &b"\xFF"[..]),
        ("a/c.rs", b"\xFE"),
        ("a/good.rs", b"good"),
        (".hidden", b"\xFF"),
        ("target/out", b"\xFF"),
        ("image", b"\x89PNG\0\xFF"),
        (".gitignore", b"target\n"),
    ] {
        directory.write(name, content);
    }
    let files = |args: &[&str]| -> Vec<String> {
        let report = stdout(&check(&directory, &[&["--format", "short"], args].concat()));
        report.lines().map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(files(&["."]), ["./a/c.rs", "./b.txt"]);
    assert_eq!(files(&[".", "--hidden"]), ["./.hidden", "./a/c.rs", "./b.txt"]);
    // What belongs to version control is not entered.
    for name in [".git", "a/.svn", ".hg", ".jj"] {
        directory.write(&format!("{name}/COMMIT_EDITMSG"), b"\xFF");
    }
    directory.write("module/.git", b"gitdir: ../\xFF\n");
    assert_eq!(
        files(&[".", "--hidden", "--no-ignore"]),
        ["./.hidden", "./a/c.rs", "./b.txt", "./target/out"]
    );
    assert_eq!(files(&[".git/COMMIT_EDITMSG"]), [".git/COMMIT_EDITMSG"]);
    assert_eq!(files(&[".", "--no-ignore", "--jobs", "2"]), ["./a/c.rs", "./b.txt", "./target/out"]);
    assert_eq!(files(&[".", "--type", "rust"]), ["./a/c.rs"]);
    // A file on the command line is read even if it is ignored, hidden or binary.
    assert_eq!(files(&["target/out", "image"]), ["target/out", "image"]);
    let summary = stdout(&check(&directory, &["."]));
    assert!(summary.ends_with("3 files checked: 2 errors in 2 files, 1 binary file skipped\n"), "{summary}");
    let unknown = check(&directory, &[".", "--type", "nonsense"]);
    assert_eq!(unknown.status.code(), Some(2));
    for list in ["b.txt\na/c.rs\n", "b.txt\r\na/c.rs\r\n", "b.txt\0a/c.rs\0"] {
        directory.write("list", list);
        assert_eq!(files(&["--files-from", "list"]), ["b.txt", "a/c.rs"]);
        let mut command = program(&["check", "--format", "short", "--files-from", "-"]);
        let output = run(command.current_dir(directory.root()), list.as_bytes());
        assert_eq!(stdout(&output).lines().count(), 2);
    }
    // In a list `-` is a file. Stdin can only be read once.
    directory.write("-", b"\xFF");
    let mut command = program(&["check", "--format", "short", "--files-from", "-"]);
    let output = run(command.current_dir(directory.root()), b"-\0b.txt\0");
    assert_eq!(stdout(&output).lines().map(|line| &line[..3]).collect::<Vec<_>>(), ["./-", "b.t"]);
    for args in [&["check", "--files-from", "-", "-"][..], &["detect", "-", "-"], &["mail", "-", "-"]] {
        let output = run(program(args).current_dir(directory.root()), b"");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
        assert!(stderr(&output).contains("stdin can only be read once"), "{args:?}");
    }
}

#[test]
fn an_unreadable_file_does_not_end_the_check() {
    let directory = Directory::new();
    directory.write("bad", b"\xFF");
    directory.write("good", "good");
    for jobs in ["1", "2"] {
        let output = check(&directory, &["--format", "short", "--jobs", jobs, "absent", "bad", "good"]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stdout(&output), "bad:1:1: FF is never part of UTF-8\n");
        assert_eq!(
            stderr(&output),
            "utf8-codec: cannot read absent: No such file or directory (os error 2)\n"
        );
    }
    assert_eq!(check(&directory, &["good"]).status.code(), Some(0));
}

#[test]
fn more_threads_than_the_system_allows_are_not_started() {
    let directory = Directory::new();
    directory.write("bad", b"\xFF");
    for command in ["check", "detect"] {
        let mut program = program(&[command, "--jobs", "18446744073709551615", "."]);
        let output = run(program.current_dir(directory.root()), b"");
        assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()), "{command}");
    }
}

#[test]
fn further_errors_are_counted() {
    let input = b"\xFF\n".repeat(1000);
    let (_, report) = check_stdin(&["--format", "short", "--max-errors", "2"], &input);
    assert_eq!(report.lines().count(), 3);
    assert!(report.ends_with("-: and 998 more errors: --max-errors 0 shows all\n"), "{report}");
    let (_, all) = check_stdin(&["--format", "short", "--max-errors", "0"], &input);
    assert_eq!(all.lines().count(), 1000);
    let (_, gitlab) = check_stdin(&["--format", "gitlab", "--max-errors", "2"], &input);
    assert_eq!(gitlab.matches("\"fingerprint\"").count(), 3);
    assert!(gitlab.contains("and 998 more errors"), "{gitlab}");
    for (format, more) in
        [("human", "and 1 more error: --max-errors"), ("gitlab", "and 1 more error: --max-errors")]
    {
        let (_, report) = check_stdin(&["--format", format, "--max-errors", "999"], &input);
        assert!(report.contains(more), "{format}");
    }
    // A report for people has three by default.
    for (args, shown) in [(&[][..], 3), (&["--max-errors", "0"], 1000), (&["--max-errors", "7"], 7)] {
        let (_, report) = check_stdin(args, &input);
        assert_eq!(report.matches("error: ").count(), shown);
        let more = format!("-: and {} more errors: --max-errors 0 shows all\n", 1000 - shown);
        assert_eq!(report.contains(&more), shown < 1000);
        assert!(report.ends_with("standard input checked: 1000 errors\n"), "{report}");
    }
}

/// The rest of the pipe is not read: it never ends.
#[test]
fn a_quiet_check_ends_at_the_first_error() {
    let output = run(
        Command::new("sh").args(["-c", "{ printf '\\377'; yes; } | \"$0\" check -q - /dev/null", PROGRAM]),
        b"",
    );
    assert_eq!(
        (output.status.code(), stdout(&output), stderr(&output)),
        (Some(1), String::new(), String::new())
    );
}

#[test]
fn other_encodings_and_boms_are_checked() {
    let (status, report) =
        check_stdin(&["--encoding", "utf-16", "--format", "short"], b"\xFE\xFF\0a\0\n\xDC\0\0b");
    assert_eq!((status, report.as_str()), (Some(1), "-:2:1: surrogate DC00 without its other half\n"));
    let (_, report) = check_stdin(&["--encoding", "utf-16le"], b"a\0\n\0\xE9\0b\0\x3E\xD8c\0\n\0");
    let expected = "\
error: surrogate D83E without its other half [ill-formed]
 --> -:2:3 (byte 8)
  |
2 | éb\u{FFFD}...
  |   ^
  = 000000: 61 00 0A 00 E9 00 62 00[3E D8] 63 00 0A 00
";
    assert!(report.starts_with(expected), "{report}");
    assert_eq!(check_stdin(&["--encoding", "utf-16le", "-q"], b"a\0b\0").0, Some(0));
    assert_eq!(check_stdin(&["--encoding", "ascii", "-q"], "é".as_bytes()).0, Some(1));
    assert_eq!(check_stdin(&["--encoding", "latin1", "-q"], b"caf\xE9").0, Some(0));
    for (policy, input, status) in [
        ("require", &b"a"[..], 1),
        ("require", b"\xEF\xBB\xBFa", 0),
        ("reject", b"\xEF\xBB\xBFa", 1),
        ("reject", b"a", 0),
        ("keep", b"\xEF\xBB\xBFa", 0),
    ] {
        assert_eq!(check_stdin(&["--bom", policy, "-q"], input).0, Some(status), "{policy}");
    }
}

#[test]
fn stats_count_bytes_lines_and_characters() {
    let (_, report) = check_stdin(&["--stats", "--format", "json"], "é\nlonger\n\nlast".as_bytes());
    let objects = objects(&report);
    let stats = objects.last().expect("an object");
    let number = |name: &str| stats[name].as_u64().expect(name);
    assert_eq!(["bytes", "lines", "characters", "longest_line"].map(number), [15, 4, 14, 6]);
}

/// The rule does not depend on where a long line is cut: the joiners are needed in each of its words.
#[test]
fn invisible_characters_are_found_in_lines_of_any_length() {
    let words = "می\u{200C}خواهم 👩\u{200D}💻 ".repeat(20_000);
    let input = format!("\u{FEFF}{words}a\u{200B}b");
    let directory = Directory::new();
    directory.write("file", &input);
    let found = stdout(&check(&directory, &["--rule", "invisible", "--format", "short", "file"]));
    let column = input.chars().count() - 1;
    assert_eq!(found, format!("file:1:{column}: U+200B ZERO WIDTH SPACE is invisible\n"));
}

#[test]
fn a_comment_disables_a_rule_for_its_line() {
    let text = "a\u{202E} // utf8-codec: allow bidi\nb\u{202E}\nc\u{202E}\0 # utf8-codec: allow nul\n";
    let (_, report) = check_stdin(&["--format", "short", "--rule", "bidi", "--rule", "nul"], text.as_bytes());
    let positions: Vec<_> = report.lines().map(|line| line.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(positions, ["-:2:2", "-:3:2"]);
}

/// Files of issues that users of editorconfig-checker reported. It guessed the encoding of a file by statistics.
#[test]
fn the_encoding_is_not_guessed_by_statistics() {
    for (input, status) in [
        // Issue 597: ISO 8859-1 was accepted as UTF-8.
        (&b"some\xA0text"[..], 1),
        // Issue 627: escape sequences are ASCII.
        (b"\x1b[32mHello World\x1b[0m\n", 0),
        // Issue 591: a backspace does not make a file binary.
        (b"back\x08space\n", 0),
        // Issue 517: one letter changed the result.
        (b"{\n  \"type\": \"Feature\"\n}\n", 0),
        (b"{\n  \"type\": \"Geature\"\n}\n", 0),
        // Issue 505: ASCII is UTF-8.
        (b"[*]\ninsert_final_newline = true\n", 0),
    ] {
        let directory = Directory::new();
        directory.write("file", input);
        let output = check(&directory, &["."]);
        assert_eq!(output.status.code(), Some(status), "{}", stdout(&output));
        assert!(stdout(&output).contains("1 file checked"));
    }
}

#[test]
fn text_that_was_encoded_twice_is_reported() {
    for (input, found) in [
        ("BeyoncÃ©", 1),
        ("âš™ï¸\u{8F} settings", 1),
        ("â€” dash and â€œquotesâ€\u{9D}", 3),
        ("Ø§Ù„Ø£Ø³Ø¹Ø§Ø±", 1),
        ("café “quoted” — SÃO PAULO", 0),
    ] {
        let (status, report) = check_stdin(&["--rule", "mojibake", "--format", "short"], input.as_bytes());
        assert_eq!(report.lines().count(), found, "{input}: {report}");
        assert_eq!(status, Some(i32::from(found > 0)));
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(&mut program(&["completions", shell]), b"");
        assert!(output.status.success() && stdout(&output).contains("max-errors"), "{shell}");
    }
    let page = stdout(&run(&mut program(&["man"]), b""));
    assert!(page.contains(".TH utf8-codec 1") && page.contains("convert"));
    let page = stdout(&run(&mut program(&["man", "check"]), b""));
    assert!(page.contains(".TH utf8-codec-check 1") && page.contains("max\\-errors"));
    assert_eq!(run(&mut program(&["man", "nothing"]), b"").status.code(), Some(2));
}
