//! The example `lmtp_filter`, driven by Python's `smtplib`.

#[allow(dead_code, unreachable_pub)]
#[path = "../../../../examples/lmtp_filter.rs"]
mod lmtp_filter;

use lmtp_filter::{Inbox, filter, take_all};
use tokio::net::TcpListener;

use crate::support::unhex;

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
        .args(["-c", include_str!("smtp_client.py"), &port.to_string()])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let good = unhex(str::from_utf8(&output.stdout).unwrap());
    let inbox = inbox.lock().unwrap();
    assert_eq!(inbox.len(), 4, "two by LMTP and two by SMTP");
    assert!(inbox.iter().all(|message| *message == good), "what arrives is what was sent");
}
