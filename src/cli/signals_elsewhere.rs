//! Ctrl-C, where there are no Unix signals.

use std::io;

/// The signals that end a server.
#[derive(Debug)]
pub(super) struct Signals;

impl Signals {
    /// The handler is installed by the first call of [`next`](Self::next).
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next Ctrl-C.
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // The handler could not be installed: wait forever.
            core::future::pending().await
        }
    }
}
