//! `utf8-codec check --fix`, run as a program.

use core::time::Duration;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Output};
use std::time::SystemTime;

use crate::support::program::{Directory, program, run, stderr, stdout};
use serde_json::Value;

fn fix(directory: &Directory, args: &[&str]) -> Output {
    run(program(&["check", "--fix"]).args(args).current_dir(directory.root()), b"")
}

fn utf_16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Old content, options, new content.
const FIXED: &[(&[u8], &[&str], &str)] = &[
    (b"caf\xE9 \x93noir\x94\n", &["--from", "windows-1252"], "café “noir”\n"),
    (b"caf\xE9 \x85\n", &["--from", "latin1"], "café \u{85}\n"),
    // UTF-8 that contains some windows-1252.
    ("café \u{20AC} ".as_bytes(), &["--from", "windows-1252"], "café € "),
    (b"caf\xC3\xA9 caf\xE9\n", &["--from", "windows-1252"], "café café\n"),
    // With `--from`, the last byte is converted and not reported as a truncated sequence.
    (b"caf\xE9", &["--from", "windows-1252"], "café"),
    (b"\xFF\xFEh\0i\0\xE9\0", &[], "hié"),
    (b"\xFE\xFF\0h\0i\xD8\x3E\xDD\x80", &[], "hi🦀"),
    (b"\xFF\xFE\0\0h\0\0\0i\0\0\0", &[], "hi"),
    (b"\0h\0i\0 \0\xE9\0\xE8\0a", &["--from", "auto"], "hi éèa"),
    (b"h\0i\0 \0\xE9\0", &["--from", "utf-16le"], "hi é"),
    (b"a\xED\xA0\xBD\xED\xB2\xA9b\n", &[], "a💩b\n"),
    (b"a\xC0\x80b\xED\xA0\xBD\xED\xB2\xA9\n", &["--from", "modified-utf-8"], "a\0b💩\n"),
    ("BeyoncÃ©\ncafe\n".as_bytes(), &["--rule", "mojibake"], "Beyoncé\ncafe\n"),
    ("BeyoncÃƒÂ©".as_bytes(), &["--rule", "mojibake"], "Beyoncé"),
    (b"\xEF\xBB\xBFa\n", &["--bom", "reject"], "a\n"),
    (b"\xEF\xBB\xBF\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n", &["--bom", "reject"], "a\n\u{FEFF}b\n"),
    (b"\xFF\xFE\xFF\xFEa\0", &["--bom", "reject"], "a"),
    ("\u{FEFF}ï»¿a\n".as_bytes(), &["--bom", "reject", "--rule", "mojibake"], "a\n"),
    ("\u{FEFF}a\n\u{FEFF}\u{FEFF}b\n".as_bytes(), &["--rule", "invisible"], "\u{FEFF}a\nb\n"),
    ("a\r\n\u{FEFF}cafÃ©\r\n".as_bytes(), &["--rule", "invisible", "--rule", "mojibake"], "a\r\ncafé\r\n"),
    ("a\n\u{FEFF}b".as_bytes(), &["--rule", "invisible", "--bom", "require"], "\u{FEFF}a\nb"),
    (b"a\n", &["--bom", "require"], "\u{FEFF}a\n"),
    ("ï»¿cafÃ©\n".as_bytes(), &["--bom", "require", "--rule", "mojibake"], "\u{FEFF}café\n"),
    (b"\xFF\xFEa\0", &["--bom", "require"], "\u{FEFF}a"),
];

#[test]
fn a_fix_says_what_it_did() {
    for (old, args, changes) in [
        (&b"\xFF\xFEh\0"[..], &["--bom", "reject"][..], &["converted from utf-16"][..]),
        (b"caf\xE9 \x93\n", &["--from", "windows-1252"], &["2 sequences decoded as windows-1252"]),
        (
            b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n\xEF\xBB\xBF",
            &["--bom", "reject", "--rule", "invisible"],
            &["BOM removed", "U+FEFF removed, 2 times"],
        ),
        (b"a", &["--bom", "require"], &["BOM added"]),
        ("BeyoncÃ©\n".as_bytes(), &["--rule", "mojibake"], &["text encoded twice"]),
    ] {
        for format in ["human", "json"] {
            let directory = Directory::new();
            directory.write("file", old);
            let report = stdout(&fix(&directory, &[args, &["--format", format, "file"]].concat()));
            if format == "json" {
                let summary: Value =
                    serde_json::from_str(report.lines().last().expect("a line")).expect("JSON");
                assert_eq!(summary["changes"], serde_json::json!(changes));
            } else {
                assert!(report.contains(&format!(" fixed: {}\n", changes.join(", "))), "{report}");
            }
        }
    }
    let directory = Directory::new();
    directory.write("file", b"\xFF\xFEh\0");
    let output = fix(&directory, &["-q", "file"]);
    assert_eq!(
        (output.status.code(), stdout(&output), stderr(&output)),
        (Some(0), String::new(), String::new())
    );
    assert_eq!(directory.read("file"), b"h");
}

#[test]
fn a_file_without_a_certain_fix_is_not_written() {
    let directory = Directory::new();
    let path = directory.write("file", "a\u{200B}b\u{FEFF}\n");
    let old = fs::metadata(&path).expect("a file");
    let output = fix(&directory, &["--rule", "invisible", "file"]);
    assert_eq!(output.status.code(), Some(1));
    let reason = "file is not fixed: none of its errors has a fix that is certain\n";
    assert!(stdout(&output).contains(reason));
    let output = fix(&directory, &["--rule", "invisible", "--dry-run", "file"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    let new = fs::metadata(&path).expect("a file");
    assert_eq!((old.ino(), old.mtime_nsec()), (new.ino(), new.mtime_nsec()));
    assert_eq!(directory.names(), ["file"]);
}

/// A large file takes longer, and is fixed after the other ones.
#[test]
fn fixed_files_keep_the_order_of_their_times() {
    let directory = Directory::new();
    let now = SystemTime::now();
    for (name, age, len) in
        [("large", 3600, 1 << 20), ("same", 1800, 10), ("small", 1800, 1), ("young", 60, 1)]
    {
        let path = directory.write(name, b"\xE9 a\n".repeat(len));
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(now - Duration::from_secs(age)).expect("a time");
    }
    let output = fix(&directory, &["--from", "latin1", "--jobs", "4", "."]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let time =
        |name: &str| fs::metadata(directory.path(name)).and_then(|file| file.modified()).expect("a time");
    let [large, same, small, young] = ["large", "same", "small", "young"].map(time);
    assert!(
        now - Duration::from_secs(1) < large && large < same && same == small && small < young,
        "{large:?} {same:?} {young:?}"
    );
}

#[test]
fn a_diff_shows_characters() {
    let directory = Directory::new();
    directory.write("joined", "a\n\u{FEFF}b\n");
    directory.write("old.xml", b"<?xml version='1.0' encoding='latin1'?>\n<a>caf\xE9</a>\n");
    directory.write("wide", [&b"\xFF\xFE"[..], &utf_16("hi\u{E9}\n")].concat());
    let args = ["check", "--diff", "--rule", "invisible", "."];
    let output = run(program(&args).current_dir(directory.root()), b"");
    let expected = "--- a/joined\n+++ b/joined\n@@ -1,2 +1,2 @@\n a\n-<U+FEFF>b\n+b\n\
        --- a/old.xml (latin1)\n+++ b/old.xml (utf-8)\n@@ -1,2 +1,2 @@\n\
        -<?xml version='1.0' encoding='latin1'?>\n+<?xml version='1.0' encoding='utf-8'?>\n <a>café</a>\n\
        --- a/wide (utf-16)\n+++ b/wide (utf-8)\n";
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), (expected, ""));
    assert_eq!(directory.read("joined"), "a\n\u{FEFF}b\n".as_bytes());
}

#[test]
fn each_kind_of_error_is_fixed() {
    for &(old, args, new) in FIXED {
        let directory = Directory::new();
        directory.write("file", old);
        let output = fix(&directory, &[args, &["file"]].concat());
        assert_eq!(String::from_utf8_lossy(&directory.read("file")), new, "{args:?} {}", stdout(&output));
        if old != new.as_bytes() {
            assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
            assert!(stdout(&output).contains("fixed in 1 file"), "{}", stdout(&output));
        }
        assert_eq!(directory.names(), ["file"]);
        // A second fix changes nothing.
        let output = fix(&directory, &[args, &["file"]].concat());
        assert_eq!(output.status.code(), Some(0));
        assert!(!stdout(&output).contains("fixed in"), "{}", stdout(&output));
    }
}

/// Text whose bytes are ASCII or UTF-8 in another encoding.
#[test]
fn a_named_encoding_converts_or_says_why_not() {
    let wide: Vec<u8> = "hello, world\nplain text\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (content, from, expected) in [
        (&wide[..], "utf-16le", "hello, world\nplain text\n"),
        (b"\x1B$B$3$s$K$A$O\x1B(B\n", "iso-2022-jp", "こんにちは\n"),
    ] {
        let directory = Directory::new();
        directory.write("file", content);
        let output = fix(&directory, &["--from", from, "file"]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        assert!(stdout(&output).contains(&format!("converted from {from}")), "{}", stdout(&output));
        assert_eq!(directory.read("file"), expected.as_bytes());
    }
    for (content, from) in [("caf\u{E9}\n", "latin1"), ("plain\n", "utf-16le"), ("plain\n", "iso-2022-jp")] {
        let directory = Directory::new();
        directory.write("file", content);
        let output = fix(&directory, &["--from", from, "file"]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        assert!(stdout(&output).contains("file is not fixed: it is UTF-8 already"), "{}", stdout(&output));
        assert_eq!(directory.read("file"), content.as_bytes());
    }
}

#[test]
fn a_guessed_encoding_is_not_used_for_a_fix() {
    for (content, args, reason) in [
        (&b"caf\xE9 \x93noir\x94"[..], &[][..], "--from is missing"),
        (b"\0h\0i\0 \0\xE9\0\xE8\0a", &[], "--from is missing"),
        (b"\0h\0i\0 \0\xE9\0\xE8\0a", &["--from", "windows-1252"], "it is probably UTF-16BE"),
        (b"caf\xE9 \x93noir\x94", &["--from", "auto"], "the encoding is not known"),
        (b"\xCF\xF0\xE8\xE2\xE5\xF2", &[], "the encoding is not known, and --from is missing"),
        (b"a\xC0\x80b\n", &[], "C0 80 is NUL in Java's modified UTF-8"),
        (b"a\xC0\x80b\n", &["--from", "auto"], "C0 80 is NUL in Java's modified UTF-8"),
        (b"cut \xE2\x82", &[], "its last character is incomplete"),
        (b"cut \xE2\x82", &["--from", "auto"], "its last character is incomplete"),
        (b"\xFF\xFEh\0\x00\xD8i\0", &[], "it is not utf-16 either"),
        (b"abcd\xFF", &["--from", "utf-16le"], "it is not utf-16le either"),
        (b"\xFF\xFEhello world\n", &[], "UTF-16LE with a BOM, with text in ASCII"),
        (
            b"\xFF\xFEh\0i\0\n\0appended by a program that writes ASCII to each log\n",
            &[],
            "with text in ASCII",
        ),
        (b"\x89PNG\0\xFF", &["--from", "windows-1252"], "it is binary"),
        ("a\u{202E}".as_bytes(), &["--rule", "bidi"], "none of the violated rules has a fix"),
    ] {
        let directory = Directory::new();
        directory.write("file", content);
        let output = fix(&directory, &[args, &["file"]].concat());
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(directory.read("file"), content);
        let report = stdout(&output);
        assert!(report.contains("error: ") && report.contains("file is not fixed: "), "{report}");
        assert!(report.contains(reason), "{report}");
        let output = fix(&directory, &[args, &["--dry-run", "file"]].concat());
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
        let json = stdout(&fix(&directory, &[args, &["--format", "json", "file"]].concat()));
        let summary: Value = serde_json::from_str(json.lines().last().expect("a line")).expect("JSON");
        assert!(summary["not_fixed"].as_str().expect("a reason").contains(reason), "{summary}");
    }
}

#[test]
fn remaining_errors_are_reported_at_their_new_locations() {
    let directory = Directory::new();
    directory.write("file", b"caf\xE9 \xE2\x80\xAE\n");
    let output = fix(&directory, &["--from", "windows-1252", "--rule", "bidi", "--format", "short", "file"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "file:1:6: U+202E changes the order of the text on a screen\n");
    assert_eq!(directory.read("file"), "café \u{202E}\n".as_bytes());
    let output = fix(&directory, &["--rule", "mojibake", "file"]);
    assert_eq!(output.status.code(), Some(0));
}

/// A line that is correct makes the other one an example.
#[test]
fn mojibake_in_utf_16_is_judged_as_in_utf_8() {
    for text in ["BeyoncÃ©\n", "BeyoncÃ©\nBeyoncé\n"] {
        let directory = Directory::new();
        directory.write("utf-8", text);
        directory.write("utf-16", [b"\xFF\xFE", utf_16(text).as_slice()].concat());
        let codes =
            ["utf-8", "utf-16"].map(|file| fix(&directory, &["--rule", "mojibake", file]).status.code());
        assert_eq!(codes[0], codes[1], "{text}");
        assert_eq!(directory.read("utf-8"), directory.read("utf-16"), "{text}");
    }
}

#[test]
fn a_comment_that_allows_mojibake_keeps_it() {
    let directory = Directory::new();
    let text = "Ã© // utf8-codec: allow mojibake\nÃ©\n";
    directory.write("file", text);
    assert_eq!(fix(&directory, &["--rule", "mojibake", "file"]).status.code(), Some(0));
    assert_eq!(directory.read("file"), text.replace("\nÃ©", "\né").as_bytes());
}

#[test]
fn the_mode_the_owner_and_links_are_kept() {
    let directory = Directory::new();
    let path = directory.write("target", b"caf\xE9\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).expect("a mode");
    let owner = fs::metadata(&path).expect("a file").uid();
    symlink("target", directory.path("link")).expect("a link");
    let output = fix(&directory, &["--from", "latin1", "--backup", ".orig", "link"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(fs::symlink_metadata(directory.path("link")).expect("a link").is_symlink());
    let metadata = fs::metadata(&path).expect("a file");
    assert_eq!((metadata.mode() & 0o7777, metadata.uid()), (0o754, owner));
    assert_eq!(directory.read("target"), "café\n".as_bytes());
    assert_eq!(directory.read("target.orig"), b"caf\xE9\n");
    assert_eq!(directory.names(), ["link", "target", "target.orig"]);
}

/// Without the list, its mask would be permissions of the group.
#[cfg(target_os = "linux")]
#[test]
fn the_access_control_list_and_attributes_are_kept() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    use rustix::io::Errno;

    // Version 2: a tag, permissions and an identifier for the owner, user 1000, the group, the mask and others.
    let entries =
        [(1, 6, u32::MAX), (2, 6, 1000), (4, 0, u32::MAX), (0x10, 6, u32::MAX), (0x20, 0, u32::MAX)];
    let list = entries.iter().flat_map(|&(tag, mode, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &mode.to_le_bytes(), &id.to_le_bytes()].concat()
    });
    let list: Vec<u8> = 2_u32.to_le_bytes().into_iter().chain(list).collect();
    let directory = Directory::new();
    let path = directory.write("file", b"caf\xE9\n");
    for (name, value) in [("system.posix_acl_access", list.as_slice()), ("user.tag", b"x")] {
        match setxattr(&path, name, value, XattrFlags::empty()) {
            // The file system has neither.
            Err(Errno::NOTSUP) => return,
            set => set.expect("an attribute"),
        }
    }
    let mode = fs::metadata(&path).expect("a file").mode();
    assert_eq!(fix(&directory, &["--from", "latin1", "file"]).status.code(), Some(0));
    assert_eq!(directory.read("file"), "café\n".as_bytes());
    let value_of = |name: &str| {
        let mut value = vec![0; 256];
        let len = getxattr(&path, name, &mut value[..]).expect("an attribute");
        value.truncate(len);
        value
    };
    assert_eq!(value_of("system.posix_acl_access"), list);
    assert_eq!(value_of("user.tag"), b"x");
    assert_eq!(fs::metadata(&path).expect("a file").mode(), mode);
}

#[test]
fn a_file_that_cannot_be_replaced_is_not_changed() {
    let content = b"caf\xE9\n";
    let directory = Directory::new();
    directory.write("linked", content);
    fs::hard_link(directory.path("linked"), directory.path("other")).expect("a link");
    directory.write("kept", content);
    directory.write("kept.bak", "an older backup");
    let read_only = directory.write("read_only", content);
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o444)).expect("a mode");
    symlink("loop", directory.path("loop")).expect("a link");
    directory.write("good", content);
    for jobs in ["1", "2"] {
        let files = ["linked", "kept", "read_only", "loop", "absent", "good", "good"];
        let args = [&["--from", "latin1", "--backup", ".bak", "--jobs", jobs][..], &files].concat();
        let output = fix(&directory, &args);
        assert_eq!(output.status.code(), Some(2));
        let errors = stderr(&output);
        for reason in [
            "cannot fix linked: it has 2 hard links",
            "cannot fix read_only: the file is read-only",
            "kept.bak: File exists",
            "cannot read loop: Too many levels of symbolic links",
            "cannot read absent: No such file",
        ] {
            assert!(errors.contains(reason), "{reason}: {errors}");
        }
        // `convert -o` would break the link.
        assert!(!stdout(&output).contains("to fix it"), "{}", stdout(&output));
        assert_eq!(errors.lines().count(), 5, "{errors}");
        for file in ["linked", "other", "kept", "read_only"] {
            assert_eq!(directory.read(file), content);
        }
        assert_eq!(directory.read("kept.bak"), b"an older backup");
        assert_eq!(directory.read("good"), "café\n".as_bytes());
    }
    let names = directory.names();
    assert!(!names.iter().any(|name| name.contains(".part")), "{names:?}");
}

#[test]
fn a_file_with_several_names_on_the_command_line_is_fixed_once() {
    let directory = Directory::new();
    symlink("file", directory.path("link")).expect("a link");
    for _ in 0..20 {
        directory.write("file", b"caf\xE9\n");
        let output = fix(&directory, &["--from", "latin1", "--jobs", "4", "file", "./file", "link", "."]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
        assert!(stdout(&output).ends_with("1 file checked: no errors, 1 error fixed in 1 file\n"));
        assert_eq!(directory.read("file"), "café\n".as_bytes());
    }
}

#[test]
fn a_pipe_is_not_read() {
    let directory = Directory::new();
    let mut pipe = Command::new("mkfifo");
    assert!(pipe.arg(directory.path("pipe")).status().expect("mkfifo").success());
    let output = fix(&directory, &["--from", "latin1", "pipe"]);
    assert_eq!(stderr(&output), "utf8-codec: cannot read pipe: it is not a regular file\n");
    assert_eq!(output.status.code(), Some(2));
}

/// Applies the diff of a dry run with a program, and compares the files with those that are fixed.
fn check_diff(tool: &[&str]) {
    let long = "0123456789\n".repeat(30);
    let files: [(&str, Vec<u8>, &[u8]); 6] = [
        ("a.txt", [long.as_bytes(), b"caf\xE9\n", long.as_bytes(), b"\x93end\x94"].concat(), b""),
        ("b/with space", b"one\r\ntw\xF6\r\nthree\r\n".to_vec(), b""),
        ("c\"\u{e9}", b"\xE9".to_vec(), b""),
        ("d", [&b"\xFF\xFE"[..], &utf_16("wide\ntext\n")].concat(), b"wide\ntext\n"),
        ("e", "twice: Ã©\nASCII\n".into(), "twice: é\nASCII\n".as_bytes()),
        ("f", b"\xEF\xBB\xBFmarked\n".to_vec(), b"marked\n"),
    ];
    let args = ["--from", "windows-1252", "--rule", "mojibake", "--bom", "reject"];
    let directory = Directory::new();
    files.iter().for_each(|(name, old, _)| {
        directory.write(name, old);
    });
    let before: Vec<_> = files.iter().map(|(name, ..)| directory.read(name)).collect();
    let dry = fix(&directory, &[&args[..], &["--dry-run", "."]].concat());
    assert_eq!((dry.status.code(), stderr(&dry).as_str()), (Some(1), ""));
    assert_eq!(files.iter().map(|(name, ..)| directory.read(name)).collect::<Vec<_>>(), before);
    let fixed = Directory::new();
    files.iter().for_each(|(name, old, _)| {
        fixed.write(name, old);
    });
    let output = fix(&fixed, &[&args[..], &["."]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let applied = run(Command::new(tool[0]).args(&tool[1..]).current_dir(directory.root()), &dry.stdout);
    assert!(applied.status.success(), "{tool:?}: {}{}", stdout(&applied), stderr(&applied));
    for (name, _, new) in &files {
        assert_eq!(directory.read(name), fixed.read(name), "{tool:?} {name}");
        assert!(new.is_empty() || fixed.read(name) == *new, "{name}");
        assert!(String::from_utf8(fixed.read(name)).is_ok());
    }
}

#[test]
#[ignore = "requires patch"]
fn a_dry_run_prints_a_diff_that_patch_applies() {
    check_diff(&["patch", "-p1", "--binary"]);
}

#[test]
#[ignore = "requires git"]
fn a_dry_run_prints_a_diff_that_git_applies() {
    check_diff(&["git", "apply"]);
}

/// The files contain lines longer than the buffer and sequences across its end.
#[test]
fn long_files_are_fixed() {
    let directory = Directory::new();
    for line in ["Ã©", "a Ã© b", "â€” Ø§Ù„Ø£Ø³Ø¹Ø§Ø±\n"] {
        let text = line.repeat(600_000 / line.len());
        directory.write("file", &text);
        let output = fix(&directory, &["--rule", "mojibake", "file"]);
        assert_eq!(output.status.code(), Some(0), "{line}");
        let expected = line.replace("Ã©", "é").replace("â€”", "—").replace("Ø§Ù„Ø£Ø³Ø¹Ø§Ø±", "الأسعار");
        assert!(directory.read("file") == expected.repeat(600_000 / line.len()).into_bytes(), "{line}");
    }
}

#[test]
fn contradicting_options_are_errors() {
    let directory = Directory::new();
    directory.write("file", "a");
    for (args, reason) in [
        (&["-"][..], "--fix cannot rewrite stdin"),
        (&["--encoding", "utf-16", "file"], "--fix writes UTF-8"),
        (&["--from", "utf-9", "file"], "unknown encoding"),
        (&["--backup", "a/b", "file"], "or contain a path separator"),
    ] {
        let output = fix(&directory, args);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
    let output = run(program(&["check", "--dry-run"]).arg(directory.path("file")), b"");
    assert_eq!(output.status.code(), Some(2));
}

/// UTF-8 that a program decoded as windows-1252 and wrote as UTF-8.
fn encoded_twice(text: &str) -> String {
    use utf8_codec_encodings::{Encoding, Transcoder};

    let mut out = String::new();
    let mut transcoder = Transcoder::new(Encoding::Windows1252, Encoding::Utf8);
    transcoder.feed_into(text.as_bytes(), &mut out).expect("every byte is a character");
    out
}

/// Text of public issues about files that were encoded twice: a part of the text as the issue shows it, and the
/// original.
const REPORTED: [(&str, &str, &str); 6] = [
    // deftai/directive 427: PowerShell 5.1 read UTF-8 as windows-1252.
    ("README.md", "ðŸš€", "# 🚀 Quick start\n\nRead this first — then ⬇️ download.\n"),
    // opencloudtouch/opencloudtouch 323: locale files and test data.
    (
        "fr.json",
        "âš™ï¸",
        "{\n  \"settings\": \"⚙️ Réglages\",\n  \"warn\": \"⚠️ Problème\",\n  \"artist\": \"Beyoncé\"\n}\n",
    ),
    ("test_finalize_service.py", "BÃ¼ro", "assert device.name == \"Büro\"\n"),
    // t8y2/dbx 805: comments of columns.
    ("schema.sql", "ä¸»é”®", "id BIGINT COMMENT '主键',\n"),
    // kitokoh/leopardo-hr 2275: Arabic labels.
    ("Navbar.tsx", "Ø§Ù„Ø£Ø³Ø¹Ø§Ø±", "const label = \"الأسعار\";\n"),
    // benbuzz790/bots 268: superscripts and arrows.
    ("notes.md", "â†’", "10⁻⁶ m → 1 µm², x ≠ y, ├── └──\n"),
];

#[test]
fn reported_files_that_were_encoded_twice_are_fixed_outside_of_literals() {
    for (name, shown, original) in REPORTED {
        let twice = encoded_twice(original);
        assert!(twice.contains(shown), "{twice}");
        let directory = Directory::new();
        directory.write(name, &twice);
        let output = run(program(&["check", "--rule", "mojibake", name]).current_dir(directory.root()), b"");
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).contains("text that was encoded twice"));
        let output = fix(&directory, &["--rule", "mojibake", name]);
        // A literal may be an example or test data.
        let is_kept = original.contains(['"', '\'']);
        assert_eq!(output.status.code(), Some(i32::from(is_kept)), "{}", stdout(&output));
        let expected = if is_kept { &twice } else { original };
        assert_eq!(String::from_utf8_lossy(&directory.read(name)), expected);
    }
}
