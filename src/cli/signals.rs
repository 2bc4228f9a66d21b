//! SIGTERM, SIGINT and SIGHUP.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// The signals that end a server, and the one that does not.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From here on none of them ends the process.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a SIGTERM or SIGINT. A SIGHUP, as when a terminal closes, is logged and changes nothing.
    pub(super) async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hang_up.recv() => info!("SIGHUP changes nothing: there is no configuration to read again"),
            }
        }
    }
}
