//! One connection: its relay, its logs and its metrics.

use core::future::pending;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{Level, info, warn};
use utf8_codec::{ErrorKind, Utf8Error};
use utf8_codec_proxy::{
    LineError, RejectedLine, Relay, RelayDirection, RelayEnd, RelayObserver, RelayOutcome as Relayed,
};

use crate::metrics::Metrics;
use crate::net::{Peer, Socket};
use crate::proxy_protocol::{Endpoints, Version};
use crate::server::{Connection, ConnectionReports};
use crate::upstream::Upstream;

/// How long a connection to the server may still take after the client has ended its stream. The client may have left, or
/// wait for a response. A lost SYN is sent again after one second, and after three.
const LEFT_GRACE: Duration = Duration::from_secs(5);

/// State that all connections share.
#[derive(Debug)]
pub(super) struct FilterProxy {
    pub(super) relay: Relay,
    pub(super) upstream: Upstream,
    pub(super) send_proxy_protocol: Option<Version>,
    pub(super) answer: Option<String>,
    pub(super) report_only: bool,
    /// How long a reset waits for a peer that does not read.
    pub(super) delivery_timeout: Duration,
    /// The minimum rate at which a peer must read while a reset waits for it; 0 means no limit.
    pub(super) min_rate: u64,
    /// The maximum duration of a connection, with the time that a reset waits.
    pub(super) max_session: Option<Duration>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) cut: CancellationToken,
}

impl FilterProxy {
    pub(super) async fn session(self: Arc<Self>, connection: Connection) {
        let mut open = Open { metrics: &self.metrics, end: "cut" };
        open.metrics.opened();
        let reports = ConnectionReports::of(&connection);
        let header =
            self.send_proxy_protocol.map(|version| Endpoints::encode(connection.endpoints(), version));
        let Connection { stream: mut client, peer, number: connection, .. } = connection;
        // Boxed, so that its memory is freed before the relay starts.
        let grace = match self.upstream.connect_timeout {
            Duration::ZERO => LEFT_GRACE,
            timeout => LEFT_GRACE.min(timeout),
        };
        let connected = tokio::select! {
            connected = Box::pin(self.connect(header)) => connected,
            () = Box::pin(client.left(grace)) => Err(io::Error::other("the client left")),
            () = self.cut.cancelled() => return client.reset(),
        };
        let mut upstream = match connected {
            Ok(upstream) => upstream,
            Err(error) => {
                let upstream = &self.upstream.address;
                reports.line(Level::WARN, |held_back| {
                    warn!(connection, %peer, %upstream, %error, held_back, "cannot reach the upstream");
                });
                open.end = "unreachable";
                return client.reset();
            }
        };
        // Setting TCP_NODELAY only fails on a socket that is already closed, which the relay reports.
        let _ = client.set_nodelay().and(upstream.set_nodelay());
        let over = self.max_session.and_then(|time| Instant::now().checked_add(time));
        let mut session = Session {
            proxy: &self,
            reports,
            connection,
            peer,
            held: [0; 2],
            errors: [None; 2],
            uncounted: Uncounted::default(),
        };
        let relayed =
            self.relay.run_until(&mut client, &mut upstream, &mut session, self.cut.cancelled()).await;
        session.closed(&relayed);
        open.end = match &relayed.end {
            RelayEnd::Closed => "closed",
            RelayEnd::IllFormed(..) | RelayEnd::RejectedLine(..) => "rejected",
            RelayEnd::Failed(..) => "failed",
            RelayEnd::Idle => "idle",
            RelayEnd::TooSlow => "too_slow",
            RelayEnd::TooLong => "too_long",
            _ => "cut",
        };
        // Peers that are too slow or idle are reset without waiting.
        let waits = matches!(
            relayed.end,
            RelayEnd::IllFormed(..) | RelayEnd::RejectedLine(..) | RelayEnd::Failed(..)
        );
        if relayed.reset && waits {
            let sides = async {
                tokio::join!(
                    client.delivered(self.delivery_timeout, self.min_rate),
                    upstream.delivered(self.delivery_timeout, self.min_rate)
                )
            };
            tokio::select! {
                _ = sides => {}
                () = until(over) => {}
                () = self.cut.cancelled() => {}
            }
        }
        if relayed.reset {
            client.reset();
            upstream.reset();
        }
    }

    /// Connects to the server, and sends the header.
    async fn connect(&self, header: Option<Vec<u8>>) -> io::Result<Socket> {
        let mut upstream = self.upstream.connect().await?;
        if let Some(header) = header {
            upstream.write_all(&header).await?;
        }
        Ok(upstream)
    }

    /// Returns the line to send in response to a rejected line.
    fn answer(&self, rejected: RejectedLine) -> Option<Vec<u8>> {
        let mut answer = self.answer.as_ref()?.replace("{line}", &rejected.line.to_string());
        let (offset, kind, len) = match rejected.reason {
            LineError::IllFormed(error) => {
                (error.offset.to_string(), error.kind.as_str(), error.len.to_string())
            }
            _ => (String::new(), "TooLong", String::new()),
        };
        answer = answer.replace("{offset}", &offset).replace("{kind}", kind).replace("{len}", &len);
        answer.push('\n');
        Some(answer.into_bytes())
    }
}

/// Waits until this time, or forever.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

/// Records in the metrics that a connection ended, when this value is dropped. `end` is the label for the reason.
struct Open<'m> {
    metrics: &'m Metrics,
    end: &'static str,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.metrics.closed(self.end);
    }
}

/// The logs and metrics of one connection.
struct Session<'p> {
    proxy: &'p FilterProxy,
    reports: ConnectionReports,
    connection: u64,
    peer: Peer,
    /// The number of held bytes of this connection that the gauge includes, by direction.
    held: [usize; 2],
    /// The last error of each direction, or `None` if the last rejected line was too long.
    errors: [Option<Utf8Error>; 2],
    uncounted: Uncounted,
}

/// The errors that the metrics do not have yet, by direction and kind. In text in another encoding there is one in every few
/// bytes, and the counters are shared by all threads.
#[derive(Debug, Default)]
struct Uncounted {
    by_kind: [[u64; ErrorKind::ALL.len()]; 2],
    is_empty: bool,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.count();
        for direction in [RelayDirection::Requests, RelayDirection::Responses] {
            RelayObserver::held(&mut &mut *self, direction, 0);
        }
    }
}

impl RelayObserver for &mut Session<'_> {
    fn read(&mut self, direction: RelayDirection, bytes: usize) {
        self.count();
        self.proxy.metrics.read(direction, bytes);
    }

    fn written(&mut self, direction: RelayDirection, bytes: usize) {
        self.count();
        self.proxy.metrics.written(direction, bytes);
    }

    fn held(&mut self, direction: RelayDirection, bytes: usize) {
        let before = core::mem::replace(&mut self.held[direction as usize], bytes);
        self.proxy.metrics.held(direction, bytes as i64 - before as i64);
    }

    fn ill_formed(&mut self, direction: RelayDirection, error: Utf8Error) {
        self.errors[direction as usize] = Some(error);
        self.uncounted.by_kind[direction as usize][error.kind as usize] += 1;
        self.uncounted.is_empty = false;
        self.reports.ill_formed(direction, error);
    }

    fn rejected(&mut self, direction: RelayDirection) {
        self.count();
        let Session { proxy, reports, connection, peer, errors, .. } = &**self;
        proxy.metrics.rejected(*connection, *peer, direction, errors[direction as usize]);
        if proxy.report_only {
            reports.line(Level::INFO, |held_back| {
                info!(connection, %peer, %direction, held_back, "the connection would have been rejected");
            });
        }
    }

    fn rejected_line(&mut self, direction: RelayDirection, line: RejectedLine) -> Option<Vec<u8>> {
        self.proxy.metrics.rejected_line(direction);
        if let LineError::TooLong(limit) = line.reason {
            self.errors[direction as usize] = None;
            let Session { reports, connection, peer, .. } = &**self;
            reports.line(Level::WARN, |held_back| {
                warn!(connection, %peer, %direction, line = line.line, limit, held_back, "line too long");
            });
        }
        self.proxy.answer(line)
    }
}

impl Session<'_> {
    /// Adds the errors to the metrics.
    fn count(&mut self) {
        if core::mem::replace(&mut self.uncounted.is_empty, true) {
            return;
        }
        for direction in [RelayDirection::Requests, RelayDirection::Responses] {
            for (kind, errors) in ErrorKind::ALL.iter().zip(&mut self.uncounted.by_kind[direction as usize]) {
                if *errors > 0 {
                    self.proxy.metrics.ill_formed(direction, *kind, core::mem::take(errors));
                }
            }
        }
    }

    fn closed(&mut self, relayed: &Relayed) {
        self.count();
        let Self { reports, connection, peer, .. } = &*self;
        let Relayed { requests, responses, end, .. } = relayed;
        let end = match end {
            RelayEnd::Closed => "closed".to_owned(),
            // The reason was already logged.
            RelayEnd::IllFormed(..) | RelayEnd::RejectedLine(..) => "rejected".to_owned(),
            RelayEnd::Failed(direction, error) => format!("{direction}: {error}"),
            RelayEnd::Idle => "idle".to_owned(),
            RelayEnd::TooSlow => "too slow".to_owned(),
            RelayEnd::TooLong => "too long".to_owned(),
            RelayEnd::Cancelled => "cut".to_owned(),
            end => format!("{end:?}"),
        };
        reports.line(Level::INFO, |held_back| {
            info!(
                connection,
                %peer,
                request_bytes = requests.read,
                response_bytes = responses.read,
                ill_formed = requests.ill_formed + responses.ill_formed,
                rejected_lines = requests.rejected_lines + responses.rejected_lines,
                end,
                held_back,
                "connection closed"
            );
        });
    }
}
