//! `utf8-codec convert`: the legacy encodings, replacements, several inputs, `--from auto`.

use std::process::Output;

use crate::support::program::{Directory, program, run, stderr};

fn convert(args: &[&str], input: &[u8]) -> Output {
    run(program(&["convert"]).args(args), input)
}

#[test]
fn legacy_encodings_have_the_labels_of_the_web_and_of_iana() {
    for (args, input, expected) in [
        (&["-f", "gb2312"][..], &b"\xC4\xE3\xBA\xC3"[..], "你好".as_bytes()),
        (&["-f", "CP936"], b"\xC4\xE3", "你".as_bytes()),
        (&["-f", "Shift-JIS"], b"\x83e\x83X\x83g", "テスト".as_bytes()),
        (&["-f", "CP866", "-t", "koi8-r"], b"\x92\xA5\xE1\xE2", b"\xF4\xC5\xD3\xD4"),
        (&["-t", "EUC-KR"], "한글".as_bytes(), b"\xC7\xD1\xB1\xDB"),
        (&["-t", "iso-2022-jp"], "日a".as_bytes(), b"\x1B$BF|\x1B(Ba"),
        (&["-f", "utf-7"], b"caf+AOk- 1 +- 1", "café 1 + 1".as_bytes()),
        (&["-f", "iso-2022-kr", "-t", "cp949"], b"\x1B$)Ca\x0EGQ\n", b"a\xC7\xD1\n"),
        (&["-f", "latin1"], b"\xE9", "é".as_bytes()),
        (&["-f", "cp437", "-t", "IBM-1047"], b"H\x81\n", b"\xC8\xDC\x25"),
    ] {
        let output = convert(args, input);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), expected), "{args:?}");
    }
    let output = convert(&["-f", "gbk"], b"ok \xC4\xE3\x81 ");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), "ok 你".as_bytes()));
    assert_eq!(stderr(&output), "utf8-codec: -: ill-formed GBK at byte 5 (MissingContinuation, 1 byte)\n");
}

#[test]
fn lines_that_are_not_utf_8_are_in_the_second_encoding() {
    let mixed = b"\xD0\x9F\xD1\x80\r\n\x8F\xE0\r\n\xD0\x9F\xD1";
    let text = "Пр\r\nПр\r\nП\u{FFFD}";
    // Longer than every buffer.
    for repeats in [1, 20_000] {
        let input = [&mixed[..], b"\n"].concat().repeat(repeats);
        let output = convert(&["-f", "utf-8,cp866"], &input);
        let expected = format!("{text}\n").repeat(repeats);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout == expected.as_bytes());
    }
    let output = convert(&["-f", "UTF8,cp866", "-t", "koi8-r", "--unmappable", "question"], mixed);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"\xF0\xD2\r\n\xF0\xD2\r\n\xF0?"[..]));
    let output = convert(&["-f", "utf-8,cp866"], b"\xFF\xFEa\0\n\0");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"a\n"[..]));

    let output = convert(&["-f", "utf-8,cp866", "-t", "latin1"], b"a\x8F\xE0\n");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b"a"[..]));
    let message =
        "in the text as UTF-8: character not in ISO 8859-1 at byte 1 (Unmappable, 2 bytes of UTF-8)";
    assert!(stderr(&output).contains(message), "{}", stderr(&output));
    for (args, message) in [
        (&["-f", "utf-8,utf-16le"][..], "UTF-16LE cannot be the fallback for UTF-8"),
        (&["-f", "cp866,utf-8"], "two encodings are utf-8 and one of lines that are not UTF-8"),
        (&["-f", "utf-8,ascii"], "two encodings are utf-8 and one of lines that are not UTF-8"),
        (&["-f", "utf-8,cp0"], "unknown encoding"),
        (&["-f", "utf-8,cp866", "--sniff"], "--sniff is not for two encodings"),
    ] {
        let output = convert(args, b"");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

#[test]
fn unmappable_characters_are_replaced_by_choice() {
    let text = "a€Ж".as_bytes();
    for (args, expected) in [
        (&["-t", "windows-1252", "--unmappable", "reference"][..], &b"a\x80&#1046;"[..]),
        (&["-t", "latin1", "--unmappable", "question"], b"a??"),
        (&["-t", "koi8-r", "-c"], b"a\xF6"),
    ] {
        let output = convert(args, text);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), expected), "{args:?}");
    }
    let output = convert(&["-t", "koi8-r"], text);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b"a"[..]));
    assert!(stderr(&output).contains("character not in KOI8-R at byte 1 (Unmappable, 3 bytes of UTF-8)"));
    assert!(stderr(&convert(&["-t", "ascii//TRANSLIT"], text)).contains("--unmappable question"));
}

#[test]
fn several_inputs_are_converted_one_after_the_other() {
    let directory = Directory::new();
    // Each input starts in ASCII and with a BOM of its own.
    directory.write("a", b"\xFE\xFF\0a");
    directory.write("b", b"\xFF\xFEb\0");
    directory.write("bad", b"c");
    let at = |args: &[&str]| run(program(&["convert"]).args(args).current_dir(directory.root()), b"-");
    let output = at(&["-f", "utf-16", "-t", "utf-8-bom", "a", "b"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"\xEF\xBB\xBFab"[..]));
    let output = at(&["-f", "utf-16", "a", "bad", "b"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b"a"[..]));
    assert!(stderr(&output).starts_with("utf8-codec: bad: ill-formed UTF-16LE at byte 0"));
    assert_eq!(at(&["-f", "utf-16", "a", "absent", "-o", "out"]).status.code(), Some(2));
    assert_eq!(directory.names(), ["a", "b", "bad"]);
    assert_eq!(at(&["-f", "utf-16", "b", "a", "-o", "a"]).status.code(), Some(0));
    assert_eq!(directory.read("a"), b"ba");
    assert!(stderr(&at(&["-", "-"])).contains("stdin can only be read once"));
}

#[test]
fn auto_decides_or_lists_the_candidates() {
    let directory = Directory::new();
    let text = "<?xml version='1.0' encoding='big5'?><a>這個檔案的內容沒有變更</a>";
    directory.write("page.xml", convert(&["-t", "big5"], text.as_bytes()).stdout);
    let path = directory.path("page.xml");
    let output = convert(&["-f", "auto", path.to_str().unwrap()], b"");
    assert!(output.status.success() && output.stdout.ends_with("<a>這個檔案的內容沒有變更</a>".as_bytes()));
    assert_eq!(convert(&["-f", "auto", "-t", "latin1"], "é".as_bytes()).stdout, b"\xE9");
    let output = convert(&["-f", "auto"], b"\xD1\xFA\xE5\xF8\xFC \xE6\xE5 \xE5\xF9\xB8 \xFD\xF2\xE8\xF5");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]));
    let stderr = stderr(&output);
    let expected =
        "utf8-codec: -: the encoding is not known: name it with --from\nutf8-codec:   windows-1251: Съешь же";
    assert!(stderr.starts_with(expected) && stderr.lines().count() > 2, "{stderr}");
}
