//! `utf8-codec proxy`: a TCP proxy that forwards only well-formed UTF-8.

mod session;

use core::error::Error;
use core::future::pending;
use core::num::NonZeroUsize;
use core::time::Duration;
use std::sync::Arc;

use clap::ValueEnum;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use utf8_codec::codec::Utf8LinesCodec;
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{BomPolicy, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_proxy::{ForwardPolicy, LineFilter, RejectionPolicy, Relay, RelayDirection};

use self::session::FilterProxy;
use crate::address::{self, Address, ListenAddress};
use crate::admin;
use crate::args::{at_least_one, bom_policy, escape_policy, seconds, whole_number};
use crate::fallback::OnError;
use crate::log::DroppedLines;
use crate::metrics::Metrics;
use crate::outcome::CommandResult;
use crate::proxy_protocol::{Sender, Version};
use crate::serve::LineServer;
use crate::server::{Capacity, Service, announce};
use crate::signals::Signals;
use crate::unix_socket::PassedSockets;
use crate::upstream::Upstream;

/// Forward TCP connections to a server, but only well-formed UTF-8
///
/// Bytes are forwarded as they arrive, by default in whole characters. With `--on-error strict` the bytes before an
/// ill-formed sequence are delivered, then both sides are reset, and the error and its offset are logged.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address to accept connections on, unix:PATH, or systemd for a socket that it passes; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7000")]
    listen: ListenAddress,
    /// Server to forward to, or unix:PATH; by default a line server (`serve`) is started on a loopback port
    #[arg(long, value_name = "HOST:PORT", value_parser = address::server)]
    upstream: Option<Address>,
    /// Send a header of the PROXY protocol with the address of the client to the server
    #[arg(long, value_name = "VERSION")]
    send_proxy_protocol: Option<Version>,
    /// Directions to filter: from clients, from the server, or both
    #[arg(long, value_name = "DIRECTION", default_value = "both")]
    direction: Directions,
    /// What to do with ill-formed sequences
    #[arg(long, value_name = "POLICY", default_value = "strict", value_parser = OnError::parser())]
    on_error: OnError,
    /// What to do with a BOM at the start of a stream
    #[arg(long, value_name = "POLICY", default_value = "keep", value_parser = bom_policy())]
    bom: BomPolicy,
    /// Also check the escapes in the strings of JSON, such as \uD83D: what to do with one that is not a character
    #[arg(long, value_name = "POLICY", value_parser = escape_policy())]
    json_strings: Option<EscapePolicy>,
    /// Escaped characters to accept in JSON: without U+0000, or those of I-JSON (RFC 7493)
    #[arg(long, value_name = "SUBSET", requires = "json_strings")]
    json_subset: Option<JsonSubset>,
    /// Enforce the policies, or forward every byte and only log what would be rejected or repaired
    #[arg(long, value_name = "MODE", default_value = "enforce")]
    mode: Mode,
    /// What a rejection ends: `stream` ends the connection, `lines` only drops the line
    #[arg(long, value_name = "UNIT", default_value = "stream")]
    framing: Framing,
    /// What to hold until it is complete; always lines with `--framing lines`. `nothing` needs `--on-error strict`
    #[arg(long, value_name = "UNIT", default_value = "characters")]
    hold: Hold,
    /// Maximum bytes of a line, if lines are held; a longer line is rejected
    #[arg(long, value_name = "N", default_value_t = LineFilter::DEFAULT_MAX_LENGTH, value_parser = positive)]
    max_line: usize,
    /// Line to send to the sender of a rejected line; {line}, {offset}, {kind} and {len} are replaced. Requires
    /// `--framing lines`
    #[arg(long, value_name = "TEXT")]
    answer: Option<String>,
    /// How to close both sides after a rejection
    #[arg(long, alias = "on-refusal", value_name = "END", default_value = "reset")]
    on_rejection: AfterRejection,
    /// How long the other direction continues after a rejection, so that pending responses are delivered
    #[arg(long, value_name = "SECS", default_value = "1", value_parser = seconds)]
    linger: Duration,
    /// Timeout for connecting to the server, divided among its addresses; 0 means no limit. Five seconds after the client
    /// ended its stream the attempt is given up
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = seconds)]
    connect_timeout: Duration,
    /// Minimum bytes per second, averaged over ten seconds; a slower connection is closed; 0 means no limit
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = whole_number::<u64>)]
    min_rate: u64,
    /// Maximum duration of a connection; 0 means no limit
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = seconds)]
    max_session: Duration,
    /// Serve /metrics, /healthz, /readyz and a status page over HTTP at this address, unix:PATH, or the next socket of
    /// systemd, without authentication
    #[arg(long, value_name = "HOST:PORT")]
    admin: Option<ListenAddress>,
    #[command(flatten)]
    service: Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Directions {
    Both,
    Requests,
    Responses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum JsonSubset {
    NoNul,
    IJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Enforce,
    Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Framing {
    Stream,
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Hold {
    Nothing,
    Characters,
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AfterRejection {
    /// Reset both sides, so that no peer assumes that the data is complete
    Reset,
    /// Close both sides normally after the well-formed bytes
    Close,
}

fn positive(value: &str) -> Result<usize, &'static str> {
    at_least_one(value).map(NonZeroUsize::get)
}

impl Args {
    pub(super) fn run(self) -> CommandResult {
        self.service.run(async |dropped, passed| {
            self.check()?;
            self.serve(dropped, passed).await
        })
    }

    /// Checks the options that depend on each other.
    fn check(&self) -> Result<(), &'static str> {
        if self.answer.is_some() && self.framing == Framing::Stream {
            return Err("--answer needs --framing lines");
        }
        let is_fallback = matches!(self.on_error, OnError::Fallback(_));
        let has_others = self.bom != BomPolicy::Keep || self.json_strings.is_some();
        if is_fallback && (self.framing == Framing::Stream || has_others) {
            return Err("--on-error fallback needs --framing lines and --bom keep, without --json-strings");
        }
        let may_change = is_fallback || self.decoder() != TextDecoder::new() || self.json_strings.is_some();
        if self.hold == Hold::Nothing && (may_change || self.framing == Framing::Lines) {
            return Err(
                "--hold nothing needs --on-error strict, --bom keep and --framing stream, without --json-strings",
            );
        }
        Ok(())
    }

    async fn serve(&self, dropped: DroppedLines, mut passed: PassedSockets) -> Result<(), Box<dyn Error>> {
        let mut signals = Signals::new()?;
        let listener = self.service.listen(&self.listen, &mut passed).await?;
        let admin = match &self.admin {
            Some(address) => Some(self.service.listen(address, &mut passed).await?),
            None => None,
        };
        passed.all_taken()?;
        let (upstream, embedded) = match &self.upstream {
            Some(upstream) => (upstream.clone(), None),
            None => {
                let embedded = self.service.bind(&Address::Tcp("127.0.0.1:0".to_owned())).await?;
                (embedded.address()?, Some(embedded))
            }
        };
        let own = listener.identity()?;
        let upstream = Upstream { address: upstream, own, connect_timeout: self.connect_timeout };
        tokio::select! {
            checked = upstream.check() => checked?,
            // A name server that does not respond can delay the start for a long time.
            () = signals.next() => return Ok(()),
        }
        let capacity = self.service.capacity(if embedded.is_some() { 3 } else { 2 });
        let repairs_escapes = self.json_strings.is_some_and(EscapePolicy::repairs);
        let is_strict = matches!(self.on_error, OnError::Policy(ErrorPolicy::Strict));
        let repairs = (!is_strict || repairs_escapes) && self.mode == Mode::Enforce;
        let metrics = Arc::new(Metrics::new(dropped, repairs));
        let admin = match admin {
            Some(admin) => {
                info!(address = %admin.address()?, "admin");
                Some(tokio::spawn(admin::serve(admin, Arc::clone(&metrics))))
            }
            None => None,
        };
        announce(&listener)?;
        let resets = self.on_rejection == AfterRejection::Reset && self.mode == Mode::Enforce;
        let partial = self.framing == Framing::Stream && self.hold != Hold::Lines;
        if matches!(upstream.address, Address::Unix(_)) && resets && partial {
            warn!(
                "a Unix socket cannot be reset: after a rejection the server sees a normal end; --hold lines avoids \
                 that it acts on a part of a line"
            );
        }
        info!(listen = %listener.address()?, upstream = %upstream.address, embedded = embedded.is_some(), "accepting connections");

        let line_server = async {
            if let Some(embedded) = embedded {
                let server = LineServer {
                    decoder: TextDecoder::new(),
                    max_line: Utf8LinesCodec::DEFAULT_MAX_LENGTH,
                    // The proxy ends idle connections. If both did, the client would see whichever end came first.
                    idle_timeout: None,
                    logs_connections: false,
                };
                // The proxy is the only client of the embedded server, and it limits the connections.
                let senders = self.send_proxy_protocol.map(|_| Sender::LOOPBACK).into_iter().collect();
                let capacity = Capacity { connections: usize::MAX, from_one_source: 0, senders };
                server.run(&self.service, embedded, capacity, pending).await;
            }
            pending::<()>().await
        };
        let cut = CancellationToken::new();
        let filter = Arc::new(FilterProxy {
            relay: self.relay(),
            upstream,
            send_proxy_protocol: self.send_proxy_protocol,
            answer: self.answer.clone(),
            report_only: self.mode == Mode::Report,
            delivery_timeout: self.service.idle_timeout().unwrap_or(Duration::MAX),
            min_rate: self.min_rate,
            max_session: Some(self.max_session).filter(|time| !time.is_zero()),
            metrics,
            cut: cut.clone(),
        });
        let metrics = Arc::clone(&filter.metrics);
        let rejected = move |end| metrics.not_opened(end);
        let session = move |connection| Arc::clone(&filter).session(connection);
        let signal = async || signals.next().await;
        tokio::select! {
            () = self.service.accept(listener, capacity, signal, cut, session, rejected) => {}
            () = line_server => {}
        }
        if let Some(admin) = admin {
            admin.abort();
            // Without this the process could end before the file of a Unix socket is removed.
            let _ = admin.await;
        }
        Ok(())
    }

    fn decoder(&self) -> TextDecoder {
        let policy = match self.on_error {
            OnError::Policy(policy) => policy,
            OnError::Fallback(_) => ErrorPolicy::Strict,
        };
        TextDecoder::new().with_error_policy(policy).with_bom_policy(self.bom)
    }

    fn json_strings(&self) -> Option<JsonStrings> {
        let strings = JsonStrings::new().with_escape_policy(self.json_strings?);
        Some(match self.json_subset {
            None => strings,
            Some(JsonSubset::NoNul) => strings.with_subset(&Subset::NO_NUL),
            Some(JsonSubset::IJson) => strings.with_subset(&Subset::I_JSON),
        })
    }

    fn relay(&self) -> Relay {
        let mut relay =
            Relay::with_decoder(self.decoder()).with_linger(self.linger).with_min_rate(self.min_rate);
        let lines = LineFilter::with_decoder(self.decoder()).with_max_length(self.max_line);
        relay = match (self.framing, self.hold) {
            (Framing::Lines, _) => match &self.on_error {
                OnError::Policy(_) => relay.with_line_filter(lines),
                OnError::Fallback(fallback) => {
                    let fallback = fallback.clone();
                    relay.with_line_decoder(self.max_line, move |line| fallback.decode(line))
                }
            },
            (Framing::Stream, Hold::Lines) => relay.with_line_filter(lines.with_stop_at_error(true)),
            (Framing::Stream, Hold::Characters) => relay,
            (Framing::Stream, Hold::Nothing) => relay.with_forward_policy(ForwardPolicy::Bytes),
        };
        if let Some(strings) = self.json_strings() {
            relay = relay.with_json_strings(strings);
        }
        if let Some(idle_timeout) = self.service.idle_timeout() {
            relay = relay.with_idle_timeout(idle_timeout);
        }
        if !self.max_session.is_zero() {
            relay = relay.with_max_duration(self.max_session);
        }
        if self.mode == Mode::Report {
            relay = relay.with_report_only(true);
        }
        relay = relay.with_rejection_policy(match self.on_rejection {
            AfterRejection::Reset => RejectionPolicy::Reset,
            AfterRejection::Close => RejectionPolicy::Close,
        });
        match self.direction {
            Directions::Both => relay,
            Directions::Requests => relay.with_only(RelayDirection::Requests),
            Directions::Responses => relay.with_only(RelayDirection::Responses),
        }
    }
}
