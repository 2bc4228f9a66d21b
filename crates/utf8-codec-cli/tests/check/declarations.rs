//! Declarations inside files, with evidence against them and in forms that are not rewritten.

use std::io::Write;
use std::process::Stdio;

use crate::support::program::{Directory, program, run, stdout};
use crate::support::rng::Rng;
use crate::support::wait::wait_until_read;

/// Runs `check` and returns its exit status and its report.
fn check(directory: &Directory, args: &[&str]) -> (Option<i32>, String) {
    let output = run(program(&["check"]).args(args).current_dir(directory.root()), b"");
    (output.status.code(), stdout(&output))
}

/// Checks that a file is not changed, and that the reason contains `reason`.
fn is_refused(name: &str, content: &[u8], args: &[&str], reason: &str) {
    let directory = Directory::new();
    directory.write(name, content);
    let (status, report) = check(&directory, &[&["--fix"][..], args, &[name]].concat());
    assert!(status == Some(1) && report.contains(reason), "{name} {args:?}: {report}");
    assert!(!report.contains("to fix it"), "{name} {args:?}: {report}");
    assert_eq!(directory.read(name), content, "{name}");
}

/// Returns the content after a fix without remaining errors.
fn fixed(name: &str, content: &[u8], args: &[&str]) -> String {
    let directory = Directory::new();
    directory.write(name, content);
    let (status, report) = check(&directory, &[&["--fix"][..], args, &[name]].concat());
    assert_eq!(status, Some(0), "{name}: {report}");
    String::from_utf8(directory.read(name)).expect("UTF-8")
}

#[test]
fn a_declaration_does_not_outweigh_the_letters() {
    for text in [
        // windows-1251, KOI8-R, GBK, windows-1250.
        &b"\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0"[..],
        b"\xF0\xD2\xC9\xD7\xC5\xD4 \xCD\xC9\xD2",
        b"id;\xE8\xEC\xFF",
        b"\xD6\xD0\xCE\xC4\xD7\xA2\xCA\xCD",
        b"Za\xBF\xF3\xB3\xE6 g\xEA\x9Cl\xB9 ja\x9F\xF1",
        b"\xC1rv\xEDzt\xFBr\xF5",
    ] {
        for (name, start, label) in [
            ("a.html", "<html><meta charset=iso-8859-1><body>", "iso-8859-1"),
            ("a.html", "<html><meta charset=windows-1252><body>", "windows-1252"),
            ("a.py", "# coding: latin-1\n#", "latin-1"),
            (
                "a.po",
                "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n\nmsgid \"a\"\nmsgstr \"",
                "ISO-8859-1",
            ),
        ] {
            let content = [start.as_bytes(), text, b"\n"].concat();
            let is_latin1 = matches!(label, "latin-1" | "ISO-8859-1") && text.contains(&0x9C);
            let reason = match is_latin1 {
                true => ", which does not define some of its bytes or has control characters for them",
                false => ", and does not look like it",
            };
            let reason = format!("it declares {label}{reason}: name the encoding with --from");
            is_refused(name, &content, &[], &reason);
            is_refused(name, &content, &["--from", "auto"], &reason);
            let directory = Directory::new();
            directory.write(name, &content);
            let (_, report) = check(&directory, &[name]);
            assert!(!report.contains("as it declares") && !report.contains("to fix it"), "{report}");
            // The user has looked at it.
            assert!(fixed(name, &content, &["--from", "windows-1252"]).to_lowercase().contains("utf-8"));
        }
    }
}

#[test]
fn a_few_words_do_not_contradict_a_declaration() {
    for text in [
        "François, José García, Müller, Peña",
        "première fenêtre",
        "l'initialisation a échoué",
        "Fußball",
        "Mañana a 20 °C",
        "smörgåsbord",
        "perché la città è",
        "È vero",
        "één",
    ] {
        let bytes: Vec<u8> = text.chars().filter_map(|character| u8::try_from(character).ok()).collect();
        assert_eq!(bytes.len(), text.chars().count());
        let content = [b"# coding: latin-1\n# ", &bytes[..], b"\n"].concat();
        assert_eq!(fixed("a.py", &content, &[]), format!("# coding: utf-8\n# {text}\n"));
    }
}

/// Bytes that ISO 8859 does not have, and that the windows code page of the script has.
#[test]
fn declared_iso_8859_with_bytes_of_windows_is_windows() {
    for (name, content) in [
        ("a.xml", &b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>\x93caf\xE9\x94</a>"[..]),
        ("a.py", b"# coding: latin-1\nx = \"it\x92s caf\xE9\"\n"),
        // The byte is part of an ill-formed sequence of two bytes.
        ("a.py", b"# coding: latin-1\nx = \"caf\xE9\x94\"\n"),
        (
            "a.po",
            b"msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n\nmsgid \"a\"\nmsgstr \"l\x92\xE9t\xE9\"\n",
        ),
    ] {
        let text = fixed(name, content, &[]);
        assert_eq!(text, fixed(name, content, &["--from", "windows-1252"]));
        assert!(!text.contains(|c: char| ('\u{80}'..'\u{A0}').contains(&c)), "{text}");
    }
    for (label, page, text) in [
        ("iso-8859-2", "windows-1250", "Příliš žluťoučký kůň úpěl „ďábelské“ ódy"),
        ("iso-8859-5", "windows-1251", "Съешь же ещё этих мягких «французских» булок — да выпей чаю"),
        ("iso-8859-7", "windows-1253", "Μπορώ να φάω σπασμένα γυαλιά – χωρίς να πάθω τίποτα"),
        ("iso-8859-13", "windows-1257", "Įveskite – išsaugoti šį puslapį, rodyti „neprisijungusiems“"),
        ("iso-8859-15", "windows-1252", "l’année dernière, où êtes-vous"),
    ] {
        let text = format!("# coding: {label}\n# {text}\n");
        let bytes = run(&mut program(&["convert", "--to", page]), text.as_bytes()).stdout;
        assert_eq!(fixed("a.py", &bytes, &[]), text.replace(label, "utf-8"), "{label}");
    }
    // No windows code page has these letters, or defines this byte.
    for (label, text) in [
        ("iso-8859-2", &b"\xCF\xF0\xE8\xE2\xE5\xF2 \x97 \xEC\xE8\xF0"[..]),
        ("iso-8859-15", b"caf\xE9 \x81"),
        ("iso-8859-10", b"caf\xE9 \x93noir\x94"),
        ("windows-1251", b"\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0 \x98"),
    ] {
        let content = [format!("# coding: {label}\n# ").as_bytes(), text, b"\n"].concat();
        is_refused("a.py", &content, &[], "which does not define some of its bytes");
    }
    let text = fixed("a.html", b"<html><meta charset=iso-8859-1><body>\x93caf\xE9\x94", &[]);
    assert_eq!(text, "<html><meta charset=utf-8><body>\u{201C}caf\u{E9}\u{201D}");
}

#[test]
fn every_declaration_is_rewritten_or_the_file_is_not() {
    for (name, content) in [
        (
            "x.xml",
            &b"<?xml version='1.0' encoding='iso-8859-1'?>\n<!DOCTYPE html><html><head><meta charset=iso-8859-1 /></head>caf\xE9"[..],
        ),
        ("a.html", b"<!doctype html><script>var x='<body>';</script><meta charset=iso-8859-1><body>caf\xE9"),
        ("a.html", b"<!doctype html><title><body></title><meta charset=iso-8859-1><body>caf\xE9"),
        ("a.tmpl", b"\n<!-- c --><!DOCTYPE html><head><meta charset='iso-8859-1'></head><body>caf\xE9"),
        ("a", b"<!--> <html><meta charset=iso-8859-1><body>caf\xE9 <!-- -->"),
    ] {
        let expected = String::from_utf8_lossy(content).replace("iso-8859-1", "utf-8").replace('\u{FFFD}', "\u{E9}");
        assert_eq!(fixed(name, content, if name == "a" { &["--from", "latin1"] } else { &[] }), expected, "{name}");
    }
    for (name, content, line) in [
        (
            "one.po",
            &b"msgid \"\"\nmsgstr \"Project-Id-Version: x\\nContent-Type: text/plain; charset=ISO-8859-1\\n\"\n\nmsgid \"a\"\nmsgstr \"caf\xE9\"\n"[..],
            2,
        ),
        (
            "folded.po",
            b"msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; \"\n\"charset=ISO-8859-1\\n\"\n\nmsgid \"a\"\nmsgstr \"caf\xE9\"\n",
            4,
        ),
        ("a.php", b"<?php x(); ?>\n<html><head><meta charset=\"iso-8859-1\"></head>caf\xE9", 2),
        ("two.py", b"# -*- coding: latin-1 -*- vim: fileencoding=latin-1\nx=\"caf\xE9\"\n", 1),
        ("a.py", b"x=\"caf\xE9\"\n# vim: fileencoding=latin-1\n", 2),
        ("a.xml", b"\n<?xml version='1.0' encoding='iso-8859-1'?><a>caf\xE9</a>", 2),
        ("a.css", b"/* c */\n@charset \"iso-8859-1\";\na{content:'caf\xE9'}", 2),
        ("a.eml", b"Content-Type: text/plain; charset=iso-8859-1\n\ncaf\xE9\n", 1),
        // Browsers follow a `<meta>` in the first 1,024 bytes, also in text (HTML 13.2.3.2).
        ("a.html", b"<textarea>\n<meta charset=iso-8859-1></textarea><p>caf\xE9", 2),
    ] {
        is_refused(name, content, &["--from", "latin1"], &format!("line {line} would still declare "));
    }
    for (name, content, line) in [
        ("a.tex", &b"\\documentclass{article}\n\\usepackage[latin1]{inputenc}\ncaf\xE9\n"[..], 2),
        ("a.rtf", b"{\\rtf1\\ansi\\ansicpg1252 caf\xE9}\n", 1),
        ("a.vcf", b"BEGIN:VCARD\nFN;CHARSET=ISO-8859-1:Andr\xE9\nEND:VCARD\n", 2),
        ("a.vim", b"\" caf\xE9\nscriptencoding latin1\n", 2),
        ("a.pod", b"=pod\n\n=encoding latin1\n\ncaf\xE9\n", 3),
        ("a.sql", b"SET NAMES latin1;\nINSERT INTO a VALUES ('caf\xE9');\n", 1),
        ("fr.aff", b"SET ISO8859-1\nTRY \xE9esian\n", 1),
    ] {
        is_refused(name, content, &["--from", "latin1"], &format!("line {line} would still declare "));
    }
    // Far from the start.
    let cards = [&b"BEGIN:VCARD\nEND:VCARD\n".repeat(50_000)[..], b"N;CHARSET=latin1:Andr\xE9\n"].concat();
    is_refused("a.vcf", &cards, &["--from", "latin1"], "line 100001 would still declare latin1");
    // Not in the head.
    let code = b"# coding: latin-1\n\n\n\n\n\nopen(x, encoding='latin-1').write('caf\xE9')\n";
    assert!(fixed("a.py", code, &[]).ends_with("encoding='latin-1').write('caf\u{E9}')\n"));
}

#[test]
fn utf_16_declared_in_html_and_ascii_are_utf_8() {
    let html = "<html><meta charset=utf-16><body>Beyonc\u{C3}\u{A9}";
    let text = fixed("a.html", html.as_bytes(), &["--rule", "mojibake"]);
    assert_eq!(text, "<html><meta charset=utf-16><body>Beyonc\u{E9}");
    let text = fixed("a.html", b"<html><meta charset=utf-16><body>caf\xE9", &["--from", "windows-1252"]);
    assert_eq!(text, "<html><meta charset=utf-8><body>caf\u{E9}");
    for label in ["ascii", "us-ascii"] {
        let text = format!("# coding: {label}\n# Beyonc\u{C3}\u{A9}\n");
        let expected = format!("# coding: {label}\n# Beyonc\u{E9}\n");
        assert_eq!(fixed("a.py", text.as_bytes(), &["--rule", "mojibake"]), expected);
        let text = format!("# coding: {label}\n# caf").into_bytes();
        let text = fixed("a.py", &[&text[..], b"\xE9\n"].concat(), &["--from", "latin1"]);
        assert_eq!(text, "# coding: utf-8\n# caf\u{E9}\n");
    }
}

#[test]
fn a_declared_legacy_encoding_is_converted() {
    for (name, content, expected) in [
        (
            "a.xml",
            &b"<?xml version='1.0' encoding='koi8-r'?><a>\xF0\xD2\xC9\xD7\xC5\xD4 \xCD\xC9\xD2</a>"[..],
            "<?xml version='1.0' encoding='utf-8'?><a>\u{41F}\u{440}\u{438}\u{432}\u{435}\u{442} \u{43C}\u{438}\u{440}</a>",
        ),
        ("a.py", b"# coding: gbk\n# \xD6\xD0\xCE\xC4\n", "# coding: utf-8\n# \u{4E2D}\u{6587}\n"),
    ] {
        assert_eq!(fixed(name, content, &[]), expected);
    }
    assert_eq!(fixed("a.txt", b"\xC7\xD1\n", &["--from", "euc-kr"]), "\u{D55C}\n");
}

#[test]
fn encodings_of_one_script_are_told_apart() {
    let cyrillic = "Съешь же ещё этих мягких французских булок, да выпей чаю";
    let polish = "Zażółć gęślą jaźń, a potem łatwo i prędko wróć";
    for (text, encodings) in [
        (cyrillic, &["windows-1251", "koi8-r", "iso-8859-5", "ibm866", "x-mac-cyrillic"][..]),
        (polish, &["windows-1250", "iso-8859-2"]),
        ("Įveskite, išsaugoti šį puslapį, rodyti neprisijungusiems", &["windows-1257", "iso-8859-4"]),
        ("Μπορώ να φάω σπασμένα γυαλιά, Άλλα, Ύστερα", &["windows-1253", "iso-8859-7"]),
        ("這個檔案的內容沒有變更，請檢查後再試一次", &["big5", "gbk"]),
        ("이 파일의 내용은 변경되지 않았습니다", &["euc-kr"]),
    ] {
        for &encoding in encodings {
            for label in encodings.iter().chain([&"windows-1252"]) {
                let text = format!("<?xml version='1.0' encoding='{label}'?>\n<a>{text}</a>\n");
                let bytes = run(&mut program(&["convert", "--to", encoding]), text.as_bytes()).stdout;
                let is_same = label == &encoding || (*label, encoding) == ("iso-8859-2", "windows-1250");
                match is_same {
                    true => {
                        assert_eq!(fixed("a.xml", &bytes, &[]), text.replace(label, "utf-8"), "{encoding}")
                    }
                    false => is_refused("a.xml", &bytes, &[], "name the encoding with --from"),
                }
                if *label == "windows-1252" {
                    // The user has looked at it.
                    assert_eq!(fixed("a.xml", &bytes, &["--from", encoding]), text.replace(label, "utf-8"));
                }
            }
        }
    }
}

#[test]
fn contradicting_and_impossible_declarations_decide_nothing() {
    for (name, content, args, reason) in [
        (
            "a.html",
            &b"<html><meta charset=utf-8><meta charset=windows-1251><p>\xCF\xF0\xE8\xE2\xE5\xF2"[..],
            &[][..],
            "it declares windows-1251 and utf-8",
        ),
        (
            "a.xhtml",
            b"<?xml version='1.0' encoding='UTF-8'?><html><meta charset='windows-1251'/>\xCF\xF0\xE8\xE2\xE5\xF2</html>",
            &["--from", "windows-1251"],
            "it declares windows-1251 and UTF-8, and --from is windows-1251",
        ),
        ("a.xml", b"<?xml version=\"1.0\" encoding=\"IBM-1047\"?><a>caf\xE9</a>", &[], "it declares IBM-1047, which cannot be"),
        ("a.xml", b"<?xml version=\"1.0\" encoding=\"ebcdic-cp-us\"?><a>caf\xE9</a>", &[], "it declares ebcdic-cp-us, which cannot be"),
        ("a.py", b"# coding: cp037\n# caf\xE9\n", &["--from", "auto"], "it declares cp037, which cannot be"),
        ("a.py", b"# coding: latin-1\n# \xCF\xF0\xE8\xE2\xE5\xF2\n", &["--from", "cp500"], "and --from is ibm500"),
    ] {
        is_refused(name, content, args, reason);
    }
    let user = b"<html><meta charset=x-user-defined><body>caf\xE9 \x93noir\x94";
    assert_eq!(fixed("a.html", user, &[]), "<html><meta charset=utf-8><body>caf\u{E9} \u{201C}noir\u{201D}");
}

/// Text that one sequence in five or more makes look like UTF-8.
#[test]
fn text_with_sequences_of_utf_8_by_chance_is_converted() {
    for (label, text) in [
        ("gbk", "小时前的文件无法写入请检查磁盘空间是否足够选项打印帮助信息并退出"),
        ("euc-jp", "文書の第一行を読み込むことができません設定を確認してください百分率"),
        ("windows-874", "แปดแฉกและแบบแคบในเขตของเกมนี้ไม่สามารถเปิดแฟ้มได้"),
    ] {
        let text = format!("# coding: {label}\n# {text}\n");
        let bytes = run(&mut program(&["convert", "--to", label]), text.as_bytes()).stdout;
        assert_eq!(fixed("a.py", &bytes, &[]), text.replace(label, "utf-8"));
    }
}

#[test]
fn a_line_in_utf_8_contradicts_the_declaration() {
    for line in ["привет", "你好吗", "éàèùâê"] {
        for label in ["gbk", "windows-1251", "shift_jis", "koi8-r"] {
            let start = format!("# coding: {label}\n# {line}\n");
            // All letters of these encodings, none of which is UTF-8.
            let content = [start.as_bytes(), &b"# \xC4\xC4\xC4\xC4\xC4\xC4\xC4\xC4\n".repeat(100)].concat();
            is_refused("a.py", &content, &[], "part of it is UTF-8");
        }
    }
}

#[test]
fn an_impossible_declaration_is_not_the_probable_encoding() {
    for (name, content) in [
        ("a.xml", &b"<?xml version='1.0' encoding='hp-roman8'?>\xC1\xC2"[..]),
        ("a.xml", b"<?xml version='1.0' encoding='UTF-16'?>\xE9"),
        ("a.py", b"# coding: ascii\n\xE9"),
    ] {
        let directory = Directory::new();
        directory.write(name, content);
        let (_, report) = check(&directory, &[name]);
        assert!(report.contains(&format!("{name} is in an unknown encoding")), "{report}");
        assert!(!report.contains("as it declares"), "{report}");
    }
}

/// The parts of a file, and the reads of a pipe.
#[test]
fn the_hint_does_not_depend_on_the_reads_of_a_pipe() {
    let links = "<link rel=x>\n".repeat(1000);
    let html = ["<!doctype html>\n<head>", &links, "<meta charset=latin1>\n<body>caf"].concat();
    let wide = [&b"\xFF\xFE"[..], &b"a\0".repeat(4500), &b"\0\0".repeat(10), b"a\0"].concat();
    for content in [[html.as_bytes(), b"\xE9</body>\n"].concat(), wide] {
        let expected = stdout(&run(program(&["check"]).arg("-"), &content));
        for cut in [1, 3, 7999, 8000, 8001, 9000, content.len() - 1] {
            let mut child = program(&["check"])
                .arg("-")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the program starts");
            let mut stdin = child.stdin.take().expect("a pipe");
            stdin.write_all(&content[..cut]).expect("it is read");
            wait_until_read(&stdin);
            stdin.write_all(&content[cut..]).expect("it is read");
            drop(stdin);
            assert_eq!(stdout(&child.wait_with_output().expect("it ends")), expected, "{cut}");
        }
    }
}

#[test]
fn a_file_in_utf_16_is_fixed_with_its_declaration() {
    let directory = Directory::new();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    directory.write("a.xml", wide("\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>\u{E9}</a>"));
    let (_, report) = check(&directory, &["a.xml"]);
    assert!(report.contains("  to fix it: utf8-codec check --fix a.xml\n"), "{report}");
    assert_eq!(check(&directory, &["--fix", "a.xml"]).0, Some(0));
    assert_eq!(directory.read("a.xml"), "<?xml version=\"1.0\" encoding=\"utf-8\"?><a>\u{E9}</a>".as_bytes());
}

/// Keys of 24 to 64 random bytes without a NUL.
#[test]
fn random_data_is_not_text() {
    let mut rng = Rng::new(1);
    let mut random = || rng.next() as u8;
    let directory = Directory::new();
    let mut keys = Vec::new();
    for at in 0..6_000 {
        let key: Vec<u8> = (0..24 + at % 41).map(|_| random().max(1)).collect();
        directory.write(&format!("{at}"), &key);
        keys.push(key);
    }
    let names: Vec<String> = (0..keys.len()).map(|at| at.to_string()).collect();
    let mut args = vec!["--fix", "--from", "latin1", "--format", "short"];
    args.extend(names.iter().map(String::as_str));
    assert_eq!(check(&directory, &args).0, Some(1));
    let changed = names.iter().zip(&keys).filter(|(name, key)| directory.read(name) != **key).count();
    assert!(changed * 300 <= keys.len() * 4, "{changed}");
    for text in [
        &b"\xE9\n"[..],
        b"caf\xE9-cr\xE8me",
        b"caf\xE9 cr\xE8me",
        b"\xE0\xE1\xE2\xE3\xE4\xE5\xE6\xE7\xE8\xE9\n",
    ] {
        assert!(fixed("file", text, &["--from", "latin1"]).len() > text.len());
    }
}

#[test]
fn a_tab_in_a_name_is_a_tab_in_an_annotation() {
    let directory = Directory::new();
    directory.write("ta\tb.txt", b"caf\xE9\n");
    let (_, report) = check(&directory, &["--format", "github", "ta\tb.txt"]);
    assert!(report.contains("file=ta\tb.txt,"), "{report}");
}
