//! Ctrl-C, for systems without Unix signals.

use std::io;

/// The signals that end a server.
#[derive(Debug)]
pub(super) struct Signals;

impl Signals {
    /// Does nothing: the first call of [`next`](Self::next) installs the handler.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next Ctrl-C.
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // The handler could not be installed, so this waits forever.
            core::future::pending().await
        }
    }
}
