//! The metrics of a running proxy: counters for Prometheus, and the latest rejections.

use core::sync::atomic::AtomicU64;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use utf8_codec::proxy::Direction;
use utf8_codec::{ErrorKind, Utf8Error};

use super::log::DroppedLines;
use super::net::Peer;

/// The number of rejections that the status page shows.
const LAST_REJECTIONS: usize = 20;

/// The values of the label `end`.
const ENDS: [&str; 9] =
    ["closed", "rejected", "failed", "idle", "too_slow", "too_long", "too_many", "unreachable", "cut"];

const DIRECTIONS: [Direction; 2] = [Direction::Requests, Direction::Responses];

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// The counters of a proxy.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    open: Gauge,
    connections: Family<Labels<1>, Counter>,
    read: [Counter; 2],
    written: [Counter; 2],
    held: [Gauge; 2],
    ill_formed: Family<Labels<2>, Counter>,
    repaired: [Counter; 2],
    rejected: [Counter; 2],
    rejected_lines: [Counter; 2],
    dropped_lines: Counter<u64, AtomicU64>,
    rejections: Mutex<VecDeque<Value>>,
    dropped: DroppedLines,
    repairs: bool,
}

impl Metrics {
    /// Creates the metrics. `repairs` is whether ill-formed sequences are repaired.
    pub(super) fn new(dropped: DroppedLines, repairs: bool) -> Self {
        let mut registry = Registry::with_prefix("utf8_codec");
        let (open, ill_formed) = (Gauge::default(), Family::default());
        let connections = Family::<Labels<1>, Counter>::default();
        for end in ENDS {
            // A counter that first appears with the value 1 has no increase for Prometheus.
            drop(connections.get_or_create(&[("end", end)]));
        }
        let dropped_lines = Counter::default();
        registry.register("connections_open", "Connections that are open now", open.clone());
        registry.register("connections", "Connections that ended, by reason", connections.clone());
        registry.register("ill_formed", "Ill-formed sequences, repaired or not", Family::clone(&ill_formed));
        registry.register(
            "log_lines_dropped",
            "Log lines dropped because stderr was read too slowly",
            dropped_lines.clone(),
        );
        let held_by_direction = Family::<Labels<1>, Gauge>::default();
        registry.register(
            "held_bytes",
            "Bytes that wait for the rest of their character or line",
            held_by_direction.clone(),
        );
        let mut by_direction = |name, help, labels: fn(&'static str) -> Labels<1>| {
            let family = Family::<Labels<1>, Counter>::default();
            registry.register(name, help, family.clone());
            DIRECTIONS.map(|direction| family.get_or_create(&labels(direction.as_str())).clone())
        };
        let labels: fn(&'static str) -> Labels<1> = |direction| [("direction", direction)];
        Self {
            read: by_direction("bytes_read", "Bytes read", labels),
            written: by_direction("bytes_written", "Bytes written", labels),
            repaired: by_direction("repaired", "Ill-formed sequences that were repaired", labels),
            rejected: by_direction(
                "rejected",
                "Rejected streams; in report mode, streams that would have been rejected",
                labels,
            ),
            rejected_lines: by_direction("rejected_lines", "Rejected lines", labels),
            held: DIRECTIONS
                .map(|direction| held_by_direction.get_or_create(&labels(direction.as_str())).clone()),
            registry,
            open,
            connections,
            ill_formed,
            dropped_lines,
            rejections: Mutex::default(),
            dropped,
            repairs,
        }
    }

    pub(super) fn opened(&self) {
        self.open.inc();
    }

    /// Records the end of a connection. `end` is the label for the reason.
    pub(super) fn closed(&self, end: &'static str) {
        self.open.dec();
        self.connections.get_or_create(&[("end", end)]).inc();
    }

    /// Records a connection that was reset because there are too many from its source. It was never open.
    pub(super) fn too_many(&self) {
        self.connections.get_or_create(&[("end", "too_many")]).inc();
    }

    pub(super) fn read(&self, direction: Direction, bytes: usize) {
        self.read[direction as usize].inc_by(bytes as u64);
    }

    pub(super) fn written(&self, direction: Direction, bytes: usize) {
        self.written[direction as usize].inc_by(bytes as u64);
    }

    /// Adds `change`, which may be negative, to the number of bytes that connections hold.
    pub(super) fn held(&self, direction: Direction, change: i64) {
        self.held[direction as usize].inc_by(change);
    }

    pub(super) fn ill_formed(&self, direction: Direction, error: Utf8Error) {
        let labels = [("direction", direction.as_str()), ("kind", error.kind.as_str())];
        self.ill_formed.get_or_create(&labels).inc();
        // No policy repairs the error of a BOM.
        if self.repairs && !matches!(error.kind, ErrorKind::MissingBom | ErrorKind::UnexpectedBom) {
            self.repaired[direction as usize].inc();
        }
    }

    pub(super) fn rejected_line(&self, direction: Direction) {
        self.rejected_lines[direction as usize].inc();
    }

    /// Records a rejected stream, and its error, or `None` if a line is too long. Payload bytes are not recorded.
    pub(super) fn rejected(
        &self,
        connection: u64,
        peer: Peer,
        direction: Direction,
        error: Option<Utf8Error>,
    ) {
        self.rejected[direction as usize].inc();
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let rejection = json!({
            "time": time,
            "connection": connection,
            "peer": peer.to_string(),
            "direction": direction.as_str(),
            "offset": error.map(|error| error.offset),
            "kind": error.map_or("TooLong", |error| error.kind.as_str()),
            "len": error.map(|error| error.len),
        });
        let mut rejections = self.rejections.lock().unwrap_or_else(PoisonError::into_inner);
        rejections.truncate(LAST_REJECTIONS - 1);
        rejections.push_front(rejection);
    }

    /// Returns all metrics in the OpenMetrics text format.
    pub(super) fn text(&self) -> String {
        let dropped = self.dropped.count() as u64;
        self.dropped_lines.inc_by(dropped.saturating_sub(self.dropped_lines.get()));
        let mut text = String::new();
        // Writing to a `String` does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Returns the latest rejections as JSON, the most recent first.
    pub(super) fn rejections(&self) -> String {
        let rejections = self.rejections.lock().unwrap_or_else(PoisonError::into_inner);
        Value::from_iter(rejections.iter().cloned()).to_string()
    }
}
