//! Ctrl-C, where there are no Unix signals.

use std::io;

/// The signals that end a server.
#[derive(Debug)]
pub(super) struct Signals;

impl Signals {
    /// As on Unix.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// The next one.
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // None can be waited for.
            core::future::pending().await
        }
    }
}
