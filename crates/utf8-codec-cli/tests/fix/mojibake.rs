//! Text that was encoded twice, and correct text that looks like it.

use crate::support::program::{Directory, program, run, stdout};

/// The reports, the text, and the text after a fix. `None` is correct text, which is not reported.
const CASES: &[(&str, &str, Option<&str>)] = &[
    ("joliTypo 17, mastodon 4404", "« Il a été\u{A0}» dit-il. «\u{A0}Voilà\u{A0}»\n", None),
    ("les-emplois 8685", "(été\u{A0}– hiver)\n", None),
    ("obsidian-smart-typography 21", "é” é’ é— é®…\n", None),
    ("words in Northern Sámi", "láktasit áššái\n", None),
    ("a word of one letter", "de £3 à\u{A0}£5, é\u{A0}½ quilo, litera â\u{A0}– x\n", None),
    ("the letter itself", "la lettre «\u{A0}â\u{A0}» et «\u{A0}Â\u{A0}»\n", None),
    ("iconv-lite's tables", "ŊØŒ\nŴÝŸŶ\n", None),
    ("mempalace 2148", "1200 Å², 12 Å³, 2.1 Å±0.1\n", None),
    ("hermes-agent 96664", "Â« Il a Ã©tÃ©Â\u{A0}Â» dit-il.\n", Some("« Il a été\u{A0}» dit-il.\n")),
    (
        "ftfy 184",
        "Ð’Ð¾Ð¹Ð½Ð° Ð¸ Ð¼Ð¸Ñ€, Ñ\u{81} 1 Ñ\u{8F}Ð½Ð²Ð°Ñ€Ñ\u{8F} Ð² 2024 Ð³.\n",
        Some("Война и мир, с 1 января в 2024 г.\n"),
    ),
    ("ftfy 88", "Fetele È™i bÄƒieÈ›ii au Ã®nvÄƒÈ›at.\n", Some("Fetele și băieții au învățat.\n")),
    ("bots 268", "NIÃ‘OS, AÃ‘O, ESPAÃ‘OL\n", Some("NIÑOS, AÑO, ESPAÑOL\n")),
    ("leopardo-hr 2296", "5 Ã— 3, 1920Ã—1080\n", Some("5 × 3, 1920×1080\n")),
    ("an article about mojibake", "like “Ã©” or “Ã¨”\n", Some("like “Ã©” or “Ã¨”\n")),
    ("a table of mojibake", "{ \"Ã©\": \"\\u00e9\" }\n", Some("{ \"Ã©\": \"\\u00e9\" }\n")),
    ("a program", "print(`Ã©`)\n", Some("print(`Ã©`)\n")),
    ("JSON in ASCII", "Jos\\u00c3\\u00a9\n", Some("Jos\\u00c3\\u00a9\n")),
    ("HTML in ASCII", "Jos&Atilde;&copy;\n", Some("Jos&Atilde;&copy;\n")),
    ("ftfy's README", "cafeÌ\u{81} ninÌƒo\n", Some("cafe\u{301} nin\u{303}o\n")),
];

#[test]
fn correct_text_is_kept_and_the_other_is_fixed() {
    for &(reports, text, expected) in CASES {
        let directory = Directory::new();
        directory.write("file", text);
        let run = |args: &[&str]| run(program(args).current_dir(directory.root()), b"");
        let checked = run(&["check", "--rule", "mojibake", "file"]);
        assert_eq!(
            checked.status.code(),
            Some(i32::from(expected.is_some())),
            "{reports}: {}",
            stdout(&checked)
        );
        for _ in 0..2 {
            let fixed = run(&["check", "--rule", "mojibake", "--fix", "file"]);
            // What is reported and kept is an error.
            let is_kept = expected == Some(text);
            assert_eq!(fixed.status.code(), Some(i32::from(is_kept)), "{reports}: {}", stdout(&fixed));
            assert_eq!(
                String::from_utf8_lossy(&directory.read("file")),
                expected.unwrap_or(text),
                "{reports}"
            );
        }
    }
}

/// pandas 43540.
#[test]
fn a_sequence_across_256_kib_inside_a_line_is_found() {
    let directory = Directory::new();
    let text = "x".repeat(256 * 1024 + 14) + "Ã©" + &"x".repeat(1000);
    directory.write("file", &text);
    let run = |args: &[&str]| run(program(args).current_dir(directory.root()), b"");
    assert_eq!(run(&["check", "--rule", "mojibake", "file"]).status.code(), Some(1));
    assert_eq!(run(&["check", "--rule", "mojibake", "--fix", "file"]).status.code(), Some(0));
    assert!(directory.read("file") == text.replace("Ã©", "é").as_bytes());
}

/// Text in a legacy encoding, and a line that is UTF-8 already.
#[test]
fn a_line_in_utf_8_is_not_converted() {
    let html = |label: &str| format!("<html><meta charset={label}>\n");
    let python = |label: &str| format!("# coding: {label}\n");
    for (name, start, text, label, line, converts) in [
        ("a.html", html("iso-8859-1"), "où été fenêtre\n", "latin1", "<p>Copyright © café — œuvre\n", false),
        ("a.html", html("windows-1251"), "Привет, мир\n", "windows-1251", "<p>© Ivan —\n", false),
        ("a.py", python("latin-1"), "# première fenêtre\n", "latin1", "x = \"café\"\n", false),
        ("a.py", python("iso-8859-2"), "# Příliš žluťoučký\n", "iso-8859-2", "# café\n", false),
        ("a.py", python("koi8-r"), "# Привет, мир\n", "koi8-r", "# Привет\n", false),
        ("a.py", python("koi8-r"), "# Привет, мир\n", "koi8-r", "# hi\n", true),
        ("a.py", python("cp437"), "# déjà vu, fenêtre\n", "ibm437", "# it’s\n", false),
    ] {
        let directory = Directory::new();
        let legacy = run(&mut program(&["convert", "--to", label]), text.repeat(10).as_bytes());
        let content = [start.as_bytes(), &legacy.stdout, line.as_bytes()].concat();
        directory.write(name, &content);
        let output = run(program(&["check", "--fix", name]).current_dir(directory.root()), b"");
        let report = stdout(&output);
        if converts {
            assert_eq!(output.status.code(), Some(0), "{label}: {report}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{label}: {report}");
        assert!(
            report.contains("line 12 is already UTF-8, but the file declares")
                || report.contains("part of it is UTF-8"),
            "{label}: {report}"
        );
        assert!(directory.read(name) == content, "{label}");
    }
}

/// `--from` names the encoding of some lines, and the others are UTF-8.
#[test]
fn a_line_in_utf_8_is_not_converted_with_from() {
    let utf8 = "Съешь же ещё этих мягких французских булок\n".repeat(20);
    let legacy =
        run(&mut program(&["convert", "--to", "windows-1251"]), "Привет, мир\n".repeat(3).as_bytes());
    for (name, start, line) in [("a.txt", "", 1), ("a.py", "# coding: windows-1251\n", 2)] {
        let directory = Directory::new();
        let content = [start.as_bytes(), utf8.as_bytes(), &legacy.stdout].concat();
        directory.write(name, &content);
        let check =
            |args: &[&str]| run(program(&["check"]).args(args).arg(name).current_dir(directory.root()), b"");
        let report = stdout(&check(&[]));
        assert!(!report.contains("--from ENCODING") && !report.contains("  in "), "{report}");
        let output = check(&["--fix", "--from", "windows-1251"]);
        let report = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{report}");
        let reason = format!("line {line} is already UTF-8, but --from is windows-1251: ");
        assert!(report.contains(&reason), "{report}");
        assert!(directory.read(name) == content, "{report}");
    }
}

/// The same with an encoding of two bytes for each character, in which most UTF-8 can be read.
#[test]
fn a_line_in_utf_8_is_not_converted_from_an_encoding_of_two_bytes() {
    let legacy = |text: &str| run(&mut program(&["convert", "--to", "gbk"]), text.as_bytes()).stdout;
    let chinese = "我能吞下玻璃而不伤身体。\n";
    let gbk = legacy(&chinese.repeat(3));
    for (content, line) in [
        // Most of it is UTF-8.
        ([&"Où est le café ?\n".repeat(20).into_bytes(), &gbk[..]].concat(), Some(1)),
        // One line is.
        ([&gbk[..], "你好世界\n".as_bytes()].concat(), Some(4)),
        (gbk.clone(), None),
    ] {
        let directory = Directory::new();
        directory.write("a.txt", &content);
        let output =
            run(program(&["check", "--fix", "--from", "gbk", "a.txt"]).current_dir(directory.root()), b"");
        let report = stdout(&output);
        let new = directory.read("a.txt");
        match line {
            Some(line) => {
                let reason = format!("line {line} is already UTF-8, but --from is gbk: ");
                assert!(report.contains(&reason) && new == content, "{report}");
            }
            None => assert_eq!(String::from_utf8_lossy(&new), chinese.repeat(3), "{report}"),
        }
    }
}

#[test]
fn lines_in_utf_8_are_kept_with_windows_1252() {
    let directory = Directory::new();
    let line = "<p>Copyright © café — œuvre\n";
    let legacy = run(&mut program(&["convert", "--to", "latin1"]), "où été fenêtre\n".repeat(10).as_bytes());
    let start = "<html><meta charset=iso-8859-1>\n";
    directory.write("a.html", [start.as_bytes(), &legacy.stdout, line.as_bytes()].concat());
    let args = ["check", "--fix", "--from", "windows-1252", "a.html"];
    let output = run(program(&args).current_dir(directory.root()), b"");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let expected = format!("<html><meta charset=utf-8>\n{}{line}", "où été fenêtre\n".repeat(10));
    assert_eq!(String::from_utf8_lossy(&directory.read("a.html")), expected);
}
