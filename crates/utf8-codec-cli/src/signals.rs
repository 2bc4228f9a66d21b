//! SIGTERM, SIGINT and SIGHUP, or Ctrl-C on systems without Unix signals.

pub(super) use imp::Signals;

#[cfg(unix)]
mod imp {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};
    use tracing::info;

    /// SIGTERM and SIGINT, which end a server, and SIGHUP, which does not.
    #[derive(Debug)]
    pub(crate) struct Signals {
        terminate: Signal,
        interrupt: Signal,
        hang_up: Signal,
    }

    impl Signals {
        /// Installs the handlers. After this call none of the signals ends the process.
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        /// Waits for SIGTERM or SIGINT. SIGHUP, which arrives when a terminal closes, is only logged.
        pub(crate) async fn next(&mut self) {
            loop {
                tokio::select! {
                    _ = self.terminate.recv() => return,
                    _ = self.interrupt.recv() => return,
                    _ = self.hang_up.recv() => info!("SIGHUP is ignored: there is no configuration to reload"),
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    /// The signals that end a server.
    #[derive(Debug)]
    pub(crate) struct Signals;

    impl Signals {
        /// Does nothing: the first call of [`next`](Self::next) installs the handler.
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits for the next Ctrl-C.
        pub(crate) async fn next(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                // The handler could not be installed, so this waits forever.
                core::future::pending().await
            }
        }
    }
}
