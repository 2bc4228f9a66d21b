//! Code that `proxy` and `serve` share: the log, the accept loop, graceful shutdown.

use core::error::Error;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Write};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Level, error, info, warn};
use utf8_codec::Utf8Error;
use utf8_codec_proxy::RelayDirection;

use crate::address::{Address, ListenAddress};
use crate::args::{at_least_one, file_mode, seconds, whole_number};
use crate::limits::{HELD_BACK_INTERVAL, LogLimit, SourceSlot, Sources};
use crate::log::{DroppedLines, LogArgs};
use crate::net::{Listener, Peer, Socket};
use crate::outcome::{CommandResult, CommandStatus, cannot_write};
use crate::proxy_protocol::{self, Endpoints, Sender};
use crate::sockets::{descriptor_limit, notify};
use crate::unix_socket::PassedSockets;

/// How long a closed connection is still read, so that the peer receives an orderly end instead of a reset. Also how
/// long cancelled sessions may take to end.
const LINGER: Duration = Duration::from_secs(1);

/// The maximum number of ill-formed sequences logged for each direction of a connection. Further ones are only counted,
/// so that one peer cannot fill the log.
const MAX_REPORTS: u64 = 100;

/// How long connections are accepted after a signal. Connections in the listen queue are already established for their
/// clients, and would be reset with the listener.
const QUEUE_TIME: Duration = Duration::from_millis(50);

/// Whether a signal has arrived: the server closes its listener after [`QUEUE_TIME`] and drains the open connections.
pub(super) static DRAINING: AtomicBool = AtomicBool::new(false);

/// The number of descriptors reserved for purposes other than connections.
const RESERVED: usize = 64;

/// The options of all commands that accept connections.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Service {
    /// Maximum concurrent connections; further ones wait in the listen queue
    #[arg(long, value_name = "N", default_value = "1024", value_parser = at_least_one)]
    max_connections: NonZeroUsize,
    /// Maximum concurrent connections per address (per /64 for IPv6); 0 means no limit; further ones are reset
    #[arg(long, value_name = "N", default_value = "0", value_parser = whole_number::<usize>)]
    max_connections_per_source: usize,
    /// Peers that send a header of the PROXY protocol, version 1 or 2, before the first byte: networks, addresses, or
    /// unix; their connections without a valid header are reset
    #[arg(long, value_name = "PEERS", value_delimiter = ',')]
    accept_proxy_protocol: Vec<Sender>,
    /// Maximum length of the listen queue; the kernel may use a lower limit
    #[arg(long, value_name = "N", default_value = "4096", value_parser = whole_number::<u32>)]
    backlog: u32,
    /// Mode of the file of a Unix socket in octal, such as 660; by default the umask determines it
    #[arg(long, value_name = "MODE", value_parser = file_mode)]
    socket_mode: Option<u32>,
    /// Close a connection without traffic after this time; 0 means no limit
    #[arg(long, value_name = "SECS", default_value = "300", value_parser = seconds)]
    idle_timeout: Duration,
    /// How long to drain open connections after SIGTERM or SIGINT; a second signal closes them at once
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = seconds)]
    grace: Duration,
    /// Maximum log lines per second about connections, and a tenth of it per address; further ones are only counted
    #[arg(long, value_name = "N", default_value = "200", value_parser = at_least_one)]
    log_rate: NonZeroUsize,
    #[command(flatten)]
    log: LogArgs,
}

impl Service {
    /// Starts the log and a runtime, and runs `service` on it.
    pub(super) fn run(
        &self,
        service: impl AsyncFnOnce(DroppedLines, PassedSockets) -> Result<(), Box<dyn Error>>,
    ) -> CommandResult {
        // Before the first thread starts.
        let passed = PassedSockets::from_env();
        let (log, started) = self.log.start();
        let ended = started.map_err(Into::into).and_then(|()| {
            let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("cannot start: {error}"))?;
            runtime.spawn(log.dropped().keep_reporting());
            let ended = runtime.block_on(service(log.dropped(), passed));
            // This does not wait for a DNS lookup that is still running on a blocking thread.
            runtime.shutdown_background();
            ended
        });
        ended.map(|()| CommandStatus::Success).map_err(|error| self.log.failed(error))
    }

    /// Returns the idle timeout, or `None` if it is 0.
    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        Some(self.idle_timeout).filter(|timeout| !timeout.is_zero())
    }

    pub(super) async fn bind(&self, address: &Address) -> Result<Listener, String> {
        let bound = Listener::bind(address, self.backlog, self.socket_mode).await;
        bound.map_err(|error| format!("cannot listen on {address}: {error}"))
    }

    /// Binds a listener, or takes the next socket that the service manager passes.
    pub(super) async fn listen(
        &self,
        address: &ListenAddress,
        passed: &mut PassedSockets,
    ) -> Result<Listener, String> {
        match address {
            ListenAddress::Bind(address) => self.bind(address).await,
            ListenAddress::Passed => {
                Listener::take(passed).map_err(|error| format!("cannot listen on systemd: {error}"))
            }
        }
    }

    /// Returns the number of connections that can be served at the same time if each needs `descriptors` descriptors.
    /// It is less than configured if the limit of open files is too low.
    pub(super) fn capacity(&self, descriptors: usize) -> Capacity {
        let wanted = self.max_connections.get();
        let possible = descriptor_limit(wanted.saturating_mul(descriptors).saturating_add(RESERVED))
            .map_or(usize::MAX, |limit| (limit.saturating_sub(RESERVED) / descriptors).max(1));
        if possible < wanted {
            warn!(
                max_connections = possible,
                asked = wanted,
                "fewer connections are served at a time: the limit of open files is too low (ulimit -n)"
            );
        }
        Capacity {
            connections: possible.min(wanted),
            from_one_source: self.max_connections_per_source,
            senders: self.accept_proxy_protocol.clone(),
        }
    }

    /// Accepts connections and runs `session` for each until [`QUEUE_TIME`] after a signal, then drains them within the
    /// grace period. After the grace period, or on a second signal, `cut` is cancelled, and the sessions must end.
    /// `rejected` is called for each connection that is reset before its session, with the reason for the metrics.
    pub(super) async fn accept<S>(
        &self,
        listener: Listener,
        capacity: Capacity,
        mut signal: impl AsyncFnMut(),
        cut: CancellationToken,
        session: impl Fn(Connection) -> S + Clone + Send + 'static,
        rejected: impl Fn(&'static str) + Clone + Send + 'static,
    ) where
        S: Future<Output = ()> + Send + 'static,
    {
        let mut sessions = JoinSet::new();
        let mut number = 0;
        let sources = Sources::new(capacity.from_one_source);
        let log = LogLimit::new(self.log_rate.get());
        let mut held_back = interval(HELD_BACK_INTERVAL);
        // When a warning about the limit of connections was last logged.
        let mut full = None;
        // When the listener is closed, after a signal.
        let mut end = None;
        loop {
            tokio::select! {
                () = signal(), if end.is_none() => {
                    DRAINING.store(true, Ordering::Relaxed);
                    notify("STOPPING=1");
                    end = Some(Instant::now() + QUEUE_TIME);
                }
                () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => break,
                Some(ended) = sessions.join_next() => log_panic(ended),
                (stream, peer) = next_connection(&listener), if sessions.len() < capacity.connections => {
                    number += 1;
                    let has_header = capacity.senders.iter().any(|sender| sender.is(peer));
                    let mut connection = Connection { stream, peer, endpoints: None, number, log: Arc::clone(&log) };
                    let sources = sources.clone();
                    let cut = cut.clone();
                    let session = session.clone();
                    let rejected = rejected.clone();
                    sessions.spawn(async move {
                        match connection.admit(has_header, &sources, &cut).await {
                            Ok(_source) => session(connection).await,
                            // Before the connection is dropped: a client that sees the reset finds it in the metrics.
                            Err(end) => rejected(end),
                        }
                    });
                    let max_connections = capacity.connections;
                    if sessions.len() == max_connections
                        && full.is_none_or(|time: Instant| time.elapsed() >= HELD_BACK_INTERVAL)
                    {
                        full = Some(Instant::now());
                        warn!(max_connections, "no more connections are accepted until one ends");
                    }
                }
                _ = held_back.tick() => log.report(),
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
        let all_ended = tokio::select! {
            () = drained => true,
            () = sleep(self.grace) => false,
            () = signal() => false,
        };
        if !all_ended {
            cut.cancel();
            let _ = timeout(LINGER, async { while sessions.join_next().await.is_some() {} }).await;
        }
        log.report();
        info!("stopped");
    }
}

/// The number of connections that are served at the same time.
#[derive(Clone, Debug)]
pub(super) struct Capacity {
    pub(super) connections: usize,
    /// The maximum number from one source; 0 means no limit.
    pub(super) from_one_source: usize,
    /// The peers whose connections begin with a header of the PROXY protocol.
    pub(super) senders: Vec<Sender>,
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(bug) = ended {
        error!("a connection ended with a bug: {bug}");
    }
}

/// An accepted connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Socket,
    /// The client, after a header of the PROXY protocol the one that it names.
    pub(super) peer: Peer,
    /// What a header of the PROXY protocol says.
    endpoints: Option<Endpoints>,
    /// The number of the connection, counted from 1 and logged as `connection`.
    pub(super) number: u64,
    pub(super) log: Arc<LogLimit>,
}

impl Connection {
    /// Returns the addresses of the client and of the server that it connected to, if both are known.
    pub(super) fn endpoints(&self) -> Option<Endpoints> {
        let Peer::Tcp(client) = self.peer else { return None };
        self.endpoints.or_else(|| Endpoints::new(client, self.stream.address()?))
    }

    /// Reads the header of the PROXY protocol if there must be one, and reserves a connection of the client. Otherwise
    /// returns the reason for the metrics, and dropping the connection resets it.
    async fn admit(
        &mut self,
        has_header: bool,
        sources: &Sources,
        cut: &CancellationToken,
    ) -> Result<SourceSlot, &'static str> {
        let connection = self.number;
        if has_header {
            let header = tokio::select! {
                header = proxy_protocol::read(&mut self.stream) => header,
                () = cut.cancelled() => {
                    self.stream.reset();
                    return Err("cut");
                }
            };
            match header {
                Ok(endpoints) => {
                    self.endpoints = endpoints;
                    self.peer = endpoints.map_or(self.peer, |endpoints| Peer::Tcp(endpoints.client));
                }
                Err(reason) => {
                    let peer = self.peer;
                    self.log.line(Level::WARN, peer.ip(), |held_back| {
                        warn!(connection, %peer, held_back, "no valid PROXY protocol header: {reason}");
                    });
                    self.stream.reset();
                    return Err("no_header");
                }
            }
        }
        let peer = self.peer;
        let Some(source) = sources.enter(peer.ip()) else {
            self.log.line(Level::WARN, peer.ip(), |held_back| {
                warn!(connection, %peer, held_back, "too many connections from one address");
            });
            self.stream.reset();
            return Err("too_many");
        };
        Ok(source)
    }
}

/// Returns the next connection. An error does not end the server: it concerns one connection that is already closed, or
/// it is temporary, such as EMFILE. After a temporary error a pause prevents a busy loop.
async fn next_connection(listener: &Listener) -> (Socket, Peer) {
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

/// Prints the address on stdout, and notifies the service manager.
pub(super) fn announce(listener: &Listener) -> Result<(), Box<dyn Error>> {
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {}", listener.address()?).map_err(cannot_write)?;
    stdout.flush().map_err(cannot_write)?;
    notify("READY=1");
    Ok(())
}

/// Closes a connection gracefully: shuts down the write half, then reads until the end. Closing a socket with unread
/// bytes would reset the connection, and the peer may lose the last bytes written to it.
pub(super) async fn close(mut stream: Socket) {
    if stream.shutdown().await.is_ok() {
        let mut rest = [0; 4096];
        let _ =
            timeout(LINGER, async { while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {} }).await;
    }
}

/// The log lines about ill-formed bytes on one connection.
#[derive(Debug)]
pub(super) struct ConnectionReports {
    connection: u64,
    peer: Peer,
    log: Arc<LogLimit>,
    reported: [u64; 2],
}

impl ConnectionReports {
    pub(super) fn of(connection: &Connection) -> Self {
        let Connection { peer, number, log, .. } = connection;
        Self { connection: *number, peer: *peer, log: Arc::clone(log), reported: [0; 2] }
    }

    pub(super) fn ill_formed(&mut self, direction: RelayDirection, error: Utf8Error) {
        let Utf8Error { offset, kind, len, .. } = error;
        let Self { connection, peer, log, reported } = self;
        let reported = &mut reported[direction as usize];
        *reported += 1;
        if *reported <= MAX_REPORTS {
            log.line(Level::WARN, peer.ip(), |held_back| {
                warn!(connection, %peer, %direction, offset, %kind, len, held_back, "{error}");
            });
        }
        if *reported == MAX_REPORTS {
            log.line(Level::WARN, peer.ip(), |held_back| {
                warn!(connection, %peer, %direction, held_back, "further ill-formed bytes are only counted");
            });
        }
    }

    /// Logs a line about the connection.
    pub(super) fn line(&self, level: Level, write: impl FnOnce(Option<u64>)) {
        self.log.line(level, self.peer.ip(), write);
    }
}
