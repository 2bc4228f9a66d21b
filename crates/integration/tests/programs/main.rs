//! Comparisons with other programs: Python, Java, Perl, Node, a shell; and with prost. The tests of a program that is
//! not installed are ignored.
#![allow(missing_docs)]

use std::io::Write;
use std::process::{Command, Stdio};

mod cri;
mod fallback;
mod mail;
mod mail_headers;
mod old_mail;
mod prost;
mod protobuf;
mod smtplib;
mod transcode;

#[path = "../support/mod.rs"]
mod support;

/// Runs a program with this input. Returns its output.
fn run(command: &mut Command, input: String) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{command:?} failed");
    writer.join().expect("no panic").expect("the program reads");
    String::from_utf8(output.stdout).expect("UTF-8")
}
