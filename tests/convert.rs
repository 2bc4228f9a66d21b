//! `utf8-codec convert` and `utf8-codec detect`, as a shell sees them.
#![cfg(feature = "cli")]
#![allow(missing_docs)]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::Rng;
use support::encodings::{Open, encode};
use utf8_codec::transcode::{Encoding, Transcoder};

/// A folder of its own, removed with what is in it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("utf8-codec-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("its folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_utf8-codec"))
}

fn run(command: &mut Command, stdin: &[u8]) -> Output {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let stdin = stdin.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&stdin));
    let output = child.wait_with_output().expect("the program ends");
    // Nobody reads on after an error.
    let _ = writer.join().expect("no panic");
    output
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[test]
fn every_pair_of_forms_is_converted_from_stdin_to_stdout() {
    for from in Encoding::ALL {
        for to in Encoding::ALL {
            let bytes = |encoding: Encoding| -> Vec<u8> {
                "Aé\n"
                    .chars()
                    .flat_map(|it| encode(encoding, Open::default(), it.into()).expect("Latin-1"))
                    .collect()
            };
            let output =
                run(program().args(["convert", "--from", from.name(), "--to", to.name()]), &bytes(from));
            assert_eq!((output.status.code(), output.stdout), (Some(0), bytes(to)), "{from} to {to}");
            assert!(output.stderr.is_empty());
        }
    }
}

#[test]
fn a_long_stream_is_what_the_library_makes_of_it() {
    let mut rng = Rng::new(64);
    let text: String =
        (0..400_000).filter_map(|_| char::from_u32(rng.next() as u32 >> 11 >> rng.below(14))).collect();
    let mut expected = Vec::new();
    Transcoder::new(Encoding::Utf8, Encoding::Cesu8).feed(text.as_bytes(), &mut expected).expect("UTF-8");
    let output = run(program().args(["convert", "--to", "cesu-8"]), text.as_bytes());
    assert!(output.status.success() && output.stdout == expected);
    let output = run(program().args(["convert", "--from", "cesu-8"]), &expected);
    assert!(output.status.success() && output.stdout == text.as_bytes());
}

#[test]
fn output_comes_before_the_input_ends() {
    let mut child = program()
        .args(["convert", "--to", "utf-16be"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let (mut stdin, mut stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut bytes = [0; 2];
    for letter in *b"abc" {
        stdin.write_all(&[letter]).expect("it reads");
        stdout.read_exact(&mut bytes).expect("it writes");
        assert_eq!(bytes, [0, letter]);
    }
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn ill_formed_input_is_status_1_with_the_good_prefix_and_the_offset() {
    let output = run(program().args(["convert", "--to", "utf-16be"]), b"good\xE2\x82 bad");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"\0g\0o\0o\0d"[..]));
    assert_eq!(stderr(&output), "utf8-codec: -: ill-formed utf-8 at byte 4 (MissingContinuation, 2 bytes)\n");
    // What the target cannot hold.
    let output = run(program().args(["convert", "-f", "utf-8", "-t", "latin1"]), "é€".as_bytes());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"\xE9"[..]));
    assert_eq!(
        stderr(&output),
        "utf8-codec: -: latin1 cannot hold the character at byte 2 (Unmappable, 3 bytes of utf-8)\n"
    );
    // The end is in the middle.
    let output = run(program().args(["convert", "--from", "utf-16le"]), b"a\0b");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"a"[..]));
    assert_eq!(stderr(&output), "utf8-codec: -: ill-formed utf-16le at byte 2 (Truncated, 1 byte)\n");
    // The encoding is the one that was read, not the one that was asked for.
    let output = run(program().args(["convert", "--sniff", "--bom", "strip"]), b"\xFE\xFF\0a\xDC\0");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"a"[..]));
    assert_eq!(
        stderr(&output),
        "utf8-codec: -: ill-formed utf-16be at byte 4 (UnpairedSurrogate, 2 bytes)\n"
    );
}

#[test]
fn policies_and_switches_are_those_of_the_library() {
    for (args, input, expected) in [
        (&["--on-error", "replace"][..], &b"a\xFFb"[..], "a\u{FFFD}b".as_bytes()),
        (&["--on-error", "skip"], b"a\xFFb", b"ab"),
        (&["--on-error", "escape", "--to", "latin1"], "a€".as_bytes(), b"a\\xe2\\x82\\xac"),
        (&["--bom", "strip", "--from", "utf-16be"], b"\xFE\xFF\0a", b"a"),
        (&["--from", "utf-16be"], b"\xFE\xFF\0a", "\u{FEFF}a".as_bytes()),
        (&["--sniff", "--bom", "strip"], b"\xFF\xFEa\0", b"a"),
        (&["--from", "modified-utf-8", "--switch", "lenient-java"], b"a\0", b"a\0"),
        (&["--from", "utf-16be", "--to", "wtf-8", "--switch", "surrogates"], b"\xD8\0", b"\xED\xA0\x80"),
    ] {
        let output = run(program().arg("convert").args(args), input);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), expected), "{args:?}");
    }
    for (args, input, complaint) in [
        (
            &["--bom", "reject"][..],
            &b"\xEF\xBB\xBFa"[..],
            "-: BOM at byte 0 (UnexpectedBom, 3 bytes of utf-8)",
        ),
        (&["--bom", "require"], b"a", "-: no BOM at byte 0 (MissingBom, 0 bytes of utf-8)"),
        (
            &["--from", "modified-utf-8"],
            b"a\0",
            "-: ill-formed modified-utf-8 at byte 1 (InvalidLead, 1 byte)",
        ),
        (
            &["--from", "wtf-8", "--switch", "no-pairs"],
            b"\xED\xA0\xBD\xED\xB2\xA9",
            "-: ill-formed wtf-8 at byte 0 (Surrogate, ",
        ),
        (
            &["--from", "utf-8-ucs4", "--to", "utf-32be", "--switch", "no-fffe-ffff"],
            b"\xEF\xBF\xBE",
            "-: ill-formed utf-8-ucs4 at byte 0 (Noncharacter, 3 bytes)",
        ),
    ] {
        let output = run(program().arg("convert").args(args), input);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains(complaint), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn an_output_file_appears_whole_or_not_at_all() {
    let folder = Folder::new("convert");
    let (input, output) = (folder.path("in"), folder.path("out"));
    let convert = |to: &str| {
        let (input, output) = (input.to_str().expect("UTF-8"), output.to_str().expect("UTF-8"));
        run(program().args(["convert", "--to", to, input, "-o", output]), b"")
    };
    fs::write(&input, "é").expect("a file");
    assert!(convert("utf-16be").status.success());
    assert_eq!(fs::read(&output).expect("a file"), b"\0\xE9");
    // It is written again while it is there.
    assert!(convert("latin1").status.success());
    assert_eq!(fs::read(&output).expect("a file"), b"\xE9");
    // A failure leaves what was there, and nothing else.
    fs::write(&input, b"good\xFF").expect("a file");
    let failed = convert("utf-8");
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("ill-formed utf-8 at byte 4 (InvalidLead, 1 byte)"));
    assert_eq!(fs::read(&output).expect("a file"), b"\xE9");
    fs::remove_file(&output).expect("a file");
    assert_eq!(convert("utf-8").status.code(), Some(1));
    assert_eq!(folder.names(), ["in"]);
    // The input may be the output.
    fs::write(&input, "é").expect("a file");
    let path = input.to_str().expect("UTF-8");
    assert!(run(program().args(["convert", "-t", "latin1", path, "-o", path]), b"").status.success());
    assert_eq!(fs::read(&input).expect("a file"), b"\xE9");
}

#[cfg(unix)]
#[test]
fn a_link_and_the_permissions_of_the_output_stay_and_a_device_is_written_to() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = Folder::new("convert-unix");
    let (file, link) = (folder.path("file"), folder.path("link"));
    fs::write(&file, "old").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("permissions");
    symlink(&file, &link).expect("a link");
    let output = run(program().args(["convert", "-o"]).arg(&link), b"new");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read(&file).expect("a file"), b"new");
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o640);
    // Of what a link names that is not there yet.
    let ahead = folder.path("ahead");
    symlink("absent", &ahead).expect("a link");
    let output = run(program().args(["convert", "-o"]).arg(&ahead), b"new");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(fs::symlink_metadata(&ahead).expect("a link").is_symlink());
    assert_eq!(fs::read(folder.path("absent")).expect("a file"), b"new");
    if Path::new("/dev/stdout").exists() {
        let output = run(program().args(["convert", "-o", "/dev/stdout"]), b"through a device");
        assert_eq!(output.stdout, b"through a device");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_behind() {
    let folder = Folder::new("convert-signal");
    let output = folder.path("out");
    fs::write(&output, "old").expect("a file");
    let mut child = program()
        .args(["convert", "-o"])
        .arg(&output)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // More than a pipe holds: when it is written, the program has begun to read, and the file is there.
    stdin.write_all(&vec![b'a'; 1 << 20]).expect("it reads");
    assert_eq!(folder.names().len(), 2);
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let ended = child.wait_with_output().expect("it ends");
    drop(stdin);
    assert_eq!((ended.status.code(), stderr(&ended)), (Some(2), "utf8-codec: interrupted\n".to_owned()));
    assert_eq!(
        (folder.names(), fs::read(&output).expect("a file")),
        (vec!["out".to_owned()], b"old".to_vec())
    );
}

#[test]
fn trouble_is_status_2() {
    for args in [
        &["convert", "--from", "utf-7"][..],
        &["convert", "/nonexistent/file"],
        &["convert", "-o", "/nonexistent/folder/file"],
        &["convert", "--switch", "everything"],
        &["detect", "/nonexistent/file"],
    ] {
        let output = run(program().args(args), b"");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn detect_says_what_files_are() {
    let folder = Folder::new("detect");
    let mut command = program();
    command.arg("detect");
    for (name, bytes) in [
        ("ascii", &b"plain"[..]),
        ("utf-8", "naïve".as_bytes()),
        ("signed", b"\xEF\xBB\xBFna\xC3\xAFve"),
        ("utf-16", b"\xFF\xFEa\0"),
        ("latin1", b"caf\xE9 noir"),
    ] {
        fs::write(folder.path(name), bytes).expect("a file");
        command.arg(folder.path(name));
    }
    let output = run(&mut command, b"");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stdout).expect("UTF-8").replace(&folder.0.display().to_string(), "");
    let told: Vec<_> = told.lines().map(|line| line.trim_start_matches(['/', '\\'])).collect();
    assert_eq!(
        told,
        [
            "ascii: ascii",
            "utf-8: utf-8, 1 multi-byte sequence",
            "signed: utf-8 with BOM, 1 multi-byte sequence",
            "utf-16: utf-16le with BOM",
            "latin1: not utf-8: byte 3: MissingContinuation",
        ]
    );
    let output = run(program().args(["detect", "--format", "json"]), "é".as_bytes());
    assert_eq!(output.status.code(), Some(0));
    let finding: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&finding["encoding"], &finding["sequences"]), (&"utf-8".into(), &1.into()));
}
