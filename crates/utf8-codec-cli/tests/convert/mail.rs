//! `utf8-codec mail`: trees, objects and exit statuses.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const GOOD: &str =
    "Subject: hi\nContent-Type: text/plain; charset=\"UTF-8\"\nContent-Transfer-Encoding: 8bit\n\ncafé\n";
const BAD: &str = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\ngood\n--b\n\
    Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\nb2jtoIA=\n\
    --b\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n/w==\n--b--\n";

fn mail(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_utf8-codec"))
        .arg("mail")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails early does not read all of its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn objects(output: &Output) -> Vec<Value> {
    str::from_utf8(&output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn json_is_one_object_for_each_message() {
    let output = mail(&["--format", "json"], GOOD.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        objects(&output),
        [json!({"file": "-", "ok": true, "parts": [{
            "path": "1", "type": "text/plain", "charset": "utf-8", "encoding": "8bit", "ok": true, "characters": 5,
            "errors": [], "warnings": [],
        }]})]
    );

    let image = "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n/w==\n";
    let output = mail(&["--format", "json"], image.as_bytes());
    assert_eq!(
        objects(&output)[0]["parts"][0]["path"],
        "1",
        "a message that is not multipart has its one part"
    );

    let output = mail(&["--format", "json", "-"], BAD.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let offset = BAD.find("jtoIA").unwrap();
    assert_eq!(
        objects(&output),
        [json!({"file": "-", "ok": false, "parts": [
            {"path": "1", "type": "text/plain", "charset": null, "encoding": "7bit", "ok": true, "characters": 4,
             "errors": [], "warnings": []},
            {"path": "2", "type": "text/html", "charset": "utf-8", "encoding": "base64", "ok": false,
             "characters": 2, "errors": [
                {"offset": offset, "decoded_offset": 2, "kind": "Surrogate", "len": 1, "layer": "text"},
                {"offset": offset + 2, "decoded_offset": 3, "kind": "UnexpectedContinuation", "len": 1, "layer": "text"},
                {"offset": offset + 3, "decoded_offset": 4, "kind": "UnexpectedContinuation", "len": 1, "layer": "text"},
             ], "warnings": []},
        ]})]
    );
}

#[test]
fn a_mailbox_has_a_verdict_for_each_message() {
    let mailbox = format!("From a\n{GOOD}\nFrom b\n{BAD}\nFrom c\n{GOOD}");
    let output = mail(&["--format", "json"], mailbox.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let verdicts: Vec<_> =
        objects(&output).iter().map(|object| (object["message"].clone(), object["ok"].clone())).collect();
    assert_eq!(verdicts, [(json!(1), json!(true)), (json!(2), json!(false)), (json!(3), json!(true))]);

    let starts: Vec<_> = ["From a", "From b", "From c"].map(|line| mailbox.find(line).unwrap()).into();
    let line = |offset: usize| 1 + mailbox[..offset].lines().count();
    for (object, &start) in objects(&output).iter().zip(&starts) {
        assert_eq!(object["message_offset"], start);
        assert_eq!(object["message_line"], line(start));
    }
    let output = mail(&[], mailbox.as_bytes());
    let tree = String::from_utf8(output.stdout).unwrap();
    let heads: Vec<_> = tree.lines().filter(|line| line.contains("message")).collect();
    let expected = |at: usize, verdict| {
        format!("-:{}: message {} at byte {}: {verdict}", line(starts[at]), at + 1, starts[at])
    };
    assert_eq!(heads, [expected(0, "good"), expected(1, "3 errors"), expected(2, "good")]);
}

#[test]
fn the_tree_lists_every_part_and_error() {
    let folder = std::env::temp_dir().join(format!("utf8-codec-mail-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("bad.eml");
    std::fs::write(&file, BAD).unwrap();
    let name = file.display().to_string();
    let offset = BAD.find("jtoIA").unwrap();

    let output = mail(&[&name], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!(
            "{name}: 3 errors\n  0 multipart/mixed\n  1 text/plain, no charset, 7bit: 1 line, 4 characters\n  \
             2 text/html, utf-8, base64: 1 line, 2 characters\n    \
             error: byte {offset}, decoded byte 2: Surrogate (text)\n    \
             error: byte {}, decoded byte 3: UnexpectedContinuation (text)\n    \
             error: byte {}, decoded byte 4: UnexpectedContinuation (text)\n  3 image/png\n",
            offset + 2,
            offset + 3
        )
    );

    let output = mail(&["--quiet", &name, "/no/such/file"], b"");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.starts_with("utf8-codec: cannot read /no/such/file: ") && complaint.lines().count() == 1
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_message_with_only_warnings_is_good_and_they_are_printed() {
    let message = "\u{feff}Subject : hi\nContent-Type: text; charset=\"\"\n\nhi\n";
    let (space, content_type) = (message.find(" :").unwrap(), message.find(" text").unwrap());
    let output = mail(&[], message.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!(
            "-: good\n  1 text/plain, no charset, 7bit: 1 line, 3 characters\n    \
             warning: byte 0: ByteOrderMark (structure)\n    \
             warning: byte {space}: SpaceBeforeColon (structure)\n    \
             warning: byte {content_type}: IncompleteContentType (structure)\n"
        )
    );
    let multipart = "Subject : hi\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nhi\n--b--\n";
    let output = mail(&["--format", "json"], multipart.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        objects(&output)[0]["parts"][0]["warnings"],
        json!([{"offset": 7, "decoded_offset": null, "kind": "SpaceBeforeColon", "len": 0, "layer": "structure"}])
    );
}

#[test]
fn lenient_accepts_missing_padding() {
    let message = b"Content-Transfer-Encoding: base64\n\naGk";
    assert_eq!(mail(&[], message).status.code(), Some(1));
    assert_eq!(mail(&["--lenient"], message).status.code(), Some(0));
}

#[test]
fn the_messages_of_a_directory_are_read() {
    let directory = crate::support::program::Directory::new();
    for name in ["Maildir/cur/2:2,S", "Maildir/cur/1:2,S", "Maildir/.Sent/new/3"] {
        directory.write(name, GOOD);
    }
    // Not a message, and one that is being delivered.
    directory.write("Maildir/dovecot.index", b"\0\xFF");
    directory.write("Maildir/tmp/4", BAD);
    let path = |name: &str| directory.path(name).display().to_string();
    let files = |output: &Output| {
        objects(output).iter().map(|object| object["file"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let output = mail(&["--format", "json", &path("Maildir")], b"");
    let expected = ["Maildir/.Sent/new/3", "Maildir/cur/1:2,S", "Maildir/cur/2:2,S"].map(path);
    assert_eq!((output.status.code(), files(&output)), (Some(0), expected.to_vec()));
    directory.write("Maildir/new/5", BAD);
    let output = mail(&["--format", "json", &path("Maildir"), &path("Maildir/tmp/4")], b"");
    assert_eq!((output.status.code(), files(&output).len()), (Some(1), 5));
}
