//! The rules `bom` and `editorconfig`, and `utf8-codec.toml`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};

use crate::support::program::{Directory, program, run, stderr, stdout};

fn check(directory: &Directory, args: &[&str]) -> Output {
    run(program(&["check", "--format", "short"]).args(args).current_dir(directory.root()), b"")
}

/// Returns the errors of a check, one in each line.
fn errors(directory: &Directory, args: &[&str]) -> Vec<String> {
    let output = check(directory, args);
    assert_eq!(stderr(&output), "");
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn the_bom_rule_depends_on_the_type_of_a_file() {
    let directory = Directory::new();
    for name in ["a.ps1", "b.json", "c.sh", "d.txt", "e.cmd", "f.bat", "g.php"] {
        directory.write(name, "pl\u{E9}in\n");
        directory.write(&format!("bom/{name}"), "\u{FEFF}marked\n");
    }
    for name in ["run.ps1", "run.py", "run"] {
        directory.write(&format!("shebang/{name}"), "\u{FEFF}#!/usr/bin/env \u{E9}\n");
    }
    // A BOM is not asked for before ASCII and `#!`.
    let without =
        [("ascii.ps1", "plain\n"), ("empty.psm1", ""), ("run.ps1", "#!/usr/bin/env pwsh\n'\u{E9}'\n")];
    for (name, content) in without {
        directory.write(name, content);
    }
    assert_eq!(
        errors(&directory, &["--rule", "bom", "."]),
        [
            "./a.ps1:1:1: there is no BOM",
            "./bom/b.json:1:1: there is a BOM",
            "./bom/c.sh:1:1: there is a BOM",
            "./bom/e.cmd:1:1: there is a BOM",
            "./bom/f.bat:1:1: there is a BOM",
            "./bom/g.php:1:1: there is a BOM",
            "./shebang/run:1:1: there is a BOM",
            "./shebang/run.ps1:1:1: there is a BOM",
            "./shebang/run.py:1:1: there is a BOM",
        ]
    );
    assert_eq!(errors(&directory, &["."]), [""; 0]);
    // An explicit policy has precedence.
    assert_eq!(errors(&directory, &["--rule", "bom", "--bom", "keep", "."]), [""; 0]);
    let fixed = run(program(&["check", "--fix", "--rule", "bom", "."]).current_dir(directory.root()), b"");
    assert_eq!(fixed.status.code(), Some(0), "{}", stdout(&fixed));
    assert_eq!(directory.read("a.ps1"), "\u{FEFF}pl\u{E9}in\n".as_bytes());
    for (name, content) in without {
        assert_eq!(directory.read(name), content.as_bytes());
    }
    assert_eq!(directory.read("bom/b.json"), b"marked\n");
    for name in ["run.ps1", "run.py", "run"] {
        assert_eq!(directory.read(&format!("shebang/{name}")), "#!/usr/bin/env \u{E9}\n".as_bytes());
    }
    assert_eq!(errors(&directory, &["--rule", "bom", "."]), [""; 0]);
    assert_eq!(directory.read("bom/d.txt"), "\u{FEFF}marked\n".as_bytes());
}

#[test]
fn the_charset_of_editorconfig_is_checked_by_decoding() {
    let directory = Directory::new();
    let config = "root = true\n[*.u8]\ncharset = utf-8\n[*.bom]\ncharset = utf-8-bom\n[*.le]\ncharset = utf-16le\n\
                  [*.be]\ncharset = utf-16be\n[*.l1]\ncharset = latin1\n[*.odd]\ncharset = koi8-r\n";
    directory.write(".editorconfig", config);
    for (name, content, error) in [
        ("good.u8", &b"caf\xC3\xA9"[..], None),
        ("marked.u8", b"\xEF\xBB\xBFa", Some("there is a BOM")),
        ("latin1.u8", b"caf\xE9!", Some("the second byte after E9 must be 80..BF, but is 21")),
        ("good.bom", b"\xEF\xBB\xBFa", None),
        ("plain.bom", b"a", Some("there is no BOM")),
        ("good.le", b"a\0\xE9\0", None),
        ("marked.le", b"\xFF\xFEa\0", None),
        ("odd.le", b"a\0b", Some("the input ends inside a code unit of utf-16le")),
        (
            "wrong.le",
            b"\xFE\xFF\0a",
            Some("the BOM is that of utf-16be, and the encoding should be utf-16le"),
        ),
        ("good.be", b"\0a\xD8\x3E\xDD\x80", None),
        ("half.be", b"\0a\xD8\x3E\0b", Some("surrogate D83E without its other half")),
        ("any.l1", b"caf\xE9 \x80\xFF", None),
        ("marked.l1", b"\xEF\xBB\xBFa", Some("the BOM is that of utf-8, and the encoding should be latin1")),
        ("any.odd", b"a", None),
        ("none", b"\xEF\xBB\xBFa", None),
    ] {
        let directory = Directory::new();
        directory.write(".editorconfig", config);
        directory.write(name, content);
        let output = check(&directory, &["--rule", "editorconfig", name]);
        let warning = stderr(&output);
        let expected = "/.editorconfig: unknown charset koi8-r: its files are checked as utf-8\n";
        assert_eq!(warning.ends_with(expected), name == "any.odd", "{name}: {warning}");
        let found: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
        match error {
            None => assert_eq!(found, [""; 0], "{name}"),
            Some(error) => {
                assert_eq!(found.len(), 1, "{name}: {found:?}");
                assert!(found[0].ends_with(error), "{name}: {found:?}");
            }
        }
    }
    directory.write("x.le", b"a\0");
    let output = check(&directory, &["--rule", "editorconfig", "--encoding", "utf-16be", "x.le"]);
    assert_eq!(output.status.code(), Some(0), "a flag has precedence: {}", stdout(&output));
}

#[test]
fn a_configuration_file_is_found_upwards_and_applies_by_glob() {
    let directory = Directory::new();
    directory.write(
        "utf8-codec.toml",
        "rules = ['bidi']\n[[files]]\nglob = ['*.txt', '!keep.txt']\nrules = ['nul']\n\
         [[files]]\nglob = '/wide/'\nencoding = 'utf-16le'\n[[files]]\nglob = '*.ps1'\nbom = 'require'\n",
    );
    let text = "\u{202E}\0";
    for name in ["a.rs", "b.txt", "deep/er/c.txt", "deep/keep.txt", "x.ps1"] {
        directory.write(name, text);
    }
    directory.write("wide/d", b"a\0");
    directory.write("deep/wide/e", b"a\0\xFF");
    let expected = [
        "a.rs:1:1: U+202E changes the order of the text on a screen",
        "b.txt:1:2: NUL",
        "deep/er/c.txt:1:2: NUL",
        "deep/keep.txt:1:1: U+202E changes the order of the text on a screen",
        "deep/wide/e:1:3: FF is never part of UTF-8",
        "x.ps1:1:1: there is no BOM",
        "x.ps1:1:1: U+202E changes the order of the text on a screen",
    ];
    let files = ["a.rs", "b.txt", "deep/er/c.txt", "deep/keep.txt", "deep/wide/e", "wide/d", "x.ps1"];
    assert_eq!(errors(&directory, &files), expected);
    // The program runs in another directory.
    let mut command = program(&["check", "--format", "short", "../b.txt"]);
    let output = run(command.current_dir(directory.path("deep")), b"");
    assert_eq!(stdout(&output), "../b.txt:1:2: NUL\n");
    // Options on the command line have precedence.
    assert_eq!(errors(&directory, &["--rule", "nul", "a.rs"]), ["a.rs:1:2: NUL"]);
    assert_eq!(errors(&directory, &["--bom", "keep", "--rule", "bom", "x.ps1"]), [""; 0]);
    assert_eq!(errors(&directory, &["--no-config", "a.rs", "b.txt"]), [""; 0]);
    directory.write("other.toml", "[[files]]\nglob = 'a.*'\nrules = ['nul']\n");
    assert_eq!(errors(&directory, &["--config", "other.toml", "a.rs", "b.txt"]), ["a.rs:1:2: NUL"]);
    // Only the nearest configuration file applies.
    directory.write("deep/utf8-codec.toml", "");
    assert_eq!(errors(&directory, &["deep/keep.txt"]), [""; 0]);
}

#[test]
fn excluded_files_are_not_read() {
    let directory = Directory::new();
    directory.write("utf8-codec.toml", "exclude = ['/vendor/', '*.bin']\n");
    for name in ["a.txt", "a.min.js", "sub/a.min.js", "vendor/v.txt", "sub/vendor/w.txt", "sub/b.bin"] {
        directory.write(name, b"\xFF");
    }
    let files = |args: &[&str]| -> Vec<String> {
        errors(&directory, args)
            .iter()
            .map(|line| line.split(':').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(files(&["."]), ["./a.min.js", "./a.txt", "./sub/a.min.js", "./sub/vendor/w.txt"]);
    assert_eq!(files(&["--exclude", "*.min.js", "."]), ["./a.txt", "./sub/vendor/w.txt"]);
    assert_eq!(files(&["--exclude", "sub/", "--exclude", "/a.txt", "."]), ["./a.min.js"]);
    assert_eq!(files(&["--no-config", "--exclude", "sub", "."]), ["./a.min.js", "./a.txt", "./vendor/v.txt"]);
    // A file that is named is read, unless a hook names it.
    let named = ["--exclude", "*.js", "a.min.js", "vendor/v.txt", "a.txt"];
    assert_eq!(files(&named), ["a.min.js", "vendor/v.txt", "a.txt"]);
    assert_eq!(files(&[&["--force-exclude"], &named[..]].concat()), ["a.txt"]);
    // `..` is resolved.
    assert_eq!(files(&["--force-exclude", "--exclude", "/sub/", "vendor/../sub/a.min.js"]), [""; 0]);
    let output = run(
        program(&["check", "--format", "short", "--exclude", "/sub/", "../sub/a.min.js", "../sub/vendor"])
            .current_dir(directory.path("vendor")),
        b"",
    );
    assert_eq!(stdout(&output).lines().count(), 2, "{}{}", stdout(&output), stderr(&output));
    let invalid = check(&directory, &["--exclude", "[z-a]", "."]);
    assert_eq!(invalid.status.code(), Some(2));
    assert!(stderr(&invalid).starts_with("utf8-codec: --exclude: "), "{}", stderr(&invalid));
}

/// A directory that is excluded is not looked at: neither its configuration nor its permissions are errors.
#[test]
fn an_excluded_directory_needs_no_valid_configuration_and_no_permissions() {
    let directory = Directory::new();
    directory.write("utf8-codec.toml", "exclude = ['/vendor/']\n");
    directory.write("vendor/sub/utf8-codec.toml", "rules = ['no rule']\n");
    directory.write("vendor/sub/text", b"\xFF");
    directory.write("vendor/other/utf8-codec.toml", "");
    directory.write("vendor/other/text", b"\xFF");
    directory.write("good", "good");
    assert_eq!(errors(&directory, &["."]), [""; 0]);
    assert_eq!(errors(&directory, &["--force-exclude", "good", "vendor/sub/text"]), [""; 0]);
    // The others apply.
    directory.write("src/utf8-codec.toml", "rules = ['no rule']\n");
    directory.write("src/text", "text");
    assert_eq!(check(&directory, &["."]).status.code(), Some(2));
    fs::remove_dir_all(directory.path("src")).expect("a directory");
    fs::set_permissions(directory.path("vendor"), fs::Permissions::from_mode(0o000)).expect("permissions");
    let output = check(&directory, &["."]);
    fs::set_permissions(directory.path("vendor"), fs::Permissions::from_mode(0o755)).expect("permissions");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn no_file_is_a_warning() {
    let directory = Directory::new();
    directory.write("src/text", b"\xFF");
    for (args, shown) in [
        (&["--exclude", "/src/", "."][..], "utf8-codec: warning: no file was checked\n"),
        (&["--exclude", "/src/", "--quiet", "."], "utf8-codec: warning: no file was checked\n"),
        // A hook names files that are excluded.
        (&["--exclude", "/src/", "--force-exclude", "src/text"], ""),
    ] {
        let output = check(&directory, args);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), shown), "{args:?}");
    }
    let output = run(
        program(&["check", "--format", "github", "--exclude", "*", "."]).current_dir(directory.root()),
        b"",
    );
    assert_eq!(stdout(&output), "::warning file=.::no file was checked\n");
    let output = run(program(&["detect", "--exclude", "*", "."]).current_dir(directory.root()), b"");
    assert_eq!(stderr(&output), "utf8-codec: warning: no file was read\n");
}

/// `--rule` has an effect, or a warning.
#[test]
fn a_rule_that_is_switched_off_is_a_warning() {
    let directory = Directory::new();
    directory.write("utf8-codec.toml", "[[files]]\nglob = 'wide*'\nencoding = 'utf-16le'\n");
    for name in ["wide1", "wide2", "wide3"] {
        directory.write(name, b"\x2E\x20");
    }
    directory.write("text", "text");
    let output = check(&directory, &["--rule", "bidi", "."]);
    let reason = "--rule bidi is not checked, because it only supports UTF-8, and the encoding is utf-16le";
    let expected = format!("utf8-codec: warning: ./wide1: {reason} (and 2 other files)\n");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), expected));
    // The rules of the configuration are those of the file in UTF-8.
    directory
        .write("utf8-codec.toml", "rules = ['bidi']\n[[files]]\nglob = 'wide*'\nencoding = 'utf-16le'\n");
    assert_eq!(stderr(&check(&directory, &["."])), "");
    directory.write("a.json", "{}");
    let output = check(&directory, &["--rule", "json-escapes", "a.json", "text"]);
    let reason = "--rule json-escapes is not checked, because its name is not that of JSON";
    assert_eq!(stderr(&output), format!("utf8-codec: warning: text: {reason}\n"));
    assert_eq!(stderr(&check(&directory, &["--rule", "json-escapes", "--force-exclude", "text"])), "");
}

#[test]
fn standard_input_has_the_settings_of_its_name() {
    let directory = Directory::new();
    directory.write("sub/utf8-codec.toml", "rules = ['bidi']\nexclude = ['*.bin']\n");
    let report = |args: &[&str], stdin: &[u8]| {
        let args = [&["check", "--format", "short", "--stdin-filename"], args].concat();
        let output = run(program(&args).current_dir(directory.root()), stdin);
        assert_eq!(stderr(&output), "");
        stdout(&output)
    };
    let text = "\u{202E}".as_bytes();
    assert_eq!(report(&["sub/a.txt"], text).split(": ").next(), Some("sub/a.txt:1:1"));
    assert_eq!(report(&["a.txt", "-"], text), "");
    assert_eq!(report(&["sub/a.bin", "--force-exclude"], text), "");
    // The directory does not exist.
    assert_eq!(report(&["sub/new/a.txt"], text).split(": ").next(), Some("sub/new/a.txt:1:1"));
    assert_eq!(report(&["sub/new/../a.txt"], text).split(": ").next(), Some("sub/new/../a.txt:1:1"));
    assert_eq!(report(&["new/a.txt"], text), "");
    assert_eq!(report(&["a.json", "--rule", "bom"], b"\xEF\xBB\xBF{}"), "a.json:1:1: there is a BOM\n");
    let unused = check(&directory, &["--stdin-filename", "a.txt", "sub"]);
    assert_eq!(unused.status.code(), Some(2));
}

#[test]
fn an_invalid_configuration_file_is_an_error() {
    for (content, reason) in [
        ("rules = []\nrule = 'nul'\n", "line 2: unknown field `rule`"),
        ("rules = ['null']\n", "line 1: unknown rule `null`, expected one of mojibake"),
        ("\n[[files]]\nglob = '*'\nruels = []\n", "line 4: unknown field `ruels`"),
        ("[[files]]\nrules = []\n", "missing field `glob`"),
        ("[[files]]\nglob = '[z-a]'\n", "invalid range"),
        ("bom = 'sometimes'\n", "`sometimes`: unknown policy; known are keep, strip"),
        ("encoding = 'utf-9'\n", "`utf-9`: unknown encoding"),
        ("rules = [\n", "line"),
    ] {
        let directory = Directory::new();
        directory.write("utf8-codec.toml", content);
        directory.write("file", b"\xFF");
        let output = check(&directory, &["."]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
        let error = stderr(&output);
        assert!(error.contains(reason) && error.contains("utf8-codec.toml"), "{content}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let directory = Directory::new();
    let output = check(&directory, &["--config", "absent.toml", "."]);
    assert_eq!(output.status.code(), Some(2));
}

/// The number of an issue, its `.editorconfig`, the name and the content of its file, and the result of `--fix --from
/// latin1` if the file has an error.
type Issue = (u32, &'static str, &'static str, &'static [u8], Option<&'static str>);

/// Issues of editorconfig-checker, which guessed the wrong encoding.
const ISSUES: [Issue; 5] = [
    (597, "root = true\n\n[*]\ncharset = utf-8\n", "test.txt", b"some\xA0text", Some("some\u{A0}text")),
    (627, "root = true\n\n[*]\ncharset = utf-8\n", "test-ansi.txt", b"\x1B[32mHello World\x1B[0m\n", None),
    (591, "[*]\ncharset = utf-8\n", "file", b"back\x08space\n", None),
    (
        517,
        "root = true\n\n[*.json]\ncharset = utf-8\nindent_size = 2\nindent_style = space\nend_of_line = lf\n",
        "a.json",
        b"{\n  \"type\": \"Feature\"\n}\n",
        None,
    ),
    (
        505,
        "[*]\ninsert_final_newline = true\n\n[*.{js,json,json5,ts,ps1,py,sql,tsql,yaml,yml}]\ncharset = utf-8\n\n\
         [*.{md}]\ncharset = utf-8\n",
        "readme.md",
        "caf\u{E9}\n".as_bytes(),
        None,
    ),
];

#[test]
fn wrongly_guessed_files_are_checked_by_decoding() {
    for (issue, config, name, content, fixed) in ISSUES {
        let directory = Directory::new();
        directory.write(".editorconfig", config);
        directory.write(name, content);
        let args = ["--rule", "editorconfig", "--hidden", "."];
        assert_eq!(errors(&directory, &args).len(), usize::from(fixed.is_some()), "{issue}");
        let output = run(
            program(&["check", "--fix", "--from", "latin1"]).args(args).current_dir(directory.root()),
            b"",
        );
        assert_eq!(output.status.code(), Some(0), "{issue}: {}", stdout(&output));
        assert_eq!(directory.read(name), fixed.map_or(content, str::as_bytes), "{issue}");
        assert_eq!(directory.read(".editorconfig"), config.as_bytes());
    }
}

#[test]
fn an_unreadable_directory_does_not_end_the_check() {
    let directory = Directory::new();
    directory.write("good", "good");
    directory.write("bad", b"\xFF");
    let output = check(&directory, &["good/absent", "bad"]);
    assert_eq!(stderr(&output), "utf8-codec: cannot read good/absent: Not a directory (os error 20)\n");
    assert_eq!(stdout(&output), "bad:1:1: FF is never part of UTF-8\n");
    assert_eq!(output.status.code(), Some(2));
    // The superuser may search every directory.
    let closed = directory.write("closed/file", "file");
    let closed = closed.parent().expect("its directory");
    fs::set_permissions(closed, fs::Permissions::from_mode(0o600)).expect("a mode");
    let output = check(&directory, &["closed/file", "bad"]);
    fs::set_permissions(closed, fs::Permissions::from_mode(0o700)).expect("a mode");
    assert_eq!(stdout(&output), "bad:1:1: FF is never part of UTF-8\n");
    // A configuration that exists and cannot be read is an error.
    symlink("utf8-codec.toml", directory.path("utf8-codec.toml")).expect("a link");
    let output = check(&directory, &["bad"]);
    assert!(stderr(&output).contains("utf8-codec.toml: Too many levels of symbolic links"));
}

/// Opening a FIFO waits for a writer.
#[test]
fn a_pipe_is_not_read_as_configuration() {
    let fifo = |directory: &Directory, name: &str| {
        assert!(Command::new("mkfifo").arg(directory.path(name)).status().expect("mkfifo").success());
    };
    let directory = Directory::new();
    directory.write(".editorconfig", "root = true\n[*]\ncharset = utf-8\n");
    directory.write("below/a.txt", "\u{FEFF}a\n");
    fifo(&directory, "below/.editorconfig");
    fifo(&directory, "below/utf8-codec.toml");
    let found = errors(&directory, &["--rule", "editorconfig", "below"]);
    assert_eq!(found, ["below/a.txt:1:1: there is a BOM"]);

    directory.write("good.txt", "a\n");
    fifo(&directory, "below/.gitignore");
    let output = check(&directory, &["--bom", "reject", "."]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "utf8-codec: cannot read ./below/.gitignore: it is not a regular file\n";
    assert_eq!((&*stdout(&output), &*stderr(&output)), ("", expected));
    let output = check(&directory, &["--bom", "reject", "below"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).ends_with("below/.gitignore: it is not a regular file\n"));
    fs::remove_file(directory.path("below/.gitignore")).unwrap();
    symlink("/dev/null", directory.path("below/.gitignore")).unwrap();
    assert_eq!(errors(&directory, &["below"]), [""; 0]);
    let found = errors(&directory, &["--no-ignore", "--bom", "reject", "."]);
    assert_eq!(found, ["./below/a.txt:1:1: there is a BOM"]);
}

/// Files that configure are read into memory, so their length is limited to 1 MiB.
#[test]
fn a_long_configuration_file_is_an_error() {
    let sparse = |directory: &Directory, name: &str, len: u64| {
        let path = directory.write(name, "");
        fs::File::options().write(true).open(path).and_then(|file| file.set_len(len)).expect("a sparse file");
    };
    for (name, args, file) in [
        ("utf8-codec.toml", &[][..], "utf8-codec.toml"),
        ("other.toml", &["--config", "other.toml"], "other.toml"),
        (".editorconfig", &["--rule", "editorconfig"], ".editorconfig"),
        ("below/.gitignore", &[], "below/.gitignore"),
        (".ignore", &[], "/.ignore"),
        (".git", &[], "/.git"),
        (".git/info/exclude", &[], "/.git/info/exclude"),
    ] {
        for len in [3 << 30, (1 << 20) + 1] {
            let directory = Directory::new();
            sparse(&directory, name, len);
            directory.write("below/good", "good");
            let output = check(&directory, &[args, &["."]].concat());
            assert_eq!((output.status.code(), &*stdout(&output)), (Some(2), ""), "{name}");
            let error = stderr(&output);
            assert!(error.ends_with(&format!("{file}: it is longer than 1 MiB\n")), "{name}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
    let directory = Directory::new();
    directory.write("bad", "\u{202E}");
    let mut longest = "rules = ['bidi']\n".to_owned();
    longest += &"#".repeat((1 << 20) - longest.len());
    directory.write("utf8-codec.toml", &longest);
    assert_eq!(errors(&directory, &["bad"]).len(), 1);
    longest.push('#');
    directory.write("utf8-codec.toml", &longest);
    assert_eq!(check(&directory, &["bad"]).status.code(), Some(2));
}

/// A shell passes the output of a command as a pipe: `--config <(...)`.
#[test]
fn the_configuration_on_the_command_line_may_be_a_pipe() {
    let directory = Directory::new();
    directory.write("bad", "\u{202E}");
    let mut command = program(&["check", "--format", "short", "--config", "/dev/stdin", "bad"]);
    let output = run(command.current_dir(directory.root()), b"rules = ['bidi']\n");
    assert_eq!((stderr(&output).as_str(), output.status.code()), ("", Some(1)));
}
