//! `proxy` and `serve` under what an operator meets: logs that nobody reads, limits, signals, peers that misbehave.
#![cfg(all(feature = "cli", unix))]
#![allow(missing_docs)]

mod support;

use std::io::Write;

use support::server::{Server, read_line};

#[test]
fn a_stderr_that_nobody_reads_stops_neither_traffic_nor_signals() {
    for command in ["proxy", "serve"] {
        let mut server = Server::start_unread(&[command, "--on-error", "skip"]);
        // A pipe holds 64 KiB; 100 reports of each connection are 15 KiB.
        for _ in 0..20 {
            let mut client = server.connect();
            client.write_all(&[b"\xFF".repeat(200), b"through\n".to_vec()].concat()).unwrap();
            assert_eq!(read_line(&mut client), "line 1: 7 characters: through\n", "{command}");
        }
        server.signal("TERM");
        assert_eq!(server.wait_for_exit().code(), Some(0), "{command}");
    }
}
