//! `utf8-codec proxy`: a TCP filter that lets only text through.

use core::error::Error;
use core::future::pending;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use clap::ValueEnum;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use utf8_codec::TextDecoder;
use utf8_codec::codec::Utf8LinesCodec;
use utf8_codec::proxy::{Direction, End, Outcome as Relayed, Relay};

use super::args::{Policies, host_port};
use super::outcome::Outcome;
use super::serve::LineServer;
use super::server::{Connection, Reports, Service, announce, bind, close};
use super::signals::Signals;

/// How long the upstream server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Pass TCP connections on to a server, well-formed UTF-8 only
///
/// Bytes pass as they arrive, whole characters only. Under `--on-error strict` all good bytes before an ill-formed
/// sequence are delivered, then both sides are closed, and the log says where and why.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to accept connections; port 0 picks one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7000", value_parser = host_port)]
    listen: String,
    /// The server after the proxy; without it, a line server (`serve`) is started on a loopback port
    #[arg(long, value_name = "HOST:PORT", value_parser = host_port)]
    upstream: Option<String>,
    /// What is filtered: what clients send, what the server sends, or both
    #[arg(long, value_name = "DIRECTION", default_value = "both")]
    direction: Directions,
    #[command(flatten)]
    policies: Policies,
    #[command(flatten)]
    service: Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Directions {
    Both,
    Requests,
    Responses,
}

impl Args {
    pub(super) fn run(self) -> Outcome {
        self.service.run(self.serve())
    }

    async fn serve(&self) -> Result<(), Box<dyn Error>> {
        let mut signals = Signals::new()?;
        let listener = bind(&self.listen).await?;
        let (upstream, embedded) = match &self.upstream {
            Some(upstream) => {
                check_upstream(upstream, &listener).await?;
                (upstream.clone(), None)
            }
            None => {
                let embedded = bind("127.0.0.1:0").await?;
                (embedded.local_addr()?.to_string(), Some(embedded))
            }
        };
        announce(&listener)?;
        info!(upstream, embedded = embedded.is_some(), "accepting connections");

        let line_server = async {
            if let Some(embedded) = embedded {
                let server = LineServer {
                    decoder: TextDecoder::new(),
                    max_line: Utf8LinesCodec::DEFAULT_MAX_LENGTH,
                    logs_connections: false,
                };
                server.run(&self.service, embedded, pending).await;
            }
            pending::<()>().await
        };
        let cut = CancellationToken::new();
        let filter = Arc::new(FilterProxy { relay: self.relay(), upstream, cut: cut.clone() });
        let session = |connection| Arc::clone(&filter).session(connection);
        tokio::select! {
            () = self.service.accept(listener, async || signals.next().await, cut, session) => {}
            () = line_server => {}
        }
        Ok(())
    }

    fn relay(&self) -> Relay {
        let mut relay = Relay::with_decoder(self.policies.decoder());
        if let Some(idle_timeout) = self.service.idle_timeout() {
            relay = relay.idle_timeout(idle_timeout);
        }
        match self.direction {
            Directions::Both => relay,
            Directions::Requests => relay.only(Direction::Requests),
            Directions::Responses => relay.only(Direction::Responses),
        }
    }
}

/// A name that means nothing is better told at the start than at every connection, and so is a proxy that is its own
/// upstream: each connection would open the next one.
async fn check_upstream(upstream: &str, listener: &TcpListener) -> Result<(), Box<dyn Error>> {
    let own = listener.local_addr()?;
    let found = lookup_host(upstream)
        .await
        .map_err(|error| format!("cannot resolve the upstream {upstream}: {error}"))?
        .any(|address| address == own);
    if found { Err(format!("the upstream {upstream} is this proxy").into()) } else { Ok(()) }
}

/// What is the same for all connections.
#[derive(Debug)]
struct FilterProxy {
    relay: Relay,
    upstream: String,
    cut: CancellationToken,
}

impl FilterProxy {
    async fn session(self: Arc<Self>, connection: Connection) {
        let mut reports = Reports::of(&connection);
        let Connection { stream: mut client, peer, number: connection } = connection;
        let connected = tokio::select! {
            connected = self.connect() => connected,
            () = self.cut.cancelled() => return,
        };
        let mut upstream = match connected {
            Ok(upstream) => upstream,
            Err(error) => {
                warn!(connection, %peer, upstream = self.upstream, %error, "cannot reach the upstream");
                return close(client).await;
            }
        };
        // Bytes are forwarded as they arrive. A socket that refuses the option is one that is gone already.
        let _ = client.set_nodelay(true).and(upstream.set_nodelay(true));
        let report = |direction, error| reports.tell(direction, error);
        let relayed = self.relay.run_until(&mut client, &mut upstream, report, self.cut.cancelled()).await;
        let Relayed { requests, responses, end, .. } = relayed;
        let end = match end {
            End::Closed => "closed".to_owned(),
            // Its report says the rest.
            End::IllFormed(..) => "refused".to_owned(),
            End::Failed(direction, error) => format!("{direction}: {error}"),
            End::Idle => "idle".to_owned(),
            End::Cancelled => "cut".to_owned(),
            end => format!("{end:?}"),
        };
        info!(
            connection,
            %peer,
            request_bytes = requests.read,
            response_bytes = responses.read,
            ill_formed = requests.ill_formed + responses.ill_formed,
            end,
            "connection closed"
        );
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        timeout(CONNECT_TIMEOUT, TcpStream::connect(&self.upstream)).await?
    }
}
