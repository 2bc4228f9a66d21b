//! The metrics of a running proxy: counters for Prometheus, and the latest rejections.

use core::sync::atomic::AtomicU64;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use utf8_codec::{ErrorKind, Utf8Error};
use utf8_codec_proxy::RelayDirection;

use crate::log::DroppedLines;
use crate::net::Peer;
use crate::process::Process;

/// The number of rejections that the status page shows.
const LAST_REJECTIONS: usize = 20;

/// The values of the label `end`.
const ENDS: [&str; 10] = [
    "closed",
    "rejected",
    "failed",
    "idle",
    "too_slow",
    "too_long",
    "too_many",
    "no_header",
    "unreachable",
    "cut",
];

const DIRECTIONS: [RelayDirection; 2] = [RelayDirection::Requests, RelayDirection::Responses];

/// The values of the label `kind`: without those of other encodings and of forms.
fn kinds() -> impl Iterator<Item = ErrorKind> {
    ErrorKind::ALL.iter().copied().filter(|kind| {
        !matches!(
            kind,
            ErrorKind::Noncharacter
                | ErrorKind::Unmappable
                | ErrorKind::Unassigned
                | ErrorKind::PartlyEscaped
        )
    })
}

/// Returns the counter of a kind of error.
fn of_kind(ill_formed: &Family<Labels<2>, Counter>, direction: RelayDirection, kind: ErrorKind) -> Counter {
    ill_formed.get_or_create(&[("direction", direction.as_str()), ("kind", kind.as_str())]).clone()
}

/// Registers a counter for each direction.
fn by_direction(registry: &mut Registry, name: &str, help: &str) -> [Counter; 2] {
    let family = Family::<Labels<1>, Counter>::default();
    registry.register(name, help, family.clone());
    DIRECTIONS.map(|direction| family.get_or_create(&[("direction", direction.as_str())]).clone())
}

/// The formats of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricsFormat {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
}

impl MetricsFormat {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Returns the format that a header `Accept` prefers (RFC 9110 section 12.5.1). Without a preference it is the format
    /// of Prometheus, which every scraper reads. OpenMetrics has to be named: `*/*` does not select it.
    pub(super) fn accepted<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut best = (0.0, Self::Prometheus);
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let mut quality = 1.0;
            let mut version = None;
            for (key, value) in parts.filter_map(|parameter| parameter.split_once('=')) {
                match (key.trim_end(), value.trim_start().trim_matches('"')) {
                    ("q" | "Q", value) => quality = value.parse().unwrap_or(0.0),
                    ("version", value) => version = Some(value),
                    _ => {}
                }
            }
            let format = match (&*name, version) {
                ("application/openmetrics-text", None | Some("1.0.0")) => Self::OpenMetrics,
                ("text/plain", None | Some("0.0.4")) | ("text/*" | "*/*", _) => Self::Prometheus,
                _ => continue,
            };
            // Of equal ones, the first.
            if quality > best.0 {
                best = (quality, format);
            }
        }
        best.1
    }
}

/// Converts OpenMetrics to the text format of Prometheus: comments about a counter or an info have the name of its sample,
/// with `_total` or `_info`, an info is a gauge, and there is no `# EOF`. The samples are the same.
fn prometheus(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len() + open_metrics.len() / 8);
    let mut help = None;
    for line in open_metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match [words.next(), words.next(), words.next(), words.next()] {
            [Some("#"), Some("HELP"), Some(name), Some(text)] => help = Some((name, text)),
            [Some("#"), Some("TYPE"), Some(name), Some(kind)] => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    _ => ("", kind),
                };
                if let Some((_, text)) = help.take().filter(|(described, _)| *described == name) {
                    out.push_str(&format!("# HELP {name}{suffix} {text}\n"));
                }
                out.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
            }
            [Some("#"), ..] => {}
            _ => out.extend([line, "\n"]),
        }
    }
    out
}

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// The counters of a proxy.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    /// The metrics without the prefix.
    process: Registry,
    open: Gauge,
    connections: Family<Labels<1>, Counter>,
    read: [Counter; 2],
    written: [Counter; 2],
    held: [Gauge; 2],
    ill_formed: Family<Labels<2>, Counter>,
    /// Those of `ill_formed` that exist from the start, so that an error needs no search by its labels.
    kinds: Vec<(ErrorKind, [Counter; 2])>,
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
        let mut process = Registry::default();
        process.register_collector(Box::new(Process));
        let build = [("version", env!("CARGO_PKG_VERSION")), ("revision", env!("UTF8_CODEC_REVISION"))];
        registry.register("build", "The version of the program, and its commit", Info::new(build));
        let open = Gauge::default();
        let connections = Family::<Labels<1>, Counter>::default();
        let ill_formed = Family::<Labels<2>, Counter>::default();
        // A counter that first appears with the value 1 has no increase for Prometheus.
        for end in ENDS {
            drop(connections.get_or_create(&[("end", end)]));
        }
        let kinds =
            kinds().map(|kind| (kind, DIRECTIONS.map(|direction| of_kind(&ill_formed, direction, kind))));
        let kinds = kinds.collect();
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
        Self {
            read: by_direction(&mut registry, "bytes_read", "Bytes read"),
            written: by_direction(&mut registry, "bytes_written", "Bytes written"),
            repaired: by_direction(&mut registry, "repaired", "Ill-formed sequences that were repaired"),
            rejected: by_direction(
                &mut registry,
                "rejected",
                "Rejected streams; in report mode, streams that would have been rejected",
            ),
            rejected_lines: by_direction(&mut registry, "rejected_lines", "Rejected lines"),
            held: DIRECTIONS.map(|direction| {
                held_by_direction.get_or_create(&[("direction", direction.as_str())]).clone()
            }),
            registry,
            process,
            open,
            connections,
            ill_formed,
            kinds,
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

    /// Records a connection that was reset before it was open. `end` is the label for the reason.
    pub(super) fn not_opened(&self, end: &'static str) {
        self.connections.get_or_create(&[("end", end)]).inc();
    }

    pub(super) fn read(&self, direction: RelayDirection, bytes: usize) {
        self.read[direction as usize].inc_by(bytes as u64);
    }

    pub(super) fn written(&self, direction: RelayDirection, bytes: usize) {
        self.written[direction as usize].inc_by(bytes as u64);
    }

    /// Adds `change`, which may be negative, to the number of bytes that connections hold.
    pub(super) fn held(&self, direction: RelayDirection, change: i64) {
        self.held[direction as usize].inc_by(change);
    }

    /// Records a number of errors of a kind.
    pub(super) fn ill_formed(&self, direction: RelayDirection, kind: ErrorKind, errors: u64) {
        match self.kinds.iter().find(|(known, _)| *known == kind) {
            Some((_, counters)) => counters[direction as usize].inc_by(errors),
            None => of_kind(&self.ill_formed, direction, kind).inc_by(errors),
        };
        // No policy repairs the error of a BOM.
        if self.repairs && !matches!(kind, ErrorKind::MissingBom | ErrorKind::UnexpectedBom) {
            self.repaired[direction as usize].inc_by(errors);
        }
    }

    pub(super) fn rejected_line(&self, direction: RelayDirection) {
        self.rejected_lines[direction as usize].inc();
    }

    /// Records a rejected stream, and its error, or `None` if a line is too long. Payload bytes are not recorded.
    pub(super) fn rejected(
        &self,
        connection: u64,
        peer: Peer,
        direction: RelayDirection,
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

    /// Returns all metrics in a format.
    pub(super) fn text(&self, format: MetricsFormat) -> String {
        let dropped = self.dropped.count() as u64;
        self.dropped_lines.inc_by(dropped.saturating_sub(self.dropped_lines.get()));
        let mut text = String::new();
        // Writing to a `String` does not fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &self.process);
        let _ = encode_eof(&mut text);
        match format {
            MetricsFormat::OpenMetrics => text,
            MetricsFormat::Prometheus => prometheus(&text),
        }
    }

    /// Returns the latest rejections as JSON, the most recent first.
    pub(super) fn rejections(&self) -> String {
        let rejections = self.rejections.lock().unwrap_or_else(PoisonError::into_inner);
        Value::from_iter(rejections.iter().cloned()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_accept_selects_the_format() {
        use MetricsFormat::{OpenMetrics, Prometheus};

        for (accept, format) in [
            (&[][..], Prometheus),
            (&["*/*"], Prometheus),
            (&["text/plain"], Prometheus),
            (&["application/openmetrics-text"], OpenMetrics),
            (&["APPLICATION/OpenMetrics-Text; Version=1.0.0"], OpenMetrics),
            (&["application/openmetrics-text; version=\"1.0.0\""], OpenMetrics),
            (&["application/openmetrics-text;version=0.0.1"], Prometheus),
            (&["application/openmetrics-text;q=0"], Prometheus),
            (&["application/openmetrics-text;q=0.5, text/plain;q=0.6"], Prometheus),
            (&["text/plain;q=0.4", "application/openmetrics-text;q=0.5"], OpenMetrics),
            (&["text/plain;version=1.0.0", "text/html", "application/openmetrics-text;q=0.1"], OpenMetrics),
            // Prometheus 2.50 and 3.0.
            (
                &["application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;\
                   version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"],
                OpenMetrics,
            ),
            (
                &["application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;\
                   version=0.0.4;escaping=allow-utf-8;q=0.3,*/*;q=0.2"],
                OpenMetrics,
            ),
            (&["nonsense;;q=x,,;"], Prometheus),
        ] {
            assert_eq!(MetricsFormat::accepted(accept.iter().copied()), format, "{accept:?}");
        }
    }

    #[test]
    fn the_format_of_prometheus_describes_the_samples_of_counters() {
        let open_metrics = "# HELP a_open Open now.\n# TYPE a_open gauge\na_open 1\n\
                            # HELP a_read Bytes read.\n# TYPE a_read counter\n# UNIT a_read bytes\n\
                            a_read_total{d=\"x\"} 2\n\
                            # HELP a_build It.\n# TYPE a_build info\na_build_info{v=\"1\"} 1\n# EOF\n";
        let expected = "# HELP a_open Open now.\n# TYPE a_open gauge\na_open 1\n\
                        # HELP a_read_total Bytes read.\n# TYPE a_read_total counter\na_read_total{d=\"x\"} 2\n\
                        # HELP a_build_info It.\n# TYPE a_build_info gauge\na_build_info{v=\"1\"} 1\n";
        assert_eq!(prometheus(open_metrics), expected);
    }
}
