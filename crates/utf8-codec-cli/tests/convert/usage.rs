//! Behavior of all commands: exit statuses, error messages about the command line, logs.

use crate::support::program::{Directory, program, run, stderr};

/// Asserts exit status 2 and one line on stderr that contains `what`.
fn fails(args: &[&str], what: &str) {
    let output = run(&mut program(args), b"");
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{args:?}");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    assert!(stderr.starts_with("utf8-codec: ") && stderr.contains(what), "{args:?}: {stderr}");
}

#[test]
fn the_error_for_a_misspelled_name_has_a_suggestion() {
    fails(&["chekc"], "unrecognized subcommand 'chekc'; a similar subcommand exists: 'check'");
    fails(&["convert", "--form", "utf-8"], "a similar argument exists: '--from'");
    fails(&["detect", "--format", "jsom"], "a similar value exists: 'json'");
}

#[test]
fn the_help_of_a_shared_option_fits_each_command() {
    let help = |command| {
        let output = run(&mut program(&[command, "--help"]), b"");
        // The help is wrapped to the width of the terminal.
        String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for command in ["proxy", "serve"] {
        let help = help(command);
        // The default is after the description, or after the values if these have descriptions.
        let (_, bom) = help.split_once("start of a stream").expect("the option --bom");
        let (bom, _) = bom.split_once(" --").unwrap_or((bom, ""));
        assert!(bom.contains("[default: keep]"), "{help}");
        // `serve` continues after an ill-formed line, and so does `proxy --framing lines`.
        assert!(!help.contains("and stop"), "{help}");
    }
    let (convert, check, detect) = (help("convert"), help("check"), help("detect"));
    assert!(convert.contains("[default: keep, but strip if the BOM indicates the encoding]"), "{convert}");
    assert!(!check.contains("Discard the BOM"), "{check}");
    assert!(!detect.contains("one for each error") && !detect.contains("FILE:LINE:COLUMN"), "{detect}");
}

#[test]
fn the_error_says_why_a_value_is_invalid() {
    for (args, why) in [
        (["serve", "--listen", "127.0.0.1:99999"], "the port is out of range: 0 to 65535"),
        (["proxy", "--upstream", "nowhere"], "there is no port"),
        (["serve", "--max-connections", "0"], "must be at least 1"),
        (["serve", "--idle-timeout", "soon"], "not a number of seconds"),
    ] {
        fails(&args, why);
    }
    let output = run(program(&["convert"]).env("RUST_LOG", "loud=very"), b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("utf8-codec: RUST_LOG: "), "{}", stderr(&output));
}

#[test]
fn a_command_logs_on_request() {
    let ill_formed = b"secret\xFF";
    for command in ["check", "convert"] {
        let quiet = run(&mut program(&[command, "-"]), ill_formed);
        assert!(!stderr(&quiet).contains("DEBUG"));
        let (mut option, mut variable) = (program(&[command, "-v", "-"]), program(&[command, "-"]));
        for asked in [&mut option, variable.env("RUST_LOG", "utf8_codec=debug")] {
            let log = stderr(&run(asked, ill_formed));
            let line = log.lines().find(|line| line.contains("DEBUG")).expect(&log);
            assert!(line.contains("offset=6") && line.contains("InvalidLead"), "{line}");
            assert!(!log.contains("secret"), "{log}");
        }
        // RUST_LOG has precedence.
        let silenced = run(program(&[command, "-vv", "-"]).env("RUST_LOG", "off"), ill_formed);
        assert!(!stderr(&silenced).contains("DEBUG"));
    }
}

#[test]
fn an_unknown_encoding_names_the_command_with_the_list() {
    for option in ["--from", "--to"] {
        fails(
            &["convert", option, "utf-9"],
            "unknown encoding; `utf8-codec convert --list` prints the known names",
        );
    }
    fails(&["convert", "-t", "utf-7"], "this encoding is only decoded: use it with --from");
    fails(
        &["convert", "-t", "ascii", "--on-error", "latin1"],
        "--to ascii does not have the characters that this --on-error policy writes",
    );
}

/// The reader closes the pipe early, as in `cat FILE | head -c 1`.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_the_program_without_a_message() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    const SIGPIPE: i32 = 13;

    let directory = Directory::new();
    let text = directory.write("text", vec![b'a'; 1 << 20]);
    let bad = directory.write("bad", vec![0xFF; 1 << 20]);
    let (text, bad) = (text.to_str().expect("UTF-8"), bad.to_str().expect("UTF-8"));
    let many = [&["detect"][..], &[text; 100]].concat();
    let proxy = ["proxy", "--listen", "127.0.0.1:0"];
    for args in [&["convert", text][..], &["check", bad], &["mail", text], &many, &["--help"], &proxy] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = program(args).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn();
        let output = child.expect("the program starts").wait_with_output().expect("it ends");
        assert_eq!(stderr(&output), "", "{args:?}");
        assert_eq!(output.status.signal(), Some(SIGPIPE), "{args:?}: {:?}", output.status);
    }
}

/// All write errors except a closed pipe are reported.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    for args in [
        &["convert", "--list"][..],
        &["convert", "Cargo.toml"],
        &["check", "Cargo.toml"],
        &["proxy", "--listen", "127.0.0.1:0"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let child = program(args).stdout(full).stderr(std::process::Stdio::piped()).spawn();
        let output = child.expect("the program starts").wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("cannot write to stdout: No space left on device"), "{args:?}");
    }
}
