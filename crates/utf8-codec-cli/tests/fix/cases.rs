//! What `check` hints and what `check --fix` decides: legacy text, binary files, declarations inside files, BOMs.

use serde_json::Value;

use crate::support::program::{Directory, program, run, stdout};

/// Runs `check` and returns its exit status and its report.
fn check(directory: &Directory, args: &[&str]) -> (Option<i32>, String) {
    let output = run(program(&["check"]).args(args).current_dir(directory.root()), b"");
    (output.status.code(), stdout(&output))
}

/// Text in legacy encodings other than windows-1252.
const LEGACY: &[(&str, &[u8])] = &[
    ("SubtitleEdit 2763, windows-1251", b"\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0\n"),
    ("windows-1251, one word", b"id;\xE8\xEC\xFF\n"),
    ("KOI8-R", b"\xF0\xD2\xC9\xD7\xC5\xD4, \xCD\xC9\xD2\n"),
    ("cp866", b"\x8F\xE0\xA8\xA2\xA5\xE2\n"),
    ("vscode 129289, GBK", b"// \xD6\xD0\xCE\xC4\xD7\xA2\xCA\xCD\xA3\xAC\xB2\xE2\xCA\xD4\n"),
    ("GBK, one character", b"a \xB5\xC4 b\n"),
    ("Big5", b"\xA7A\xA6n, \xA4@\xADE\n"),
    ("Shift_JIS", b"\x83e\x83X\x83g \x82\xA0\x82\xA2\n"),
    ("vscode 56115, cp949", b"\xC7\xD1\xB1\xB9\xBE\xEE\n"),
    ("EUC-JP", b"\xC6\xFC\xCB\xDC\xB8\xEC\n"),
    ("windows-1250, Polish", b"Za\xBF\xF3\xB3\xE6 g\xEA\x9Cl\xB9 ja\x9F\xF1\n"),
    ("windows-1250, Hungarian", b"\xC1rv\xEDzt\xFBr\xF5 t\xFCk\xF6rf\xFAr\xF3g\xE9p\n"),
    ("windows-1250, Czech", b"P\xF8\xEDli\x9A \x9Elu\x9Dou\xE8k\xFD k\xF9\xF2\n"),
    ("windows-1253", b"\xCA\xE1\xEB\xE7\xEC\xDD\xF1\xE1 \xEA\xFC\xF3\xEC\xE5\n"),
    ("windows-1254", b"g\xFCne\xFEli bir g\xFCn, de\xF0il mi\n"),
    ("windows-1255", b"\xF9\xEC\xE5\xED \xF2\xE5\xEC\xED\n"),
    ("windows-1256", b"\xE3\xD1\xCD\xC8\xC7\n"),
    ("windows-1257", b"\xE0\xE8\xE6\xEB \xE1\xF0\xF8\xFB\n"),
    ("windows-874", b"\xCA\xC7\xD1\xCA\xB4\xD5\n"),
    ("Mac Roman", b"caf\x8E na\x95ve d\x8Ej\x88\n"),
    ("cp850", b"caf\x82 gr\x94\xE1er sj\x94\n"),
];

#[test]
fn legacy_text_is_neither_named_nor_rewritten_by_a_guess() {
    for &(name, content) in LEGACY {
        let directory = Directory::new();
        directory.write("file", content);
        let (status, report) = check(&directory, &["file"]);
        assert_eq!(status, Some(1), "{name}");
        assert!(report.contains("file is in an unknown encoding\n  in "), "{report}");
        let command = "\n  if it is one of these: utf8-codec check --fix --from ENCODING file\n";
        assert!(report.contains(command), "{report}");
        assert!(!report.contains("to fix it"), "{name}: {report}");
        let (status, report) = check(&directory, &["--fix", "--from", "auto", "file"]);
        assert_eq!(status, Some(1), "{name}");
        assert!(report.contains("file is not fixed: the encoding is not known"), "{name}: {report}");
        assert_eq!(directory.read("file"), content, "{name}");
    }
}

/// UTF-16 that is also well-formed UTF-8.
#[test]
fn wide_ascii_is_reported() {
    for (name, convert) in
        [("UTF-16LE", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("UTF-16BE", u16::to_be_bytes)]
    {
        let directory = Directory::new();
        let bytes: Vec<u8> = "hello, world\nplain text\n".encode_utf16().flat_map(convert).collect();
        directory.write("file", &bytes);
        let (status, report) = check(&directory, &["file"]);
        assert_eq!(status, Some(1), "{report}");
        let lower = name.to_lowercase();
        assert!(report.contains(&format!("{name} without a BOM, not UTF-8")), "{report}");
        assert!(
            report.contains(&format!("to fix it: utf8-codec check --fix --from {lower} file")),
            "{report}"
        );
    }
    // Numbers of two bytes, and text with a NUL.
    for content in [&b"\x01\0\x02\0\x03\0 \0\n\0 \0"[..], b"plain text\0more text\n"] {
        let directory = Directory::new();
        directory.write("file", content);
        assert_eq!(check(&directory, &["file"]).0, Some(0), "{}", content.escape_ascii());
    }
}

/// Cases of public trackers.
#[test]
fn plain_words_of_western_europe_are_recognized() {
    for content in [
        &b"Autres c\xE9r\xE9ales         ;75 ;PARIS                    ;ILE DE FRANCE\n"[..],
        b"caf\xE9 \xE0 la carte, d\xE9j\xE0 vu\n",
        b"Espa\xF1a y Am\xE9rica\n",
        b"perch\xE9 la citt\xE0 \xE8 cos\xEC\n",
    ] {
        let directory = Directory::new();
        directory.write("file", content);
        let (_, report) = check(&directory, &["file"]);
        assert!(report.contains("is probably ISO 8859-1 text"), "{report}");
    }
    let directory = Directory::new();
    directory.write("file", b"I am some latin 1 \xC2 encoded text\n");
    let (_, report) = check(&directory, &["file"]);
    let expected =
        "file is in an unknown encoding\n  in windows-1252: I am some latin 1 \u{C2} encoded text\n";
    assert!(report.contains(expected), "{report}");
}

/// The start of binary files without a NUL, with bytes that are not UTF-8.
const BINARY: &[(&str, &[u8])] = &[
    ("addons-linter 1646, PNG", b"\x89PNG\r\n\x1A\n\x01\x02"),
    ("PDF", b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\n"),
    ("gzip", b"\x1F\x8B\x08\x08\xE9abc"),
    ("zip", b"PK\x03\x04\x14\xE9"),
    (
        "koopa 60, zlib",
        b"\x78\x9C\x4B\xCA\x4B\xE1\x4A\x52\x48\xCB\x4F\x4E\xE4\x4A\x4C\xCD\x48\x04\xB2\x33\xF2",
    ),
    ("DER", b"\x30\x0A\x02\x04\x13\x05\x9A\x8C\x02\x02\x01\xFF\x07"),
    ("transpiler 1845, OpenPGP", b"\x99\x01\x0D\x04\x5C\xE9\xE9\xE9"),
    ("OpenPGP message", b"\x85\x01\x0C\x03\xA9\xE9\xE9\xE9"),
    ("ELF", b"\x7FELF\x02\x01\x01\xE9"),
    ("JPEG", b"\xFF\xD8\xFF\xE0\x10JFIF"),
    ("noise", b"\x8A\x13\xF0\x07\x99a\x1E\xFFb\xC0\x02\x80"),
    ("NUL", b"caf\xE9\0"),
];

#[test]
fn binary_files_get_no_hint_and_are_never_rewritten() {
    for &(name, content) in BINARY {
        let directory = Directory::new();
        directory.write("file", content);
        let (status, report) = check(&directory, &["file"]);
        assert_eq!(status, Some(1), "{name}");
        assert!(report.contains("file is binary\n") && !report.contains("to fix it"), "{name}: {report}");
        for from in ["auto", "windows-1252", "latin1"] {
            let (status, report) = check(&directory, &["--fix", "--from", from, "file"]);
            assert_eq!(status, Some(1), "{name}");
            assert!(report.contains("file is not fixed: it is binary\n"), "{name}: {report}");
        }
        let (status, report) = check(&directory, &["--fix", "--from", "latin1", "."]);
        assert!(status == Some(0) && report.contains("1 binary file skipped"), "{name}: {report}");
        assert_eq!(directory.read("file"), content, "{name}");
        let (_, report) = check(&directory, &["--format", "json", "file"]);
        let summary: Value = serde_json::from_str(report.lines().last().expect("a line")).expect("JSON");
        assert!(
            summary["binary"] == true && summary["errors"] != 0 && summary["probably"].is_null(),
            "{summary}"
        );
    }
}

#[test]
fn text_with_data_after_it_is_not_rewritten() {
    let directory = Directory::new();
    let content = [b"#!/bin/sh\n".repeat(1000), b"\x1F\x8B\x08\0\0\xE9\xC3\x02\x8E".to_vec()].concat();
    directory.write("installer.run", &content);
    let (status, report) = check(&directory, &["--fix", "--from", "latin1", "installer.run"]);
    assert!(status == Some(1) && report.contains("not fixed: it is binary"), "{report}");
    assert_eq!(directory.read("installer.run"), content);
}

/// File, old content, new content. The fix needs no `--from`.
const DECLARED: &[(&str, &[u8], &str)] = &[
    (
        "plexus-utils 242.xml",
        b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<a>caf\xE9</a>\n",
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<a>caf\u{E9}</a>\n",
    ),
    ("no extension", b"<?xml version='1.0' encoding='latin1'?><a>caf\xE9</a>", "<?xml version='1.0' encoding='utf-8'?><a>caf\u{E9}</a>"),
    (
        "libexpat 1089.xml",
        b"\xFF\xFE<\0?\0x\0m\0l\0 \0e\0n\0c\0o\0d\0i\0n\0g\0=\0'\0U\0T\0F\0-\x001\x006\0'\0?\0>\0<\0a\0/\0>\0\xE9\0",
        "<?xml encoding='utf-8'?><a/>\u{E9}",
    ),
    (
        "two.xhtml",
        b"<?xml version='1.0' encoding='iso-8859-1'?><html><head><meta charset=\"iso-8859-1\"/></head>caf\xE9</html>",
        "<?xml version='1.0' encoding='utf-8'?><html><head><meta charset=\"utf-8\"/></head>caf\u{E9}</html>",
    ),
    (
        "page.html",
        b"<html><head><meta http-equiv=Content-Type content='text/html; charset=iso-8859-1'><title>\x93caf\xE9\x94",
        "<html><head><meta http-equiv=Content-Type content='text/html; charset=utf-8'><title>\u{201C}caf\u{E9}\u{201D}",
    ),
    ("a.css", b"@charset \"windows-1252\";\nq{quotes:'\x93' '\x94'}", "@charset \"utf-8\";\nq{quotes:'\u{201C}' '\u{201D}'}"),
    (
        "sith 11.py",
        b"# -*- coding: latin-1 -*-\nprint(\"caf\xE9\")\n",
        "# -*- coding: utf-8 -*-\nprint(\"caf\u{E9}\")\n",
    ),
    ("a.rb", b"# encoding: iso-8859-1\nputs 'caf\xE9'\n", "# encoding: utf-8\nputs 'caf\u{E9}'\n"),
    (
        "fr.po",
        b"msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n\nmsgid \"a\"\nmsgstr \"caf\xE9\"\n",
        "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=utf-8\\n\"\n\nmsgid \"a\"\nmsgstr \"caf\u{E9}\"\n",
    ),
];

#[test]
fn a_declaration_is_the_hint_and_is_rewritten_with_the_text() {
    for &(name, old, new) in DECLARED {
        for args in [&["--fix"][..], &["--fix", "--from", "auto"]] {
            let directory = Directory::new();
            directory.write(name, old);
            let (_, report) = check(&directory, &[name]);
            assert!(
                report.contains("as it declares\n  to fix it: utf8-codec check --fix") || old[0] == 0xFF,
                "{report}"
            );
            let (status, report) = check(&directory, &[args, &[name]].concat());
            assert_eq!(status, Some(0), "{name}: {report}");
            assert_eq!(String::from_utf8_lossy(&directory.read(name)), new, "{name}");
            assert_eq!(check(&directory, &["--fix", name]).0, Some(0));
            assert_eq!(String::from_utf8_lossy(&directory.read(name)), new, "{name}");
        }
    }
}

#[test]
fn a_file_is_not_fixed_against_its_declaration() {
    for (name, content, args, reason) in [
        (
            "a.xml",
            &b"<?xml version='1.0' encoding='hp-roman8'?>\xC1\xC2"[..],
            &[][..],
            "it declares hp-roman8",
        ),
        (
            "a.xml",
            b"<?xml version='1.0' encoding='hp-roman8'?>\xC1\xC2",
            &["--from", "latin1"],
            "it declares hp-roman8, and --from is latin1",
        ),
        (
            "a.xml",
            b"<?xml version='1.0' encoding='hp-roman8'?>\xC1\xC2",
            &["--from", "auto"],
            "it declares hp-roman8",
        ),
        (
            "a.xml",
            b"<?xml version='1.0' encoding='iso-8859-1'?>caf\xE9",
            &["--from", "utf-16le"],
            "it declares iso-8859-1",
        ),
        ("a.xml", b"<?xml version='1.0' encoding='UTF-16'?>\xE9", &[], "it declares UTF-16"),
        ("a.py", b"# coding: ascii\n\xE9", &[], "it declares ascii"),
        (
            "a.xhtml",
            b"<?xml version='1.0' encoding='latin1'?><html><meta charset=koi8-r>\xE9",
            &[],
            "it declares latin1",
        ),
        // Some of the file is UTF-8, or all of it.
        (
            "a.py",
            b"# coding: latin-1\ncaf\xC3\xA9 \xE9\n",
            &[],
            "it declares latin-1, and part of it is UTF-8: name the encoding of the other part with --from",
        ),
        (
            "a.py",
            b"# coding: latin-1\ncaf\xC3\xA9 caf\xE9 cr\xE8me\n",
            &[],
            "it declares latin-1, and part of it is UTF-8: --from latin1 keeps that part",
        ),
        (
            "a.py",
            b"# coding: latin-1\nBeyonc\xC3\x83\xC2\xA9\n",
            &["--rule", "mojibake"],
            "it is UTF-8, and declares latin-1",
        ),
    ] {
        let directory = Directory::new();
        directory.write(name, content);
        let (status, report) = check(&directory, &[&["--fix"][..], args, &[name]].concat());
        assert!(status == Some(1) && report.contains(reason), "{name} {args:?}: {report}");
        // Without --from, the declaration decides.
        assert_eq!(report.contains("to fix it"), args.contains(&"utf-16le"), "{report}");
        assert_eq!(directory.read(name), content, "{name}");
        if reason.contains("part of it is UTF-8") {
            assert_eq!(check(&directory, &["--fix", "--from", "latin1", name]).0, Some(0));
            let fixed = String::from_utf8(directory.read(name)).expect("UTF-8");
            assert!(fixed.starts_with("# coding: utf-8\ncaf\u{E9} "), "{fixed}");
        }
    }
}

#[test]
fn the_command_in_a_hint_converts_the_file() {
    for (name, content) in [
        ("-dash.txt", &b"caf\xE9\n"[..]),
        ("wide", b"\xFF\xFEh\0\x00\xD8i\0"),
        ("odd", b"\xFF\xFEh\0i"),
        ("it's", b"caf\xE9\n"),
        ("no-bom", b"h\0i\0 \0\xE9\0a\0"),
        ("cesu", b"a\xED\xA0\xBD\xED\xB2\xA9b\n"),
        ("java", b"a\xC0\x80b\n"),
        ("-x.py", b"# coding: latin-1\n# caf\xE9\n"),
    ] {
        let directory = Directory::new();
        directory.write(name, content);
        let (_, report) = check(&directory, &["--", name]);
        let command = report.lines().find_map(|line| line.strip_prefix("  to fix it: utf8-codec "));
        let command = format!("\"$0\" {}", command.unwrap_or_else(|| panic!("{name}: {report}")));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command, crate::support::program::PROGRAM]).current_dir(directory.root());
        let output = run(&mut shell, b"");
        assert!(output.status.success(), "{command}: {}", stdout(&output));
        assert_ne!(directory.read(name), content);
        assert_eq!(check(&directory, &["--", name]).0, Some(0), "{name}");
    }
}

#[test]
fn a_bom_is_added_only_where_windows_powershell_needs_it() {
    for (name, old, new) in [
        // conductor 175.
        (
            "install.ps1",
            &b"#!/usr/bin/env pwsh\nWrite-Host '\xC3\xA9'\n"[..],
            &b"#!/usr/bin/env pwsh\nWrite-Host '\xC3\xA9'\n"[..],
        ),
        ("ascii.psm1", b"Write-Host hi\n", b"Write-Host hi\n"),
        ("empty.ps1", b"", b""),
        ("a.psd1", b"@{ Author = '\xC3\xA9' }\n", b"\xEF\xBB\xBF@{ Author = '\xC3\xA9' }\n"),
        ("wide.ps1", b"\xFF\xFEh\0i\0", b"hi"),
        ("wide.ps1", b"\xFF\xFEh\0\xE9\0", b"\xEF\xBB\xBFh\xC3\xA9"),
        ("wide.ps1", b"\xFF\xFE#\0!\0\xE9\0", b"#!\xC3\xA9"),
    ] {
        let directory = Directory::new();
        directory.write(name, old);
        let (status, report) = check(&directory, &["--rule", "bom", "--fix", name]);
        assert_eq!((status, &directory.read(name)[..]), (Some(0), new), "{name}: {report}");
        assert_eq!(check(&directory, &["--rule", "bom", name]).0, Some(0), "{name}");
    }
}

/// A character beyond ASCII far from the start of a script.
#[test]
fn a_long_script_needs_a_bom_for_its_last_character() {
    let directory = Directory::new();
    let text = "# plain\n".repeat(100_000) + "'\u{E9}'\n";
    directory.write("long.ps1", &text);
    let (status, report) = check(&directory, &["--rule", "bom", "--format", "short", "long.ps1"]);
    assert_eq!((status, report.as_str()), (Some(1), "long.ps1:1:1: there is no BOM\n"));
    assert_eq!(check(&directory, &["--rule", "bom", "--fix", "long.ps1"]).0, Some(0));
    assert_eq!(directory.read("long.ps1"), ["\u{FEFF}", &text].concat().as_bytes());
}
