//! The example `lmtp_filter`, driven by Python's `smtplib`.

#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/lmtp_filter.rs"]
mod lmtp_filter;

use std::process::{Command, Stdio};

use lmtp_filter::{Dots, Inbox, filter, take_all};
use tokio::net::TcpListener;

use crate::support::conformance::unhex;
use crate::support::{every_partition, some_partitions};

#[tokio::test]
async fn smtplib_receives_the_part_with_the_error_and_well_formed_messages_arrive() {
    let python = Command::new("python3")
        .args(["-c", "import smtplib"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !python.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no python3 with smtplib");
        return;
    }
    let inbox = Inbox::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    tokio::spawn(take_all(listener, inbox.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(filter(listener, upstream));

    let output = tokio::process::Command::new("python3")
        .args(["-c", include_str!("../support/smtp_client.py"), &port.to_string()])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let good = unhex(str::from_utf8(&output.stdout).unwrap());
    let inbox = inbox.lock().unwrap();
    assert_eq!(inbox.len(), 4, "two by LMTP and two by SMTP");
    assert!(inbox.iter().all(|message| *message == good), "what arrives is what was sent");
}

/// Returns the text, whether there was a bare CR or LF, and whether the final dot was found.
fn unstuff(chunks: &[&[u8]]) -> (Vec<u8>, bool, bool) {
    let (mut dots, mut text) = (Dots::default(), Vec::new());
    for (i, chunk) in chunks.iter().enumerate() {
        if let Some(taken) = dots.unstuff(chunk, &mut text) {
            assert!(taken == chunk.len() && chunks[i + 1..].concat().is_empty(), "nothing follows it");
            return (text, dots.bare, true);
        }
    }
    (text, dots.bare, false)
}

#[test]
fn dot_stuffing_is_removed_for_every_partition() {
    for (wire, text) in [
        (&b".\r\n"[..], &b""[..]),
        (b"a\r\n.\r\n", b"a\r\n"),
        (b"..\r\n.\r\n", b".\r\n"),
        (b"...a\r\n.\r\n", b"..a\r\n"),
        (b"a.\r\n.\r\n", b"a.\r\n"),
    ] {
        every_partition(wire, |chunks| {
            assert_eq!(unstuff(chunks), (text.to_vec(), false, true), "{chunks:?}")
        });
    }
    // Sequences that only some programs read as the end of a message (CVE-2023-51764) are text, and are reported.
    for wire in [&b"a\n.\nb\r\n.\r\n"[..], b"a\r.\rb\r\n.\r\n", b"a\r\n.\nb\r\n.\r\n", b"a\n.\r\nb\r\n.\r\n"]
    {
        some_partitions(wire, 20, |chunks| {
            let (text, bare, ended) = unstuff(chunks);
            assert!(bare && ended && text.ends_with(b"b\r\n"), "{chunks:?}");
        });
    }
}
