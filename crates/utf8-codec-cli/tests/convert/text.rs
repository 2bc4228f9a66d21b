//! `utf8-codec convert` and `utf8-codec detect`, run as programs.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use utf8_codec_encodings::{Encoding, Transcoder};

use crate::support::program::{Directory, program, run, stderr, stdout};
use crate::support::wait::wait_until_read;
use test_support::Rng;
use test_support::encodings::{OWN, Open, encode};

#[test]
fn every_pair_of_encodings_is_converted_from_stdin_to_stdout() {
    for &from in OWN {
        for &to in OWN {
            let bytes = |encoding: Encoding| -> Vec<u8> {
                "Aé\n"
                    .chars()
                    .flat_map(|it| encode(encoding, Open::default(), it.into()).expect("Latin-1"))
                    .collect()
            };
            let output =
                run(program(&[]).args(["convert", "--from", from.name(), "--to", to.name()]), &bytes(from));
            assert_eq!((output.status.code(), output.stdout), (Some(0), bytes(to)), "{from} to {to}");
            assert!(output.stderr.is_empty());
        }
    }
}

#[test]
fn a_long_stream_has_the_same_result_as_with_the_library() {
    let mut rng = Rng::new(64);
    let text: String =
        (0..400_000).filter_map(|_| char::from_u32(rng.next() as u32 >> 11 >> rng.below(14))).collect();
    let mut expected = Vec::new();
    Transcoder::new(Encoding::Utf8, Encoding::Cesu8)
        .feed_into(text.as_bytes(), &mut expected)
        .expect("UTF-8");
    let output = run(program(&[]).args(["convert", "--to", "cesu-8"]), text.as_bytes());
    assert!(output.status.success() && output.stdout == expected);
    let output = run(program(&[]).args(["convert", "--from", "cesu-8"]), &expected);
    assert!(output.status.success() && output.stdout == text.as_bytes());
}

#[test]
fn output_is_written_before_the_input_ends() {
    let mut child = program(&[])
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
fn ill_formed_input_is_status_1_with_the_offset() {
    let output = run(program(&[]).args(["convert", "--to", "utf-16be"]), b"good\xE2\x82 bad");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"\0g\0o\0o\0d"[..]));
    assert_eq!(stderr(&output), "utf8-codec: -: ill-formed UTF-8 at byte 4 (MissingContinuation, 2 bytes)\n");
    // The target encoding does not have the character.
    let output = run(program(&[]).args(["convert", "-f", "utf-8", "-t", "latin1"]), "é€".as_bytes());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"\xE9"[..]));
    assert_eq!(
        stderr(&output),
        "utf8-codec: -: character not in ISO 8859-1 at byte 2 (Unmappable, 3 bytes of UTF-8)\n"
    );
    // The input ends inside a sequence.
    let output = run(program(&[]).args(["convert", "--from", "utf-16le"]), b"a\0b");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"a"[..]));
    assert_eq!(stderr(&output), "utf8-codec: -: ill-formed UTF-16LE at byte 2 (Truncated, 1 byte)\n");
    // The message names the encoding of the BOM, not that of `--from`.
    let output = run(program(&[]).args(["convert", "--sniff", "--bom", "strip"]), b"\xFE\xFF\0a\xDC\0");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"a"[..]));
    assert_eq!(
        stderr(&output),
        "utf8-codec: -: ill-formed UTF-16BE at byte 4 (UnpairedSurrogate, 2 bytes)\n"
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
        (&["--sniff"], b"\xFF\xFEa\0", b"a"),
        (&["--sniff", "--bom", "keep"], b"\xFF\xFEa\0", "\u{FEFF}a".as_bytes()),
        (&["--from", "modified-utf-8", "--switch", "lenient-java"], b"a\0", b"a\0"),
        (&["--from", "utf-16be", "--to", "wtf-8", "--switch", "surrogates"], b"\xD8\0", b"\xED\xA0\x80"),
    ] {
        let output = run(program(&[]).arg("convert").args(args), input);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), expected), "{args:?}");
    }
    for (args, input, complaint) in [
        (
            &["--bom", "reject"][..],
            &b"\xEF\xBB\xBFa"[..],
            "-: BOM at byte 0 (UnexpectedBom, 3 bytes of UTF-8)",
        ),
        (&["--bom", "require"], b"a", "-: no BOM at byte 0 (MissingBom, 0 bytes of UTF-8)"),
        (
            &["--from", "modified-utf-8"],
            b"a\0",
            "-: ill-formed Modified UTF-8 at byte 1 (InvalidLead, 1 byte)",
        ),
        (
            &["--from", "wtf-8", "--switch", "no-pairs"],
            b"\xED\xA0\xBD\xED\xB2\xA9",
            "-: ill-formed WTF-8 at byte 0 (Surrogate, ",
        ),
        (
            &["--from", "utf-8-ucs4", "--to", "utf-32be", "--switch", "no-fffe-ffff"],
            b"\xEF\xBF\xBE",
            "-: ill-formed UTF-8 of RFC 2279 at byte 0 (Noncharacter, 3 bytes)",
        ),
    ] {
        let output = run(program(&[]).arg("convert").args(args), input);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains(complaint), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn utf_16_and_utf_32_have_a_bom_as_in_iconv() {
    for (args, input, expected) in [
        (&["-f", "utf-16"][..], &b"\xFE\xFF\0a"[..], &b"a"[..]),
        (&["-f", "utf-16"], b"\xFF\xFEa\0", b"a"),
        (&["-f", "UTF16"], b"a\0", b"a"),
        (&["-f", "utf-16"], b"", b""),
        // Not a BOM of UTF-16.
        (&["-f", "utf-16"], b"\xEF\xBB", "\u{BBEF}".as_bytes()),
        (&["-f", "utf-16le"], b"\xFF\xFEa\0", "\u{FEFF}a".as_bytes()),
        (&["-f", "utf-32"], b"\0\0\xFE\xFF\0\0\0a", b"a"),
        (&["-f", "utf-32"], b"\xFF\xFE\0\0a\0\0\0", b"a"),
        (&["-f", "utf-8-bom"], b"\xEF\xBB\xBFa", b"a"),
        (&["-f", "utf-8-bom"], b"a", b"a"),
        (&["-f", "utf-16", "--bom", "keep"], b"\xFE\xFF\0a", "\u{FEFF}a".as_bytes()),
        (&["-t", "utf-16"], b"a", b"\xFF\xFEa\0"),
        (&["-t", "utf-16"], b"", b""),
        (&["-t", "utf-16le"], b"a", b"a\0"),
        (&["-t", "utf-32"], b"a", b"\xFF\xFE\0\0a\0\0\0"),
        (&["-t", "utf-8-bom"], b"a", b"\xEF\xBB\xBFa"),
        // One BOM, not two.
        (&["-t", "utf-16"], b"\xEF\xBB\xBFa", b"\xFF\xFEa\0"),
        (&["-f", "utf-16", "-t", "utf-16"], b"\xFE\xFF\0a", b"\xFF\xFEa\0"),
    ] {
        let output = run(program(&["convert"]).args(args), input);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), expected), "{args:?}");
    }
    // Offsets count bytes of the input. The BOM may be split between two reads.
    let mut child = program(&["convert", "-f", "utf-16"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    for part in [&b"\xFE"[..], b"\xFF", b"\0a\xDC\0"] {
        stdin.write_all(part).expect("it reads");
        stdin.flush().expect("it reads");
        wait_until_read(&stdin);
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"a"[..]));
    assert_eq!(
        stderr(&output),
        "utf8-codec: -: ill-formed UTF-16BE at byte 4 (UnpairedSurrogate, 2 bytes)\n"
    );
}

#[test]
fn ascii_is_a_source_and_a_target_encoding() {
    for (args, input, expected) in [
        (&["-f", "ascii"][..], &b"abc"[..], &b"abc"[..]),
        (&["-f", "us-ascii", "-t", "utf-16be"], b"a", b"\0a"),
        (&["-t", "ascii", "-c"], "a€bé".as_bytes(), b"ab"),
        (&["-t", "ascii", "--on-error", "replace"], "a€é".as_bytes(), b"a??"),
        (&["-t", "ascii", "--on-error", "escape"], "a€".as_bytes(), b"a\\xe2\\x82\\xac"),
        (&["-f", "ascii", "--on-error", "replace"], b"a\xC3\xA9", "a\u{FFFD}\u{FFFD}".as_bytes()),
    ] {
        let output = run(program(&["convert"]).args(args), input);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), expected), "{args:?}");
    }
    for (args, input, message) in [
        (&["-f", "ascii"][..], &b"ab\xE9"[..], "ill-formed ASCII at byte 2 (InvalidLead, 1 byte)"),
        (&["-t", "ascii"], "ab€".as_bytes(), "character not in ASCII at byte 2 (Unmappable, 3 bytes)"),
    ] {
        let output = run(program(&["convert"]).args(args), input);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"ab"[..]), "{args:?}");
        assert_eq!(stderr(&output), format!("utf8-codec: -: {message}\n"));
    }
}

#[test]
fn discard_skips_the_same_input_as_iconv() {
    let output = run(&mut program(&["convert", "-c", "-t", "latin1"]), "a\u{20AC}é".as_bytes());
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"a\xE9"[..]));
    let output = run(&mut program(&["convert", "-c"]), b"a\xFFb");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ab"[..]));
}

#[test]
fn the_list_of_encodings_contains_the_iconv_names() {
    let output = run(&mut program(&["convert", "-l"]), b"");
    assert_eq!(output.status.code(), Some(0));
    let list = String::from_utf8(output.stdout).expect("UTF-8");
    for name in ["utf-8", "utf-16", "ascii", "us-ascii", "latin1", "iso88591", "cp1252"] {
        assert!(list.split_whitespace().any(|listed| listed == name), "{name}");
    }
}

#[test]
fn an_output_file_is_replaced_atomically() {
    let directory = Directory::new();
    let (input, output) = (directory.path("in"), directory.path("out"));
    let convert = |to: &str| {
        let (input, output) = (input.to_str().expect("UTF-8"), output.to_str().expect("UTF-8"));
        run(program(&[]).args(["convert", "--to", to, input, "-o", output]), b"")
    };
    fs::write(&input, "é").expect("a file");
    assert!(convert("utf-16be").status.success());
    assert_eq!(fs::read(&output).expect("a file"), b"\0\xE9");
    // The output file exists: it is replaced.
    assert!(convert("latin1").status.success());
    assert_eq!(fs::read(&output).expect("a file"), b"\xE9");
    // After a failure the old file is unchanged, and there is no other file.
    fs::write(&input, b"good\xFF").expect("a file");
    let failed = convert("utf-8");
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("ill-formed UTF-8 at byte 4 (InvalidLead, 1 byte)"));
    assert_eq!(fs::read(&output).expect("a file"), b"\xE9");
    fs::remove_file(&output).expect("a file");
    assert_eq!(convert("utf-8").status.code(), Some(1));
    assert_eq!(directory.names(), ["in"]);
    // Input and output may be the same file.
    fs::write(&input, "é").expect("a file");
    let path = input.to_str().expect("UTF-8");
    assert!(run(program(&[]).args(["convert", "-t", "latin1", path, "-o", path]), b"").status.success());
    assert_eq!(fs::read(&input).expect("a file"), b"\xE9");
}

#[test]
fn other_errors_are_status_2() {
    for args in [
        &["convert", "--from", "utf-9"][..],
        &["convert", "/nonexistent/file"],
        &["convert", "-o", "/nonexistent/directory/file"],
        &["convert", "--switch", "everything"],
        &["detect", "/nonexistent/file"],
    ] {
        let output = run(program(&[]).args(args), b"");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn detect_reports_the_encoding_of_files() {
    let directory = Directory::new();
    let mut command = program(&[]);
    command.arg("detect");
    for (name, bytes) in [
        ("ascii", &b"plain"[..]),
        ("utf-8", "naïve".as_bytes()),
        ("signed", b"\xEF\xBB\xBFna\xC3\xAFve"),
        ("utf-16", b"\xFF\xFEa\0"),
        ("latin1", b"caf\xE9 noir"),
        ("iso-2022", b"\x1B$B$\"\x1B(B"),
        // Thai in UTF-16, without a space.
        ("controls", b"\x0E\x01\x0E2\x0E#"),
    ] {
        fs::write(directory.path(name), bytes).expect("a file");
        command.arg(directory.path(name));
    }
    let output = run(&mut command, b"");
    assert_eq!(output.status.code(), Some(1));
    let outputs =
        String::from_utf8(output.stdout).expect("UTF-8").replace(&directory.root().display().to_string(), "");
    let outputs: Vec<_> = outputs.lines().map(|line| line.trim_start_matches(['/', '\\'])).collect();
    assert_eq!(
        outputs,
        [
            "ascii: ascii, 5 characters, longest line 5; high confidence: no byte above 7F",
            "utf-8: utf-8, 5 characters, longest line 5; medium confidence: well-formed, 1 multi-byte sequence",
            "signed: utf-8 with BOM, 6 characters, longest line 6; high confidence: a BOM, well-formed, 1 multi-byte sequence",
            "utf-16: utf-16le with BOM, 2 characters, longest line 2; high confidence: a BOM, well-formed",
            "latin1: unknown, 9 characters, longest line 9; not utf-8 at byte 3: MissingContinuation; probably ISO 8859-1 text, or UTF-8 with some of it; candidates: windows-1252, iso-8859-2, windows-1250",
            "iso-2022: iso-2022-jp, 1 character, longest line 1; high confidence: its escape sequences",
            "controls: ascii, 6 characters, longest line 6; medium confidence: well-formed, but 4 control characters",
        ]
    );
    let short = run(program(&["detect", "--format", "short"]).current_dir(directory.root()).arg("."), b"");
    let expected = "./ascii: ascii\n./controls: ascii\n./iso-2022: iso-2022-jp\n./latin1: unknown\n./signed: utf-8 with BOM\n./utf-16: utf-16le with BOM\n./utf-8: utf-8\n";
    assert_eq!(String::from_utf8(short.stdout).expect("UTF-8"), expected);
    // The walk, its order and the number of threads are those of `check`.
    directory.write("more/.gitignore", "*.log\n");
    directory.write("more/x.log", "x");
    directory.write("more/binary", b"\x89PNG\0\xFF");
    directory.write("more/y", "é\nlonger ”—“\n".repeat(20_000));
    directory.write(
        "more/z",
        "é\nlonger ”\n".repeat(2000).encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>(),
    );
    let reports = ["1", "2"].map(|jobs| {
        let args = ["detect", "--format", "json", "--jobs", jobs, "more", "absent"];
        let output = run(program(&args).current_dir(directory.root()), b"");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("cannot read absent"));
        stdout(&output)
    });
    assert_eq!(reports[0], reports[1]);
    let objects: Vec<serde_json::Value> =
        reports[0].lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((objects.len(), &objects[2]["file"]), (3, &"absent".into()));
    assert_eq!(objects[2]["unreadable"], "No such file or directory (os error 2)");
    for (object, [name, encoding, confidence], [characters, longest, lines]) in [
        (&objects[0], ["more/y", "utf-8", "high"], [260_000, 10, 40_000]),
        (&objects[1], ["more/z", "utf-16be", "medium"], [22_000, 8, 4000]),
    ] {
        let word = |member: &str| object[member].as_str().expect(member);
        let number = |member: &str| object[member].as_u64().expect(member);
        assert_eq!(["file", "encoding", "confidence"].map(word), [name, encoding, confidence], "{object}");
        assert_eq!(
            ["characters", "longest_line", "lines"].map(number),
            [characters, longest, lines],
            "{object}"
        );
    }
    for (format, part) in
        [("sarif", "\"kind\":\"informational\""), ("github", "::notice file=more/y,title=encoding::utf-8, ")]
    {
        let output = run(program(&["detect", "--format", format, "more"]).current_dir(directory.root()), b"");
        assert!(stdout(&output).contains(part), "{}", stdout(&output));
    }
    let output = run(program(&[]).args(["detect", "--format", "json", "-"]), "é".as_bytes());
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["encoding"], &report["sequences"]), (&"utf-8".into(), &1.into()));
}
