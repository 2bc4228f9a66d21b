//! The rule `mojibake` and its fix, run as a program.

use std::fs;
use std::process::Output;

use crate::support::program::{Directory, program, run, stdout};

fn check(directory: &Directory, args: &[&str]) -> Output {
    let args = [&["check", "--rule", "mojibake"], args].concat();
    run(program(&args).current_dir(directory.root()), b"")
}

/// A file that was encoded twice as a whole, and its original.
const WHOLE: (&str, &str) = (
    "Ð’Ð¾Ð¹Ð½Ð° Ð¸ Ð¼Ð¸Ñ€\nÐ°\nÐ² 2024 Ð³.\nÅ\u{A0}\nÃ‰tÃ©Â\u{A0}Â»\n",
    "Война и мир\nа\nв 2024 г.\nŠ\nÉté\u{A0}»\n",
);

#[test]
fn a_file_that_was_encoded_twice_as_a_whole_is_fixed_as_a_whole() {
    let directory = Directory::new();
    directory.write("file", WHOLE.0);
    let output = check(&directory, &["--fix", "file"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!(String::from_utf8_lossy(&directory.read("file")), WHOLE.1);
    let output = check(&directory, &["--fix", "file"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "1 file checked: no errors\n"));
}

#[test]
fn what_is_left_is_reported() {
    let directory = Directory::new();
    // The second line has correct text, and the third has a lost byte.
    let pasted = "Ã©tÃ© cafÃ© dÃ©jÃ©\n";
    directory.write("file", format!("{pasted}Soirée… Ã…\ntÃ xi\n"));
    for args in [&[][..], &["--format", "json"]] {
        let output = check(&directory, &[args, &["file"]].concat());
        assert_eq!(output.status.code(), Some(1));
    }
    let output = check(&directory, &["--fix", "--format", "short", "file"]);
    assert_eq!(output.status.code(), Some(1));
    let fixed = "été café déjé\nSoirée… Ã…\ntÃ xi\n";
    assert_eq!(String::from_utf8_lossy(&directory.read("file")), fixed);
    let report = stdout(&output);
    assert!(report.contains("file:2:9: text that may have been encoded twice"), "{report}");
    assert!(report.contains("file:3:2: text that was encoded twice, and then a byte"), "{report}");
    // The second run changes nothing.
    check(&directory, &["--fix", "file"]);
    assert_eq!(String::from_utf8_lossy(&directory.read("file")), fixed);
}

#[test]
fn the_report_is_the_same_for_a_file_and_for_a_stream() {
    let directory = Directory::new();
    let text = format!("{}{}", "Ð°\n".repeat(3), WHOLE.0);
    directory.write("file", &text);
    let report = |output: Output| stdout(&output).lines().map(|line| line.to_owned()).collect::<Vec<_>>();
    let file = report(check(&directory, &["--format", "short", "--max-errors", "0", "file"]));
    let args = ["check", "--rule", "mojibake", "--format", "short", "--max-errors", "0", "-"];
    let stream = report(run(&mut program(&args), text.as_bytes()));
    assert_eq!(file.len(), 12, "{file:?}");
    let position = |line: &String| line.split_once(':').map(|(_, rest)| rest.to_owned());
    assert!(file.iter().map(position).eq(stream.iter().map(position)));
}

#[test]
fn a_sequence_at_a_boundary_in_a_long_line_is_found() {
    let directory = Directory::new();
    let boundaries = [64, 256, 320].map(|kib: usize| kib * 1024);
    for (filler, sequence, original) in [("x", "Ã©", "é"), ("é", "ðŸ˜€", "😀")] {
        let (mut names, mut expected) = (Vec::new(), Vec::new());
        for shift in 0..=sequence.len() + 1 {
            // The start of each sequence is `shift` bytes before a boundary, or near it.
            let mut text = String::new();
            for end in boundaries.map(|boundary| boundary - shift) {
                text.push_str(&filler.repeat((end - 3 - text.len()) / filler.len()));
                text.push_str(&" ".repeat(end - text.len()));
                text.push_str(sequence);
                text.push(' ');
            }
            text.push_str(&filler.repeat(35_000));
            // The file has more of it, so that the line has no examples.
            text.push_str(&format!("\n{sequence}x").repeat(4));
            let name = format!("{shift}");
            directory.write(&name, &text);
            expected.push(text.replace(sequence, original));
            names.push(name);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let output = check(&directory, &[&["--format", "short", "--max-errors", "0"], &names[..]].concat());
        assert_eq!(stdout(&output).lines().count(), 7 * names.len(), "{filler} {sequence}");
        assert_eq!(output.status.code(), Some(1));
        let output = check(&directory, &[&["--fix"], &names[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        for (name, expected) in names.iter().zip(expected) {
            assert!(fs::read_to_string(directory.path(name)).expect("text") == expected, "{filler} {name}");
        }
    }
}

#[test]
fn a_long_line_without_ascii_is_found_at_every_offset() {
    let directory = Directory::new();
    for start in ["", "«", "☃"] {
        for sequence in ["Ã©", "â€™", "ðŸ˜€"] {
            let text = start.to_owned() + &sequence.repeat(400_000 / sequence.len());
            directory.write("file", &text);
            let output = check(&directory, &["--fix", "file"]);
            assert_eq!(output.status.code(), Some(0), "{start} {sequence}");
            let new = fs::read_to_string(directory.path("file")).expect("text");
            let mut characters = new[start.len()..].chars();
            let first = characters.next().expect("text");
            assert_eq!(new.len(), start.len() + first.len_utf8() * (400_000 / sequence.len()));
            assert!(characters.all(|character| character == first), "{start} {sequence}");
        }
    }
}

#[test]
fn an_incomplete_sequence_is_left_and_reported() {
    let directory = Directory::new();
    directory.write("file", "say â€œ like this â€\u{FFFD} ok\n");
    let output = check(&directory, &["--fix", "--format", "short", "file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("file:1:17: text that was encoded twice, and then a byte"));
    assert_eq!(String::from_utf8_lossy(&directory.read("file")), "say “ like this â€\u{FFFD} ok\n");
}

#[test]
fn an_example_is_reported_and_kept() {
    let directory = Directory::new();
    let text = "Voilà un café\n// Prints: this is a tÃ©st\n";
    directory.write("file", text);
    for args in [&["file"][..], &["--fix", "file"], &["file"]] {
        let output = check(&directory, &[&["--format", "short"], args].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).contains("file:2:23: text that was encoded twice, but it may be an example"));
        assert_eq!(String::from_utf8_lossy(&directory.read("file")), text);
    }
}

#[test]
fn a_second_fix_of_a_long_line_changes_nothing() {
    let directory = Directory::new();
    let unit = "cafÃ© Å² kÃ…Â² NÃ‘O, Ã‰â€\u{9D} Å²: ";
    for shift in 0..3 {
        directory.write("file", &("-".repeat(shift * 13) + &unit.repeat(80_000 / unit.len())));
        check(&directory, &["--fix", "file"]);
        let fixed = directory.read("file");
        for _ in 0..2 {
            check(&directory, &["--fix", "file"]);
            assert!(directory.read("file") == fixed, "{shift}");
        }
    }
}
