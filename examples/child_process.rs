//! Reads the output of a child process in threads with the traits of std. There is no async runtime, and with
//! `--no-default-features --features std` there is no dependency. A read may end inside a character, here after every
//! byte.
//!
//! The same loop reads from the master side of a pseudoterminal.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::{env, thread};

use utf8_codec::io::Utf8Reader;
use utf8_codec::{ErrorPolicy, TextDecoder};

/// The bytes that the child writes to its standard output. The last byte is the start of a character.
const OUTPUT: &[u8] = b"\x1B[1mna\xC3\xAFve\x1B[0m \xF0\x9F\xA6\x80 \xFF \xE2";

/// Forwards text as it arrives, for a terminal or a log that is shown live. With
/// `String::from_utf8_lossy(&buffer[..read])` a character that is split between two reads would be lost.
fn show(output: impl Read, mut screen: impl FnMut(&str)) -> io::Result<()> {
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let mut reader = Utf8Reader::with_decoder(output, replace);
    // The text of one read. A read that a signal interrupts is repeated.
    while let Some(text) = reader.read_str_chunk()? {
        screen(text);
    }
    Ok(())
}

/// Reads lines for a log that is stored. A child that never ends a line cannot exhaust the memory.
fn log(output: impl Read) -> io::Result<Vec<String>> {
    let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    Utf8Reader::with_decoder(output, replace).into_bounded_lines(64 * 1024).collect()
}

fn main() -> io::Result<()> {
    if env::args().nth(1).as_deref() == Some("child") {
        return child();
    }
    let mut child = Command::new(env::current_exe()?)
        .arg("child")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));

    let lines = thread::spawn(|| log(stderr));
    let mut screen = String::new();
    show(stdout, |text| screen.push_str(text))?;
    let lines = lines.join().expect("no panic")?;
    assert!(child.wait()?.success());

    assert_eq!(screen, "\x1B[1mnaïve\x1B[0m 🦀 \u{FFFD} \u{FFFD}");
    assert_eq!(lines, ["größer", "wärmer"]);
    println!("{screen}\n{lines:?}");
    Ok(())
}

/// Writes byte by byte with pauses, so that the parent reads the bytes separately.
fn child() -> io::Result<()> {
    let (mut stdout, mut stderr) = (io::stdout().lock(), io::stderr().lock());
    for byte in OUTPUT {
        stdout.write_all(&[*byte])?;
        stdout.flush()?;
        thread::yield_now();
    }
    stderr.write_all("größer\r\nwärmer".as_bytes())
}
