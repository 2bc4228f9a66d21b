//! The example `lmtp_filter`, driven by Python's `smtplib`.

#[allow(dead_code, unreachable_pub)]
#[path = "../../../../examples/lmtp_filter.rs"]
mod lmtp_filter;

use lmtp_filter::{Inbox, filter, take_all};
use tokio::net::TcpListener;

use crate::support::unhex;

const CLIENT: &str = r#"
"""Sends mail through the filter, as a mail server does, and checks the replies: `smtp_client.py PORT`."""

import base64, re, smtplib, sys
from email.message import Message

PORT = int(sys.argv[1])


def text(encoding, bytes):
    part = Message()
    part["Content-Type"] = 'text/plain; charset="utf-8"'
    part["Content-Transfer-Encoding"] = encoding
    payload = base64.encodebytes(bytes) if encoding == "base64" else bytes
    part.set_payload(payload.decode("ascii", "surrogateescape"))
    return part


def mail(hidden):
    """A multipart in a multipart: a text part in base64 between two well-formed text parts."""
    inner = Message()
    inner["Content-Type"] = "multipart/alternative; boundary=inner"
    inner.set_payload([text("8bit", ".\n..\ncaf\u00e9\n".encode()), text("base64", b"0123456789" * 12 + hidden)])
    outer = Message()
    outer["Content-Type"] = "multipart/mixed; boundary=outer"
    outer["Subject"] = "sm"
    outer.set_payload([inner, text("8bit", "\u65e5\u672c\u8a9e\n".encode())])
    return re.sub(rb"\r?\n", b"\r\n", outer.as_bytes())


good, bad = mail("\ud7ff".encode()), mail(b"\xed\xa0\x80")
# 120 bytes are 160 symbols in three lines: 76 + CRLF + 76 + CRLF + 8.
offset = bad.index(base64.b64encode(b"0123456789")[:8]) + 160 + 4

for client in (smtplib.LMTP("127.0.0.1", PORT), smtplib.SMTP("127.0.0.1", PORT)):
    options = ["BODY=8BITMIME", "SMTPUTF8"]
    client.ehlo()
    assert client.has_extn("8bitmime") and client.has_extn("smtputf8") and not client.has_extn("chunking")
    for _ in range(2):
        assert client.sendmail("sm\u00f6rg\u00e5s@example.org", ["a@example.org"], good, options) == {}
        try:
            client.sendmail("b@example.org", ["a@example.org"], bad, options)
            raise SystemExit("the bad message was taken")
        except smtplib.SMTPDataError as rejection:
            lines = rejection.smtp_error.decode().split("\n")
            assert rejection.smtp_code == 554, rejection
            assert lines[0] == f"5.6.0 part 1.2: ill-formed UTF-8 at byte {offset} (decoded byte 120, Surrogate, 1 byte)", lines
            assert lines[1:] == ["5.6.0 part 1.1: good", "5.6.0 part 2: good"], lines
    client.quit()

sys.stdout.write(good.hex())
"#;

#[tokio::test]
#[cfg_attr(not(has_python3), ignore = "python3 is not installed")]
async fn smtplib_receives_the_part_with_the_error() {
    let inbox = Inbox::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    tokio::spawn(take_all(listener, inbox.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(filter(listener, upstream));

    let output = tokio::process::Command::new("python3")
        .args(["-c", CLIENT, &port.to_string()])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let good = unhex(str::from_utf8(&output.stdout).unwrap());
    let inbox = inbox.lock().unwrap();
    assert_eq!(inbox.len(), 4, "two by LMTP and two by SMTP");
    assert!(inbox.iter().all(|message| *message == good), "what arrives is what was sent");
}
