//! What `proxy` and `serve` share: logs, the accept loop, the end in order.

use core::error::Error;
use core::net::SocketAddr;
use core::num::NonZeroUsize;
use core::time::Duration;
use std::io::{self, Write};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use utf8_codec::Utf8Error;
use utf8_codec::proxy::Direction;

use super::args::{at_least_one, seconds};
use super::log::LogArgs;
use super::outcome::{Outcome, Status};

/// How long a connection that is over is read from, so that its peer finds an end in order and not a reset.
const LINGER: Duration = Duration::from_secs(1);

/// Reports of ill-formed bytes for one direction of a connection; the rest is only counted, so that a peer who
/// sends nothing else does not fill the log.
const MAX_REPORTS: u64 = 100;

/// Flags of every command that accepts connections.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Service {
    /// Connections at a time; while there are so many, the next ones wait in the listen queue
    #[arg(long, value_name = "N", default_value = "1024", value_parser = at_least_one)]
    max_connections: NonZeroUsize,
    /// End a connection on which nothing moved for this long; 0 never does
    #[arg(long, value_name = "SECS", default_value = "300", value_parser = seconds)]
    idle_timeout: Duration,
    /// How long open connections may go on after SIGTERM or SIGINT; a second signal ends them at once
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = seconds)]
    grace: Duration,
    #[command(flatten)]
    log: LogArgs,
}

impl Service {
    /// Starts the log and a runtime, and runs `service` on it.
    pub(super) fn run(&self, service: impl Future<Output = Result<(), Box<dyn Error>>>) -> Outcome {
        let log = self.log.start()?;
        let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("cannot start: {error}"))?;
        runtime.spawn(log.dropped().keep_reporting());
        let ended = runtime.block_on(service);
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
        ended.map(|()| Status::Success)
    }

    /// The idle timeout, if there is one.
    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        Some(self.idle_timeout).filter(|timeout| !timeout.is_zero())
    }

    /// Accepts connections and runs `session` on each until a signal comes, then lets them end within the grace
    /// period. At its end, or when a second signal comes, `cut` is cancelled: then the sessions have to end.
    pub(super) async fn accept<S>(
        &self,
        listener: TcpListener,
        mut signal: impl AsyncFnMut(),
        cut: CancellationToken,
        session: impl Fn(Connection) -> S,
    ) where
        S: Future<Output = ()> + Send + 'static,
    {
        let mut sessions = JoinSet::new();
        let mut number = 0;
        loop {
            tokio::select! {
                () = signal() => break,
                Some(ended) = sessions.join_next() => log_panic(ended),
                (stream, peer) = next_connection(&listener), if sessions.len() < self.max_connections.get() => {
                    number += 1;
                    sessions.spawn(session(Connection { stream, peer, number }));
                }
            }
        }
        drop(listener);
        if !sessions.is_empty() {
            info!(connections = sessions.len(), grace = self.grace.as_secs_f64(), "draining");
        }
        let drained = async {
            while let Some(ended) = sessions.join_next().await {
                log_panic(ended);
            }
        };
        tokio::select! {
            () = drained => return,
            () = sleep(self.grace) => {}
            () = signal() => {}
        }
        cut.cancel();
        let _ = timeout(LINGER, async { while sessions.join_next().await.is_some() {} }).await;
    }
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(bug) = ended {
        error!("a connection ended in a bug: {bug}");
    }
}

/// An accepted connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// Counts from 1; `connection` in the log.
    pub(super) number: u64,
}

/// The next connection. What goes wrong here concerns a connection that is gone, or passes (no descriptor is free):
/// it neither ends the server nor makes it spin.
async fn next_connection(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
                if !matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted) {
                    warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(250)).await;
                }
            }
        }
    }
}

/// Binds a listener.
pub(super) async fn bind(address: &str) -> Result<TcpListener, Box<dyn Error>> {
    TcpListener::bind(address).await.map_err(|error| format!("cannot listen on {address}: {error}").into())
}

/// Says on stdout where connections are accepted.
pub(super) fn announce(listener: &TcpListener) -> io::Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {}", listener.local_addr()?)?;
    stdout.flush()
}

/// Ends a connection in order: half-close, then read what still comes. A socket that is closed with unread bytes is
/// reset, and its peer may lose what was written to it last.
pub(super) async fn close(mut stream: TcpStream) {
    if stream.shutdown().await.is_ok() {
        let mut rest = [0; 4096];
        let _ =
            timeout(LINGER, async { while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {} }).await;
    }
}

/// The log lines about ill-formed bytes on one connection.
#[derive(Debug)]
pub(super) struct Reports {
    connection: u64,
    peer: SocketAddr,
    told: [u64; 2],
}

impl Reports {
    pub(super) fn of(connection: &Connection) -> Self {
        Self { connection: connection.number, peer: connection.peer, told: [0; 2] }
    }

    pub(super) fn tell(&mut self, direction: Direction, error: Utf8Error) {
        let Utf8Error { offset, kind, len, .. } = error;
        let Self { connection, peer, told } = self;
        let told = &mut told[direction as usize];
        *told += 1;
        if *told <= MAX_REPORTS {
            warn!(connection, %peer, %direction, offset, %kind, len, "{error}");
        }
        if *told == MAX_REPORTS {
            warn!(connection, %peer, %direction, "further ill-formed bytes are only counted");
        }
    }
}
